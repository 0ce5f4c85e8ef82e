"""Nothing of a row reaches a log, an error or this process; noise is drawn here."""

import math
import pickle
import traceback

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pytest
from distributed import KilledWorker

from curator.slack_of_sums import rounding_slack
from veilspan import PCA, RGD, Budget, LogisticRegression, Loss, RobustPCA, WithheldError, minimize
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.curator.dask import rows as dask_rows
from veilspan.curator.dask import tasks
from veilspan.curator.dask.rows import DaskRows, Look, Part
from veilspan.curator.dask.table import MOST_PARTS, dask_table, dask_targets
from veilspan.curator.dask.tasks import Call, Refusal, run_guarded
from veilspan.curator.rows import Rows
from veilspan.geometry import Sphere
from veilspan.privacy.noise import SecureNoise, SeededNoise
from veilspan.queries.moments import SecondMoment
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent

from .tables import parts, rows

SECRET = 123456.789
INF = math.inf


def logs(client):
    found = [*client.get_worker_logs().values(), client.get_scheduler_logs()]
    return "\n".join(str(line) for lines in found for line in lines)


def test_a_bad_entry_is_refused_with_the_same_sentence_and_no_value(client):
    x = rows()
    x[17] = SECRET
    x[18, 3] = np.nan
    said = []
    for table in (x, parts(x)):
        with pytest.raises(ValueError) as caught:
            PCA(2, epsilon=INF).fit(table)
        said.append(str(caught.value))
    assert "contains NaN" in said[1]
    assert all("123456" not in text for text in said)
    y = np.zeros(len(x))
    y[0], y[5] = np.nan, SECRET
    with pytest.raises(ValueError) as caught:
        LogisticRegression(row_norm=1.0, classes=[0, 1]).fit(parts(rows()), y)
    assert "123456" not in str(caught.value) + logs(client)


def quoting(z, w):
    raise ValueError(f"{z}")


def test_an_error_of_somebody_elses_code_says_its_type_alone(client):
    x = np.full((20, 3), SECRET)
    with pytest.raises(WithheldError) as caught:
        minimize(
            Loss(Sphere(3), quoting),
            da.from_array(x, chunks=(10, 3)),
            budget=Budget(INF, 1e-6),
            solver=RGD(steps=1, step=0.1),
            clip=1.0,
        )
    assert caught.value.__context__ is None
    assert "123456" not in logs(client)


NAME = "Jane Doe"


@pytest.fixture(params=["cluster", "threads"])
def anywhere(request):
    return request.getfixturevalue("client" if request.param == "cluster" else "threads")


def quoting_chunk(block):
    raise LookupError(f"{NAME} in {block[:1]}")


def unreadable_tables(folder):
    """Tables whose own tasks fail and quote a cell, each in another place."""
    file = folder / "people.csv"
    file.write_text("a,b\n" + "1.0,2.0\n" * 20 + f"3.0,{NAME}\n")
    yield ValueError, dd.read_csv(str(file), dtype=float)
    chunks = da.from_array(rows(90), chunks=(30, 6))
    yield RuntimeError, chunks.map_blocks(quoting_chunk, dtype=float, meta=np.empty((0, 0)))
    unknown = chunks[chunks[:, 0] > -9].map_blocks(
        quoting_chunk, dtype=float, meta=np.empty((0, 0))
    )
    yield RuntimeError, unknown


def test_tasks_that_make_the_table_quote_no_cell(anywhere, tmp_path):
    for kind, table in unreadable_tables(tmp_path):
        for model in (PCA(1), RobustPCA(1)):
            with pytest.raises(kind, match="a task that makes the table failed") as caught:
                model.fit(table)
            said = "".join(traceback.format_exception(caught.value))
            assert NAME not in said
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None


def test_targets_quote_no_cell_either(anywhere):
    x = da.from_array(rows(90), chunks=(30, 6))
    y = da.from_array(np.zeros(90), chunks=30).map_blocks(quoting_chunk, dtype=float)
    with pytest.raises(RuntimeError, match="a task that makes the table failed") as caught:
        LogisticRegression(row_norm=1.0, classes=[0, 1]).fit(x, y)
    assert NAME not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_a_cluster_that_fails_is_told_from_rows_that_do():
    def lost():
        raise KilledWorker("a task", None, 3)

    def full():
        raise MemoryError

    with pytest.raises(tasks.ClusterError, match=r"gave no result \(KilledWorker\)"):
        tasks.wait_for(lost)
    with pytest.raises(MemoryError):
        tasks.wait_for(full)
    with pytest.raises(MemoryError):
        run_guarded(Call(full)).raise_here()


def test_errors_of_libraries_are_not_quoted():
    # Also where the line that fails is one of this package, and the error comes from C.
    refusal = run_guarded(Call(Part), np.zeros((1, 1)), ["a name"])
    assert isinstance(refusal, Refusal)
    assert refusal.text == "a part could not be computed: ValueError."
    assert run_guarded(Call(len), refusal) is refusal
    assert run_guarded(Call(sum), [1, refusal]) is refusal


def test_workers_of_another_version_are_refused():
    call = Call(len)
    for name in ("veilspan", "randomgen"):
        call.versions = {**Call(len).versions, name: "0.0.0"}
        with pytest.raises(ValueError, match=rf"{name} .*this process 0\.0\.0: install the same"):
            run_guarded(call, [1]).raise_here()


def test_nothing_is_printed_or_pickled(client):
    x = np.full((4, 2), SECRET)
    part = Part(x, x[:, 0])
    key = SeededNoise(123456).sampling_key(0, 0)
    assert "123456" not in repr(part) + repr(Call(len, x)) + repr(key) + repr(vars(key).keys())
    assert part.__sizeof__() >= x.nbytes
    copy = pickle.loads(pickle.dumps(part))
    assert copy._last == ("", None)
    table = dask_table(da.from_array(x, chunks=(2, 2)))
    for held in (table, DaskRows(table)):
        with pytest.raises(TypeError, match="never pickled"):
            pickle.dumps(held)


def test_names_of_tasks_are_functions_and_random_numbers(client, monkeypatch):
    names = []
    gather = type(client).gather

    def listening(self, futures, *args, **kwargs):
        names.extend(future.key for future in futures)
        return gather(self, futures, *args, **kwargs)

    monkeypatch.setattr(type(client), "gather", listening)
    RobustPCA(2, epsilon=INF).fit(parts(rows()))
    allowed = ("run_guarded-", "clipped_parts-", "sum_of-")
    assert names
    assert all(name.startswith(allowed) for name in names)
    assert len(set(names)) == len(names)


def test_rows_stay_where_they_are(client, monkeypatch):
    """What comes here are counts and sums, nothing of the size of a part."""
    largest = []
    gather = type(client).gather

    def weighing(self, *args, **kwargs):
        found = gather(self, *args, **kwargs)
        largest.extend(np.size(each) for each in found)
        assert not any(isinstance(each, Part) for each in found)
        return found

    def never(*args, **kwargs):
        raise AssertionError("the table was loaded")

    lazy = parts(rows())
    monkeypatch.setattr(type(client), "gather", weighing)
    for name in ("compute", "__array__", "persist"):
        monkeypatch.setattr(da.Array, name, never)
    model = RobustPCA(2, epsilon=INF).fit(lazy)
    model.transform(lazy)
    LogisticRegression(row_norm=1.0, epsilon=INF, solver="objective").fit(lazy, lazy[:, 0] > 0)
    assert 0 < max(largest) <= 7 * 7


def test_noise_is_drawn_here_once_an_answer(client, monkeypatch):
    draws = []
    add_noise = Curator._add_noise
    monkeypatch.setattr(Curator, "_add_noise", lambda *args: (draws.append(1), add_noise(*args))[1])
    # Sources of noise do not reach a worker at all.
    monkeypatch.setattr(SecureNoise, "__reduce_ex__", lambda *_: 1 / 0)
    client.run(silenced, True)  # workers that would draw noise fail
    try:
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            tasks.results([tasks.task(noisy, [0.0])])
        solver = GeodesicGradientDescent(steps=5, halvings=1)
        model = RobustPCA(2, solver=solver).fit(parts(rows()))
    finally:
        client.run(silenced, False)
    assert len(draws) == sum(event.count for event in model.plan_.events)


def silenced(yes):
    """Make every way to noise fail in the process where this runs, or put them back."""
    from veilspan.curator import curator
    from veilspan.privacy import discrete, grid

    for module, name in (
        (grid, "add_noise"),
        (discrete, "add_discrete_noise"),
        (curator, "add_noise"),
        (curator, "add_discrete_noise"),
    ):
        kept = f"_kept_{name}"
        if yes:
            setattr(module, kept, getattr(module, name))
            setattr(module, name, lambda *_: 1 / 0)
        else:
            setattr(module, name, getattr(module, kept))


def noisy(value):
    """Something that draws noise."""
    from veilspan.privacy.grid import add_noise

    return add_noise(np.array(value), None, None)


def test_rounding_is_allowed_for(client):
    """More than in memory, by the additions of parts, and for all rows."""
    x = rows()
    there = DaskRows(dask_table(parts(x)))
    here = Rows(x)
    assert there.extra_terms["replace-one"] == 5
    # Where the number of rows is private, so is that of parts: it must not show in the noise.
    assert there.extra_terms["add-remove"] == MOST_PARTS
    other = DaskRows(dask_table(parts(x[:-1], (250, 1, 400, 248))))
    args = (SecondMoment(1.0), None, "add-remove")
    assert rounding_slack(other, *args) == rounding_slack(there, *args)
    for neighbors in ("replace-one", "add-remove"):
        slack = rounding_slack(there, SecondMoment(1.0), None, neighbors)
        assert slack > rounding_slack(here, SecondMoment(1.0), None, neighbors)
        assert slack < 1e-3


def test_names_of_targets_do_not_tell_labels():
    """Dask names what it is given by its contents, unless told otherwise."""
    table = dask_table(da.from_array(rows(), chunks=(300, 6)))
    twice = [dask_targets(np.zeros(900), table).parts for _ in range(2)]
    assert len({part.key for parts_ in twice for part in parts_}) == 6


def clip_nothing(self, query, point, space, sampling=None, rows_per_block=None):
    """A broken copy: the workers forget to clip."""
    return self.add_parts(unclipped_parts, query, point, space)


def unclipped_parts(some, looks, _, query, point, space):
    total = np.zeros(space.coordinates)
    for part, look in zip(some, looks):
        seen = part.look_through(look)
        for block in [] if seen is None else seen.blocks(100):
            prepared = query.prepare(block, point)
            total += space.embed(query.weighted_sum(prepared, np.ones(block.n_rows), point))
    return total


def test_replay_passes_and_catches_a_broken_copy(client, monkeypatch):
    x = rows(60)
    other = x.copy()
    other[3] = 1e3
    sizes = (20, 0, 1, 39)

    def fit(table):
        return PCA(2, center="private", random_state=0).fit(table)

    report = replay(fit, parts(x, sizes), parts(other, sizes))
    assert report.ok, report.findings
    assert report.questions == 3  # two looks and a moment
    assert 0.1 < report.largest_use <= 1
    monkeypatch.setattr(DaskRows, "clipped_sum", clip_nothing)
    broken = replay(fit, parts(x, sizes), parts(other, sizes))
    assert any("declared sensitivity" in finding for finding in broken.findings)


def test_a_look_is_kept_for_the_next_step_and_no_longer():
    part, look = Part(rows(10)), Look()
    first = part.look_through(look.of_part(0))
    assert part.look_through(look.of_part(0)) is first
    assert part.look_through(Look().of_part(0)) is not first
    assert Part(rows(2)[:0]).look_through(look) is None


def test_sums_of_many_groups_meet_in_a_tree(client):
    futures = tasks.start([Call(abs)] * 70, [-float(i) for i in range(70)])
    assert tasks.add_futures(futures) == sum(range(70))
    assert tasks.add_tasks([tasks.task(abs, [-1.0]) for _ in range(70)]) == 70.0
    assert dask_rows.start is tasks.start
