"""The smallest figure of the robust PCA experiment runs, and its verdict can be read."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

RUN = Path(__file__).resolve().parents[2] / "experiments" / "robust_pca" / "run.py"

if not RUN.exists():  # the source distribution holds tests without experiments
    pytest.skip("experiments are not here", allow_module_level=True)


def call(*arguments):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    return subprocess.run(
        [sys.executable, RUN, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


def test_a_quick_figure_states_what_survives(tmp_path):
    done = call("fig6", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    verdict = json.loads((tmp_path / "fig6.json").read_text())
    assert done.stdout.strip() == f"fig6: {verdict['verdict']}"
    assert {"claim", "measured", "holds"} == set(verdict["claims"][0])
    # The honest default recovers every subspace of this figure; the printed REAP noise does not.
    squares = verdict["squares_below_tolerance"]
    assert squares["auto (honest)"] == 4
    assert squares["dp-GD-REAP as printed"] == 0
    assert (tmp_path / "fig6.png").stat().st_size > 10_000
    assert (tmp_path / "fig6.csv").read_text().startswith("method,n,d,r,")


def test_an_unknown_figure_is_named(tmp_path):
    done = call("fig10", "--out", tmp_path)
    assert done.returncode == 2
    assert "no such figure: fig10" in done.stderr
