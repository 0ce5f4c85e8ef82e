"""A part that is read again must be the same part; targets are kept where the table is."""

import math

import dask
import dask.array as da
import numpy as np
import pytest

from veilspan import LogisticRegression, Ridge, RobustPCA
from veilspan.curator.dask import table as dask_table
from veilspan.curator.dask.rows import DaskRows, Look, MapAfterMap, Part
from veilspan.curator.dask.tasks import Call, run_guarded
from veilspan.curator.rows import Block
from veilspan.solvers.linear.gradient_descent import GradientDescent

from .tables import parts, rows

INF = math.inf
CHANGED = "a part changed while it was read again"


def counted(y, folder, sizes=(900,)):
    """Targets in one chunk, of the next of the sizes each time that they are made."""

    def made():
        import uuid

        number = len(list(folder.iterdir()))
        (folder / uuid.uuid4().hex).touch()
        return y[: sizes[min(number, len(sizes) - 1)]]

    return da.from_delayed(dask.delayed(made, pure=False)(), y.shape, y.dtype)


@pytest.mark.parametrize("share", [0.4, 0.0], ids=["fits", "too large"])
def test_targets_are_kept_with_the_table(client, tmp_path, monkeypatch, share):
    monkeypatch.setattr(dask_table, "KEPT_SHARE", share)
    x = rows()
    y = counted(np.where(x[:, 0] > 0, 1.0, 0.0), tmp_path)
    solver = GradientDescent(steps=3)
    LogisticRegression(row_norm=1.0, epsilon=INF, solver=solver).fit(parts(x, (900,)), y)
    read = len(list(tmp_path.iterdir()))
    assert read == (1 if share else 2 + 3)  # labels, the check, the answers


@pytest.mark.parametrize("share", [0.4, 0.0], ids=["fits", "too large"])
@pytest.mark.parametrize("changing", ["rows", "targets"])
def test_a_part_that_changes_its_length_is_refused(client, tmp_path, monkeypatch, share, changing):
    monkeypatch.setattr(dask_table, "KEPT_SHARE", share)
    x = rows()
    y = x[:, 0]
    model = Ridge(row_norm=1.0, target_range=(-1, 1), epsilon=INF, solver=GradientDescent(steps=3))
    sizes = (900, 899)
    if changing == "rows":
        table, targets = counted(x, tmp_path, sizes), parts(y, (900,))
    else:
        table, targets = parts(x, (900,)), counted(y, tmp_path, sizes)
    if share:  # read once, so nothing changes
        model.fit(table, targets)
    else:
        with pytest.raises(ValueError, match=CHANGED):
            model.fit(table, targets)


def test_a_table_without_targets_too(client, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_table, "KEPT_SHARE", 0.0)
    with pytest.raises(ValueError, match=CHANGED):
        RobustPCA(2, epsilon=INF).fit(counted(rows(), tmp_path, (900, 901, 450)))


def test_parts_know_their_length():
    x = rows(10)
    for refused in (
        lambda: Part(x, x[:9, 0]),
        lambda: Part(x).look_through(Look().of_part(0, 9)),
        lambda: run_guarded(Call(Part), x, x[:9, 0]).raise_here(),
    ):
        with pytest.raises(ValueError, match=CHANGED):
            refused()
    assert Part(x, x[:, 0]).look_through(Look().of_part(0, 10)).n_rows == 10


def test_rows_are_paired_once_and_not_mapped_before(client):
    seen = DaskRows(dask_table.dask_table(parts(rows())))
    mapped, pairs = seen.mapped(abs, 6), seen.paired(np.random.default_rng(0))
    for again in (
        lambda: pairs.mapped(abs, 6),
        lambda: pairs.paired(np.random.default_rng(0)),
        lambda: mapped.paired(np.random.default_rng(0)),
    ):
        with pytest.raises(TypeError, match="not mapped or paired again"):
            again()


def test_a_map_after_a_map_is_one():
    twice = MapAfterMap(double, add_one)
    block = Block(rows(5), present=np.array([True, False, True, True, False]))
    assert np.array_equal(twice(block).x, 2 * block.x + 1)


def double(block):
    return Block(2 * block.x, block.y)


def add_one(block):
    assert block.present is not None  # whether a row takes part is not lost in between
    return Block(block.x + 1, block.y)
