r"""Sums over rows that lie on a Dask cluster. Noise, charge and step stay in this process.

One answer is: for each group of parts one task, a pure function of (parts, public point) that
returns a clipped partial sum; partial sums are added up in a tree; the total comes here, where the
curator adds noise once. A task may run any number of times (a worker dies, a scheduler doubts): it
returns the same number each time, because it draws nothing. Poisson samples are the one thing
random in a task, and they are a function of a key derived from the secret, the step and the part.

Rounding. A number passes through the additions of its block (b), its group (m), its part and then
at most as many as there are parts; other machines may round differently, so all rows count as
moved, not one. Both enter the noise through ``rounding_slack``.

The cluster is trusted with the rows: it sees them, their exact partial sums and who was sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from veilspan.curator.dask_table import (
    KEPT_SHARE,
    DaskTable,
    DaskTargets,
    dask_module,
    results,
    task,
)
from veilspan.curator.executor import (
    GROUP,
    MemoryExecutor,
    PartSampling,
    Sampling,
    block_rows,
)
from veilspan.curator.query import RowQuery
from veilspan.curator.rows import Block, Rows
from veilspan.curator.scaled_rows import MappedRows
from veilspan.privacy.grid import MAX_ROWS, float_slack
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.spaces import AnswerSpace

FAN_IN = 8  # sums that are added up in one task of the tree


class DaskRows:
    """A checked table on a cluster, and how its rows are seen: as they are, mapped, in pairs."""

    def __init__(self, table: DaskTable, targets: DaskTargets | None = None) -> None:
        if table.shape[0] < 2:
            raise ValueError("X must have at least 2 rows.")
        self._groups = _grouped(_kept(_with_targets(table, targets), table))
        self.n_parts = len(table.parts)
        self.n_rows, self.n_features = table.shape
        self._look = Look()

    def executor(self) -> DaskExecutor:
        """Where sums over these rows run."""
        return DaskExecutor(self)

    def mapped(self, row_map: Callable[[Block], Block], n_features: int) -> DaskRows:
        """The rows after a public map of each, applied where they are."""
        return self._seen(Look(row_map, n_features, self._look.pairs), self.n_rows, n_features)

    def paired(self, coins: np.random.Generator) -> DaskRows:
        """Differences of randomly paired rows, each row in at most one pair of its part.

        The pairing is drawn without looking at the rows, so exchanging one row exchanges one
        difference. An odd part leaves a row out; its pair counts as one of zeros.
        """
        if self.n_rows < 4:
            raise ValueError("pairs need at least 4 rows.")
        pairs = tuple(int(seed) for seed in coins.integers(2**63, size=self.n_parts))
        return self._seen(Look(None, self.n_features, pairs), self.n_rows // 2, self.n_features)

    def _seen(self, look: Look, n_rows: int, n_features: int) -> DaskRows:
        rows = DaskRows.__new__(DaskRows)
        rows._groups, rows.n_parts, rows._look = self._groups, self.n_parts, look
        rows.n_rows, rows.n_features = n_rows, n_features
        return rows

    def tasks(
        self, function: Callable[..., Any], *arguments: Any, of_part: Any = None
    ) -> list[Any]:
        """One task per group: ``function(parts, looks, extras, *arguments)``.

        ``of_part(i)``, if given, is a further argument for part i.
        """
        made = []
        for numbers, parts in self._groups:
            looks = [self._look.of_part(i) for i in numbers]
            extras = [None if of_part is None else of_part(i) for i in numbers]
            made.append(task(function, [parts], looks, extras, *arguments))
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("rows are never pickled: a copy would leave the curator.")


class Look:
    """How rows of a part are looked at: in pairs, through a map, or as they are."""

    def __init__(
        self,
        row_map: Callable[[Block], Block] | None = None,
        n_features: int = 0,
        pairs: tuple[int, ...] | None = None,
    ) -> None:
        self.row_map, self.n_features, self.pairs = row_map, n_features, pairs

    def of_part(self, number: int) -> Look:
        """The same for one part, with the seed of its pairing only."""
        pairs = None if self.pairs is None else (self.pairs[number],)
        return Look(self.row_map, self.n_features, pairs)

    def __call__(self, part: Any) -> Rows | None:
        """The rows of a part; ``None`` where there are none."""
        x, y = part
        least = 1 if self.pairs is None else 2
        if x.shape[0] < least:
            return None
        rows = Rows.checked_before(x, None if y is None else np.asarray(y, dtype=np.float64))
        if self.pairs is not None:
            rows = rows.paired(np.random.default_rng(self.pairs[0]), least=2)
        if self.row_map is not None:
            rows = MappedRows(rows, self.row_map, self.n_features)
        return rows


class DaskExecutor:
    """Clipped sums on a cluster."""

    def __init__(self, rows: DaskRows) -> None:
        self._rows = rows
        self.n_features = rows.n_features
        self.extra_terms = rows.n_parts

    def rounding_slack(self, query: RowQuery, point: Any, neighbors: Neighbors) -> float:
        """What float64 arithmetic may add to the sensitivity: see the top of this file."""
        rows = self._rows.n_rows if neighbors == "replace-one" else MAX_ROWS
        return float_slack(
            rows,
            query.bound,
            block_rows(query, point, self.n_features),
            GROUP,
            roundoff=query.roundoff(self.n_features, point),
            moved_rows=rows,
            extra_terms=self.extra_terms,
        )

    def clipped_sum(
        self, query: RowQuery, point: Any, space: AnswerSpace, sampling: Sampling | None = None
    ) -> np.ndarray:
        """Sum of all clipped contributions, in the coordinates of ``space``."""
        of_part = None if sampling is None else sampling.of_part
        return _added(self._rows.tasks(_clipped_parts, query, point, space, of_part=of_part))

    def total(
        self, part: Callable[[Block], np.ndarray], rows_per_block: int, group: int
    ) -> np.ndarray:
        """Sum of ``part`` over blocks."""
        return _added(self._rows.tasks(_total_parts, part, rows_per_block, group))


def _clipped_parts(
    parts: list[Any],
    looks: list[Look],
    samplings: list[PartSampling | None],
    query: RowQuery,
    point: Any,
    space: AnswerSpace,
) -> np.ndarray:
    """The task of an answer: the clipped sum of some parts."""
    total = np.zeros(space.coordinates)
    for part, look, sampling in zip(parts, looks, samplings):
        rows = look(part)
        if rows is not None:
            total += MemoryExecutor(rows).clipped_sum(query, point, space, sampling)
    return total


def _total_parts(
    parts: list[Any],
    looks: list[Look],
    _: list[None],
    function: Callable[[Block], np.ndarray],
    rows_per_block: int,
    group: int,
) -> Any:
    """The task of another sum over blocks."""
    total: Any = 0.0
    for part, look in zip(parts, looks):
        rows = look(part)
        if rows is not None:
            total = total + MemoryExecutor(rows).total(function, rows_per_block, group)
    return total


def _added(tasks: list[Any]) -> np.ndarray:
    """The sum of tasks, by a tree of tasks."""
    while len(tasks) > 1:
        tasks = [task(_sum_of, [tasks[i : i + FAN_IN]]) for i in range(0, len(tasks), FAN_IN)]
    return np.asarray(results(tasks)[0])


def _sum_of(values: list[Any]) -> Any:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _with_targets(table: DaskTable, targets: DaskTargets | None) -> list[Any]:
    if targets is None:
        return [task(_pair, [x]) for x in table.parts]
    return [task(_pair, [x, y]) for x, y in zip(table.parts, targets.parts)]


def _pair(x: Any, y: Any = None) -> tuple[Any, Any]:
    return x, y


def _kept(parts: list[Any], table: DaskTable) -> list[Any]:
    """Parts that stay in the workers' memory between steps, if they fit; else they are read again.

    Whether they fit is decided by public numbers: the table's shape and the workers' limits. Kept
    parts are results of tasks: those of a worker that dies are computed again by another.
    """
    client = _client()
    if client is None:  # no cluster: keeping would load the table into this process
        return parts
    size = table.shape[0] * table.shape[1] * table.dtype.itemsize
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    if not table.is_sparse and size > KEPT_SHARE * sum(w["memory_limit"] or 0 for w in workers):
        return parts
    return list(dask_module().persist(*parts))


def _grouped(parts: list[Any]) -> list[tuple[list[int], list[Any]]]:
    """Numbers and tasks of the parts that one task sums: those that lie on one worker.

    A task a worker costs far less than a task a part. Parts that are not kept are each summed on
    their own, so that no task needs more than one of them in memory.
    """
    places = _places(parts)
    groups: dict[Any, tuple[list[int], list[Any]]] = {}
    for number, part in enumerate(parts):
        numbers, members = groups.setdefault(places.get(number, ("alone", number)), ([], []))
        numbers.append(number)
        members.append(part)
    return list(groups.values())


def _places(parts: Sequence[Any]) -> dict[int, str]:
    """Worker of each kept part."""
    client = _client()
    if client is None:
        return {}
    distributed = dask_module("distributed")
    futures = [distributed.futures_of(part) for part in parts]
    if not all(futures):
        return {}
    distributed.wait([future for found in futures for future in found])
    where = client.who_has([found[0] for found in futures])
    holders = [where.get(found[0].key) for found in futures]
    return {number: sorted(held)[0] for number, held in enumerate(holders) if held}


def _client() -> Any:
    try:
        return dask_module("distributed").get_client()
    except (ImportError, ValueError):  # dask alone, or no cluster
        return None
