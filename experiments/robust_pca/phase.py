"""What the phase diagrams share: columns of methods run over cells of settings."""

from dataclasses import dataclass

import numpy as np
from common import EPSILON, RANK, paper_batch, paper_delta, short, track
from costs import true_epsilon
from honest import our_solver, paper_solver, run_honest
from printed import run_printed

from veilspan.datasets import make_haystack


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

    def table(self, seed):
        return make_haystack(
            self.n, self.d, self.rank, inlier_share=self.share, noise=0.0, random_state=seed
        )

    def true_epsilon(self, method):
        budget = self.budget
        return true_epsilon(
            method, self.n, self.steps, budget["epsilon"], budget["delta"], self.size
        )


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

    def run(self, cell, data, seed):
        solver = "auto" if self.method == "auto" else our_solver(self.method)
        return run_honest(solver, data, seed=seed, **cell.budget)[0]


AUTO = Ours("auto")


def sweep(cells, methods, seeds, label):
    """Curves by (method, cell), one per seed; all methods see the same tables."""
    runs = {}
    for cell in track(cells, label):
        for seed in range(seeds):
            data = cell.table(seed)
            for method in methods:
                runs.setdefault((method, cell), []).append(method.run(cell, data, seed))
    return runs


def middle(runs, method, cell):
    """Median of the final log error."""
    return float(np.median([run.final for run in runs[method, cell]]))


def table_of(cells, number):
    """A number for every cell of a nested list."""
    return np.array([[number(cell) for cell in row] for row in cells])


def notes_of(cells, method):
    """The true epsilon under every square of a printed method."""
    if not isinstance(method, Printed):
        return None
    return [[f"ε {short(cell.true_epsilon(method.method))}" for cell in row] for row in cells]


def panels_of(cells, methods, number):
    return [
        (table_of(cells, lambda cell, m=m: number(m, cell)), m.title, m.bad, notes_of(cells, m))
        for m in methods
    ]


def csv_rows(runs):
    for (method, cell), curves in runs.items():
        printed = isinstance(method, Printed)
        for seed, run in enumerate(curves):
            yield {
                "method": method.title, "n": cell.n, "d": cell.d, "r": cell.rank,
                "inlier_share": cell.share, "epsilon": cell.epsilon,
                "delta": f"{cell.budget['delta']:.4g}", "batch": cell.size, "seed": seed,
                "true_epsilon_of_steps": (
                    f"{cell.true_epsilon(method.method):.4g}" if printed else cell.epsilon
                ),
                "log10_d2": round(run.final, 4), "steps_taken": int(run.steps[-1]),
                "cpu_seconds": round(run.cpu, 4), "seconds_to_1e-2": round(run.time_to(), 4),
            }  # fmt: skip
