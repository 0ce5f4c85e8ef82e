"""What a release makes of rows of one's own: read as the fit read its rows, then written."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from veilspan._progress import show_progress
from veilspan.catalogue import ESTIMATORS
from veilspan.cli.arguments.options import split_names
from veilspan.cli.console import note, print_json, say
from veilspan.cli.io.declared_data import (
    load_schema,
    open_data,
    refuse_beside_schema,
    refuse_without_schema,
)

if TYPE_CHECKING:
    import numpy as np

#: Names of columns and their values.
Results = tuple[Sequence[str], Sequence["np.ndarray"]]


class OwnRows(NamedTuple):
    """Where the rows are, and how the user says that they are to be read."""

    data: str
    table: str | None
    schema: Path | None
    columns: str | None
    separator: str | None
    decimal: str | None
    header: bool | None
    encoding: str | None
    by_person: bool = False


def write_results(
    release: Path, key: Path | None, rows: OwnRows, out: Path, wanted: str, *, as_json: bool
) -> None:
    """Write what a release makes of rows to a file, and say so.

    Parameters
    ----------
    release : Path
        Folder of the release.
    key : Path or None
        Key file that sealed it.
    rows : OwnRows
        Where the rows are.
    out : Path
        A .csv, .npy or .parquet file.
    wanted : {"any", "predict", "proba"}
        Whatever the model makes of rows; predictions; probabilities.
    as_json : bool
        Whether to print JSON.
    """
    from veilspan.cli.io.fit_input import name_data
    from veilspan.cli.io.output_tables import check_not_input, check_output, write_table

    check_output(out)
    check_not_input(out, rows.data)
    from veilspan.releases import load

    model = load(release, key=key)
    _check_model(model, release, wanted)
    with show_progress(f"reading {name_data(rows.data)}", quiet=as_json):
        names, values = _apply_release(model, rows, wanted)
        write_table(out, names, values)
    count = len(values[0])
    if as_json:
        print_json({"file": str(out), "rows": count, "columns": list(names)})
    else:
        what = "people" if rows.by_person else "rows"
        say(f"{count:,} {what} x {len(names)} columns written to {out}")


def _check_model(model: Any, release: Path, wanted: str) -> None:
    if _is_recommender(model):
        raise ValueError(f"a recommender has no rows to transform: veilspan recommend {release}.")
    name = type(model).__name__
    if hasattr(model, "column_names"):
        raise ValueError(f"a profile describes a table, not rows: veilspan report {release}.")
    if wanted == "proba" and not hasattr(model, "predict_proba"):
        raise ValueError(f"{name} has no probabilities: leave --proba out.")
    if wanted == "predict" and not hasattr(model, "predict"):
        raise ValueError(f"{name} predicts nothing: veilspan transform gives coordinates of rows.")


def _is_recommender(model: Any) -> bool:
    """Whether it learned from ratings, or is the part of such a release that users hold."""
    known = ESTIMATORS.get(type(model).__name__)
    return hasattr(model, "item_ids") or (known is not None and known.reads == "ratings")


def _apply_release(model: Any, rows: OwnRows, wanted: str) -> Results:
    """Read the rows as the fit read its own, and let the model make of them what is wanted."""
    schema = _find_schema(model, rows)
    if schema is not None:
        return _apply(model, _open_by_schema(schema, rows), wanted, by_person=rows.by_person)
    from veilspan.cli.io.tables import read_table

    refuse_without_schema(rows.data, rows.table)
    if rows.decimal is not None:
        raise ValueError("--decimal is for releases that were fitted by a schema: leave it out.")
    table = read_table(
        rows.data,
        columns=_choose_columns(model, rows.columns),
        separator=rows.separator,
        header=rows.header,
        encoding=rows.encoding,
    )
    return _apply(model, table.rows, wanted)


def _find_schema(model: Any, rows: OwnRows) -> Any:
    """The schema inside the release, if there is one; another one is refused."""
    known = getattr(model, "schema", None)
    if rows.by_person and getattr(getattr(known, "unit", None), "id", None) is None:
        raise ValueError(
            "--by-person needs a release whose schema says whose row it is (id = ... in its "
            "[unit]): leave it out."
        )
    if known is None:
        if rows.schema is not None:
            raise ValueError(
                "this release was fitted without a schema: leave --schema out; columns are found "
                "by their names."
            )
        return None
    said = {"columns": rows.columns, "header": rows.header}
    refuse_beside_schema(said, {}, where="beside this release")
    if rows.schema is not None:
        given = load_schema(rows.schema)
        if given.digest != known.digest:
            raise ValueError(
                f"{rows.schema} is another schema (digest {given.digest[:12]}) than that of the "
                f"release (digest {known.digest[:12]}). New rows are read exactly as those of the "
                "fit: leave --schema out, the release holds its own."
            )
    return known


def _open_by_schema(schema: Any, rows: OwnRows) -> Any:
    """The table as the release is to read it; say which of its columns are left out."""
    from veilspan.cli.io.own_table import open_own
    from veilspan.cli.io.tables import join_names
    from veilspan.tables.problems import show

    said = {"separator": rows.separator, "decimal": rows.decimal, "encoding": rows.encoding}
    table, ignored = open_own(open_data(rows.data, rows.table), schema, said)
    if ignored:
        shown = join_names([show(name) if name else "the one without a name" for name in ignored])
        note(f"columns that the release does not know are ignored: {shown}.")
    return table


def _choose_columns(model: Any, given: str | None) -> list[str] | None:
    """Those named, else those the release was learned from, else all."""
    if given is not None:
        return split_names(given)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _apply(model: Any, rows: Any, wanted: str, *, by_person: bool = False) -> Results:
    """Names and columns of what the model makes of the rows, or of people, ids first."""
    if by_person:
        return _apply_to_people(model, rows, wanted)
    with warnings.catch_warnings():
        # The columns were picked by name; the array that holds them has no names.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if wanted == "proba":
            table = _compute(model.predict_proba(rows))
            return [f"probability_{label}" for label in model.classes_], list(table.T)
        if hasattr(model, "predict"):
            return ["prediction"], [_compute(model.predict(rows))]
        table = _compute(model.transform(rows))
    return [str(name) for name in model.get_feature_names_out()], list(table.T)


def _apply_to_people(model: Any, rows: Any, wanted: str) -> Results:
    if model.schema.unit.combine == "none":
        raise ValueError(
            'the schema of the release combines no rows (combine = "none"): leave --by-person out, '
            "and there is a line for each row."
        )
    if wanted == "proba":
        found = model.predict_proba(rows, by_person=True)
        names = [f"probability_{label}" for label in model.classes_]
    elif hasattr(model, "predict"):
        found, names = model.predict(rows, by_person=True), ["prediction"]
    else:
        found = model.transform(rows, by_person=True)
        names = [str(name) for name in model.get_feature_names_out()]
    values = found.values.reshape(len(found), -1)
    return [model.schema.unit.id, *names], [found.ids, *values.T]


def _compute(result: Any) -> np.ndarray:
    """The result as an array: that of a lazy table is computed now, since it is written next."""
    import numpy as np

    return np.asarray(result.compute() if hasattr(result, "compute") else result)
