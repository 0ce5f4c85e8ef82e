r"""The bound on the length of rows, chosen by released counts of their lengths.

Rows longer than R are shortened to R. Both ends cost something:

* *Noise.* Its entries are z R^2, beside a clipped second moment of trace E(R) = sum min(|x|, R)^2.
  r components of about equal variance that hold half of the trace are then turned so far that
  4 r^2 D (z R^2 / E(R))^2 of what they hold is lost, by first-order perturbation: D directions
  outside, a variance of E/(2r) along each.
* *Shortening.* Rows count by their squared lengths, and shortening moves a share v(R) of that
  weight from long rows to others: half of the sum of |w_i - w_i(R)|, w_i(R) = min(|x_i|, R)^2/E(R).
  All rows shortened alike move none. The components turn with what is moved, and what they then
  lose grows with its square (``HARM`` times v^2), as far as long rows point elsewhere than others.

R minimises the sum over the radii of the second look. It depends on released counts and public
numbers, and decides what is asked next, never how much is charged for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veilspan.solvers.subspace.unbounded.looks import Shells, Surroundings

#: What the squared share of weight that is moved counts beside a share of the captured variance
#: that noise takes. From .1 to 1 little changes, on images and on tables of heavy tails alike.
HARM = 0.5
#: Prices that differ by no more than this part of each other are as good: the model is not that
#: exact, and below the shortest rows all radii cost the same but for the counts' noise.
TIE = 0.05


@dataclass(frozen=True)
class RowBound:
    """A bound, and what shortening rows to it leaves.

    Attributes
    ----------
    row_norm : float
        R.
    mean_square : float
        Mean squared length of the rows once they are shortened, by the released counts.
    cut : float
        Share of the squared lengths that R cuts off.
    moved : float
        Share of the rows' weight that shortening moves from long rows to others.
    """

    row_norm: float
    mean_square: float
    cut: float
    moved: float


def choose_row_bound(around: Surroundings, noise: float, n_components: int) -> RowBound:
    """Choose R among the radii up to the reach.

    Parameters
    ----------
    around : Surroundings
        Whose second look tells the lengths.
    noise : float
        z: std of an off-diagonal entry of the second moment of rows bounded by 1.
    n_components : int
        r.
    """
    radii = around.shells.radii[: around.shells.reach + 1]
    counts, middles = _seen_lengths(around.shells, around.n_rows)
    kept, whole, moved = _shorten(counts, middles, radii)
    n_features = around.shells.sums.shape[1]
    turned = 4.0 * n_components**2 * n_features * (noise * radii**2 / kept) ** 2
    price = HARM * moved**2 + turned
    # The largest of those that are as good as the best; without noise, of all.
    best = int(np.flatnonzero(price <= price.min() * (1 + TIE) if noise > 0 else radii > 0)[-1])
    cut = max(1 - float(kept[best]) / whole, 0.0)
    return RowBound(float(radii[best]), float(kept[best]) / around.n_rows, cut, float(moved[best]))


def describe_row_bound(around: Surroundings, row_norm: float) -> RowBound:
    """The same of a public R: how long rows are once they are shortened to it."""
    counts, middles = _seen_lengths(around.shells, around.n_rows)
    kept, whole, moved = _shorten(counts, middles, np.array([row_norm]))
    cut = max(1 - float(kept[0]) / whole, 0.0)
    return RowBound(row_norm, float(kept[0]) / around.n_rows, cut, float(moved[0]))


def _shorten(
    counts: np.ndarray, lengths: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """E(R) for each radius, E(inf), and the share of weight that shortening to it moves."""
    shortened = counts * np.minimum(lengths, radii[:, None]) ** 2
    kept, whole = shortened.sum(axis=1), counts * lengths**2
    moved = np.abs(shortened / kept[:, None] - whole / whole.sum()).sum(axis=1) / 2
    return kept, float(whole.sum()), moved


def _seen_lengths(shells: Shells, n_rows: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows in each shell up to the reach, without those of noise, and how long they are."""
    reach = shells.reach + 1
    counts = np.zeros(reach)
    counts[shells.taken] = np.maximum(shells.counts[shells.taken], 0.0)
    if not shells.seen:  # the likeliest shell
        counts = np.where(np.arange(reach) == shells.reach, n_rows, 0.0)
    return counts, shells.middles[:reach]
