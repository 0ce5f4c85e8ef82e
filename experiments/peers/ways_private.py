"""Ways of diffprivlib and OpenDP; each function runs in the environment of its library."""

from typing import Any

import numpy as np

Table = dict[str, np.ndarray]

# ---------------------------------------------------------------- diffprivlib


def diffprivlib_pca(table: Table, seed: int, rank: int, epsilon: float) -> Table:
    """Told that rows are centred and no longer than 1, so that nothing is spent on a mean."""
    from diffprivlib.models import PCA

    model = PCA(rank, epsilon=epsilon, data_norm=1.0, centered=True, random_state=seed)
    return {"components": model.fit(table["rows"].copy()).components_}


def diffprivlib_logistic(
    table: Table, seed: int, epsilon: float, C: float, fit_intercept: bool
) -> Table:
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(
        epsilon=epsilon, data_norm=1.0, C=C, fit_intercept=fit_intercept, max_iter=200,
        random_state=seed,
    )  # fmt: skip
    model.fit(table["rows"], table["targets"])
    return {"slope": model.coef_[0], "constant": np.ravel(model.intercept_)[:1]}


def diffprivlib_linear(table: Table, seed: int, epsilon: float, fit_intercept: bool) -> Table:
    from diffprivlib.models import LinearRegression

    width = table["rows"].shape[1]
    model = LinearRegression(
        epsilon=epsilon, bounds_X=(-np.ones(width), np.ones(width)), bounds_y=(-1.0, 1.0),
        fit_intercept=fit_intercept, random_state=seed,
    )  # fmt: skip
    model.fit(table["rows"], table["targets"])
    return {"slope": np.ravel(model.coef_), "constant": np.ravel(model.intercept_)[:1]}


# ---------------------------------------------------------------- OpenDP


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious", "idealized-numerics")
    return dp


def _opendp_pca(rows: np.ndarray, rank: int, spent: Any) -> Any:
    dp = _opendp()
    size, width = rows.shape
    # With a known origin nothing is spent on a mean. Its map(2), one replaced row, gives `spent`.
    domain = dp.numpy.array2_domain(
        norm=1.0, p=2, origin=np.zeros(width), size=size, num_columns=width, T=float
    )
    distance = dp.symmetric_distance()
    make = dp.sklearn.decomposition.make_private_pca
    return make(domain, distance, spent, norm=1.0, num_components=rank)


def opendp_pca(table: Table, seed: int, rank: int, epsilon: float) -> Table:
    measurement = _opendp_pca(table["rows"], rank, epsilon)
    return {"components": measurement(table["rows"]).Vt[:rank]}


def opendp_linear(table: Table, seed: int, epsilon: float, runs: int, candidates: int) -> Table:
    """Theil-Sen for one column, its scale the least whose map(2) is within epsilon."""
    dp = _opendp()

    def make(scale: float) -> Any:
        return dp.sklearn.linear_model.LinearRegression(
            dp.max_divergence(), [(-1.0, 1.0)], (-1.0, 1.0), scale=scale, runs=runs,
            candidates_count=candidates,
        )  # fmt: skip

    needed = make(1.0).measurement.map(2) / epsilon  # the map falls like 1 / scale
    model = make(needed * (1 + 1e-12))
    if model.measurement.map(2) > epsilon * (1 + 1e-9):
        raise ValueError("the scale does not give epsilon.")
    found = model.fit(table["rows"], table["targets"])
    return {"slope": np.ravel(found.coef_), "constant": np.ravel(found.intercept_)[:1]}


def opendp_noise(table: Table, seed: int, deviation: float) -> Table:
    dp = _opendp()
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=deviation)
    return {"noisy": np.array(mechanism(table["values"].tolist()))}


# ---------------------------------------------------------------- games against OpenDP


def opendp_pca_game(table: Table, seed: int, runs: int) -> Table:
    """First entry, squared, of the component of rows e_1 and e_2, for two neighbouring tables.

    Nearly all of the budget goes to the step that draws the component.
    """
    dp = _opendp()
    spent = dp.sklearn.decomposition.PCAEpsilons(eigvals=0.01, eigvecs=[1.0], mean=None)

    def scores(rows: np.ndarray) -> np.ndarray:
        measurement = _opendp_pca(rows, 1, spent)
        return np.array([measurement(rows).Vt[0, 0] ** 2 for _ in range(runs)])

    claim = _opendp_pca(table["first"], 1, spent).map(2)
    sides = {side: scores(table[side]) for side in ("first", "second")}
    return {**sides, "epsilon": np.array(claim)}


def opendp_noise_game(table: Table, seed: int, runs: int, deviation: float) -> Table:
    """Its Gaussian mechanism on 0 and on 1, with its own epsilon at delta = 1e-6."""
    dp = _opendp()
    domain, distance = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    mechanism = dp.m.make_gaussian(domain, distance, scale=deviation)
    claim = dp.c.make_zCDP_to_approxDP(mechanism).map(1.0).epsilon(1e-6)
    sides = {side: np.array([mechanism(float(table[side])) for _ in range(runs)])
             for side in ("first", "second")}  # fmt: skip
    return {**sides, "epsilon": np.array(claim)}
