"""Fits of tables that wait on a disk: the same model, flat memory, and nothing left behind."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from veilspan import PCA, LogisticRegression, Schema
from veilspan.curator import row_store
from veilspan.curator.disk_rows import DiskRows
from veilspan.datasets import make_ward
from veilspan.privacy.errors import NotPrivateWarning, TemporaryFolderError, WithheldError
from veilspan.queries.linear.table_features import TableFeatures, TableLine
from veilspan.tables.persons import person_store
from veilspan.tables.sources.frames import ArrayColumns

WARD = make_ward(600, random_state=0)
PROC = Path("/proc/self/fd")


def schema_of(relation="replace-one", *, count=False):
    text = WARD.schema_toml
    if relation == "add-remove":
        text = text.replace("count    = 600", 'neighbors = "add-remove"')
    elif not count:
        text = text.replace("count    = 600", "")
    return Schema.from_toml(text)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VEILSPAN_TEMP", str(tmp_path))
    return tmp_path


@pytest.fixture
def on_disk(monkeypatch):
    """Every row waits on the disk; says how many tables did."""
    seen = []
    real = DiskRows.__init__

    def watched(self, file, **options):
        seen.append(file.n_rows)
        real(self, file, **options)

    monkeypatch.setattr(DiskRows, "__init__", watched)
    monkeypatch.setattr(row_store, "KEPT_BYTES", 0)
    monkeypatch.setattr(person_store, "KEPT_BYTES", 0)
    return seen


class Streamed(ArrayColumns):
    """Columns that are not said to be in memory, as those of a file, which may wait on a disk."""

    in_memory = False


def fit(make, table):
    with pytest.warns(NotPrivateWarning):
        return make().fit(table)


@pytest.mark.parametrize(
    ("relation", "solver"),
    [
        *(("replace-one", name) for name in ("auto", "gd", "sgd", "newton", "objective")),
        *(("add-remove", name) for name in ("auto", "gd", "newton")),
    ],
)
def test_a_model_from_a_disk_has_the_bits_of_one_from_memory(request, relation, solver):
    """Without places the order is that of the table, and every solver walks over the disk."""
    schema = schema_of(relation)

    def make():
        return LogisticRegression(
            schema=schema, solver=solver, neighbors=relation, random_state=0, epsilon=5.0,
            features="linear",
        )  # fmt: skip

    memory = fit(make, WARD.columns)
    seen = request.getfixturevalue("on_disk")
    disk = fit(make, Streamed(WARD.columns))
    assert seen == [600]
    assert memory.coef_.tobytes() == disk.coef_.tobytes()
    assert memory.intercept_.tobytes() == disk.intercept_.tobytes()


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("solver", ["auto", "newton", "objective"])
def test_curves_from_a_disk_have_the_bits_of_those_from_memory(request, relation, solver):
    """Kept as floats, on the grid in memory, on the grid on a disk: where rows wait is no matter.

    Under add-remove their number is private, and with it where they wait.
    """
    schema = schema_of(relation)

    def make():
        return LogisticRegression(
            schema=schema, solver=solver, neighbors=relation, random_state=0, epsilon=5.0,
            features="auto", expected_rows=600,
        )  # fmt: skip

    models = [fit(make, WARD.columns)]
    patch = request.getfixturevalue("monkeypatch")
    for kind in (TableFeatures, TableLine):
        patch.setattr(kind, "kept_bytes", 0)
    models.append(fit(make, WARD.columns))
    seen = request.getfixturevalue("on_disk")
    models.append(fit(make, Streamed(WARD.columns)))
    assert seen == [600] * 3  # the rows themselves, straight ones and features
    (found,) = {model.feature_map_.theta.tobytes() for model in models}
    assert found


def test_places_on_a_disk_learn_the_same(on_disk):
    """By other coins, so not the same bits: without noise all rows in any order are one answer."""
    schema = schema_of(count=True)
    disk = PCA(2, schema=schema, epsilon=np.inf).fit(WARD.columns)
    assert on_disk
    row_store.KEPT_BYTES = 10**9
    memory = PCA(2, schema=schema, epsilon=np.inf).fit(WARD.columns)
    np.testing.assert_allclose(
        np.abs(np.sum(disk.components_ * memory.components_, axis=1)), 1.0, atol=1e-6
    )


@pytest.mark.filterwarnings("ignore::veilspan.RowCountWarning")  # test_schema.py asks for it
@pytest.mark.parametrize("rows", [300, 600, 900])
def test_what_is_planned_is_the_count_on_a_disk_too(on_disk, rows):
    columns = {name: (cells * 2)[:rows] for name, cells in WARD.columns.items()}
    model = PCA(2, schema=schema_of(count=True)).fit(columns)
    assert model.plan_.n_rows == 600
    assert on_disk == [600]


# ---------------------------------------------------------------- what can go wrong


def test_no_room_is_told_before_anything_is_charged(on_disk, monkeypatch):
    """Under replace-one the number of rows is public, and so is whether there is room for them."""
    monkeypatch.setenv("VEILSPAN_TEMP", "/nowhere")
    with pytest.raises(TemporaryFolderError, match=r"/nowhere.*No such file.*VEILSPAN_TEMP"):
        PCA(2, schema=schema_of()).fit(Streamed(WARD.columns))
    PCA(2, schema=schema_of()).fit(WARD.columns)  # a table in memory stays there
    assert on_disk == []


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_disk_that_fills_up_is_told_and_nothing_else(on_disk, monkeypatch, relation):
    """The sentence passes the silence, without what caused it, and says nothing of rows."""
    from veilspan.curator import secret_file

    def full(self, data):
        raise OSError(28, "No space left on device", "a patient's name")

    monkeypatch.setattr(secret_file.SecretFile, "_write", full)
    model = PCA(2, schema=schema_of(relation), neighbors=relation)
    with pytest.raises(TemporaryFolderError, match="No space left") as said:
        model.fit(Streamed(WARD.columns))
    assert "patient" not in str(said.value)
    assert said.value.__cause__ is said.value.__context__ is None
    assert not re.search(r"\d{3}", str(said.value).replace(os.environ["VEILSPAN_TEMP"], ""))
    assert not isinstance(said.value, WithheldError)


KILLED = """
import os, sys, time
import veilspan
from veilspan.curator import row_store
from veilspan.curator.rows import Rows
from veilspan.datasets import make_ward

row_store.KEPT_BYTES = 0
real = Rows.clipped_sum

def stop(*arguments, **options):
    print("in the middle", flush=True)
    time.sleep(600)

Rows.clipped_sum = stop
ward = make_ward(600, random_state=0)
veilspan.PCA(2, schema=ward.schema).fit(ward.columns)
"""


def open_files(pid, folder):
    """Where the open files of a process under a folder lead to."""
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(os.readlink(link))
    return [place for place in found if place.startswith(str(folder))]


@pytest.mark.skipif(not PROC.exists(), reason="needs /proc")
def test_nothing_stays_after_kill_9(folder):
    """Two fits at once in one folder: both have files without names, and one is killed."""
    both = [
        subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    try:
        for process in both:
            assert process.stdout.readline() == "in the middle\n"
        for process in both:
            places = open_files(process.pid, folder)
            assert places
            assert all(place.endswith(" (deleted)") for place in places)
        assert list(folder.iterdir()) == []
        numbers = [{os.stat(f"/proc/{p.pid}/fd/{n}").st_ino
                    for n in os.listdir(f"/proc/{p.pid}/fd")
                    if os.readlink(f"/proc/{p.pid}/fd/{n}").startswith(str(folder))}
                   for p in both]  # fmt: skip
        assert not numbers[0] & numbers[1]
        both[0].send_signal(signal.SIGKILL)
        both[0].wait(30)
        assert list(folder.iterdir()) == []
        assert open_files(both[1].pid, folder)  # the other one goes on
    finally:
        for process in both:
            process.kill()
            process.wait(30)
            process.stdout.close()
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not PROC.exists(), reason="needs /proc")
def test_a_fit_that_is_over_holds_no_file(folder, on_disk):
    PCA(2, schema=schema_of(count=True)).fit(WARD.columns)
    deadline = time.monotonic() + 5
    while open_files(os.getpid(), folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert open_files(os.getpid(), folder) == []


# ---------------------------------------------------------------- memory

GROWS = """
import sys
import numpy as np
import veilspan
from veilspan.curator import row_store
from veilspan.tables.persons import person_store
from veilspan.tables.sources.frames import ArrayColumns
from veilspan.tables.sources.table_source import TableSource
from veilspan.tables.cells import NumberCells

row_store.KEPT_BYTES = person_store.KEPT_BYTES = person_store.DEALT_BYTES = 2_000_000
from veilspan.curator import row_places
row_places.SHUFFLED_BYTES = 1_000_000
N, PEOPLE, BROKEN = int(sys.argv[1]), sys.argv[2] == "people", len(sys.argv) > 3
WIDTH, BATCH = 20, 10_000

class Made(TableSource):
    label, names = "made", ("who", *(f"n{i}" for i in range(WIDTH)))
    kinds = {"who": "integer", **{f"n{i}": "number" for i in range(WIDTH)}}

    def count_rows(self):
        return N

    def batches(self, columns):
        for start in range(0, N, BATCH):
            rng = np.random.default_rng(start)
            yield {c.name: NumberCells(rng.integers(N // 5, size=BATCH) if c.name == "who"
                                       else rng.random(BATCH)) for c in columns}

if BROKEN:  # a twin that keeps its rows in memory after all
    row_store.KEPT_BYTES = 10**12
unit = f'[unit]\\nprotects = "patient"\\nid = "who"\\nmax_rows = 3\\ncount = {N // 5}\\n' \
    'source = "x"\\n[columns.who]\\nrole = "id"\\n' if PEOPLE else \
    f'[unit]\\ncount = {N}\\nsource = "x"\\n[columns.who]\\nrole = "ignore"\\n'
text = 'veilspan_schema = 1\\nname = "made"\\n' + unit + "".join(
    f'[columns.n{i}]\\ntype = "number"\\nrange = [0, 1]\\nsource = "x"\\n' for i in range(WIDTH))
model = veilspan.PCA(2, delta=1e-9)
if sys.argv[2] == "curves":
    from veilspan.solvers.linear.newton import PrivateNewton
    text = text.replace("[columns.n0]", '[columns.n0]\\nrole = "target"')
    model = veilspan.LinearRegression(features="waves", solver=PrivateNewton(2), delta=1e-9)
model.set_params(schema=veilspan.Schema.from_toml(text))
import tracemalloc
veilspan.PCA(1).fit(np.eye(50, 3))  # so that imports do not count
tracemalloc.start()
model.fit(Made())
print(tracemalloc.get_traced_memory()[1] / 1e6)
"""


def peak(n, kind, *broken):
    """Megabytes that NumPy and Python had at most during a fit, in a process of its own."""
    result = subprocess.run(
        [sys.executable, "-c", GROWS, str(n), kind, *broken],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    return float(result.stdout)


@pytest.mark.parametrize(
    "kind", ["rows", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("people", "curves"))]
)
def test_ten_times_the_rows_need_less_than_half_more_memory(kind):
    assert peak(400_000, kind) < 1.5 * peak(40_000, kind)


@pytest.mark.parametrize("kind", ["rows", pytest.param("curves", marks=pytest.mark.long)])
def test_the_test_of_memory_has_power(kind):
    assert peak(400_000, kind, "broken") > 3 * peak(40_000, kind, "broken")
