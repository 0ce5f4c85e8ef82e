"""Tables larger than memory: does the memory of a fit stay flat while the rows grow tenfold?

    python benchmarks/large_tables.py [--rows 4000000] [--quick] [--folder DIR]

A table of visits, 20 columns of every kind and some eight rows a person, is written as Parquet, and
a tenth of it too. Every fit runs in a process of its own, which reads the file from a cold start
and says how much memory it had at most (the peak of its resident set). Asked is that ten times the
rows need less than 1.5 times the memory, and that no fit needs 500 MB. Seconds are those of the
clock, with other work on the machine or without: nothing is asked of them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from _report import met, note, save, say, show

ROWS_A_PERSON = 8
NUMBERS, LABELS, FLAGS, DAYS = 9, 6, 1, 2
WARDS = tuple("ABCDE")
MOST_MEGABYTES, MOST_GROWTH = 500, 1.5
CHUNK = 100_000
DELTA = 1e-9
FIRST_DAY = np.datetime64("2020-01-01")


def write_schema(path: Path, n_people: int, *, people: bool) -> None:
    """The schema of the table: whose rows they are, or a row a person."""
    from tables import mixed_columns

    source = 'source = "generated"\n'
    parts = ['veilspan_schema = 1\nname = "visits"\n']
    if people:
        parts.append(
            '[unit]\nprotects = "patient"\nid = "who"\nmax_rows = 8\ncombine = "mean"\n'
            f"count = {n_people}\n{source}"
        )
    parts.append(f'[columns.who]\nrole = "{"id" if people else "ignore"}"\n')
    parts.append(mixed_columns(NUMBERS, LABELS, FLAGS, DAYS))
    how = 'combine = "any"\n' if people else ""
    parts.append(
        '[columns.y]\nrole = "target"\ntype = "category"\ncategories = ["no", "yes"]\n'
        f"{how}{source}"
    )
    path.write_text("".join(parts))


def write_table(path: Path, n_rows: int, n_people: int) -> None:
    """Visits in no order, some cells missing, a chunk at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer, rng = None, np.random.default_rng(0)
    for start in range(0, n_rows, CHUNK):
        n = min(CHUNK, n_rows - start)
        columns: dict[str, Any] = {"who": rng.integers(n_people, size=n).astype(str)}
        first = rng.normal(100.0, 40.0, n)
        for i in range(NUMBERS):
            values = first / (i + 1) + rng.normal(0.0, 30.0, n)
            columns[f"n{i}"] = pa.array(values, mask=rng.random(n) < 0.05)
        for i in range(LABELS):
            columns[f"k{i}"] = np.array([*WARDS, "elsewhere"])[rng.integers(6, size=n)]
        for i in range(FLAGS):
            columns[f"b{i}"] = rng.random(n) < 0.3
        for i in range(DAYS):
            columns[f"d{i}"] = FIRST_DAY + rng.integers(0, 2000, n).astype("timedelta64[D]")
        columns["y"] = np.where(first + rng.normal(0.0, 40.0, n) > 150.0, "yes", "no")
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


# ---------------------------------------------------------------- one fit, in a process of its own


def make_model(kind: str, schema: Any) -> Any:
    """What is fitted, by its name in the table of results."""
    import veilspan

    if kind == "profile":
        return veilspan.Profile(schema=schema, delta=DELTA)
    if kind == "pca":
        return veilspan.PCA(3, schema=schema, delta=DELTA)
    return veilspan.LogisticRegression(schema=schema, solver="newton", delta=DELTA)  # 33 walks


def peak_megabytes() -> float:
    """The most memory that this process had; what it was started from does not count."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit_once(kind: str, table: str, schema: str) -> None:
    """Fit, and print what it took as JSON."""
    import veilspan

    start = time.perf_counter()
    make_model(kind, veilspan.Schema.load(schema)).fit(veilspan.open_table(table))
    took = time.perf_counter() - start
    print(json.dumps({"seconds": took, "megabytes": peak_megabytes()}))


def run_fit(kind: str, table: Path, schema: Path) -> dict[str, float]:
    """The same in a process of its own."""
    words = [sys.executable, __file__, "--fit", kind, str(table), str(schema)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{kind} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


CASES = {
    "PCA, a row a person": ("pca", False),
    "logistic regression, a row a person": ("logistic", False),
    "PCA, people": ("pca", True),
    "logistic regression, people": ("logistic", True),
    "profile, a row a person": ("profile", False),
    "profile, people": ("profile", True),
}


def measure(sizes: list[int], folder: Path, chosen: list[str]) -> dict[str, list[dict[str, float]]]:
    """What each fit took, by the size of the table."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in chosen}
    for n_rows in sizes:
        n_people = n_rows // ROWS_A_PERSON
        table = folder / f"{n_rows}.parquet"
        say(f"writing {n_rows:,} visits ...")
        write_table(table, n_rows, n_people)
        schemas = {people: folder / f"{people}.toml" for people in (False, True)}
        for people, path in schemas.items():
            write_schema(path, n_people, people=people)
        for name in chosen:
            kind, people = CASES[name]
            found[name].append(run_fit(kind, table, schemas[people]))
            last = found[name][-1]
            say(f"{name}: {last['seconds']:.1f} s, {last['megabytes']:.0f} MB")
        table.unlink()
    return found


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--quick", action="store_true", help="a quarter of the rows")
    parser.add_argument("--folder", type=Path, help="where tables are written")
    parser.add_argument("--only", choices=sorted(CASES), action="append")
    parser.add_argument(
        "--fit", nargs=3, metavar=("KIND", "TABLE", "SCHEMA"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.fit:
        fit_once(*options.fit)
        return
    rows = options.rows // 4 if options.quick else options.rows
    sizes = [rows // 10, rows]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        found = measure(sizes, Path(folder), options.only or list(CASES))
    lines, ratios = [], []
    for name, (small, large) in found.items():
        growth = large["megabytes"] / small["megabytes"]
        lines.append([
            name, *(f"{one['seconds']:.1f}" for one in (small, large)),
            *(f"{one['megabytes']:.0f}" for one in (small, large)), f"{growth:.2f}",
        ])  # fmt: skip
        ratios.append({"case": name, "growth": growth, "small": small, "large": large})
    heads = [f"{n:,} rows" for n in sizes]
    columns = ["fit", *(f"{h}, s" for h in heads), *(f"{h}, MB" for h in heads), "growth"]
    show("Seconds, and the most memory that the process had", columns, lines)
    worst = max(one["growth"] for one in ratios)
    most = max(one["large"]["megabytes"] for one in ratios)
    note(f"Ten times the rows: at most {worst:.2f} times the memory ({MOST_GROWTH} asked: "
         f"{met(worst, MOST_GROWTH)}). At most {most:.0f} MB ({MOST_MEGABYTES} asked: "
         f"{met(most, MOST_MEGABYTES)}).")  # fmt: skip
    save("large_tables", {"rows": rows, "cases": ratios})


if __name__ == "__main__":
    main()
