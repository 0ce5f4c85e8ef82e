"""Races and kills: the workers' stories, counted."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .malicious import make_files
from .outcome import Outcome

WORKERS = Path(__file__).with_name("workers.py")
SECONDS = 900  # at most for all trials of one attack


def told(role, count, seed, broken=None, prepare=None):
    """Outcome of ``count`` trials of one role, in processes of their own."""
    first = ["--with", str(broken)] if broken else []
    outcome, charges = Outcome(), 0
    with tempfile.TemporaryDirectory() as folder:
        if prepare is not None:
            count = prepare(Path(folder), count)
        run = subprocess.run(
            [sys.executable, str(WORKERS), *first, role, folder, str(count), str(seed)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )
    for line in run.stdout.splitlines():
        story = json.loads(line)
        outcome.count(story["problem"])
        charges += story["charges"]
    if run.returncode or outcome.tried != count:
        last = run.stderr.strip().splitlines()[-1:] or ["no word"]
        outcome.count(f"the workers ended with code {run.returncode}: {last[0]}")
    outcome.note = {
        "race": f"{charges:,} charges granted to 8 processes at once",
        "kill-charge": f"{charges:,} charges acknowledged before the kills",
        "kill-save": f"{charges:,} saves finished before the kills",
        "open": f"{charges} refused; others must be as harmless as the original",
    }[role]
    return outcome


def races(count, seed, broken=None):
    return told("race", count, seed, broken)


def killed_charges(count, seed, broken=None):
    return told("kill-charge", count, seed, broken)


def killed_saves(count, seed, broken=None):
    return told("kill-save", count, seed, broken)


def malicious_files(count, seed, broken=None):
    return told("open", count, seed, broken, prepare=make_files)
