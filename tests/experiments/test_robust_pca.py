"""The robust PCA figures: verdicts come out both ways, small runs end and go on after a break."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from experiments.robust_pca import (
    common,
    costs,
    engine,
    fig1,
    fig3,
    fig4,
    fig5,
    fig6,
    honest,
    people,
    phase,
    sizes,
)
from experiments.robust_pca.printed import run_printed
from veilspan.curator.rows import Block
from veilspan.datasets import make_haystack
from veilspan.geometry import Grassmann
from veilspan.queries.subspace.geodesic_gradient import GeodesicGradient
from veilspan.queries.subspace.reaper_gradient import ReaperGradient
from veilspan.solvers.subspace import reaper


@pytest.fixture
def no_pictures(monkeypatch):
    """Pictures take longer than these runs; other tests draw."""
    for module in (fig4, fig5, fig6, sizes):
        monkeypatch.setattr(module, "draw_squares", lambda *_, **__: None)
    monkeypatch.setattr(fig1, "draw", lambda *_: None)


def record_of(job):
    return json.loads(job.file("json").read_text())


def holds(claims):
    return [claim.holds for claim in claims]


# Costs


def test_the_printed_costs_are_those_of_the_setting_of_fig1():
    setting = fig1.setting_of(2000)
    (minibatch,) = costs.steps_costs("SGGD", *setting)
    assert (minibatch.claimed, minibatch.neighbors) == (0.8, "replace-one")
    assert 1e5 < minibatch.true < 1.5e5
    assert "N/B = 100" in minibatch.why
    kind, printed = costs.steps_costs("SMD-REAP", *setting)  # Theorem 8, Algorithm 2
    assert kind.true < 0.01 < 1e4 < printed.true
    (full,) = costs.steps_costs("GGD", *setting, where="here")
    assert full.method == "dp-GGD, steps, here"
    assert 0.5 < full.true < 0.8
    start = costs.start_cost(0.8, setting[3])
    assert start.true == math.inf
    assert "not private at any epsilon" in start.why


def test_the_proof_about_the_start_says_where_it_shows_nothing():
    with pytest.raises(ValueError, match="shows nothing"):
        costs.start_cost(0.1, 0.1)


def test_the_least_delta_of_the_start_is_that_of_a_simulation():
    # One row is added to none: the release W exceeds x x^T / n unless x^T W^-1 x / n > 1.
    rng = np.random.default_rng(0)
    n, d, epsilon, draws = 10, 4, 0.8, 20_000
    factors = rng.standard_normal((draws, d, d + 1)) * np.sqrt(3 / (2 * n * epsilon))
    inverse = np.linalg.inv(factors @ factors.transpose(0, 2, 1))[:, 0, 0]
    found = np.mean(inverse / n > 1)
    # Hoeffding: false alarm with probability 2 exp(-2 * 20000 * 0.02^2) < 3e-7.
    assert abs(found - costs.wishart_delta(epsilon)) < 0.02


def test_no_printed_method_with_minibatches_or_start_is_private_and_reap_is():
    setting = fig1.setting_of(2000)
    private = {m: costs.is_private(m, *setting) for m in ("GGD", "SGGD", "SGD-REAP", "GD-REAP")}
    assert private == {"GGD": False, "SGGD": False, "SGD-REAP": False, "GD-REAP": True}


# The engine


@pytest.mark.parametrize("method", ["GGD", "SGGD", "GD-REAP", "SGD-REAP"])
def test_many_tables_at_once_are_the_printed_runs_of_each(method):
    tables = [make_haystack(60, 5, 2, noise=0.0, random_state=seed) for seed in range(3)]
    setting = {"steps": 60, "epsilon": 20.0, "delta": 0.1, "batch": 6}
    together = engine.run_many(engine.Form(method, True), tables, range(3), **setting)
    for seed, (table, curve) in enumerate(zip(tables, together)):
        alone = run_printed(method, table, seed=seed, **setting)[0]
        assert curve.errors == pytest.approx(alone.errors, rel=1e-6)
        assert curve.steps.tolist() == alone.steps.tolist()


@pytest.mark.parametrize("method", ["GD-REAP", "MD-REAP"])
def test_a_step_of_reap_with_correct_noise_is_the_librarys(method):
    rng = np.random.default_rng(0)
    (table,) = [make_haystack(50, 6, 2, noise=0.3, random_state=1)]
    form = engine.Form(method, printed=False)
    geometry = reaper.GEOMETRIES["mirror" if form.mirror else "euclidean"]
    basis = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    point = reaper._blend(basis, 0.02)
    rows = Block(table.rows)
    query = ReaperGradient()
    total = query.weighted_sum(query.prepare(rows, point), np.ones(50), point)
    assert engine.reap_sum(table.rows.T[None], point[None], form)[0] == pytest.approx(total)
    # The library's step of mirror descent is four times as long as printed.
    move = total * (0.02 if form.mirror else 0.08)
    state = geometry.enter(point)
    for size in (1, 30):  # the second one drives eigenvalues to the cap
        expected = geometry.step(state, size * move, 2)
        found = engine.step_reap(state[None], size * 0.08 * total[None], 2, form)
        for one, other in zip(found, expected):
            assert one[0] == pytest.approx(other, abs=1e-9)


@pytest.mark.parametrize("method", ["GGD", "SGGD", "SGD-REAP"])
def test_noise_is_what_epsilon_needs_and_hardly_more(method):
    table = make_haystack(500, 10, 2, noise=0.0, random_state=0)
    solver = honest.paper_solver(method, 500, 0.02)
    plan = honest.plan_for(solver, (500, 10), 0.8, 0.04)
    std = honest.begin_honest(solver, table, epsilon=0.8, delta=0.04, seed=0)[1]
    moved = 2 / 500 if method == "GGD" else 1 / (0.02 * 500)
    assert std == pytest.approx(plan.events[1].noise_multiplier * moved, rel=0.01)


def test_a_geodesic_step_with_correct_noise_is_the_librarys():
    rng = np.random.default_rng(0)
    table = make_haystack(50, 6, 2, noise=0.3, random_state=1)
    basis = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    query = GeodesicGradient()
    total = query.weighted_sum(query.prepare(Block(table.rows), basis), np.ones(50), basis)
    form = engine.Form("GGD", printed=False)
    assert engine.geodesic_sum(table.rows.T[None], basis[None], form)[0] == pytest.approx(total)
    expected = Grassmann(6, 2).retract(basis, -total / 50)
    assert engine.polar(basis[None] - total[None] / 50)[0] == pytest.approx(expected, abs=1e-12)


def test_runs_that_nothing_can_change_any_more_end_early_and_no_others():
    tables = [make_haystack(200, 10, 2, noise=0.0, random_state=seed) for seed in range(3)]

    def ends(epsilon, settle):
        setting = {"steps": 1200, "epsilon": epsilon, "delta": 0.07, "batch": 6}
        form = engine.Form("GGD", printed=True)
        runs = engine.run_many(form, tables, range(3), settle=settle, **setting)
        return [run.final for run in runs], [run.steps[-1] for run in runs]

    drowned, taken = ends(0.5, True)
    assert max(taken) < 1200
    assert drowned == pytest.approx(ends(0.5, False)[0], abs=0.015)
    assert min(ends(50.0, True)[1]) == 1200


# Verdicts on made-up numbers


def curve(errors):
    steps = np.linspace(0, 2000, len(errors))
    return common.Curve(steps, np.array(errors, dtype=float), steps / 1000, float(errors[-1]))


def line_to(end, points=201):
    return curve([*np.linspace(0, end, points), end])


def fig1_curves(by_method):
    """The same curve as printed and honest."""
    return {(kind, m): [c] for kind in ("printed", "honest") for m, c in by_method.items()}


def test_fig1_judges_curves():
    def judged(ggd, sggd, reap):
        ends = dict.fromkeys(fig1.METHODS, reap) | {"GGD": ggd, "SGGD": sggd}
        return holds(fig1.judge(fig1_curves({m: line_to(e) for m, e in ends.items()}), 2000))

    # privacy (three claims: Theorem 8's noise is enough), linear, stochastic first (printed,
    # honest), nonconvex first, convex faster early (minibatches, full batches: each twice)
    assert judged(-20, -22, -4) == [False, True, False, *[True] * 4, *[False] * 4]
    assert judged(-20, -20, -30) == [False, True, False, True, *[False] * 3, *[True] * 4]


@pytest.mark.parametrize(("end", "linear"), [(-17, True), (-15, False)])
def test_fig1_judges_linear_convergence_by_the_second_half(end, linear):
    errors = [*np.linspace(0, -10, 101), *np.linspace(-10, end, 101)[1:], end]
    curves = fig1_curves(dict.fromkeys(fig1.METHODS, curve(errors)))
    assert fig1.judge(curves, 2000)[3].holds is linear


def test_fig1_judges_the_first_iterations_by_their_fall_not_by_who_is_ahead():
    ahead, behind = curve([-5, -6, -6]), curve([0, -2, -2])  # the one behind is faster

    def judged(convex, nonconvex):
        curves = fig1_curves({"A": convex, "B": convex, "C": nonconvex})
        claims = fig1.early(curves, ("A", "B"), "C", 2000, 1000)
        assert {claim.holds for claim in claims} == {claims[-1].holds}
        return claims[-1]

    assert judged(behind, ahead).holds
    claim = judged(ahead, behind)
    assert not claim.holds
    assert "converge faster" in claim.claim
    assert "-1.0/-1.0/-2.0" in claim.measured
    away, further = curve([-3, -2, -2]), curve([-3, 0, 0])  # noise leads away from the start
    assert judged(away, further).holds is None
    assert judged(away, behind).holds is False
    assert judged(behind, away).holds is True


def test_a_curve_comes_back_from_a_file():
    kept = json.loads(json.dumps(fig1.keep_curves([line_to(-3.0, 5)])))
    (again,) = fig1.again_curves(kept)
    assert again.final == -3.0
    assert again.time_to(-2.0) == line_to(-3.0, 5).time_to(-2.0)
    assert math.isnan(again.time_to(-9.0))


def test_fig3_judges_correlations():
    def judged(corrected, other, auto, steps=2387, left=0.0):
        match = {fig3.CORRECTED: corrected, fig3.WISHART: other, fig3.PLAIN: 0.9,
                 "dp-GGD printed": other, "dp-SGGD printed": 0.85, "dp-SGD-REAP": 0.8,
                 "auto": auto, "auto, δ = 1e-6": auto}  # fmt: skip
        small = {"dp-SGD-REAP printed": 0.8}
        return fig3.judge(match, small, 0.5, 1e5, 10_000, (steps, 2387, left))

    assert holds(judged(0.8, 0.6, 0.8)) == [True, True, True, None, True]
    assert holds(judged(0.6, 0.85, 0.6)) == [False, False, False, None, False]
    # A run that was stopped says nothing, whatever it finds, unless nothing was left to do.
    for other in (0.6, 0.85):
        claims = judged(0.8, other, 0.8, steps=40, left=1.0)
        assert holds(claims) == [True, other < 0.75, None, None, True]
        assert "after 40 of 2,387 steps: not judged" in claims[2].measured
        assert holds(judged(0.8, other, 0.8, steps=900, left=0.009))[2] is (other < 0.75)
    # Draws of noise that fall on both sides decide nothing.
    for draws, answer in (([0.76, 0.78], False), ([0.7, 0.6], True), ([0.76, 0.74], None)):
        assert fig3.ggd_claim(draws, 2387, 2387, 0.0).holds is answer
    assert fig3.way_left(2387, 10_000, 900) < fig3.NOTHING < fig3.way_left(2387, 10_000, 800)


def test_full_batches_in_single_precision_are_the_printed_ones():
    rows = make_haystack(80, 12, 2, noise=0.5, random_state=2).rows
    start = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 2)))[0]
    data = SimpleNamespace(rows=rows, subspace=np.eye(2, 12))
    setting = {"steps": 80, "epsilon": 0.8, "delta": 80**-0.5, "batch": 1, "seed": 0}
    printed = run_printed("GGD", data, start=start, stop=60, **setting)[1]
    found = fig3.full_batch_ggd(rows, start, 60)
    assert np.abs(printed @ printed.T - found @ found.T).max() < 1e-4


def test_the_large_wishart_start_finds_what_stands_above_its_noise():
    rng = np.random.default_rng(0)
    rows = np.linalg.qr(rng.standard_normal((30, 2)))[0] @ rng.standard_normal((2, 4000)) * 5
    rows = rows.T / np.linalg.norm(rows.T, axis=1, keepdims=True)
    start = fig3.large_wishart_start(rows)
    plain = np.linalg.eigh(rows.T @ rows)[1][:, -2:]
    assert np.linalg.svd(start.T @ plain, compute_uv=False)[-1] > 0.99


def test_fig4_judges_transitions():
    left, right = fig4.methods_of(None, None)
    titles = [m.title for m in (*left, *right)]

    def judged(falls, squares):
        return holds(fig4.judge(dict(zip(titles, falls)), dict(zip(titles, squares)), 6))

    assert judged([8, 1, 1, 8, 1, 1, 1, 1], [3] * 7 + [5]) == [True, True, True]
    assert judged([2, 1, 1, 1, 9, 1, 2, 1], [6] * 7 + [5]) == [False, False, False]
    assert fig4.steepest([0, -1, -5, -4]) == 4


def test_fig5_judges_least_shares():
    printed = dict.fromkeys(fig5.NAMES, 0.1)
    good = {"SGGD": 0.1, "SGD-REAP": 0.6, "SMD-REAP": 0.2}
    bad = {"SGGD": 0.2, "SGD-REAP": None, "SMD-REAP": 0.4}

    def judged(found, sggd, reap):
        taken = {"SGGD": sggd, "SGD-REAP": reap, "SMD-REAP": reap}
        claims = fig5.judge(printed, found, taken, 2000)
        assert holds(claims[:3]) == [True] * 3
        return claims[3:]

    assert holds(judged(good, 5, 5)) == [True] * 3
    assert holds(judged(bad, 2000, fig5.SETTLED)) == [False] * 3
    assert holds(judged(bad, 1999, fig5.SETTLED)) == [None, False, False]
    assert holds(judged(bad, 2000, 5)) == [False, None, None]
    assert fig5.survivors(judged(good, 5, 5)) == "3 of 3 claims that can be judged survive"
    assert fig5.survivors(judged(bad, 2000, 5)) == "0 of 1 claims that can be judged survive"
    assert fig5.survivors(judged(bad, 5, 5)) == "no claim can be judged"
    nowhere = dict.fromkeys(fig5.NAMES)
    assert holds(fig5.judge(nowhere, good, nowhere, 2000)) == [*[False] * 3, *[True] * 3]
    table = np.array([[0.0, 0.0], [1.0, 1.0], [0.2, 0.2], [0.6, 0.6]])
    assert fig5.least_share(table, (0.1, 0.2, 0.4, 0.6), [0, 1]) == 0.6
    assert fig5.least_share(table[:1], (0.1,), [0, 1]) is None


def test_fig6_and_fig7_judge_corners():
    good, bad = dict.fromkeys(sizes.NAMES, (-3.0, 0.5)), dict.fromkeys(sizes.NAMES, (-1.0, -3.0))
    assert holds(fig6.judge(good, bad, 4, 4)) == [True, False, True]
    assert holds(fig6.judge(bad, good, 3, 4)) == [False, True, False]
    assert holds(sizes.judge_fig7({"printed": good, "ours": bad})) == [True, False]


def made_up(job, finals):
    """The squares of Fig. 2 with one run of the same error everywhere, by method."""
    found = sizes.Sizes(job)
    found.runs = {
        (m, c): [phase.Outcome(finals(m), 5, 0.1, math.nan)]
        for m in found.four
        for c in phase.flat(found.cells)
    }
    return found


def test_fig2_judges_squares(tiny_job):
    job = tiny_job("robust-pca-fig2")
    ours = sizes.Sizes(job)
    table = {ours.paper["GGD"]: -1.0, ours.paper["SGGD"]: -4.0, ours.ours["GD-REAP"]: -1.0}
    found = made_up(job, lambda m: table.get(m, -3.0))
    # privacy; a stochastic advantage, nonconvex before convex: each as printed, then honest; auto
    assert holds(sizes.judge_fig2(found)) == [False, False, True, False, True, True]
    assert found.largest(ours.paper["GGD"], found.ns[-1]) == 0
    same = made_up(job, lambda m: -1.0)
    assert holds(sizes.judge_fig2(same)) == [False] * 6
    printed = {ours.printed["GGD"]: -1.0, ours.printed["SGGD"]: -4.0}
    both = made_up(job, lambda m: printed.get(m, 0.0))
    assert holds(sizes.judge_fig2(both)) == [False, True, False, True, False, False]


def test_figs_8_and_9_judge_who_has_least():
    first = {"GGD": 1, "GD-REAP": 2, "MD-REAP": 2}
    tie = {"GGD": 1, "GD-REAP": 2, "MD-REAP": 1}
    assert holds(sizes.judge_least(first, tie, "x", str)) == [True, False]


# Small runs


def test_a_small_run_goes_on_after_a_break(tiny_job, no_pictures, monkeypatch):
    whole = tiny_job("robust-pca-fig6")
    fig6.run(whole)
    rows, count = whole.file("csv").read_text(), len(phase._KNOWN)
    phase._KNOWN.clear()
    done = []
    solve = phase.run_honest

    def breaks(*arguments, **options):
        if len(done) == 6:
            raise KeyboardInterrupt
        done.append(1)
        return solve(*arguments, **options)

    monkeypatch.setattr(phase, "run_honest", breaks)
    with pytest.raises(KeyboardInterrupt):
        fig6.run(tiny_job("robust-pca-fig6"))
    phase._KNOWN.clear()
    monkeypatch.setattr(phase, "run_honest", solve)
    again = tiny_job("robust-pca-fig6")
    assert again._cells.resumed > 6
    fig6.run(again)
    assert count > again._cells.resumed

    def errors(text):  # CPU times differ from run to run
        return [line.split(",")[:12] for line in text.splitlines()]

    assert errors(again.file("csv").read_text()) == errors(rows)
    record = record_of(again)
    assert record["facts"]["squares_below_tolerance"]["auto (honest)"] == 4
    assert {"dp-GGD, steps", "dp-GD-REAP", "dp-MD-REAP", "Wishart start of dp-(S)GGD"} == {
        cost["method"] for cost in record["costs"]
    }
    assert record["costs"][-1]["true"] == "inf"


def test_figures_of_the_same_runs_compute_them_once(tiny_job, no_pictures, monkeypatch):
    sizes.run_fig7(tiny_job("robust-pca-fig7"))

    def never(*_, **__):
        raise AssertionError("computed again")

    monkeypatch.setattr(phase, "run_honest", never)
    monkeypatch.setattr(phase, "run_many", never)
    for name, run in (("robust-pca-fig8", sizes.run_fig8), ("robust-pca-fig9", sizes.run_fig9)):
        job = tiny_job(name)
        run(job)
        assert record_of(job)["claims"][0]["who"] == "ours"
        assert job.file("parts.jsonl.gz").stat().st_size > 500  # of their own, for a recheck


def test_fig3_draws_a_map_of_few_people(tiny_job, tmp_path, monkeypatch):
    # Calibrated noise takes seconds each, and is tested where it is made.
    plan = SimpleNamespace(events=[None, SimpleNamespace(noise_multiplier=5.0)])
    monkeypatch.setattr(fig3, "plan_for", lambda *_: plan)
    basis = np.eye(20)[:, :2]
    monkeypatch.setattr(fig3, "run_honest", lambda *_, **__: (None, basis))
    job = tiny_job("robust-pca-fig3", data=tmp_path)
    fig3.run(job)
    record = record_of(job)
    assert record["source"].startswith("simulated people (no files")
    assert [claim["holds"] for claim in record["claims"][2:4]] == [None] * 2
    assert (tmp_path / "robust-pca-fig3.png").stat().st_size > 10_000
    assert not job.file("tiny.cells.jsonl").exists()


@pytest.mark.parametrize("inside", ["novembre2008", "."])
def test_published_files_are_found_in_both_places(tmp_path, inside):
    folder = tmp_path / inside
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    values = " ".join(str(v) for v in np.linspace(4, 1, 20))
    names = [f"p{k}" for k in range(6)]
    lines = [" ".join([n, n, *map(str, rng.standard_normal(20))]) for n in names]
    (folder / "x.eigs").write_text("\n".join([f"#eigvals: {values}", *lines]))
    places = [
        "ID\ta\tb\tlongitude\tlatitude",
        *(f"{n}\t-\t-\t{k}\t50" for k, n in enumerate(names)),
    ]
    (folder / "PCA.txt").write_text("\n".join(places))
    found = people.load_people(tmp_path, 30)
    assert found.source.startswith("Novembre")
    assert found.counts.shape == (1006, 30)
    assert found.place[5, 0] == pytest.approx(5 * people.SHRINK)
