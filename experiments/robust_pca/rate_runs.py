"""One part of the rates each: descent with steps of one size, restarts, private starts, REAP."""

import math

import numpy as np

from . import batched
from .batched import gap, ggd, haystacks, mu_of, pca_start, reap, step_std

RANK, COLUMNS, SHARE = 2, 20, 0.5
POWER = 0.75  # nu of Theorems 2 to 4: s = c_1 a / T^nu, a = T^(nu - 1)
WALK = 4.0  # c_1: the steps together reach from the start to the subspace
HALVED = 50  # steps of a constant size, as in section 5.1
START = 0.2  # share of mu^2 that a private start gets
REAP_RANK, REAP_COLUMNS, REAP_SHARE = 1, 4, 0.8  # S_REAP > 0 needs few outliers
STARTS = (10, 40)  # steps of a REAP start; the better one is shown, in its favour
REAP_STEPS = 1 / 40  # T of Theorem 8 over (epsilon N)^2
NOISY = 2.0  # epsilon of Theorems 2, 4 and 5
KINDS = {"GGD": (False, False), "NGGD": (True, False), "SGGD": (False, True),
         "NSGGD": (True, True)}  # fmt: skip


def settle(kind, n, steps, tables):
    """Theorems 2 to 4: d_r^2 after steps of one size, for each table."""
    rows, truth, _ = haystacks(tables, n, COLUMNS, RANK, SHARE)
    noisy, sampled = KINDS[kind]
    rng = np.random.default_rng([71, n, steps, list(KINDS).index(kind)])
    std = step_std(2.0, n, steps, mu_of(NOISY)) if noisy else 0.0
    size = WALK * steps ** (POWER - 1) / steps**POWER
    start = pca_start(rows, RANK, 0.0, rng)
    ends = ggd(rows, start, [size] * steps, std, rng, n // 10 if sampled else None)
    return gap(ends, truth).tolist()


def restart(kind, n, restarts, tables):
    """Theorem 5: d_r^2 of each table at the end of each run of 50 steps."""
    rows, truth, _ = haystacks(tables, n, COLUMNS, RANK, SHARE, 1)
    noisy, sampled = KINDS[kind]
    steps = HALVED * restarts
    rng = np.random.default_rng([73, n, list(KINDS).index(kind)])
    std = step_std(2.0, n, steps, mu_of(NOISY)) if noisy else 0.0
    seen = []

    def watch(k, bases):
        if k % HALVED == 0 and k:
            seen.append(gap(bases, truth).tolist())

    sizes = [0.25 * 0.5 ** (k // HALVED) for k in range(steps)]
    ggd(rows, pca_start(rows, RANK, 0.0, rng), sizes, std, rng, n // 10 if sampled else None, watch)
    return seen


def private_ggd(n, columns, epsilon, tables, steps=None, start="PCA", halved=HALVED, taken=40):
    """dp-GGD with a start that is paid for: d_r^2 of the starts and of the ends."""
    rows, truth, _ = haystacks(tables, n, columns, RANK, SHARE, 2)
    steps = n if steps is None else steps
    rng = np.random.default_rng([79, n, columns, round(100 * epsilon), start != "PCA"])
    mu = mu_of(epsilon)
    begun = begin(rows, start, mu * math.sqrt(START), rng, taken)
    std = step_std(2.0, n, steps, mu * math.sqrt(1 - START))
    ends = ggd(rows, begun, [0.5 ** (k // halved) for k in range(steps)], std, rng)
    return [gap(begun, truth).tolist(), gap(ends, truth).tolist()]


def begin(rows, start, mu, rng, steps):
    """A private start: leading eigenvectors of a noisy moment, or of the mean P of noisy REAP."""
    n = rows.shape[1]
    if start == "PCA":
        return pca_start(rows, RANK, step_std(math.sqrt(2), n, 1, mu), rng)
    std = step_std(math.sqrt(2), n, steps, mu)
    return batched.leading(reap(rows, RANK, steps, std, rng, start.removesuffix("-REAP")), RANK)


def started(n, columns, tables, start):
    """dp-GGD of 100 steps at epsilon 0.8 by a kind of start; REAP with its better steps."""
    tried = (STARTS[-1:],) if start == "PCA" else ([k] for k in STARTS)
    made = [private_ggd(n, columns, 0.8, tables, 100, start, 10, *k) for k in tried]
    return min(made, key=lambda m: float(np.mean(np.log(np.maximum(m[1], 1e-32)))))


# ---------------------------------------------------------------- REAP


def reap_case(geometry, n, columns, epsilon, tables):
    """Excess, d^2 and S_REAP of each table."""
    rows, truth, inside = haystacks(tables, n, columns, REAP_RANK, REAP_SHARE, 3)
    steps = max(20, round(REAP_STEPS * (epsilon * n) ** 2))
    std = step_std(math.sqrt(2), n, steps, mu_of(epsilon))
    rng = np.random.default_rng([83, n, columns, round(100 * epsilon), geometry == "MD"])
    found = reap(rows, REAP_RANK, steps, std, rng, geometry)
    best = truth @ truth.swapaxes(1, 2)
    excess = batched.reap_risk(found, rows) - batched.reap_risk(best, rows)
    d2 = batched.squared_angles(batched.leading(found, REAP_RANK), truth)
    stable = [stability(*table) for table in zip(rows, truth, inside)]
    return [{"excess": float(e), "d2": float(d), "stability": s}
            for e, d, s in zip(excess, d2, stable)]  # fmt: skip


def stability(rows, truth, inside):
    """(4.3) to (4.5) for r = 1: P / 4 - A, both over N."""
    permeance = np.abs(rows[inside] @ truth).sum() / len(rows)
    out = rows[~inside]
    side = out - out @ truth @ truth.T
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    aligned = np.linalg.norm(out, 2) * np.linalg.norm(side, 2) / len(rows)
    return float(permeance / 4 - aligned)
