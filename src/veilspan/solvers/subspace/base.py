"""What all subspace solvers share: the task, the result, the private start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from veilspan._threads import threads_for
from veilspan.curator.curator import Curator
from veilspan.curator.query import RowQuery
from veilspan.privacy.events import Event
from veilspan.queries.subspace.sphered import SphericalMoment
from veilspan.solvers.spectral import leading_eigenvectors, noise_edge

START = "start"


@dataclass(frozen=True)
class SubspaceTask:
    """Public facts of a fit.

    Attributes
    ----------
    n_rows : float
        Public or privately counted number of rows (of pairs, where rows were paired).
    n_features : int
        Number of columns D.
    n_components : int or None
        Dimension r of the subspace; ``None`` to choose it from the start's spectrum.
    center : array or None
        Public or released centre.
    """

    n_rows: float
    n_features: int
    n_components: int | None
    center: np.ndarray | None = None


@dataclass(frozen=True)
class SubspaceResult:
    """A released subspace.

    Attributes
    ----------
    basis : array of shape (D, r)
        Orthonormal columns.
    spectrum : array of shape (D,)
        Noisy eigenvalues of the start's second moment, descending.
    noise_edge : float
        Eigenvalue that pure noise reaches in that spectrum.
    stopped : str
        Why the solver stopped (never a fact about rows).
    trace : tuple of dict
        Public record of the steps.
    """

    basis: np.ndarray
    spectrum: np.ndarray
    noise_edge: float
    stopped: str
    trace: tuple[dict[str, Any], ...] = field(default=(), repr=False)


class SubspaceSolver(Protocol):
    """From a curator to a subspace.

    A solver is a frozen dataclass of settings. ``schedule`` returns its events with their shares of
    the budget; an adaptive solver spends what is left of the budget as it goes and returns a
    forecast of its first release.
    """

    adaptive: ClassVar[bool]

    def schedule(self, neighbors: str) -> tuple[tuple[Event, ...], tuple[float, ...]]:
        """Events and their shares of the budget (relative to each other)."""

    def step_query(self, neighbors: str = "replace-one") -> RowQuery:
        """What every step of a fixed schedule asks (not needed if ``adaptive``)."""

    def run(self, curator: Curator, task: SubspaceTask) -> SubspaceResult:
        """Ask, descend, return."""


@dataclass(frozen=True)
class Start:
    """A private spherical PCA: the noisy mean of x x^T over unit rows.

    It is decomposed where somebody asks, and no further: all D eigenvectors take three times as
    long as all eigenvalues or as a few of the vectors, and longer than the sum over 10,000 rows
    from about 1,000 columns on.
    """

    moment: np.ndarray
    noise_std: float

    @cached_property
    def values(self) -> np.ndarray:
        """All eigenvalues, descending."""
        with threads_for(len(self.moment)):
            return np.linalg.eigvalsh(self.moment)[::-1].copy()

    @property
    def edge(self) -> float:
        """Eigenvalue that pure noise reaches."""
        return noise_edge(self.noise_std, len(self.moment))

    def basis(self, n_components: int) -> np.ndarray:
        """Leading eigenvectors as columns."""
        return leading_eigenvectors(self.moment, n_components)[1].T


def spherical_start(
    curator: Curator, task: SubspaceTask, *, noise_multiplier: float | None = None
) -> Start:
    """Release the mean of x x^T over unit rows, charged to the event ``"start"``."""
    answer = curator.answer(
        SphericalMoment(task.center), event=START, noise_multiplier=noise_multiplier
    )
    return decomposed(answer.value / task.n_rows, answer.noise_std / task.n_rows)


def decomposed(moment: np.ndarray, noise_std: float) -> Start:
    """A start from a released moment."""
    return Start(moment, noise_std)


def finished(
    start: Start, basis: np.ndarray, stopped: str, trace: Iterable[dict[str, Any]] = ()
) -> SubspaceResult:
    """A result whose basis is turned inside its span to follow the start's released moment.

    The subspace is what was learned; its basis is free, so it is fixed by released numbers: the
    directions of largest share first, the entry of largest magnitude positive.
    """
    _, turn = leading_eigenvectors(basis.T @ start.moment @ basis, basis.shape[1])
    turned = basis @ turn.T
    largest = np.argmax(np.abs(turned), axis=0)
    turned = turned * np.sign(turned[largest, np.arange(turned.shape[1])])
    return SubspaceResult(turned, start.values, start.edge, stopped, tuple(trace))


def choose_rank(start: Start) -> int:
    """Number of components by the largest gap among eigenvalues above the noise.

    A gap counts relative to what is left: (l_k - l_{k+1}) / (l_k - bulk), where the bulk is the
    median eigenvalue (outliers everywhere lift all of them). Only released numbers are used.
    """
    values = start.values
    bulk = float(np.median(values))
    above = np.flatnonzero(values - bulk > 1.1 * start.edge + 1e-12)
    if len(above) == 0:
        return 1
    last = min(int(above[-1]), len(values) - 2)
    if last < 0:
        return 1
    gaps = values[: last + 1] - values[1 : last + 2]
    return int(np.argmax(gaps / np.maximum(values[: last + 1] - bulk, 1e-12) * (gaps > 0))) + 1
