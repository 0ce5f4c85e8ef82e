"""Fits that run beside the studio: one process a fit, in a session of its own, one at a time.

The truth is the ledger and the job's folder. Whoever asks gets what they say now, so that a studio
or a job that is killed leaves nothing to repair: a job whose process is gone has ended, and the
ledger says whether it was charged.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veilspan._files import IrregularFileError, only_writer, read_regular
from veilspan.ledger.errors import LedgerError, RequestError
from veilspan.studio import job_files as files
from veilspan.studio.job import Job
from veilspan.studio.job_stop import stop_process
from veilspan.studio.settings import Table

if TYPE_CHECKING:
    from veilspan.ledger import FitRequest, Ledger

_LETTERS = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

_LOST_FREE = "The job was stopped before its charge: nothing was spent. It can be started again."
_LOST_SPENT = (
    "The job was stopped after its charge, before its release: what was charged stays spent. "
    "Make a new request to run it again."
)
_LOST_STORED = (
    "The job was stopped when its release was in the ledger already: start it again, which costs "
    "nothing."
)
_UNKNOWN = (
    "The job was stopped, and the ledger cannot be read now to see whether it was charged. Try "
    "again when it can."
)


class JobQueue:
    """All jobs of a studio's folder; several processes may look at the same one.

    Parameters
    ----------
    folder : Path
        The studio's; jobs are kept in ``jobs``, schemas by digest in ``schemas``.
    ledger, key : str, path
        The ledger and its key.
    sources : mapping of str to Table
        Where each dataset lies.
    """

    def __init__(
        self, folder: Path, ledger: str, key: str | Path, sources: Mapping[str, Table]
    ) -> None:
        self.folder = Path(folder)
        self.jobs_folder = self.folder / "jobs"
        self.jobs_folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._ledger, self._key = str(ledger), str(key)
        self.sources = sources
        #: How a job's process is started; its folder and a handle follow.
        self.command = [sys.executable, "-m", "veilspan.studio.job_process"]

    @property
    def ledger(self) -> Ledger:
        """The ledger, opened anew; it holds no connection."""
        from veilspan.ledger import Ledger

        return Ledger(self._ledger, self._key)

    def start(self, request_id: str) -> Job:
        """Start the fit of an approved request; a job that runs for it, or is done, is that one."""
        from veilspan.ledger.approvals.requests import new_request_id

        with only_writer(self.jobs_folder):
            for job in self.jobs():
                if job.request_id == request_id and (not job.ended or job.stage == "done"):
                    return job
            request = self._find_request(request_id)
            self._check_ready(request)
            table = self.sources[request.dataset]
            folder = self.jobs_folder / new_request_id()
            folder.mkdir(mode=0o700)
            try:
                self._spawn(folder, request, table)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        return self.get(folder.name)

    def get(self, job_id: str) -> Job:
        """What is known of a job now; ``RequestError`` for an id that is none."""
        return self._look(self._place(job_id))

    def jobs(self) -> list[Job]:
        """All jobs of the folder, newest first."""
        names = sorted((p.name for p in self.jobs_folder.iterdir() if _is_id(p.name)), reverse=True)
        places = [self.jobs_folder / name for name in names]
        return [self._look(place) for place in places if (place / files.TASK).exists()]

    def events(self, job_id: str, after: int = 0) -> list[dict[str, Any]]:
        """What a job has said since event ``after``: stages, steps of its plan, words."""
        place = self._place(job_id)
        self._look(place)  # writes the last event of one that was killed
        return [event for event in files.read_events(place) if event["n"] > after]

    def cancel(self, job_id: str) -> Job:
        """Stop a job. Free before its charge, spent after: the job that is returned says which."""
        place = self._place(job_id)
        if not self._look(place).ended:
            with contextlib.suppress(OSError):
                (place / files.CANCELLED).touch(mode=0o600)
            stop_process(place)
        return self._look(place)

    def _spawn(self, folder: Path, request: FitRequest, table: Table) -> None:
        task = {
            "request": request.id,
            "dataset": request.dataset,
            "binding": request.binding,
            "key_file": self._key,
            "schema": str(self._find_schema(request, table)),
            "started_at": time.time(),
        }
        (folder / files.TEMPORARY).mkdir(mode=0o700)
        handle = files.hold_alive(folder)
        try:
            files.write_json(folder / files.TASK, task)
            child = subprocess.Popen(
                [*self.command, str(folder), str(handle if os.name == "posix" else -1)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(handle,) if os.name == "posix" else (),
                # What it keeps on the disk for a while is removed with it, also if it is killed.
                env={**os.environ, "TMPDIR": str(folder / files.TEMPORARY)},
            )
        finally:
            os.close(handle)
        # So that the system forgets it when it ends, whether or not anybody asks for it.
        threading.Thread(target=child.wait, daemon=True).start()
        assert child.stdin is not None
        places = {"data": table.data, "table": table.table, "ledger": self._ledger}
        with contextlib.suppress(BrokenPipeError), child.stdin as stream:
            stream.write(json.dumps(places).encode())

    def _find_request(self, request_id: str) -> FitRequest:
        ledger = self.ledger
        for name in ledger.datasets():
            if name in self.sources:
                with contextlib.suppress(RequestError):
                    return ledger.dataset(name).request(request_id)
        raise RequestError(f"there is no request {request_id!r} for a dataset that is known here.")

    def _check_ready(self, request: FitRequest) -> None:
        """Refuse what must not run: not approved, spent already, or about other data."""
        from veilspan.studio.fits import name_source

        if request.state == "charged":
            raise RequestError(
                f"the request {request.id} was charged and its fit broke off: that is spent. Make "
                "a new request."
            )
        if request.state not in ("approved", "released"):
            told = "was refused" if request.state == "refused" else "is not approved yet"
            raise RequestError(f"the request {request.id} {told}: nothing was started.")
        if name_source(self.sources[request.dataset]) != request.source:
            raise RequestError(
                f"the data of {request.dataset!r} are declared to lie elsewhere now than when this "
                "was approved. Edit the request, and let it be approved again."
            )

    def _find_schema(self, request: FitRequest, table: Table) -> Path:
        from veilspan.tables.schema import Schema

        kept = self.folder / "schemas" / f"{request.schema_digest}.toml"
        damaged = False
        for path in (kept, table.schema):
            try:
                if path is not None and Schema.load(path).digest == request.schema_digest:
                    return path
            except FileNotFoundError:
                continue
            except (ValueError, OSError):
                damaged = True
        told = "cannot be read: its file is damaged" if damaged else "is not at hand any more"
        raise RequestError(
            f"the schema that was approved {told}. Edit the request, and let it be approved again."
        )

    def _place(self, job_id: str) -> Path:
        place = self.jobs_folder / job_id
        if not _is_id(job_id) or not (place / files.TASK).exists():
            raise RequestError("there is no such job.")
        return place

    def _look(self, place: Path) -> Job:
        """Read a job from its files; one whose process is gone without a word gets its last."""
        task = files.read_json(place / files.TASK)
        alive = files.is_alive(place)  # before its events: it may end in between
        events = files.read_events(place)
        last: dict[str, Any] = events[-1] if events else {"stage": "wait"}
        if last["stage"] not in files.ENDS and not alive:
            last = self._settle(place, task, last)
        charged = bool(last.get("charged")) or any(e["stage"] == "charged" for e in events)
        if not charged and last["stage"] not in files.ENDS:
            charged = self._state(task) in ("charged", "released")
        ended = last["stage"] in files.ENDS
        release = place / files.RELEASE
        return Job(
            id=place.name,
            request_id=task.get("request", ""),
            dataset=task.get("dataset", ""),
            stage=last["stage"],
            step=last.get("step", 0),
            of=last.get("of", 0),
            cancel_costs=charged,
            release_folder=release if release.is_dir() else None,
            message=last.get("text", "") if ended else "",
            steward_message=_read_text(place / files.STEWARD),
            warnings=_collect_warnings(events),
            started_at=task.get("started_at"),
            ended_at=last.get("at") if "at" in last else _modified(place) if ended else None,
        )

    def _settle(self, place: Path, task: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
        """Write the last event of a job whose process is gone, by what the ledger says."""
        with only_writer(place):
            events = files.read_events(place)
            if events and events[-1]["stage"] in files.ENDS:
                return events[-1]
            shutil.rmtree(place / files.TEMPORARY, ignore_errors=True)
            (place / "reserve").unlink(missing_ok=True)
            state = self._state(task, killed=True)
            if (place / files.RELEASE).is_dir():
                stage, text = "done", ""
            else:
                stage = "cancelled" if (place / files.CANCELLED).exists() else "failed"
                text = {"charged": _LOST_SPENT, "released": _LOST_STORED, None: _UNKNOWN}.get(
                    state, _LOST_FREE
                )
            steps = {"step": last.get("step", 0), "of": last.get("of", 0)}
            event = {"stage": stage, **steps, "text": text, "at": time.time()}
            event["charged"] = state in ("charged", "released")
            if state is not None:  # else it is looked at again next time
                with contextlib.suppress(OSError):
                    files.add_event(place, event)
            return event

    def _state(self, task: dict[str, Any], *, killed: bool = False) -> str | None:
        """The state of a job's request in the ledger; None if it cannot be read now.

        What a job that was killed had sent to a server may be written after its death: that is
        waited for, so that what is told of its end stays true.
        """
        try:
            account = self.ledger.dataset(task["dataset"])
            if killed:
                account.journal.wait_for_writers(files.COMMIT_PATIENCE)
            return account.request(task["request"]).state
        except (LedgerError, OSError, KeyError):
            return None


def _is_id(name: str) -> bool:
    return len(name) == 26 and set(name) <= _LETTERS


def _collect_warnings(events: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(str(text) for event in events for text in event.get("warnings", ()))


def _read_text(path: Path) -> str:
    try:
        return read_regular(path, 2**20).decode("utf-8", "replace")
    except (OSError, IrregularFileError):
        return ""


def _modified(place: Path) -> float | None:
    try:
        return (place / files.EVENTS).stat().st_mtime
    except OSError:
        return None
