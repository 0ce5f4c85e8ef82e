"""Spherical PCA: the eigenvectors of rows scaled to the sphere."""

from __future__ import annotations

import numpy as np

from veilspan.nonprivate.baselines._common import (
    SubspaceFit,
    objective,
    top_eigenvectors,
    unit_rows,
    weighted_scatter,
)


def spherical_pca(x: np.ndarray, n_components: int) -> SubspaceFit:
    r"""Principal components of the rows scaled to the unit sphere; not private.

    The top eigenvectors of :math:`\frac1n \sum x x^\top / \|x\|^2` (Locantore et al. 1999). One
    outlier counts like any other row, however long it is; but the answer is biased as soon as
    outliers favour a direction, because every row keeps its full vote.

    **Not private**: for data the caller owns; nothing here protects single rows.

    Parameters
    ----------
    x : array of shape (n, d)
        Rows around the origin; zero rows are kept and count for nothing.
    n_components : int
        Dimension of the subspace, less than d.
    """
    x = unit_rows(x, n_components)
    components = top_eigenvectors(weighted_scatter(x, np.ones(len(x))), n_components)
    return SubspaceFit(components, objective(x, components), 1, True)
