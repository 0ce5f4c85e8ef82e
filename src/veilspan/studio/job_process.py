"""The process of one job: wait for its turn, read, charge, fit, report.

``python -m veilspan.studio.job_process FOLDER HANDLE`` with the places of data and ledger on the
standard input: an address may hold a password, everybody can read a command line, and the folder
is part of backups. It can be killed at any moment: what it owes is in the ledger, and what it has
is whole or absent.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from veilspan._errors import raised_by_us
from veilspan._files import sync_folder, write_whole
from veilspan.ledger.dataset import Dataset, Receipt, Request
from veilspan.ledger.errors import LedgerError, TamperError
from veilspan.ledger.seal.chain import Head
from veilspan.privacy.errors import PrivacyError
from veilspan.studio import job_files as files

#: Bytes that are set aside before the charge and given back before the release is written, so that
#: a disk that fills up meanwhile does not swallow what was paid for. Releases are far smaller.
RESERVE = 16 * 2**20
#: Times that a release is offered to a ledger that others hold, a minute each.
ATTEMPTS = 10
REPORT = "report.html"
#: States of a job's request beside "charged" and "released": not charged, and cannot be asked.
FREE, UNKNOWN = "free", "unknown"

_SPENT = "What was charged stays spent"
_UNOPENED = (
    "The table could not be opened where it is declared to lie, or not by its schema. Nothing was "
    "charged; the steward can see why."
)
_BROKE_OFF = f"The fit broke off after its charge. {_SPENT}; the steward can see why."
_STOPPED = f"Stopped after its charge. {_SPENT}."
_STORED = (
    "The release is paid for and kept in the ledger, and could not be written to its folder: start "
    "the job again, which costs nothing."
)
_UNCHARGED = "The job could not be done. Nothing was charged; the steward can see why."
_FULL = "The disk is full, or its folder cannot be written to. Nothing was charged."


class Refused(Exception):
    """What ends a job, in words for everybody and, beside them, for the steward."""

    def __init__(self, words: str, steward: str = "") -> None:
        super().__init__(words)
        self.words, self.steward = words, steward


class Teller:
    """Says how far a job is: public plan steps and stages, nothing that a row could change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.step, self.of = 0, 0

    def say(self, stage: str, text: str = "", **facts: Any) -> None:
        """Add a line to the events; a disk that is full is no reason to lose a fit."""
        event = {"stage": stage, "step": self.step, "of": self.of, "text": text, **facts}
        with contextlib.suppress(OSError):
            files.add_event(self.folder, event)

    def count(self, name: str) -> None:
        """One more question of the plan was asked."""
        self.step += 1
        self.say("fit", name)


class Reserve:
    """Room on the disk that is given back when it is needed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "reserve"
        try:
            with open(self.path, "wb") as stream:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(stream.fileno(), 0, RESERVE)
                else:
                    stream.write(b"\0" * RESERVE)
        except OSError as error:
            self.free()
            raise Refused(_FULL, str(error)) from None

    def free(self) -> None:
        """Give the room back to the disk."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class JobReceipt(Receipt):
    """A charge whose release is offered to the ledger until it is taken."""

    reserve: Reserve | None = field(default=None, repr=False, compare=False)

    def release(
        self, statement: Mapping[str, Any], attributes: Mapping[str, Any] | None = None
    ) -> Head:
        """Record the release; wait for a ledger that others hold."""
        if self.reserve is not None:
            self.reserve.free()
        for left in reversed(range(ATTEMPTS)):
            try:
                return super().release(statement, attributes)
            except TamperError:
                raise
            except LedgerError:
                if not left:
                    raise
                time.sleep(1)
        raise AssertionError("the last attempt returns or raises")


@dataclass(frozen=True)
class JobDataset(Dataset):
    """An account that tells when it was charged."""

    request_id: str = field(default="", repr=False, compare=False)
    binding: str = field(default="", repr=False, compare=False)
    teller: Teller | None = field(default=None, repr=False, compare=False)
    reserve: Reserve | None = field(default=None, repr=False, compare=False)
    attempts: list[Request] = field(default_factory=list, repr=False, compare=False)
    receipts: list[Receipt] = field(default_factory=list, repr=False, compare=False)

    def charge(self, request: Request) -> Receipt:
        """Charge, or find the stored release; tell which."""
        self.attempts.append(request)
        # Whatever the request says by now: this job reads what was approved when it began.
        receipt = super().charge(replace(request, binding=self.binding))
        self.receipts.append(receipt)
        if self.teller is not None:
            plan = request.plan
            self.teller.of = 0 if plan.adaptive else sum(event.count for event in plan.events)
            again = receipt.stored is not None
            told = "charged before, given again" if again else "charged"
            self.teller.say("charged", told, entry=receipt.entry)
        own = {part.name: getattr(receipt, part.name) for part in fields(Receipt)}
        return JobReceipt(**own, reserve=self.reserve)


def run(folder: Path, places: Mapping[str, Any]) -> None:
    """Do the job of a folder, whatever happens along the way, and say how it ended."""
    teller = Teller(folder)
    account: list[JobDataset] = []
    try:
        teller.say("wait")
        with files.taking_turns(folder):
            _work(folder, places, teller, account)
        teller.say("done")
    except BaseException as error:
        state = _find_state(account)
        words, steward = _explain(error, account, state)
        with contextlib.suppress(OSError):
            text = steward.encode("utf-8", "backslashreplace")
            write_whole(folder / files.STEWARD, lambda stream: stream.write(text), 0o600)
        stopped = isinstance(error, KeyboardInterrupt) and (folder / files.CANCELLED).exists()
        if (folder / files.RELEASE).is_dir():  # stopped when all was done
            teller.say("done")
        elif state != UNKNOWN:  # else whoever looks next asks the ledger, and says how it ended
            stage = "cancelled" if stopped else "failed"
            teller.say(stage, words, charged=state in ("charged", "released"))
    finally:
        (folder / "reserve").unlink(missing_ok=True)
        shutil.rmtree(folder / files.TEMPORARY, ignore_errors=True)


def _work(
    folder: Path, places: Mapping[str, Any], teller: Teller, account: list[JobDataset]
) -> None:
    from veilspan.ledger import Ledger
    from veilspan.privacy.meter import watch_steps
    from veilspan.studio.fits import rebuild_estimator
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.open_table import open_table

    teller.say("read")
    task = files.read_json(folder / files.TASK)
    handle = Ledger(places["ledger"], task["key_file"]).dataset(task["dataset"])
    request = handle.request(task["request"])
    if request.binding != task["binding"] and request.state != "released":
        raise Refused("The request was edited since the job was started. Nothing was charged.")
    reserve = Reserve(folder)
    named = handle.with_key(request.key)
    own = {part.name: getattr(named, part.name) for part in fields(Dataset)}
    told: dict[str, Any] = {"binding": task["binding"], "teller": teller, "reserve": reserve}
    account.append(JobDataset(**own, request_id=request.id, **told))
    model = rebuild_estimator(request, Schema.load(task["schema"]), account[0])
    try:
        source = open_table(places["data"], table=places["table"])
    except Exception as error:
        raise Refused(_UNOPENED, f"{type(error).__name__}: {error}") from None
    with watch_steps(teller.count), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(source)
    teller.say("report", warnings=_tell_warnings(caught))
    reserve.free()
    _save(model, folder, task["key_file"], account[0])


def _tell_warnings(caught: list[warnings.WarningMessage]) -> list[str]:
    """What a fit warned of, once each: veilspan's own words, which quote no data, and no others."""
    ours = [one for one in caught if one.category.__module__.startswith("veilspan.")]
    return list(dict.fromkeys(str(one.message) for one in ours))


def _save(model: Any, folder: Path, key_file: str, account: Dataset) -> None:
    """Write the release and its report beside their place, then rename."""
    from veilspan.releases import save
    from veilspan.reports import report_html

    staged = folder / ".release"
    shutil.rmtree(staged, ignore_errors=True)
    save(model, staged, key=key_file)
    # The release is worth keeping without its page, which can be written again.
    with contextlib.suppress(Exception):
        text = report_html(model, ledger=account).encode()
        write_whole(staged / REPORT, lambda stream: stream.write(text))
    sync_folder(staged)
    os.rename(staged, folder / files.RELEASE)
    sync_folder(folder)


def _explain(error: BaseException, account: list[JobDataset], state: str) -> tuple[str, str]:
    """Words for everybody, which depend on nothing but public facts, and those for the steward."""
    steward = f"{type(error).__name__}: {error}"
    if isinstance(error, Refused):
        return error.words, error.steward or error.words
    if state == "released":
        return _STORED, steward
    if state == "charged":
        return _STOPPED if isinstance(error, KeyboardInterrupt) else _BROKE_OFF, steward
    if isinstance(error, KeyboardInterrupt):
        return "Stopped before its charge: nothing was spent.", steward
    # What the ledger refuses speaks of accounts, plans and requests; rows were not looked at.
    if isinstance(error, PrivacyError) and raised_by_us(error):
        return str(error), steward
    return (_UNOPENED if account else _UNCHARGED), steward


def _find_state(account: list[JobDataset]) -> str:
    """What the ledger says of a job that ends early: free, charged, released, or unknown.

    A charge that was begun may be committed although nobody came back to say so: a signal can
    arrive in between. So the ledger is asked, and not this process's memory; a commit that is
    still on its way to a server is waited for.
    """
    if not account or not account[0].attempts:
        return FREE
    try:
        account[0].journal.wait_for_writers(files.COMMIT_PATIENCE)
        state = account[0].request(account[0].request_id).state
    except Exception:  # asked while something else fails, which is what is told
        return "charged" if account[0].receipts else UNKNOWN
    return state if state in ("charged", "released") else FREE


def _stop(*_: Any) -> None:
    # Once is enough: a second one would break off asking the ledger what the first one left.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def main() -> None:
    """Run the job of the folder in the first argument; see the module."""
    folder = Path(sys.argv[1])
    handle = int(sys.argv[2])
    if handle >= 0:
        os.set_inheritable(handle, False)  # the lock is this process's, not that of its children
    signal.signal(signal.SIGTERM, _stop)
    pid = os.getpid()
    started = files.process_started(pid)
    files.write_json(folder / "process.json", {"pid": pid, "started": started})
    run(folder, json.loads(sys.stdin.read()))


if __name__ == "__main__":
    main()
