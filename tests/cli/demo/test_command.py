"""``veilspan demo``: its picture, its record, and how it fails."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from veilspan import PrivacyStatement, SampledGaussianEvent, epsilon_spent
from veilspan.cli.demo.methods import epsilon_at_least, rounded_down
from veilspan.cli.demo.picture import aligned, map_colours


def run(*arguments, cwd, expect=0, first=""):
    result = subprocess.run(
        [sys.executable, "-c", f"{first}from veilspan.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"},
    )
    assert result.returncode == expect, result.stderr
    return result


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo with its defaults, run once: what it printed, and its folder."""
    where = tmp_path_factory.mktemp("demo")
    result = run("demo", cwd=where)
    return result.stdout, where / "veilspan-demo", result.stderr


def test_demo_writes_a_picture_and_a_record_that_verifies(demo):
    shown, folder, _ = demo
    assert "epsilon" in shown
    assert "Only the components are private" in shown
    assert sorted(path.name for path in folder.iterdir()) == [
        "components.npy",
        "picture.png",
        "privacy.json",
        "report.html",
    ]
    record = json.loads((folder / "privacy.json").read_text())
    assert PrivacyStatement.from_dict(record["privacy"]).verify()
    components = np.load(folder / "components.npy")
    np.testing.assert_allclose(components @ components.T, np.eye(2), atol=1e-12)
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (folder / "report.html").read_text()[:200]


def test_the_demo_says_one_line_a_stage_and_what_comes_next(demo):
    shown, _, said = demo
    first, *stages = said.splitlines()
    assert first == "Veilspan demo: a map from made-up genes."
    assert len(stages) == 7  # the people, five methods, picture and report
    assert all(re.fullmatch(r"  \S.*\S +\d+\.\d s", stage) for stage in stages), stages
    files, _, then = shown.partition("Look at")[2].partition("Next")
    assert "veilspan-demo/picture.png" in files
    assert "veilspan-demo/report.html" in files
    assert len(then.strip().splitlines()) == 6  # three steps
    assert "    veilspan studio --demo\n" in then
    assert max(map(len, shown.splitlines())) <= 120


def test_the_demo_is_honest_about_every_method(demo):
    record = json.loads((demo[1] / "privacy.json").read_text())
    assert (record["rows"], record["loci"], record["columns"]) == (2387, 10_000, 200)
    found = record["map correlation"]
    # Over 60 runs 0.97 to 0.984 for the release; without noise the answer is always the same.
    assert found["private robust PCA"] > 0.9
    assert found["plain PCA"] == pytest.approx(0.4865, abs=0.01)
    statements = {
        name: PrivacyStatement.from_dict(s) for name, s in record["other releases"].items()
    }
    assert all(statement.verify() for statement in statements.values())
    printed = statements.pop("dp-SGGD as printed")
    assert printed.epsilon >= record["as printed"]["epsilon at least"] > 10_000
    assert record["as printed"]["epsilon claimed"] == 1
    assert len(statements) == 2
    assert all(statement.epsilon == pytest.approx(1) for statement in statements.values())


@pytest.mark.long
def test_the_lower_bound_stays_below_the_accountant():
    """Where the accountant is exact, counting must not claim more than it."""
    for noise, rate, steps in ((0.3, 0.05, 40), (0.5, 0.1, 100), (1.0, 0.01, 300)):
        events = (SampledGaussianEvent("step", rate, noise, steps),)
        epsilon = epsilon_spent(events, 1e-6)
        statement = PrivacyStatement(
            method="",
            epsilon=epsilon,
            delta=1e-6,
            neighbors="replace-one",
            events=events,
            assumptions=(),
            private=True,
        )
        assert 0 <= epsilon_at_least(statement) <= epsilon
    assert rounded_down(63_712.8) == "63,000"
    assert rounded_down(7.9) == "7"


def test_a_view_is_turned_to_the_map_without_changing_its_shape():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(40, 2))
    turn = np.array([[0.6, -0.8], [-0.8, -0.6]])
    np.testing.assert_allclose(aligned(3 * truth @ turn + 5, truth), truth, atol=1e-12)


def test_colours_are_colours_and_differ_between_corners():
    corners = np.array([[x, y] for x in (-10.0, 10.0) for y in (-10.0, 10.0)])
    colours = map_colours(corners)
    assert colours.shape == (4, 3)
    assert colours.min() >= 0
    assert colours.max() <= 1
    gaps = np.linalg.norm(colours[:, None] - colours[None], axis=2)
    assert gaps[~np.eye(4, dtype=bool)].min() > 0.3


@pytest.mark.long
def test_json_and_all_but_the_picture_without_matplotlib(tmp_path):
    absent = "import sys; sys.modules['matplotlib'] = None;"
    result = run("demo", "--json", "--epsilon", "3", cwd=tmp_path, first=absent)
    assert json.loads(result.stdout)["privacy"]["epsilon"] == pytest.approx(3)
    written = {path.name for path in (tmp_path / "veilspan-demo").iterdir()}
    assert written == {"components.npy", "privacy.json", "report.html"}
    assert result.stderr.splitlines() == [
        "veilspan: note: no picture was drawn, because matplotlib is not installed: "
        'pip install "veilspan[plots]" brings it.'
    ]


def test_the_demo_needs_a_finite_budget(tmp_path):
    result = run("demo", "--epsilon", "inf", cwd=tmp_path, expect=1)
    assert result.stderr.startswith("veilspan: the demo compares private methods")
    assert list(tmp_path.iterdir()) == []


def test_errors_are_one_sentence_without_a_traceback(tmp_path):
    result = run("demo", "--epsilon", "-1", cwd=tmp_path, expect=1)
    assert result.stderr.startswith("veilspan: epsilon must be positive")
    assert "Traceback" not in result.stderr
    assert "Traceback" in run("--debug", "demo", "--epsilon", "-1", cwd=tmp_path, expect=1).stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_folder_is_said_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("demo", "--out", "file/inside", cwd=tmp_path, expect=1)
    assert "Traceback" not in result.stderr
