"""Made-up rows with planted directions, for estimators of components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.planning.trials import Case
from veilspan.planning.utility_curve import NotSimulatedError

#: Variance along the planted directions, that across them being 1.
STRENGTHS = {"weak": 3.0, "medium": 10.0, "strong": 30.0}
#: With a schema: share of a column's variance that common causes explain.
SHARES = {"weak": 0.2, "medium": 0.5, "strong": 0.8}
#: Rows beside those of the fit, on which it is judged.
FRESH = 3000
#: Where outliers are expected, so many rows are some: the haystack model's half is extreme.
OUTLIERS = 0.2
#: Share of the rows that lie within a public bound on their length.
WITHIN = 0.95


def check(case: Case) -> None:
    """Refuse what cannot be judged by planted directions."""
    if not hasattr(case.estimator, "n_components"):
        raise NotSimulatedError(f"there are no made-up tables to judge {case.kind.estimator} by.")
    if case.n_features < 2:
        raise NotSimulatedError("one column has one direction only: nothing is to be found.")


def say_measure(case: Case) -> str:
    """What is compared, in words."""
    return "variance of fresh rows along the components, beyond that along random directions"


def say_strength(case: Case, strength: str) -> str:
    """What a strength means, in words."""
    if case.schema is not None:
        return f"common causes explain {SHARES[strength]:.0%} of each column's variance"
    return f"{STRENGTHS[strength]:g} times the variance along the planted directions"


@dataclass(frozen=True)
class SubspaceTrial:
    """Rows to fit, and the second moment of fresh ones.

    Attributes
    ----------
    case : Case
        What is simulated.
    table : array or mapping
        Rows of numbers, or cells by a schema.
    moment : array of shape (n_features, n_features)
        Of fresh centred rows of the planted structure.
    count : int
        Number of components.
    changes : dict
        Parameters of the fits beside the budget.
    """

    case: Case
    table: Any
    moment: np.ndarray
    count: int
    changes: dict[str, Any]

    def learn(self, epsilon: float, seed: int, share: float) -> float:
        """Captured variance: 0 for random directions, 1 for the best."""
        model = self.case.make_model(epsilon, seed, share, **self.changes).fit(self.table)
        found = model.components_
        captured = float(np.einsum("ij,jk,ik->", found, self.moment, found))
        values = np.linalg.eigvalsh(self.moment)
        chance = len(found) * float(np.mean(values))
        return (captured - chance) / max(float(values[-len(found) :].sum()) - chance, 1e-12)


def choose_count(case: Case) -> tuple[int, int]:
    """How many components are looked for, and how many directions planted."""
    asked, width = case.estimator.n_components, case.n_features
    whole = isinstance(asked, (int, np.integer)) and not isinstance(asked, bool)
    count = min(int(asked) if whole else min(2, width - 1), width)
    return count, max(1, min(count, width // 2))


def make_trial(case: Case, strength: str, rows: int, seed: int) -> SubspaceTrial:
    """Gaussian rows around a centre, of a length that the bounds allow; outliers where expected."""
    width = case.n_features
    count, planted = choose_count(case)
    rng = np.random.default_rng(seed)
    changes: dict[str, Any] = {"n_components": count}
    if case.schema is not None:
        return _with_schema(case, strength, rows, rng, planted, count, changes)
    basis = np.linalg.qr(rng.standard_normal((width, planted)))[0]
    loud = np.sqrt(STRENGTHS[strength]) - 1.0

    def draw(n: int) -> np.ndarray:
        drawn = rng.standard_normal((n, width))
        return drawn + loud * (drawn @ basis) @ basis.T

    table, fresh = draw(rows), draw(FRESH)
    if case.kind.estimator == "RobustPCA":
        length = float(np.sqrt(np.mean(np.sum(table**2, axis=1))))
        some = rng.random(rows) < OUTLIERS
        table[some] = rng.standard_normal((int(some.sum()), width)) * length / np.sqrt(width)
    bound = getattr(case.estimator, "row_norm", None)
    if bound is not None:
        table *= bound / np.quantile(np.linalg.norm(table, axis=1), WITHIN)
    centre = getattr(case.estimator, "center", None)
    if centre is not None and not isinstance(centre, str):
        table += np.asarray(centre, dtype=float)
    return SubspaceTrial(case, table, fresh.T @ fresh / FRESH, count, changes)


def _with_schema(
    case: Case,
    strength: str,
    rows: int,
    rng: np.random.Generator,
    planted: int,
    count: int,
    changes: dict[str, Any],
) -> SubspaceTrial:
    from veilspan.planning.made_up_cells import fill_columns, narrow_schema
    from veilspan.tables.encoding import encode_table

    narrow = narrow_schema(case.schema, rows, target=False)
    columns = len(narrow.features)
    loadings = rng.standard_normal((planted, columns))
    loadings /= np.linalg.norm(loadings, axis=0)
    common = SHARES[strength]

    def draw(n: int) -> dict[str, Any]:
        causes = rng.standard_normal((n, planted)) @ loadings
        own = rng.standard_normal((n, columns))
        return fill_columns(narrow, np.sqrt(common) * causes + np.sqrt(1 - common) * own)

    table = draw(rows)
    fresh = encode_table(narrow, draw(FRESH), target=False).x
    fresh = fresh - fresh.mean(axis=0)
    changes = {**changes, "schema": narrow, "neighbors": narrow.neighbors}
    return SubspaceTrial(case, table, fresh.T @ fresh / FRESH, count, changes)
