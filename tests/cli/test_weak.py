"""Promises that are weak, or none, on the command line: refused, marked, with their own code."""

import json

import numpy as np
import pytest

from cli.commands import refused, run, write_csv
from veilspan import Ledger
from veilspan.cli.console import NOT_PRIVATE
from veilspan.releases import load

ROWS = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 3))
PCA = ("-p", "n_components=1")


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "table.csv", ROWS, ["a", "b", "c"])


def names(folder):
    return {path.name.split("-")[0] for path in folder.iterdir()}


PLAIN = {"release.json", "arrays", "report.html"}


def test_a_large_delta_is_refused_in_the_words_of_the_command_line(table, tmp_path):
    words = ("fit", "pca", table, *PCA, "--delta", "0.01", "--out", tmp_path / "r")
    said = refused(*words)
    assert said.startswith("delta = 0.01 is not below 1/n = 0.005")
    assert "say --allow-weak. Nothing was charged." in said
    assert "allow_weak" not in said
    assert not (tmp_path / "r").exists()
    assert "set by --allow-weak" in refused(*words, "-p", "allow_weak=True")


@pytest.mark.filterwarnings("ignore::veilspan.WeakGuaranteeWarning")
def test_what_is_allowed_is_marked(table, tmp_path):
    out = tmp_path / "r"
    words = ("fit", "pca", table, *PCA, "--delta", "0.01", "--allow-weak", "--out", out)
    facts = run(*words, "--json").json
    assert facts["strength"] == "weak"
    assert facts["release"] == str(out)
    assert names(out) == {*PLAIN, "WEAK.txt"}
    assert "not below 1/n = 0.005" in (out / "WEAK.txt").read_text()
    assert "Private, but WEAK" in (out / "report.html").read_text()
    assert load(out).privacy_.population == 200
    run("fit", "pca", table, *PCA, "--out", out, "--force")  # a strong one in its place
    assert names(out) == PLAIN


@pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
@pytest.mark.parametrize("words", [("--epsilon", "inf"), ("-p", "random_state=3")])
def test_what_is_not_private_has_a_code_of_its_own(table, tmp_path, words):
    """Saved under the name that was asked for, with a file that says what it is."""
    out = tmp_path / "release"
    run("fit", "pca", table, *PCA, *words, "--out", out, expect=NOT_PRIVATE)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release", "table.csv"]
    assert names(out) == {*PLAIN, "NOT_PRIVATE.txt"}
    said = (out / "NOT_PRIVATE.txt").read_text()
    assert said.startswith("NOT PRIVATE: PCA, release ")
    assert "like the rows themselves" in said
    assert "<title>NOT PRIVATE: PCA</title>" in (out / "report.html").read_text()
    again = run("fit", "pca", table, *PCA, *words, "--out", out, "--force", expect=NOT_PRIVATE)
    assert "NOT PRIVATE" in again.out
    facts = run(
        "fit", "pca", table, *PCA, *words, "--out", out, "--force", "--json", expect=NOT_PRIVATE
    ).json
    assert facts["strength"] == "none"
    run("fit", "pca", table, *PCA, "--out", out, "--force")
    assert names(out) == PLAIN


def test_the_codes_are_in_the_help():
    assert f"{NOT_PRIVATE}  done, but what was released is NOT PRIVATE" in run("--help").out


@pytest.mark.filterwarnings("ignore::veilspan.WeakGuaranteeWarning")
def test_an_epsilon_of_fifty_is_not_passed_over(table, tmp_path):
    told = run("fit", "pca", table, *PCA, "--epsilon", "50", "--out", tmp_path / "r").out
    assert "wrong only once in" in " ".join(told.split())
    assert (tmp_path / "r" / "WEAK.txt").exists()


def test_a_plan_says_what_a_fit_would_refuse():
    words = ("plan", "pca", "--rows", "200", "--columns", "3", "--no-simulate", *PCA)
    told = run(*words, "--delta", "0.01").out
    assert "not below 1/n = 0.005" in told
    assert "A fit is refused without --allow-weak." in told
    assert run(*words, "--json").json["refused"] is None
    assert "1/n" not in run(*words, "--delta", "0.01", "--neighbors", "add-remove").out
    assert "WEAK" in run(*words, "--epsilon", "20").out


def test_fit_says_what_it_used_and_what_is_left(table, tmp_path):
    ledger = Ledger(str(tmp_path / "budget.db"), key=tmp_path / "key")
    data = ledger.dataset("trial", 3, 1e-6)
    words = ("--ledger", tmp_path / "budget.db", "--key", tmp_path / "key", "--dataset", "trial")
    told = run("fit", "pca", table, *PCA, "--out", tmp_path / "one", *words).out
    assert (
        "This release used 14.1 % of the budget of trial; 85.9 % is left: one more PCA at epsilon "
        "2.67"
    ) in told
    facts = run("fit", "pca", table, *PCA, "--out", tmp_path / "two", *words, "--json").json
    assert facts["account"].startswith("This release used 14.1 % of the budget of trial; 71.8 %")
    assert data.spent().charges == 2
    listed = run("ledger", "history", tmp_path / "budget.db", "--key", tmp_path / "key", "--json")
    shares = [entry["share"] for entry in json.loads(listed.out) if entry["kind"] == "charge"]
    assert sum(shares) == pytest.approx(data.spent().fraction, rel=1e-12)
