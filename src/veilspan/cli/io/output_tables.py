"""Tables that commands write: checked before the work, written whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from veilspan._files import write_whole


def write_table(path: Path, names: Sequence[str], columns: Sequence[Any]) -> None:
    """Write columns to a ``.csv``, ``.npy`` or ``.parquet`` file, whole or not at all."""
    if path.suffix == ".csv":
        write_whole(path, lambda stream: stream.write(_format_csv(names, columns).encode()))
    elif path.suffix == ".npy":
        table = columns[0] if len(columns) == 1 else np.column_stack(columns)
        write_whole(path, lambda stream: np.save(stream, table, allow_pickle=False))
    elif path.suffix == ".parquet":
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise ImportError("writing parquet needs pyarrow: pip install pyarrow.") from None
        table = pyarrow.table(dict(zip(names, map(pyarrow.array, columns))))
        write_whole(path, lambda stream: parquet.write_table(table, stream))
    else:
        check_output(path)


def check_not_input(out: Path, data: str) -> None:
    """Refuse to write over what is read."""
    place = Path(data)
    read = [place, *place.glob("*.parquet")] if place.exists() else map(Path, glob(data))
    if out.exists() and any(path.exists() and out.samefile(path) for path in read):
        raise ValueError(f"--out {out} is the file that is read: choose another.")


def check_output(path: Path) -> None:
    """Refuse an output file that cannot be written, before the work."""
    if path.suffix not in (".csv", ".npy", ".parquet"):
        raise ValueError(f"--out must end in .csv, .npy or .parquet; got {path.name!r}.")


def _format_csv(names: Sequence[str], columns: Sequence[Any]) -> str:
    """Columns as the text of a CSV file; numbers keep every digit."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(zip(*(getattr(c, "tolist", lambda c=c: c)() for c in columns)))
    return stream.getvalue()
