"""A process of its own that foretells: what each epsilon costs, and what its noise would take.

It reads a public question from the standard input, fits made-up rows of the schema's shape (or like
those of a released profile), and writes what it found to a file. Nobody's row is read. A line of
JSON for every step goes to the standard output.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

#: Epsilons of the slider, the same as those of a simulated curve: from 0.03 to 10.
LOWEST, HIGHEST, POINTS = 0.03, 10.0, 61
#: Epsilons at which costs are counted; between them they are drawn by straight lines. Closer
#: where epsilon is large: there a method may change to another, and an attacker gains at once.
GRID = (0.03, 0.1, 0.3, 0.6, 1.0, 1.7, 3.0, 4.1, 5.5, 7.4, 10.0)
NO_BARS = (
    "How many there are is private, so that nobody can say beforehand how exact shares and means "
    "will be. The profile says it of each."
)


def foresee(asked: dict[str, Any], out: Path) -> None:
    """Answer a question of :mod:`veilspan.studio.foresight`; write the file whole or not at all."""
    from veilspan._files import write_whole
    from veilspan.catalogue import COMMANDS
    from veilspan.studio.questions import make_model, make_plan
    from veilspan.tables.schema import Schema

    schema = Schema.from_toml(asked["schema"])

    def at(epsilon: float) -> Any:
        return make_model(asked["estimator"], schema, asked["params"], epsilon, asked["delta"])

    found: dict[str, Any] = {"grid": list(GRID), "costs": None, "bars": {}, "curve": None}
    plans = [make_plan(at(epsilon)) for epsilon in GRID]
    counted = dict(zip(GRID, plans))
    for epsilon in list_quick(plans):
        counted.setdefault(epsilon, make_plan(at(epsilon)))
    odds = {epsilon: find_odds(counted[epsilon]) for epsilon in sorted(counted)}
    found["odds"] = {"epsilons": list(odds), "right": list(odds.values())}
    if asked["rules"] is not None:
        found["costs"] = list(count_costs(plans, asked["rules"]))
    if COMMANDS[asked["estimator"]].reads == "cells":
        found["bars"] = count_bars(at)
        found["why"] = "" if found["bars"] else NO_BARS
    else:
        found |= simulate(asked, schema, at(asked["epsilon"]))
    text = json.dumps(found, allow_nan=False).encode()
    write_whole(out, lambda stream: stream.write(text), 0o600)


def simulate(asked: dict[str, Any], schema: Any, model: Any) -> dict[str, Any]:
    """The curve of what noise leaves on made-up rows, or why there is none."""
    try:
        from veilspan.planning import NotSimulatedError, simulate_utility

        profile = load_profile(asked.get("profile"))
        guess = asked["people"] if profile is None else max(2, round(profile.people.value))
        people = schema.count or schema.expected or guess
        return {
            "curve": simulate_utility(model, n=people, profile=profile, progress=tell).to_dict()
        }
    except ModuleNotFoundError:
        return {"why": "Nothing was simulated."}
    except NotSimulatedError as error:
        return {"why": str(error)}


def list_epsilons() -> list[float]:
    """The epsilons of the slider: even steps of the logarithm, rounded to read well."""
    ratio = (HIGHEST / LOWEST) ** (1 / (POINTS - 1))
    return [float(f"{LOWEST * ratio**k:.3g}") for k in range(POINTS)]


def list_quick(plans: Sequence[Any]) -> list[float]:
    """Places of the slider whose plans take no time: Gaussian on both sides of the grid.

    Others are calibrated by numerical accounting, for seconds each.
    """
    from veilspan.privacy.accounting import gaussian_only

    plain = [gaussian_only(plan.events) for plan in plans]
    spans = [(GRID[k], GRID[k + 1]) for k in range(len(GRID) - 1) if plain[k] and plain[k + 1]]
    return [e for e in list_epsilons() if any(low < e < high for low, high in spans)]


def count_bars(at: Callable[[float], Any]) -> dict[str, list[float]]:
    """How exact a profile would be at each place of the slider; empty if that is not public."""
    from veilspan.planning.profile_bars import foretell_profile

    told = [foretell_profile(at(epsilon)) for epsilon in list_epsilons()]
    return {name: [bars[name] for bars in told] for name in told[0]}


def load_profile(described: dict[str, str] | None) -> Any:
    """The released profile that rows are to be like; it must be the one that was asked about."""
    if described is None:
        return None
    from veilspan.releases import load
    from veilspan.releases.documents import read_document

    folder = Path(described["folder"])
    if read_document(folder, None)["digest"] != described["digest"]:
        raise ValueError("the profile was exchanged meanwhile.")
    return load(folder)


def count_costs(plans: Any, recorded: Any) -> Any:
    """Units that plans cost under the rules of an account."""
    from veilspan.ledger.costs import cost_of
    from veilspan.ledger.filters import rules_from_list

    rules = rules_from_list(recorded)
    for step, plan in enumerate(plans, 1):
        yield list(cost_of(plan, rules))
        tell(step, len(plans), "costs")


def find_odds(plan: Any) -> float:
    """The best attacker's share of right guesses, at even odds, under a plan.

    With mu where all is Gaussian, else by the privacy loss of all events: (1 + delta(0)) / 2.
    """
    from veilspan.privacy.accounting import gaussian_mu, gaussian_only, privacy_curve
    from veilspan.privacy.strength import find_even_odds

    epsilon, delta = plan.budget.epsilon, plan.budget.delta
    if plan.adaptive:
        return float(find_even_odds(epsilon, delta, plan.budget.mu))
    if gaussian_only(plan.events):
        return float(find_even_odds(epsilon, delta, gaussian_mu(plan.events)))
    _, deltas = privacy_curve(plan.events, [0.0], neighbors=plan.neighbors)
    return min(float(find_even_odds(epsilon, delta)), (1 + float(deltas[0])) / 2)


def tell(step: int, of: int, what: str = "fits") -> None:
    """Say how far the work is, a line each time."""
    print(json.dumps({"step": step, "of": of, "what": what}), flush=True)


if __name__ == "__main__":
    foresee(json.load(sys.stdin), Path(sys.argv[1]))
