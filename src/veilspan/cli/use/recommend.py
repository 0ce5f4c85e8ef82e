"""``veilspan recommend``: what users may like, from a release and their own ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from veilspan._printable import printable
from veilspan._progress import track_progress
from veilspan.cli.arguments.options import AsJson, Encoding, Header, KeyFile, Release, Separator
from veilspan.cli.console import print_json, say

#: Users that are printed; a file takes them all.
MOST_SHOWN = 20
#: Ratings by user, then by item.
Owned = dict[Hashable, dict[Hashable, float]]
#: Somebody of whom nothing is known, in place of a user's id.
NOBODY = "anybody"
#: Own items that are named for each listed one.
MOST_REASONS = 3


class Best(NamedTuple):
    """A listed item, the rating or score that it is expected to get, and own items behind it."""

    item: Hashable
    value: float
    reasons: list[Hashable]


#: For each user the best items.
Found = list[tuple[Hashable, list[Best]]]


def recommend(
    release: Release,
    ratings: Annotated[
        str | None,
        typer.Argument(
            help="A .csv of user, item, rating: the users' own. Lists (task=rank) do without "
            "ratings, and without a file for somebody of whom nothing is known."
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", "-k", help="Items for each user.")] = 10,
    user: Annotated[str | None, typer.Option(help="One user only.")] = None,
    out: Annotated[Path | None, typer.Option(help="A .csv file for all of them.")] = None,
    columns: Annotated[str | None, typer.Option(help="Names of the three columns.")] = None,
    separator: Separator = None,
    header: Header = None,
    encoding: Encoding = None,
    key: KeyFile = None,
    why: Annotated[
        bool, typer.Option("--why", help="Which of a user's own items led there (lists).")
    ] = False,
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
    if out is not None and ratings is not None:
        check_not_input(out, ratings)
    from veilspan.releases import load

    model = load(release, key=key)
    if hasattr(model, "local_predictor"):
        model = model.local_predictor()
    if not hasattr(model, "item_ids"):
        raise ValueError(f"{release} is not a recommender; it is a {type(model).__name__}.")
    lists = hasattr(model, "explain")
    if not lists and (why or ratings is None):
        raise ValueError(
            "--why is for lists (fit with -p task=rank)."
            if why
            else "whose ratings? Name a .csv of user, item, rating; only lists (fit with -p "
            "task=rank) do without."
        )
    owned: Owned = {NOBODY: {}}
    if ratings is not None:
        how = (columns, separator, header, encoding)
        owned = _group(*read_ratings(ratings, list(model.item_ids), *how), liked=_liked(model))
    if user is not None:
        owned = _pick_user(owned, user)
    users = track_progress(owned.items(), "recommending", quiet=json)
    places = {item: place for place, item in enumerate(model.item_ids)}
    found = [(name, _find_best(model, places, rated, k, why=why)) for name, rated in users]
    if out is not None:
        _write(found, out, "score" if lists else "predicted")
    _show(found, out, as_json=json, lists=lists)


def _group(users: Any, items: Any, ratings: Any, liked: float | None) -> Owned:
    if ratings is None and liked is None:
        raise ValueError("the file has no column of ratings, which this release needs.")
    owned: Owned = defaultdict(dict)
    values = [liked] * len(items) if ratings is None else ratings
    for user, item, rating in zip(users, items, values):
        owned[user][item] = float(rating)
    return dict(owned)


def _liked(model: Any) -> float | None:
    """What an item without a rating counts as; ``None`` where ratings are needed."""
    if not hasattr(model, "explain"):
        return None
    return 1.0 if model.rating_range is None else float(model.rating_range[1])


def _pick_user(owned: Owned, user: str) -> Owned:
    from veilspan.cli.io.ratings import read_ids_like

    wanted = read_ids_like(list(owned), [user])[0]
    if wanted not in owned:
        raise ValueError(f"the file holds no ratings of the user {user!r}.")
    return {wanted: owned[wanted]}


def _find_best(
    model: Any, places: dict[Hashable, int], ratings: dict[Hashable, float], k: int, *, why: bool
) -> list[Best]:
    expected = model.predict(ratings)
    best = model.recommend(ratings, k)
    reasons = [
        [reason.item for reason in model.explain(ratings, item, MOST_REASONS)] if why else []
        for item in best
    ]
    return [Best(item, float(expected[places[item]]), own) for item, own in zip(best, reasons)]


def _write(found: Found, out: Path, measure: str) -> None:
    from veilspan.cli.io.output_tables import write_table

    lines = [
        (user, rank, item, value)
        for user, best in found
        for rank, (item, value, _) in enumerate(best, start=1)
    ]
    columns = [list(column) for column in zip(*lines)]
    write_table(out, ("user", "rank", "item", measure), columns)


def _show(found: Found, out: Path | None, *, as_json: bool, lists: bool) -> None:
    if as_json:
        users = [
            {"user": user, "items": [_describe(one, lists) for one in best]} for user, best in found
        ]
        print_json(users if out is None else {"file": str(out), "users": len(users)})
    elif out is not None:
        say(f"recommendations for {len(found):,} users written to {out}")
    else:
        for user, best in found[:MOST_SHOWN]:
            say(f"{printable(str(user))}: {', '.join(_word(one, lists) for one in best)}")
        if len(found) > MOST_SHOWN:
            say(f"... and {len(found) - MOST_SHOWN:,} more users: --out FILE writes all.")


def _describe(one: Best, lists: bool) -> dict[str, Any]:
    said = {"item": one.item, "score" if lists else "predicted": one.value}
    return {**said, "because_of": one.reasons} if one.reasons else said


def _word(one: Best, lists: bool) -> str:
    """One item of a line: with its rating, or with what led there; a score says nothing to you."""
    item = printable(str(one.item))
    if one.reasons:
        return f"{item} (for {', '.join(printable(str(own)) for own in one.reasons)})"
    return item if lists else f"{item} ({one.value:.2f})"
