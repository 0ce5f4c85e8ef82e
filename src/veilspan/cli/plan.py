"""``veilspan plan``: what a fit would ask and cost, and how good it would be, on made-up rows.

No file is read. The errors are those of fits to generated tables of the same shape: they say what
the noise does at this size, not how well your data suit the method.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.cli.console import print_json, progress, say
from veilspan.cli.kinds import Kind, kind_named, make_estimator, parameters_of
from veilspan.cli.samples import linear_table
from veilspan.privacy.budget import Budget

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
SEEDS = 3
#: Largest simulated table, in numbers; linear models take hundreds of passes over theirs.
LARGEST = {"labels": 200_000, "numbers": 200_000}
LARGEST_OTHER, FEWEST_ROWS = 2_000_000, 2000
#: With more columns a fit takes minutes, and fewer would tell of another problem.
MOST_COLUMNS = 500
_MEASURES = {
    "rows": "largest angle to the true subspace, degrees",
    "points": "distance to the true mean",
    "ratings": "error of held-out ratings (RMSE)",
    "labels": "wrong labels on new rows, %",
    "numbers": "error on new rows over the spread of targets",
}


@dataclass(frozen=True)
class Forecast:
    """Simulated errors: the median over seeds, at each epsilon and without privacy."""

    measure: str
    rows: int
    errors: dict[float, float]
    seeds: int = SEEDS

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; the error without privacy is at ``"inf"``."""
        errors = {("inf" if math.isinf(e) else f"{e:g}"): v for e, v in self.errors.items()}
        return {"measure": self.measure, "rows": self.rows, "seeds": self.seeds, "errors": errors}


def run_plan(
    name: str,
    *,
    rows: int,
    columns: int,
    epsilon: float,
    delta: float,
    neighbors: str,
    parameters: Sequence[str],
    simulate: bool,
    as_json: bool,
) -> None:
    """Print the plan and the forecast."""
    kind = kind_named(name)
    Budget(epsilon, delta)
    if rows < 2 or columns < 1:
        raise ValueError("a plan needs --rows of at least 2 and --columns of at least 1.")
    settings = {**_simulated_defaults(kind, columns), **parameters_of(kind, parameters)}
    shared = {"delta": delta, "neighbors": neighbors}
    plan = make_estimator(kind, columns, settings, epsilon=epsilon, **shared).plan(rows, columns)
    forecast = None
    if simulate and columns <= MOST_COLUMNS:
        wanted = sorted({*EPSILONS, epsilon})
        forecast = simulated(kind, rows, columns, settings, shared, wanted, quiet=as_json)
    if as_json:
        found = None if forecast is None else forecast.to_dict()
        print_json({"plan": plan.to_dict(), "simulated": found})
        return
    say(plan)
    if forecast is not None:
        _show(forecast, epsilon, rows)
    elif simulate:
        say(f"\nNot simulated: more than {MOST_COLUMNS} columns would take minutes.")


def _simulated_defaults(kind: Kind, columns: int) -> dict[str, Any]:
    """Public bounds that fit the made-up tables, where the user gives none."""
    if kind.reads == "rows":
        return {"n_components": min(2, columns)}
    if kind.reads == "points":
        return {"eigenvalues": (0.01, 100.0)}
    if kind.reads == "ratings":
        return {"rating_range": (1.0, 5.0)}
    bounds: dict[str, Any] = {"feature_range": (-1.0, 1.0)}
    return bounds | ({"target_range": (-1.0, 1.0)} if kind.reads == "numbers" else {})


def simulated(
    kind: Kind,
    rows: int,
    columns: int,
    settings: dict[str, Any],
    shared: dict[str, Any],
    epsilons: Sequence[float],
    *,
    quiet: bool,
) -> Forecast:
    """Fit made-up tables of this shape, or of fewer rows where that would take long."""
    if kind.reads == "points" and not str(settings.get("manifold", "spd")).startswith("spd"):
        raise ValueError("only means of matrices are simulated: add --no-simulate.")
    used = min(rows, max(FEWEST_ROWS, LARGEST.get(kind.reads, LARGEST_OTHER) // columns))
    # The made-up tables have seeds and labels of their own.
    settings = {k: v for k, v in settings.items() if k not in ("random_state", "classes")}
    levels = [*epsilons, math.inf]
    errors: dict[float, list[float]] = {level: [] for level in levels}
    with (
        progress("simulating", len(levels) * SEEDS, quiet=quiet) as advance,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # seeds are right here: no row is anybody's
        for seed in range(SEEDS):
            trial = _trial(kind, used, columns, settings, seed)
            for level in levels:
                model = make_estimator(
                    kind, columns, settings, epsilon=level, random_state=seed, **shared
                )
                errors[level].append(trial(model))
                advance()
    middle = {level: float(np.median(found)) for level, found in errors.items()}
    return Forecast(_MEASURES[kind.reads], used, middle)


def _trial(kind: Kind, rows: int, columns: int, settings: dict[str, Any], seed: int) -> Any:
    """A function from an unfitted model to its error on a made-up table."""
    from veilspan.datasets import make_haystack, make_ratings, make_spd
    from veilspan.metrics import principal_angles

    if kind.reads == "rows":
        count = settings.get("n_components") or min(2, columns)
        data = make_haystack(rows, columns, count, noise=0.05, random_state=seed)

        def angle(model: Any) -> float:
            model.n_components = count
            found = model.fit(data.rows).components_
            return math.degrees(float(np.max(principal_angles(found, data.subspace))))

        return angle
    if kind.reads == "points":
        sample = make_spd(rows, math.isqrt(columns), random_state=seed)
        return lambda model: float(
            model.manifold.dist(model.fit(sample.points).mean_, sample.center)
        )
    if kind.reads == "ratings":
        low, high = settings["rating_range"]
        ratings = make_ratings(rows, columns, rating_range=(low, high), random_state=seed)
        return lambda model: -float(model.fit(ratings.train).score(ratings.train, ratings.test))
    return _linear_trial(kind, rows, columns, seed)


def _linear_trial(kind: Kind, rows: int, columns: int, seed: int) -> Any:
    features, score, labels = linear_table(rows + 5000, columns, seed)
    targets = labels if kind.reads == "labels" else score

    def wrong(model: Any) -> float:
        model.fit(features[:rows], targets[:rows])
        found, true = model.predict(features[rows:]), targets[rows:]
        if kind.reads == "labels":
            return 100 * float(np.mean(found != true))
        return float(np.sqrt(np.mean((found - true) ** 2)) / np.std(true))

    return wrong


def _show(forecast: Forecast, epsilon: float, rows: int) -> None:
    say(f"\nSimulated on {forecast.seeds} made-up tables of {forecast.rows:,} rows (medians):")
    say(f"  {'epsilon':>10}  {forecast.measure}")
    for level, error in forecast.errors.items():
        name = "no privacy" if math.isinf(level) else f"{level:g}"
        mark = "  <- asked for" if level == epsilon else ""
        say(f"  {name:>10}  {error:.3g}{mark}")
    if forecast.rows < rows:
        say(
            f"Fewer rows than the {rows:,} asked about, to take seconds: with all of them the "
            "private errors are usually smaller."
        )
    say("It tells what the noise does at this size, not how well your data suit the method.")
