r"""Gaussian noise on a grid: what leaves is an integer times a power of two.

Why. In float64, v + sigma z has gaps that depend on v: the low bits of one released number can
tell v = 0 from v = 1 (Mironov 2012; Haney et al. 2022). If the exact answer and the noise are both
rounded to one grid g that does not depend on the data, every release is k g with an integer k, and
nothing is left in the low bits.

What it costs. Rounding moves each of the p coordinates by at most g/2 on either table, so two
neighbours differ after rounding by at most

    Delta' = Delta + g sqrt(p) + float_slack,

where ``float_slack`` bounds what float64 summation adds (below). The noise is z Delta' instead of
z Delta, so the claimed noise multiplier z is true for the rounded mechanism. The grid is chosen so
fine that this costs about 0.1 % (``COST``), but never finer than 2^-40 of the noise.

Summation error. n contributions of norm <= C are added in blocks of b, and the blocks in groups of
m: any order of adding k numbers has an error of at most k u times the sum of their absolute values
(u = 2^-53; Higham 2002, eq. 4.4), so the computed sum is within (b + m + n/(b m)) u n C of the sum
of the computed contributions, on each table. A computed contribution is itself within c u C of the
true one (c = ``RowQuery.roundoff``: a norm over d features, a weight, a few products). Under
replace-one all other rows stay in their places and are computed alike, so this counts for one row
on each table; under add-remove rows move to other places in their blocks, and it counts for all. It
counts for all under replace-one too if rows are sampled: each side of the pair in
``privacy.accounting`` is held against the sum *without* the row, over blocks that are one row
shorter, and the shape of a matrix product decides how it rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from veilspan.privacy.noise import NoiseSource

UNIT_ROUNDOFF = 2.0**-53
COST = 1e-3  # accepted relative increase of the sensitivity through rounding
COARSEST, FINEST = 20, 40  # the grid lies between 2^-20 and 2^-40 of the noise's std
#: Under add-remove the number of rows is private, so the slack is that of this public maximum.
MAX_ROWS = 2**24


@dataclass(frozen=True)
class NoiseScale:
    """The noise of one answer: its standard deviation and the grid it lives on.

    Attributes
    ----------
    std : float
        Noise standard deviation of each orthonormal coordinate; 0 without privacy.
    step : float
        The grid's power of two; 0 without privacy.
    sensitivity : float
        What the noise multiplier refers to: the declared sensitivity plus what rounding adds.
    """

    std: float
    step: float
    sensitivity: float


def noise_scale(
    noise_multiplier: float,
    sensitivity: float,
    dim: int,
    *,
    largest: float,
    float_slack: float = 0.0,
    least_bits: int = COARSEST,
    finest: int = FINEST,
    more_steps: float = 0.0,
) -> NoiseScale:
    """Choose grid and noise for an answer of ``dim`` coordinates, from public numbers only.

    ``largest`` bounds the absolute value of a coordinate: the grid must keep every release an
    exactly representable integer (below 2^52 steps). The grid is at least ``least_bits`` finer
    than the noise, where ``largest`` allows, and at most ``finest``. ``more_steps`` are roundings
    of every coordinate beyond the one of the sum itself (``privacy.noise_buffers``).
    """
    if noise_multiplier == 0:
        return NoiseScale(0.0, 0.0, sensitivity)
    plain = noise_multiplier * sensitivity
    roundings = math.sqrt(dim) * (1 + more_steps)
    bits = math.ceil(math.log2(max(noise_multiplier * roundings / COST, 1.0)))
    exponent = math.floor(math.log2(plain)) - min(max(bits, least_bits), finest)
    # A coarser grid where values are large, so that a release is less than 2^52 steps.
    exponent = max(exponent, math.ceil(math.log2(max(largest, plain))) - 51)
    step = math.ldexp(1.0, exponent)
    charged = sensitivity + step * roundings + float_slack
    return NoiseScale(noise_multiplier * charged, step, charged)


def float_slack(
    n_rows: int | None,
    bound: float,
    block_rows: int,
    group: int,
    *,
    roundoff: float,
    alike: bool,
    extra_terms: int = 0,
) -> float:
    """Bound on what float64 rounding can add to the distance of two neighbours' sums.

    ``n_rows`` is ``None`` under add-remove. ``alike`` says that rows which stay in their places are
    computed alike on the two tables (all take part, on one machine); ``extra_terms`` are additions
    beyond those of one table in memory (sums of its parts).
    """
    rows = MAX_ROWS if n_rows is None else n_rows
    moved_rows = 1 if alike and n_rows is not None else rows
    blocks = math.ceil(rows / max(1, block_rows))
    terms = block_rows + group + math.ceil(blocks / group) + extra_terms
    return 2 * UNIT_ROUNDOFF * bound * (terms * rows + roundoff * moved_rows)


def add_noise(value: np.ndarray, scale: NoiseScale, source: NoiseSource) -> np.ndarray:
    """Round value and noise to the grid and add them; the value itself where there is no noise.

    Both are rounded before they are added: then the sum is one of integers and exact. A sum of
    floats that is rounded afterwards has already been rounded by an amount that depends on the
    value.
    """
    if scale.std == 0:
        return np.array(value, dtype=np.float64)
    noise = source.generator.standard_normal(value.shape)
    noise *= scale.std / scale.step
    np.rint(noise, out=noise)
    steps = value / scale.step
    np.rint(steps, out=steps)
    noise += steps
    noise *= scale.step
    return noise
