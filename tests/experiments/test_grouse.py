"""The GROUSE experiment: its bounds, its shortcuts, and a small run that can be read."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veilspan.metrics import determinant_similarity, frobenius_discrepancy
from veilspan.streaming import GreedyStep, NoisyStep, random_basis, update_block

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "grouse"
NAMES = ("bounds", "common", "lemmas", "fig2")

if not FOLDER.exists():  # the source distribution holds tests without experiments
    pytest.skip("experiments are not here", allow_module_level=True)

seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def modules():
    """The scripts as modules; other experiments have some of the same names."""
    hidden = {name: sys.modules.pop(name, None) for name in NAMES}
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: importlib.import_module(name) for name in NAMES}
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("plots", None)
        for name, module in hidden.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


@given(seeds, st.integers(2, 6), st.integers(0, 30))
@settings(max_examples=10, deadline=None)
def test_lemma_2_holds_and_section_3_1_is_misprinted(modules, seed, d, extra):
    gaps = modules["lemmas"].lemma2_gaps(2 * d + 1 + extra, d, np.random.default_rng(seed))
    assert gaps[0] < 1e-6
    assert gaps[1] < 1e-6
    assert gaps[2] > 1e-6


@given(seeds)
@settings(max_examples=10, deadline=None)
def test_metrics_are_those_of_the_library(modules, seed):
    basis, common = random_basis(12, 3, np.random.default_rng(seed)), modules["common"]
    truth = np.eye(3, 12)
    zeta, epsilon = determinant_similarity(basis, truth), frobenius_discrepancy(basis, truth)
    assert common.similarity(basis) == pytest.approx(zeta, rel=1e-6)
    assert common.discrepancy(basis) == pytest.approx(epsilon)
    assert common.similar(zeta * 0.999)(basis)
    assert not common.similar(min(zeta * 1.001, 1.0))(basis)
    trace = common.follow(iter([basis]), 0)
    assert (trace.zeta[0], trace.epsilon[0]) == (pytest.approx(zeta), pytest.approx(epsilon))


@given(seeds, st.sampled_from([GreedyStep(), NoisyStep(0.1)]))
@settings(max_examples=10, deadline=None)
def test_a_rotated_stream_gives_a_rotated_basis(modules, seed, step):
    rng = np.random.default_rng(seed)
    start, rows = random_basis(15, 3, rng), modules["common"].rows_of(40, 15, 3, 0.1, rng)
    rotation = np.linalg.qr(rng.standard_normal((15, 15)))[0]
    turned = np.ascontiguousarray(start @ rotation)
    update_block(start, rows, step=step, engine="numpy")
    update_block(turned, rows @ rotation, step=step, engine="numpy")
    np.testing.assert_allclose(turned, start @ rotation, atol=1e-8)


def test_a_folded_start_lives_the_same_life(modules):
    rng, common = np.random.default_rng(3), modules["common"]
    whole = random_basis(50, 4, rng)
    small = common.fold(whole)
    assert small.shape == (4, 8)
    rows = common.rows_of(30, 50, 4, 0.0, rng)
    for row in rows[:, None]:
        update_block(whole, row, engine="numpy")
        update_block(small, np.ascontiguousarray(row[:, :8]), engine="numpy")
        assert common.similarity(small) == pytest.approx(common.similarity(whole), rel=1e-6)
        assert common.discrepancy(small) == pytest.approx(common.discrepancy(whole), abs=1e-10)


def test_the_mean_similarity_of_a_random_start(modules):
    # 2,000 draws of a bounded mean: off by 6 standard errors in one of 1e8 seeds.
    mean, error = modules["lemmas"].mean_start(8, 2, 2000, np.random.default_rng(4))
    assert abs(mean - 1) < 6 * error < 0.5
    assert np.exp(modules["bounds"].start_similarity(8, 2)) == pytest.approx(1 / 28)


def test_bounds_without_noise_are_the_simple_ones(modules):
    bounds = modules["bounds"]
    assert bounds.theorem4(0.25, 100, 5, 0.0) == pytest.approx(0.75 / 5)
    assert bounds.theorem5(0.1, 0.9, 100, 5, 0.0) == pytest.approx(0.9 / 5)
    assert bounds.theorem4(1.0, 100, 5, 0.0) == 0
    # With noise, by hand: n = 100, d = 5, sigma^2 = 1.
    assert bounds.theorem4(0.5, 100, 5, 1.0) == pytest.approx(0.1 * (1 - 1 / 1.1) / 1.05)
    assert bounds.theorem5(0.5, 0.9, 100, 5, 1.0) == pytest.approx(
        (0.9 - 0.95 / (0.1 + 0.95)) / 5 / 1.05
    )
    assert bounds.rows_by_theorem4(0.25, 100, 5, 0.0) == np.argmax(
        bounds.iterate_theorem4(0.25, 50, 100, 5, 0.0) >= 0.5
    )
    first, second = bounds.theorem1(2000, 20, 1e-4)
    assert second == pytest.approx(40 * np.log(1e5))
    assert 4e5 < first < 5e5


def test_rows_are_counted_in_the_order_of_the_goals(modules):
    values = iter([0, 1, 5, 2, 9])
    count = modules["common"].rows_until
    assert count(values, lambda x: x > 3, lambda x: x > 1, lambda x: x > 6, limit=9) == [2, 2, 4]
    first, never = count(iter([0, 1]), lambda x: x > 0, lambda x: x > 6, limit=9)
    assert first == 1
    assert np.isnan(never)


def test_a_small_figure_states_what_holds(modules, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(modules["fig2"], "QUICK", ((200, 400), (6,), 4))
    verdict = modules["fig2"].run(tmp_path, quick=True, engine="numpy")
    assert json.loads((tmp_path / "fig2.json").read_text()) == verdict
    assert capsys.readouterr().out.startswith(f"fig2: {verdict['verdict']}")
    assert {"claim", "measured", "holds"} == set(verdict["claims"][0])
    assert all(claim["holds"] for claim in verdict["claims"])
    assert (tmp_path / "fig2.png").stat().st_size > 10_000
    assert (tmp_path / "fig2.csv").read_text().startswith("n,d,trials,")


def test_the_lemmas_run_as_a_script(tmp_path):
    done = call("lemmas", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    verdict = json.loads((tmp_path / "lemmas.json").read_text())
    assert done.stdout.startswith(f"lemmas: {verdict['verdict']}")
    assert [claim["holds"] for claim in verdict["claims"]] == [True, False, True, False]


def test_an_unknown_figure_is_named(tmp_path):
    done = call("fig4", "--out", tmp_path)
    assert done.returncode == 2
    assert "no such figure: fig4" in done.stderr


def call(*arguments):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    return subprocess.run(
        [sys.executable, FOLDER / "run.py", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
