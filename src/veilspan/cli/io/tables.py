"""Tables in files: read as numbers, with errors that name columns and never quote a cell."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from veilspan.cli.io.csv_file import CsvFile, point_to_schema

SUFFIXES = (".csv", ".tsv", ".parquet", ".npy", ".npz")


@dataclass(frozen=True)
class Table:
    """Rows, their targets if there are any, and the names of the columns if the file has them.

    ``rows`` is an array, a sparse matrix, or a Dask data frame of a folder of parquet files.
    """

    rows: Any
    targets: Any = None
    names: tuple[str, ...] | None = None

    @property
    def n_columns(self) -> int:
        """Number of columns; a table of matrices has one for each entry."""
        if self.names is not None:
            return len(self.names)
        return int(np.prod(self.rows.shape[1:]))


def read_table(
    path: str,
    *,
    columns: Sequence[str] | None = None,
    target: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Table:
    """Read a table of numbers.

    Parameters
    ----------
    path : str
        A ``.csv``, ``.tsv``, ``.parquet``, ``.npy`` or ``.npz`` file; or a folder of parquet files
        or a pattern (``part-*.parquet``), which needs Dask and is never loaded as a whole.
    columns : sequence of str, optional
        Names of the columns, or their numbers from 0 where there are no names. All by default, but
        the target.
    target : str, optional
        The column to predict; in an ``.npz`` file the array ``y`` is it.
    separator : str, optional
        Of a CSV file; a comma by default, a tab for ``.tsv``.
    header : bool, optional
        Whether the first line of a CSV file names its columns; see :class:`CsvFile`.
    encoding : str, optional
        Of a CSV file; UTF-8 by default.
    """
    place = Path(path)
    if any(letter in path for letter in "*?[") and not place.exists():
        return _read_parts(path, columns, target)
    if not place.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if place.is_dir():
        return _read_parts(path, columns, target)
    if place.suffix not in SUFFIXES:
        raise ValueError(f"{place.name} ends in none of {', '.join(SUFFIXES)}.")
    if place.stat().st_size == 0:
        raise ValueError(f"{place.name} is empty.")
    if place.suffix in (".csv", ".tsv"):
        file = CsvFile.open(place, separator, header=header, encoding=encoding)
        return _read_csv(place, columns, target, file)
    if header is not None:
        raise ValueError(f"--header and --no-header are for CSV files, which {place.name} is not.")
    if encoding is not None:
        raise ValueError(f"--encoding is for CSV files, which {place.name} is not.")
    if place.suffix == ".parquet":
        return _read_parquet(place, columns, target)
    return _read_arrays(place, columns, target)


def choose_columns(
    names: Sequence[str],
    columns: Sequence[str] | None,
    target: str | None,
    where: str,
    *,
    quote: bool = True,
) -> list[str]:
    """Names of the columns to read: those asked for, or all but the target.

    Without ``quote`` an error lists no names, for the line that should hold them may be a row;
    unless some of those asked for are among them, which shows that it is none.
    """
    there = set(names)
    asked = [*(columns or ()), *([target] if target else ())]
    missing = [name for name in asked if name not in there]
    if missing:
        told = ", ".join(map(repr, missing))
        if not quote and len(missing) == len(asked):
            raise ValueError(
                f"{where} has no column {told}; its first line has {len(names)} names, and "
                "--header allows to list them."
            )
        from veilspan.tables.problems import suggest

        hints = "".join(suggest(name, names) for name in missing[:3])
        raise ValueError(f"{where} has no column {told}; it has {join_names(names)}.{hints}")
    if columns is not None and len(set(columns)) < len(columns):
        raise ValueError("--columns names a column twice.")
    if columns is not None and target in columns:
        raise ValueError(f"the target {target!r} cannot be one of the columns it is predicted by.")
    chosen = list(columns) if columns is not None else [name for name in names if name != target]
    if not chosen:
        raise ValueError(f"{where} has no column beside the target.")
    return chosen


def join_names(names: Sequence[str], most: int = 12) -> str:
    """Join names for a sentence: the first few of them, and how many there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def _read_csv(
    path: Path, columns: Sequence[str] | None, target: str | None, file: CsvFile
) -> Table:
    chosen = choose_columns(file.names, columns, target, path.name, quote=file.declared)
    rows = file.read_numbers(chosen)
    _check_finite(rows, chosen, path.name)
    targets = None if target is None else file.read_labels(target)
    return Table(rows, targets, tuple(chosen) if file.has_header else None)


def _check_finite(rows: np.ndarray, names: Sequence[str], where: str) -> None:
    bad = [name for name, good in zip(names, np.isfinite(rows).all(axis=0)) if not good]
    if bad:
        raise ValueError(
            f"{where} holds NaN or infinite numbers in {join_names(bad)}: "
            f"{point_to_schema(where)}; or leave them out by --columns."
        )


def _read_arrays(path: Path, columns: Sequence[str] | None, target: str | None) -> Table:
    arrays = _load_arrays(path)
    if "indptr" in arrays:
        _refuse_choice(path, "a sparse matrix", columns, target)
        return Table(_load_sparse(path))
    known = "X" if "X" in arrays else next(iter(arrays), None)
    if known is None or (len(arrays) > 1 and "X" not in arrays):
        raise ValueError(f"{path.name} must hold an array X (and y, if there is a target).")
    rows = arrays[known]
    if rows.dtype.kind not in "fiub" or rows.ndim not in (2, 3):
        raise ValueError(f"{path.name} must hold a table of numbers, rows x columns.")
    if rows.ndim == 3:
        _refuse_choice(path, "a table of matrices", columns, target)
        return Table(rows)
    names = [str(i) for i in range(rows.shape[1])]
    in_file = target is not None and target in arrays and target != known
    column = None if in_file else target
    chosen = choose_columns(names, columns, column, f"{path.name} (columns are numbered)")
    targets = arrays[str(target)] if in_file else None
    if column is not None:
        targets = rows[:, int(column)]
    if targets is not None and targets.shape != rows.shape[:1]:
        raise ValueError(f"{path.name} must hold one target for each row.")
    picked = rows if chosen == names else rows[:, [int(name) for name in chosen]]
    return Table(picked, targets)


def _load_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with open(path, "rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"X": loaded}
            return {name: loaded[name] for name in loaded.files}
    except (FileNotFoundError, PermissionError):
        raise
    except Exception:
        pass  # of a broken archive or array, in the words of zipfile, zlib or NumPy
    raise ValueError(f"{path.name} is not a NumPy file of numbers, or is cut off.")


def _load_sparse(path: Path) -> Any:
    from scipy import sparse

    matrix = None
    with contextlib.suppress(Exception):  # SciPy's words on arrays that do not fit together
        found = sparse.csr_array(sparse.load_npz(path))
        found.check_format(full_check=True)
        matrix = found
    if matrix is None or matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise ValueError(f"{path.name} holds no whole sparse matrix of numbers.")
    return matrix


def _refuse_choice(
    path: Path, what: str, columns: Sequence[str] | None, target: str | None
) -> None:
    if columns is not None or target is not None:
        raise ValueError(
            f"{path.name} holds {what}, all of which is read: --columns and --target (and names "
            "of columns in a release) do not apply."
        )


def _read_parquet(path: Path, columns: Sequence[str] | None, target: str | None) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError("reading parquet needs pyarrow: pip install pyarrow.") from None
    try:
        file = parquet.ParquetFile(path)
    except pyarrow.ArrowInvalid:
        file = None
    if file is None:
        raise ValueError(f"{path.name} is not a parquet file, or is cut off.")
    with file:
        names = file.schema_arrow.names
        chosen = choose_columns(names, columns, target, path.name)
        table = file.read(columns=[*chosen, *([target] if target else [])])
    types = pyarrow.types
    text = [
        name
        for name in chosen
        if not (
            types.is_floating(kind := table.schema.field(name).type)
            or types.is_integer(kind)
            or types.is_boolean(kind)
        )
    ]
    _refuse_text(text, path.name)
    gaps = [name for name in (*chosen, *([target] if target else [])) if table[name].null_count]
    if gaps:
        raise ValueError(
            f"{path.name} has empty cells in {join_names(gaps)}: {point_to_schema(path.name)}."
        )
    rows = np.column_stack([table[name].to_numpy() for name in chosen])
    _check_finite(rows, chosen, path.name)
    return Table(rows, None if target is None else table[target].to_numpy(), tuple(chosen))


def _refuse_text(names: Sequence[str], where: str) -> None:
    if names:
        raise ValueError(
            f"{where} holds text, not numbers, in {join_names(names)}: {point_to_schema(where)}; "
            "or leave them out by --columns."
        )


def _read_parts(path: str, columns: Sequence[str] | None, target: str | None) -> Table:
    """Many parquet files as one Dask data frame, which is not loaded."""
    try:
        import dask.dataframe as frames
    except ImportError:
        raise ImportError(
            "a folder or pattern of parquet files needs Dask: pip install 'veilspan[dask]'."
        ) from None
    place = Path(path)
    pattern = str(place / "*.parquet") if place.is_dir() else path
    frame = None
    if glob(pattern):
        with contextlib.suppress(OSError, ValueError):
            frame = frames.read_parquet(pattern)
    if frame is None:
        raise ValueError(f"{path} holds no parquet files that could be read.")
    chosen = choose_columns([str(name) for name in frame.columns], columns, target, path)
    _refuse_text([name for name in chosen if frame.dtypes[name].kind not in "fiub"], path)
    return Table(frame[chosen], None if target is None else frame[target], tuple(chosen))
