"""Subspaces that are learned row by row, and followed when they move."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from veilspan.estimators.noise.tracked_angle import TrackedAngle
from veilspan.estimators.parameters import TableParameters
from veilspan.estimators.schema_input import encode_own, refuse_people, schema_of
from veilspan.estimators.stream.tracker_state import StoredState, check_may_go_without_epsilon
from veilspan.estimators.validation import check_count, own_numbers, refuse_lazy, validate_table
from veilspan.nonprivate.grouse import loops
from veilspan.nonprivate.grouse.steps import step_rule
from veilspan.nonprivate.grouse.stream import Stream, StreamOptions
from veilspan.privacy.plan import Plan

#: Height of the cumulative sum of departures at which a change is flagged.
ALARM = 25.0
#: What every table may hold at most, and what statements say: the curator's LARGEST_VALUE.
LARGEST_ENTRY = 1e140


@dataclass(eq=False, repr=False)
class SubspaceTracker(
    TrackedAngle,
    TableParameters,
    StoredState,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    r"""A subspace that follows a stream of rows; without privacy unless ``epsilon`` is given.

    GROUSE (Balzano, Nowak & Recht 2010; Zhang & Balzano 2016): every row turns an orthonormal
    basis by a rank-one step along the Grassmannian, at the cost of three passes over the basis.
    NaN is a missing entry. The subspace passes through the origin: centre the rows first if theirs
    does not.

    **Not private by default**: with ``epsilon=None`` the components depend on single rows
    without any bound. It is meant for rows that are yours.

    Parameters
    ----------
    n_components : int
        Dimension d of the subspace, less than the number of columns.
    step : {"noisy", "greedy"} or StepRule
        How far a row turns the basis: see :mod:`veilspan.nonprivate.grouse.steps`.
    noise_variance : float, optional
        For ``"noisy"``: energy of the noise relative to that of the signal. Estimated if ``None``.
    forgetting : float, optional
        Smallest fraction of the greedy step that a row is given, between 0 and 1, for subspaces
        that drift: rows older than about d / forgetting hardly count. ``None`` is 0.
    robust : {None, "huber", "l1"}
        Fit rows so that wild entries do little; ``"l1"`` also skips bursts of wild rows. Slower.
    adapt_rank : bool
        Add directions that the residuals share, drop directions at the level of noise; the last
        64 + 4 d rows are kept for it. ``n_components`` is then only where it starts.
    detect_change : bool
        Flag abrupt changes of the subspace, and learn anew quickly after one. Subspaces of one or
        two dimensions are relearned before they can be flagged; ``robust`` hides most changes.
    init : {"rows", "random"} or array of shape (n_components, n_features)
        Start from the first d independent rows, from a random subspace, or from orthonormal rows.
        With ``robust`` the first rows are not trusted: ``"rows"`` is then a random start too.
    random_state : int, RandomState or None
        For the random start.
    epsilon : float, optional
        ``None``: no privacy. A number: the subspace is released after every block of rows under
        differential privacy, see the guide to tracking.
    blocks_apart : int, optional
        For the private mode: least number of blocks from one block of a person to her next. Noise
        can then be carried on so far. ``None`` says nothing: they may follow each other.
    delta, block_size, row_norm, max_blocks_per_person, neighbors, noise, ledger
        For the private mode only. A ledger is charged for a whole stream, at its first block.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows.
    n_samples_seen_ : int
        Rows that came, whether they could be used or not.
    n_samples_skipped_ : int
        Rows that could not be used: too few observed entries, or wild with ``robust="l1"``.
    noise_variance_ : float
        Noise relative to signal, as given or as estimated: 0 if no row left a residual (all zero,
        say), infinite if there was nothing else, NaN before there is an estimate.
    changed_ : bool
        Whether the last call of ``partial_fit`` flagged a change.
    n_changes_, last_change_ : int
        Changes flagged so far, and the number of the row at the last one (0: none).
    releases_, privacy_, plan_
        In private mode only: blocks released, what was promised for the whole stream, what is
        asked. There ``n_samples_seen_`` counts released rows, ``n_changes_`` is read off
        released numbers, and ``n_samples_skipped_`` is not set: it would tell of rows.
    subspace_angle_ : float
        In private mode only: degrees by which noise may have turned the subspace, with 95 %.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = np.linalg.qr(rng.standard_normal((50, 3)))[0].T
    >>> tracker = SubspaceTracker(3)
    >>> for _ in range(20):
    ...     tracker = tracker.partial_fit(rng.standard_normal((100, 3)) @ truth)
    >>> row = rng.standard_normal((1, 3)) @ truth
    >>> gaps = row.copy()
    >>> gaps[0, ::2] = np.nan
    >>> bool(np.allclose(tracker.impute(gaps), row))
    True
    """

    n_components: int
    _: KW_ONLY
    step: Any = "noisy"
    noise_variance: float | None = None
    forgetting: float | None = None
    robust: str | None = None
    adapt_rank: bool = False
    detect_change: bool = False
    init: Any = "rows"
    random_state: Any = None
    epsilon: float | None = None  # type: ignore[assignment]  # None: without privacy
    block_size: int = 1000
    row_norm: float = 1.0
    max_blocks_per_person: int = 1
    blocks_apart: int | None = None

    # Learning.

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then learn from the rows of ``X`` in their order."""
        for name in [name for name in vars(self) if name.endswith("_") or name == "_stream"]:
            delattr(self, name)
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from one or many rows in their order.

        How a stream is cut into calls does not matter, to the last bit. If a call fails, nothing
        was learned from it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN is a missing entry.
        y : None
            Ignored.
        """
        if self.epsilon is not None:
            from veilspan.estimators.stream.private_tracker import release_blocks

            return release_blocks(self, X)
        check_may_go_without_epsilon(self)
        options = self._options()
        first = not hasattr(self, "_stream")
        rows = self._table(X, reset=first)
        stream = self._start(rows.shape[1]) if first else self._stream.copy()
        changes = stream.memory[loops.CHANGES]
        stream.learn(rows, options)
        self._stream = stream
        self.changed_ = bool(stream.memory[loops.CHANGES] > changes)
        self._publish()
        return self

    def plan(self, n_features: int | None = None) -> Plan:
        """What one person's worst case costs in private mode: a dry run without data.

        Parameters
        ----------
        n_features : int
            Number of columns; a schema says it.
        """
        from veilspan.estimators.stream.private_tracker import stream_plan

        schema = self._schema()
        if schema is not None:
            n_features = len(schema.columns_out)
        if n_features is None:
            raise ValueError("a plan needs the number of columns: say n_features=...")
        return stream_plan(self, n_features)

    def _options(self) -> StreamOptions:
        if self.robust not in (None, "huber", "l1"):
            raise ValueError(f'robust must be None, "huber" or "l1"; got {self.robust!r}.')
        floor = 0.0 if self.forgetting is None else self.forgetting
        if isinstance(floor, bool) or not isinstance(floor, (int, float)) or not 0 <= floor <= 1:
            raise ValueError(f"forgetting must be None or lie in [0, 1]; got {self.forgetting!r}.")
        return StreamOptions(
            step=step_rule(self.step, self.noise_variance),
            floor=float(floor),
            alarm=ALARM if self.detect_change else 0.0,
            robust=self.robust,
            adapt_rank=bool(self.adapt_rank),
        )

    def _start(self, n_features: int) -> Stream:
        if n_features < 2:
            raise ValueError("a subspace needs at least 2 columns; got n_features = 1.")
        rank = check_count(self.n_components, "n_components", n_features - 1)
        if isinstance(self.init, str):
            if self.init not in ("rows", "random"):
                raise ValueError(f'init must be "rows", "random" or an array; got {self.init!r}.')
            trusted = self.init == "rows" and self.robust is None
            seed = check_random_state(self.random_state).randint(2**31)
            rng = np.random.default_rng(seed)
            return Stream.start(n_features, rank, rng, from_rows=trusted)
        basis = np.asarray(self.init, dtype=np.float64)
        if basis.shape != (rank, n_features) or not np.allclose(
            basis @ basis.T, np.eye(rank), rtol=0, atol=1e-6
        ):
            raise ValueError(f"init must be orthonormal rows of shape {(rank, n_features)}.")
        return Stream.continue_from(np.linalg.qr(basis.T)[0].T)

    def _publish(self) -> None:
        """Fitted attributes from the state of the stream."""
        memory = self._stream.memory
        self.components_ = self._stream.basis
        self.n_samples_seen_ = int(memory[loops.ROWS])
        self.n_samples_skipped_ = int(memory[loops.SKIPPED])
        self.n_changes_ = int(memory[loops.CHANGES])
        self.last_change_ = int(memory[loops.LAST_CHANGE])
        given = self.noise_variance
        if given is None:
            noise, power = memory[loops.NOISE], memory[loops.POWER]
            # As many rows as directions say nothing of noise; more without a residual, that of 0.
            told = memory[loops.ROWS] - memory[loops.SKIPPED] > len(self.components_)
            given = noise / (power - noise) if noise < power else 0.0 if noise == 0 else np.inf
            given = given if noise > 0 or told else np.nan
        self.noise_variance_ = float(given)

    # Using what was learned.

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates in the components: least squares on the observed entries of each row.

        Of all coefficients that fit a row with too few observed entries, the shortest are taken.
        """
        check_is_fitted(self, "components_")
        rows = self._table(X, reset=False)
        weights = np.empty((len(rows), len(self.components_)))
        gaps = np.isnan(rows)
        full = ~gaps.any(axis=1)
        weights[full] = rows[full] @ self.components_.T
        for t in np.flatnonzero(~full):
            seen = ~gaps[t]
            weights[t] = np.linalg.lstsq(self.components_[:, seen].T, rows[t, seen], rcond=1e-8)[0]
        return weights

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows of the original space from coordinates in the components."""
        check_is_fitted(self, "components_")
        refuse_lazy(X)
        return own_numbers(X) @ self.components_

    def impute(self, X: Any) -> np.ndarray:
        """The rows, with their missing entries filled in from the subspace."""
        check_is_fitted(self, "components_")
        rows = self._table(X, reset=False)
        return np.where(np.isnan(rows), self.inverse_transform(self.transform(rows)), rows)

    def score_samples(self, X: Any) -> np.ndarray:
        """Squared residual over squared norm of the observed entries: 0 inlier, 1 outlier.

        Zero rows score 0; rows without any observed entry score NaN.
        """
        check_is_fitted(self, "components_")
        rows = self._table(X, reset=False)
        rest = rows - self.inverse_transform(self.transform(rows))
        energy = np.nansum(rows**2, axis=1)
        ratios = np.nansum(rest**2, axis=1) / np.where(energy > 0, energy, 1)
        return np.where(np.isnan(rows).all(axis=1), np.nan, np.minimum(ratios, 1))

    def _schema(self) -> Any:
        """The schema, which has one row a person: a stream is taken as it comes."""
        schema = schema_of(self)
        instead = "its rows come one after the other, and max_blocks_per_person says how many"
        refuse_people(schema, "SubspaceTracker", f"{instead} of its blocks a person may be in.")
        return schema

    def _table(self, X: Any, *, reset: bool) -> np.ndarray:
        schema = self._schema()
        if schema is not None:
            refuse_lazy(X)
            rows: np.ndarray = encode_own(self, X).x
            self.n_features_in_ = rows.shape[1]
            return rows
        rows = validate_table(
            self, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite="allow-nan"
        )
        if np.any(np.abs(rows) > LARGEST_ENTRY):  # NaN compares false
            raise ValueError(f"X holds entries beyond {LARGEST_ENTRY:g}; rescale the columns.")
        return rows

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text = super().__repr__(N_CHAR_MAX)
        return text if self.epsilon is not None else f"{text}  # not private"
