"""``veilspan transform``: use a release on rows of your own. Nothing is spent."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veilspan.cli.console import busy, print_json, say
from veilspan.cli.tables import check_not_input, check_output, read_table, write_table


def run_transform(
    release: Path,
    data: str,
    out: Path,
    *,
    columns: str | None,
    separator: str | None,
    header: bool | None,
    probabilities: bool,
    key: Path | None,
    as_json: bool,
) -> None:
    """Coordinates or predictions of rows, written to a file."""
    check_output(out)
    check_not_input(out, data)
    from veilspan.releases import load

    model = load(release, key=key)
    if type(model).__name__ in ("MatrixCompletion", "LocalPredictor"):
        raise ValueError(f"a recommender has no rows to transform: veilspan recommend {release}.")
    with busy(f"transforming {Path(data).name}", quiet=as_json):
        chosen = _columns(model, columns)
        table = read_table(data, columns=chosen, separator=separator, header=header)
        names, values = _applied(model, table.rows, probabilities)
        write_table(out, names, values)
    count = len(values[0])
    if as_json:
        print_json({"file": str(out), "rows": count, "columns": list(names)})
    else:
        say(f"{count:,} rows x {len(names)} columns written to {out}")


def _columns(model: Any, given: str | None) -> list[str] | None:
    """Those named, else those the release was learned from, else all."""
    if given is not None:
        return [name.strip() for name in given.split(",")]
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _applied(
    model: Any, rows: Any, probabilities: bool
) -> tuple[Sequence[str], Sequence[np.ndarray]]:
    with warnings.catch_warnings():
        # The columns were picked by name; the array that holds them has no names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if probabilities:
            if not hasattr(model, "predict_proba"):
                raise ValueError(f"{type(model).__name__} has no probabilities: leave --proba out.")
            table = _here(model.predict_proba(rows))
            return [f"probability_{label}" for label in model.classes_], list(table.T)
        if hasattr(model, "predict"):
            return ["prediction"], [_here(model.predict(rows))]
        table = _here(model.transform(rows))
    return [str(name) for name in model.get_feature_names_out()], list(table.T)


def _here(result: Any) -> np.ndarray:
    """Results of a lazy table are asked for here: they are about to be written."""
    return np.asarray(result.compute() if hasattr(result, "compute") else result)
