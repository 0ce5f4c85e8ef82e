"""``veilspan recommend``: what users may like, from a release and their own ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Annotated, Any

import typer

from veilspan._printable import printable
from veilspan._progress import track_progress
from veilspan.cli.arguments.options import AsJson, Encoding, Header, KeyFile, Release, Separator
from veilspan.cli.console import print_json, say

#: Users that are printed; a file takes them all.
MOST_SHOWN = 20
#: Ratings by user, then by item.
Owned = dict[Hashable, dict[Hashable, float]]
#: For each user the best items with the ratings that they are expected to get.
Found = list[tuple[Hashable, list[tuple[Hashable, float]]]]


def recommend(
    release: Release,
    ratings: Annotated[str, typer.Argument(help="A .csv of user, item, rating: the users' own.")],
    k: Annotated[int, typer.Option("--k", "-k", help="Items for each user.")] = 10,
    user: Annotated[str | None, typer.Option(help="One user only.")] = None,
    out: Annotated[Path | None, typer.Option(help="A .csv file for all of them.")] = None,
    columns: Annotated[str | None, typer.Option(help="Names of the three columns.")] = None,
    separator: Separator = None,
    header: Header = None,
    encoding: Encoding = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Items that users may like, by a release and their own ratings.

    Nothing is spent. What a user is shown depends on her own ratings without noise: for her eyes.

    Example: veilspan recommend release ratings.csv --k 5 --user 7
    """
    from veilspan.cli.io.output_tables import check_not_input
    from veilspan.cli.io.ratings import read_ratings

    if k < 1:
        raise ValueError(f"--k must be at least 1; got {k}.")
    if out is not None and out.suffix != ".csv":
        raise ValueError(f"recommendations go to a .csv file; got {out.name!r}.")
    if out is not None:
        check_not_input(out, ratings)
    from veilspan.releases import load

    model = load(release, key=key)
    if hasattr(model, "local_predictor"):
        model = model.local_predictor()
    if not hasattr(model, "item_ids"):
        raise ValueError(f"{release} is not a recommender; it is a {type(model).__name__}.")
    triples = read_ratings(ratings, list(model.item_ids), columns, separator, header, encoding)
    owned = _group(triples)
    if user is not None:
        owned = _pick_user(owned, user)
    users = track_progress(owned.items(), "recommending", quiet=json)
    found = [(name, _find_best(model, rated, k)) for name, rated in users]
    if out is not None:
        _write(found, out)
    _show(found, out, as_json=json)


def _group(triples: Any) -> Owned:
    owned: Owned = defaultdict(dict)
    for user, item, rating in zip(*triples):
        owned[user][item] = float(rating)
    return dict(owned)


def _pick_user(owned: Owned, user: str) -> Owned:
    from veilspan.cli.io.ratings import read_ids_like

    wanted = read_ids_like(list(owned), [user])[0]
    if wanted not in owned:
        raise ValueError(f"the file holds no ratings of the user {user!r}.")
    return {wanted: owned[wanted]}


def _find_best(model: Any, ratings: dict[Hashable, float], k: int) -> list[tuple[Hashable, float]]:
    expected = dict(zip(model.item_ids, model.predict(ratings).tolist()))
    return [(item, expected[item]) for item in model.recommend(ratings, k)]


def _write(found: Found, out: Path) -> None:
    from veilspan.cli.io.output_tables import write_table

    lines = [
        (user, rank, item, value)
        for user, best in found
        for rank, (item, value) in enumerate(best, start=1)
    ]
    columns = [list(column) for column in zip(*lines)]
    write_table(out, ("user", "rank", "item", "predicted"), columns)


def _show(found: Found, out: Path | None, *, as_json: bool) -> None:
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
