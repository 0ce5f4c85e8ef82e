"""Rows like those of a released profile, and what fits learn from them.

What there is to learn is what the profile's correlations say: as released, and by one error bar
nearer to 0 and farther from it, since noise is in them too. Targets without a correlation that can
be measured are planted (:mod:`veilspan.planning.made_up_targets`) on rows like those of the
profile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from veilspan.planning.made_up_cells import narrow_schema
from veilspan.planning.made_up_rows import FRESH, SubspaceTrial, choose_count
from veilspan.planning.released_cells import Margin, ReleasedCells, is_related
from veilspan.planning.trials import Case
from veilspan.planning.utility_curve import NotSimulatedError
from veilspan.tables.columns import BooleanColumn

_MEANINGS = {
    "weak": "the profile's correlations, each nearer to 0 by its error bar",
    "medium": "the profile's correlations as released",
    "strong": "the profile's correlations, each farther from 0 by its error bar",
}
#: Quantiles of a normal by which a mean over it is taken.
NODES = 41


def check_profile(profile: Any, schema: Any) -> None:
    """Refuse what is no released profile of the schema."""
    from veilspan.estimators.profile.profile import Profile

    if not isinstance(profile, Profile) or not hasattr(profile, "privacy_"):
        raise ValueError("profile= takes a fitted Profile, or one that veilspan.load has read.")
    if not profile.privacy_.private:
        raise ValueError(
            f"this profile is NOT PRIVATE ({profile.privacy_.why_not_private}): rows drawn from it "
            "would tell of people. Give one that was released with noise."
        )
    if not profile.privacy_.verify():
        raise ValueError(
            "the events of this profile cost more than its statement says: it is not what was "
            "released. `veilspan verify` says what does not fit."
        )
    if schema is None or profile.schema.digest != schema.digest:
        asked = "no schema" if schema is None else f"a schema of digest {schema.digest[:12]}"
        raise ValueError(
            f"the profile is of another schema (digest {profile.schema.digest[:12]}; asked about "
            f"is {asked}): its numbers do not describe this table. Plan with the schema that the "
            "profile was released with, or release a profile of this one."
        )
    if not profile.people.measurable:
        raise NotSimulatedError("noise hides even how many people this profile is of.")


def name_profile(profile: Any) -> str:
    """Which profile it is, for the conclusion."""
    name = profile.schema.name or "of a table"
    return f"profile {name} (released at epsilon {profile.privacy_.epsilon:.3g})"


def tells_relation(case: Case) -> bool:
    """Whether what is to be learned is in the profile, so that nothing need be planted."""
    if case.kind.reads == "rows":
        return True
    target = None if case.schema is None else case.schema.target
    return target is not None and is_related(case.profile, target.name)


def say_measure(case: Case) -> str:
    """What is compared, in words."""
    if case.kind.reads == "labels":
        return "pairs of fresh rows, one true and one false, put in the right order beyond chance"
    if case.kind.reads == "numbers":
        return "variance of fresh targets that is explained"
    return "variance of fresh rows along the components, beyond that along random directions"


def say_strength(case: Case, strength: str) -> str:
    """What a strength means, in words."""
    return _MEANINGS[strength]


def make_trial(case: Case, strength: str, rows: int, seed: int) -> Any:
    """Rows drawn from the released numbers."""
    rng = np.random.default_rng(seed)
    if case.kind.reads == "rows":
        return _draw_rows(case, strength, rows, rng)
    return _draw_with_target(case, strength, rows, rng)


def _draw_rows(case: Case, strength: str, rows: int, rng: np.random.Generator) -> SubspaceTrial:
    from veilspan.tables.encoding import encode_table

    narrow = narrow_schema(case.schema, rows, target=False)
    cells = ReleasedCells.read(case.profile, narrow.features, strength)
    table = cells.fill(cells.draw_normals(rows, rng), rng)
    fresh = encode_table(narrow, cells.fill(cells.draw_normals(FRESH, rng), rng), target=False).x
    fresh = fresh - fresh.mean(axis=0)
    count, _ = choose_count(case)
    changes = {"n_components": count, "schema": narrow, "neighbors": narrow.neighbors}
    return SubspaceTrial(case, table, fresh.T @ fresh / FRESH, count, changes)


@dataclass(frozen=True)
class RelatedTrial:
    """Rows to fit, and fresh ones with what the normals behind them say of the target.

    Attributes
    ----------
    case : Case
        What is simulated.
    table, fresh : mapping
        Cells by a schema.
    truth : array
        Of the fresh rows: the chance that the target is true, or its mean, given the features.
    changes : dict
        Parameters of the fits beside the budget.
    """

    case: Case
    table: Any
    fresh: Any
    truth: np.ndarray
    changes: dict[str, Any]

    def learn(self, epsilon: float, seed: int, share: float) -> float:
        """Right order beyond chance, over the best there is; or explained variance."""
        model = self.case.make_model(epsilon, seed, share, **self.changes).fit(self.table)
        if self.case.kind.reads == "labels":
            best = order_rightly(self.truth, self.truth)
            found = order_rightly(np.ravel(model.decision_function(self.fresh)), self.truth)
            return found / best if best > 1e-3 else 0.0
        spread = float(np.var(self.truth))
        found = float(np.mean((model.predict(self.fresh) - self.truth) ** 2))
        return 1 - found / spread if spread > 0 else 0.0


def _draw_with_target(
    case: Case, strength: str, rows: int, rng: np.random.Generator
) -> RelatedTrial:
    narrow = narrow_schema(case.schema, rows, target=True)
    target: Any = narrow.target
    if isinstance(target, BooleanColumn) != (case.kind.reads == "labels"):
        wanted = "a number" if case.kind.reads == "numbers" else "a label"
        raise NotSimulatedError(f"{case.kind.estimator} predicts {wanted}; the target is none.")
    both = ReleasedCells.read(case.profile, (*narrow.features, target), strength)
    normals = both.draw_normals(rows + FRESH, rng)
    cells = both.fill(normals, rng)
    margin = both.margins[-1]
    cells[target.name] = margin.fill(normals[:, -1], rng, gaps=False)
    inner, outer = both.correlation[:-1, :-1], both.correlation[:-1, -1]
    slopes = np.linalg.solve(inner, outer)
    rest = float(np.sqrt(max(1 - slopes @ outer, 1e-12)))
    truth = _expect(margin, normals[rows:, :-1] @ slopes, rest)
    table = {name: column[:rows] for name, column in cells.items()}
    fresh = {name: column[rows:] for name, column in cells.items()}
    changes = {"schema": narrow, "neighbors": narrow.neighbors}
    return RelatedTrial(case, table, fresh, truth, changes)


def _expect(margin: Margin, centres: np.ndarray, rest: float) -> np.ndarray:
    """The target's mean given the features: its normal has these centres and this deviation."""
    if isinstance(margin.column, BooleanColumn):
        return np.asarray(ndtr((centres - ndtri(1 - margin.share_of_true)) / rest))
    nodes = ndtri((np.arange(NODES) + 0.5) / NODES)
    return np.asarray(np.mean([margin.numbers(centres + rest * e) for e in nodes], axis=0))


def order_rightly(scores: np.ndarray, chances: np.ndarray) -> float:
    """Share of pairs (one true, one false) in the right order, ties half; twice that less one.

    Rows are true with these chances: the mean over all that they may turn out to be.
    """
    _, place = np.unique(scores, return_inverse=True)
    true = np.bincount(place, chances)
    false = np.bincount(place, 1 - chances)
    below = np.cumsum(false) - false / 2
    pairs = float(true.sum() * false.sum())
    return 2 * float(true @ below) / pairs - 1 if pairs > 0 else 0.0
