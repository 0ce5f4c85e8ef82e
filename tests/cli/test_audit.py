"""veilspan audit: every estimator by name, in words, as JSON, and by its exit code."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from veilspan.catalogue import COMMANDS
from veilspan.cli import main
from veilspan.cli.app import app
from veilspan.cli.console import VIOLATION
from veilspan.curator.curator import Curator
from veilspan.privacy.grid import add_noise

RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(app, ["audit", *arguments])


def test_a_table_with_a_verdict():
    result = run("pca", "--epsilon", "3", "--delta", "1e-5", "--runs", "20")
    assert result.exit_code == 0
    assert "Audit of PCA: delta = 1e-05, replace-one" in result.output
    assert "no violation found; lower bound" in result.output
    assert "certif" not in result.output.lower()


def test_json_is_all_that_is_printed():
    result = run("recommend", "--neighbors", "add-remove", "--runs", "0", "--json")
    report = json.loads(result.output)
    assert report["ok"] is True
    assert report["method"] == "MatrixCompletion"
    assert report["neighbors"] == "add-remove"
    assert [check["check"] for check in report["checks"]] == ["replay"]


def test_a_stream_is_audited_on_tables_that_fill_a_block():
    result = run("tracker", "--runs", "0")
    assert result.exit_code == 0
    assert "Audit of SubspaceTracker" in result.output


def test_a_violation_has_an_exit_code(monkeypatch):
    def fifth(self, exact, scale):
        return add_noise(exact, replace(scale, std=scale.std / 5), self._source)

    monkeypatch.setattr(Curator, "_add_noise", fifth)
    result = run("pca", "--epsilon", "5", "--runs", "150")
    assert result.exit_code == VIOLATION
    assert "violation: epsilon is at least" in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_name_makes_an_estimator_that_promises_something(name):
    estimator = COMMANDS[name].make_small(epsilon=2.0, delta=1e-6, neighbors="replace-one")
    assert estimator.epsilon == 2.0
    assert name in run("--help").output.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nobody",), "unknown estimator 'nobody'; known are pca"),
        (("pca", "--runs", "1"), "runs must be 0"),
        (("pca", "--epsilon", "inf"), "nothing to refute"),
        (("pca", "--neighbors", "friends"), "neighbors must be one of"),
    ],
)
def test_mistakes_are_sentences(arguments, words):
    result = run(*arguments)
    assert isinstance(result.exception, ValueError)
    assert words in str(result.exception)


def test_a_bar_follows_the_checks(terminal):
    with terminal() as stream, pytest.raises(SystemExit) as ended:
        main(["audit", "pca", "--runs", "20"])
    assert ended.value.code == 0
    shown = stream.getvalue()
    assert 0 <= shown.index("replay") < shown.index("game")
