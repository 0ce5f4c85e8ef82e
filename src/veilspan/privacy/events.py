"""What happened to the data: frozen descriptions of mechanisms, apart from how they are counted.

Every event says how large the noise was relative to what one row can do:

* :class:`GaussianEvent`: all rows took part. ``noise_multiplier`` = noise std / sensitivity *under
  the neighbour relation of the release* (e.g. sqrt(2) C^2 for a second moment under replace-one).
* :class:`SampledGaussianEvent`: each row took part with probability ``sampling_rate``,
  independently. ``noise_multiplier`` = noise std / largest norm of one row's contribution, for both
  relations; the relation enters when the event is accounted.
* :class:`ObjectiveEvent`: the minimum of a randomly tilted objective. ``noise_multiplier`` = std of
  the tilt / largest norm of one row's gradient; the relation enters when the event is accounted.
* :class:`SearchEvent`: the best of a random number of trials, each of which is a list of the events
  above.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Literal, Union

#: What a loss is known to do: see :class:`ObjectiveEvent`.
LossShape = Literal["logistic", "one-sided", "two-sided", "softmax"]


@dataclass(frozen=True)
class GaussianEvent:
    """``count`` full-batch Gaussian releases with the same noise multiplier."""

    name: str
    noise_multiplier: float = 1.0
    count: int = 1

    mechanism = "gaussian"
    sampling_rate = 1.0

    def __post_init__(self) -> None:
        _check(self.noise_multiplier, self.count)

    @property
    def mu(self) -> float:
        """The GDP parameter of all ``count`` releases together."""
        if self.count == 0:
            return 0.0
        return math.sqrt(self.count) / self.noise_multiplier if self.noise_multiplier else math.inf


@dataclass(frozen=True)
class SampledGaussianEvent:
    """``count`` Gaussian releases, each over its own Poisson sample of the rows."""

    name: str
    sampling_rate: float
    noise_multiplier: float = 1.0
    count: int = 1

    mechanism = "poisson-sampled gaussian"

    def __post_init__(self) -> None:
        _check(self.noise_multiplier, self.count)
        if not 0 < self.sampling_rate < 1:
            raise ValueError(
                "sampling_rate must lie strictly between 0 and 1 (use GaussianEvent for all rows); "
                f"got {self.sampling_rate}."
            )


@dataclass(frozen=True, kw_only=True)
class ObjectiveEvent:
    r"""``count`` minima of sum_i l_i(<x_i, theta>) + lam/2 |theta|^2 + <b, theta>, b ~ N(0, s^2 I).

    Attributes
    ----------
    lam : float
        Strength of the quadratic term beside the *sum* of the losses.
    clip : float
        Longest that the gradient of one row can be; s = noise_multiplier * clip.
    smoothness : float
        Largest second derivative of a row's loss in its score (operator norm for k scores).
    shape : {"logistic", "one-sided", "two-sided", "softmax"}
        What is known of a slope t |x| and its curvature h |x|^2 on rows of at most unit length:
        one sign and h <= t - t^2 / (4 smoothness); one sign and h <= smoothness; both signs and
        h <= smoothness; weighted probabilities less 0 or 1 (k scores, smoothness = weight / 2).
    classes : int
        k for "softmax", else 1.
    row_length : float
        Longest row after shortening, at most 1.
    """

    name: str
    lam: float
    clip: float
    smoothness: float
    shape: LossShape
    classes: int = 1
    row_length: float = 1.0
    noise_multiplier: float = 1.0
    count: int = 1

    mechanism = "objective perturbation"
    sampling_rate = 1.0

    def __post_init__(self) -> None:
        _check(self.noise_multiplier, self.count)
        for what in ("lam", "clip", "smoothness", "row_length"):
            if not (getattr(self, what) > 0 and math.isfinite(getattr(self, what))):
                raise ValueError(f"{what} must be positive and finite; got {getattr(self, what)}.")
        if self.row_length > 1:
            raise ValueError(f"row_length must be at most 1; got {self.row_length}.")
        if self.shape not in ("logistic", "one-sided", "two-sided", "softmax"):
            raise ValueError(
                f"unknown shape of a loss: {self.shape!r}; it is one of logistic, one-sided, "
                "two-sided, softmax."
            )
        if (self.shape == "softmax") != (self.classes > 1):
            raise ValueError('classes must be 2 or more for the shape "softmax", and 1 for others.')

    @property
    def std(self) -> float:
        """Standard deviation of each coordinate of b."""
        return self.noise_multiplier * self.clip


#: What a trial of a search is made of.
SingleEvent = Union[GaussianEvent, SampledGaussianEvent, ObjectiveEvent]  # noqa: UP007 (isinstance and docs read better)
#: Most kinds of trials of one search, and most events of a trial, in a file.
MOST_KINDS = 512


@dataclass(frozen=True, kw_only=True)
class SearchEvent:
    r"""``count`` searches: the best of K trials, K ~ TNB(eta, gamma), the rest forgotten.

    Each trial draws its kind (which candidate is tried) with public coins, and releases a model
    with a noisy score; the trial with the highest score is the release. ``random_search`` has the
    law of K and the proof of what this costs.

    Attributes
    ----------
    trials : tuple of tuples of events
        What a trial of each kind asks, its score included. The dearest kind is what counts.
    eta, gamma : float
        The law of K: eta > -1, 0 < gamma < 1. eta = 1 is the geometric law with mean 1 / gamma.
    """

    name: str
    trials: tuple[tuple[SingleEvent, ...], ...]
    eta: float
    gamma: float
    count: int = 1

    mechanism = "random search"
    sampling_rate = 1.0

    def __post_init__(self) -> None:
        _check(0.0, self.count)
        kinds = (GaussianEvent, SampledGaussianEvent, ObjectiveEvent)
        if not self.trials or not all(self.trials) or len(self.trials) > MOST_KINDS:
            raise ValueError(
                f"a search needs between 1 and {MOST_KINDS} kinds of trials, each with an event."
            )
        for trial in self.trials:
            if len(trial) > MOST_KINDS or not all(isinstance(event, kinds) for event in trial):
                raise ValueError(
                    f"a trial is at most {MOST_KINDS} Gaussian, sampled or objective events."
                )
        if not (self.eta > -1 and math.isfinite(self.eta)):
            raise ValueError(f"eta must be finite and above -1; got {self.eta}.")
        if not 0 < self.gamma < 1:
            raise ValueError(f"gamma must lie strictly between 0 and 1; got {self.gamma}.")

    @property
    def noise_multiplier(self) -> float:
        """The least of any event of a trial; 0 where one has no noise."""
        return min(event.noise_multiplier for trial in self.trials for event in trial)


Event = Union[GaussianEvent, SampledGaussianEvent, ObjectiveEvent, SearchEvent]  # noqa: UP007 (the same)


def with_noise(event: Event, noise_multiplier: float) -> Event:
    """Return a copy of the event with another noise multiplier; all else stays as it was.

    The multipliers of a search's trials keep their proportions.
    """
    if not isinstance(event, SearchEvent):
        return replace(event, noise_multiplier=float(noise_multiplier))
    factor = noise_multiplier / event.noise_multiplier if event.noise_multiplier else 0.0
    trials = tuple(
        tuple(replace(one, noise_multiplier=one.noise_multiplier * factor) for one in trial)
        for trial in event.trials
    )
    return replace(event, trials=trials)


def scale_noise(events: Iterable[Event], factor: float) -> tuple[Event, ...]:
    """The same events with all of their noise multiplied by one factor."""
    return tuple(with_noise(event, event.noise_multiplier * factor) for event in events)


@lru_cache(maxsize=256, typed=True)  # every answer asks for it; events are public values
def with_count(event: Event, count: int) -> Event:
    """Return the same event repeated ``count`` times."""
    return replace(event, count=count)


def merge(events: Iterable[Event]) -> tuple[Event, ...]:
    """Join equal events (same name, noise and rate) by adding their counts; order of first use."""
    counts: dict[Event, int] = {}
    for event in events:
        key = event if event.count == 1 else with_count(event, 1)
        counts[key] = counts.get(key, 0) + event.count
    return tuple(with_count(event, count) for event, count in counts.items() if count)


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return a JSON-ready description; the inverse of :func:`event_from_dict`."""
    record = {"mechanism": event.mechanism, **asdict(event)}
    if isinstance(event, SearchEvent):
        record["trials"] = [[event_to_dict(one) for one in trial] for trial in event.trials]
    return record


def event_from_dict(record: dict[str, Any]) -> Event:
    """Rebuild an event from :func:`event_to_dict`; ValueError for a mechanism unknown here."""
    fields = dict(record)
    mechanism = fields.pop("mechanism", None)
    for kind in (GaussianEvent, SampledGaussianEvent, ObjectiveEvent):
        if kind.mechanism == mechanism:
            return kind(**fields)
    if mechanism == SearchEvent.mechanism:
        return _search_from(fields)
    raise ValueError(f"unknown mechanism {mechanism!r} in a recorded event.")


def _search_from(fields: dict[str, Any]) -> SearchEvent:
    """A search from a record, whose trials hold no searches and are not too many."""
    listed = fields.pop("trials", None)
    few = isinstance(listed, list) and len(listed) <= MOST_KINDS
    if not (few and all(isinstance(trial, list) and len(trial) <= MOST_KINDS for trial in listed)):
        raise ValueError("a recorded search has a list of trials, each a list of events.")
    if any(one.get("mechanism") == SearchEvent.mechanism for trial in listed for one in trial):
        raise ValueError("a recorded search has no searches among its trials.")
    trials: Any = tuple(tuple(event_from_dict(one) for one in trial) for trial in listed)
    return SearchEvent(trials=trials, **fields)


def _check(noise_multiplier: float, count: int) -> None:
    if not (noise_multiplier >= 0 and math.isfinite(noise_multiplier)):
        raise ValueError(f"noise_multiplier must be finite and >= 0; got {noise_multiplier}.")
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"count must be a whole number >= 0; got {count!r}.")
