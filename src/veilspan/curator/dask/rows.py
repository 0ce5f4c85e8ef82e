r"""Sums over rows that lie on a Dask cluster. Noise, charge and step stay in this process.

One answer is: for each group of parts one task, a pure function of (parts, point) that
returns a clipped partial sum; partial sums are added up in a tree; the total comes here, where the
curator adds noise once. A task may run any number of times (a worker dies, a scheduler doubts): it
returns the same number each time, because it draws nothing. Poisson samples are the one thing
random in a task, and they are a function of a key derived from the secret, the step and the part.

Rounding. A number passes through the additions of its block (b), its group (m), its part and then
at most as many as there are parts; other machines may round differently, so all rows count as
moved, not one. Both enter the noise: the former as ``extra_terms``, the latter as
``rounds_alike = False``.

The cluster is trusted with the rows: it sees them, their exact partial sums, who was sampled, and
the unreleased iterates of a tilted objective, from which the noise of its tilt follows.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veilspan._threads import threads_for
from veilspan.curator.clipping import PartSampling, Sampling, find_block_rows
from veilspan.curator.dask.table import MOST_PARTS, DaskTable, DaskTargets, persist
from veilspan.curator.dask.tasks import (
    Call,
    ClusterError,
    add_futures,
    add_tasks,
    current_client,
    dask_module,
    start,
    task,
    wait_for,
)
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import KEPT_BYTES, Block, MappedRows, Rows
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace

CHANGED = (
    "a part changed while it was read again: it has another number of rows now. Make the table "
    "from files or data that stay as they are while it is used."
)


class DaskRows:
    """A checked table on a cluster, and how its rows are seen: as they are, mapped, in pairs.

    Clipped sums of parts are computed by tasks where the parts lie.
    """

    #: Other machines may round differently.
    rounds_alike = False

    def __init__(
        self,
        table: DaskTable,
        targets: DaskTargets | None = None,
        present: DaskTargets | None = None,
    ) -> None:
        if table.shape[0] < 2:
            raise ValueError("X must have at least 2 rows.")
        inputs = [list(pair) for pair in zip(table.parts, *_or_none(targets, present))]
        self._is_kept = table.fits()
        self._groups = _groups_of_kept(inputs) if self._is_kept else _one_by_one(inputs)
        self._sizes = table.sizes
        self.n_parts = len(table.parts)
        # Under add-remove, where a row more may be a part more, the most parts that there may be.
        self.extra_terms: Mapping[Neighbors, int] = {
            "replace-one": self.n_parts,
            "add-remove": MOST_PARTS,
        }
        self.n_rows, self.n_features = table.shape
        self._table_is_sparse = table.is_sparse
        self._look = Look()

    @property
    def is_sparse(self) -> bool:
        """Whether blocks are CSR, as on the workers: maps keep the form, differences are dense."""
        return self._table_is_sparse and self._look.pairs is None

    def mapped(self, row_map: Callable[[Block], Block], n_features: int) -> DaskRows:
        """Return the rows after a public map of each, which is applied where the rows are.

        The rows may be mapped ones: a map of each row after a map of each row is one.
        """
        if self._look.pairs is not None:
            self._refuse_second_look()
        most = getattr(row_map, "kept_on_workers", KEPT_BYTES)
        keep = self._is_kept and 8 * self.n_rows * n_features <= most
        if self._look.row_map is not None:
            row_map = MapAfterMap(self._look.row_map, row_map)
        look = Look(row_map, n_features, None, keep)
        return self._look_through(look, self.n_rows, n_features)

    def paired(self, coins: np.random.Generator) -> DaskRows:
        """Differences of randomly paired rows, each row in at most one pair of its part.

        The pairing is drawn without looking at the rows, so exchanging one row for another in its
        place exchanges one difference. An odd part leaves a row out; its pair counts as one of
        zeros.
        """
        self._refuse_second_look()
        if self.n_rows < 4:
            raise ValueError("pairs need at least 4 rows.")
        if 2 * sum(size // 2 for size in self._sizes) < self.n_rows // 2:
            raise ValueError("parts of X are too small to pair the rows of each: rechunk X.")
        pairs = tuple(int(seed) for seed in coins.integers(2**63, size=self.n_parts))
        return self._look_through(
            Look(None, self.n_features, pairs), self.n_rows // 2, self.n_features
        )

    def _refuse_second_look(self) -> None:
        if self._look.row_map is not None or self._look.pairs is not None:
            raise TypeError("rows that were mapped or paired are not mapped or paired again.")

    def _look_through(self, look: Look, n_rows: int, n_features: int) -> DaskRows:
        rows = DaskRows.__new__(DaskRows)
        rows.__dict__.update(vars(self))
        rows._look, rows.n_rows, rows.n_features = look, n_rows, n_features
        return rows

    def clipped_sum(
        self,
        query: RowQuery,
        point: Any,
        space: AnswerSpace,
        sampling: Sampling | None = None,
        rows_per_block: int | None = None,
    ) -> np.ndarray:
        """Sum of all clipped contributions, in the coordinates of ``space``."""
        of_part = None if sampling is None else sampling.of_part
        stride = rows_per_block or find_block_rows(query, self, point)
        return np.asarray(
            self.add_parts(clipped_parts, query, point, space, stride, of_part=of_part)
        )

    def total(
        self, part: Callable[[Block], np.ndarray], rows_per_block: int, group: int
    ) -> np.ndarray:
        """Sum of ``part`` over blocks."""
        return np.asarray(self.add_parts(total_parts, part, rows_per_block, group))

    def add_parts(self, function: Callable[..., Any], *arguments: Any, of_part: Any = None) -> Any:
        """The sum over groups of ``function(parts, looks, extras, *arguments)``, one task each.

        ``of_part(i)``, if given, is a further argument for part i.
        """
        calls = []
        for numbers, _ in self._groups:
            looks = [self._look.of_part(i, self._sizes[i]) for i in numbers]
            extras = [None if of_part is None else of_part(i) for i in numbers]
            calls.append((function, looks, extras, *arguments))
        parts = [members for _, members in self._groups]
        if self._is_kept:
            return add_futures(start([Call(*call) for call in calls], parts))
        return add_tasks([task(OfInputs(*call), some) for call, some in zip(calls, parts)])

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("rows are never pickled: a copy would leave the curator.")


class Part:
    """Some rows with their targets, as they lie on a worker; says nothing when printed."""

    def __init__(self, x: Any, y: Any = None, present: Any = None) -> None:
        self.x = x
        self.y = None if y is None else np.asarray(y, dtype=np.float64)
        self.present = None if present is None else np.asarray(present, dtype=bool)
        if any(part is not None and len(part) != x.shape[0] for part in (self.y, self.present)):
            raise ClusterError(CHANGED)
        self._last: tuple[str, Rows | None] = ("", None)

    def look_through(self, look: Look) -> Rows | None:
        """The rows through a look; what the last look made is there for the next step."""
        if look.size is not None and look.size != self.x.shape[0]:
            raise ClusterError(CHANGED)
        name, rows = self._last
        if name != look.name:
            rows = look(self.x, self.y, self.present)
            self._last = (look.name, rows)
        return rows

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another worker or to its disk."""
        return {**vars(self), "_last": ("", None)}

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what is too much."""
        arrays = [self.x] if isinstance(self.x, np.ndarray) else _arrays_of(self.x)
        arrays = [*arrays, *(part for part in (self.y, self.present) if part is not None)]
        return 100 + sum(int(array.nbytes) for array in arrays)

    def __repr__(self) -> str:
        return "part of a table"


def _arrays_of(x: Any) -> list[np.ndarray]:
    return [x.data, x.indices, x.indptr]


class Look:
    """How rows of a part are looked at: in pairs, through a map, or as they are."""

    def __init__(
        self,
        row_map: Callable[[Block], Block] | None = None,
        n_features: int = 0,
        pairs: tuple[int, ...] | None = None,
        keep: bool = False,
        name: str | None = None,
        size: int | None = None,
    ) -> None:
        self.row_map, self.n_features, self.pairs = row_map, n_features, pairs
        self.keep, self.size = keep, size
        self.name = name or uuid.uuid4().hex

    def of_part(self, number: int, size: int | None = None) -> Look:
        """The same for one part, with the rows that it must have and the seed of its pairing."""
        pairs = None if self.pairs is None else (self.pairs[number],)
        return Look(self.row_map, self.n_features, pairs, self.keep, self.name, size)

    def __call__(
        self, x: Any, y: np.ndarray | None, present: np.ndarray | None = None
    ) -> Rows | None:
        """The rows of a part; ``None`` where there are none."""
        least = 1 if self.pairs is None else 2
        if x.shape[0] < least:
            return None
        rows = Rows.checked_before(x, y, present)
        if self.pairs is not None:
            rows = rows.paired(np.random.default_rng(self.pairs[0]), least=2)
        if self.row_map is not None:
            if self.keep and rows.n_rows > 1:
                return rows.map_now(self.row_map)
            return MappedRows(rows, self.row_map, self.n_features)
        return rows


@dataclass(frozen=True)
class MapAfterMap:
    """One row map after another, as one; a task can carry it."""

    first: Callable[[Block], Block]
    second: Callable[[Block], Block]

    def __call__(self, block: Block) -> Block:
        """Map the rows of a block twice; whether a row takes part stays with it."""
        between = self.first(block)
        if block.present is not None:
            between = replace(between, present=block.present)
        return self.second(between)


class OfInputs:
    """Turns a function of a list of parts into one of the arrays of a single part."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments

    def __call__(self, x: Any, y: Any = None, present: Any = None) -> Any:
        """Make a part of its arrays, on the worker, and apply the function to it."""
        return self.function([Part(x, y, present)], *self.arguments)


def clipped_parts(
    parts: list[Part],
    looks: list[Look],
    samplings: list[PartSampling | None],
    query: RowQuery,
    point: Any,
    space: AnswerSpace,
    rows_per_block: int,
) -> np.ndarray:
    """The task of an answer: the clipped sum of some parts."""
    total = np.zeros(space.coordinates)
    for part, look, sampling in zip(parts, looks, samplings):
        rows = part.look_through(look)
        if rows is None:
            continue
        with threads_for(rows.n_features):
            total += rows.clipped_sum(query, point, space, sampling, rows_per_block)
    return total


def total_parts(
    parts: list[Part],
    looks: list[Look],
    _: list[None],
    function: Callable[[Block], np.ndarray],
    rows_per_block: int,
    group: int,
) -> Any:
    """The task of another sum over blocks."""
    total: Any = 0.0
    for part, look in zip(parts, looks):
        rows = part.look_through(look)
        if rows is not None:
            total = total + rows.total(function, rows_per_block, group)
    return total


def _or_none(targets: DaskTargets | None, present: DaskTargets | None) -> list[list[Any]]:
    """Parts of what goes with the rows, in the order in which ``Part`` takes them."""
    if present is None:
        return [] if targets is None else [targets.parts]
    return [[None] * len(present.parts) if targets is None else targets.parts, present.parts]


def _one_by_one(inputs: list[list[Any]]) -> list[tuple[list[int], list[Any]]]:
    """Parts that are read again in each step, so that no task needs more than one in memory."""
    return [([number], pair) for number, pair in enumerate(inputs)]


def _groups_of_kept(inputs: list[list[Any]]) -> list[tuple[list[int], list[Any]]]:
    """Numbers and futures of the parts that one task sums: those that lie on one worker.

    A task a worker costs far less than a task a part.
    """
    parts = persist([task(Part, pair) for pair in inputs])
    cluster = dask_module("distributed")
    futures = [cluster.futures_of(part)[0] for part in parts]
    wait_for(lambda: cluster.wait(futures))
    where = current_client().who_has(futures)
    groups: dict[str, tuple[list[int], list[Any]]] = {}
    for number, future in enumerate(futures):
        worker = min(where.get(future.key) or ("",))  # "" if it died a moment ago
        numbers, members = groups.setdefault(worker, ([], []))
        numbers.append(number)
        members.append(future)
    return list(groups.values())
