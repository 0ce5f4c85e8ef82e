"""``veilspan recommend``: what users may like, from a release and their own ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from veilspan._printable import printable
from veilspan.cli.console import print_json, progress, say
from veilspan.cli.ratings import like, read_ratings
from veilspan.cli.tables import check_not_input, write_table

#: Users that are printed; a file takes them all.
MOST_SHOWN = 20


def run_recommend(
    release: Path,
    data: str,
    *,
    k: int,
    user: str | None,
    out: Path | None,
    columns: str | None,
    separator: str | None,
    header: bool | None,
    key: Path | None,
    as_json: bool,
) -> None:
    """The best ``k`` items that each user has not rated yet. Nothing is spent."""
    if k < 1:
        raise ValueError(f"--k must be at least 1; got {k}.")
    if out is not None and out.suffix != ".csv":
        raise ValueError(f"recommendations go to a .csv file; got {out.name!r}.")
    if out is not None:
        check_not_input(out, data)
    from veilspan.releases import load

    model = load(release, key=key)
    if hasattr(model, "local_predictor"):
        model = model.local_predictor()
    if not hasattr(model, "item_ids"):
        raise ValueError(f"{release} is no recommender; it is a {type(model).__name__}.")
    owned = _by_user(read_ratings(data, list(model.item_ids), columns, separator, header))
    if user is not None:
        owned = _one(owned, user)
    found = []
    with progress("recommending", len(owned), quiet=as_json) as advance:
        for name, ratings in owned.items():
            found.append((name, _best(model, ratings, k)))
            advance()
    _show(found, out, as_json=as_json)


def _by_user(triples: Any) -> dict[Hashable, dict[Hashable, float]]:
    owned: dict[Hashable, dict[Hashable, float]] = defaultdict(dict)
    for user, item, rating in zip(*triples):
        owned[user][item] = float(rating)
    return dict(owned)


def _one(owned: dict[Hashable, Any], user: str) -> dict[Hashable, Any]:
    wanted = like(list(owned), [user])[0]
    if wanted not in owned:
        raise ValueError(f"the file holds no ratings of the user {user!r}.")
    return {wanted: owned[wanted]}


def _best(model: Any, ratings: dict[Hashable, float], k: int) -> list[tuple[Hashable, float]]:
    expected = dict(zip(model.item_ids, model.predict(ratings).tolist()))
    return [(item, expected[item]) for item in model.recommend(ratings, k)]


def _show(found: list[Any], out: Path | None, *, as_json: bool) -> None:
    if out is not None:
        lines = [
            (user, rank, item, value)
            for user, best in found
            for rank, (item, value) in enumerate(best, start=1)
        ]
        columns = [list(column) for column in zip(*lines)]
        write_table(out, ("user", "rank", "item", "predicted"), columns)
    if as_json:
        users = [
            {"user": user, "items": [{"item": i, "predicted": v} for i, v in best]}
            for user, best in found
        ]
        print_json(users if out is None else {"file": str(out), "users": len(users)})
    elif out is not None:
        say(f"recommendations for {len(found):,} users written to {out}")
    else:
        for user, best in found[:MOST_SHOWN]:
            items = ", ".join(f"{printable(str(item))} ({value:.2f})" for item, value in best)
            say(f"{printable(str(user))}: {items}")
        if len(found) > MOST_SHOWN:
            say(f"... and {len(found) - MOST_SHOWN:,} more users: --out FILE writes all.")
