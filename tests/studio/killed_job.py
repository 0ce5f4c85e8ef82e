"""A job's process that is killed, or finds its disk full, at a chosen place; started by tests.

``python killed_job.py PLACE FOLDER HANDLE``: the place is a stage, ``KILL:stage`` to be killed as
soon as it is said, or the name of a fault below.
"""

import os
import signal
import sys
import time
from pathlib import Path

from veilspan.ledger import LedgerError
from veilspan.ledger.dataset import Dataset
from veilspan.ledger.receipts import Receipt
from veilspan.studio import job_process


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


def at_stage(stage, act):
    say = job_process.Teller.say

    def told(self, now, *arguments, **facts):
        say(self, now, *arguments, **facts)
        if now == stage:
            act()

    job_process.Teller.say = told


def full(*_, **__):
    raise OSError(28, "No space left on device")


def before_commit():
    """Killed in the transaction of the charge, when everything is written and nothing committed."""
    record = Dataset._record

    def recorded(*arguments):
        record(*arguments)
        die()

    Dataset._record = recorded


def stop_after_commit():
    """The cancel button is pressed when the charge is committed, and nobody was told yet."""
    from veilspan.ledger.seal.anchor import Anchor

    keep = Anchor.keep

    def kept(*arguments):
        keep(*arguments)
        (Path(sys.argv[1]) / "cancelled").touch()
        os.kill(os.getpid(), signal.SIGTERM)

    Anchor.keep = kept


def stop_after_commit_unread():
    """The same, and the ledger cannot be read just then."""
    stop_after_commit()

    def refused(*_):
        raise LedgerError("the ledger is held by another writer for more than 60 s.")

    charge = Dataset.charge

    def charged(*arguments):
        try:
            return charge(*arguments)
        finally:
            Dataset.request = refused

    Dataset.charge = charged


def in_commit():
    """Killed when the commit of the charge was sent, and the server is at work on it."""
    from veilspan.ledger.stores import postgres

    commit, recorded = postgres._commit, []
    record = Dataset._record

    def note(*arguments):
        recorded.append(1)
        return record(*arguments)

    def sent(connection, url):
        if not recorded:
            return commit(connection, url)
        connection.pgconn.send_query(b"COMMIT")
        while connection.pgconn.flush():
            time.sleep(0.01)
        return die()

    Dataset._record, postgres._commit = note, sent


def before_release():
    Receipt.release = die


def after_release():
    release = Receipt.release

    def released(*arguments, **options):
        release(*arguments, **options)
        die()

    Receipt.release = released


def before_rename():
    job_process.sync_folder = die


def no_room():
    os.posix_fallocate = full


def full_folder():
    """The disk fills up after the charge: the release is in the ledger, its folder is not."""
    import veilspan.releases as releases

    releases.save = full


def impatient():
    """Waits for other writers for a moment only."""
    from veilspan.ledger.stores import sqlite

    sqlite.PATIENCE = 0.5


def busy_ledger():
    """Another writer holds the ledger while the release is to be recorded, for a while."""
    release, calls = Receipt.release, []

    def refused(*arguments, **options):
        calls.append(1)
        if len(calls) < 3:
            raise LedgerError("the ledger is held by another writer for more than 60 s.")
        return release(*arguments, **options)

    Receipt.release = refused


def no_events():
    """Nothing can be written about progress from the charge on."""
    add = job_process.files.add_event

    def refused(folder, event):
        if event["stage"] not in ("wait", "read"):
            full()
        add(folder, event)

    job_process.files.add_event = refused


def secret_error():
    """Something fails while rows are read, with a cell in its words."""
    from veilspan.estimators.base import PrivateEstimator

    def leak(*_):
        raise RuntimeError("the cell 'Mr Miller'")

    PrivateEstimator._run = leak


def sleep_in_fit():
    at_stage("fit", lambda: time.sleep(60))


def sleep_in_read():
    at_stage("read", lambda: time.sleep(60))


place = sys.argv.pop(1)
if place.startswith("KILL:"):
    at_stage(place.removeprefix("KILL:"), die)
else:
    globals()[place]()
job_process.main()
