"""The table of peers: its measurement, its verdicts and its rows, without other libraries."""

import numpy as np
import pytest
from veilspan_experiments import cells
from veilspan_experiments.peers import audits, measure, run, tasks_linear, verdicts, work
from veilspan_experiments.peers.measure import Found, Metric, Table, Task, Way

NONE, PRIVATE = "none", "1-DP"


def row(library, quality, cpu=1.0, memory=1.0, guarantee=PRIVATE, better="lower", **more):
    return {
        "task": "t", "metric": "m", "library": library, "quality": quality, "better": better,
        "cpu_seconds": cpu, "memory_mb": memory, "guarantee": guarantee, "failure": "", **more,
    }  # fmt: skip


def double(table, seed, factor=2.0):
    return {"twice": factor * table["rows"]}


def fail_on_second(table, seed):
    if seed == 1:
        raise RuntimeError("no more")
    return double(table, seed)


@pytest.fixture
def folder(tmp_path):
    for name in ("warm", "table0", "table1"):
        np.savez(tmp_path / f"{name}.npz", rows=np.arange(3.0))
    return tmp_path


def test_every_fit_is_timed_and_its_answer_kept(folder):
    choices = [{"factor": 2.0}, {"factor": 3.0}]
    settings = {"warm": choices, "repeats": 2, "limit": 0}
    lines = list(work.fits(double, folder, 2, choices, **settings))
    assert [(line["table"], line["choice"]) for line in lines] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert all(line["cpu"] >= 0 for line in lines)
    np.testing.assert_array_equal(work.read(folder / lines[1]["answer"])["twice"], [0, 3, 6])


def test_what_was_finished_before_an_error_is_not_lost(folder, monkeypatch):
    module = type("module", (), {"way": staticmethod(fail_on_second)})
    monkeypatch.setattr(work.importlib, "import_module", lambda name: module)
    told = []
    settings = {"folder": str(folder), "tables": 2, "choices": [{}], "warm": [{}], "repeats": 1,
                "limit": 0, "package": "numpy"}  # fmt: skip
    work.answer("module.way", settings, told.append)
    assert told[0]["version"] == np.__version__
    assert told[1]["table"] == 0
    assert told[2] == {"error": "RuntimeError: no more"}


def test_memory_of_a_fit_is_seen():
    base = work.peak_megabytes(reset=True)
    block = np.ones(8_000_000)
    grown = work.peak_megabytes() - base
    assert block.nbytes / 2**20 * 0.9 < grown + 1


def task_of(metric):
    table = Table({"rows": np.ones(2)}, None)
    return Task("t", (metric,), lambda: [table], lambda: table, (), lambda a, t: (0.0,))


def test_the_best_choice_is_shown_and_of_equal_ones_the_fastest():
    way = Way("x", "what", "a.b", ({"c": 1}, {"c": 2}, {"c": 3}))
    found = Found("1", [[[0.5]], [[0.2]], [[0.2]]], [[1.0], [3.0], [2.0]], [1.0, 2.0, 3.0], 1)
    (shown,) = measure.rows_of(task_of(Metric("error")), way, found)
    assert (shown["quality"], shown["cpu_seconds"], shown["chosen"]) == (0.2, 2.0, "c = 3")
    (shown,) = measure.rows_of(task_of(Metric("score", lower=False)), way, found)
    assert (shown["quality"], shown["chosen"]) == (0.5, "c = 1")


def test_a_way_without_an_answer_is_a_row_that_says_so():
    found = Found("1", [[]], [[]], [None], 2, "no answer in 10 CPU s")
    (shown,) = measure.rows_of(task_of(Metric("error")), Way("x", "what", "a.b"), found)
    assert shown["quality"] is None
    assert (shown["finished"], shown["failure"]) == ("0 of 2", "no answer in 10 CPU s")


@pytest.mark.parametrize(("other", "holds"), [(0.3, True), (0.1, False)])
def test_accuracy_is_judged_both_ways(other, holds):
    rows = [row("veilspan", 0.2), row("diffprivlib", other)]
    assert verdicts.accuracy(rows).holds is holds
    higher = [{**r, "better": "higher", "quality": -r["quality"]} for r in rows]
    assert verdicts.accuracy(higher).holds is holds


def test_accuracy_is_not_judged_by_ways_without_privacy():
    rows = [row("veilspan", 0.2), row("scikit-learn", 0.1, guarantee=NONE)]
    assert verdicts.accuracy(rows).holds is None


@pytest.mark.parametrize(("cpu", "holds"), [(1.0, True), (0.1, False)])
def test_times_are_judged_both_ways(cpu, holds):
    rows = [row("veilspan", 0.2), row("diffprivlib", 0.2, cpu=cpu)]
    assert verdicts.times(rows, verdicts.private, "").holds is holds


def test_times_of_less_accurate_ways_do_not_count():
    rows = [row("veilspan", 0.2), row("diffprivlib", 0.4, cpu=0.01)]
    assert verdicts.times(rows, verdicts.private, "").holds is None


@pytest.mark.parametrize(("memory", "holds"), [(60.0, True), (20.0, False)])
def test_memory_is_judged_both_ways(memory, holds):
    rows = [row("veilspan", 0.2, memory=100.0), row("diffprivlib", 0.2, memory=memory)]
    assert verdicts.memory(rows).holds is holds


@pytest.mark.parametrize(("failure", "holds"), [("", True), ("no answer in 1 CPU s", False)])
def test_a_missing_answer_of_ours_is_told(failure, holds):
    rows = [row("veilspan", 0.2), row("veilspan", 0.2, guarantee=NONE, failure=failure, what="w")]
    assert verdicts.answers(rows).holds is holds


@pytest.mark.parametrize(("bound", "holds"), [(0.4, True), (1.2, False)])
def test_a_refuted_promise_is_a_cost(bound, holds):
    found = {"a": [audits.Verdict("veilspan", "PCA", 1.0, bound, 10)]}
    assert verdicts.audited(found).holds is holds
    assert len(verdicts.costs(found)) == (0 if holds else 1)
    assert ("REFUTED" in found["a"][0].text()) is not holds


def test_a_leak_is_a_violation_without_a_bound():
    assert audits.Verdict("veilspan", "PCA", 1.0, 0.0, 10, violated=True).refuted


def test_games_separate_what_differs():
    rng = np.random.default_rng(0)
    first, second = rng.random(2000) < 0.05, rng.random(2000) < 0.6
    assert audits.bound_of(first, second, 0.5) > 1
    assert audits.bound_of(first, first, 0.5) == 0


def test_public_bounds_put_rows_into_the_unit_ball():
    rows = np.array([[0.0, 10.0], [10.0, 10.0]])
    scaled = tasks_linear.in_unit_ball(rows, {"feature_range": (0, 10), "row_norm": 2.0})
    np.testing.assert_allclose(scaled, [[-0.5, 0.5], [0.5, 0.5]])
    assert np.linalg.norm(tasks_linear.in_unit_ball(rows, {"row_norm": 1.0}), axis=1).max() <= 1


class Stop(Exception):
    pass


def test_an_interrupted_run_goes_on_to_the_same_table(tiny_job, monkeypatch):
    calls, measured = [], run.run_way
    # Somebody may be editing an experiment meanwhile, which rightly makes a run start anew.
    monkeypatch.setattr(cells, "code_digest", lambda: "the same")

    def interrupted(*arguments):
        if len(calls) == 3:
            raise Stop
        calls.append(arguments)
        return measured(*arguments)

    monkeypatch.setattr(run, "run_way", interrupted)
    with pytest.raises(Stop):
        run.run(tiny_job("peers"))
    monkeypatch.setattr(run, "run_way", measured)
    job = tiny_job("peers")
    assert job._cells.resumed >= 3
    record = run.run(job)
    assert len(record["claims"]) == 6
    assert job.file("csv").is_file()
    assert job.pictures == ["peers-private", "peers-other"]


def test_each_task_is_done_by_every_way_that_needs_no_other_environment(tiny_job):
    for task in run.all_tasks(tiny_job("peers")):
        for way in task.ways:
            if way.library in measure.HERE:
                found = measure.run_way(task, way, None)
                assert found.failure == ""
                rows = measure.rows_of(task, way, found)
                assert all(np.isfinite(shown["quality"]) for shown in rows)


def test_ratios_refer_to_our_first_way():
    rows = [row("scikit-learn", 0.1, cpu=1.0), row("veilspan", 0.2, cpu=2.0)]
    run.add_ratios(rows)
    assert [r["time_ratio"] for r in rows] == [0.5, 1.0]
