"""A simulated curve: how much of what could be learned is left at each epsilon."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

#: Planted structures, from hardly there to plain.
STRENGTHS = ("weak", "medium", "strong")
#: Share of what is learned without noise from which a fit is called good enough.
GOOD_ENOUGH = 0.9
#: Share below which nothing is called learned: a fit that knows nothing reaches it by luck.
NOTHING = 0.1
_VERSION = 1


class NotSimulatedError(ValueError):
    """There are no made-up tables by which this kind of fit could be judged; the text says why."""


@dataclass(frozen=True)
class UtilityCurve:
    """What noise costs relative to no noise, on made-up rows of a table's shape.

    A utility of 1 is what the same method learns from the same rows without noise, 0 what one knows
    without them. Nobody's rows were read: it tells what the noise does at this size, never how well
    somebody's data suit the method.

    Attributes
    ----------
    estimator : str
        Name of the class.
    measure : str
        What is compared, in words.
    planted : dict
        What weak, medium and strong mean here, in words, and which of them so few rows do not show.
    n, n_features : int
        The shape that was asked about.
    epsilon, delta : float
        The budget of the estimator.
    rows_simulated, repeats : int
        Rows of a made-up table, and how many were made of each strength. Fewer rows than ``n`` have
        the noise that ``n`` rows would have (:mod:`veilspan.planning.simulate`).
    simulated_at : tuple of float
        The epsilons of the fits; the curve runs through them.
    epsilons : tuple of float
        Where the curve is drawn.
    utility : dict
        For each strength a value in [0, 1] at each of ``epsilons``, never falling.
    hidden : tuple of str
        Strengths that so few rows do not show even without noise; their utility is 0.
    rows_needed : int or None
        About how many rows are good enough at ``epsilon`` for medium structure; ``None`` if no
        number was found. Below ``n`` it is not looked for.
    profile : str
        The released profile that the rows were like, in words; empty if they were of no profile.
    released : bool
        Whether what there is to learn was that profile's; else it was planted.
    """

    estimator: str
    measure: str
    planted: dict[str, str]
    n: int
    n_features: int
    epsilon: float
    delta: float
    rows_simulated: int
    repeats: int
    simulated_at: tuple[float, ...]
    epsilons: tuple[float, ...]
    utility: dict[str, tuple[float, ...]]
    hidden: tuple[str, ...] = ()
    rows_needed: int | None = None
    profile: str = ""
    released: bool = False

    def utility_at(self, epsilon: float, strength: str = "medium") -> float:
        """The utility at an epsilon, between the drawn ones by straight lines."""
        places = [math.log(e) for e in self.epsilons]
        values = self.utility[strength]
        here = math.log(epsilon) if epsilon < math.inf else math.inf
        if here <= places[0]:
            return values[0]
        for k in range(1, len(places)):
            if here <= places[k]:
                part = (here - places[k - 1]) / (places[k] - places[k - 1])
                return values[k - 1] + part * (values[k] - values[k - 1])
        return values[-1]

    def find_smallest(self, strength: str = "medium", enough: float = GOOD_ENOUGH) -> float | None:
        """The smallest drawn epsilon with this utility, or ``None`` if there is none."""
        found = zip(self.epsilons, self.utility[strength], strict=True)
        return next((epsilon for epsilon, value in found if value >= enough), None)

    @property
    def smallest_good_enough(self) -> float | None:
        """Smallest drawn epsilon that keeps nine tenths of what medium structure teaches."""
        return self.find_smallest()

    @property
    def conclusion(self) -> str:
        """What follows, in a sentence or two."""
        said = self._conclude()
        if not self.profile:
            return said
        return f"On rows like those of {self.profile}: w{said[1:]}"

    def _conclude(self) -> str:
        rows, epsilon = f"{self.n:,} rows", f"epsilon {self.epsilon:g}"
        if "strong" in self.hidden:
            what = "what its correlations say" if self.released else "the planted structure"
            return (
                f"With {rows} nothing can be learned at any epsilon: even without noise they "
                + (f"do not show {what}.{self._say_more_rows(' It takes')}")
            )
        medium = self.utility_at(self.epsilon)
        strong = self.utility_at(self.epsilon, "strong")
        if max(medium, strong) < NOTHING:
            return f"With {rows} nothing can be learned at {epsilon}{self._say_way_out()}."
        if medium < NOTHING:
            only = "strong structure shows" if not self.released else "stronger correlations show"
            return (
                f"With {rows} at {epsilon} only {only}: {strong:.0%} of it is kept"
                f"{self._say_way_out()}."
            )
        taught = "such rows" if self.released else "structure of medium strength"
        if medium < GOOD_ENOUGH:
            return (
                f"With {rows} at {epsilon} noise takes {1 - medium:.0%} of what {taught}"
                f" would teach without it{self._say_way_out()}."
            )
        smallest = self.smallest_good_enough
        less = ""
        if smallest is not None and smallest < self.epsilon / 1.5:
            less = f"; epsilon {_round(smallest)} would do"
        return (
            f"With {rows} at {epsilon} noise costs little: {_write_kept(medium)} of what {taught}"
            f" would teach without it is kept{less}."
        )

    def _say_way_out(self) -> str:
        """From how many rows, or from which epsilon, it would be good enough."""
        ways = []
        if self.rows_needed is not None and self.rows_needed > self.n:
            ways.append(f"from about {round_rows(self.rows_needed):,} rows it can")
            if self.utility_at(self.epsilon) >= NOTHING:
                ways = [f"about {round_rows(self.rows_needed):,} rows would keep nine tenths"]
        smallest = self.smallest_good_enough
        if smallest is not None and smallest > self.epsilon:
            ways.append(f"with these rows it takes epsilon {_round(smallest)}")
        return "; " + ", or ".join(ways) if ways else ""

    def _say_more_rows(self, lead: str) -> str:
        if self.rows_needed is None or self.rows_needed <= self.n:
            return ""
        return f"{lead} about {round_rows(self.rows_needed):,} rows at epsilon {self.epsilon:g}."

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the conclusion and the smallest good epsilon written out."""
        told = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        told["utility"] = {k: list(v) for k, v in self.utility.items()}
        said = {"conclusion": self.conclusion, "smallest_good_enough": self.smallest_good_enough}
        return {"utility_curve": _VERSION, **told, **said}

    def to_json(self) -> str:
        """The curve as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Self:
        """The curve that :meth:`to_dict` wrote."""
        if told.get("utility_curve") != _VERSION:
            raise ValueError(f"this is no utility curve of version {_VERSION}.")
        names = cls.__dataclass_fields__
        later = ("profile", "released")  # curves of 0.1.0 have none
        missing = [name for name in names if name not in told and name not in later]
        if missing:
            raise ValueError(f"the utility curve has no {', '.join(missing)}.")
        kept: dict[str, Any]
        kept = {
            k: tuple(told[k]) if isinstance(told[k], list) else told[k] for k in names if k in told
        }
        kept["utility"] = {k: tuple(v) for k, v in told["utility"].items()}
        return cls(**kept)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The curve that :meth:`to_json` wrote."""
        return cls.from_dict(json.loads(text))

    def __str__(self) -> str:
        shown = [e for e in self.simulated_at if self.epsilons[0] <= e <= self.epsilons[-1]]
        lines = [f"  {'epsilon':>8}  " + "  ".join(f"{s:>7}" for s in STRENGTHS)]
        for e in shown:
            lines.append(f"  {e:>8.3g}  " + "  ".join(self._write_cell(e, s) for s in STRENGTHS))
        return "\n".join([self.conclusion, *lines])

    def _write_cell(self, epsilon: float, strength: str) -> str:
        """What is kept; a dash where there is nothing to keep, which 0% would call noise."""
        if strength in self.hidden:
            return f"{'-':>7}"
        return f"{self.utility_at(epsilon, strength):>7.0%}"


def round_rows(rows: int) -> int:
    """A number of rows with one digit that counts, rounded up: more would feign precision.

    After a 1 comes a half as well: 1,100 as 2,000 would be twice too many.
    """
    unit = 10 ** (len(str(rows)) - 1)
    if unit > 1 and 2 * rows <= 3 * unit:
        unit //= 2
    return -(-rows // unit) * unit


def _write_kept(share: float) -> str:
    """A share that is kept; never a round 100, for noise always takes something."""
    return "over 99%" if share > 0.99 else f"{share:.0%}"


def _round(epsilon: float) -> str:
    return f"{epsilon:.2g}"
