"""Public features of allele counts: centred, scaled, and summed to fewer columns.

Both functions treat every person alone and use nothing but public numbers and a seed, so scores of
neighbouring tables differ in the same person's row only: they cost no privacy budget.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

#: Entries of a block of counts that are turned into float32 at once: 10 MB.
_BLOCK = 2_500_000


def scale_counts(counts: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    r"""Centre and scale allele counts by public frequencies: :math:`(c - 2p) / \sqrt{2 p (1-p)}`.

    The scaling of Patterson, Price & Reich (2006), with reference frequencies in place of the
    sample's: the sample's own would have to be released first.

    Parameters
    ----------
    counts : array of shape (n, n_loci)
        Copies of the counted allele: 0, 1 or 2.
    frequencies : array of shape (n_loci,)
        Public frequency of each allele, strictly between 0 and 1.

    Returns
    -------
    float32 array of shape (n, n_loci)
        Four times the memory of int8 counts; `reduce_loci` does without.
    """
    scale = _scale(counts, frequencies)
    out = np.subtract(counts, 2 * np.asarray(frequencies, dtype=np.float32), dtype=np.float32)
    out *= scale
    return out


def reduce_loci(
    counts: np.ndarray,
    frequencies: np.ndarray,
    n_scores: int = 200,
    *,
    random_state: int = 0,
) -> np.ndarray:
    r"""Sum scaled counts over blocks of neighbouring loci with public random signs.

    .. math:: s_k = \sqrt{K / L} \sum_{j \in \mathrm{block}\ k} \sigma_j
              \frac{c_j - 2 p_j}{\sqrt{2 p_j (1 - p_j)}}, \qquad \sigma_j = \pm 1,

    for :math:`L` loci in :math:`K` blocks. It is a sparse random projection (the count sketch of
    Charikar, Chen & Farach-Colton 2002 with neighbouring loci in one bucket): its columns are
    orthonormal, so structure spread over the loci keeps its *share* of the variance on average,
    while a private K x K second moment needs noise of size sqrt(K/L) of that for all loci. The
    price is resolution: a person's place is averaged over K scores instead of L loci.

    Parameters
    ----------
    counts, frequencies
        As for `scale_counts`.
    n_scores : int
        Number of blocks K, at most the number of loci.
    random_state : int
        Seed of the signs. It is public: fix it before looking at any data.

    Returns
    -------
    float64 array of shape (n, n_scores)

    Examples
    --------
    >>> import numpy as np
    >>> reduce_loci(np.ones((3, 10), dtype=np.int8), np.full(10, 0.3), 4).shape
    (3, 4)
    """
    counts = np.asarray(counts)
    weights = _scale(counts, frequencies).astype(np.float64)
    n_rows, n_loci = counts.shape
    if not 1 <= n_scores <= n_loci:
        raise ValueError(f"n_scores must lie between 1 and {n_loci} loci; got {n_scores}.")
    weights *= np.random.default_rng(random_state).choice([-1.0, 1.0], n_loci)
    weights *= np.sqrt(n_scores / n_loci)
    edges = np.linspace(0, n_loci, n_scores + 1).round().astype(int)
    centre = np.add.reduceat(2 * np.asarray(frequencies, dtype=np.float64) * weights, edges[:-1])
    scores = np.empty((n_rows, n_scores))
    for start in range(0, n_rows, step := max(1, _BLOCK // n_loci)):
        rows = slice(start, start + step)
        block = counts[rows].astype(np.float32)
        for k, (a, b) in enumerate(pairwise(edges)):
            scores[rows, k] = block[:, a:b] @ weights[a:b].astype(np.float32)
    scores -= centre
    return scores


def _scale(counts: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    p = np.asarray(frequencies, dtype=np.float32)
    if np.ndim(counts) != 2 or p.shape != (np.shape(counts)[1],):
        raise ValueError(
            f"expected counts of shape (people, loci) and one frequency per locus; "
            f"got shapes {np.shape(counts)} and {p.shape}."
        )
    if not np.all((p > 0) & (p < 1)):
        raise ValueError("frequencies must lie strictly between 0 and 1.")
    return 1 / np.sqrt(2 * p * (1 - p))
