"""What a cell of the replay matrix is, and the neighbours that cells are replayed on."""

from collections.abc import Callable
from dataclasses import dataclass

from scipy import sparse

from veilspan import Budget
from veilspan.audit import neighbors as pairs

BOTH = ("replace-one", "add-remove")
WIDTH, ITEMS = 4, 6
SLOW = {"auto", "newton", "calibrated", "objective"}


@dataclass(frozen=True)
class Cell:
    """One estimator with one solver.

    ``fit(arguments, relation)`` returns what a fit gives out; ``pairs(relation)`` the neighbours;
    ``plan(relation)`` what is asked of 40 rows, or None where there is no dry run; ``budget`` what
    was asked for, where the output does not say so itself.
    """

    owner: str
    solver: str
    fit: Callable
    pairs: Callable
    plan: Callable
    relations: tuple = BOTH
    setting: str = ""
    budget: Budget | None = None

    @property
    def pairs_dealt(self):
        """How many pairs it replays: fewer where a fit is slow; five touch every size."""
        return 5 if self.solver in SLOW else 7

    @property
    def name(self):
        """Owner, solver and setting, as the test's id."""
        return ", ".join(part for part in (self.owner, self.solver, self.setting) if part)


def estimator_cell(kind, solver, parameters, cell_pairs, width=WIDTH, **extra):
    """A cell of a class with ``fit`` and ``plan``."""

    def make(relation):
        return kind(**parameters, neighbors=relation, random_state=0)

    def fit(arguments, relation):
        return make(relation).fit(*arguments)

    def plan(relation):
        return make(relation).plan(40, width)

    return Cell(kind.__name__, solver, fit, cell_pairs, plan, **extra)


SAMPLED = {"sggd", "reaper-sgd", "reaper-smd", "sgd", "svrg", "svrg++", "rsgd", "rsvrg"}


def budget_for(solver):
    return {"epsilon": 0.1 if solver in SAMPLED else 1.0}


def tables(relation):
    return pairs.table_pairs(WIDTH, relation)


def wide_tables(relation):
    return pairs.table_pairs(16, relation, sizes=(5, 40))


def longer_tables(relation):
    return pairs.table_pairs(WIDTH, relation, sizes=(4, 5, 40, 300))


def gappy_tables(relation):
    return pairs.table_pairs(WIDTH, relation, gaps=True)


def sparse_copies(of):
    """The same pairs as CSR matrices: another path through rows and queries."""

    def made(relation):
        for pair in of(relation):
            sides = ((sparse.csr_array(x), *rest) for x, *rest in (pair.one, pair.two))
            yield pairs.Pair(f"{pair.name}, sparse", *sides)

    return made


def ratings(relation):
    return pairs.rating_pairs(ITEMS, relation)


def labels(relation):
    return pairs.labelled_pairs(WIDTH, relation)


def three_labels(relation):
    return pairs.labelled_pairs(WIDTH, relation, targets=(0, 1, 2), sizes=(5, 40, 300))


def numbers(relation):
    return pairs.labelled_pairs(
        WIDTH, relation, targets=(-1.0, 0.5, 1.0), extreme_targets=(-1e9, 1.0, 1e9)
    )
