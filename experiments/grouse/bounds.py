"""What Zhang & Balzano (2016) promise: theorems 1, 4 and 5, and the exact mean of lemma 1."""

from math import lgamma

import numpy as np


def start_similarity(n, d):
    r"""Logarithm of E zeta_0 for a uniform start: E zeta_0 = d! (n - d)! / n!, exactly.

    det(A A^T) of the d x d corner A of a uniform orthonormal basis is a product of independent
    beta variables with means (d - i) / (n - i), i = 0 ... d - 1.
    """
    return lgamma(d + 1) + lgamma(n - d + 1) - lgamma(n + 1)


def printed_start_similarity(n, d):
    """Logarithm of (d / (n e))^d: lemma 1 with its constant C, "approximately 1", left out."""
    return d * (np.log(d / n) - 1)


def theorem1(n, d, accuracy, failure=0.1):
    """K_1 and K_2 of eq. (9), with C = 1, each allowed to fail with the given probability."""
    mu = 1 + (np.log(1 - failure) + d * np.log(np.e / d)) / (d * np.log(n))
    first = (d**3 / failure + d) * mu * np.log(n)
    return first, 2 * d * np.log(1 / (accuracy * failure))


def theorem4(zeta, n, d, noise):
    """Lower bound on E[zeta_{t+1} / zeta_t - 1 | U_t]."""
    missing = (1 - np.asarray(zeta)) / d
    scale = 1 + d / n * noise
    # missing (1 - noise / (missing + noise)), without 0 / 0 at the truth.
    return missing**2 / np.maximum(missing + noise, 1e-300) / scale


def theorem5(epsilon, cos2_largest, n, d, noise):
    """Lower bound on E[1 - epsilon_{t+1} / epsilon_t | U_t]; negative inside a ball."""
    outside = (1 - d / n) * noise
    share = outside / np.maximum(np.asarray(epsilon) / d + outside, 1e-300)
    return (np.asarray(cos2_largest) - share) / d / (1 + d / n * noise)


def iterate_theorem4(zeta, steps, n, d, noise):
    """The bound of theorem 4 as if it were an equation, from a first similarity."""
    values = [float(zeta)]
    for _ in range(steps):
        values.append(min(values[-1] * (1 + float(theorem4(values[-1], n, d, noise))), 1.0))
    return np.array(values)


def rows_by_theorem4(zeta, n, d, noise, goal=0.5):
    """Rows until the iterated bound of theorem 4 reaches a similarity."""
    rows, value = 0, float(zeta)
    while value < goal:
        value *= 1 + float(theorem4(value, n, d, noise))
        rows += 1
    return rows


def iterate_theorem5(epsilon, cos2_largest, n, d, noise):
    """The bound of theorem 5 as if it were an equation, along given cosines of the largest angle.

    The theorem needs the largest angle, which it says nothing about: it is the measured one.
    """
    values = [float(epsilon)]
    for cos2 in cos2_largest[:-1]:
        values.append(values[-1] * (1 - float(theorem5(values[-1], cos2, n, d, noise))))
    return np.array(values)
