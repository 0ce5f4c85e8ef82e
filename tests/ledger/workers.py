"""What other processes do in the tests of the ledger. They import this file by its name."""

import time

from veilspan.ledger import Ledger
from veilspan.ledger.dataset import Request
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.filters import UNIT
from veilspan.ledger.stores.base import open_store
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import BudgetExceededError
from veilspan.privacy.events import GaussianEvent
from veilspan.privacy.plan import Plan

#: Cost of a charge in the tests: mu^2 = 1/64 under the exact rule, without rounding.
COST = UNIT // 64


def request(question="q"):
    """A fit of one Gaussian release."""
    plan = Plan(
        method="PCA",
        budget=Budget(1.0, 1e-6),
        neighbors="replace-one",
        n_rows=1000,
        n_features=5,
        events=(GaussianEvent("moment", 8.0),),
    )
    return Request(plan, question)


def spend_units(url, key_file, barrier, attempts):
    """Spend single units from an account, as often as it lets us; how often it did."""
    store = open_store(url)
    barrier.wait(60)
    granted = 0
    for _ in range(attempts):
        with store.writing() as book:
            granted += book.spend("units", (1, 1, 1, 1))
    return granted


def charge_until_refused(url, key_file, barrier, attempts):
    """Charge fits until the first is refused; the numbers of the entries."""
    handle = Ledger(url, key_file).dataset("race")
    barrier.wait(60)
    entries = []
    for _ in range(attempts):
        try:
            entries.append(handle.charge(request()).entry)
        except BudgetExceededError:
            break
    return entries


def charge_trial(url, key_file, barrier, attempts):
    """Charge an account of an earlier format, which whoever comes first migrates."""
    handle = Ledger(url, key_file).dataset("trial")
    barrier.wait(60)
    return [handle.charge(request()).entry for _ in range(attempts)]


def charge_one_key(url, key_file, barrier, attempts):
    """Try the same fit under the same key; what came of it."""
    handle = Ledger(url, key_file).dataset("race").with_key("figure-1")
    barrier.wait(60)
    outcomes = []
    for _ in range(attempts):
        receipt = handle.charge(request())
        if receipt.stored is None:
            time.sleep(0.2)  # the fit; the others are there by now, and wait
            receipt.release({}, {"answer": 42})
        outcomes.append("charged" if receipt.stored is None else receipt.stored["answer"])
    return outcomes


def create(url, key_file, barrier, epsilon):
    """Make a ledger, its key and a dataset, all at the same time as others do."""
    ledger = Ledger(url, key_file)
    barrier.wait(60)
    try:
        return ledger.dataset("race", epsilon, 1e-6).name
    except LedgerError as error:
        return "refused" if "its terms do not change" in str(error) else repr(error)


def in_process(queue, barrier, name, arguments):
    """Run one of the functions above and send back what it returned."""
    url, key_file, *rest = arguments
    try:
        queue.put(globals()[name](url, key_file, barrier, *rest))
    except BaseException as error:
        queue.put(repr(error))
        raise
