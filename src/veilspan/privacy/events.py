"""What happened to the data: frozen descriptions of mechanisms, apart from how they are counted.

Both events say how large the noise was relative to what one row can do:

* :class:`GaussianEvent`: all rows took part. ``noise_multiplier`` = noise std / sensitivity *under
  the neighbour relation of the release* (e.g. sqrt(2) C^2 for a second moment under replace-one).
* :class:`SampledGaussianEvent`: each row took part with probability ``sampling_rate``,
  independently. ``noise_multiplier`` = noise std / largest norm of one row's contribution, for both
  relations; the relation enters when the event is accounted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Union


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


Event = Union[GaussianEvent, SampledGaussianEvent]  # noqa: UP007 (isinstance and docs read better)


def with_noise(event: Event, noise_multiplier: float) -> Event:
    """Return the same event at another noise multiplier."""
    return replace(event, noise_multiplier=float(noise_multiplier))


def with_count(event: Event, count: int) -> Event:
    """Return the same event repeated ``count`` times."""
    return replace(event, count=count)


def merge(events: Iterable[Event]) -> tuple[Event, ...]:
    """Join equal events (same name, noise and rate) by adding their counts; order of first use."""
    counts: dict[Event, int] = {}
    for event in events:
        key = with_count(event, 1)
        counts[key] = counts.get(key, 0) + event.count
    return tuple(with_count(event, count) for event, count in counts.items() if count)


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return a JSON-ready description; the inverse of :func:`event_from_dict`."""
    return {"mechanism": event.mechanism, **asdict(event)}


def event_from_dict(record: dict[str, Any]) -> Event:
    """Rebuild an event from :func:`event_to_dict`."""
    fields = dict(record)
    mechanism = fields.pop("mechanism", None)
    for kind in (GaussianEvent, SampledGaussianEvent):
        if kind.mechanism == mechanism:
            return kind(**fields)
    raise ValueError(f"unknown mechanism {mechanism!r} in a recorded event.")


def _check(noise_multiplier: float, count: int) -> None:
    if not (noise_multiplier >= 0 and math.isfinite(noise_multiplier)):
        raise ValueError(f"noise_multiplier must be finite and >= 0; got {noise_multiplier}.")
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ValueError(f"count must be a whole number >= 0; got {count!r}.")
