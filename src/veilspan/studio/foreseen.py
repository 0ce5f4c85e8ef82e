"""What was foretold of a question, at each epsilon of the slider."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from veilspan.studio.asking import Asking, weigh
from veilspan.studio.foresee import list_epsilons
from veilspan.studio.state import Studio

STRENGTHS = ("weak", "medium", "strong")
#: A share that is known to a point of a hundred, as people write shares, is good enough.
GOOD_SHARE = 0.01


@dataclass(frozen=True)
class Foreseen:
    """Numbers for every epsilon of the slider.

    Attributes
    ----------
    epsilons : list of float
        Places of the slider.
    odds : list of float
        The best attacker's share of right guesses, by the letter of the promise, as a report says.
    planned : list of float
        The same by the noise that is planned, which may allow less; empty while it is counted.
    after : list of float
        Share of the budget that would be used afterwards, above 1 if it does not fit; empty while
        that is being counted.
    bars : dict
        How exact a profile would be: ``share``, and ``mean`` as a part of the range.
    utility : dict
        What is kept of weak, medium and strong structure; empty while that is being simulated.
    smallest : float or None
        The smallest epsilon that is good enough.
    before : float
        Share of the budget that is used now.
    conclusion, why : str
        What the simulation says, or why there is none.
    waiting : bool
        Whether something is still under way.
    curve : dict or None
        The whole simulated curve.
    """

    epsilons: list[float]
    odds: list[float]
    after: list[float] = field(default_factory=list)
    utility: dict[str, list[float]] = field(default_factory=dict)
    smallest: float | None = None
    before: float = 0.0
    conclusion: str = ""
    why: str = ""
    waiting: bool = False
    curve: dict[str, Any] | None = None
    planned: list[float] = field(default_factory=list)
    bars: dict[str, list[float]] = field(default_factory=dict)
    delta: float = 1e-6
    people: int | None = None

    def nearest(self, epsilon: float) -> int:
        """The place of the slider that is nearest to an epsilon."""
        logs = [abs(math.log(e / epsilon)) for e in self.epsilons]
        return logs.index(min(logs))

    def at(self, values: Sequence[float], epsilon: float) -> float:
        """A value between the places of the slider."""
        return interpolate(self.epsilons, values, epsilon)

    def grade(self, epsilon: float) -> str:
        """How strong the promise is at an epsilon."""
        from veilspan.privacy.strength import grade_promise

        return grade_promise(epsilon, self.delta, self.people).grade

    def to_points(self) -> dict[str, Any]:
        """What the script of the page needs to follow the slider."""
        return {
            "epsilons": self.epsilons,
            "odds": self.odds,
            "planned": self.planned,
            "after": self.after,
            "before": self.before,
            "grades": [self.grade(e) for e in self.epsilons],
            **self.utility,
            **self.bars,
        }


def foresee_points(studio: Studio, asking: Asking, state: Any) -> Foreseen:
    """All that is known now; what is not is begun in the background."""
    from veilspan.privacy.strength import find_even_odds

    epsilons = list_epsilons()
    schema = asking.schema(studio)
    found = studio.foresight.find(asking, state)
    known: dict[str, Any] = {
        "delta": asking.delta,
        "people": schema.count or schema.expected,
        "before": 0.0 if state is None else state.shares.used,
    }
    odds = [round(find_even_odds(e, asking.delta), 5) for e in epsilons]
    if found is None or not found["grid"]:
        why = "" if found is None else found.get("why", "")
        return Foreseen(epsilons, odds, waiting=found is None, why=why, **known)
    grid = found["grid"]
    counted = found["odds"]
    known["planned"] = [
        round(interpolate(counted["epsilons"], counted["right"], e), 5) for e in epsilons
    ]
    after: list[float] = []
    if found["costs"] is not None and state is not None:
        charges = [weigh(costs, state) for costs in found["costs"]]
        after = [round(_after(grid, charges, e), 5) for e in epsilons]
    curve = found["curve"]
    if curve is None:
        bars = {name: [float(f"{x:.3g}") for x in told] for name, told in found["bars"].items()}
        good = [e for e, bar in zip(epsilons, bars.get("share", ())) if bar <= GOOD_SHARE]
        known |= {"bars": bars, "smallest": min(good, default=None)}
        return Foreseen(epsilons, odds, after, why=found.get("why", ""), **known)
    utility = {
        s: [round(interpolate(curve["epsilons"], curve["utility"][s], e), 4) for e in epsilons]
        for s in STRENGTHS
    }
    return Foreseen(
        epsilons,
        odds,
        after,
        utility,
        _round_up(curve["smallest_good_enough"]),
        conclusion=curve["conclusion"],
        curve=curve,
        **known,
    )


def _round_up(epsilon: float | None) -> float | None:
    """Two digits, upwards: what is offered is still good enough."""
    if epsilon is None:
        return None
    unit = 10 ** (math.floor(math.log10(epsilon)) - 1)
    return float(f"{math.ceil(epsilon / unit * (1 - 1e-9)) * unit:.3g}")


def _after(grid: Sequence[float], charges: Sequence[Any], epsilon: float) -> float:
    """Used afterwards, between the epsilons that were counted; beyond the last that fits, too much.

    The share grows about with the square of epsilon, so that logarithms are joined by lines.
    """
    fitting = [(e, c) for e, c in zip(grid, charges) if c.fits]
    if not fitting or epsilon > 1.0001 * _last(grid, charges):
        return 1.01
    before = charges[0].before
    logs = [math.log(max(c.share, 1e-12)) for _, c in fitting]
    places = [e for e, _ in fitting]
    if epsilon > places[-1]:  # between the last that fits and the first that does not
        slope = (logs[-1] - logs[-2]) / math.log(places[-1] / places[-2]) if len(logs) > 1 else 2.0
        share = math.exp(logs[-1] + slope * math.log(epsilon / places[-1]))
    else:
        share = math.exp(interpolate(places, logs, epsilon))
    return min(before + share, 1.01)


def _last(grid: Sequence[float], charges: Sequence[Any]) -> float:
    """The first epsilon that was counted and does not fit, or beyond the last."""
    return next((e for e, c in zip(grid, charges) if not c.fits), 10 * grid[-1])


def interpolate(places: Sequence[float], values: Sequence[float], at: float) -> float:
    """Values joined by straight lines over the logarithm; the ends go on level."""
    if at <= places[0]:
        return values[0]
    if at >= places[-1]:
        return values[-1]
    right = bisect_left(places, at)
    low, high = math.log(places[right - 1]), math.log(places[right])
    part = (math.log(at) - low) / (high - low)
    return values[right - 1] + part * (values[right] - values[right - 1])
