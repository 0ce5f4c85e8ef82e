"""What PCA and RobustPCA share: centre, count, coordinates."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from veilspan._scales import check_scale
from veilspan.curator.curator import Answer, Curator
from veilspan.curator.query import RowQuery
from veilspan.estimators.base import PrivateEstimator
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.validation import (
    check_count,
    check_public_vector,
    own_numbers,
    validate_table,
)
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.queries.moments import RowCount, RowSum

MEAN, COUNT = "mean", "count"
# Shares of mu^2. The centre and the count need little: their errors enter the answer divided by n.
SHARES = {MEAN: 0.1, COUNT: 0.02}
LARGEST_WIDTH = 20_000


class SubspaceEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):
    """An estimator of orthonormal ``components_`` around a ``mean_``."""

    #: What ``center`` may say instead of holding a public vector.
    _center_words: ClassVar[tuple[str, ...]] = ("private",)

    n_components: int | None
    center: Any
    row_norm: float
    components_: np.ndarray
    mean_: np.ndarray

    @lazy_for_dask(lambda model: len(model.components_))
    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of rows in the components. The rows are the caller's own: nothing is spent.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Any rows.
        """
        table = self._own_rows(X)
        return np.asarray(table @ self.components_.T) - self.mean_ @ self.components_.T

    @lazy_for_dask(lambda model: model.components_.shape[1], of_rows=False)
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows of the original space from coordinates in the components."""
        check_is_fitted(self)
        return own_numbers(X) @ self.components_ + self.mean_

    def _own_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_table(self, X, reset=False, accept_sparse="csr", dtype="numeric")

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    # Planning.

    def _schedule(
        self, n_rows: int | None, events: tuple[Event, ...], shares: tuple[float, ...]
    ) -> tuple[list[Event], list[float]]:
        """Count and centre where they must be asked for, then ``events``; shares sum to 1."""
        names = [COUNT] * (n_rows is None) + [MEAN] * self._center_is("private")
        taken = [SHARES[name] for name in names]
        rest = (1 - sum(taken)) / sum(shares)
        return [*map(GaussianEvent, names), *events], [*taken, *(rest * s for s in shares)]

    def _check_subspace_parameters(self, n_features: int) -> None:
        self._count(n_features)
        self._public_center(n_features)
        check_scale(self.row_norm, "row_norm")
        if n_features > LARGEST_WIDTH:
            raise ValueError(
                f"{type(self).__name__} releases an n_features x n_features matrix; {n_features} "
                f"columns are more than {LARGEST_WIDTH}. Reduce them first by a public projection."
            )

    def _count(self, n_features: int) -> int:
        if self.n_components is None:
            return n_features
        return check_count(self.n_components, "n_components", n_features)

    def _center_is(self, word: str) -> bool:
        return isinstance(self.center, str) and self.center == word

    def _public_center(self, n_features: int) -> np.ndarray | None:
        if self.center is None:
            return None
        if isinstance(self.center, str):
            if self.center not in self._center_words:
                words = " or ".join(f'"{word}"' for word in self._center_words)
                raise ValueError(
                    f"center must be None, a public vector, {words}; got {self.center!r}."
                )
            return None
        return check_public_vector(self.center, "center", n_features)

    # Running.

    def _rows_and_center(self, curator: Curator) -> tuple[float, np.ndarray | None]:
        """Public or noisy number of rows (at least 1), and public or noisy centre."""
        if curator.plan.n_rows is None:
            rows = max(1.0, float(self._ask(curator, COUNT, RowCount()).value[0]))
        else:
            rows = float(curator.n_rows)
        if self._center_is("private"):
            return rows, self._ask(curator, MEAN, RowSum(self.row_norm)).value / rows
        return rows, self._public_center(curator.n_features)

    def _ask(self, curator: Curator, name: str, query: RowQuery) -> Answer:
        """Ask a planned question; an adaptive plan wants to be told the noise."""
        planned = {event.name: event.noise_multiplier for event in curator.plan.events}
        noise = planned[name] if curator.plan.adaptive else None
        return curator.answer(query, event=name, noise_multiplier=noise)
