r"""TukeyEM: Amin, Joseph, Ribero & Vassilvitskii (2023), "Easy differentially private linear
regression"; own implementation.

m ordinary fits, each of rows of its own; a point's depth is the least over coordinates of the
number of fits on either side of it. V_i is the volume of the box of points of depth i or more, t =
m/4. Half of epsilon, e, tests whether the fits lie close enough together (propose, test, release):
the largest k for which some g > 0 has

    V_{t-k-1} / V_{t+k+1+g} * exp(-e g / 2) <= delta / (8 exp(e)),

with Laplace noise 1/e, must exceed log(1 / (2 delta)) / e. The other half draws a point of depth at
least t with density proportional to exp(e * depth).

**In its favour.** A replaced row changes one fit, so that every depth moves by at most 1, up or
down; exp(e * depth / 2) would be what e pays for. The authors' published code has exp(e * depth),
and it is given that.
"""

import math

import numpy as np

#: Ties would make a volume 0; their code perturbs fits by as much.
TINY = 1e-10


def fit_parts(x, y, count, rng):
    """Ordinary least squares on ``count`` disjoint random parts; a row for each."""
    size = len(x) // count
    order = rng.permutation(len(x))[: size * count]
    rows, targets = x[order].reshape(count, size, -1), y[order].reshape(count, size)
    return np.array([np.linalg.lstsq(a, b)[0] for a, b in zip(rows, targets)])


def log_volumes(ends):
    """Log of V_1, ..., V_{m/2} of sorted fits, a row for each coordinate."""
    deepest = ends.shape[1] // 2
    widths = ends[:, ::-1][:, :deepest] - ends[:, :deepest]
    return np.log(widths).sum(axis=0)


def distance_to_unsafe(volumes, e, delta, t):
    """Largest k of the test, -1 where there is none; ``volumes[i - 1]`` belongs to depth i."""
    wanted = math.log(delta / 8) - e
    found = -1
    for k in range(t - 1):
        inner = volumes[t + k + 1 :]  # depths t + k + 1 + g
        gains = volumes[t - k - 2] - inner - e / 2 * np.arange(1, len(inner) + 1)
        if not len(inner) or gains.min() > wanted:
            break
        found = k
    return found


def draw_of_depth(ends, depth, rng):
    """A uniform point of exactly this depth: in its box, not in the next one inside it.

    The shell falls into pieces: coordinates before the j-th in the inner interval, the j-th
    outside of it, those after it anywhere.
    """
    low, high = ends[:, depth - 1], ends[:, -depth]
    inner_low, inner_high = ends[:, depth], ends[:, -depth - 1]
    if 2 * (depth + 1) > ends.shape[1]:  # nothing lies deeper
        return rng.uniform(low, high)
    inside, whole = np.log(inner_high - inner_low), np.log(high - low)
    shell = np.log((inner_low - low) + (high - inner_high))
    before = np.concatenate([[0.0], np.cumsum(inside)[:-1]])
    after = np.concatenate([np.cumsum(whole[::-1])[::-1][1:], [0.0]])
    chosen = int(np.argmax(before + shell + after + rng.gumbel(size=len(shell))))
    point = np.where(np.arange(len(low)) < chosen, rng.uniform(inner_low, inner_high),
                     rng.uniform(low, high))  # fmt: skip
    left = (inner_low - low)[chosen]
    place = rng.uniform(0, left + (high - inner_high)[chosen])
    point[chosen] = low[chosen] + place if place < left else inner_high[chosen] + place - left
    return point


def tukey_em(fits, epsilon, delta, rng):
    """One of many fits' deepest points, or ``None`` where the test refuses."""
    e = epsilon / 2
    ends = np.sort(fits.T + TINY * rng.random(fits.T.shape), axis=1)
    volumes = log_volumes(ends)
    t = len(volumes) // 2
    far = distance_to_unsafe(volumes, e, delta, t)
    if not far + rng.laplace(scale=1 / e) > math.log(1 / (2 * delta)) / e:
        return None
    deeper = np.append(volumes[1:], -np.inf)
    shells = volumes + np.log(-np.expm1(np.minimum(deeper - volumes, -1e-15)))
    depths = np.arange(1, len(volumes) + 1)
    terms = np.where(depths >= t, shells + e * depths, -np.inf)
    return draw_of_depth(ends, int(depths[np.argmax(terms + rng.gumbel(size=len(terms)))]), rng)
