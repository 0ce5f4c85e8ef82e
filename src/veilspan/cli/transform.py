"""``veilspan transform``: use a release on rows of your own. Nothing is spent."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veilspan._progress import show_progress
from veilspan.catalogue import ESTIMATORS
from veilspan.cli.arguments.options import (
    AsJson,
    Columns,
    DataFile,
    Header,
    KeyFile,
    Release,
    Separator,
    split_names,
)
from veilspan.cli.console import print_json, say

if TYPE_CHECKING:
    import numpy as np


def transform(
    release: Release,
    data: DataFile,
    out: Annotated[Path, typer.Option(help="A .csv, .npy or .parquet file.")],
    columns: Columns = None,
    separator: Separator = None,
    header: Header = None,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes.")] = False,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Coordinates or predictions of rows of your own, by a release.

    Nothing is spent. Columns are found by the names the release was learned from.

    Example: veilspan transform release table.csv --out coordinates.csv
    """
    from veilspan.cli.io.output_tables import check_not_input, check_output, write_table
    from veilspan.cli.io.tables import read_table

    check_output(out)
    check_not_input(out, data)
    from veilspan.releases import load

    model = load(release, key=key)
    if _is_recommender(model):
        raise ValueError(f"a recommender has no rows to transform: veilspan recommend {release}.")
    with show_progress(f"transforming {Path(data).name}", quiet=json):
        chosen = _choose_columns(model, columns)
        table = read_table(data, columns=chosen, separator=separator, header=header)
        names, values = _apply(model, table.rows, probabilities=proba)
        write_table(out, names, values)
    count = len(values[0])
    if json:
        print_json({"file": str(out), "rows": count, "columns": list(names)})
    else:
        say(f"{count:,} rows x {len(names)} columns written to {out}")


def _is_recommender(model: Any) -> bool:
    """Whether it learned from ratings, or is the part of such a release that users hold."""
    from veilspan.estimators.completion.local_predictor import LocalPredictor

    known = ESTIMATORS.get(type(model).__name__)
    return isinstance(model, LocalPredictor) or (known is not None and known.reads == "ratings")


def _choose_columns(model: Any, given: str | None) -> list[str] | None:
    """Those named, else those the release was learned from, else all."""
    if given is not None:
        return split_names(given)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _apply(
    model: Any, rows: Any, *, probabilities: bool
) -> tuple[Sequence[str], Sequence[np.ndarray]]:
    """Names and columns of what the model makes of the rows."""
    with warnings.catch_warnings():
        # The columns were picked by name; the array that holds them has no names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if probabilities:
            if not hasattr(model, "predict_proba"):
                raise ValueError(f"{type(model).__name__} has no probabilities: leave --proba out.")
            table = _compute(model.predict_proba(rows))
            return [f"probability_{label}" for label in model.classes_], list(table.T)
        if hasattr(model, "predict"):
            return ["prediction"], [_compute(model.predict(rows))]
        table = _compute(model.transform(rows))
    return [str(name) for name in model.get_feature_names_out()], list(table.T)


def _compute(result: Any) -> np.ndarray:
    """The result as an array: that of a lazy table is computed now, since it is written next."""
    import numpy as np

    return np.asarray(result.compute() if hasattr(result, "compute") else result)
