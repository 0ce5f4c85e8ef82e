"""What a schema costs: reading and encoding tables beside bare pyarrow and beside plain arrays.

    python benchmarks/tables.py [--rows 500000] [--repeats 5] [--quick]

PCA is fitted to a CSV file of 20 mixed columns without quotes, by its schema; bare pyarrow does the
same reads and casts of the same file, with and without the sum to a Gram matrix, and keeps nothing.
Beside the fit its rows are encoded and summed without being kept, which tells what keeping costs.
PCA is fitted to numbers in memory, with a schema and without: whole fits, as a user has them. The
plain fit is of the same encoded numbers as one array, with the same questions (a private mean,
which a schema asks for unless told otherwise, and the second moment around it). The
standard-library reader is timed by the number of columns, where the time of a cell must not grow.
"""

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv
from threadpoolctl import threadpool_limits

from _report import best_times, met, note, ratio, save, say, seconds, show
from veilspan import PCA
from veilspan.tables.encoding import encode_batches, encode_table
from veilspan.tables.schema import Schema
from veilspan.tables.sources import csv_file
from veilspan.tables.sources.csv_file import CsvFile
from veilspan.tables.sources.csv_lines import parse_lines

NUMBERS, LABELS, FLAGS, DAYS = 10, 6, 2, 2
WARDS = tuple("ABCDE")
CSV_TARGET, MEMORY_TARGET, LINEAR_TARGET = 1.3, 1.1, 1.5
WIDTHS = (20, 200, 2000)
CELLS = 600_000
COMPONENTS = 3
OURS, STREAMED, PLAIN = "PCA by a schema", "encoded, summed, not kept", "plain"
BARE, BARE_GRAM = "pyarrow", "pyarrow, Gram"


def mixed_columns(numbers: int, labels: int, flags: int, days: int) -> str:
    """So many columns of each kind, in TOML: n0, n1, ..., k0, ..., b0, ..., d0, ..."""
    source = 'source = "generated"\n'
    wards = ", ".join(f'"{ward}"' for ward in WARDS)
    parts = [f'[columns.n{i}]\ntype = "number"\nrange = [0, 200]\n{source}' for i in range(numbers)]
    parts += [
        f'[columns.k{i}]\ntype = "category"\ncategories = [{wards}]\nother = true\n{source}'
        for i in range(labels)
    ]
    parts += [f'[columns.b{i}]\ntype = "boolean"\n{source}' for i in range(flags)]
    parts += [
        f'[columns.d{i}]\ntype = "date"\nrange = [2020-01-01, 2025-12-31]\n{source}'
        for i in range(days)
    ]
    return "".join(parts)


def mixed_schema() -> Schema:
    """Ten numbers, six categories, two booleans, two dates."""
    columns = mixed_columns(NUMBERS, LABELS, FLAGS, DAYS)
    return Schema.from_toml('veilspan_schema = 1\nname = "mixed"\n' + columns)


def write_mixed(path: Path, n: int) -> None:
    """A file of the mixed schema, with some missing cells."""
    rng = np.random.default_rng(0)
    table = {f"n{i}": pa.array(rng.gamma(4.0, 20.0, n).round(4)) for i in range(NUMBERS)}
    table["n0"] = pa.array(np.where(rng.random(n) < 0.02, np.nan, table["n0"]), from_pandas=True)
    labels = np.array([*WARDS, "Z"])
    table |= {f"k{i}": pa.array(labels[rng.integers(6, size=n)]) for i in range(LABELS)}
    table |= {f"b{i}": pa.array(rng.random(n) < 0.5) for i in range(FLAGS)}
    first = np.datetime64("2020-01-01")
    table |= {f"d{i}": pa.array(first + rng.integers(2000, size=n)) for i in range(DAYS)}
    options = csv.WriteOptions(quoting_style="none")
    csv.write_csv(pa.table(table), path, options)


def gram_of_file(schema: Schema, path: Path) -> np.ndarray:
    """The Gram matrix of a file's encoded rows."""
    total = 0.0
    for batch in encode_batches(schema, CsvFile(path)):
        total = total + batch.x.T @ batch.x
    return total


def bare_types() -> dict[str, pa.DataType]:
    types = {f"n{i}": pa.float64() for i in range(NUMBERS)}
    types |= {f"k{i}": pa.dictionary(pa.int32(), pa.string()) for i in range(LABELS)}
    types |= {f"b{i}": pa.bool_() for i in range(FLAGS)}
    return types | {f"d{i}": pa.date32() for i in range(DAYS)}


def bare_read(path: Path, *, gram: bool) -> np.ndarray | None:
    """pyarrow's reads and casts of the same file; with ``gram`` what a script does with them."""
    options = csv.ConvertOptions(column_types=bare_types())
    total = np.zeros(())
    with csv.open_csv(path, convert_options=options) as reader:
        for batch in reader:
            if gram:
                x = bare_matrix(batch)
                total = total + x.T @ x
    return total


def bare_matrix(batch: pa.RecordBatch) -> np.ndarray:
    """Scaled numbers and columns of 0 and 1, without care for what is odd."""
    columns = []
    for name, array in zip(batch.schema.names, batch.columns):
        if name[0] == "n":
            values = array.to_numpy(zero_copy_only=False) / 100 - 1
            columns.append(np.clip(np.where(np.isnan(values), 0.0, values), -1, 1))
        elif name[0] == "k":
            places = {label: i for i, label in enumerate(WARDS)}
            table = np.array([places.get(x, 5) for x in array.dictionary.to_pylist()])
            columns.extend(np.eye(6)[table[array.indices.to_numpy()]].T)
        elif name[0] == "b":
            columns.append(array.to_numpy(zero_copy_only=False).astype(float))
        else:
            days = array.cast(pa.int32()).to_numpy(zero_copy_only=False)
            columns.append(np.clip((days - 18262.0) / 1095.5 - 1, -1, 1))
    return np.stack(columns, axis=1)


def number_schema(d: int) -> Schema:
    columns = (
        f'[columns.n{i}]\ntype = "number"\nrange = [-4, 4]\nsource = "generated"\n'
        for i in range(d)
    )
    return Schema.from_toml('veilspan_schema = 1\nname = "numbers"\n' + "".join(columns))


def memory_calls(n: int, d: int) -> dict:
    """Fits of PCA, which asks for one second moment: of plain rows and by a schema."""
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((n, d)), columns=[f"n{i}" for i in range(d)])
    arrow = pa.Table.from_pandas(frame)
    arrays = {name: np.ascontiguousarray(frame[name]) for name in frame}
    schema = number_schema(d)
    plain = PCA(COMPONENTS, row_norm=schema.row_norm, center="private")
    return {
        PLAIN: partial(plain.fit, encode_table(schema, frame).x),
        "pandas": partial(fit_by, schema, frame),
        "Arrow": partial(fit_by, schema, arrow),
        "arrays": partial(fit_by, schema, arrays),
    }


def fit_by(schema: Schema, table: object) -> PCA:
    return PCA(COMPONENTS, schema=schema).fit(table)


def fallback_times(repeats: int) -> dict[int, float]:
    """CPU seconds a cell of the standard-library reader, by the number of columns."""
    calls = {}
    with tempfile.TemporaryDirectory() as folder:
        for d in WIDTHS:
            rng = np.random.default_rng(0)
            values = rng.standard_normal((CELLS // d, d)).round(4).astype(str)
            lines = [",".join(row) for row in [[f"n{i}" for i in range(d)], *values.tolist()]]
            path = Path(folder) / f"{d}.csv"
            path.write_text("\n".join(lines))
            calls[d] = partial(encode_table, number_schema(d), CsvFile(path))
        default = csv_file.choose_parser
        csv_file.choose_parser = lambda: (parse_lines, csv_file.PYTHON_BLOCK)
        try:
            return {d: time / CELLS for d, time in best_times(calls, repeats).items()}
        finally:
            csv_file.choose_parser = default


def file_times(n: int, repeats: int) -> dict[str, float]:
    """CPU seconds from a file to a fit, and of bare pyarrow."""
    schema = mixed_schema()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.csv"
        write_mixed(path, n)
        calls = {
            OURS: lambda: fit_by(schema, CsvFile(path)),
            STREAMED: partial(gram_of_file, schema, path),
            BARE: partial(bare_read, path, gram=False),
            BARE_GRAM: partial(bare_read, path, gram=True),
        }
        found = best_times(calls, repeats)
        for name in (OURS, BARE):
            found[f"{name}, seconds"] = wall_time(calls[name], repeats)
        return found


def wall_time(call, repeats: int) -> float:
    """Seconds by the clock: blocks are parsed while others are encoded."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def print_times(n: int, d: int, file: dict, memory: dict, fallback: dict) -> None:
    rows = [[name, seconds(value)] for name, value in file.items()]
    show(f"{n:,} rows of 20 mixed columns, CSV, CPU (or by the clock)", ["", "time"], rows)
    cpu = file[OURS] / file[BARE_GRAM]
    note(f"Target: at most {CSV_TARGET} of pyarrow to the same Gram: {cpu:.2f}, "
         f"{met(cpu, CSV_TARGET)}.")  # fmt: skip
    bare, clock = file[OURS] / file[BARE], file[f"{OURS}, seconds"] / file[f"{BARE}, seconds"]
    note(f"Of pyarrow's reads alone: {bare:.2f} in CPU, {clock:.2f} by the clock.\n")
    rows = [[name, seconds(v), f"{v / memory[PLAIN]:.2f}"] for name, v in memory.items()]
    show(f"PCA of {n:,} x {d} numbers in memory, CPU", ["", "", ""], rows)
    best = memory["pandas"] / memory[PLAIN]
    note(f"Target: at most {MEMORY_TARGET}: {best:.2f}, {met(best, MEMORY_TARGET)}.\n")
    rows = [[f"{width:,}", seconds(value)] for width, value in fallback.items()]
    show("The reader of the standard library, CPU a cell", ["columns", "a cell"], rows)
    growth = fallback[WIDTHS[-1]] / fallback[WIDTHS[0]]
    note(f"Target: at most {LINEAR_TARGET} times as much a cell in wide tables: {growth:.2f}, "
         f"{met(growth, LINEAR_TARGET)}.")  # fmt: skip


def ratios(file: dict, memory: dict, fallback: dict) -> list:
    found = [
        ratio("CSV to Gram", file[OURS], file[BARE_GRAM], BARE_GRAM, "peer", CSV_TARGET),
        ratio("CSV to Gram", file[OURS], file[BARE], "pyarrow, reads alone", "limit"),
        ratio("CSV to Gram, not kept", file[STREAMED], file[BARE_GRAM], BARE_GRAM, "peer"),
    ]
    for name, value in memory.items():
        target = MEMORY_TARGET if name == "pandas" else None
        if name != PLAIN:
            case = f"numbers in memory, {name}"
            found.append(ratio(case, value, memory[PLAIN], "plain rows", "peer", target))
    wide, narrow = fallback[WIDTHS[-1]], fallback[WIDTHS[0]]
    found.append(ratio("a cell, no pyarrow", wide, narrow, "20 columns", "peer", LINEAR_TARGET))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a fifth of the rows, 2 repeats")
    options = parser.parse_args()
    n = options.rows // 5 if options.quick else options.rows
    repeats = 2 if options.quick else options.repeats
    with threadpool_limits(1):
        say("files ...")
        file = file_times(n, repeats)
        say("numbers in memory ...")
        memory = best_times(memory_calls(n, options.columns), repeats)
        say("the standard library's reader ...")
        fallback = fallback_times(2)
    print_times(n, options.columns, file, memory, fallback)
    found = {"file": file, "memory": memory, "fallback": fallback}
    save("tables", found, ratios(file, memory, fallback))


if __name__ == "__main__":
    main()
