"""Attacks through floating point: the low bits of answers, and rows at its edges."""

import random
import warnings

import numpy as np

import veilspan
from veilspan import Budget, GaussianEvent, Plan
from veilspan.audit.measuring_tape import find_grid
from veilspan.curator.curator import Curator
from veilspan.curator.rows import Rows
from veilspan.geometry import Ball, Euclidean, Lorentz, Sphere
from veilspan.privacy.errors import CenterWarning, LoudNoiseWarning
from veilspan.privacy.noise import SeededNoise
from veilspan.queries.moments import RowSum

from .outcome import Outcome

#: Warnings that are functions of released numbers.
PAID_WORDS = (LoudNoiseWarning, CenterWarning)
ANSWERS = 64  # of each table: two grids agree by luck with probability 2^-64


def released(table, seed):
    """Noisy sums of one column."""
    plan = Plan(
        method="attack",
        budget=Budget(1e3, 1e-6),
        neighbors="replace-one",
        n_rows=len(table),
        n_features=1,
        events=(GaussianEvent("q", 1.0, ANSWERS),),
    )
    curator = Curator(Rows(table), plan, SeededNoise(seed))
    return np.array([curator.answer(RowSum(1.0), event="q").value[0] for _ in range(ANSWERS)])


def low_bits(count, seed, release=released):
    """The finest bit of an answer is the same power of two whatever the sum beneath it is."""
    rng, outcome = random.Random(seed), Outcome()
    for _ in range(count):
        tables = [
            np.full((20, 1), size) for size in (0.0, rng.random(), 10.0 ** -rng.randrange(16))
        ]
        grids = {find_grid(release(table, rng.randrange(2**32))) for table in tables}
        outcome.count("" if len(grids) == 1 else f"answers on {len(grids)} grids: bits tell sums")
    outcome.note = f"3 tables of {ANSWERS} answers each, on one grid or not"
    return outcome


EDGES = (0.0, 5e-324, 1e-310, 1e-160, 1e-30, 1.0, 1e8, 1e77, 1e139)


def edge_rows(width):
    """Rows at the edges of float64 that pass the public checks of form."""
    for size in EDGES:
        for sign in (1.0, -1.0):
            yield f"{sign * size:g} everywhere", np.full(width, sign * size)
        row = np.zeros(width)
        row[0] = size
        yield f"{size:g} on one axis", row
        yield f"{size:g} beside 1", np.r_[1.0, np.full(width - 1, size)]


def _sphere():
    ball = Ball(Sphere(3), np.eye(3)[0], 1.0)
    return veilspan.FrechetMean(ball.manifold, ball=ball, epsilon=1.0)


def _flat():
    ball = Ball(Euclidean(3), np.zeros(3), 2.0)
    return veilspan.FrechetMean(ball.manifold, ball=ball, epsilon=1.0)


MAKERS = {
    "PCA": lambda: veilspan.PCA(2, epsilon=1.0),
    "PCA, private centre": lambda: veilspan.PCA(2, epsilon=1.0, center="private"),
    "RobustPCA": lambda: veilspan.RobustPCA(1, epsilon=5.0),
    "SubspaceTracker": lambda: veilspan.SubspaceTracker(1, epsilon=1.0, block_size=30),
    "SubspaceTracker, long rows": lambda: veilspan.SubspaceTracker(
        1, epsilon=1.0, block_size=30, row_norm=1e9
    ),
    "FrechetMean, flat": _flat,
    "FrechetMean, sphere": _sphere,
}


def heard(make, table):
    """How a fit ended, and what was heard of it; floating point is told to complain.

    What released numbers say is left out: it was paid for, and their noise is drawn anew.
    """
    with warnings.catch_warnings(record=True) as log, np.errstate(all="raise"):
        warnings.simplefilter("always")
        try:
            make().fit(table)
            end = "fits"
        except Exception as error:
            end = f"{type(error).__name__}: {str(error)[:60]}"
    unpaid = [entry for entry in log if not issubclass(entry.category, PAID_WORDS)]
    return end, sorted({str(entry.message)[:60] for entry in unpaid})


def edges(count, seed, makers=None):
    """With such a row or without it: the same end, the same words."""
    rng, outcome = random.Random(seed), Outcome()
    cases = []
    for name, make in (makers or MAKERS).items():
        table = np.random.default_rng(1).standard_normal((60, 3))
        rows = list(edge_rows(3))
        if "sphere" in name:
            table /= np.linalg.norm(table, axis=1, keepdims=True)
            rows = [
                (f"1, {s:g}, {t:g}", np.array([1.0, s, t])) for s in EDGES[:5] for t in EDGES[:5]
            ]
            rows = [(label, row) for label, row in rows if abs(np.linalg.norm(row) - 1) < 1e-12]
        cases += [(name, make, table, label, row) for label, row in rows]
    for name, make, table, label, row in rng.sample(cases, min(count, len(cases))):
        other = table.copy()
        other[7] = row
        one, two = heard(make, table), heard(make, other)
        outcome.count(
            "" if one == two else f"{name}, {label}: {one[0]} {one[1]}, {two[0]} {two[1]}"
        )
    outcome.note = "every warning and every floating-point flag on, secure noise"
    return outcome


def far_points(count, seed, radius=32.0):
    """Points far out on the hyperboloid, where one row's share of a sum is lost in rounding."""
    from veilspan.audit.replay import replay
    from veilspan.solvers.manifold.rgd import RGD

    outcome, rng = Outcome(), np.random.default_rng(seed)
    manifold, n = Lorentz(4), 2000
    for turn in range(count):
        center = _far(radius - 4 * (turn % 4))
        ball = Ball(manifold, center, 1.0)
        steps = np.array([1.0, 0, 0]) + 0.1 * rng.standard_normal((n, 3))
        steps *= 0.9 / np.linalg.norm(steps, axis=1)[:, None]
        one = manifold.exp(center, manifold.from_coordinates(center, steps))
        two = one.copy()
        two[7] = manifold.exp(center, manifold.from_coordinates(center, np.array([0, 0.9, 0.0])))

        def fit(table, ball=ball):
            return veilspan.FrechetMean(
                manifold, epsilon=8.0, ball=ball, solver=RGD(steps=1), random_state=1
            ).fit(table)

        found = replay(fit, one, two).findings
        outcome.count(found[0] if found else "")
    outcome.note = "Lorentz, up to 32 from the apex; read by the independent meter"
    return outcome


def _far(r):
    u = np.array([0.6, 0.64, 0.48])
    u /= np.linalg.norm(u)
    space = np.sinh(r) * u
    return np.r_[np.sqrt(1 + space @ space), space]
