"""Requests on the command line: listed, read, approved and refused in words."""

import json

import pytest

from ledger.asked import draft, fit_of
from veilspan.cli.app import main
from veilspan.ledger import Ledger


@pytest.fixture
def place(tmp_path):
    return [str(tmp_path / "budget.db")], ["--key", str(tmp_path / "ledger.key")]


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(each) for each in arguments])
    out, err = capsys.readouterr()
    return stop.value.code or 0, out, err


def test_people_without_a_browser_decide(place, capsys):
    where, key = place
    code, _, _ = run(
        capsys,
        "ledger",
        "create",
        *where,
        "ward",
        "--epsilon",
        3,
        "--delta",
        1e-6,
        "--approval",
        *key,
    )
    assert code == 0
    assert run(capsys, "ledger", "requests", *where, *key)[1] == "no requests yet\n"
    ward = Ledger(where[0], key[1]).dataset("ward")
    asked = ward.ask(draft(note="line one\nline two"))
    _, listed, _ = run(capsys, "ledger", "requests", *where, *key)
    assert listed == f"{asked.id}  waits for an approval: pca at epsilon = 0.5 on ward, by Ana\n"
    _, shown, _ = run(capsys, "ledger", "request", *where, "ward", asked.id, *key)
    for words in (
        "asked      by Ana",
        "data       visits.parquet",
        "why        line two",
        "takes up",
    ):
        assert words in shown
    code, _, said = run(capsys, "ledger", "approve", *where, "ward", asked.id, "--by", "Ana", *key)
    assert code == 1
    assert "nobody approves their own request" in said
    code, shown, _ = run(
        capsys, "ledger", "approve", *where, "ward", asked.id, "--by", "Otto", "--version", 1, *key
    )
    assert code == 0
    assert "approved   by Otto" in shown
    code, out, _ = run(
        capsys, "ledger", "refuse", *where, "ward", asked.id,
        "--by", "Olga", "--reason", "too much", "--json", *key,
    )  # fmt: skip
    assert json.loads(out)["state"] == "refused"
    ward.edit_request(asked.id, draft(0.2), "Ana")
    ward.approve(asked.id, by="Ana", role="steward", solo=True)
    ward.with_key(asked.key).charge(fit_of(0.2)).release({}, {})
    _, shown, _ = run(capsys, "ledger", "request", *where, "ward", asked.id, *key)
    assert "released" in shown
    assert "the person who asked" in shown
    ward.record_schema("ab" * 32, by="Steffi")
    _, told, _ = run(capsys, "ledger", "history", *where, *key)
    for words in ("version 2: pca", "(the only person)", "by Olga", "schema abababababab"):
        assert words in " ".join(told.split())
    assert run(capsys, "ledger", "verify", *where, *key)[0] == 0


def test_what_is_not_there(place, capsys):
    where, key = place
    Ledger(where[0], key[1]).dataset("ward", 3, 1e-6)
    code, _, said = run(capsys, "ledger", "request", *where, "ward", "nothing", *key)
    assert code == 1
    assert "no request 'nothing'" in said
