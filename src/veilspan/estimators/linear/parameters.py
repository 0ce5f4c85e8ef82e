"""Parameters that all private linear models have, written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from veilspan.estimators.parameters import TableParameters


@dataclass(eq=False, repr=False, kw_only=True)
class LinearParameters(TableParameters):
    r"""Parameters that all private linear models have.

    Parameters
    ----------
    fit_intercept : bool
        Whether to append a constant column to the scaled rows; ``intercept_`` is 0 without.
    intercept_scaling : float
        Its size over the bound on a row's length
        (:mod:`veilspan.estimators.linear.feature_scaling`). Larger shortens the features, smaller
        makes the intercept slow to learn; between 0.15 and 0.5 accuracy hardly moves.
    solver : str or solver
        ``"auto"`` chooses by the public noise of a gradient. ``"gd"``, ``"sgd"``, ``"objective"``,
        ``"statistics"``, ``"newton"``, ``"svrg"``, ``"svrg++"``, ``"accmd"``, ``"frank-wolfe"``,
        or an instance with settings of its own.
    clip : float, optional
        Longest gradient of one row; by default the solver's choice.
    feature_range : (low, high), optional
        Public ranges: numbers, or arrays with an entry for each feature. Rows are clipped to them,
        in a fit and in predictions.
    row_norm : float, optional
        Public bound on the length of a row, after centring and scaling by ``feature_range`` if
        that is given. Longer rows are shortened in a fit; predictions take them as they are. By
        default sqrt(n_features) with ranges.
    center : {"midpoint", "zero"}, optional
        What ranges are centred at; by default the midpoint for dense tables, zero for sparse ones
        and without an intercept, whose plane goes through the origin.
    bounds : None or "private"
        ``"private"`` estimates the ranges from noisy histograms of each column, and the length of
        rows, for 11.5 % of the budget (of mu^2). So does saying nothing at all: neither
        ``feature_range`` nor ``row_norm``. Columns that show nothing above the noise are left out,
        and predictions clip rows as the fit did
        (:mod:`veilspan.estimators.linear.released_ranges`).
    selection : sequence, optional
        Two or more solvers (names, instances, or ``Candidate`` values with penalties of their own):
        all are fitted on parts of the budget, and a noisy count of what each gets right chooses
        (:class:`~veilspan.solvers.linear.selection.PrivateSelection`, which says from how many rows
        that pays). ``solver`` plays no part then.
    expected_rows : int, optional
        Under add-remove, a public guess of the number of rows by which defaults are chosen.
    features : {"auto", "linear", "bins", "waves", "fourier"}, optional
        What the model learns from: the columns themselves (``"linear"``), or curves of each column,
        chosen by public numbers (``"auto"``; docs/howto/linear_models.md). ``None`` is ``"auto"``
        with a schema and ``"linear"`` for plain arrays, which need a ``feature_range`` for
        curves. Lasso and ElasticNet, whose point is a short list of columns, are linear
        unless asked.
    schema : Schema, optional
        What is public of the table (:class:`veilspan.Schema`); target, classes and bounds follow
        from it. ``row_norm`` is then a share of the longest row that the schema allows.
    epsilon, delta, neighbors, noise, random_state, ledger, allow_weak
        See :class:`~veilspan.estimators.parameters.PrivacyParameters`.
    """

    fit_intercept: bool = True
    intercept_scaling: float = 0.3
    solver: Any = "auto"
    clip: float | None = None
    feature_range: Any = None
    row_norm: float | None = None
    center: str | None = None
    bounds: str | None = None
    selection: Any = None
    expected_rows: int | None = None
    features: str | None = None
