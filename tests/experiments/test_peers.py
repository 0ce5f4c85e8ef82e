"""The table of peers: its measurement, its verdicts and its rows, without other libraries."""

import subprocess
import sys

import numpy as np
import pytest

from experiments import job as jobs
from experiments.environments import PeerUnavailable
from experiments.peers import (
    audits,
    measure,
    run,
    tasks_linear,
    tasks_subspace,
    verdicts,
    work,
)
from experiments.peers.measure import Found, Metric, Table, Task, Way
from veilspan.audit.bounds import error_rates

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


def test_quality_is_the_median_over_tables():
    found = Found("1", [[[0.1], [0.2], [9.0]]], [[1.0, 1.0, 1.0]], [1.0], 3)
    (shown,) = measure.rows_of(task_of(Metric("error")), Way("x", "what", "a.b"), found)
    assert shown["quality"] == 0.2


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


def test_two_estimators_of_ours_are_said_to_be_a_choice_by_the_truth(tiny_job):
    rows = [row("veilspan", 0.2), row("veilspan", 0.5), row("diffprivlib", 0.3)]
    assert "by the truth was taken for t (of 2)" in verdicts.accuracy(rows).measured
    assert "by the truth" not in verdicts.accuracy([rows[0], rows[2]]).measured
    ways = tasks_subspace.private_pca(tiny_job("peers"), 4).ways
    ours = [way for way in ways if way.library == "veilspan" and way.private]
    assert [way.what for way in ours] == ["PCA", "RobustPCA"]
    assert all("by the truth" in way.granted for way in ours)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_a_fast_inaccurate_way_of_ours_is_no_win(better):
    sign = 1 if better == "lower" else -1
    rows = [row("veilspan", sign * 0.9, 1.0), row("diffprivlib", sign * 0.1, 100.0)]
    claim = verdicts.times([{**r, "better": better} for r in rows], verdicts.private, "")
    assert claim.holds is None
    assert "none of ours is as accurate: diffprivlib on t" in claim.measured


@pytest.mark.parametrize(("slow", "holds"), [(100.0, False), (1.5, True)])
def test_a_fast_inaccurate_way_of_ours_hides_no_slow_one(slow, holds):
    ours = [row("veilspan", 0.9, cpu=0.1), row("veilspan", 0.1, cpu=slow)]
    rows = [*ours, row("diffprivlib", 0.1, cpu=1.0)]
    assert verdicts.times(rows, verdicts.private, "").holds is holds


@pytest.mark.parametrize(("fast", "holds"), [(0.01, False), (0.9, True)])
def test_a_library_is_judged_by_the_way_that_is_worst_for_us(fast, holds):
    rows = [row("veilspan", 0.2), row("diffprivlib", 0.2, 10.0), row("diffprivlib", 0.4, fast)]
    assert verdicts.times(rows, verdicts.private, "").holds is holds


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


def test_promises_that_rest_on_the_replay_alone_are_counted():
    def measured(*bounds):
        found = [audits.Verdict("veilspan", "PCA", 1.0, bound, 10) for bound in bounds]
        return verdicts.audited({"a": found}).measured

    assert "bound is 0 for 2 of them, where the verdict rests on the replay" in measured(0, 0.3, 0)
    assert "replay" not in measured(0.2, 0.3)


def test_a_leak_is_a_violation_without_a_bound():
    assert audits.Verdict("veilspan", "PCA", 1.0, 0.0, 10, violated=True).refuted


def test_games_separate_what_differs():
    rng = np.random.default_rng(0)
    first, second = rng.random(2000) < 0.05, rng.random(2000) < 0.6
    assert audits.bound_of(first, second, 0.5) > 1
    assert audits.bound_of(first, first, 0.5) == 0


@pytest.mark.parametrize(("hits", "refuted"), [(300, False), (400, True)])
def test_a_small_excess_accuses_nobody(hits, refuted):
    """Both shares over 0.1 refute a promise of 0.6 at 1 %; only the larger one at 1e-6."""
    first, second = (np.arange(1000) < count for count in (100, hits))
    assert error_rates(first, second, 0.5, 0.01).epsilon(0) > 0.6
    bound = audits.bound_of(first, second, 0.5)
    assert audits.Verdict("x", "game", 0.6, bound, 2000).refuted is refuted
    assert audits.ALPHA == 1e-6


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
    monkeypatch.setattr(jobs, "digest_imports", lambda module: "the same")

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
    assert len(record["facts"]["shown"]) > 0
    assert "table" not in record["facts"]
    assert job.file("csv").is_file()
    assert job.pictures == ["peers-private", "peers-other"]


def unavailable(*_, **__):
    raise PeerUnavailable("no network.")


def test_a_library_that_cannot_be_run_is_tried_again(tiny_job, monkeypatch):
    job, way = tiny_job("peers"), Way("veilspan", "w", "a.b", ({}, {}))
    task, answer = task_of(Metric("error")), Found("1", [[[0.5]], []], [[1.0], []], [1.0, None], 1)
    monkeypatch.setattr(run, "run_way", unavailable)
    (shown,) = run.measured(job, None, task, way)
    assert (shown["quality"], shown["failure"]) == (None, "no network.")
    assert shown["finished"] == "0 of 1"
    monkeypatch.setattr(run, "run_way", lambda *_: answer)
    assert run.measured(job, None, task, way)[0]["quality"] == 0.5
    monkeypatch.setattr(run, "run_way", unavailable)  # an answer is kept
    assert run.measured(job, None, task, way)[0]["quality"] == 0.5


def test_an_audit_that_could_not_be_run_is_tried_again(tiny_job, monkeypatch):
    job, found = tiny_job("peers"), audits.Verdict("diffprivlib", "PCA", 1.0, 0.5, 10)
    monkeypatch.setattr(audits, "ask", unavailable)

    def game():
        return audits.diffprivlib("pca", "PCA", 1.0, 0.9, 10)

    missing = audits.kept(job, "diffprivlib PCA", game)
    assert missing.text().startswith("PCA: not audited (")
    assert not missing.refuted
    assert audits.kept(job, "diffprivlib PCA", lambda: found) == found
    assert audits.kept(job, "diffprivlib PCA", game) == found


def test_a_game_without_an_answer_is_not_kept(monkeypatch):
    monkeypatch.setattr(audits, "run_way", lambda *_, **__: Found(failure="ValueError: no"))
    with pytest.raises(PeerUnavailable, match="ValueError: no"):
        audits.opendp_noise(None, 10)


def test_a_process_that_ended_is_said_so_and_forgotten():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", ""], **pipes)
    process.wait()
    with measure.Workers() as workers:
        workers._running["here"] = process
        with pytest.raises(PeerUnavailable, match="the process of veilspan ended"):
            workers.lines(Way("veilspan", "w", "a.b"), {"limit": 0})
        assert workers._running == {}


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
