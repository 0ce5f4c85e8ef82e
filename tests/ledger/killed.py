"""Fits that are killed at every step, each told in one line of JSON: a script with no threads.

``python killed.py fit LEDGER KEY_FILE`` forks a child for each step of charge, run, record: the
first child is killed at the first step, the second at the second, until one comes through.
``python killed.py make FOLDER`` does the same with new ledgers, and ``python killed.py migrate
LEDGER FOLDER`` with ledgers of an earlier format, made anew for each step.
"""

import glob
import itertools
import json
import os
import signal
import sys
import traceback
from functools import partial
from pathlib import Path

import numpy as np

# The tests' own helpers, as a package that pytest finds by itself and a script does not.
sys.path.insert(0, str(Path(__file__).parent.parent))

from ledger.earlier import NAME, make_earlier_ledger, read_format
from ledger.workers import request
from veilspan import PCA
from veilspan.curator.curator import Curator
from veilspan.ledger import Ledger
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.seal import anchor
from veilspan.ledger.stores import postgres, sqlite

ROWS = np.random.default_rng(0).normal(size=(40, 3))


class Steps:
    """Counts steps, and kills this process at one of them, without a chance to tidy up."""

    def __init__(self, fatal, report):
        self.fatal, self.report, self.seen = fatal, report, 0

    def __call__(self, label):
        if self.seen == self.fatal:
            os.write(self.report, label.encode())
            os.kill(os.getpid(), signal.SIGKILL)
        self.seen += 1

    def before(self, owner, name, label):
        """Make a step of each call of a function."""
        function = getattr(owner, name)

        def counted(*arguments, **options):
            self(label)
            return function(*arguments, **options)

        setattr(owner, name, counted)

    def before_statements(self):
        """Make a step of each statement of a new connection, BEGIN and COMMIT among them."""
        connect_file, connect_server = sqlite._connect, postgres._connect

        def traced_file(path):
            connection = connect_file(path)
            connection.set_trace_callback(lambda statement: self(" ".join(statement.split())[:40]))
            return connection

        def traced_server(url):
            connection = connect_server(url)
            execute = connection.execute

            def counted(statement, values=()):
                self(" ".join(statement.decode().split())[:40])
                return execute(statement, values)

            connection.execute = counted
            return connection

        sqlite._connect, postgres._connect = traced_file, traced_server


def fit(handle):
    return PCA(1, epsilon=0.5, delta=1e-6, ledger=handle).fit(ROWS)


def killed(work, fatal):
    """Do something in a child that dies at a step; that step, or None if it came through."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            steps = Steps(fatal, writing)
            steps.before_statements()
            steps.before(Curator, "answer", "rows are read")
            steps.before(anchor.Anchor, "keep", "head is remembered")
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)  # not through the parent's clean-up
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as stream:
        label = stream.read()
    if os.WIFSIGNALED(status):
        return label
    assert status == 0, "the work failed by itself"
    return None


def again(handle):
    """Try the same fit under the same key, as somebody would after a crash."""
    before = handle.spent().charges
    try:
        fit(handle)
    except LedgerError as error:
        return "refused" if "was charged" in str(error) else repr(error)
    return "fitted" if handle.spent().charges > before else "given again"


def make_ledgers(folder):
    """Make a new ledger in a file, as often as it has steps, and make it again after the kill."""
    for fatal in itertools.count():
        place, key_file = f"{folder}/{fatal}.db", f"{folder}/{fatal}.key"
        ledger = Ledger(place, key_file)
        make = partial(ledger.dataset, "trial", 3, 1e-6)
        step = killed(make, fatal)
        try:
            make()
        except LedgerError as error:
            print(json.dumps({"step": step, "refused": str(error)}), flush=True)
        else:
            kinds = [entry.kind for entry in ledger.history()]
            problems = list(ledger.verify().problems)
            told = {"step": step, "kinds": kinds, "problems": problems}
            print(json.dumps(told), flush=True)
        if step is None:
            return


def run_fits(url, key_file):
    """Fit under a new key for each step, and again after the kill."""
    ledger = Ledger(url, key_file)
    account = ledger.dataset("trial", 60, 1e-6, accounting="gdp")
    for fatal in itertools.count():
        handle = account.with_key(f"fit-{fatal}")
        # So that all take the same steps: the head is remembered, which the last child may not
        # have done, and the last entry is neither a charge nor a release.
        ledger.dataset(f"other-{fatal}", 1, 1e-6)
        before = account.spent()
        step = killed(partial(fit, handle), fatal)
        after = account.spent()
        told = {
            "step": step,
            "charges": after.charges - before.charges,
            "units": after.account.spent[0] - before.account.spent[0],
            "released": after.released - before.released,
            "problems": list(ledger.verify().problems),
            "again": again(handle),
        }
        print(json.dumps(told), flush=True)
        if step is None:
            return


def remove(url):
    """Remove a ledger, whichever store it is in."""
    if "://" in url:
        import psycopg

        with psycopg.connect(url) as connection:
            connection.execute("DROP SCHEMA IF EXISTS veilspan_ledger CASCADE")
    else:
        for path in glob.glob(f"{url}*"):
            os.unlink(path)


def migrate_ledgers(url, folder):
    """Charge a ledger of an earlier format, which migrates it, and again after the kill."""
    for fatal in itertools.count():
        remove(url)
        ledger = make_earlier_ledger(url, f"{folder}/{fatal}.key")
        handle = ledger.dataset(NAME)
        before = ledger.history()
        step = killed(partial(handle.charge, request()), fatal)
        told = {
            "step": step,
            "format": read_format(url),
            "kept": ledger.history()[: len(before)] == before,
            "charges": handle.spent().charges,
            "problems": list(ledger.verify().problems),
        }
        handle.charge(request())
        told["again"] = handle.spent().charges
        told["problems"] += ledger.verify().problems
        print(json.dumps(told), flush=True)
        if step is None:
            return


if __name__ == "__main__":
    {"fit": run_fits, "make": make_ledgers, "migrate": migrate_ledgers}[sys.argv[1]](*sys.argv[2:])
