r"""Tangent Gaussians by a random walk, as Han et al. (2022) draw them where no basis is at hand.

Metropolis on the density exp(-|v|_w^2 / 2) of symmetric matrices, |v|_w^2 = tr(w^-1 v w^-1 v),
with Gaussian proposals. Neither paper says how long the chain is. It cannot be short: what it
draws has to be within a total variation of eta of the Gaussian, or delta grows by more than that.
A reversible chain with spectral gap g needs at least

    (1/g - 1) log(1 / (2 eta))

steps (Levin & Peres 2017, Theorem 12.5), and g <= E(x' - x)^2 / 2 for every coordinate x of unit
variance, with x ~ N(0, 1) and x' after one step: the right side is 1 minus the correlation of
neighbours, and the gap is its least value over all functions. So one step of a chain that is
already right, averaged over many draws, bounds the length from below.
"""

import numpy as np


def steps_needed(spreads, eta, rng, pairs=4000, scales=24):
    """Least number of steps with the best scale; ``spreads``: relative sizes of proposals.

    Coordinates are whitened (the target is N(0, I)); ``spreads`` are 1 throughout for proposals
    that know the metric.
    """
    x, z = rng.standard_normal((2, pairs, len(spreads)))
    threshold = np.log(rng.random(pairs))
    slowest = spreads == np.min(spreads)

    def gap(scale):
        jump = scale * spreads * z
        # The log of the ratio of densities decides; what is not accepted does not move.
        accepted = threshold < -np.sum(jump * (x + jump / 2), axis=1)
        return float(np.mean(accepted[:, None] * jump[:, slowest] ** 2)) / 2

    best = max(gap(scale) for scale in np.geomspace(0.05, 5, scales) / np.linalg.norm(spreads))
    return (1 / best - 1) * np.log(1 / (2 * eta))


def plain_spreads(w):
    """Sizes of proposals that are isotropic for the Euclidean metric, in whitened coordinates.

    In the eigenbasis |v|_w^2 = sum v_rs^2 / (l_r l_s), so v_rs has spread 1 / sqrt(l_r l_s).
    """
    values = np.linalg.eigvalsh(w)
    r, s = np.triu_indices(len(values))
    return 1 / np.sqrt(values[r] * values[s])


def walk(w, rng, steps):
    """A chain of so many steps from 0, with proposals that know the metric."""
    inverse, root = np.linalg.inv(w), np.linalg.cholesky(w)
    m = len(w)
    z = rng.standard_normal((steps, m, m))
    z = (z + z.transpose(0, 2, 1)) * (2.4 / np.sqrt(m * (m + 1) / 2) / 2)
    jumps = root @ z @ root.T
    thresholds = np.log(rng.random(steps))
    v, energy = np.zeros((m, m)), 0.0
    for jump, threshold in zip(jumps, thresholds):
        proposal = v + jump
        mixed = inverse @ proposal
        wanted = np.vdot(mixed, mixed.T) / 2
        if threshold < energy - wanted:
            v, energy = proposal, wanted
    return v
