"""The paper's methods on many tables at once, as printed and with correct noise.

One update serves both forms. As printed, starts, noise, samples and the output are those of
`printed.py`. With correct noise the library's solver makes its start under the plan for all steps,
which also says how much noise a step has; from there on samples are Poisson samples, noise is
isotropic in the space of the gradient, and the projection caps eigenvalues, as in the library
(a test compares single steps). Every table has a random stream of its own, so that its result does
not depend on its company.

CPU seconds of a table are its share of those of its company; the clock stands while errors are
measured.
"""

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from veilspan.queries.subspace.sphered import GUARD

from .batched import capped
from .common import Curve, checkpoints, error_of
from .costs import noise_std, theorem_8_std
from .honest import EXACT_GUARD, SAMPLED_GUARD, begin_honest, paper_solver
from .printed import METHODS, paper_step, reaper_start, wishart_start

#: Numbers of a block that stays in the cache; tables that fit in one are run side by side.
BLOCK = 60_000
#: Share of the distance to the truth that all steps left may go together where a run of geodesic
#: descent counts as settled: log10 d^2 then changes by less than 0.015.
SETTLED = 0.01
#: Noise of a step is rarely longer than this many times its root mean square.
LONG = 1.5
HALVED = 50  # steps of one size; where it is looked whether a run has settled
TINY = 1e-14  # printed residuals that are rounding
LEAST_LOG = np.log(1e-300)


@dataclass(frozen=True)
class Form:
    """A method as printed, or with correct noise."""

    method: str
    printed: bool
    theorem_8: bool = False  # printed minibatches of REAP with the noise of Theorem 8

    @property
    def geodesic(self):
        return self.method.endswith("GGD")

    @property
    def sampled(self):
        return self.method.startswith("S")

    @property
    def mirror(self):
        return "MD" in self.method

    @property
    def guard(self):
        if self.printed:
            return TINY
        if not self.geodesic:
            return GUARD
        return SAMPLED_GUARD if self.sampled else EXACT_GUARD


def run_many(form, tables, seeds, *, steps, epsilon, delta, batch, stop=None, settle=False):
    """Curves of a method, one for each table.

    Noise is for ``steps`` steps, of which the first ``stop`` are taken; ``settle`` ends runs of
    geodesic descent that the steps left cannot change.
    """
    n, d = tables[0].rows.shape
    company = len(tables) if form.sampled else max(BLOCK // (n * d), 1)
    curves = []
    for first in range(0, len(tables), company):
        some = slice(first, first + company)
        budget = {"epsilon": epsilon, "delta": delta}
        run = Run(form, tables[some], seeds[some], steps, batch, budget)
        curves += run.go(min(steps, stop or steps), settle)
    return curves


class Run:
    """Some tables that go through their steps side by side."""

    def __init__(self, form, tables, seeds, steps, batch, budget):
        self.form, self.batch = form, batch
        self.n, self.d = tables[0].rows.shape
        self.truth = [table.subspace for table in tables]
        self.rank = len(self.truth[0])
        self.rngs = [np.random.default_rng([seed, METHODS.index(form.method)]) for seed in seeds]
        self.clock = np.zeros(len(tables))
        since = time.process_time()
        self.rows = self._hold(np.stack([table.rows for table in tables]))
        begun = [self._begin(k, tables[k], seeds[k], steps, budget) for k in range(len(tables))]
        self.points, stds = (np.stack(part) for part in zip(*begun, strict=True))
        self.std = float(stds[0])
        self.state = self._logs_of(self.points) if form.mirror else self.points
        self.clock += (time.process_time() - since) / len(tables)
        self.outputs, self.seen, self.settled = self.points, [[] for _ in tables], {}
        self.alive = np.arange(len(tables))

    def _hold(self, rows):
        """Columns of single rows where all take part; else rows, and an empty one for gaps."""
        if not self.form.sampled:
            return np.ascontiguousarray(rows.swapaxes(1, 2))
        return np.concatenate([rows, np.zeros((len(rows), 1, self.d))], axis=1)

    def _begin(self, k, table, seed, steps, budget):
        """Where a table starts, and the noise of its mean gradients."""
        method = self.form.method
        if not self.form.printed:
            rate = self.batch / self.n if self.form.sampled else None
            return begin_honest(paper_solver(method, steps, rate), table, seed=seed, **budget)
        noise = theorem_8_std if self.form.theorem_8 else partial(noise_std, method)
        std = noise(self.n, steps, **budget, batch=self.batch)
        if self.form.geodesic:
            return wishart_start(table.rows, self.rank, budget["epsilon"], self.rngs[k]), std
        return reaper_start(self.d, self.rank, self.rngs[k]), std

    def go(self, taken, settle):
        """Take the steps; curves of all tables."""
        at, since = checkpoints(taken), time.process_time()
        every = HALVED if settle and self.form.geodesic else taken + 1
        for k in range(1, taken + 1):
            if k - 1 in at:
                since = self._look(k - 1, since)
            if k % every == 0:
                since = self._part_settled(k, taken, since)
                if not len(self.alive):
                    break
            self._step(k, taken)
        if len(self.alive):
            self._charge(since)
        return [self._curve(k, taken) for k in range(len(self.truth))]

    def _charge(self, since):
        self.clock[self.alive] += (time.process_time() - since) / len(self.alive)

    def _look(self, k, since):
        """Charge the time since the last look, then measure errors while the clock stands."""
        self._charge(since)
        shown = self.outputs if self.form.printed else self.points
        for place, table in enumerate(self.alive):
            error = error_of(shown[place], self.truth[table])
            self.seen[table].append((k, error, self.clock[table]))
        return time.process_time()

    def _part_settled(self, k, taken, since):
        """Leave out tables whose error the steps left cannot change any more."""
        self._charge(since)
        left = sum(paper_step(self.form.method, j) for j in range(k, taken + 1))
        reach = left * (1 + LONG * self.std * np.sqrt(self.d * self.rank))
        stays = []
        for place, table in enumerate(self.alive):
            error = error_of(self.points[place], self.truth[table])
            if reach > SETTLED * 10 ** (error / 2):
                stays.append(place)
            else:
                self.settled[int(table)] = (k - 1, error, self.clock[table])
        if len(stays) < len(self.alive):
            for name in ("alive", "rows", "points", "outputs", "state"):
                setattr(self, name, getattr(self, name)[stays])
        return time.process_time()

    def _curve(self, table, taken):
        """What was seen, and the error of the answer at the end."""
        if table in self.settled:
            end = self.settled[table]
        else:
            place = int(np.flatnonzero(self.alive == table)[0])
            final = error_of(self.outputs[place], self.truth[table])
            end = (taken, final, self.clock[table])
        steps, errors, seconds = np.array([*self.seen[table], end], dtype=float).T
        return Curve(steps, errors, seconds, float(errors[-1]))

    def _step(self, k, taken):
        size = paper_step(self.form.method, k)
        x, count = self._sample()
        if self.form.geodesic:
            gradient = geodesic_sum(x, self.points, self.form) / count + self._noise()
            self.points = polar(self.points - size * gradient)
            self.outputs = self.points
            return
        gradient = reap_sum(x, self.points, self.form) / count + self._noise()
        self.state, self.points = step_reap(self.state, size * gradient, self.rank, self.form)
        # Printed: the mean of all P; the library: that of the last half.
        first = 1 if self.form.printed else taken // 2 + 1
        if k < first:
            self.outputs = self.points
        else:
            self.outputs = self.outputs + (self.points - self.outputs) / (k - first + 1)

    def _sample(self):
        """The rows of a step as columns, and the number that their sum is divided by."""
        if not self.form.sampled:
            return self.rows, self.n
        rngs = [self.rngs[table] for table in self.alive]
        if self.form.printed:
            chosen = np.stack([rng.integers(self.n, size=self.batch) for rng in rngs])
        else:
            rate = self.batch / self.n
            drawn = [np.flatnonzero(rng.random(self.n) < rate) for rng in rngs]
            chosen = np.full((len(drawn), max(map(len, drawn)) or 1), self.n)
            for place, rows in enumerate(drawn):
                chosen[place, : len(rows)] = rows
        taken = self.rows[np.arange(len(chosen))[:, None], chosen]
        return taken.swapaxes(1, 2), self.batch

    def _noise(self):
        """Noise of a mean gradient: printed as printed, else isotropic in the gradients' space."""
        shape = self.points.shape[1:]
        drawn = np.stack([self.rngs[table].standard_normal(shape) for table in self.alive])
        if self.form.geodesic:
            if not self.form.printed:
                drawn -= self.points @ (self.points.swapaxes(1, 2) @ drawn)
        elif self.form.printed:
            upper = np.triu(drawn)
            drawn = upper + np.triu(upper, 1).swapaxes(1, 2)
        else:
            drawn = (drawn + drawn.swapaxes(1, 2)) / 2
        return self.std * drawn

    def _logs_of(self, points):
        values, vectors = np.linalg.eigh(points)
        return compose(vectors, np.log(np.maximum(values, 1e-300)))


def weights_of(residual, form):
    """One over the lengths of residuals, by the guard of each form."""
    lengths = np.sqrt(np.einsum("tij,tij->tj", residual, residual))
    if form.printed:
        return np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > form.guard)
    return 1 / np.maximum(lengths, form.guard)


def blocks(x):
    """Columns of single rows in pieces that stay in the cache."""
    stride = max(BLOCK // x.shape[1], 1)
    if len(x) > 1 or x.shape[2] <= stride:
        return [x]
    return [x[:, :, first : first + stride] for first in range(0, x.shape[2], stride)]


def geodesic_sum(x, bases, form):
    """Sum of the gradients of the distances of rows (columns of x) to subspaces."""
    total = 0.0
    for part in blocks(x):
        along = bases.swapaxes(1, 2) @ part
        residual = part - bases @ along
        along *= weights_of(residual, form)[:, None, :]
        total = total - residual @ along.swapaxes(1, 2)
    return total


def reap_sum(x, points, form):
    """Sum of the subgradients of |x - P x|."""
    half = 0.0
    for part in blocks(x):
        residual = part - points @ part
        residual *= weights_of(residual, form)[:, None, :]
        half = half + residual @ part.swapaxes(1, 2)
    return -(half + half.swapaxes(1, 2)) / 2


def polar(moved):
    """The nearest orthonormal bases, by the roots of the small Gram matrices."""
    values, vectors = np.linalg.eigh(moved.swapaxes(1, 2) @ moved)
    return moved @ ((vectors / np.sqrt(values)[:, None, :]) @ vectors.swapaxes(1, 2))


def step_reap(state, move, rank, form):
    """New states (P, or its logarithm) and new P after a step of -move."""
    values, vectors = np.linalg.eigh(state - move)
    if not form.mirror:
        points = compose(vectors, capped(values, rank))
        return points, points
    logs = (scaled_logs if form.printed else capped_logs)(values, rank)
    return compose(vectors, logs), compose(vectors, np.exp(logs))


def scaled_logs(logs, rank):
    """Shifted so that the exponentials have the sum r, as printed: some may exceed 1."""
    logs = logs - logs[:, -1:]
    shift = np.log(rank) - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return np.maximum(logs + shift, LEAST_LOG)


def capped_logs(logs, rank):
    """Ascending logarithms of numbers of at most 1 with the sum r, by a shift and a cap."""
    logs = logs - logs[:, -1:]
    made = None
    d = logs.shape[1]
    for full in range(rank):  # so many are kept at 1: the least number that keeps all to 1
        part = logs[:, : d - full]
        top = part[:, -1:]
        shift = np.log(rank - full) - top - np.log(np.exp(part - top).sum(axis=1, keepdims=True))
        shifted = np.concatenate([part + shift, np.zeros((len(logs), full))], axis=1)
        made = shifted if made is None else np.where(made.max(axis=1, keepdims=True) > 1e-15,
                                                     shifted, made)  # fmt: skip
    return np.minimum(made, 0.0)


def compose(vectors, values):
    return (vectors * values[:, None, :]) @ vectors.swapaxes(1, 2)
