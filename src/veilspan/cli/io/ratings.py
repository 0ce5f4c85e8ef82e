"""Ratings in files: user, item, rating; ids that are whole numbers in one file are so in all.

Lists also do with users and items alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veilspan.cli.arguments.estimators import OBSERVED
from veilspan.cli.io.csv_file import CsvFile


def read_items(items: str) -> list[Hashable] | None:
    """The public list of items from a file, one a line; ``None`` for ``"observed"``."""
    if items == OBSERVED:
        return None
    path = Path(items)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {items}; --items names one, or says observed.")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not UTF-8 text.") from None
    found = read_ids([line.strip() for line in lines if line.strip()])
    if not found:
        raise ValueError(f"{path.name} lists no item.")
    return found


def read_ratings(
    data: str,
    items: Sequence[Hashable] | None,
    columns: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> tuple[list[Hashable], list[Hashable], np.ndarray | None]:
    """Users, items and ratings of a CSV file; ``None`` for ratings that it does not have.

    Parameters
    ----------
    data : str
        A CSV file with the columns user, item and rating, or those named by ``columns``.
    items : sequence, optional
        Public ids that decide whether ids of items are whole numbers or text.
    columns : str, optional
        Names of the three columns, with commas; two where there are no ratings.
    separator : str, optional
        Between cells.
    header : bool, optional
        Whether the first line names the columns.
    encoding : str, optional
        How letters are stored; UTF-8 by default.
    """
    path = Path(data)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {data}.")
    if path.suffix not in (".csv", ".tsv"):
        raise ValueError("ratings come as a .csv or .tsv file with the columns user, item, rating.")
    file = CsvFile.open(path, separator, header=header, encoding=encoding)
    user, item, *rating = _choose_columns(file, columns)
    values = file.read_numbers(rating)[:, 0] if rating else None
    if values is not None and not np.isfinite(values).all():
        raise ValueError(f"{path.name} holds NaN or infinite numbers in {rating[0]}.")
    rated = file.read_column(item)
    known = read_ids(rated) if items is None else read_ids_like(items, rated)
    return read_ids(file.read_column(user)), known, values


def _choose_columns(file: CsvFile, columns: str | None) -> list[str]:
    usual = ["user", "item", "rating"]
    if columns is None and "rating" not in file.names and set(usual[:2]) <= set(file.names):
        usual = usual[:2]  # what users have, without ratings
    wanted = usual if columns is None else columns.split(",")
    names = [name.strip() for name in wanted]
    if len(names) not in (2, 3):
        raise ValueError(
            "--columns names three columns for ratings: users, items, ratings; or two for lists "
            "(task=rank) of what has no ratings."
        )
    if len(set(names)) < len(names):
        raise ValueError("--columns names a column twice.")
    if not set(names) <= set(file.names):
        raise ValueError(
            f"{file.path.name} must have the columns {', '.join(names)}; name others by --columns "
            "user,item,rating in this order."
        )
    return names


def read_ids(texts: Sequence[str]) -> list[Hashable]:
    """Whole numbers if all are written as such, else the texts."""
    return [int(text) for text in texts] if all(map(_is_whole, texts)) else list(texts)


def read_ids_like(items: Sequence[Hashable], texts: Sequence[str]) -> list[Hashable]:
    """Ids of the same kind as those of ``items``; what does not fit stays text, and is unknown."""
    if items and all(isinstance(item, int) for item in items):
        return [int(text) if _is_whole(text) else text for text in texts]
    return list(texts)


def _is_whole(text: Any) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")
