"""Figure 3 of the manifold experiments: gradient calls, verdicts, and the small run."""

import csv
import json
import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.riemannian import fig3, fig3_problems, tuned, verdicts
from veilspan import RGD, RSGD, RSVRG, FrechetLoss, GaussianEvent
from veilspan.geometry import SPD


def test_gradient_calls_are_counted_as_the_paper_counts_them():
    def counted(name, solver, length):
        return list(fig3.call_counts(name, solver, SimpleNamespace(trace=[0] * length), 100))

    assert counted("RGD", RGD(steps=3), 3) == [0, 100, 200, 300]
    assert counted("RSGD", RSGD(steps=2, batch_rate=0.1), 2) == [0, 10, 20]
    svrg = RSVRG(epochs=2, inner_steps=2, batch_rate=0.1)
    assert counted("RSVRG", svrg, 4) == [0, 120, 140, 260, 280]


def test_the_default_pays_for_its_histograms_too():
    names = ["opening, scale", "opening", "step 1, scale", "step 1", "step 2, scale", "step 2"]
    made = SimpleNamespace(
        trace=[0, 0], plan=SimpleNamespace(events=[GaussianEvent(n) for n in names])
    )
    assert list(fig3.call_counts("default", None, made, 10)) == [20, 40, 60]


def test_excess_is_that_of_the_paper():
    """Twice the mean loss: mean squared distances, and minus w^T A w."""
    spd, _, eigen, _, tree = fig3_problems.all_problems(limit=30)
    start = np.mean(spd.loss.manifold.dist(spd.start, spd.rows) ** 2)
    assert math.isclose(spd.risk(spd.start), start)
    moment = eigen.rows.T @ eigen.rows / len(eigen.rows)
    largest = np.linalg.eigvalsh(moment)[-1]
    expected = largest - eigen.start @ moment @ eigen.start
    assert math.isclose(eigen.excess(eigen.start), expected, rel_tol=1e-9)
    for problem in (spd, eigen, tree):
        assert problem.excess(problem.minimum) < 1e-9
        assert problem.excess(problem.start) > 1e-4
        lengths = np.linalg.norm(problem.loss.coordinates(problem.rows, problem.start), axis=1)
        assert np.all(lengths <= problem.bound)  # the bound is public, and holds at the start


def test_the_solver_of_the_paper_has_the_most_settings():
    spd, _, eigen, _, tree = fig3_problems.all_problems(limit=30)
    for problem in (spd, eigen, tree):
        for name, solver in tuned.SOLVERS.items():
            settings = tuned.grid(problem, name)
            assert (
                (96 if name == "RSVRG" else 48) <= len(settings) <= (128 if name == "RSVRG" else 80)
            )
            assert all(solver(**options) and 0 < clip <= 1 for options, clip in settings)


def test_screening_keeps_the_noise_on_means():
    budget = tuned.Budget(0.3, fig3_problems.DELTA)
    looser = tuned.epsilon_of_mu(7 * budget.mu)
    assert math.isclose(tuned.Budget(looser, fig3_problems.DELTA).mu, 7 * budget.mu)


def made_rows(default, svrg):
    """Two checkpoints of one cell with known excess."""
    final = {"RGD": 1.0, "RSGD": 1.3, "RSVRG": svrg, "default": default}
    return [
        {"problem": "made", "epsilon": 0.1, "solver": s, "passes": p, "excess": e, "setting": "x"}
        for s, last in final.items()
        for p, e in ((0.0, 10.0), (4.0 if s == "RGD" else 2.0, last))
    ]


def judged(**final):
    claims = verdicts.claims(verdicts.summaries(made_rows(**final)))
    return [claim.holds for claim in claims]


def test_verdicts_can_go_either_way():
    # One cell that is of no kind: nothing to say of means, eigenvectors or the ball.
    assert judged(default=0.7, svrg=0.5) == [True, True, None, None, None, True]
    assert judged(default=0.8, svrg=0.5) == [True, True, None, None, None, False]
    assert judged(default=1.4, svrg=3.0) == [False, False, None, None, None, True]
    assert "wins by more than 10% in 1 of 1" in verdicts.verdict(
        verdicts.summaries(made_rows(default=1.4, svrg=0.5))
    )


@pytest.mark.parametrize(("kind", "place"), [("SPD", 2), ("eigenvector", 3), ("Poincaré", 4)])
def test_verdicts_of_a_kind_can_go_either_way(kind, place):
    def holds(svrg, calls):
        rows = made_rows(default=1.0, svrg=svrg)
        for row in rows:
            row["problem"] = f"{kind} made"
            if row["solver"] == "RSVRG" and row["passes"]:
                row["passes"] = calls
        return verdicts.claims(verdicts.summaries(rows))[place].holds

    assert holds(svrg=1.0, calls=0.5)
    assert not holds(svrg=3.0, calls=0.5)


@pytest.mark.parametrize("default", [1.4, 0.5])
def test_few_settings_judge_nothing(default):
    table = verdicts.summaries(made_rows(default=default, svrg=0.5))
    assert {claim.holds for claim in verdicts.claims(table, tuned=False)} == {None}
    assert "not judged" in verdicts.verdict(table, tuned=False)


@dataclass
class MadeProblem:
    """Its excess is known from the setting alone: the distance of the step from 0.6."""

    name: str
    rows: np.ndarray
    loss = FrechetLoss(SPD(2))

    def solve(self, solver, epsilon, clip, seed):
        return SimpleNamespace(point=(solver.step, clip))

    def excess(self, point):
        return abs(point[0] - 0.6) + abs(point[1] - 0.2)


@pytest.mark.parametrize("rows", [10, 3000])
def test_the_search_finds_the_best_setting(rows):
    problem = MadeProblem("SPD made", np.zeros((rows, 2, 2)))
    for options, clip in tuned.tune(problem, "RGD", (0.1, 0.5)).values():
        assert (options["step"], clip) == (0.6, 0.2)


@pytest.fixture
def small(monkeypatch):
    """Two problems and a search that takes the first setting of the grid."""
    problems = fig3_problems.all_problems(limit=40)[2:4]
    monkeypatch.setattr(fig3, "all_problems", lambda *_: problems)

    def first(problem, name, epsilons, thin):
        options, clip = tuned.grid(problem, name)[0]
        return [{"problem": problem.name, "solver": name, "epsilon": epsilon, "clip": clip,
                 "options": options} for epsilon in epsilons]  # fmt: skip

    monkeypatch.setattr(tuned, "search", first)
    return problems


def read(job):
    with job.file("csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_small_run_compares_all_four_and_goes_on_after_a_break(tiny_job, small, monkeypatch):
    job = tiny_job("riemannian-fig3")
    follow, count = fig3.follow, iter(range(100))

    def tired(*arguments):
        if next(count) == 5:
            raise KeyboardInterrupt
        return follow(*arguments)

    monkeypatch.setattr(fig3, "follow", tired)
    with pytest.raises(KeyboardInterrupt):
        fig3.run(job)
    again = tiny_job("riemannian-fig3")
    assert again._cells.resumed == 5 + 6  # paths and searches
    fig3.run(again)
    rows = read(again)
    monkeypatch.setattr(fig3, "follow", follow)
    whole = tiny_job("riemannian-fig3", fresh=True)
    fig3.run(whole)
    assert read(whole) == rows
    assert {row["solver"] for row in rows} == {"RGD", "RSGD", "RSVRG", "default"}
    for row in rows:
        assert ("tuned with the truth" in row["setting"]) == (row["solver"] != "default")
        assert row["source"].startswith("generated")
    record = json.loads(whole.file("json").read_text())
    assert len(record["facts"]["cells"]) == len(small)
    assert {claim["holds"] for claim in record["claims"][:-1]} == {None}
    assert whole.file("png").stat().st_size > 20_000


def test_a_path_is_not_taken_from_another_setting(tiny_job, small, monkeypatch):
    job, followed = tiny_job("riemannian-fig3"), []

    def follow(problem, name, setting, epsilon, seed):
        followed.append(setting)
        return {"calls": [0.0, 1.0], "excess": [1.0, 0.5]}

    monkeypatch.setattr(fig3, "follow", follow)
    settings, _ = tuned.settings_for(job, small, (0.5,))
    fig3.measure(job, small, settings, 1, (0.5,))
    fig3.measure(job, small, settings, 1, (0.5,))
    assert len(followed) == 2 * 4  # two problems, four solvers, once
    key = (small[0].name, "RGD", 0.5)
    changed = {**settings[key], "clip": 0.5}
    fig3.measure(job, small, {**settings, key: changed}, 1, (0.5,))
    assert followed[8:] == [changed]


def test_stored_settings_cover_the_real_sets():
    rows = json.loads(tuned.STORED.read_text(encoding="utf-8"))
    keys = {tuned.key_of(row) for row in rows}
    assert len(keys) == len(rows) == 30
    assert {solver for _, solver, _ in keys} == {"RGD", "RSGD"}  # RSVRG is searched for
    assert {epsilon for _, _, epsilon in keys} == set(tuned.EPSILONS)
