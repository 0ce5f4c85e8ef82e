"""What is published: metadata that agree, extras that are explained, one logger."""

import logging
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import veilspan
from veilspan import PCA, Ledger

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
#: Extras of those who work on the package.
OWN = ("test", "lint", "docs", "all")
ROWS = np.random.default_rng(0).standard_normal((200, 3))


def name_of(requirement):
    return re.match(r"[A-Za-z0-9_.-]+", requirement).group().lower()


def test_versions_agree():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (\S+)$", cited, re.MULTILINE).group(1) == veilspan.__version__


def test_every_dependency_is_explained_once():
    page = (ROOT / "docs/development/dependencies.md").read_text(encoding="utf-8")
    base, extras = page.split("## Extras")
    told = re.findall(r"^\| ([a-z-]+) \|", base, re.MULTILINE)
    assert sorted(told) == sorted(["package", *map(name_of, PROJECT["dependencies"])])
    told = set(re.findall(r"^\| ([a-z]+) \| ([a-z0-9-]+) \|", extras, re.MULTILINE))
    wanted = {(e, name_of(r)) for e, needs in EXTRAS.items() if e not in OWN for r in needs}
    assert told - {("extra", "package")} == wanted


def test_all_brings_what_users_may_want():
    (everything,) = EXTRAS["all"]
    named = set(re.search(r"\[(.*)\]", everything).group(1).split(","))
    assert named == set(EXTRAS) - {*OWN, "jax", "torch"}  # a gigabyte each


def test_the_marker_of_types_is_there():
    assert (ROOT / "src/veilspan/py.typed").exists()
    assert "Typing :: Typed" in PROJECT["classifiers"]


@pytest.fixture
def account(tmp_path):
    return Ledger(tmp_path / "b.db", key=tmp_path / "k").dataset("ward", epsilon=3, delta=1e-6)


def test_one_logger_tells_of_charges_and_releases(account, tmp_path, caplog):
    with caplog.at_level(logging.DEBUG, logger="veilspan"):
        fitted = PCA(1, ledger=account).fit(ROWS)
        fitted.save(tmp_path / "rel\nINFO:veilspan:charged")
        veilspan.load(tmp_path / "rel\nINFO:veilspan:charged")
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split()[0] for line in lines] == ["charged", "released", "saved", "loaded"]
    assert {record.name for record in caplog.records} == {"veilspan"}
    assert all(line.isprintable() for line in lines), "no name can forge a line"
    assert "epsilon=1.0" in lines[0]


def test_logs_of_neighbours_are_the_same_but_for_ids(tmp_path, caplog):
    """Nothing in a line depends on rows, nor on how long they took."""
    told = []
    for place, rows in (("a", ROWS), ("b", 1e6 * ROWS[::-1])):
        caplog.clear()
        (tmp_path / place).mkdir()
        ledger = Ledger(tmp_path / place / "b.db", key=tmp_path / place / "k")
        with caplog.at_level(logging.DEBUG, logger="veilspan"):
            PCA(1, ledger=ledger.dataset("ward", epsilon=3, delta=1e-6)).fit(rows)
        lines = "\n".join(record.getMessage() for record in caplog.records)
        told.append(re.sub(r"release=[0-9a-f]+", "release=ID", lines))
    assert told[0] == told[1]


def test_nothing_is_printed_unless_asked_for(account, capfd):
    PCA(1, ledger=account).fit(ROWS)
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
