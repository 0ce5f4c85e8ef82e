"""One spelling of a name, one budget."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.requests import request
from veilspan.ledger import Dataset, Ledger, LedgerError
from veilspan.ledger.filters import rules_for, rules_to_list
from veilspan.ledger.names import check_name
from veilspan.ledger.records import DATASET

NFC, NFD = "caf\u00e9", "cafe\u0301"


def open_as_once(ledger, name, epsilon=3.0):
    """An account as it was opened when names were kept as they were typed."""
    rules = rules_for(epsilon, 1e-6, "auto")
    allowed = [rule.allowance(epsilon) for rule in rules]
    terms = {"name": name, "epsilon": epsilon, "delta": 1e-6, "neighbors": "replace-one"}
    terms |= {"accounting": "auto", "test": False}
    with ledger.journal.writing() as page:
        content = {"terms": terms, "rules": rules_to_list(rules), "allowed": allowed}
        page.append(DATASET, name, content)
        page.book.open_account(name, allowed)


def test_two_spellings_are_one_account(ledger):
    one, two = (ledger.dataset(name, 3, 1e-6) for name in (NFC, NFD))
    assert one == two
    assert ledger.datasets() == [NFC]
    two.charge(request(2.0))
    assert ledger.dataset(NFD).spent() == one.spent()
    assert one.spent().charges == 1
    with pytest.raises(LedgerError, match="its terms do not change"):
        ledger.dataset(NFD, 4, 1e-6)
    # A handle that was made by hand, or pickled before, means the same account.
    Dataset(ledger.url, NFD, ledger.key_file).charge(request(0.1)).release({})
    assert [one.spent().charges, one.spent().released] == [2, 1]
    assert ledger.verify()


def test_an_account_under_another_spelling_stays_the_one_account(ledger):
    ledger.dataset("first", 1, 1e-6)
    open_as_once(ledger, NFD)
    for name in (NFC, NFD):
        handle = ledger.dataset(name)
        assert handle.name == NFD
        handle.charge(request(0.5)).release({})
        assert ledger.dataset(name, 3, 1e-6) == handle
        Dataset(ledger.url, name, ledger.key_file).charge(request(0.5))
    assert ledger.datasets() == [NFD, "first"]
    spent = ledger.dataset(NFC).spent()
    assert [spent.charges, spent.released] == [4, 2]
    assert len(ledger.history(NFC)) == 7
    assert ledger.verify()


def test_of_two_accounts_the_one_in_the_normal_form_is_charged(ledger):
    """Both were opened once. What was spent from the other stays in the record."""
    open_as_once(ledger, NFD)
    Dataset(ledger.url, NFD, ledger.key_file).charge(request(0.5))
    open_as_once(ledger, NFC)
    again = Ledger(ledger.url, ledger.key_file)
    for name in (NFC, NFD):
        handle = again.dataset(name)
        assert handle.name == NFC
        handle.charge(request(0.5))
    assert {name: state.charges for name, state in again.spent().items()} == {NFC: 2, NFD: 1}
    assert again.verify()


def test_keys_of_any_spelling_are_one_release(ledger):
    data = ledger.dataset("d", 3, 1e-6)
    data.with_key(NFD).charge(request()).release({}, {"answer_": 42})
    assert data.with_key(NFC).charge(request()).stored == {"answer_": 42}
    # One that was kept as it was typed.
    old = Dataset(ledger.url, "d", ledger.key_file, f"old {NFD}")
    old.charge(request(0.5)).release({}, {"answer_": 43})
    assert data.with_key(f"old {NFC}").charge(request(0.5)).stored == {"answer_": 43}
    assert data.spent().charges == 2


@pytest.mark.parametrize(
    "name", ["a\x1b[2Jb", "a\x00", "a\tb", "a\u200bb", "a\u202eb", "a\x7f", "\ud800", "a\u2028b"]
)
def test_what_does_not_show_is_no_name(file_ledger, name):
    with pytest.raises(ValueError, match="printable"):
        file_ledger.dataset(name, 3, 1e-6)
    with pytest.raises(ValueError, match="printable"):
        Dataset("x", "y", "z").with_key(name)


@given(st.text(min_size=1, max_size=20))
def test_equal_names_are_equal_under_every_spelling(text):
    try:
        name = check_name(text, "a name")
    except ValueError:
        return
    for form in ("NFC", "NFD"):
        assert check_name(unicodedata.normalize(form, text), "a name") == name
    assert check_name(name, "a name") == name


@pytest.mark.parametrize(
    "letter", ["\ufe0f", "\u034f", "\u3164", "\u115f", "\u2800", "\uffa0", "\u17b4", "\U000e0101"]
)
def test_letters_that_leave_no_trace_are_refused(letter):
    with pytest.raises(ValueError, match="does not show"):
        check_name(f"trial-42{letter}", "the name")
