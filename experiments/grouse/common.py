"""What all figures share: streams, and metrics along them.

The true subspace is spanned by the first d axes. The paper's is random and sparse, which makes no
difference: GROUSE commutes with rotations, its start is uniform and the noise isotropic, so the
curves have the same law for every true subspace (tests/experiments/test_grouse.py rotates one).
With axes the overlap of a basis with the truth is its first d columns.
"""

from dataclasses import dataclass

import numpy as np

from veilspan.nonprivate.grouse import (
    ConstantStep,
    GreedyStep,
    NoisyStep,
    random_basis,
    update_block,
)

#: K_1 over its order d^3 log n below which that order is called loose.
LOOSE = 0.2


@dataclass
class Trace:
    """Metrics before the first row and after each."""

    zeta: np.ndarray
    epsilon: np.ndarray
    cos2_largest: np.ndarray


def rows_of(count, n, d, noise, rng):
    """Unit vectors of the true subspace plus noise of variance noise / n per entry."""
    return noisy(signals(count, d, rng), n, noise, rng)


def signals(count, d, rng):
    """Uniform unit vectors, as coefficients in the true basis."""
    signal = rng.standard_normal((count, d))
    return signal / np.linalg.norm(signal, axis=1, keepdims=True)


def noisy(signal, n, noise, rng):
    shape = len(signal), n
    rows = rng.standard_normal(shape) * np.sqrt(noise / n) if noise else np.zeros(shape)
    rows[:, : signal.shape[1]] += signal
    return rows


def fold(basis):
    """The same start in 2 d coordinates: all that rows without noise can ever see of it.

    Without noise every basis stays in the span of the start and the truth.
    """
    d = len(basis)
    rest = np.linalg.qr(basis[:, d:].T, mode="r").T
    return np.ascontiguousarray(np.hstack([basis[:, :d], rest]))


def stream(n, d, noise, rng, *, oracle=False, engine=None, block=256):
    """Endless bases, the first one before any row; the array changes in place.

    Eq. (8) with c = 1 and alpha clipped to [0, 1]; the greedy step without noise. The oracle takes
    the step that the theorems assume, 1 - alpha = |v_perp|^2 / |r|^2, which needs the truth.
    """
    basis, memory = random_basis(n, d, rng), None
    if not noise and n > 2 * d:
        basis = fold(basis)
    step = NoisyStep(noise) if noise else GreedyStep()
    yield basis
    while True:
        signal = signals(block, d, rng)
        rows = noisy(signal, basis.shape[1], noise, rng)
        for v, row in zip(signal, rows[:, None]):
            if oracle:
                step = ConstantStep(assumed_fraction(basis, v, row[0]))
            memory = update_block(basis, row, step=step, memory=memory, engine=engine).memory
            yield basis


def assumed_fraction(basis, signal, row):
    """|v_perp|^2 / |r|^2, clipped to (0, 1]: the paper's 1 - alpha before it is estimated."""
    inside, weights = basis[:, : len(signal)] @ signal, basis @ row
    residual = row @ row - weights @ weights
    return float(np.clip((signal @ signal - inside @ inside) / residual, 1e-300, 1.0))


def similarity(basis):
    """Determinant similarity zeta to the span of the first axes."""
    return float(np.linalg.det(basis[:, : len(basis)]) ** 2)


def discrepancy(basis):
    """Frobenius discrepancy epsilon, as d minus the overlap: good to about 1e-14."""
    d = len(basis)
    return float(max(d - np.sum(basis[:, :d] ** 2), 0.0))


def similar(goal):
    """Whether zeta has reached a goal, as a function of the basis.

    A product of d cosines with sum d - epsilon is at most (1 - epsilon / d)^d <= exp(-epsilon), so
    that most determinants need not be computed.
    """
    most = -np.log(goal)
    return lambda basis: discrepancy(basis) <= most and similarity(basis) >= goal


def within(goal):
    """Whether epsilon has come down to a goal, as a function of the basis."""
    return lambda basis: discrepancy(basis) <= goal


def follow(bases, steps):
    """All metrics for a number of rows."""
    cosines = []
    for basis, _ in zip(bases, range(steps + 1)):
        cosines.append(np.linalg.svd(basis[:, : len(basis)], compute_uv=False))
    squares = np.minimum(np.array(cosines), 1.0) ** 2
    return Trace(squares.prod(axis=1), (1 - squares).sum(axis=1), squares[:, -1])


def rows_until(bases, *goals, limit):
    """Rows until each goal is first met, one after another; nan from the first that never is."""
    counts, goals = [], list(goals)
    for count, basis in zip(range(limit + 1), bases):
        while goals and goals[0](basis):
            counts.append(float(count))
            goals.pop(0)
        if not goals:
            break
    return counts + [float("nan")] * len(goals)


def judged(holds, values):
    """Whether ``holds`` is true of the values.

    A value that is nan is missing: some trial never arrived. Then the others can refute a claim,
    but not support it: ``None``.
    """
    known = [value for value in values if not np.isnan(value)]
    if known and not holds(known):
        return False
    return True if known and len(known) == len(values) else None


def span(values, form="{:.3g}"):
    """The range of the values in words, and how many are missing."""
    known = [value for value in values if not np.isnan(value)]
    missing = len(values) - len(known)
    words = [f"{form.format(min(known))} to {form.format(max(known))}"] if known else []
    if missing:
        words.append(f"{missing} of {len(values)} unknown: a trial did not arrive")
    return ", ".join(words)


def word_of(claim, word):
    """A word for a verdict, as the claim came out."""
    return {True: word, False: f"NOT {word}", None: f"({word}: not judged)"}[claim.holds]


def generator(*key):
    """Random numbers of one trial of one setting, whatever else runs."""
    return np.random.default_rng([int(1e9 * k) if isinstance(k, float) else k for k in key])
