"""Datasets, charges, refusals: on every store."""

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from ledger.requests import SAMPLED, plan_of, request
from veilspan import Budget, BudgetExceededError, GaussianEvent, calibrate_noise
from veilspan.ledger import Dataset, Ledger, LedgerError, Request, TamperError, current_dataset
from veilspan.ledger.stores.base import open_store


def test_a_dataset_is_made_once_and_keeps_its_terms(ledger):
    made = ledger.dataset("trial-42", epsilon=3, delta=1e-6)
    assert made == ledger.dataset("trial-42", epsilon=3, delta=1e-6)
    assert made == ledger.dataset("trial-42")
    assert [made.terms().epsilon, made.terms().delta] == [3.0, 1e-6]
    for other in (
        {"epsilon": 4, "delta": 1e-6},
        {"epsilon": 3, "delta": 1e-5},
        {"epsilon": 3, "delta": 1e-6, "neighbors": "add-remove"},
        {"epsilon": 3, "delta": 1e-6, "accounting": "gdp"},
        {"epsilon": 3, "delta": 1e-6, "test": True},
    ):
        with pytest.raises(LedgerError, match="its terms do not change"):
            ledger.dataset("trial-42", **other)
    assert ledger.datasets() == ["trial-42"]
    assert ledger.verify()


def test_what_does_not_exist_is_not_made_by_reading(ledger):
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.datasets()
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.dataset("trial-42")
    assert not open_store(ledger.url).exists()
    ledger.dataset("a", 1, 1e-6)
    with pytest.raises(LedgerError, match="no dataset 'b'"):
        ledger.dataset("b")
    with pytest.raises(LedgerError, match="no dataset 'b'"):
        Dataset(ledger.url, "b", ledger.key_file).charge(request())


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("", {}),
        (" x", {}),
        ("x\n", {}),
        (7, {}),
        ("x", {"epsilon": 0}),
        ("x", {"epsilon": -1}),
        ("x", {"epsilon": math.inf}),
        ("x", {"epsilon": math.nan}),
        ("x", {"delta": 0}),
        ("x", {"delta": 1}),
        ("x", {"delta": None}),
        ("x", {"neighbors": "both"}),
        ("x", {"accounting": "pld"}),
        ("x", {"test": 1}),
    ],
)
def test_bad_terms_are_refused_and_leave_nothing(file_ledger, name, terms):
    with pytest.raises((ValueError, TypeError, LedgerError)):
        file_ledger.dataset(name, **{"epsilon": 1, "delta": 1e-6, **terms})
    assert not open_store(file_ledger.url).exists()


def test_charges_add_up_until_nothing_is_left(ledger):
    data = ledger.dataset("d", 3, 1e-6, accounting="gdp")
    first = data.charge(request(1.0))
    assert data.spent().epsilon_gdp == pytest.approx(1.0, rel=1e-6)
    assert data.spent().released == 0
    first.release({"method": "Test"})
    assert data.spent().released == 1
    left = data.left()
    assert 2.6 < left < 2.8
    with pytest.raises(BudgetExceededError):
        data.charge(request(left * 1.001))
    data.charge(request(left))
    spent = data.spent()
    assert spent.epsilon == pytest.approx(3.0, rel=1e-4)
    assert spent.epsilon <= 3.0
    assert spent.fraction == pytest.approx(1.0, rel=1e-4)
    assert spent.epsilon_rdp > spent.epsilon_gdp
    assert [spent.charges, spent.released] == [2, 1]
    assert spent.to_dict()["left_epsilon"] == pytest.approx(data.left())
    assert "over 99.9 % of the budget used, under 0.1 % left" in repr(spent)
    assert ledger.spent()["d"] == spent
    assert ledger.verify()


def test_a_refusal_says_what_is_short_and_what_still_fits(ledger):
    data = ledger.dataset("d", 3, 1e-6)
    data.charge(request(2.0))
    with pytest.raises(
        BudgetExceededError, match=r"needs 63\.5 % of the budget, and 49\.3 % is left"
    ) as refused:
        data.charge(request(2.5, delta=1e-7))
    text = str(refused.value)
    assert "Nothing was charged" in text
    fits = float(text.split("Still fits: one Test at epsilon ")[1].split()[0])
    with pytest.raises(BudgetExceededError):
        data.charge(request(fits * 1.0001, delta=1e-7))
    data.charge(request(fits, delta=1e-7))
    with pytest.raises(BudgetExceededError):
        data.charge(request(0.5))
    assert data.spent().charges == 2


def test_a_refused_sampled_fit_is_told_what_fits(file_ledger):
    data = file_ledger.dataset("d", 1, 1e-6)
    steps = replace(SAMPLED, count=3000)
    with pytest.raises(BudgetExceededError, match="at epsilon about") as refused:
        data.charge(request(3.0, events=(steps,)))
    fits = float(str(refused.value).split("at epsilon about ")[1].split()[0])
    assert 0.7 < fits < 1
    (noisier,) = calibrate_noise(Budget(fits * 0.995, 1e-6), [steps])
    data.charge(request(fits, events=(noisier,)))
    assert data.spent().fraction > 0.9


def test_every_kind_of_release_is_counted(ledger):
    data = ledger.dataset("d", 3, 1e-6)
    data.charge(request(events=(SAMPLED,)))
    spent = data.spent()
    assert spent.epsilon_gdp == math.inf
    assert 0 < spent.epsilon == spent.epsilon_rdp < 3
    assert spent.to_dict()["spent_epsilon_gdp"] == "inf"
    data.charge(request(0.5))
    assert data.spent().epsilon_rdp > spent.epsilon_rdp
    assert ledger.verify()


def test_a_gaussian_account_takes_no_other_release(ledger):
    data = ledger.dataset("d", 3, 1e-6, accounting="gdp")
    with pytest.raises(BudgetExceededError, match="full-batch Gaussian releases only"):
        data.charge(request(events=(SAMPLED,)))
    data.charge(request(2.9))
    assert data.spent().charges == 1


def test_a_dead_rule_never_comes_back(ledger):
    """After a sampled release mu^2 no longer counts, however little it was."""
    data = ledger.dataset("d", 3, 1e-6)
    data.charge(request(events=(SAMPLED,)))
    left = data.left()
    assert left < 2.8
    data.charge(request(left))
    with pytest.raises(BudgetExceededError):
        data.charge(request(0.3))


def test_another_relation_is_another_promise(ledger):
    data = ledger.dataset("d", 3, 1e-6, neighbors="add-remove")
    with pytest.raises(LedgerError, match="accounted under add-remove; this fit promises replace"):
        data.charge(request())
    data.charge(request(neighbors="add-remove"))


@pytest.mark.parametrize("reason", ["random_state is a seed", "epsilon is infinite"])
def test_what_is_not_private_is_refused_or_a_test(ledger, reason):
    real = ledger.dataset("real", 3, 1e-6)
    with pytest.raises(LedgerError, match=f"{reason}: such a fit is not private"):
        real.charge(request(math.inf, test=reason))
    assert real.spent().charges == 0
    rehearsal = ledger.dataset("rehearsal", 3, 1e-6, test=True)
    assert rehearsal.charge(request(math.inf, test=reason)).test
    assert rehearsal.charge(request(1.0)).test is False  # private: it costs, to rehearse a budget
    spent = rehearsal.spent()
    assert [spent.charges, spent.tests] == [2, 1]
    assert spent.epsilon == pytest.approx(1.04, abs=0.01)
    assert ledger.verify()


def test_an_infinite_plan_cannot_be_charged_even_if_it_claims_to_be_private(ledger):
    data = ledger.dataset("d", 3, 1e-6)
    with pytest.raises(LedgerError, match="no finite cost"):
        data.charge(Request(plan_of(math.inf)))
    with pytest.raises(BudgetExceededError, match="without noise"):  # there is no such plan
        data.charge(request(events=(GaussianEvent("e", 0.0),)))
    assert data.spent().charges == 0


def test_a_charge_that_broke_off_stays_spent(ledger):
    data = ledger.dataset("d", 3, 1e-6)
    data.charge(request(2.0))
    again = Ledger(ledger.url, ledger.key_file).dataset("d")
    assert again.spent().epsilon == pytest.approx(data.spent().epsilon)
    assert [again.spent().charges, again.spent().released] == [1, 0]


def test_a_charge_is_released_once(ledger):
    receipt = ledger.dataset("d", 3, 1e-6).charge(request())
    receipt.release({})
    with pytest.raises(LedgerError):
        receipt.release({})
    assert ledger.verify()


def test_copies_of_a_handle_are_the_same_account(ledger):
    data = ledger.dataset("d", 3, 1e-6)
    for copied in (copy.deepcopy(data), copy.copy(data), pickle.loads(pickle.dumps(data))):
        assert copied == data
        copied.charge(request(0.5))
    assert data.spent().charges == 3
    with open(ledger.key_file) as file:
        secret = file.read().strip()
    assert secret.encode() not in pickle.dumps(data)
    assert secret not in repr(data)


def test_sessions_nest_and_end(ledger):
    one, two = (ledger.dataset(name, 3, 1e-6) for name in ("one", "two"))
    assert current_dataset() is None
    with ledger.session("one") as outer:
        assert current_dataset() == outer == one
        with ledger.session(two):
            assert current_dataset() == two
        assert current_dataset() == one
    assert current_dataset() is None
    with pytest.raises(LedgerError, match="no dataset"):
        ledger.session("three")


def test_threads_share_a_session_or_must_say_which(file_ledger):
    one, two = (file_ledger.dataset(name, 3, 1e-6) for name in ("one", "two"))
    with ThreadPoolExecutor(1) as pool:
        with file_ledger.session(one):
            assert pool.submit(current_dataset).result() == one
            with file_ledger.session(two), pytest.raises(LedgerError, match="say which account"):
                pool.submit(current_dataset).result()
        assert pool.submit(current_dataset).result() is None


def test_datasets_do_not_touch_each_other(ledger):
    one, two = (ledger.dataset(name, 3, 1e-6) for name in ("one", "two"))
    one.charge(request(2.0))
    assert two.spent().charges == 0
    assert two.left() == pytest.approx(ledger.dataset("three", 3, 1e-6).left())
    assert [e.kind for e in one.history()] == ["dataset", "charge"]
    assert [e.seq for e in ledger.history()] == [1, 2, 3, 4, 5]
    assert ledger.history("one") == one.history()


def test_a_clock_that_goes_backwards_changes_nothing(ledger, monkeypatch):
    data = ledger.dataset("d", 3, 1e-6)
    for time in ("2030-01-01T00:00:00", "1970-01-01T00:00:00", "2020-01-01T00:00:00"):
        monkeypatch.setattr("veilspan.ledger.seal.journal.now", lambda time=time: time)
        data.charge(request(0.5))
    assert [entry.seq for entry in data.history()] == [2, 3, 4, 5]
    assert [entry.time[:4] for entry in data.history()][1:] == ["2030", "1970", "2020"]
    assert ledger.verify()


def test_a_ledger_made_anew_in_the_old_place_is_refused(file_ledger, tmp_path):
    """Deleting the file would give the whole budget back."""
    file_ledger.dataset("d", 3, 1e-6).charge(request(2.0))
    for path in tmp_path.glob("budget.db*"):
        path.unlink()
    with pytest.raises(TamperError, match="its entries are gone"):
        file_ledger.dataset("d", 3, 1e-6)


def test_locations():
    assert Ledger("budget.db").url.startswith("/")
    assert "secret" not in repr(Ledger("postgresql://me:secret@host/db"))
    for wrong in ("", "folder/", "mysql://x"):
        with pytest.raises(LedgerError):
            Ledger(wrong)
