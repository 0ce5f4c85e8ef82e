"""``veilspan ledger``, as it is typed."""

import csv
import json
import os
import sqlite3
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ledger.earlier import make_earlier_ledger, read_format
from ledger.workers import request
from veilspan.cli import main
from veilspan.cli.ledger import BAR_WIDTH, draw_bar
from veilspan.ledger import Ledger
from veilspan.ledger.stores import sqlite
from veilspan.ledger.stores.base import SCHEMA
from veilspan.privacy.schema_record import SchemaRecord


@pytest.fixture
def veilspan(tmp_path, monkeypatch, capsys):
    """Run the command line in an empty folder; standard output, or the error's sentence."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VEILSPAN_LEDGER_KEY_FILE", str(tmp_path / "keys" / "ledger.key"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments, expect=0):
        monkeypatch.setattr(sys, "argv", ["veilspan", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        shown = capsys.readouterr()
        assert (stop.value.code or 0) == expect, shown
        assert "Traceback" not in shown.err
        return shown.out if not shown.err else shown.out + shown.err

    return run


@pytest.fixture
def used(veilspan):
    """A ledger with a dataset, a release and a charge that was never released."""
    veilspan("ledger", "create", "budget.db", "trial-42", "--epsilon", "3", "--delta", "1e-6")
    handle = Ledger("budget.db").dataset("trial-42")
    handle.charge(request()).release({"method": "PCA", "epsilon": 0.5, "delta": 1e-6})
    handle.with_key("figure-1").charge(request())
    return handle


def test_create_and_show(veilspan, used):
    shown = veilspan("ledger", "show", "budget.db")
    assert "trial-42" in shown
    assert "epsilon = 3, delta = 1e-06, replace-one, accounting auto" in shown
    assert draw_bar(used.spent().fraction) in shown
    record = json.loads(veilspan("ledger", "show", "budget.db", "trial-42", "--json"))
    assert record == [used.spent().to_dict()]


def test_create_says_where_the_key_is_and_keeps_terms(veilspan, tmp_path):
    terms = ("ledger", "create", "budget.db", "trial", "--delta", "1e-6", "--epsilon")
    shown = veilspan(*terms, "3")
    assert str(tmp_path / "keys" / "ledger.key") in shown.replace("\n", "")
    record = json.loads(veilspan(*terms, "3", "--json"))
    assert record["spent_epsilon"] == 0
    assert record["head"].startswith("2:")
    assert "its terms do not change" in veilspan(*terms, "4", expect=1)
    assert "epsilon must be positive" in veilspan(*terms, "-1", expect=1)
    options = ("--neighbors", "add-remove", "--accounting", "gdp", "--test", "--json")
    other = ("ledger", "create", "budget.db", "rehearsal", "--epsilon", "1", "--delta", "1e-7")
    record = json.loads(veilspan(*other, *options))
    assert (record["neighbors"], record["accounting"], record["test"]) == (
        "add-remove",
        "gdp",
        True,
    )


def test_create_takes_unit_and_data(veilspan):
    terms = ("ledger", "create", "budget.db", "ward", "--epsilon", "3", "--delta", "1e-6")
    shown = veilspan(*terms, "--unit", "Patient", "--data", "ward-visits")
    assert "protects   one patient; takes schemas of ward-visits" in shown
    record = json.loads(veilspan(*terms, "--unit", "patient", "--data", "ward-visits", "--json"))
    assert (record["unit"], record["data"]) == ("patient", "ward-visits")
    assert "its terms do not change" in veilspan(*terms, expect=1)
    assert "a unit must be" in veilspan(*terms, "--unit", "", expect=1)
    assert "for one patient of ward-visits" in veilspan("ledger", "history", "budget.db")


def test_history_and_export_say_what_each_charge_protects(veilspan):
    handle = Ledger("budget.db").dataset("ward", 3, 1e-6, unit="patient")
    schema = SchemaRecord("ab" * 32, "ward", "2026")
    handle.charge(replace(request(), unit="patient", schema=schema))
    shown = " ".join(veilspan("ledger", "history", "budget.db").split())
    assert "delta = 1e-06 for one patient, schema ward 2026" in shown
    assert f"({'ab' * 6})" in shown
    record = json.loads(veilspan("ledger", "history", "budget.db", "--json"))[-1]["content"]
    assert (record["unit"], record["schema"]) == ("patient", schema.to_dict())
    veilspan("ledger", "export", "budget.db", "--out", "out.csv")
    with open("out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["unit"], row["schema"]) for row in rows] == [
        ("", ""),
        ("patient", ""),
        ("patient", "ab" * 32),
    ]


def test_an_earlier_ledger_is_shown_and_upgraded(veilspan, tmp_path):
    make_earlier_ledger(str(tmp_path / "budget.db"), tmp_path / "keys" / "ledger.key")
    shown = veilspan("ledger", "show", "budget.db")
    assert "opened before units were recorded" in shown
    assert "budget epsilon = 60, delta = 1e-06" in veilspan("ledger", "history", "budget.db")
    assert read_format(str(tmp_path / "budget.db")) == 1
    assert "earlier ones refuse it" in veilspan("ledger", "upgrade", "budget.db")
    assert read_format(str(tmp_path / "budget.db")) == SCHEMA
    told = json.loads(veilspan("ledger", "upgrade", "budget.db", "--json"))
    assert told["head"].startswith("5:")
    assert "there is no ledger" in veilspan("ledger", "upgrade", "other.db", expect=1)


def test_history_tells_what_was_never_released(veilspan, used, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")  # an entry a line
    lines = veilspan("ledger", "history", "budget.db").splitlines()
    assert len(lines) == 8
    assert lines[3].split()[5:7] == lines[5].split()[5:7] == ["3.9", "%"]
    assert lines[6].startswith("trial-42: 7.9 % of the budget used, 92.1 % left, by exact Gaussian")
    assert lines[7].startswith("Shares add up, epsilons do not")
    assert "budget epsilon = 3" in lines[2]
    assert "PCA, epsilon = 1, delta = 1e-06" in lines[3]
    assert "not recorded as released" not in lines[3]
    assert "of entry 3" in lines[4]
    assert "key figure-1" in lines[5]
    assert "not recorded as released" in lines[5]
    record = json.loads(veilspan("ledger", "history", "budget.db", "trial-42", "--json"))
    assert [entry["kind"] for entry in record] == ["dataset", "charge", "release", "charge"]
    assert record[-1]["key"] == "figure-1"
    assert record[1]["content"]["plan"]["events"]
    shares = [entry["share"] for entry in record]
    assert shares[0] is shares[2] is None
    assert shares[1] + shares[3] == pytest.approx(used.spent().fraction, rel=1e-12)


def test_verify(veilspan, used):
    head = json.loads(veilspan("ledger", "verify", "budget.db", "--json"))["head"]
    assert "5 entries checked, no change found." in veilspan("ledger", "verify", "budget.db")
    used.charge(request())
    veilspan("ledger", "verify", "budget.db", "--head", head)
    wrong = f"{head.partition(':')[0]}:{'0' * 64}"
    shown = veilspan("ledger", "verify", "budget.db", "--head", wrong, expect=1)
    assert "PROBLEM  entry 5 is not that of the head given" in shown
    shown = veilspan("ledger", "verify", "budget.db", "--head", "five", expect=1)
    assert "a head reads count:digest" in shown


def tamper(*statements):
    for _, connection in (pair for waiting in sqlite._IDLE.values() for pair in waiting):
        connection.close()
    sqlite._IDLE.clear()
    connection = sqlite3.connect("budget.db")
    connection.execute("DROP TRIGGER entries_UPDATE")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_verify_finds_an_edit_and_history_survives_it(veilspan, used):
    tamper("UPDATE entries SET body = '\x1b[2J{' WHERE seq = 3")
    record = json.loads(veilspan("ledger", "verify", "budget.db", "--json", expect=1))
    assert not record["ok"]
    assert any("entry 3" in problem for problem in record["problems"])
    shown = veilspan("ledger", "history", "budget.db", expect=1)
    assert "cannot be read: run verify" in shown
    assert "entry 3 of the ledger is not what was written" in shown
    assert "\x1b" not in shown


def test_control_characters_are_not_sent_to_the_terminal(veilspan, used):
    tamper("UPDATE entries SET dataset = 'a\x1b[2J\nb', mac = '\x1b]0;x\x07' WHERE seq = 5")
    for command in ("history", "verify", "show", "export"):
        more = ("--out", "out.csv") if command == "export" else ()
        shown = veilspan("ledger", command, "budget.db", *more, expect=1)
        assert not set(shown) & {"\x1b", "\x07"}
        if command == "history":
            assert r"a\x1b[2J\nb" in shown
    shown = veilspan("ledger", "show", "\x1b[2J.db", expect=1)
    assert r"\x1b[2J.db" in shown


def test_history_is_shown_in_pages(veilspan, used):
    def numbers(*options):
        record = json.loads(veilspan("ledger", "history", "budget.db", *options, "--json"))
        return [entry["entry"] for entry in record]

    assert numbers("--last", "2") == [4, 5]
    assert numbers("--last", "2", "--before", "4") == [2, 3]
    assert numbers("trial-42", "--last", "3") == [3, 4, 5]
    assert numbers("trial-42", "--before", "4") == [2, 3]


def test_verify_says_that_there_is_no_anchor(veilspan, used, tmp_path):
    assert json.loads(veilspan("ledger", "verify", "budget.db", "--json"))["notes"] == []
    for head in (tmp_path / "keys").glob("*.head"):
        head.unlink()
    assert "NOTE     no anchor" in veilspan("ledger", "verify", "budget.db")


def test_an_export_holds_no_formula_and_no_control_character(veilspan):
    names = ["=HYPERLINK(1)", "@SUM(A1)", "+1", "-1", "plain", "＝1"]
    for name in names:
        Ledger("budget.db").dataset(name, 3, 1e-6)
    handle = Ledger("budget.db").dataset("plain").with_key("=cmd|' /C calc'!A0")
    handle.charge(request()).release({"method": "\x1b[2J", "epsilon": -1.0, "test": "\t=1"})
    veilspan("ledger", "export", "budget.db", "--out", "out.csv")
    with open("out.csv", newline="") as file:
        text = file.read()
    assert not set(text) & {"\x1b", "\t"}
    rows = list(csv.DictReader(text.splitlines()))
    cells = [cell for row in rows for name, cell in row.items() if name != "epsilon"]
    assert not [cell for cell in cells if cell.startswith(("=", "@", "+", "-", "\t", "\r", "＝"))]
    assert [row["dataset"] for row in rows[1:7]] == [
        name if name == "plain" else f"'{name}" for name in names
    ]
    assert rows[-1]["epsilon"] == "-1.0"  # a number, not a formula
    assert rows[-2]["key"] == "'=cmd|' /C calc'!A0"


@pytest.mark.parametrize("name", ["out.csv", "out.json"])
def test_export(veilspan, used, name):
    assert "5 entries written" in veilspan("ledger", "export", "budget.db", "--out", name)
    told = json.loads(veilspan("ledger", "export", "budget.db", "--out", name, "--json"))
    assert told == {"file": name, "entries": 5}
    with open(name, newline="") as file:
        if name == "out.csv":
            rows = list(csv.DictReader(file))
        else:
            record = json.load(file)
            assert record["datasets"] == [used.spent().to_dict()]
            rows = record["entries"]
            assert record["head"] == f"5:{rows[-1]['mac']}"
    assert [int(row["entry"]) for row in rows] == [1, 2, 3, 4, 5]
    assert [row["kind"] for row in rows] == ["ledger", "dataset", "charge", "release", "charge"]
    assert rows[4]["key"] == "figure-1"
    if name == "out.csv":
        assert [row["epsilon"] for row in rows] == ["", "3.0", "1.0", "0.5", "1.0"]


def test_an_export_never_replaces_the_ledger(veilspan):
    veilspan("ledger", "create", "budget.json", "trial", "--epsilon", "1", "--delta", "1e-6")
    shown = veilspan("ledger", "export", "budget.json", "--out", "budget.json", expect=1)
    assert "would replace the ledger itself" in shown
    assert "ends in .csv or .json" in veilspan(
        "ledger", "export", "budget.json", "--out", "o", expect=1
    )
    veilspan("ledger", "verify", "budget.json")


def test_a_failed_export_leaves_the_old_one(veilspan, used, monkeypatch):
    veilspan("ledger", "export", "budget.db", "--out", "out.csv")
    before = Path("out.csv").read_text()

    def fails(handle):
        raise OSError("No space left on device")

    used.charge(request())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        shown = veilspan("ledger", "export", "budget.db", "--out", "out.csv", expect=1)
    assert "No space left" in shown
    assert Path("out.csv").read_text() == before
    assert not [name for name in os.listdir() if name.startswith(".out.csv")]


def test_sentences(veilspan, used):
    assert "there is no ledger at" in veilspan("ledger", "show", "nothing.db", expect=1)
    assert not os.path.exists("nothing.db")
    assert "has no dataset 'x'" in veilspan("ledger", "show", "budget.db", "x", expect=1)
    assert "has no dataset 'x'" in veilspan("ledger", "history", "budget.db", "x", expect=1)
    shown = veilspan("ledger", "show", "budget.db", "--key", "other.key", expect=1)
    assert "other.key does not exist" in shown


def test_the_bar_is_full_only_when_all_is_spent():
    assert draw_bar(0.0).count("█") == 0
    assert draw_bar(1e-9).count("█") == 1
    assert draw_bar(0.5).count("█") == BAR_WIDTH // 2
    assert draw_bar(1 - 1e-9).count("█") == BAR_WIDTH - 1
    assert draw_bar(1.0).count("█") == BAR_WIDTH
    assert draw_bar(0.5, "#-") == "#" * (BAR_WIDTH // 2) + "-" * (BAR_WIDTH // 2)
