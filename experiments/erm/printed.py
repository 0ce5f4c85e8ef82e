"""DP-SVRG and DP-SVRG++ as printed: one row a step, the printed noise. **Not private as promised.**

Logistic loss of rows in the unit ball (G = 1, L = 1/4), every constant c = 1. ``costs.py`` says
what the noise is worth.
"""

import math

import numpy as np

SMOOTHNESS = 0.25  # of the logistic loss for rows in the unit ball
INNER = 10  # m of DP-SVRG++, printed as Theta(L)
STEP = 1 / 48  # times 1/L; see ``svrg_plan``


def svrg_plan(rows, columns, ridge, epsilon, delta):
    """Epochs T, inner steps m, step size and noise of Theorem 4.2.

    The theorem wants 1 / (eta (1 - 8 eta L) mu m) + 8 L eta (m + 1) / (m (1 - 8 L eta)) < 1/2.
    At its eta = 1 / (12 L) the second term alone is 2: no m is large enough. At 1 / (48 L) it is
    0.2, and m = 200 L / mu makes the first 0.29.
    """
    smooth = SMOOTHNESS + ridge
    inner = math.ceil(200 * smooth / ridge)
    gain = (rows * epsilon) ** 2 * ridge / (columns * math.log(1 / delta))
    epochs = max(1, math.ceil(math.log(max(gain, math.e))))
    std = math.sqrt(epochs * inner * math.log(1 / delta)) / (rows * epsilon)
    return epochs, inner, STEP / smooth, std


def svrg_plus_plan(rows, columns, epsilon, delta):
    """Epochs T, first inner steps m, step size and noise of Theorem 4.4."""
    gain = rows * epsilon / math.sqrt(columns * math.log(1 / delta))
    epochs = max(1, math.ceil(math.log2(max(gain, 2.0))))
    std = math.sqrt(2**epochs * INNER * math.log(2 / delta)) / (rows * epsilon)
    return epochs, INNER, 1 / (13 * SMOOTHNESS), std


def svrg(data, ridge, epsilon, delta, seed):
    """Algorithm 1: theta and the number of gradients of single rows."""
    epochs, inner, step, std = svrg_plan(*data.rows.shape, ridge, epsilon, delta)
    rng = np.random.default_rng([23, seed])
    theta = np.zeros(data.rows.shape[1])
    for _ in range(epochs):
        theta, _ = _epoch(data, theta, theta, inner, step, std, ridge, rng)
    return theta, epochs * (len(data.signs) + 2 * inner)


def svrg_plus(data, epsilon, delta, seed):
    """Algorithm 2: epochs that double and go on where the last one ended."""
    epochs, inner, step, std = svrg_plus_plan(*data.rows.shape, epsilon, delta)
    rng = np.random.default_rng([29, seed])
    anchor = last = np.zeros(data.rows.shape[1])
    for epoch in range(1, epochs + 1):
        anchor, last = _epoch(data, anchor, last, 2**epoch * inner, step, std, 0.0, rng)
    inner_steps = inner * (2 ** (epochs + 1) - 2)
    return anchor, epochs * len(data.signs) + 2 * inner_steps


def _epoch(data, anchor, start, steps, step, std, ridge, rng):
    """Mean and last of the iterates; the gradient at the anchor has no noise of its own."""
    rows, signs = data.rows, data.signs
    at_anchor = _slopes(rows @ anchor, signs)
    full = at_anchor @ rows / len(signs)
    theta, total = start, np.zeros_like(start)
    picked = rng.integers(len(signs), size=steps)
    for i, noise in zip(picked, std * rng.standard_normal((steps, len(start)))):
        slope = _slopes(rows[i] @ theta, signs[i])
        change = (slope - at_anchor[i]) * rows[i]
        theta = (theta - step * (change + full + noise)) / (1 + step * ridge)
        total = total + theta
    return total / steps, theta


def _slopes(scores, signs):
    """Derivative of log(1 + exp(-sign score)) in the score."""
    return -signs / (1 + np.exp(np.minimum(signs * scores, 700)))
