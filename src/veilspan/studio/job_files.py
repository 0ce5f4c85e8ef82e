"""What a job leaves on the disk: its task, what it said, and a lock while it lives.

    jobs/turn                 held by the job that runs; others wait, first come, first served
    jobs/ID/task.json         which request, which process
    jobs/ID/events.jsonl      what it said, one JSON object a line, only ever added to
    jobs/ID/alive             held by the job's process, from before it starts to its end
    jobs/ID/cancelled         somebody wants it to stop
    jobs/ID/steward.txt       words that may depend on a cell: for the steward alone
    jobs/ID/release           the release, whole or absent

Locks are the system's own, so that a process that is killed leaves none behind. All files are
readable by their owner only.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from veilspan._files import IrregularFileError, read_regular, write_whole

_locks: Any
try:
    import fcntl as _locks
except ImportError:  # Windows
    _locks = None

TASK, EVENTS, ALIVE, CANCELLED = "task.json", "events.jsonl", "alive", "cancelled"
STEWARD, RELEASE, TEMPORARY, TURN = "steward.txt", "release", "temporary", "turn"
#: Stages after which nothing more happens.
ENDS = ("done", "failed", "cancelled")
#: Seconds for a commit that a killed job left on its way to a server. After these nothing is said
#: of its end, and the ledger is asked again at the next look.
COMMIT_PATIENCE = 5.0
#: Seconds between two looks whether those that came before have ended.
_LOOK = 0.2
#: Largest file of a job that is read: 100,000 steps take some ten megabytes.
_MOST_BYTES = 2**26


def write_json(path: Path, content: Any) -> None:
    """Replace a file by JSON, whole, for its owner only."""
    text = json.dumps(content).encode()
    write_whole(path, lambda stream: stream.write(text), 0o600)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; empty if there is none that can be read."""
    try:
        found = json.loads(read_regular(path, _MOST_BYTES))
    except (OSError, IrregularFileError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def add_event(folder: Path, event: dict[str, Any]) -> None:
    """Add a line to what a job has said, in one write.

    A line that was cut off by a full disk or a kill is ended first, and passed over by readers.
    """
    path = folder / EVENTS
    text = json.dumps(event) + "\n"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        os.write(handle, (("\n" if torn else "") + text).encode())
        os.fsync(handle)
    finally:
        os.close(handle)


def read_events(folder: Path) -> list[dict[str, Any]]:
    """All that a job has said, numbered from 1."""
    try:
        lines = read_regular(folder / EVENTS, _MOST_BYTES).split(b"\n")[:-1]
    except (OSError, IrregularFileError):
        return []
    found: list[dict[str, Any]] = []
    for line in lines:
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict) and "stage" in event:
                found.append({"n": len(found) + 1, **event})
    return found


def hold_alive(folder: Path) -> int:
    """Open and lock the file that says that a job lives; its process inherits the handle."""
    handle = os.open(folder / ALIVE, os.O_RDWR | os.O_CREAT, 0o600)
    if _locks is not None:
        _locks.flock(handle, _locks.LOCK_EX)
    return handle


def is_alive(folder: Path) -> bool:
    """Whether the process of a job lives: it, or who is about to start it, holds the lock."""
    try:
        handle = os.open(folder / ALIVE, os.O_RDWR)
    except OSError:
        return False
    try:
        if _locks is None:
            return process_started(read_json(folder / "process.json").get("pid", 0)) is not None
        try:
            _locks.flock(handle, _locks.LOCK_EX | _locks.LOCK_NB)
        except OSError:
            return True
        return False
    finally:
        os.close(handle)


def process_started(pid: int) -> str | None:
    """When a process started, by the system's own clock; None if there is no such process."""
    if pid <= 0:
        return None
    try:
        # The name of a program may hold spaces and brackets: fields are counted after the last.
        stat = Path(f"/proc/{pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[19]
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except OSError:
        return None
    return ""


@contextmanager
def taking_turns(folder: Path) -> Iterator[None]:
    """Wait until all jobs that came before have ended and none runs; one that dies is passed over.

    Ids sort by time, and jobs are started one at a time, each alive before the next one gets its
    id: those of smaller ids are those who came before. Nobody waits for a larger id on their
    account, so that no two wait for each other, whatever the clock does.
    """
    jobs = folder.parent
    before = [each for each in jobs.iterdir() if each.name < folder.name]
    while before := [each for each in before if is_alive(each)]:
        time.sleep(_LOOK)
    handle = os.open(jobs / TURN, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if _locks is not None:
            _locks.flock(handle, _locks.LOCK_EX)
        yield
    finally:
        os.close(handle)
