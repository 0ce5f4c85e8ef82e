"""People, backup and restore on the command line of whoever administers the machine."""

import json

import pytest

from ledger.asked import fit_of
from veilspan.cli import main
from veilspan.ledger import Ledger
from veilspan.studio.accounts import FILE, Accounts

GOOD = "four words without sense"


@pytest.fixture
def veilspan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    typed = []
    monkeypatch.setattr("typer.prompt", lambda *_, **__: typed.pop(0))

    def run(*words, expect=0, typing=()):
        typed.extend(typing)
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        shown = capsys.readouterr()
        assert (stop.value.code or 0) == expect, shown
        return shown.out + shown.err

    return run


def test_people(veilspan, tmp_path):
    assert "nobody yet" in veilspan("studio", "people", "list")
    told = veilspan("studio", "people", "add", "Otto", "--role", "officer", typing=[GOOD])
    assert told == "Otto is officer now.\n"
    accounts = Accounts(tmp_path / "studio" / FILE)
    assert accounts.verify("Otto", GOOD) is not None
    secret = veilspan("studio", "people", "add", "Ana", "--role", "analyst", "--link").split()[0]
    assert "has chosen no password" in veilspan("studio", "people", "list")
    accounts.use_reset(secret, GOOD)
    assert accounts.verify("Ana", GOOD) is not None
    other = "another four, no sense"
    assert GOOD not in veilspan("studio", "people", "reset", "Ana", typing=[other])
    assert accounts.verify("Ana", GOOD) is None
    assert accounts.verify("Ana", other) is not None
    told = json.loads(veilspan("studio", "people", "reset", "Ana", "--link", "--json"))
    assert accounts.whose_link(told["secret"]) == "Ana"
    assert "no account 'Eve'" in veilspan("studio", "people", "remove", "Eve", expect=1)
    veilspan("studio", "people", "remove", "Ana")
    told = json.loads(veilspan("studio", "people", "list", "--json"))
    assert told == [{"name": "Otto", "role": "officer"}]
    poor = veilspan("studio", "people", "reset", "Otto", typing=["short"], expect=1)
    assert "at least 12 characters" in poor
    bad = veilspan("studio", "people", "add", "Eve", "--role", "king", typing=[GOOD], expect=1)
    assert "one of steward, analyst, officer" in bad


def test_backup_and_restore(veilspan, tmp_path):
    assert "no studio in" in veilspan("studio", "backup", "--out", "copy.zip", expect=1)
    ledger = Ledger(tmp_path / "budget.db", tmp_path / "ledger.key")
    ledger.dataset("ward", 3, 1e-6)
    (tmp_path / "studio").mkdir()
    (tmp_path / "studio" / FILE).write_text("{}")
    assert "Keep a copy of ledger.key" in veilspan("studio", "backup", "--out", "copy.zip")
    told = veilspan("studio", "restore", "copy.zip", "--into", "new", "--key", "ledger.key")
    assert "has 2 entries and verifies" in told
    assert (tmp_path / "new" / "studio" / FILE).exists()
    words = ("studio", "restore", "copy.zip", "--into", "new", "--key", "ledger.key")
    assert "exists" in veilspan(*words, expect=1)
    ledger.dataset("ward").charge(fit_of(0.1))
    words = ("studio", "restore", "copy.zip", "--into", "newer", "--key", "ledger.key")
    assert "hand out" in veilspan(*words, expect=1)
    assert not (tmp_path / "newer").exists()
