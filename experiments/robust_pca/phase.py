"""What the phase diagrams share: methods run over cells of settings, several times each."""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np

from veilspan.datasets import make_haystack

from ..values import number
from .common import EPSILON, RANK, TOLERANCE, paper_batch, paper_delta
from .costs import start_cost, steps_costs, true_epsilon
from .honest import our_solver, paper_solver, run_honest
from .printed import run_printed


@dataclass(frozen=True)
class Cell:
    """One setting of data, steps and budget."""

    n: int = 2000
    d: int = 20
    rank: int = RANK
    share: float = 0.5
    steps: int = 2000
    epsilon: float = EPSILON
    delta: float | None = None
    batch: int | None = None

    @property
    def budget(self):
        delta = paper_delta(self.n) if self.delta is None else self.delta
        return {"epsilon": self.epsilon, "delta": delta}

    @property
    def size(self):
        return self.batch or paper_batch(self.n, self.steps, self.epsilon)

    @property
    def setting(self):
        """What the cost of a printed method depends on, as ``costs.py`` takes it."""
        return self.n, self.steps, self.epsilon, self.budget["delta"], self.size

    def true_epsilon(self, method):
        return true_epsilon(method, *self.setting)


@lru_cache(maxsize=1)  # one after another, all methods see the same table
def table(n, d, rank, share, seed):
    return make_haystack(n, d, rank, inlier_share=share, noise=0.0, random_state=seed)


@dataclass(frozen=True)
class Printed:
    """A method as printed, stopped early where the rest is slow or changes nothing."""

    method: str
    stop: int | None = None

    @property
    def title(self):
        return f"dp-{self.method} as printed" + ": not private" * self.bad

    @property
    def bad(self):
        """Not private at the stated epsilon: minibatch noise, or the Wishart start."""
        return self.method.startswith("S") or "REAP" not in self.method

    def seen(self, cell):
        """The setting as far as it matters to the method."""
        return cell

    def run(self, cell, data, seed):
        setting = {"steps": cell.steps, "batch": cell.size, "stop": self.stop}
        return run_printed(self.method, data, seed=seed, **setting, **cell.budget)[0]


@dataclass(frozen=True)
class PaperHonest:
    """Correct noise and start, with the paper's number of steps and step sizes."""

    method: str
    stop: int | None = None
    bad = False

    @property
    def title(self):
        return f"dp-{self.method} honest, paper's steps"

    def seen(self, cell):
        return cell

    def run(self, cell, data, seed):
        solver = paper_solver(self.method, cell.steps, cell.size / cell.n)
        return run_honest(solver, data, seed=seed, stop=self.stop, **cell.budget)[0]


@dataclass(frozen=True)
class Ours:
    """The library's own settings of a method."""

    method: str
    bad = False

    @property
    def title(self):
        return "auto (honest)" if self.method == "auto" else f"dp-{self.method} honest, 40 steps"

    def seen(self, cell):
        """Neither the paper's steps nor its batches: squares that differ in them share a run."""
        return replace(cell, steps=0, batch=None)

    def run(self, cell, data, seed):
        solver = "auto" if self.method == "auto" else our_solver(self.method)
        return run_honest(solver, data, seed=seed, **cell.budget)[0]


AUTO = Ours("auto")


@dataclass(frozen=True)
class Outcome:
    """What is kept of one run; ``reached`` is nan where the tolerance was never seen."""

    final: float
    steps: float
    cpu: float
    reached: float

    @classmethod
    def of(cls, curve):
        return cls(curve.final, float(curve.steps[-1]), curve.cpu, curve.time_to())


#: Outcomes by folder, scale and run. Figs. 2 and 7-9 show the same runs; a command that draws
#: several of them computes each run once.
_KNOWN = {}


def outcome(job, method, cell, seed):
    """One run, or what is known of it."""
    key = [repr(method), repr(method.seen(cell)), seed]
    known = (str(job.out), job.scale, *key)
    if known not in _KNOWN:

        def compute():
            data = table(cell.n, cell.d, cell.rank, cell.share, seed)
            return asdict(Outcome.of(method.run(cell, data, seed)))

        kept = job.cell(key, compute)
        _KNOWN[known] = Outcome(**{name: number(value) for name, value in kept.items()})
    return _KNOWN[known]


def sweep(job, cells, methods, seeds, label):
    """Outcomes by (method, cell), one per seed; all methods see the same tables."""
    runs = {}
    for cell in job.track(flat(cells), label):
        for seed in range(seeds):
            for method in methods:
                runs.setdefault((method, cell), []).append(outcome(job, method, cell, seed))
    return runs


def flat(cells):
    return [cell for row in cells for cell in row]


def middle(runs, method, cell):
    """Median of the final log error."""
    return float(np.median([run.final for run in runs[method, cell]]))


def squares_reached(runs, methods, cells):
    """By title: number of squares whose median error is below the tolerance."""
    return {
        m.title: sum(middle(runs, m, c) <= TOLERANCE for c in flat(cells)) for m in methods
    }  # fmt: skip


def cell_costs(methods, cells):
    """Costs of the printed methods in some cells by name, and of their start."""
    printed = [m.method for m in methods if isinstance(m, Printed)]
    costs = [
        cost
        for method in printed
        for where, cell in cells.items()
        for cost in steps_costs(method, *cell.setting, where=where)
    ]
    if any(m.endswith("GGD") for m in printed):
        cell = next(iter(cells.values()))
        costs.append(start_cost(**cell.budget))
    return costs


def csv_rows(runs):
    for (method, cell), outcomes in runs.items():
        printed = isinstance(method, Printed)
        for seed, run in enumerate(outcomes):
            yield {
                "method": method.title, "n": cell.n, "d": cell.d, "r": cell.rank,
                "inlier_share": cell.share, "epsilon": cell.epsilon,
                "delta": f"{cell.budget['delta']:.4g}", "batch": cell.size, "seed": seed,
                "true_epsilon_of_steps": (
                    f"{cell.true_epsilon(method.method):.4g}" if printed else cell.epsilon
                ),
                "log10_d2": round(run.final, 4), "steps_taken": int(run.steps),
                "cpu_seconds": round(run.cpu, 4), "seconds_to_1e-2": round(run.reached, 4),
            }  # fmt: skip
