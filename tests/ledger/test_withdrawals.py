"""A withdrawn release: one sealed entry, no refund, and everybody who looks is told."""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from cli.commands import run
from ledger.asked import draft, fit_of
from ledger.earlier import NAME, make_earlier_ledger, read_format
from reports.covers import META
from veilspan import PCA, load
from veilspan.ledger import Ledger, LedgerError, LedgerWarning
from veilspan.ledger.errors import TamperError
from veilspan.ledger.records import WITHDRAWAL
from veilspan.ledger.stores.base import SCHEMA
from veilspan.releases import save
from veilspan.reports import report_html, verify_release

SAMPLE = Path(__file__).parent / "samples" / "0.1.0-format3"


@pytest.fixture
def ward(ledger):
    return ledger.dataset("ward", 3, 1e-6)


def released(ward, key="one"):
    receipt = ward.with_key(key).charge(fit_of())
    receipt.release({}, {"answer_": 3})
    return receipt.entry


def test_a_withdrawal_is_an_entry_and_refunds_nothing(ward, ledger):
    charge = released(ward)
    before = ward.spent()
    assert ward.withdrawal(charge) is None
    done = ward.withdraw(charge, by="Otto", reason="A wrong column")
    assert ward.withdrawal(charge) == done
    # Whoever comes second finds what the first one said.
    assert ward.withdraw(charge, by="Ana", reason="Another reason") == done
    after = ward.spent()
    assert (after.account, after.charges, after.released) == (
        before.account,
        before.charges,
        before.released,
    )
    assert (before.withdrawn, after.withdrawn) == (0, 1)
    last = ward.history()[-1]
    assert (last.kind, last.seq, last.about) == (WITHDRAWAL, done.entry, charge + 1)
    assert "Withdrawn by Otto" in done.describe()
    assert "A wrong column. Do not use it" in done.describe()
    ward.withdraw(released(ward, "two"), by="Otto", reason="The same")
    assert ward.spent().withdrawn == 2
    assert "2 withdrawn" in repr(ward.spent())
    assert ward.spent().to_dict()["withdrawn"] == 2
    assert ledger.verify()


def test_what_cannot_be_withdrawn(ward, ledger):
    other = released(ledger.dataset("other", 3, 1e-6))
    broken = ward.charge(fit_of()).entry
    head = ledger.head()
    for number, words in ((broken, "never recorded as released"), (other, "not a charge to 'ward'"),
                          (broken + 1, "not a charge"), (10**6, "not a charge")):  # fmt: skip
        with pytest.raises(LedgerError, match=words):
            ward.withdraw(number, by="Otto", reason="No")
    charge = released(ward)
    for said in ({"by": "", "reason": "x"}, {"by": "Otto", "reason": " "}):
        with pytest.raises(ValueError, match=r"name|reason"):
            ward.withdraw(charge, **said)
    assert ledger.head().count == head.count + 2
    assert ward.withdrawal(broken) is None


def test_a_request_tells_of_it(ward, ledger):
    asked = ward.ask(draft())
    ward.approve(asked.id, by="Otto", role="officer")
    charge = ward.with_key(asked.key).charge(fit_of())
    charge.release({}, {"answer_": 3})
    ward.withdraw(charge.entry, by="Steffi", reason="A wrong column")
    found = ward.request(asked.id)
    assert (found.state, found.withdrawn_by) == ("released", "Steffi")
    assert found.to_dict()["withdrawn_why"] == "A wrong column"
    assert ledger.verify()


@pytest.mark.parametrize(
    ("about", "content", "problem"),
    [
        (0, {"by": "Eve", "reason": "x", "withdrawn": 1}, "was not released before"),
        (1, {"by": "Eve", "reason": "x", "withdrawn": 7}, "does not count right"),
        (1, {"by": "Eve"}, "cannot be read"),
    ],
)
def test_verify_finds_what_does_not_follow(ward, ledger, about, content, problem):
    charge = released(ward)
    with ledger.journal.writing() as page:
        page.append(WITHDRAWAL, "ward", content, about=charge + about)
    assert any(problem in text for text in ledger.verify().problems)


def test_the_tables_take_one_withdrawal_a_release(ward, ledger):
    charge = released(ward)
    ward.withdraw(charge, by="Otto", reason="x")
    with pytest.raises(LedgerError, match="failed"), ledger.journal.writing() as page:
        page.append(WITHDRAWAL, "ward", {}, about=charge + 1)


def test_a_withdrawal_moved_elsewhere_is_noticed(file_ledger):
    """Whoever writes SQL and has no key cannot hide one by naming another dataset."""
    file_ledger.dataset("other", 3, 1e-6)
    ward = file_ledger.dataset("ward", 3, 1e-6)
    charge = released(ward)
    done = ward.withdraw(charge, by="Otto", reason="A wrong column")
    released(ward, "two")
    connection = sqlite3.connect(file_ledger.url, isolation_level=None)
    connection.execute("DROP TRIGGER entries_UPDATE")
    connection.execute("UPDATE entries SET dataset = 'other' WHERE seq = ?", (done.entry,))
    connection.close()
    with pytest.raises(TamperError):
        ward.withdrawal(charge)


def test_a_ledger_of_format_1_takes_withdrawals(store_url, tmp_path):
    ledger = make_earlier_ledger(store_url, tmp_path / "ledger.key")
    account = ledger.dataset(NAME)
    charge = next(entry.seq for entry in ledger.history() if entry.kind == "charge")
    assert (account.withdrawal(charge), account.spent().withdrawn) == (None, 0)
    assert read_format(store_url) == 1
    account.withdraw(charge, by="Otto", reason="x")
    assert read_format(store_url) == SCHEMA
    assert account.spent().withdrawn == 1
    # Given again under its key, as ever, and said.
    with pytest.warns(LedgerWarning, match="figure-1' was withdrawn. Withdrawn by Otto"):
        again = account.with_key("figure-1").charge(fit_of(1.0, "q"))
    assert again.stored == {"answer_": 42}
    assert ledger.verify()


@pytest.mark.filterwarnings("ignore::veilspan.ledger.errors.LedgerWarning")
def test_a_ledger_of_format_3_goes_on(tmp_path):
    for name in ("budget.db", "ledger.key"):
        shutil.copy(SAMPLE / name, tmp_path)
    (tmp_path / "ledger.key").chmod(0o600)
    ledger = Ledger(tmp_path / "budget.db", tmp_path / "ledger.key")
    account, before = ledger.dataset("trial-42"), ledger.history()
    states = {request.state for request in account.requests()}
    assert states == {"released", "refused"}
    assert read_format(ledger.url) == 3
    asked = next(each for each in account.requests() if each.state == "released")
    account.withdraw(asked.charge, by="Otto", reason="x")
    assert read_format(ledger.url) == SCHEMA
    assert ledger.history()[:-1] == before
    assert account.request(asked.id).withdrawn_by == "Otto"
    assert ledger.verify()


@pytest.fixture
def release(file_ledger, tmp_path):
    account = file_ledger.dataset("ward", 3, 1e-6)
    rows = np.random.default_rng(0).normal(size=(200, 3))
    model = PCA(2, epsilon=0.5, delta=1e-6, row_norm=1.0, ledger=account).fit(rows)
    save(model, tmp_path / "release")
    return account, tmp_path / "release"


def test_a_release_and_its_report_say_it(release, file_ledger):
    account, folder = release
    model = load(folder)
    assert verify_release(folder, ledger=file_ledger)
    plain = report_html(model, ledger=account)
    assert (
        "withdrawn" not in plain.split('id="page-text"')[1]
    )  # as pages were before there were any
    charge = model.privacy_.ledger["entry"]
    account.withdraw(charge, by="Otto", reason="A <b>wrong</b> column")
    found = verify_release(folder, ledger=file_ledger)
    assert not found
    assert "WITHDRAWN" in found.conclusion
    assert "Withdrawn by Otto" in repr(found)
    assert "WITHDRAWN" in found._repr_html_()
    page = report_html(model, ledger=account, meta=META)
    assert page.count("Withdrawn by Otto") >= 2  # on the cover, and above the sections
    assert "Do not release." in page
    assert ", withdrawn" in page
    assert "<b>wrong" not in page
    (folder / "report.html").write_text(page)
    told = {check.name: check.outcome for check in verify_release(folder).checks}
    assert told["report"] == "fits"
    assert verify_release(folder)  # without the ledger nobody can know


def test_by_the_command_line(release, file_ledger):
    _, folder = release
    place, key = file_ledger.url, ("--key", file_ledger.key_file)
    charge = str(load(folder).privacy_.ledger["entry"])
    said = ("--by", "Otto", "--reason", "A wrong column")
    done = run("ledger", "withdraw", place, "ward", charge, *said, *key)
    assert "Withdrawn by Otto" in done.out
    again = run("ledger", "withdraw", place, "ward", charge, *said, *key, "--json")
    assert again.json["charge"] == int(charge)
    assert "withdrawal" in run("ledger", "history", place, *key).out
    assert "1 withdrawn" in run("ledger", "show", place, *key).out
    words = ("verify", folder, "--ledger", place, "--ledger-key", file_ledger.key_file)
    checked = run(*words, expect=6)
    assert "Withdrawn by Otto" in " ".join(checked.out.split())
