"""The parts of a noisy matrix of moments by name, each with the noise that it has."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.queries.profile.number_moments import choose_constant
from veilspan.solvers.profile.shares import People
from veilspan.tables.profiling.layout import Layout


@dataclass(frozen=True)
class Moments:
    """Sums over people of numbers in [-1, 1] and of what is missing of them.

    Attributes
    ----------
    names : tuple of str
        The m numbers.
    people : People
        How many people there are.
    sums, missing : array of shape (m,)
        Sums of the numbers that are there; how many are missing.
    products, with_missing, both_missing : array of shape (m, m)
        Sums of z_j z_k and z_j r_k, and how many miss both.
    by_group : array of shape (m, g)
        Sums of the numbers within the cells of all groups, and
    missing_by_group : array of shape (m, g)
        how many are missing there.
    sum_std, product_std, square_std : float
        Noise of sums, of products of two, and of squares.
    """

    names: tuple[str, ...]
    people: People
    sums: np.ndarray
    missing: np.ndarray
    products: np.ndarray
    with_missing: np.ndarray
    both_missing: np.ndarray
    by_group: np.ndarray
    missing_by_group: np.ndarray
    sum_std: float
    product_std: float
    square_std: float


def split_moments(layout: Layout, matrix: np.ndarray, std: float, people: People) -> Moments:
    """The parts of a matrix of :class:`~veilspan.queries.profile.number_moments.NumberMoments`.

    Noise of std s on every coordinate of symmetric matrices is s on the diagonal and s / sqrt(2)
    off it; the first row is divided by the constant.
    """
    m = len(layout.numbers)
    c = choose_constant(m, len(layout.groups))
    z, r, g = slice(1, m + 1), slice(m + 1, 2 * m + 1), slice(2 * m + 1, None)
    off = std / math.sqrt(2)
    return Moments(
        names=layout.numbers,
        people=people,
        sums=matrix[0, z] / c,
        missing=matrix[0, r] / c,
        products=matrix[z, z],
        with_missing=matrix[z, r],
        both_missing=matrix[r, r],
        by_group=matrix[z, g],
        missing_by_group=matrix[r, g],
        sum_std=off / c,
        product_std=off,
        square_std=std,
    )
