"""Public balls: where points are known to live before any of them is seen."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veilspan._scales import check_scale
from veilspan.geometry._linalg import FloatArray, dot, drop
from veilspan.geometry._rowwise import apply_or_nan
from veilspan.geometry._spd import SPDBase
from veilspan.geometry.base import Manifold
from veilspan.geometry.euclidean import Euclidean
from veilspan.geometry.lorentz import Lorentz
from veilspan.geometry.poincare import PoincareBall
from veilspan.geometry.spd_bures import SPDBuresWasserstein

#: How far inside the boundary a moved point is put, as a share of the radius, tried in this order.
#: The first is a hair, so that pulling in again changes nothing. The others are for points that
#: rounding still leaves outside, which happens far from the apex of hyperbolic space and for nearly
#: singular matrices; a point that fails them all goes to the centre. Where the first one works, as
#: nearly always, the others have no influence.
_MARGINS = (1e-12, 1e-9, 1e-6, 1e-3, 0.5)


@dataclass(frozen=True, eq=False, repr=False)
class Ball:
    r"""All points within ``radius`` of ``center``: public knowledge of where points live.

    A point outside is pulled in along the geodesic to the centre: it keeps its direction and is
    moved to the sphere of that radius. Each point is moved by itself, so pulling in is a map of
    rows and costs no privacy.

    Parameters
    ----------
    manifold : Manifold
        Where the points live; needs ``exp``, ``log`` and ``dist``.
    center : array of shape ``manifold.point_shape``
        A public point.
    radius : float
        Positive; infinite where nothing is known, which only a fit without privacy can use.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan.geometry import SPD, Ball
    >>> ball = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
    >>> round(ball.radius, 4)  # sqrt(2) log(10)
    3.2563
    >>> np.linalg.eigvalsh(ball.pull_in(np.diag([1.0, 1e9]))).round(2)
    array([ 1.  , 25.95])
    """

    manifold: Manifold
    center: FloatArray
    radius: float

    def __post_init__(self) -> None:
        center = self.manifold._arg(self.center).copy()
        if center.shape != self.manifold.point_shape or not bool(self.manifold.contains(center)):
            raise ValueError(f"the centre of a ball must be one point of {self.manifold}.")
        if not self.radius > 0:
            raise ValueError(f"the radius of a ball must be positive; got {self.radius}.")
        if self.radius != math.inf:
            check_scale(self.radius, "the radius of a ball")
        center.flags.writeable = False
        object.__setattr__(self, "center", center)
        object.__setattr__(self, "radius", float(self.radius))

    @classmethod
    def from_eigenvalues(cls, manifold: Manifold, low: float, high: float) -> Ball:
        r"""The smallest ball around a multiple of I with all matrices of that spectrum.

        The distance of X to c I depends on the eigenvalues of X alone. Affine-invariant and
        log-Euclidean: sqrt(sum log^2(lam_i / c)), least at worst for c = sqrt(low high), where it
        is at most (sqrt(n) / 2) log(high / low). Bures-Wasserstein: sqrt(sum (sqrt(lam_i) -
        sqrt(c))^2), so sqrt(c) is the mean of sqrt(low) and sqrt(high) and the radius
        (sqrt(n) / 2) (sqrt(high) - sqrt(low)).

        Parameters
        ----------
        manifold : SPD manifold
            With any of the three metrics.
        low, high : float
            Public bounds on all eigenvalues, 0 < low < high. For covariance matrices with a ridge,
            ``low`` is the ridge and ``high`` the largest possible total variance.
        """
        if not isinstance(manifold, SPDBase):
            raise TypeError(
                f"eigenvalues describe positive definite matrices, not {manifold}; use an SPD "
                "manifold, or give the ball its centre and radius."
            )
        if not 0 < low < high < math.inf:
            raise ValueError(f"eigenvalues need 0 < low < high; got {low} and {high}.")
        if isinstance(manifold, SPDBuresWasserstein):
            middle = ((math.sqrt(low) + math.sqrt(high)) / 2) ** 2
            half = (math.sqrt(high) - math.sqrt(low)) / 2
        else:
            middle, half = math.sqrt(low) * math.sqrt(high), math.log(high / low) / 2
        return cls(manifold, middle * np.eye(manifold.n), half * math.sqrt(manifold.n))

    @classmethod
    def from_norm(cls, manifold: Manifold, largest: float) -> Ball:
        """The ball around the origin with all points up to a Euclidean norm.

        Euclidean: that norm. Poincaré ball: 2 artanh(largest). Lorentz: asinh(largest), the norm
        being that of the entries after the first.

        Parameters
        ----------
        manifold : Euclidean, PoincareBall or Lorentz
            The manifold.
        largest : float
            Public bound on the norm, below 1 in the Poincaré ball.
        """
        if not (largest > 0 and math.isfinite(largest)):
            raise ValueError(f"the largest norm must be positive and finite; got {largest}.")
        if isinstance(manifold, PoincareBall):
            if largest >= 1:
                raise ValueError(f"norms in the Poincaré ball stay below 1; got {largest}.")
            radius = 2 * math.atanh(largest)
        elif isinstance(manifold, Lorentz):
            radius = math.asinh(largest)
        elif isinstance(manifold, Euclidean):
            radius = largest
        else:
            raise TypeError(
                f"a norm does not describe a ball of {manifold}; give its centre and radius."
            )
        return cls(manifold, manifold.reference_point, radius)

    def contains(self, x: ArrayLike) -> np.ndarray:
        """Tell for each point whether it lies in the ball; False for what is not a number."""
        points = self.manifold._arg(x)
        lead = points.shape[: points.ndim - len(self.manifold.point_shape)]
        return self._inside(self._stack(points)).reshape(lead)

    def pull_in(self, x: ArrayLike) -> FloatArray:
        """Points inside as they are, points outside moved to the boundary.

        A total map of single points: every array of the right shape has an image, which is finite,
        depends on that point alone, bit for bit, and comes without a warning. Far out, rounding
        may leave a moved point a little outside; it is then moved further in, until it is in the
        ball as :meth:`contains` measures it. What has no direction from the centre in float64 goes
        to the centre.
        """
        points = self.manifold._arg(x)
        if math.isinf(self.radius):
            return points
        stack = self._stack(points)
        outside = ~self._inside(stack)
        if not outside.any():
            return points
        result = stack.copy()
        result[outside] = self._move_to_boundary(stack[outside])
        return result.reshape(points.shape)

    def _move_to_boundary(self, stack: FloatArray) -> FloatArray:
        """Move points to the boundary along their own directions from the centre.

        A point without a direction in float64 goes to the centre. Each attempt aims a little
        further inside than the one before, for those points only that still need it.
        """
        m, shape = self.manifold, self.manifold.point_shape
        result = np.tile(self.center, (len(stack), *(1 for _ in shape)))
        with np.errstate(all="ignore"):
            seen = apply_or_nan(
                lambda y: m.log_coordinates(self.center, y), stack, m.coordinate_shape
            )
            flat = seen.reshape(len(seen), -1)
            # Not by the distance: far out, rounding makes it differ from the vector's own length.
            lengths = np.sqrt(drop(dot(flat, flat)))
            left = np.flatnonzero(np.isfinite(lengths))
            for margin in _MARGINS:
                if not left.size:
                    break
                factor = self.radius * (1 - margin) / lengths[left]
                shorter = seen[left] * _as_factor(factor, seen)
                ends = apply_or_nan(lambda c: m.exp_coordinates(self.center, c), shorter, shape)
                there = self._inside(ends)
                result[left[there]] = ends[there]
                left = left[~there]
        return result

    def _inside(self, stack: FloatArray) -> np.ndarray:
        """Tell which points of a stack lie within the radius as computed; NaN counts as outside."""
        with np.errstate(all="ignore"):
            distances = apply_or_nan(lambda y: self.manifold.dist(self.center, y), stack, ())
        return np.asarray(distances <= self.radius)

    def _stack(self, points: FloatArray) -> FloatArray:
        """Put points along one axis, each in one piece of memory.

        Another layout would be summed in another order, and the same point rounded differently.
        """
        return np.ascontiguousarray(points.reshape((-1, *self.manifold.point_shape)))

    def __repr__(self) -> str:
        return f"Ball({self.manifold!r}, radius={self.radius:.4g})"

    def __reduce__(self) -> tuple[object, ...]:
        return (Ball, (self.manifold, np.array(self.center), self.radius))


def _as_factor(numbers: np.ndarray, like: FloatArray) -> np.ndarray:
    """Give numbers trailing axes of length 1, so that each one multiplies one member of a stack."""
    return numbers.reshape(numbers.shape + (1,) * (like.ndim - numbers.ndim))
