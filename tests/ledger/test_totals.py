"""Running totals: exact, under the seal, and read in constant time."""

import random
import sqlite3
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ledger.requests import plan_of, request
from ledger.test_chain import tamper
from veilspan import BudgetExceededError, GaussianEvent
from veilspan.ledger import Ledger, LedgerError, Request, TamperError
from veilspan.ledger.costs import cost_of
from veilspan.ledger.filters import CAP, MOST_RULES, UNIT
from veilspan.ledger.records import CHARGE, RELEASE
from veilspan.ledger.stores import sqlite
from veilspan.ledger.stores.base import Book


def let_go():
    for _, connection in (pair for waiting in sqlite._IDLE.values() for pair in waiting):
        connection.close()
    sqlite._IDLE.clear()


def charge_as_once(ledger, name, costs, *, test="", release=False, counted=False):
    """Charges as they were written before counts were kept (or with counts), in one transaction."""
    with ledger.journal.writing() as page:
        for number, cost in enumerate(costs, start=1):
            assert page.book.spend(name, (cost,) * MOST_RULES)
            spent = list(page.book.account(name).spent)
            content = {"costs": [cost] * MOST_RULES, "spent": spent, "test": test}
            counts = {"charges": number, "tests": number if test else 0} if counted else {}
            entry = page.append(CHARGE, name, {**content, **counts})
            if release:
                content = {"statement": {}, "payload": None}
                counts = {"released": number} if counted else {}
                page.append(RELEASE, name, {**content, **counts}, about=entry.seq)


def counts(handle):
    state = handle.spent()
    return [state.charges, state.tests, state.released]


def test_an_older_ledger_is_counted_until_the_next_charge_takes_over(ledger):
    data = ledger.dataset("d", 3, 1e-6, test=True)
    charge_as_once(ledger, "d", [5, 0], test="a seed", release=True)
    charge_as_once(ledger, "d", [7])
    assert counts(data) == [3, 2, 2]
    assert data.spent().account.spent == (12,) * MOST_RULES
    receipt = data.charge(request(0.5))
    assert receipt.dataset.entry(receipt.entry).content["charges"] == 4
    assert counts(data) == [4, 2, 2]
    receipt.release({})
    assert counts(data) == [4, 2, 3]
    assert ledger.history()[-1].content["released"] == 3
    charge_as_once(ledger, "d", [1], release=True)  # somebody still has the older version
    assert counts(data) == [5, 2, 4]
    assert ledger.verify()


TAMPERINGS = {
    "allowance": "UPDATE accounts SET allowed0 = allowed0 * 10",
    "spending": "UPDATE accounts SET spent0 = 0, spent1 = 0, spent2 = 0, spent3 = 0",
    "terms": "UPDATE entries SET body = replace(body, '3.0', '9.0') WHERE kind = 'dataset'",
    "the last charge": "UPDATE entries SET body = 'x' WHERE seq = 5",
    "its total": "UPDATE entries SET body = replace(body, '\"spent\":[', '\"spent\":[1') "
    "WHERE seq = 5",
    "the last release": "UPDATE entries SET body = replace(body, '\"released\":2', "
    "'\"released\":1') WHERE seq = 6",
    "the account": "DELETE FROM accounts",
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_readers_find_what_was_changed(file_ledger, what):
    """An allowance that was raised tenfold by hand used to be shown as what is left."""
    data = file_ledger.dataset("d", 3, 1e-6)
    for _ in range(2):
        data.charge(request(0.5)).release({})
    tamper(file_ledger, TAMPERINGS[what])
    for ask in (data.spent, data.left, file_ledger.spent):
        with pytest.raises(TamperError):
            ask()
    assert not file_ledger.verify()


def test_history_checks_every_seal_it_shows(file_ledger):
    data = file_ledger.dataset("d", 3, 1e-6)
    for _ in range(4):
        data.charge(request(0.2))
    tamper(file_ledger, "UPDATE entries SET time = '1999' WHERE seq = 4")
    for ask in (data.history, file_ledger.history):
        with pytest.raises(TamperError, match="entry 4"):
            ask()
    assert [entry.seq for entry in data.history(limit=2)] == [5, 6]
    tamper(file_ledger, "DELETE FROM entries WHERE seq = 4")
    with pytest.raises(TamperError, match="entry 4 of the ledger is missing"):
        data.history()


def test_history_comes_in_pages(ledger):
    one, two = (ledger.dataset(name, 3, 1e-6) for name in ("one", "two"))
    for _ in range(3):
        one.charge(request(0.2)).release({})
        two.charge(request(0.2))
    whole = [entry.seq for entry in one.history()]
    for limit in range(1, len(whole) + 2):
        pages, before = [], None
        while page := one.history(limit=limit, before=before):
            assert len(page) <= limit
            pages, before = [entry.seq for entry in page] + pages, page[0].seq
        assert pages == whole
    assert [entry.seq for entry in ledger.history(limit=3)] == [10, 11, 12]
    assert [entry.seq for entry in ledger.history("two", before=9, limit=2)] == [3, 6]
    assert one.entry(4).kind == "charge"
    assert one.entry(3) is None  # of another dataset
    assert one.entry(99) is None
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="limit"):
            one.history(limit=wrong)


@pytest.mark.parametrize("ask", ["spent", "left", "page", "charge"])
def test_the_work_does_not_grow_with_the_record(file_ledger, ask):
    """Steps of the database's machine, not seconds: the same after 20 and after 2,000 charges."""
    data = file_ledger.dataset("d", 3, 1e-6)
    calls = {
        "spent": data.spent,
        "left": data.left,
        "page": lambda: data.history(limit=10),
        "charge": lambda: data.charge(request(1e-3)).release({}),
    }
    steps = []
    for more in (20, 1980):
        done = data.spent().charges
        with file_ledger.journal.writing() as page:
            for number in range(done + 1, done + more + 1):
                content = {"costs": [0] * 4, "test": "", "charges": number, "tests": 0}
                content |= {"led": [], "plan": None}
                spent = list(page.book.account("d").spent)
                page.append(CHARGE, "d", {**content, "spent": spent})
                content = {"statement": {}, "payload": None, "released": number}
                page.append(RELEASE, "d", content, about=page.head.count)
        calls[ask]()
        (_, connection) = sqlite._IDLE[file_ledger.url][-1]
        counted = []
        connection.set_progress_handler(lambda counted=counted: counted.append(1) and None, 1)
        calls[ask]()
        connection.set_progress_handler(None, 1)
        steps.append(len(counted))
    assert 0 < steps[1] <= 1.5 * steps[0]
    assert file_ledger.verify()


def test_single_bits_that_flip_give_a_sentence_or_the_truth(file_ledger, tmp_path):
    """Never a raw error of a parser, and never another number."""
    data = file_ledger.dataset("d", 3, 1e-6)
    for _ in range(3):
        data.charge(request(0.3)).release({})
    truth, whole = data.spent(), data.history()
    let_go()
    path = tmp_path / "budget.db"
    sound = path.read_bytes()
    random_bits = random.Random(0)
    refused = 0
    for _ in range(150):
        place = random_bits.randrange(len(sound))
        flipped = bytes([sound[place] ^ (1 << random_bits.randrange(8))])
        path.write_bytes(sound[:place] + flipped + sound[place + 1 :])
        try:
            assert data.spent() == truth
            assert data.history() == whole
            assert file_ledger.datasets() == ["d"]
        except LedgerError:
            refused += 1
        let_go()
        for log in tmp_path.glob("budget.db-*"):
            log.unlink()
    path.write_bytes(sound)
    assert refused > 5
    assert file_ledger.verify()


# Exact sums, and filters that close.


def test_twenty_thousand_charges_add_up_exactly(store_url):
    """Against whole numbers of any size; 0.1 + 0.2 would be off after a few."""
    from veilspan.ledger.stores.base import open_store

    draw = random.Random(1)
    with open_store(store_url).writing() as book:
        book.open_account("d", (CAP - 1, -1, -1, -1))
        sums = [0] * MOST_RULES
        for _ in range(20_000 if "://" not in store_url else 2_000):
            costs = [draw.randrange(10**13), draw.randrange(2), CAP // 3, 1]
            assert book.spend("d", costs)
            sums = [a + b for a, b in zip(sums, costs)]
        assert book.account("d").spent == tuple(min(CAP, units) for units in sums)


class FilterMachine(RuleBasedStateMachine):
    """Any sequence of requests: granted exactly while they fit, and never after that."""

    @initialize(
        allowed=st.tuples(*[st.sampled_from([-1, 0, 3, 1000, CAP - 1])] * MOST_RULES).filter(
            lambda units: max(units) >= 0
        )
    )
    def start(self, allowed):
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        for statement in sqlite._statements(sqlite.TABLES):
            self.connection.execute(statement)
        self.book: Book = sqlite.SQLiteBook(self.connection)
        self.book.open_account("d", allowed)
        self.allowed, self.sums = allowed, [0] * MOST_RULES

    def teardown(self):
        self.connection.close()

    @rule(costs=st.tuples(*[st.sampled_from([0, 1, 2, 500, CAP // 2, CAP])] * MOST_RULES))
    def spend(self, costs):
        after = [a + b for a, b in zip(self.sums, costs)]
        fits = any(units <= most for units, most in zip(after, self.allowed))
        assert self.book.spend("d", costs) == fits
        self.sums = after if fits else self.sums

    @invariant()
    def the_account_is_the_sum(self):
        account = self.book.account("d")
        assert account.spent == tuple(min(CAP, units) for units in self.sums)
        assert any(units <= most for units, most in zip(self.sums, self.allowed))


TestFilterMachine = FilterMachine.TestCase
TestFilterMachine.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_filter_that_is_full_stays_closed(file_ledger, adaptive):
    """No tolerance is granted anew: what follows a full budget is refused, however small it is."""
    data = file_ledger.dataset("d", 1, 1e-6, accounting="gdp")
    events = None if not adaptive else (GaussianEvent("forecast", 50.0),)

    def asked(epsilon):
        return Request(plan_of(epsilon, events=events, adaptive=adaptive), "q")

    _, _, rules = data._open()
    data.charge(asked(data.left()))
    state = data.spent().account
    (least, *_) = cost_of(asked(1e-4).plan, rules)
    assert least > 0
    granted = 0
    while state.spent[0] + least <= state.allowed[0]:
        data.charge(asked(1e-4))
        granted, state = granted + 1, data.spent().account
        assert granted < 1000
    for _ in range(30):
        with pytest.raises(BudgetExceededError):
            data.charge(asked(1e-4))
    assert data.spent().account == state
    assert Fraction(state.spent[0], UNIT) <= Fraction(data.terms().epsilon) ** 2


def test_the_smallest_release_costs_something(file_ledger):
    """Else infinitely many would fit."""
    _, _, rules = file_ledger.dataset("d", 1, 1e-6)._open()
    tiny = plan_of(events=(GaussianEvent("e", 1e150),))
    assert min(cost_of(tiny, rules)) >= 1


def test_a_copy_of_a_ledger_reads_the_same(file_ledger, tmp_path):
    data = file_ledger.dataset("d", 3, 1e-6)
    data.charge(request(0.5)).release({})
    let_go()
    (tmp_path / "copy.db").write_bytes((tmp_path / "budget.db").read_bytes())
    copy = Ledger(tmp_path / "copy.db", file_ledger.key_file)
    assert copy.dataset("d").spent() == data.spent()
