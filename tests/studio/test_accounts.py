"""Accounts of a studio: passwords, lockout, links, damaged files and two processes at once."""

import json
import os
import statistics
import subprocess
import sys
import time

import pytest

from veilspan.studio import accounts as module
from veilspan.studio.accounts import FREE_FAILURES, MOST_WAIT, Accounts, AccountsError

GOOD = "four words without sense"


class Clock:
    now = 1e9

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def accounts(tmp_path, clock, monkeypatch):
    monkeypatch.setitem(module.COST, "n", 2**10)  # tests need no slow digest
    monkeypatch.setitem(module._NOBODY, "n", 2**10)
    return Accounts(tmp_path / "studio" / "accounts.json", clock)


def test_a_person_comes_in(accounts):
    made = accounts.add("Ana", "analyst", GOOD)
    assert accounts.verify("Ana", GOOD) == made
    assert accounts.verify(" ANA ", GOOD) == made
    for name, password in (("Ana", "wrong words without"), ("Otto", GOOD), ("", ""), (None, None)):
        assert accounts.verify(name, password) is None
    assert GOOD not in accounts.path.read_text()
    assert accounts.find("ana") == made
    assert accounts.find("Otto") is None


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_file_is_its_owners(accounts):
    accounts.add("Ana", "analyst", GOOD)
    assert accounts.path.stat().st_mode & 0o777 == 0o600
    accounts.path.chmod(0o644)
    for ask in (accounts.list, lambda: accounts.verify("Ana", GOOD)):
        with pytest.raises(AccountsError, match="chmod 600"):
            ask()


def test_roles_and_names(accounts):
    accounts.add("Ana", "analyst", GOOD)
    with pytest.raises(AccountsError, match="one of steward, analyst, officer"):
        accounts.add("Otto", "king", GOOD)
    with pytest.raises(AccountsError, match="already"):
        accounts.add("ANA", "officer", GOOD)
    with pytest.raises(ValueError, match="printable"):
        accounts.add("a\nb", "officer", GOOD)
    accounts.add("Otto", "officer", GOOD)
    assert [each.name for each in accounts.list()] == ["Ana", "Otto"]
    accounts.remove("Ana")
    assert accounts.verify("Ana", GOOD) is None
    with pytest.raises(AccountsError, match="no account"):
        accounts.remove("Ana")


@pytest.mark.parametrize("password", ["short", "a" * 40, "my name is ana!", "x" * 2000])
def test_poor_passwords(accounts, password):
    with pytest.raises(AccountsError):
        accounts.add("Ana", "analyst", password)
    assert accounts.list() == []


def test_lockout_grows_and_ends(accounts, clock):
    accounts.add("Ana", "analyst", GOOD)
    for _ in range(FREE_FAILURES):
        assert accounts.verify("Ana", "wrong words without") is None
    assert accounts.verify("Ana", GOOD) is None  # not even the right one
    clock.now += module.FIRST_WAIT + 1
    assert Accounts(accounts.path, clock).verify("Ana", "wrong words without") is None
    clock.now += module.FIRST_WAIT + 1
    assert accounts.verify("Ana", GOOD) is None  # twice as long by now, also after a restart
    clock.now += module.FIRST_WAIT
    assert accounts.verify("Ana", GOOD) is not None
    for _ in range(FREE_FAILURES - 1):  # counted anew
        accounts.verify("Ana", "wrong words without")
    assert accounts.verify("Ana", GOOD) is not None
    for _ in range(60):
        accounts.verify("Ana", "wrong words without")
        clock.now += MOST_WAIT + 1
    assert accounts.verify("Ana", GOOD) is not None


def test_a_name_that_nobody_has_costs_as_much(tmp_path):
    """The digest is computed for nobody as well; it takes nearly all of the time."""
    accounts = Accounts(tmp_path / "accounts.json")
    accounts.add("Ana", "analyst", GOOD)

    def take(name):
        start = time.process_time()
        accounts.verify(name, "wrong words without")
        return time.process_time() - start

    nobody = statistics.median(take("Otto") for _ in range(5))
    wrong = statistics.median(take("Ana") for _ in range(4))
    assert nobody > 0.02
    assert 0.4 < nobody / wrong < 2.5


def test_a_new_password_ends_sessions(accounts):
    before = accounts.add("Ana", "analyst", GOOD)
    after = accounts.set_password("Ana", "other words, other sense")
    assert after.stamp != before.stamp
    assert accounts.verify("Ana", GOOD) is None
    assert accounts.verify("Ana", "other words, other sense") == after
    with pytest.raises(AccountsError, match="no account"):
        accounts.set_password("Otto", GOOD)


def test_links(accounts, clock):
    account = accounts.add("Ana", "analyst")
    assert not account.has_password
    assert accounts.verify("Ana", "") is None
    old, new = accounts.reset_link("Ana"), accounts.reset_link("Ana")
    assert old not in accounts.path.read_text()
    assert accounts.whose_link(new) == "Ana"
    for token in (old, "guess", ""):
        with pytest.raises(AccountsError, match="used, is older"):
            accounts.use_reset(token, GOOD)
    with pytest.raises(AccountsError, match="at least"):
        accounts.use_reset(new, "short")
    assert accounts.use_reset(new, GOOD).has_password  # a poor password did not use it up
    with pytest.raises(AccountsError, match="used, is older"):
        accounts.use_reset(new, GOOD)
    assert accounts.verify("Ana", GOOD) is not None
    late = accounts.reset_link("Ana")
    clock.now += module.RESET_LASTS + 1
    with pytest.raises(AccountsError, match="older than a day"):
        accounts.use_reset(late, GOOD)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"format": 2, "people": {}}', '{"format": 1}', "x" * 100]
)
def test_a_damaged_file_is_not_an_empty_one(accounts, text):
    accounts.add("Ana", "analyst", GOOD)
    accounts.path.write_text(text)
    for ask in (accounts.list, lambda: accounts.add("Eve", "officer", GOOD)):
        with pytest.raises(AccountsError, match="put a copy back"):
            ask()
    assert accounts.path.read_text() == text


def test_a_full_disk_leaves_the_file(accounts, monkeypatch):
    accounts.add("Ana", "analyst", GOOD)
    before = accounts.path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_whole", full)
    for ask in (
        lambda: accounts.verify("Ana", "wrong words without"),
        lambda: accounts.add("Otto", "officer", GOOD),
    ):
        with pytest.raises(OSError, match="No space"):
            ask()
    assert accounts.path.read_bytes() == before


ADDING = """
import sys
from pathlib import Path
from veilspan.studio import accounts
accounts.COST["n"] = 2**10
for i in range(8):
    accounts.Accounts(Path(sys.argv[1])).add(f"{sys.argv[2]}{i}", "analyst", "four words, no sense")
"""


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_two_processes_lose_nobody(tmp_path):
    path = tmp_path / "accounts.json"
    both = [
        subprocess.Popen([sys.executable, "-c", ADDING, str(path), name]) for name in ("a", "b")
    ]
    assert [process.wait(120) for process in both] == [0, 0]
    assert len(Accounts(path).list()) == 16
    assert json.loads(path.read_text())["format"] == 1
