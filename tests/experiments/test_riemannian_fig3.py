"""Figure 3 of the manifold experiments: gradient calls, verdicts, and the small run."""

import csv
import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from veilspan import RGD, RSGD, RSVRG, GaussianEvent

pytest.importorskip("matplotlib")

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "riemannian"

if not (FOLDER / "fig3.py").exists():  # the source distribution holds tests without experiments
    pytest.skip("experiments are not here", allow_module_level=True)

MODULES = ("data", "embeddings", "fig3", "fig3_problems", "paths", "tuned", "verdicts")


@pytest.fixture(scope="module")
def scripts():
    """The scripts as modules, which find each other as when they are run."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(FOLDER))
        for name in MODULES:  # other experiments have modules of the same name
            sys.modules.pop(name, None)


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(FOLDER / "run.py"), *map(str, arguments)],
        capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "Agg"}, timeout=300,
    )  # fmt: skip


def test_gradient_calls_are_counted_as_the_paper_counts_them(scripts):
    def counted(name, solver, length):
        return list(
            scripts.fig3.call_counts(name, solver, SimpleNamespace(trace=[0] * length), 100)
        )

    assert counted("RGD", RGD(steps=3), 3) == [0, 100, 200, 300]
    assert counted("RSGD", RSGD(steps=2, batch_rate=0.1), 2) == [0, 10, 20]
    svrg = RSVRG(epochs=2, inner_steps=2, batch_rate=0.1)
    assert counted("RSVRG", svrg, 4) == [0, 120, 140, 260, 280]


def test_the_default_pays_for_its_histograms_too(scripts):
    names = ["opening, scale", "opening", "step 1, scale", "step 1", "step 2, scale", "step 2"]
    made = SimpleNamespace(
        trace=[0, 0], plan=SimpleNamespace(events=[GaussianEvent(n) for n in names])
    )
    assert list(scripts.fig3.call_counts("default", None, made, 10)) == [20, 40, 60]


def test_excess_is_that_of_the_paper(scripts):
    """Twice the mean loss: mean squared distances, and minus w^T A w."""
    spd, _, eigen, _, tree = scripts.fig3_problems.all_problems(limit=30)
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


def test_grids_have_about_as_many_settings(scripts):
    spd, _, eigen, _, tree = scripts.fig3_problems.all_problems(limit=30)
    for problem in (spd, eigen, tree):
        for name, solver in scripts.tuned.SOLVERS.items():
            settings = scripts.tuned.grid(problem, name)
            assert 48 <= len(settings) <= 80
            assert all(solver(**options) and 0 < clip <= 1 for options, clip in settings)


def test_screening_keeps_the_noise_on_means(scripts):
    budget = scripts.tuned.Budget(0.3, scripts.fig3_problems.DELTA)
    looser = scripts.tuned.epsilon_of_mu(7 * budget.mu)
    assert math.isclose(scripts.tuned.Budget(looser, scripts.fig3_problems.DELTA).mu, 7 * budget.mu)


def made_rows(default, svrg):
    """Two checkpoints of one cell with known excess."""
    final = {"RGD": 1.0, "RSGD": 1.3, "RSVRG": svrg, "default": default}
    return [
        {"problem": "made", "epsilon": 0.1, "solver": s, "passes": p, "excess": e, "setting": "x"}
        for s, last in final.items()
        for p, e in ((0.0, 10.0), (4.0 if s == "RGD" else 2.0, last))
    ]


def test_verdicts_can_go_either_way(scripts, capsys):
    good = scripts.verdicts.judge(made_rows(default=1.4, svrg=0.5))
    assert good["cells"][0]["default_over_best"] == 2.8  # the best is RSVRG's 0.5
    assert any("wins by more than 10% in 1 of 1" in line for line in good["verdict"])
    bad = scripts.verdicts.judge(made_rows(default=1.4, svrg=3.0))
    assert bad["cells"][0]["default_over_best"] == 1.4
    assert any("wins by more than 10% in 0 of 1" in line for line in bad["verdict"])
    assert any("RGD in 0, RSGD in 1, RSVRG in 0; that near" in line for line in bad["verdict"])
    assert "made at 0.1" in good["verdict"][-1]
    assert capsys.readouterr().out.splitlines() == good["verdict"] + bad["verdict"]


def test_a_borrowed_setting_is_said_to_be_one_and_judges_no_solver(scripts):
    assert scripts.fig3.found_how({"from": "another"}) == "tuned with the truth of another"
    assert scripts.fig3.found_how({}) == "tuned with the truth"
    rows = made_rows(default=1.4, svrg=30.0)
    for row in rows:
        if row["solver"] == "RSVRG":
            row["setting"] = "x (tuned with the truth of another)"
    verdict = scripts.verdicts.judge(rows)["verdict"]
    assert any("not compared below: 1 cells" in line for line in verdict)
    assert not any("variance reduction" in line for line in verdict)


def test_the_small_run_compares_all_four_everywhere(tmp_path):
    done = run("fig3", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "fig3.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len({row["problem"] for row in rows}) == 5
    assert {row["solver"] for row in rows} == {"RGD", "RSGD", "RSVRG", "default"}
    for row in rows:
        assert ("tuned with the truth" in row["setting"]) == (row["solver"] != "default")
        assert row["source"].startswith("generated")
    verdict = json.loads((tmp_path / "fig3.json").read_text())
    assert done.stdout.splitlines() == verdict["verdict"]
    assert len(verdict["cells"]) == 5
    # A thousand rows or so are noise for most: only that nobody leaves the room is checked here.
    for cell in verdict["cells"]:
        assert all(0 <= value <= 2 * cell["start"] for value in cell["final"].values()), cell
    assert (tmp_path / "fig3.png").stat().st_size > 30_000


def test_an_unknown_figure_is_named(tmp_path):
    done = run("fig4", "--out", tmp_path)
    assert done.returncode == 2
    assert "no such figure: fig4" in done.stderr
