r"""The local half of lists: a user's own list from the published model and what she has.

The *global* half (popularity of all items, weights W of the most popular ones) is differentially
private and may be published. The *local* half runs where the user's history is and needs nothing
but the two: with x her row of length 1 (``queries.completion.taste_rows``: what she has, tilted by
how she liked it), cut to the items that have weights,

    score = x W + level c,

c being the direction of popularity. A small ``level`` orders what her history says nothing of;
items without weights follow in the order of popularity. The score is linear in x: what each of her
own items adds to it is exact, and hers alone to see.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veilspan._files import write_whole
from veilspan.estimators.completion.own_history import History, check_length, read_history
from veilspan.queries.completion.taste_rows import UNIT_STEPS, TasteRule

#: What popularity counts beside a history, as if it were so much of the user's row.
LEVEL = 0.005
USERS_AT_ONCE = 1024


class Reason(NamedTuple):
    """One of the user's own items, and what it adds to the score of a listed one."""

    item: Hashable
    adds: float


@dataclass(frozen=True, eq=False)
class LocalRanker:
    """Lists from the published half of a model and a user's own history.

    Holds no training data and learns nothing: it may be shipped to users.

    Attributes
    ----------
    popularity : array of shape (n_items,)
        Global, differentially private.
    top_items : array of shape (K,)
        Global: places of the items with weights, by falling popularity.
    direction : array of shape (K,)
        Global: unit direction of their popularity.
    weights : array of shape (K, K)
        Global, differentially private.
    item_ids : tuple
        Public names of the items, in order.
    rating_range : (float, float) or None
        Public; ``None`` where the model knows no ratings.
    privacy : mapping
        The statement of the release that all of it comes from.
    """

    popularity: np.ndarray
    top_items: np.ndarray
    direction: np.ndarray
    weights: np.ndarray
    item_ids: tuple[Hashable, ...]
    rating_range: tuple[float, float] | None
    privacy: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        place = np.full(self.n_items, -1)
        place[self.top_items] = np.arange(len(self.top_items))
        order = np.argsort(-self.popularity, kind="stable")
        made = {
            "_position": {name: index for index, name in enumerate(self.item_ids)},
            "_place": place,
            "_tail": order[place[order] < 0],
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    @property
    def n_items(self) -> int:
        """Number of items that can be listed."""
        return len(self.popularity)

    def recommend(
        self, history: History = None, k: int = 10, *, exclude_seen: bool = True
    ) -> list[Hashable]:
        """Local: ids of the ``k`` items that the user will like best, best first.

        Parameters
        ----------
        history : mapping, (items, ratings), sequence of items, or None
            What the user has, with or without ratings, by item id. Ids that the model does not know
            are ignored. Without any history the list is that of popularity.
        k : int
            Number of items; fewer are returned if fewer are left.
        exclude_seen : bool
            Whether to leave out what the user has.
        """
        check_length(k)
        items, values = self._look_up(history)
        listed = self._list(items, values, int(k), exclude_seen)
        return [self.item_ids[i] for i in listed]

    def predict(self, history: History = None) -> np.ndarray:
        """Local: scores of all items, larger for what comes earlier in a list.

        Parameters
        ----------
        history : mapping, (items, ratings), sequence of items, or None
            As in :meth:`recommend`.

        Returns
        -------
        array of shape (n_items,)
            For her eyes: it depends on her history without noise. Scores order items; they are no
            ratings.
        """
        items, values = self._look_up(history)
        return self.predict_rows(np.array([0, len(items)]), items, values)[0]

    def explain(self, history: History, item: Hashable, most: int = 5) -> list[Reason]:
        """Local, free: which of the user's own items speak for ``item``, the strongest first.

        Parameters
        ----------
        history : mapping, (items, ratings) or sequence of items
            As in :meth:`recommend`.
        item : hashable
            An item of the list.
        most : int
            So many reasons at most.

        Returns
        -------
        list of Reason
            Items and what each adds to the score, positive ones only. Empty where no item of hers
            does: it is listed for its popularity.
        """
        position: dict[Hashable, int] = self._position  # type: ignore[attr-defined]
        if item not in position:
            raise ValueError("the model knows no such item.")
        items, values = self._look_up(history)
        column = self._place[position[item]]  # type: ignore[attr-defined]
        if column < 0:
            return []
        own, row = self._inside(*self._row(items, values))
        added = row * self.weights[own, column]
        order = [i for i in np.argsort(-added, kind="stable")[:most] if added[i] > 0]
        return [Reason(self.item_ids[self.top_items[own[i]]], float(added[i])) for i in order]

    def predict_rows(self, starts: np.ndarray, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Local, for many users at once: histories in CSR form to a dense users x items array.

        Items without weights get scores below all others, in the order of popularity.
        """
        users = len(starts) - 1
        out = np.empty((users, self.n_items))
        tail: np.ndarray = self._tail  # type: ignore[attr-defined]
        below = -1 - np.arange(len(tail)) / self.n_items
        for first in range(0, users, USERS_AT_ONCE):
            last = min(first + USERS_AT_ONCE, users)
            part = slice(starts[first], starts[last])
            own = starts[first : last + 1] - starts[first]
            scores = self._score(own, items[part], values[part])
            out[first:last, self.top_items] = scores
            out[first:last, tail] = scores.min(axis=1, initial=0.0)[:, None] + below
        return out

    def list_rows(
        self, starts: np.ndarray, items: np.ndarray, values: np.ndarray, k: int
    ) -> np.ndarray:
        """Local, for many users at once: places of the ``k`` items of each list; -1 where none."""
        out = np.full((len(starts) - 1, k), -1)
        for first in range(0, len(out), USERS_AT_ONCE):
            last = min(first + USERS_AT_ONCE, len(out))
            own = starts[first : last + 1] - starts[first]
            part = slice(starts[first], starts[last])
            out[first:last] = self._list_block(own, items[part], values[part], k)
        return out

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an npz file with the arrays and, as JSON, everything else.

        ``LocalPredictor.load`` and ``veilspan.load`` read it, without pickle.
        """
        from veilspan.estimators.completion.ranker_file import pack_ranker

        packed = pack_ranker(self)
        write_whole(Path(path), lambda stream: stream.write(packed))

    def _list(
        self, items: np.ndarray, values: np.ndarray, k: int, exclude_seen: bool
    ) -> np.ndarray:
        """Places of the best items: those with weights first, then by popularity."""
        place: np.ndarray = self._place  # type: ignore[attr-defined]
        tail: np.ndarray = self._tail  # type: ignore[attr-defined]
        scores = self._score(np.array([0, len(items)]), items, values)[0]
        if exclude_seen:
            scores[place[items][place[items] >= 0]] = -np.inf
        count = min(k, len(scores))
        best = np.argpartition(-scores, count - 1)[:count] if count else np.zeros(0, np.int64)
        best = best[np.lexsort((best, -scores[best]))]
        best = self.top_items[best[scores[best] > -np.inf]]
        if len(best) < k:
            rest = tail[: k - len(best) + len(items)]
            if exclude_seen:
                rest = rest[~np.isin(rest, items)]
            best = np.concatenate([best, rest[: k - len(best)]])
        return best

    def _list_block(
        self, starts: np.ndarray, items: np.ndarray, values: np.ndarray, k: int
    ) -> np.ndarray:
        """Lists of some users, from items with weights and the first of the others.

        Whoever has so many of these that too few are left gets her list by herself.
        """
        users, width = len(starts) - 1, len(self.top_items)
        head = self._tail[: 2 * k]  # type: ignore[attr-defined]
        scores = np.empty((users, width + len(head)))
        scores[:, :width] = self._score(starts, items, values)
        below = scores[:, :width].min(axis=1, initial=0.0)
        scores[:, width:] = below[:, None] - 1 - np.arange(len(head))
        column = self._place[items]  # type: ignore[attr-defined]
        others = np.full(self.n_items, -1)
        others[head] = width + np.arange(len(head))
        column = np.where(column >= 0, column, others[items])
        user = np.repeat(np.arange(users), np.diff(starts))
        scores[user[column >= 0], column[column >= 0]] = -np.inf
        count = min(k, scores.shape[1])
        best = np.sort(np.argpartition(-scores, count - 1, axis=1)[:, :count], axis=1)
        found = np.take_along_axis(scores, best, axis=1)
        order = np.argsort(-found, axis=1, kind="stable")
        out = np.full((users, k), -1)
        listed = np.concatenate([self.top_items, head])
        out[:, :count] = listed[np.take_along_axis(best, order, axis=1)]
        full = (count == k) & (found > -np.inf).all(axis=1)
        for row in np.flatnonzero(~full):
            part = slice(starts[row], starts[row + 1])
            own = self._list(items[part], values[part], k, True)
            out[row] = -1
            out[row, : len(own)] = own
        return out

    def _score(self, starts: np.ndarray, items: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Scores of the items with weights."""
        shape = (len(starts) - 1, len(self.top_items))
        if shape[0] == 1:
            own, row = self._inside(*self._row(items, values))
            return (row @ self.weights[own] + LEVEL * self.direction)[None]
        rows = self._rule.take_arrays(starts, items, values, self.n_items)
        column = self._place[rows.items]  # type: ignore[attr-defined]
        user = np.repeat(np.arange(shape[0]), np.diff(rows.starts))
        inside = column >= 0
        x = np.zeros(shape)
        x[user[inside], column[inside]] = rows.values[inside] / UNIT_STEPS
        return x @ self.weights + LEVEL * self.direction

    @property
    def _rule(self) -> TasteRule:
        return TasteRule(self.rating_range)

    def _row(self, items: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The user's own row of length 1."""
        rows = self._rule.take_arrays(np.array([0, len(items)]), items, values, self.n_items)
        return rows.items, rows.values / UNIT_STEPS

    def _inside(self, items: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the weights, and the row there."""
        column = self._place[items]  # type: ignore[attr-defined]
        return column[column >= 0], row[column >= 0]

    def _look_up(self, history: History) -> tuple[np.ndarray, np.ndarray]:
        """Places and values of the known items; the last value of an item counts."""
        position: dict[Hashable, int] = self._position  # type: ignore[attr-defined]
        known = {
            position[n]: v for n, v in read_history(history, self.rating_range) if n in position
        }
        values = np.fromiter(known.values(), dtype=np.float64, count=len(known))
        if not np.isfinite(values).all():
            raise ValueError("ratings must be finite numbers.")
        items = np.fromiter(known.keys(), dtype=np.int64, count=len(known))
        order = np.argsort(items)
        return items[order], values[order]
