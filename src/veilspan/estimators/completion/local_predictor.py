r"""The local half: a user's own predictions from the published model and her own ratings.

Joint differential privacy splits a recommender in two. The *global* half (item bias b, item factors
V) is differentially private and may be published. The *local* half runs where the user's ratings
are, on her phone say, and needs nothing but the global half and those ratings:

    (m, u) = argmin  sum_j (r_j - m - b_j - <u, v_j>)^2 + k (m - middle)^2 + ridge |u|^2

over the items j she rated; the prediction for any item is m + b_j + <u, v_j>, clipped to the rating
range. What others learn about her is what the global half reveals; her own predictions are shown to
her alone.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from veilspan._archives import pack_arrays, read_with_header, with_header
from veilspan._files import IrregularFileError, write_whole
from veilspan.curator.input_kinds import refuse_masked
from veilspan.estimators.completion.own_history import plain_id
from veilspan.estimators.completion.ranker_file import TASK, assemble_ranker, read_promise
from veilspan.queries.completion.local_fits import fit_users, with_level
from veilspan.queries.completion.residual_moment import check_ridge

FORMAT = 1
USERS_AT_ONCE = 2048

MyRatings = Mapping[Hashable, float] | tuple[Sequence[Hashable], Sequence[float]]


@dataclass(frozen=True, eq=False)
class LocalPredictor:
    """Predictions from the published half of a model and a user's own ratings.

    Holds no training data and learns nothing: it may be shipped to users.

    Attributes
    ----------
    item_bias : array of shape (n_items,)
        Global, differentially private.
    item_factors : array of shape (n_items, r)
        Global, differentially private.
    item_ids : tuple
        Public names of the items, in order.
    rating_range : (float, float)
        Public; predictions are clipped to it.
    ridge : float
        Global: penalty of the local fit.
    privacy : mapping
        The statement of the release that bias and factors come from.
    """

    item_bias: np.ndarray
    item_factors: np.ndarray
    item_ids: tuple[Hashable, ...]
    rating_range: tuple[float, float]
    ridge: float
    privacy: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_ridge(self.ridge)
        position = {name: index for index, name in enumerate(self.item_ids)}
        object.__setattr__(self, "_position", position)

    @property
    def n_items(self) -> int:
        """Number of items that can be predicted."""
        return len(self.item_bias)

    def predict(self, my_ratings: MyRatings) -> np.ndarray:
        """Local: predicted ratings of all items, from the user's own ratings.

        Parameters
        ----------
        my_ratings : mapping or (items, ratings)
            The user's ratings by item id. Ids that the model does not know are ignored, ratings
            are clipped to the range, of two ratings of an item the later counts. Without ratings,
            the prediction is the middle of the range plus the bias.

        Returns
        -------
        array of shape (n_items,)
            For her eyes: it depends on her ratings without noise.
        """
        items, ratings = self._look_up(my_ratings)
        starts = np.array([0, len(items)])
        return self.predict_rows(starts, items, ratings)[0]

    def recommend(
        self, my_ratings: MyRatings, k: int = 10, *, exclude_seen: bool = True
    ) -> list[Hashable]:
        """Local: ids of the ``k`` items with the highest predicted ratings, best first.

        Parameters
        ----------
        my_ratings : mapping or (items, ratings)
            As in :meth:`predict`.
        k : int
            Number of items; fewer are returned if fewer are left.
        exclude_seen : bool
            Whether to leave out what the user has rated.
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ValueError("k must be a whole number of at least 1.")
        scores = self._scores(*self._arrays(my_ratings))[0]
        if exclude_seen:
            scores[self._look_up(my_ratings)[0]] = -np.inf
        order = np.argsort(-scores, kind="stable")[:k]
        return [self.item_ids[i] for i in order if scores[i] > -np.inf]

    def predict_rows(
        self, starts: np.ndarray, items: np.ndarray, ratings: np.ndarray
    ) -> np.ndarray:
        """Local, for many users at once: ratings in CSR form to a dense users x items array."""
        return np.clip(self._scores(starts, items, ratings), *self.rating_range)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an npz file with the arrays and, as JSON, everything else.

        The file appears whole or not at all. Item ids must be strings, whole numbers or the like
        (JSON), so that reading it needs no pickle.
        """
        header = {
            "format": FORMAT,
            "item_ids": [plain_id(name) for name in self.item_ids],
            "rating_range": list(self.rating_range),
            "ridge": self.ridge,
            "privacy": dict(self.privacy),
        }
        arrays = {
            "item_bias": self.item_bias.astype(np.float32),
            "item_factors": self.item_factors.astype(np.float32),
        }
        packed = pack_arrays(with_header(header, arrays), compressed=True)
        write_whole(Path(path), lambda stream: stream.write(packed))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Read what :meth:`save` wrote, here or of lists. Nothing in the file is executed."""
        place = Path(path)
        header: dict[str, Any] | None
        try:
            header, arrays = read_with_header(place, compressed=True)
        except (OSError, IrregularFileError):
            raise
        except Exception:  # whatever NumPy, zipfile and the memory say of a foreign archive
            header, arrays = None, {}
        if header is None:
            raise ValueError(f"{place} holds no local predictor: it is damaged or another file.")
        return cls.from_parts(header, arrays)

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """The predictor of a file's header and arrays, after checks of both.

        Of a model of lists it is a ``LocalRanker``.
        """
        if header.get("format") != FORMAT:
            raise ValueError(f"not a local predictor of format {FORMAT}.")
        try:
            if header.get("task") == TASK:
                return assemble_ranker(header, arrays)
            return _assemble(cls, header, arrays)
        except Exception:  # of whatever type: a file may hold anything
            pass
        raise ValueError(
            "not a whole local predictor: its numbers must be finite, and its items, biases and "
            "factors fit together."
        )

    def _arrays(self, my_ratings: MyRatings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        items, ratings = self._look_up(my_ratings)
        return np.array([0, len(items)]), items, ratings

    def _look_up(self, my_ratings: MyRatings) -> tuple[np.ndarray, np.ndarray]:
        """Positions and ratings of the known items; the last rating of an item counts."""
        if isinstance(my_ratings, Mapping):
            pairs = list(my_ratings.items())
        else:
            names, values = my_ratings
            refuse_masked(names, "the list of items")
            refuse_masked(values, "the list of ratings")
            if len(names) != len(values):
                raise ValueError("my_ratings must hold as many ratings as items.")
            pairs = list(zip(np.asarray(names, dtype=object).tolist(), values))
        position: dict[Hashable, int] = self._position  # type: ignore[attr-defined]
        known = {position[name]: float(value) for name, value in pairs if name in position}
        ratings = np.fromiter(known.values(), dtype=np.float64, count=len(known))
        if not np.isfinite(ratings).all():
            raise ValueError("ratings must be finite numbers.")
        return np.fromiter(known.keys(), dtype=np.int64, count=len(known)), ratings

    def _scores(self, starts: np.ndarray, items: np.ndarray, ratings: np.ndarray) -> np.ndarray:
        """Unclipped predictions of many users, some at a time."""
        users = len(starts) - 1
        out = np.empty((users, self.n_items))
        for first in range(0, users, USERS_AT_ONCE):
            last = min(first + USERS_AT_ONCE, users)
            part = slice(starts[first], starts[last])
            out[first:last] = self._solve(
                starts[first : last + 1] - starts[first], items[part], ratings[part]
            )
        return out

    def _solve(self, starts: np.ndarray, items: np.ndarray, ratings: np.ndarray) -> np.ndarray:
        """Every user's own fit, and what it says of all items."""
        low, high = self.rating_range
        middle = (low + high) / 2
        target = np.clip(ratings, low, high) - middle - self.item_bias[items]
        own = fit_users(starts, items, target, self.item_factors, (self.ridge,))[0]
        return np.asarray(middle + self.item_bias + own @ with_level(self.item_factors).T)


def _assemble(
    kind: type[LocalPredictor], header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> LocalPredictor:
    """Make the predictor of a file's parts; what is wrong with them raises whatever it raises."""
    bias, factors = (arrays[name].astype(np.float64) for name in ("item_bias", "item_factors"))
    ids = tuple(plain_id(name) for name in header["item_ids"])
    low, high = map(float, header["rating_range"])
    ridge = float(header["ridge"])
    fits = bias.shape == (len(set(ids)),) == (len(ids),) and factors.shape[:-1] == bias.shape
    numbers = np.isfinite(bias).all() and np.isfinite(factors).all() and np.isfinite(ridge)
    if not (fits and numbers and ridge >= 0 and -np.inf < low < high < np.inf):
        raise ValueError("numbers that do not fit together")
    return kind(bias, factors, ids, (low, high), ridge, read_promise(header))
