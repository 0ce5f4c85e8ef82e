"""How good a fit would be, foretold by fits to made-up tables of the same shape.

The errors say what the noise does at this size, not how well somebody's data suit the method.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan._progress import show_progress
from veilspan.catalogue import Kind
from veilspan.cli.arguments.estimators import make_estimator
from veilspan.cli.simulation.generators import make_linear_table

#: From an unfitted model to its error on a made-up table.
Trial = Callable[[Any], float]

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
SEEDS = 3
#: Largest simulated table, in numbers; linear models take hundreds of passes over theirs.
LARGEST = {"labels": 200_000, "numbers": 200_000}
LARGEST_OTHER, FEWEST_ROWS = 2_000_000, 2000
#: With more columns a fit takes minutes, and fewer would tell of another problem.
MOST_COLUMNS = 500
#: Rows beside those of the fit, on which linear models are judged: a share of wrong labels then has
#: a standard error below one percent.
NEW_ROWS = 5000
_MEASURES = {
    "rows": "largest angle to the true subspace, degrees",
    "points": "distance to the true mean",
    "ratings": "error of held-out ratings (RMSE)",
    "lists": "held-out items that a list of 20 misses, %",
    "labels": "wrong labels on new rows, %",
    "numbers": "error on new rows over the spread of targets",
}


@dataclass(frozen=True)
class Forecast:
    """Simulated errors: the median over seeds, at each epsilon and without privacy."""

    measure: str
    rows: int
    errors: dict[float, float]
    seeds: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; the error without privacy is at ``"inf"``."""
        errors = {("inf" if math.isinf(e) else f"{e:g}"): v for e, v in self.errors.items()}
        return {"measure": self.measure, "rows": self.rows, "seeds": self.seeds, "errors": errors}


@dataclass(frozen=True)
class MadeUpFit:
    """A fit to foretell: which estimator, on a table of which shape, with which parameters."""

    kind: Kind
    rows: int
    columns: int
    settings: Mapping[str, Any]
    delta: float
    neighbors: str

    def make_model(self, epsilon: float, **more: Any) -> Any:
        """The estimator, unfitted, with a budget."""
        budget = {"epsilon": epsilon, "delta": self.delta, "neighbors": self.neighbors}
        return make_estimator(self.kind, self.columns, self.settings, **budget, **more)


def learns_subspace(kind: Kind) -> bool:
    """Whether an estimator of plain rows learns components, which is what is simulated for them."""
    return kind.reads == "rows" and "n_components" in kind.load_class()().get_params()


def choose_public_bounds(kind: Kind, columns: int) -> dict[str, Any]:
    """Parameters that suit the made-up tables, for what the user says nothing about."""
    if kind.reads == "rows":
        return {"n_components": min(2, columns)} if learns_subspace(kind) else {}
    if kind.reads == "cells":
        return {}
    if kind.reads == "points":
        return {"eigenvalues": (0.01, 100.0)}
    if kind.reads == "ratings":
        return {"rating_range": (1.0, 5.0)}
    bounds: dict[str, Any] = {"feature_range": (-1.0, 1.0)}
    return bounds | ({"target_range": (-1.0, 1.0)} if kind.reads == "numbers" else {})


def simulate(asked: MadeUpFit, epsilon: float, *, quiet: bool) -> Forecast:
    """Fit made-up tables of this shape, or of fewer rows where that would take long."""
    kind, settings = asked.kind, asked.settings
    if kind.reads == "points" and not str(settings.get("manifold", "spd")).startswith("spd"):
        raise ValueError("only means of matrices are simulated: add --no-simulate.")
    most = LARGEST.get(kind.reads, LARGEST_OTHER) // asked.columns
    # The made-up tables have seeds and labels of their own.
    kept = {k: v for k, v in settings.items() if k not in ("random_state", "classes")}
    made = MadeUpFit(
        kind,
        min(asked.rows, max(FEWEST_ROWS, most)),
        asked.columns,
        kept,
        asked.delta,
        asked.neighbors,
    )
    levels = sorted({*EPSILONS, epsilon, math.inf})
    errors = _collect_errors(made, levels, quiet=quiet)
    middle = {level: float(np.median(found)) for level, found in errors.items()}
    measure = _MEASURES[kind.reads if made.settings.get("task") != "rank" else "lists"]
    return Forecast(measure, made.rows, middle, SEEDS)


def _collect_errors(
    made: MadeUpFit, levels: Sequence[float], *, quiet: bool
) -> dict[float, list[float]]:
    errors: dict[float, list[float]] = {level: [] for level in levels}
    with (
        show_progress("simulating", len(levels) * SEEDS, quiet=quiet) as bar,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # seeds are right here: no row is anybody's
        for seed in range(SEEDS):
            trial = _TRIALS[made.kind.reads](made, seed)
            for level in levels:
                errors[level].append(
                    trial(made.make_model(level, random_state=seed, allow_weak=True))
                )
                bar.advance()
    return errors


def _try_subspace(made: MadeUpFit, seed: int) -> Trial:
    from veilspan.datasets import make_haystack
    from veilspan.metrics import principal_angles

    count = made.settings.get("n_components") or min(2, made.columns)
    data = make_haystack(made.rows, made.columns, count, noise=0.05, random_state=seed)

    def measure_angle(model: Any) -> float:
        model.n_components = count
        found = model.fit(data.rows).components_
        return math.degrees(float(np.max(principal_angles(found, data.subspace))))

    return measure_angle


def _try_mean(made: MadeUpFit, seed: int) -> Trial:
    from veilspan.datasets import make_spd

    sample = make_spd(made.rows, math.isqrt(made.columns), random_state=seed)
    return lambda model: float(model.manifold.dist(model.fit(sample.points).mean_, sample.center))


def _try_ratings(made: MadeUpFit, seed: int) -> Trial:
    from veilspan.datasets import make_histories, make_ratings

    if made.settings.get("task") == "rank":
        own = make_histories(made.rows, made.columns, random_state=seed)
        return lambda model: 100 * (1 - float(model.fit(own.train).score(own.train, own.test)))
    low, high = made.settings["rating_range"]
    ratings = make_ratings(made.rows, made.columns, rating_range=(low, high), random_state=seed)
    return lambda model: -float(model.fit(ratings.train).score(ratings.train, ratings.test))


def _try_labels(made: MadeUpFit, seed: int) -> Trial:
    n = made.rows
    features, _, labels = make_linear_table(n + NEW_ROWS, made.columns, seed)

    def count_wrong(model: Any) -> float:
        found = model.fit(features[:n], labels[:n]).predict(features[n:])
        return 100 * float(np.mean(found != labels[n:]))

    return count_wrong


def _try_numbers(made: MadeUpFit, seed: int) -> Trial:
    n = made.rows
    features, score, _ = make_linear_table(n + NEW_ROWS, made.columns, seed)

    def measure_error(model: Any) -> float:
        found, true = model.fit(features[:n], score[:n]).predict(features[n:]), score[n:]
        return float(np.sqrt(np.mean((found - true) ** 2)) / np.std(true))

    return measure_error


#: By what an estimator reads.
_TRIALS: dict[str, Callable[[MadeUpFit, int], Trial]] = {
    "rows": _try_subspace,
    "points": _try_mean,
    "ratings": _try_ratings,
    "labels": _try_labels,
    "numbers": _try_numbers,
}
