"""What stood in the way of people at a terminal: each is a test, so that it stays out of it."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from cli.commands import refused, run, write_csv

LEDGER = ("ledger", "create", "b.db", "ward", "--epsilon", "2", "--delta", "1e-6")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).standard_normal((200, 3))
    return write_csv(tmp_path / "t.csv", rows, ["height", "weight", "dose"])


@pytest.fixture
def release(table):
    run("fit", "pca", table, "-p", "n_components=2", "--out", "release")
    return "release"


def test_names_that_are_nearly_right_are_suggested(table):
    said = run("fit", "robustpca", table, "--out", "r", expect=2).err
    assert "Did you mean robust-pca?" in said
    assert 'Did you mean "weight"?' in refused(
        "fit", "pca", table, "--columns", "height,wieght", "--out", "r"
    )
    assert 'Did you mean "n_components"?' in refused(
        "fit", "pca", table, "-p", "n_componets=2", "--out", "r"
    )


@pytest.mark.parametrize(
    ("cell", "words"),
    [("2,5", "writes numbers with a decimal comma"), ("NA", "has cells that are empty or say NA")],
)
def test_commas_and_gaps_are_called_what_they_are(cell, words, table):
    table.write_text(f"height;dose\n1.5;{cell}\n2.5;{cell}\n")
    said = refused("fit", "pca", table, "--separator", ";", "--out", "r")
    assert words in said
    assert "veilspan schema init" in said
    assert cell not in said.replace("say NA", "")


def test_a_file_of_another_encoding_is_read(table):
    text = "größe;dosis\n" + "".join(f"{i}.5;{i % 7}\n" for i in range(100))
    table.write_bytes(text.encode("latin-1"))
    words = ("fit", "pca", table, "--separator", ";", "-p", "n_components=1")
    assert "--encoding" in refused(*words, "--out", "r")
    run(*words, "--encoding", "latin-1", "--out", "r")
    assert run("inspect", "r", "--json").json["columns"] == ["größe", "dosis"]


def test_no_message_speaks_python(table):
    """Neither a call such as PCA(...) nor a parameter in its spelling with quotes."""
    wrong = (
        ("fit", "logistic", table, "--target", "dose"),
        ("fit", "linear", table, "--target", "dose"),
        ("fit", "pca", table, "-p", "n_components=9"),
        ("fit", "pca", table, "-p", "n_components=two"),
        ("fit", "pca", table, "-p", "no_such=2"),
        ("fit", "pca", table, "-p", "row_norm=-1"),
        ("fit", "recommend", table),
        ("fit", "frechet", table),
    )
    for words in wrong:
        said = refused(*words, "--out", "r")
        assert not re.search(r"\b[A-Z][A-Za-z]+\(|\bNone\b|\bndarray\b|__", said), said


def test_inspect_says_what_a_release_is(release):
    shown = run("inspect", release).out
    for words in ("pca (PCA)", "epsilon", "height, weight, dose", "components_", "release.json"):
        assert words in shown
    facts = run("inspect", release, "--json").json
    assert facts["kind"] == "pca"
    assert facts["private"]
    assert facts["released"]["components_"].startswith("2 x 3")
    assert "release.json" in facts["files"]
    assert "there is no" in refused("inspect", "nowhere")


def test_the_record_of_a_ledger_goes_to_out(table):
    run(*LEDGER)
    run("ledger", "export", "b.db", "--out", "record.json")
    with open("record.json") as stream:
        assert json.load(stream)


def test_parameters_are_listed_and_completed(table):
    said = refused("fit", "pca", table, "-p", "help", "--out", "r")
    assert "n_components" in said
    assert "row_norm" in said
    line = "veilspan fit pca t.csv -p n_"
    completed = subprocess.run(
        [sys.executable, "-c", "from veilspan.cli import main; main()"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "_VEILSPAN_COMPLETE": "complete_bash", "COMP_WORDS": line,
             "COMP_CWORD": str(len(line.split()) - 1)},
    )  # fmt: skip
    assert completed.stdout.split() == ["n_components="]


@pytest.mark.parametrize("command", ["--help", "ledger history b.db", "inspect release"])
def test_a_reader_that_goes_away_is_no_error(command, release):
    """As ``| head`` does it: the pipe is closed before the first line is written."""
    run(*LEDGER)
    process = subprocess.Popen(
        [sys.executable, "-c", "from veilspan.cli import main; main()", *command.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=120) == 0, said
    assert said == b""
