"""A loss of the user's own on a manifold, by gradients in NumPy, JAX or PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from veilspan.geometry import Manifold
from veilspan.losses.manifold import ManifoldLoss

#: (rows of shape (b, *row_shape), point) -> one array of the point's shape per row.
Gradients = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Loss(ManifoldLoss):
    """A loss of your own, by the gradients of its rows.

    Parameters
    ----------
    manifold : Manifold
        Where to minimise.
    gradient : callable, optional
        ``gradient(rows, point)`` returns the Riemannian gradient of every row at the point, as an
        array of shape ``(len(rows), *manifold.point_shape)``.
    euclidean_gradient : callable, optional
        The same with Euclidean gradients (plain partial derivatives), which are then converted.
        Give one of the two.
    value : callable, optional
        ``value(rows, point)``, for your own plots; private solvers never call it.
    row_shape : tuple of int, optional
        Shape of one row, if it is not flat.
    curvature : float, optional
        Public guess of the second derivative: 1 / curvature is the step where none is given.
    largest_gradient : float, optional
        Public bound on the norm of a row's gradient, used as the clip where none is given.

    Notes
    -----
    A row's gradient may depend on that row and the point alone; a function that looks at other
    rows of the block (a batch mean, say) breaks the guarantee. ``veilspan.check_query`` on
    ``loss.query(bound)`` detects it. A gradient that is not finite contributes nothing.
    Rounding is allowed for up to 1e-11 of the clip: a gradient that is a small difference of far
    larger numbers, and then clipped, may exceed that under add-remove.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan import Loss
    >>> from veilspan.geometry import Sphere
    >>> robust = Loss(  # least absolute deviations from a great circle
    ...     Sphere(3), euclidean_gradient=lambda z, w: np.sign(z @ w)[:, None] * z, curvature=1.0
    ... )
    >>> robust.gradients(np.eye(3), np.array([0.6, 0.8, 0.0])).round(2)
    array([[ 0.64, -0.48,  0.  ],
           [-0.48,  0.36,  0.  ],
           [ 0.  ,  0.  ,  0.  ]])
    """

    def __init__(
        self,
        manifold: Manifold,
        gradient: Gradients | None = None,
        *,
        euclidean_gradient: Gradients | None = None,
        value: Gradients | None = None,
        row_shape: tuple[int, ...] | None = None,
        curvature: float | None = None,
        largest_gradient: float | None = None,
    ) -> None:
        if (gradient is None) == (euclidean_gradient is None):
            raise ValueError("give either gradient (Riemannian) or euclidean_gradient, not both.")
        for name, number in (("curvature", curvature), ("largest_gradient", largest_gradient)):
            if number is not None and not number > 0:
                raise ValueError(f"{name} must be positive; got {number}.")
        self.manifold = manifold
        self.gradient = gradient
        self.euclidean_gradient = euclidean_gradient
        self.value = value
        self.row_shape = row_shape
        self.curvature = curvature
        self.largest_gradient = largest_gradient

    @classmethod
    def from_jax(cls, manifold: Manifold, value: Callable[[Any, Any], Any], **options: Any) -> Loss:
        """A loss from ``value(row, point)`` written in JAX; per-row gradients by ``vmap``."""
        from veilspan.losses.autodiff import jax_gradients, jax_values

        return cls(
            manifold, euclidean_gradient=jax_gradients(value), value=jax_values(value), **options
        )

    @classmethod
    def from_torch(
        cls, manifold: Manifold, value: Callable[[Any, Any], Any], **options: Any
    ) -> Loss:
        """A loss from ``value(row, point)`` written in PyTorch; per-row gradients by ``vmap``."""
        from veilspan.losses.autodiff import torch_gradients, torch_values

        return cls(
            manifold,
            euclidean_gradient=torch_gradients(value),
            value=torch_values(value),
            **options,
        )

    def gradients(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """The user's gradients, converted if they are Euclidean."""
        chosen = self.gradient or self.euclidean_gradient
        assert chosen is not None
        gradients = np.asarray(chosen(rows, point), dtype=np.float64)
        expected = self.manifold.point_shape
        if gradients.shape != (len(rows), *expected):
            # Without the number of rows, which may be private.
            raise ValueError(f"the gradient must return one array of shape {expected} per row.")
        if self.gradient is not None:
            # Not trusted to be tangent: a normal part would be noise-free nonsense.
            return self.manifold.project(point, gradients)
        return self.manifold.egrad2rgrad(point, gradients)

    def values(self, rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Return what the user's ``value`` says; an error if there is none."""
        if self.value is None:
            return super().values(rows, point)
        return np.asarray(self.value(rows, point), dtype=np.float64)
