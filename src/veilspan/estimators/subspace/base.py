"""What PCA and RobustPCA share: their problem, its checks, coordinates in the components."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from veilspan._scales import check_scale
from veilspan.estimators.base import PrivateEstimator
from veilspan.estimators.by_person import also_by_person
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.parameters import TableParameters
from veilspan.estimators.schema_input import encode_own, reads_by_schema
from veilspan.estimators.validation import (
    check_count,
    check_learned_count,
    check_public_vector,
    own_numbers,
    validate_table,
)
from veilspan.solvers.subspace.base import SubspaceProblem

#: Most columns: a matrix of so many squared takes 3.2 GB, and a fit holds several.
LARGEST_WIDTH = 20_000


class SubspaceEstimator(
    TableParameters, ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator
):
    """An estimator of orthonormal ``components_`` around a ``mean_``."""

    #: What ``center`` may say instead of holding a public vector.
    _center_words: ClassVar[tuple[str, ...]] = ("private",)

    #: Whether ``n_components`` may be a share of the variance.
    _takes_shares: ClassVar[bool] = False

    n_components: Any
    center: Any
    row_norm: Any
    components_: np.ndarray
    mean_: np.ndarray

    @also_by_person
    @lazy_for_dask(lambda model: len(model.components_))
    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of rows in the components. The rows are the caller's own: nothing is spent.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Any rows.
        by_person : bool
            With a schema whose units have an ``id``: an answer for each person, as a
            :class:`~veilspan.estimators.by_person.ByPerson`.
        """
        table, directions = self._own_rows(X), self._directions()
        return np.asarray(table @ directions.T) - self.mean_ @ directions.T

    @lazy_for_dask(lambda model: model.components_.shape[1], of_rows=False)
    def inverse_transform(self, X: Any) -> np.ndarray:
        """Rows of the original space from coordinates in the components."""
        check_is_fitted(self)
        return own_numbers(X) @ self._moves() + self.mean_

    def _own_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        if reads_by_schema(self):
            return encode_own(self, X).x
        return validate_table(self, X, reset=False, accept_sparse="csr", dtype="numeric")

    @property
    def loadings_(self) -> Any:
        """The components in the columns and units of the table; a schema is needed.

        A :class:`~veilspan.tables.named_table.NamedTable`: how far each column moves with each
        component, in the user's units (on a log scale by which factor; shares for categories).
        """
        check_is_fitted(self)
        if self.schema is None:
            raise AttributeError(
                "loadings_ are in the units of a schema, and there is none: use components_."
            )
        from veilspan.tables.user_units import make_loadings

        return make_loadings(self.schema, self._moves())

    def _directions(self) -> np.ndarray:
        """What rows are multiplied by for their coordinates."""
        return self.components_

    def _moves(self) -> np.ndarray:
        """How far each column moves with each coordinate."""
        return self.components_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        check_learned_count(self.n_components_, 1, n_features)
        return {"components_": (self.n_components_, n_features), "mean_": (n_features,)}

    def _keep_center(self, center: np.ndarray | None, n_features: int) -> None:
        self.n_components_ = len(self.components_)
        self.mean_ = np.zeros(n_features) if center is None else center

    def _keep_notes(self, notes: tuple[tuple[type[UserWarning], str], ...]) -> None:
        """Keep what released numbers ask to be said, until the release is kept too."""
        self.notes_ = tuple(text for _, text in notes)
        self._unsaid = notes

    # What is asked for.

    def _problem(self, n_rows: int | None, n_features: int) -> SubspaceProblem:
        """Check the parameters, and say what is to be learned."""
        row_norm = self._row_bound()
        wanted = self.n_components
        if self._takes_shares and isinstance(wanted, (float, np.floating)) and 0 < wanted < 1:
            wanted = None  # a share of the variance: the solver says how many
        elif wanted is not None:
            wanted = check_count(wanted, "n_components", n_features)
        center = None
        if isinstance(self.center, str) and self.center not in self._center_words:
            words = " or ".join(f'"{word}"' for word in self._center_words)
            raise ValueError(f"center must be None, a public vector, {words}; got {self.center!r}.")
        if self.center is not None and not isinstance(self.center, str):
            center = check_public_vector(self.center, "center", n_features)
        if n_features > LARGEST_WIDTH:
            raise ValueError(
                f"{type(self).__name__} releases an n_features x n_features matrix; {n_features} "
                f"columns are more than {LARGEST_WIDTH}. Reduce them first by a public projection."
            )
        asked = self.center if center is None else "public"
        private = asked == "private"
        if self.schema is not None and asked in (None, "auto"):
            private = True  # columns of a table are hardly ever around zero
        return SubspaceProblem(n_rows, n_features, wanted, center, row_norm if private else None)

    def _row_bound(self) -> float:
        """Public bound on the length of a row; of an encoded one the schema knows the largest."""
        row_norm = check_scale(self.row_norm, "row_norm")
        return row_norm if self.schema is None else row_norm * self.schema.row_norm
