"""Many processes and threads at once: never one unit over, and every unit granted."""

import multiprocessing
import threading

import pytest

from ledger import workers
from veilspan.ledger import Ledger
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.filters import CAP
from veilspan.ledger.stores.base import open_store

N_PROCESSES = 4


@pytest.fixture
def key_file(tmp_path):
    return tmp_path / "ledger.key"


def race(name, url, key_file, each):
    """Run a worker in several processes that start together; what each of them returned."""
    # Not by fork: the test runner has threads, and its children could inherit their locks. The
    # server that forks them has none, and imports once what all of them need.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["veilspan.ledger", "scipy.optimize", "scipy.special"])
    queue, barrier = context.Queue(), context.Barrier(N_PROCESSES)
    processes = [
        context.Process(
            target=workers.in_process, args=(queue, barrier, name, (url, str(key_file), last))
        )
        for last in each
    ]
    for process in processes:
        process.start()
    results = [queue.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0, results
    return results


def test_single_units_are_granted_exactly(store_url, key_file):
    store = open_store(store_url)
    with store.writing() as book:
        book.open_account("units", (50, -1, -1, -1))
    granted = race("spend_units", store_url, key_file, [20] * N_PROCESSES)
    assert sum(granted) == 50
    with store.reading() as book:
        assert book.account("units").spent == (50,) * 4


def test_the_last_budget_goes_to_as_many_fits_as_it_holds(store_url, key_file):
    ledger = Ledger(store_url, key_file)
    handle = ledger.dataset("race", 2.5, 1e-6, accounting="gdp")
    allowed = handle.spent().account.allowed[0]
    room = allowed // workers.COST
    assert 10 < room < 20 * N_PROCESSES
    entries = [
        entry
        for part in race("charge_until_refused", store_url, key_file, [20] * N_PROCESSES)
        for entry in part
    ]
    assert len(entries) == len(set(entries)) == room
    state = handle.spent()
    assert state.account.spent[0] == room * workers.COST <= allowed
    assert state.charges == room
    assert ledger.verify()


def test_one_key_is_charged_once(store_url, key_file):
    ledger = Ledger(store_url, key_file)
    handle = ledger.dataset("race", 2.5, 1e-6)
    parts = race("charge_one_key", store_url, key_file, [5] * N_PROCESSES)
    outcomes = [outcome for part in parts for outcome in part]
    assert outcomes.count("charged") == 1
    assert outcomes.count(42) == 5 * N_PROCESSES - 1  # nobody is sent away
    assert handle.spent().charges == 1
    assert handle.with_key("figure-1").charge(workers.request()).stored == {"answer": 42}


def test_a_ledger_made_by_many_is_made_once(store_url, key_file):
    names = race("create", store_url, key_file, [3.0] * N_PROCESSES)
    assert names == ["race"] * N_PROCESSES
    ledger = Ledger(store_url, key_file)
    assert [entry.kind for entry in ledger.history()] == ["ledger", "dataset"]
    assert ledger.verify()


def test_of_several_terms_one_wins(store_url, key_file):
    names = race("create", store_url, key_file, [1.0, 2.0, 3.0, 4.0])
    assert sorted(names) == ["race"] + ["refused"] * (N_PROCESSES - 1)
    assert len(Ledger(store_url, key_file).datasets()) == 1


def test_threads(store_url, key_file):
    handle = Ledger(store_url, key_file).dataset("race", 2.0, 1e-6, accounting="gdp")
    room = handle.spent().account.allowed[0] // workers.COST
    parts = []
    barrier = threading.Barrier(N_PROCESSES)

    def charge():
        parts.append(workers.charge_until_refused(store_url, key_file, barrier, 20))

    threads = [threading.Thread(target=charge) for _ in range(N_PROCESSES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert room < 20 * N_PROCESSES
    assert sum(map(len, parts)) == handle.spent().charges == room


def test_a_rule_that_is_dead_stays_dead_and_does_not_overflow(store_url):
    store = open_store(store_url)
    with store.writing() as book:
        book.open_account("units", (-1, 10, -1, -1))
    for _ in range(3):
        with store.writing() as book:
            assert book.spend("units", (CAP, 3, CAP, CAP - 1))
    with store.writing() as book:
        assert not book.spend("units", (0, 2, 0, 0))
    with store.reading() as book:
        assert book.account("units").spent == (CAP, 9, CAP, CAP)


def test_a_writer_waits_for_another_and_then_says_so(store_url, key_file, monkeypatch):
    ledger = Ledger(store_url, key_file)
    handle = ledger.dataset("race", 2.5, 1e-6)
    monkeypatch.setattr("veilspan.ledger.stores.sqlite.PATIENCE", 0.2)
    monkeypatch.setattr("veilspan.ledger.stores.postgres.PATIENCE", 0.2)
    with (
        ledger.journal.writing(),
        pytest.raises(LedgerError, match="is held by another writer for more than"),
    ):
        handle.charge(workers.request())
    assert handle.spent().charges == 0
    assert handle.charge(workers.request()).entry == 3
