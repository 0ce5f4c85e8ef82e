"""What the phase diagrams share: methods run over cells of settings, several times each."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from veilspan.datasets import make_haystack

from ..values import number
from .common import EPSILON, RANK, TOLERANCE, paper_batch, paper_delta
from .costs import start_cost, steps_costs, true_epsilon
from .engine import Form, run_many
from .honest import our_solver, run_honest

WIDE = 20  # columns from which on every step of REAP is slow
#: What all notes on runs of the engine say.
ENGINE_NOTE = (
    "methods with the paper's steps run on many tables at once, with correct noise from the "
    "library's start and with its noise; dp-(S)GGD ends where its steps left cannot change "
    "log10 d² by 0.015"
)


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

    def printed_epsilons(self, method):
        """True epsilons of the steps by every printed reading, the best first."""
        return [cost.true for cost in steps_costs(method, *self.setting)]


@lru_cache(maxsize=1)  # one after another, all methods see the same tables
def tables(n, d, rank, share, count):
    return [
        make_haystack(n, d, rank, inlier_share=share, noise=0.0, random_state=seed)
        for seed in range(count)
    ]


def run_paper(method, cell, data):
    """Curves of a method with the paper's steps, as printed or with correct noise."""
    form = Form(method.method, isinstance(method, Printed))
    return run_many(form, data, range(len(data)), steps=cell.steps, batch=cell.size,
                    stop=method.stop_at(cell), settle=True, **cell.budget)  # fmt: skip


@dataclass(frozen=True)
class Printed:
    """A method as printed; ``stop`` ends it early, ``wide`` on tables of many columns."""

    method: str
    stop: int | None = None
    wide: int | None = None

    @property
    def title(self):
        noise = {"SGD-REAP": ", noise of Algorithm 1", "SMD-REAP": ", noise of Algorithm 2"}
        return f"dp-{self.method}{noise.get(self.method, ' as printed')}" + (
            ": not private" * self.bad
        )

    def stop_at(self, cell):
        """Steps after which it is stopped, of a setting."""
        return self.wide if self.wide and cell.d > WIDE else self.stop

    @property
    def bad(self):
        """Not private at the stated epsilon: minibatch noise, or the Wishart start."""
        return self.method.startswith("S") or "REAP" not in self.method

    def seen(self, cell):
        """The setting as far as it matters to the method."""
        return cell

    def run(self, cell, data):
        return run_paper(self, cell, data)


@dataclass(frozen=True)
class PaperHonest:
    """Correct noise and start, with the paper's number of steps and step sizes."""

    method: str
    stop: int | None = None
    bad = False

    @property
    def title(self):
        return f"dp-{self.method} honest, paper's steps"

    def stop_at(self, cell):
        """Steps after which it is stopped, of a setting."""
        return self.stop

    def seen(self, cell):
        return cell

    def run(self, cell, data):
        return run_paper(self, cell, data)


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

    def run(self, cell, data):
        solver = "auto" if self.method == "auto" else our_solver(self.method)
        return [
            run_honest(solver, one, seed=seed, **cell.budget)[0] for seed, one in enumerate(data)
        ]


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


#: Names of what is kept of the runs of a square; those of times are not compared by a recheck.
KEPT = {"final": "final", "steps": "steps", "cpu": "cpu_seconds", "reached": "reached_seconds"}
#: Outcomes by folder, scale and runs. Figs. 2 and 7-9 show the same runs; a command that draws
#: several of them computes each run once.
_KNOWN = {}


def outcomes(job, method, cell, count):
    """Outcomes of ``count`` repetitions, or what is known of them."""
    key = [repr(method), repr(method.seen(cell)), count]
    known = (str(job.out), job.scale, *key)

    def compute():
        # A recheck computes; else a figure of the same runs takes over what another one found.
        if known in _KNOWN and not job.recheck:
            return _KNOWN[known]
        curves = method.run(cell, tables(cell.n, cell.d, cell.rank, cell.share, count))
        made = [Outcome.of(curve) for curve in curves]
        return {kept: [to_kept(getattr(one, name)) for one in made] for name, kept in KEPT.items()}

    kept = _KNOWN[known] = job.cell(key, compute)
    columns = [[number(value) for value in kept[name]] for name in KEPT.values()]
    return [Outcome(*values) for values in zip(*columns, strict=True)]


def to_kept(value):
    """Six digits: more would be kept for nobody."""
    return float(f"{value:.6g}")


def sweep(job, cells, methods, count, label):
    """Outcomes by (method, cell), one per seed; all methods see the same tables.

    ``count(method, cell)`` is the number of repetitions.
    """
    runs = {}
    for cell in job.track(flat(cells), label):
        # By their number, so that tables are made once.
        for method in sorted(methods, key=lambda m: -count(m, cell)):
            runs[method, cell] = outcomes(job, method, cell, count(method, cell))
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
