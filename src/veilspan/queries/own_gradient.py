"""The gradient of a loss of your own, summed over rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from veilspan._scales import check_scale
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block, row_lengths
from veilspan.privacy.spaces import AnswerSpace, VectorSpace

#: Roundings that a gradient of the user's own may differ by from one place in a block to another.
OWN_ROUNDING = 1e5


class RowGradient(RowQuery):
    r"""Sum of per-row gradients at the current point, each clipped to a bound C.

    Sensitivity. *add-remove*: C. *replace-one*: 2 C (nothing is known of the gradients but their
    length), met by opposite gradients.

    Rounding. Gradients are clipped and summed as they come, so nothing is lost but what
    ``gradient`` itself rounds differently when a row moves to another place of its block
    (add-remove): up to 1e-11 of C is allowed for.

    Parameters
    ----------
    gradient : callable
        ``gradient(block, point)`` returns the gradients of all rows of the block at once, as an
        array of shape ``(rows,) + shape``. ``block.x`` and ``block.y`` hold the rows. A row whose
        gradient is not finite contributes nothing.
    bound : float
        C.
    shape : tuple of int, optional
        Shape of one gradient; by default that of the point.
    space : AnswerSpace, optional
        Where gradients live, by default plain arrays with the Euclidean norm; e.g. the
        ``SymmetricSpace`` of matrices, or the ``TangentSpace`` of a manifold at the point, where
        each row's tangent vector is taken to coordinates before anything is summed.

    Examples
    --------
    >>> import numpy as np
    >>> def least_squares(block, theta):
    ...     return (block.x @ theta - block.y)[:, None] * block.x
    >>> query = RowGradient(least_squares, bound=1.0)
    """

    def __init__(
        self,
        gradient: Callable[[Block, Any], np.ndarray],
        bound: float,
        *,
        shape: tuple[int, ...] | None = None,
        space: Callable[[Any], AnswerSpace] | None = None,
    ) -> None:
        self.gradient = gradient
        self.bound = check_scale(bound, "bound")
        self.shape = shape
        self._space = space

    def space(self, n_features: int, point: Any) -> AnswerSpace:
        """Arrays of the gradient's shape, unless a space was given."""
        return self._space(point) if self._space else VectorSpace(self._shape(point))

    def prepare(self, block: Block, point: Any) -> np.ndarray:
        """Gradients of all rows of the block, one flat row of coordinates for each."""
        with np.errstate(all="ignore"):  # a warning would tell something about a row
            gradients = np.asarray(self.gradient(block, point), dtype=np.float64)
            expected = self._shape(point)
            if gradients.shape != (block.n_rows, *expected):
                # How many rows a block has may be private.
                raise ValueError(
                    f"the gradient must have shape (rows,) + {expected}; got another number of "
                    f"rows, or (rows,) + {gradients.shape[1:]}."
                )
            return self.space(0, point).coordinates_of(gradients)

    def norms(self, block: np.ndarray, point: Any) -> np.ndarray:
        """Norm of each gradient in the answer space: coordinates are isometric."""
        with np.errstate(all="ignore"):
            return row_lengths(block)

    def weighted_sum(self, block: np.ndarray, weights: np.ndarray, point: Any) -> np.ndarray:
        """Weighted sum in coordinates, leaving out rows of weight 0."""
        used = weights != 0
        if not used.all():
            block, weights = block[used], weights[used]
        return np.asarray(weights @ block)

    def row_floats(self, n_features: int, point: Any) -> int:
        """The row, its gradient, and a copy."""
        return n_features + 3 * math.prod(self._shape(point))

    def roundoff(self, n_features: int, point: Any) -> float:
        """The norm and the weight, and what the gradient may round by place."""
        return OWN_ROUNDING + math.prod(self._shape(point)) + 64.0

    def _shape(self, point: Any) -> tuple[int, ...]:
        return self.shape if self.shape is not None else np.shape(point)
