"""Made-up rows with labels or numbers that follow them, for linear models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.planning.trials import Case
from veilspan.planning.utility_curve import NotSimulatedError

#: Share of the labels that the features decide, the others being drawn by lot; share of the
#: variance of numbers that features explain.
LABELS = {"weak": 0.3, "medium": 0.6, "strong": 0.95}
NUMBERS = {"weak": 0.1, "medium": 0.4, "strong": 0.8}
#: Rows beside those of the fit, on which it is judged.
FRESH = 3000
#: Standard deviations of targets in half their public range: one in 20 lies beyond it.
SPREAD = 2.0


def check(case: Case) -> None:
    """Refuse a schema without a target."""
    if case.schema is not None and case.schema.target is None:
        raise NotSimulatedError("the schema has no column of role target: nothing is predicted.")


def say_measure(case: Case) -> str:
    """What is compared, in words."""
    if case.kind.reads == "labels":
        return "labels of fresh rows that are told right, beyond guessing"
    return "variance of fresh targets that is explained"


def say_strength(case: Case, strength: str) -> str:
    """What a strength means, in words."""
    if case.kind.reads == "labels":
        return f"{LABELS[strength]:.0%} of the labels follow the features"
    return f"{NUMBERS[strength]:.0%} of the targets' variance follows the features"


@dataclass(frozen=True)
class TargetTrial:
    """Rows to fit with their targets, and fresh ones with what is true of them.

    Attributes
    ----------
    case : Case
        What is simulated.
    table, fresh : array or mapping
        Rows of numbers, or cells by a schema.
    targets : array or None
        Of the rows to fit; with a schema they are a column.
    truth : array
        What the features alone say of the fresh rows.
    changes : dict
        Parameters of the fits beside the budget.
    """

    case: Case
    table: Any
    targets: np.ndarray | None
    fresh: Any
    truth: np.ndarray
    changes: dict[str, Any]

    def learn(self, epsilon: float, seed: int, share: float) -> float:
        """Right labels beyond those of the most frequent one, or explained variance."""
        model = self.case.make_model(epsilon, seed, share, **self.changes)
        found = model.fit(self.table, self.targets).predict(self.fresh)
        if self.case.kind.reads == "labels":
            chance = float(np.max(np.unique(self.truth, return_counts=True)[1]) / len(self.truth))
            return (float(np.mean(found == self.truth)) - chance) / max(1 - chance, 1e-12)
        spread = float(np.var(self.truth))
        return 1 - float(np.mean((found - self.truth) ** 2)) / max(spread, 1e-300)


def make_trial(case: Case, strength: str, rows: int, seed: int) -> TargetTrial:
    """Rows over their public ranges; half of the columns decide the targets."""
    rng = np.random.default_rng(seed)
    total = rows + FRESH
    if case.schema is not None:
        return _with_schema(case, strength, rows, rng)
    table = _draw_features(case, total, rng)
    targets, truth = _draw_targets(case, table, strength, rng, case.estimator)
    return TargetTrial(case, table[:rows], targets[:rows], table[rows:], truth[rows:], {})


def _draw_features(case: Case, total: int, rng: np.random.Generator) -> np.ndarray:
    ranges, bound = case.estimator.feature_range, case.estimator.row_norm
    if ranges is None and bound is not None:  # directions of all kinds, as long as allowed
        drawn = rng.standard_normal((total, case.n_features))
        return drawn * float(bound) / np.linalg.norm(drawn, axis=1, keepdims=True)
    low, high = (-1.0, 1.0) if ranges is None else ranges
    return np.asarray(rng.uniform(low, high, (total, case.n_features)))


def _draw_targets(
    case: Case, features: np.ndarray, strength: str, rng: np.random.Generator, facts: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Targets, and what the features alone say of them; ``facts`` has classes or a range."""
    if case.kind.reads == "labels":
        found = getattr(facts, "classes", None)
        classes = np.array([0, 1] if found is None else list(found))
        scores = _score(features, len(classes) if len(classes) > 2 else 1, rng)
        truth = (scores[:, 0] > 0).astype(int) if len(classes) == 2 else scores.argmax(axis=1)
        lots = rng.integers(len(classes), size=len(truth))
        seen = np.where(rng.random(len(truth)) < LABELS[strength], truth, lots)
        return classes[seen], classes[truth]
    follows = NUMBERS[strength]
    signal = np.sqrt(follows) * _score(features, 1, rng)[:, 0]
    noisy = signal + np.sqrt(1 - follows) * rng.standard_normal(len(signal))
    asked = getattr(facts, "target_range", None)
    low, high = (-1.0, 1.0) if asked is None else asked
    middle, half = (low + high) / 2, (high - low) / 2
    return np.clip(middle + half * noisy / SPREAD, low, high), middle + half * signal / SPREAD


def _score(features: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Standardised linear scores of half of the columns."""
    columns = features.shape[1]
    weights = rng.standard_normal((columns, count))
    used = rng.permutation(columns) < max(1, columns // 2)
    scores = (features - features.mean(axis=0)) @ (weights * used[:, None])
    return np.asarray((scores - scores.mean(axis=0)) / np.maximum(scores.std(axis=0), 1e-12))


def _with_schema(case: Case, strength: str, rows: int, rng: np.random.Generator) -> TargetTrial:
    from veilspan.planning.made_up_cells import narrow_schema
    from veilspan.tables.columns import BooleanColumn, NumberColumn
    from veilspan.tables.encoding import encode_table

    narrow = narrow_schema(case.schema, rows, target=True)
    target = narrow.target
    cells = _draw_cells(case, narrow, rows + FRESH, rng)
    spread = encode_table(narrow, cells, target=False).x
    number = isinstance(target, NumberColumn)
    if number != (case.kind.reads == "numbers"):
        wanted = "a number" if case.kind.reads == "numbers" else "a label"
        raise NotSimulatedError(f"{case.kind.estimator} predicts {wanted}; the target is none.")
    targets, truth = _draw_targets(case, spread, strength, rng, narrow)
    shown: Any = targets
    if isinstance(target, BooleanColumn):
        shown = np.where(targets, target.true[0], target.false[0]).tolist()
    elif not number:
        shown = targets.tolist()
    elif target.integer:  # type: ignore[union-attr]
        shown = np.rint(targets)
    cells[target.name] = shown  # type: ignore[union-attr]
    table = {name: column[:rows] for name, column in cells.items()}
    fresh = {name: column[rows:] for name, column in cells.items()}
    changes = {"schema": narrow, "neighbors": narrow.neighbors}
    return TargetTrial(case, table, None, fresh, truth[rows:], changes)


def _draw_cells(case: Case, narrow: Any, total: int, rng: np.random.Generator) -> dict[str, Any]:
    """Features over their whole ranges, or like those of a released profile."""
    from veilspan.planning.made_up_cells import fill_columns

    if case.profile is None:
        return fill_columns(narrow, rng.standard_normal((total, len(narrow.features))))
    from veilspan.planning.released_cells import ReleasedCells

    released = ReleasedCells.read(case.profile, narrow.features)
    return released.fill(released.draw_normals(total, rng), rng)
