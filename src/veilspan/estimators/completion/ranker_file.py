"""The file of lists that users hold: a header in JSON and arrays, read without pickle."""

from __future__ import annotations

from typing import Any

import numpy as np

from veilspan._archives import pack_arrays, with_header
from veilspan.estimators.completion.local_ranker import LocalRanker
from veilspan.estimators.completion.own_history import plain_id
from veilspan.privacy.records import statement_from

FORMAT, TASK = 1, "rank"


def pack_ranker(ranker: LocalRanker) -> bytes:
    """The bytes of the file; ids must be strings, numbers or the like."""
    span = ranker.rating_range
    header = {
        "format": FORMAT,
        "task": TASK,
        "item_ids": [plain_id(name) for name in ranker.item_ids],
        "rating_range": None if span is None else list(span),
        "privacy": dict(ranker.privacy),
    }
    arrays: dict[str, np.ndarray] = {
        "popularity": ranker.popularity.astype(np.float32),
        "top_items": ranker.top_items.astype(np.int64),
        "direction": ranker.direction.astype(np.float32),
        "weights": ranker.weights.astype(np.float32),
    }
    return pack_arrays(with_header(header, arrays), compressed=True)


def assemble_ranker(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> LocalRanker:
    """Make the ranker of a file's parts; what is wrong with them raises whatever it raises."""
    names = ("popularity", "direction", "weights")
    popularity, direction, weights = (arrays[name].astype(np.float64) for name in names)
    top = arrays["top_items"]
    ids = tuple(plain_id(name) for name in header["item_ids"])
    said = header["rating_range"]
    span = None if said is None else tuple(map(float, said))
    count = len(direction)
    fits = popularity.shape == (len(set(ids)),) == (len(ids),) and weights.shape == (count, count)
    fits = fits and top.shape == direction.shape == (len(np.unique(top)),) and top.dtype.kind == "i"
    fits = fits and (count == 0 or 0 <= int(top.min()) <= int(top.max()) < len(ids))
    numbers = all(np.isfinite(part).all() for part in (popularity, direction, weights))
    if span is not None and not (len(span) == 2 and -np.inf < span[0] < span[1] < np.inf):
        raise ValueError("a range that is none")
    if not (fits and numbers):
        raise ValueError("numbers that do not fit together")
    privacy = read_promise(header)
    return LocalRanker(popularity, top, direction, weights, ids, span, privacy)  # type: ignore[arg-type]


def read_promise(header: dict[str, Any]) -> dict[str, Any]:
    """What a file says of the promise: a whole statement, or a few words with an epsilon."""
    said = dict(header["privacy"])
    if "format" in said:  # a whole statement, not a few words of somebody's own
        statement_from(said)
    elif not float(said.get("epsilon", 1.0)) > 0:
        raise ValueError("an epsilon that is none")
    return said
