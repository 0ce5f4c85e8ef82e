"""Contributions of single rows in 60 digits: what the rounding contract measures sums against.

Each function takes a row of plain floats (and its target), and the public point, and writes the
contribution down as its docstring in ``problems/`` does, in the coordinates of the answer space. It
returns these coordinates and, where a query clips by something else than their length, that too.
Nothing here is shared with the block code.
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 60
ROOT2 = mp.sqrt(2)


def big(values):
    """An array of exact copies of floats."""
    values = np.asarray(values, dtype=np.float64)
    return np.array([mp.mpf(float(v)) for v in values.ravel()], dtype=object).reshape(values.shape)


def length(vector):
    return mp.sqrt(mp.fsum(v * v for v in np.ravel(vector)))


def flat(*parts):
    return np.concatenate([np.ravel(part) for part in parts])


def unit(x):
    size = length(x)
    return x / size if size else x


def clipped(contribution, bound):
    """The contribution as the curator adds it up: far beyond the bound it fades to nothing."""
    coordinates, norm = contribution
    norm = length(coordinates) if norm is None else norm
    if not norm:
        return coordinates
    fade = (2**20 - norm / (2**1000 * mp.mpf(bound))) / (2**20 - 1)
    weight = min(mp.mpf(1), mp.mpf(bound) / norm) * min(max(fade, mp.mpf(0)), mp.mpf(1))
    return coordinates * weight


# Moments.


def second_moment(x, y, center):
    x = big(x) - (0 if center is None else big(center))
    return np.outer(x, x).ravel(), None


def reshaped(x, y, point):
    x = big(x) - (0 if point.center is None else big(point.center))
    inside, outside = parts(x, big(point.basis))
    moved = big(point.basis) @ (big(point.inside) * inside) + mp.mpf(point.outside) * outside
    return np.outer(moved, moved).ravel(), None


def row_sum(x, y, point):
    return big(x), None


def count(x, y, point):
    return big([1.0]), None


def direction(x, y, point):
    return flat(unit(big(x)), big([0.3])), None


def spherical(x, y, point):
    x = unit(big(x))
    return np.outer(x, x).ravel(), None


def regression(weight):
    def contribution(x, y, point):
        x = big(x)
        x = x / max(mp.mpf(1), length(x))
        y = min(max(mp.mpf(y), -1), 1)
        return flat(np.outer(x, x), ROOT2 * mp.mpf(weight) * y * x), None

    return contribution


# Rows split at a subspace.


def parts(x, basis):
    inside = basis.T @ x
    return inside, x - basis @ inside


def whitened(first, second):
    def contribution(x, y, point):
        basis, scale, *stretch = big(point[0]), mp.mpf(point[1]), *map(big, point[2:])
        inside, outside = parts(unit(big(x)), basis)
        outside = outside / scale
        for matrix in stretch:
            inside = matrix @ inside
        size = length(flat(inside, outside)) or mp.mpf(1)
        a, b = inside / size, outside / size
        return flat(first * np.outer(a, a), second * np.outer(b, a)), None

    return contribution


def touching(x, y, point):
    basis, scale = big(point[0]), mp.mpf(point[1])
    inside, outside = parts(big(x), basis)
    outside = outside / scale
    energy = length(outside) ** 2
    coordinates = flat(np.outer(inside, inside), ROOT2 * np.outer(outside, inside), [energy])
    return coordinates, length(inside) ** 2 + energy


def stretched(x, y, point):
    x = big(x)
    if point is not None:
        basis = big(point[0])
        inside, outside = parts(x, basis)
        x = basis @ inside + outside / mp.mpf(point[1])
    return np.outer(x, x).ravel(), None


def tyler(x, y, point):
    directions, whitening, rest = big(point[0]), big(point[1]), mp.mpf(point[2])
    inside, outside = parts(unit(big(x)), directions)
    white = whitening.T @ inside
    a = white / (mp.sqrt(length(white) ** 2 + length(outside) ** 2 / rest) or mp.mpf(1))
    return np.outer(a, a).ravel(), None


def residual_difference(x, y, point):
    x = unit(big(x))
    first, second = (length(parts(x, big(basis))[1]) for basis in point)
    return np.array([first - second]), None


def geodesic(x, y, basis, guard=1e-6):
    inside, outside = parts(unit(big(x)), big(basis))
    return np.ravel(-np.outer(outside, inside) / max(length(outside), mp.mpf(guard))), None


def reaper(x, y, point, guard=1e-6):
    x = unit(big(x))
    z = x - big(point) @ x
    z = z / max(length(z), mp.mpf(guard))
    return np.ravel(-(np.outer(z, x) + np.outer(x, z)) / 2), None


def energy(x, y, point):
    x, basis = big(x), big(point if point.ndim == 2 else point[:, None])
    inside, outside = parts(x, basis)
    coordinates = np.ravel(-np.outer(outside, inside))
    shortest = (length(outside) ** 2 + length(inside) ** 2) / 1000
    return coordinates, max(length(coordinates), shortest)


def energy_change(x, y, point):
    here, anchor = (big(p) for p in point)
    away = energy(x, y, point[1])[0]
    s = here + anchor
    carried = away - 2 * (s @ away) / (s @ s) * s
    change = energy(x, y, point[0])[0] - carried
    return change, max(length(change), length(big(x)) ** 2 / 1000)


# Curved spaces. Lorentz: a point is its entries after the first, the first follows.


def lifted(tail):
    return flat([mp.sqrt(1 + mp.fsum(t * t for t in tail))], tail)


def lorentz_log(x, y, point):
    """-log of the row at the point, in the frame carried from the apex."""
    here, there = lifted(big(point)[1:]), lifted(big(x)[1:])
    product = -here[0] * there[0] + mp.fsum(here[1:] * there[1:])
    distance = mp.acosh(max(-product, mp.mpf(1)))
    if distance == 0:
        return big(np.zeros(len(point) - 1)), None
    log = distance / mp.sinh(distance) * (there + product * here)
    return -(log[1:] - log[0] / (1 + here[0]) * here[1:]), None


def sphere_log(x, y, point):
    here, there = unit(big(point)), unit(big(x))
    rest = there - (here @ there) * here
    angle = mp.atan2(length(rest), here @ there)
    return -angle * unit(rest), None


def spd_log(x, y, point):
    size = point.shape[0]
    low = mp.inverse(mp.cholesky(mp.matrix(big(point).tolist())))
    inner = low * mp.matrix(big(x).reshape(size, size).tolist()) * low.T
    values, vectors = mp.eigsy((inner + inner.T) / 2)
    log = vectors * mp.diag([mp.log(value) for value in values]) * vectors.T
    return -np.array(log.tolist(), dtype=object).ravel(), None


def scale_of_norms(knots, norms, curvature):
    """Shared counts of a gradient's norm, and its curvature in [0, 1]."""

    def contribution(x, y, point):
        last = len(knots) - 1
        size = norms(x, point)
        position = 2 * mp.log(size / mp.mpf(knots[0]), 2) if size else mp.mpf(0)
        position = min(max(position, mp.mpf(0)), mp.mpf(last))
        low = min(int(position), last - 1)
        counts = big(np.zeros(len(knots) + 1))
        counts[low], counts[low + 1] = 1 - (position - low), position - low
        counts[-1] = min(curvature(x, point), mp.mpf(1))
        return counts, None

    return contribution


# Linear models.


def scores(x, *thetas):
    x = big(x)
    x = x / max(mp.mpf(1), length(x))
    return x, [x @ big(theta) for theta in thetas]


def logistic_slope(x, y, theta):
    x, (u,) = scores(x, theta)
    return -y * x / (1 + mp.exp(y * u)), None


def multiplied(matrix, contribution):
    """A matrix times a contribution."""
    return lambda x, y, point: (big(matrix) @ contribution(x, y, point)[0], None)


def biweight_slope(width):
    def contribution(x, y, theta):
        x, (u,) = scores(x, theta)
        share = (u - y) / mp.mpf(width)
        return (x * (u - y) * (1 - share**2) ** 2 if abs(share) < 1 else 0 * x), None

    return contribution


def logistic_change(x, y, point):
    x, us = scores(x, *point)
    here, there = (-y / (1 + mp.exp(y * u)) for u in us)
    return (here - there) * x, None


def softmax_slope(classes, width=None):
    """Of the multinomial loss; with a width, of the hinge of several classes."""

    def contribution(x, y, theta):
        x, (u,) = scores(x, theta)
        own = int(min(max(mp.nint(mp.mpf(y)), 0), classes - 1))
        if width is not None:
            u = [(score - (1 if j == own else 0)) / mp.mpf(width) for j, score in enumerate(u)]
        top = max(u)
        likely = [mp.exp(score - top) for score in u]
        slope = np.array([q / mp.fsum(likely) for q in likely])
        slope[own] -= 1
        return np.outer(x, slope).ravel(), None

    return contribution


def curvature_diagonal(clip=None):
    """Of the logistic loss."""

    def contribution(x, y, theta):
        x, (u,) = scores(x, theta)
        likely = 1 / (1 + mp.exp(-u))
        share = 4 * likely * (1 - likely)
        if clip is not None:
            pull = length(x) / (1 + mp.exp(y * u))
            share *= min(max((mp.mpf(1.1) - pull / mp.mpf(clip)) / mp.mpf(0.2), 0), 1)
        return share * x * x, None

    return contribution


def gains(x, y, thetas):
    _, us = scores(x, *thetas)
    each = [min(max((1 + y * u / mp.mpf(0.01)) / 2, mp.mpf(0)), mp.mpf(1)) for u in us]
    return np.array([g - mp.fsum(each) / len(each) for g in each]), None


def gain(x, y, theta):
    _, (u,) = scores(x, theta)
    return np.array([min(max((1 + y * u / mp.mpf(0.01)) / 2, mp.mpf(0)), mp.mpf(1)) - 0.5]), None


def squared_gain(x, y, theta):
    _, (u,) = scores(x, theta)
    return np.array([mp.mpf(0.5) - min(mp.mpf(1), abs(u - y)) ** 2]), None


def captured(center):
    def contribution(x, y, basis):
        moved = [mp.mpf(a) - mp.mpf(b) for a, b in zip(x, center)]
        squares = mp.fsum(a**2 for a in moved)
        along = [mp.fsum(a * mp.mpf(b) for a, b in zip(moved, column)) for column in basis.T]
        share = mp.fsum(a**2 for a in along) / squares if squares else mp.mpf(0)
        return np.array([min(share, mp.mpf(1)) - 0.5]), None

    return contribution


def class_counts(x, y, point):
    return big(np.array([1.0, 0.0] if y <= 0 else [0.0, 1.0])), mp.mpf(1)


def score_histogram(knots, bend=None):
    def contribution(x, y, point):
        theta, reach = point
        _, (u,) = scores(x, theta)
        reach = mp.mpf(reach)
        place = min(max(u, -reach), reach)
        if bend is not None:
            place = reach * mp.asinh(place / mp.mpf(bend)) / mp.asinh(reach / mp.mpf(bend))
        place = (place + reach) * (knots - 1) / (2 * reach)
        below = min(int(mp.floor(place)), knots - 2)
        votes = np.array([mp.mpf(0)] * (2 * knots))
        first = below + (knots if y > 0 else 0)
        votes[first], votes[first + 1] = 1 - (place - below), place - below
        return votes, None

    return contribution


def histogram(edges):
    def contribution(x, y, point):
        votes = np.zeros((len(x), len(edges) + 1))
        for column, value in enumerate(x):
            votes[column, sum(edge <= value for edge in edges)] = 1.0
        return big(votes.ravel()), mp.sqrt(len(x))

    return contribution


# Profiles: units of slots, each a row of codes and numbers.


def taken_slots(x, slots):
    """The slots of a unit that are not empty."""
    parts = np.asarray(x, dtype=np.float64).reshape(slots, -1)
    return [part for part in parts if part[0] > -0.5]


def code_of(value, size):
    return int(min(max(float(np.rint(value)), 0), size - 1))


def cell_counts(sizes, crossed, slots=1):
    tall = [*sizes, *(sizes[a] * sizes[b] for a, b in crossed)]

    def contribution(x, y, point):
        votes = big(np.zeros(sum(tall)))
        rows = taken_slots(x, slots)
        for row in rows:
            codes = [code_of(row[j], size) for j, size in enumerate(sizes)]
            codes += [codes[a] * sizes[b] + codes[b] for a, b in crossed]
            for j, code in enumerate(codes):
                votes[sum(tall[:j]) + code] += mp.mpf(1) / len(rows)
        return votes, None

    return contribution


def number_moments(numbers, groups, constant, slots=1):
    def vector(row):
        here = [row[place] for place in numbers]
        z = [mp.mpf(0) if v > 1.5 else min(max(mp.mpf(float(v)), -1), 1) for v in here]
        r = [mp.mpf(1) if v > 1.5 else mp.mpf(0) for v in here]
        g = []
        for place, size in groups:
            code = code_of(row[place], size)
            g += [mp.mpf(1) if i == code else mp.mpf(0) for i in range(size)]
        return np.array([mp.mpf(constant), *z, *r, *g], dtype=object)

    def contribution(x, y, point):
        rows = [vector(row) for row in taken_slots(x, slots)]
        size = 1 + 2 * len(numbers) + sum(size for _, size in groups)
        total = big(np.zeros((size, size)))
        for u in rows:
            total = total + np.outer(u, u) / len(rows)
        return total.ravel(), None

    return contribution


def residual_vote(edges):
    def contribution(x, y, theta):
        x, (u,) = scores(x, theta)
        value = (u - min(max(mp.mpf(float(y)), mp.mpf(-1)), mp.mpf(1))) * length(x)
        votes = np.zeros(len(edges) + 1)
        votes[sum(edge <= value for edge in edges)] = 1.0
        return big(votes), mp.mpf(1)

    return contribution


def distance(float_vector, exact_vector):
    """Length of the difference, as a float."""
    return float(length(big(float_vector) - exact_vector))


def gap(float_vector, exact_vector):
    """Difference of the lengths, for coordinates in a frame that only the code knows."""
    return abs(float(length(big(float_vector)) - length(exact_vector)))


def total(contributions):
    """Exact sum of rows."""
    columns = zip(*contributions)
    return np.array([mp.fsum(column) for column in columns], dtype=object)
