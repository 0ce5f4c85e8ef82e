"""Stop the process of a job, with all that it started."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from veilspan.studio import job_files as files

#: Seconds that a job has to end by itself, tidying up, before it is killed.
PATIENCE = 5.0
_LOOK = 0.05


def stop_process(place: Path) -> None:
    """Ask the process of a job to end, with all that it started; kill what does not."""
    until = time.monotonic() + PATIENCE
    sent = None
    while files.is_alive(place):
        known = files.read_json(place / "process.json")
        pid = known.get("pid", 0)
        ours = pid > 0 and files.process_started(pid) == known.get("started")
        wanted = signal.SIGTERM if time.monotonic() < until else signal.SIGKILL
        if ours and wanted != sent:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, wanted)
            sent = wanted
        if time.monotonic() > until + PATIENCE:
            return  # the system keeps it, in a call that does not end: what is known is told
        time.sleep(_LOOK)
