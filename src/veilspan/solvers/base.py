r"""One protocol for all solvers: prepare from public facts, then run on a curator.

A *problem* is what is to be learned and what is public about it; each family has its own class. A
*solver* is a frozen dataclass of settings. Its ``prepare(problem, budget, neighbors)`` decides all
that can be decided before a row is read and returns a :class:`Prepared`: who will run, which
events that takes, and what is worth telling about the choice. Its ``run(curator, problem)`` asks
for these events and returns a result, which is post-processing of answers.

A fit prepares once. Its plan is made of what was prepared, the ledger is charged by the plan, and
the same object then runs: what was planned is what runs. A solver that chooses among others
(``solver="auto"``) is one like any other; its ``Prepared`` holds the solver that it chose.

**Stages.** Rows may have to be prepared for a solver by what earlier answers say: ranges first,
then rows scaled by them. Such a fit has stages before its solver. A stage asks its own events and
returns a map of single rows (:meth:`veilspan.curator.curator.Curator.mapped`), or a :class:`View`
where rows may be seen otherwise (in pairs, say); all stages and the solver share one plan and one
meter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from veilspan.curator.curator import Curator
from veilspan.privacy.budget import Budget
from veilspan.privacy.calibration import calibrate_noise
from veilspan.privacy.events import Event, GaussianEvent
from veilspan.privacy.neighbors import Neighbors
from veilspan.queries.moments import RowCount

COUNT = "count"
#: Share of the budget (of mu^2) for a noisy number of rows. It enters results divided by n, so
#: even 2 % of the budget leaves it far more exact than what it divides.
COUNT_SHARE = 0.02

P = TypeVar("P")
Q = TypeVar("Q", bound="Problem")
R = TypeVar("R")


class Problem(Protocol):
    """What is to be learned, and what is public about it."""

    @property
    def n_rows(self) -> int | None:
        """Rows that the curator holds; ``None`` where their number is private."""


class Solver(Protocol[P, R]):
    """From a curator to a result; a frozen dataclass of settings."""

    @property
    def name(self) -> str:
        """What plans and errors call it."""

    def prepare(self, problem: P, budget: Budget, neighbors: Neighbors) -> Prepared[P, R]:
        """Decide from public facts; refuse, in one sentence, a problem that does not fit."""

    def run(self, curator: Curator, problem: P) -> R:
        """Ask the curator for what was prepared."""


class Stage(Protocol):
    """What is asked before the solver, to learn how rows are to be mapped for it."""

    @property
    def events(self) -> tuple[Event, ...]:
        """What it asks; nothing where the map is public from the start."""

    @property
    def n_columns(self) -> int:
        """Columns of the mapped rows."""

    def find_map(self, curator: Curator) -> Callable[[Any], Any] | View:
        """Ask, and return the map: of answers and public numbers, one row at a time."""


class After(Protocol):
    """What is asked once the solver is done, of the same rows, at what it found."""

    @property
    def events(self) -> tuple[Event, ...]:
        """What it asks, with its noise."""

    def ask(self, curator: Curator, problem: Any, result: Any) -> Any:
        """Ask, and return the result with what was told."""


class View(ABC):
    """What a stage has found that is more than a map: how the next questions see rows."""

    @abstractmethod
    def open(self, curator: Curator, budget: Budget, events: tuple[Event, ...]) -> Curator:
        """The same door for what comes next, which decides by this budget and has these events."""


class Outcome(NamedTuple):
    """What a fit has learned: the solver's result, and the maps its rows were taken through."""

    result: Any
    maps: tuple[Any, ...]


@dataclass(frozen=True)
class Prepared(Generic[P, R]):
    """A solver that is ready to run, and what that takes.

    Attributes
    ----------
    solver : solver
        Who runs. Where the one that was asked for chooses among others, the one it chose.
    problem : problem
        What is solved.
    budget : Budget
        What the solver decides by: the whole, or what earlier stages leave of it.
    events : tuple of events
        What the solver asks, with its noise. An adaptive one lists what is certain beforehand.
    decisions : mapping
        Public choices worth showing in the plan.
    adaptive : bool
        Whether the solver spends the rest of the budget as it goes, by earlier answers.
    stages, afters : tuple of stages, tuple of afters
        What comes before the solver, and what after it.
    stated : Budget or None
        What the plan states in place of the budget that was given, where somebody gave the noise of
        the steps instead: what that comes to.
    paired : bool
        Whether the curator gets differences of randomly paired rows in place of rows.
    asked : str or None
        Name of the solver that was asked for, where that one chose another.
    warning : str or None
        What to tell whoever asks for more than the budget can give.
    """

    solver: Solver[P, R]
    problem: P
    budget: Budget
    events: tuple[Event, ...]
    decisions: Mapping[str, Any] = field(default_factory=dict)
    adaptive: bool = False
    stages: tuple[Stage, ...] = ()
    stated: Budget | None = None
    paired: bool = False
    asked: str | None = None
    warning: str | None = None
    afters: tuple[After, ...] = ()

    @property
    def all_events(self) -> tuple[Event, ...]:
        """Everything that is asked: by stages, by the solver, after it."""
        events = self.events
        for after in self.afters:
            events = (*events, *after.events)
        for stage in reversed(self.stages):
            events = (*stage.events, *events)
        return events

    def run(self, curator: Curator) -> Outcome:
        """Pass the stages, run the solver on what they leave, ask what comes after it."""
        maps: list[Any] = []
        for stage in self.stages:
            found = stage.find_map(curator)
            maps.append(found)
            if isinstance(found, View):
                curator = found.open(curator, self.budget, self.events)
            else:
                curator = curator.mapped(found, stage.n_columns, self.budget, self.events)
        result: Any = self.solver.run(curator, self.problem)
        for after in self.afters:
            result = after.ask(curator, self.problem, result)
        return Outcome(result, tuple(maps))


@dataclass(frozen=True)
class Result:
    """Why a solver ended, and what it did on the way.

    Attributes
    ----------
    stopped : str
        Why it stopped, in words that say nothing about rows.
    trace : sequence of dict
        Public record of the steps: all of it is post-processing of answers.
    """

    stopped: str = field(default="done", kw_only=True)
    trace: Any = field(default=(), kw_only=True, repr=False)


# The number of rows: public, or a noisy count that is asked for once.


def calibrate_events(
    budget: Budget,
    neighbors: Neighbors,
    n_rows: int | None,
    events: tuple[Event, ...],
    shares: tuple[float, ...],
    whole: float | None = None,
) -> tuple[Event, ...]:
    """Set the noise of a solver's events; a count precedes them where n is private.

    Parameters
    ----------
    budget : Budget
        What the events together may spend.
    neighbors : {"replace-one", "add-remove"}
        The neighbour relation.
    n_rows : int or None
        Public number of rows, or ``None``.
    events : tuple of events
        Without noise.
    shares : tuple of float
        What each may spend, relative to each other.
    whole : float, optional
        What the count's share is a part of, in units of the shares; by default their sum.
    """
    if n_rows is None:
        rest = (1 - COUNT_SHARE) / (sum(shares) if whole is None else whole)
        events = (GaussianEvent(COUNT), *events)
        shares = (COUNT_SHARE, *(share * rest for share in shares))
    return calibrate_noise(budget, events, neighbors=neighbors, weights=shares)


def count_rows(curator: Curator) -> float:
    """The number of rows: the public one, or a noisy count, never below 1."""
    if curator.plan.n_rows is not None:
        return float(curator.n_rows)
    return max(1.0, float(curator.answer(RowCount(), event=COUNT).value[0]))


def prepare_events(
    solver: Solver[Q, R],
    problem: Q,
    budget: Budget,
    neighbors: Neighbors,
    events: tuple[Event, ...],
    shares: tuple[float, ...],
) -> Prepared[Q, R]:
    """A solver ready to run: the noise of its events is set, the problem's count included."""
    noisy = calibrate_events(budget, neighbors, problem.n_rows, events, shares)
    return Prepared(solver, problem, budget, noisy)


# Solvers by name.


class NamedSolver(NamedTuple):
    """Where the class of a named solver is, and its settings."""

    home: str
    settings: Mapping[str, Any] = {}

    def make(self) -> Any:
        """Import the class and make the solver."""
        module, _, kind = self.home.rpartition(".")
        return getattr(import_module(f"veilspan.solvers.{module}"), kind)(**self.settings)


def find_solver(
    solver: Any, *, named: Mapping[str, NamedSolver], example: str, needs: tuple[str, ...] = ()
) -> Any:
    """The solver of a name, or the one that was given.

    Parameters
    ----------
    solver : str or solver
        What the user said.
    named : mapping
        Names that the family knows.
    example : str
        A solver of the family, as a user would write it.
    needs : tuple of str
        What solvers of the family have beside the protocol.
    """
    if isinstance(solver, str):
        if solver not in named:
            raise ValueError(f"solver must be one of {', '.join(named)}; got {solver!r}.")
        return named[solver].make()
    return check_solver(solver, example, *needs, instead="a name or ")


def check_solver(solver: Any, example: str, *needs: str, instead: str = "") -> Any:
    """Refuse what is not a solver; ``instead`` is what else a user may give."""
    wanted = ("name", "prepare", "run", *needs)
    missing = [name for name in wanted if not hasattr(solver, name)]
    if isinstance(solver, type) or missing:
        kind = solver.__name__ if isinstance(solver, type) else type(solver).__name__
        what = "is a class" if isinstance(solver, type) else f"lacks {', '.join(missing)}"
        raise TypeError(f"solver {kind} {what}; it must be {instead}a solver such as {example}.")
    return solver
