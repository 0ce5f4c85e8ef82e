"""Compare two pictures of the same points, up to shift, rotation, reflection and scale."""

from __future__ import annotations

import numpy as np


def procrustes_correlation(points: np.ndarray, truth: np.ndarray) -> float:
    r"""Correlation of two configurations after the best shift, rotation, reflection and scale.

    .. math:: \rho = \frac{\|X_c^\top Y_c\|_*}{\|X_c\|_F\, \|Y_c\|_F} = \sqrt{1 - m^2},

    with centred configurations, the nuclear norm, and Gower's statistic :math:`m^2` (Gower 1971;
    Peres-Neto & Jackson 2001). 1 means the same picture up to similarity. Unrelated pictures of
    many points score near 0.

    Parameters
    ----------
    points, truth : array of shape (n, k)
        Row i of both is the same point. Different numbers of columns are allowed.

    Examples
    --------
    >>> import numpy as np
    >>> square = np.array([[0, 0], [0, 1], [1, 1], [1, 0.0]])
    >>> round(procrustes_correlation(3 * square[:, ::-1] - 5, square), 12)
    1.0
    """
    x, y = (np.asarray(a, dtype=float) for a in (points, truth))
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
        raise ValueError(f"expected two lists of the same points; got shapes {x.shape}, {y.shape}.")
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    size = np.linalg.norm(x) * np.linalg.norm(y)
    if not (np.isfinite(size) and size > 0):
        raise ValueError("a configuration is a single point or holds missing values.")
    return float(np.linalg.svd(x.T @ y, compute_uv=False).sum() / size)
