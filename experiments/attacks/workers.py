"""Processes that race and die, each told in JSON: a script without threads, so that it may fork.

``python workers.py [--with FILE] ROLE FOLDER COUNT SEED``. A file given by ``--with`` is run first;
this is how tests put a broken twin in the library's place.
"""

import json
import os
import random
import resource
import runpy
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np

import veilspan
from veilspan import PCA, Budget, GaussianEvent, Plan
from veilspan.ledger import Ledger, Request
from veilspan.privacy.errors import BudgetExceededError

PROCESSES = 8  # of one race
COST = 8.0  # noise multiplier of a charge: mu^2 = 1/64
MEMORY = 3_000_000_000  # bytes of address space of a process that opens a strange file
PATIENCE = 10  # seconds that it may take
LONGEST = 0.04  # seconds until a ready process is killed; a charge takes a few milliseconds


def request():
    plan = Plan(
        method="PCA",
        budget=Budget(1.0, 1e-6),
        neighbors="replace-one",
        n_rows=1000,
        n_features=5,
        events=(GaussianEvent("moment", COST),),
    )
    return Request(plan, "q")


def child(work, pipe):
    """Fork; the child tells a line for everything that it was promised."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(lambda text: os.write(pipe, f"{text}\n".encode()))
        code = 0
    finally:
        os._exit(code)


def told(pipe):
    with os.fdopen(pipe) as stream:
        return stream.read().split()


# ---------------------------------------------------------------- races


def race(folder, number, rng):
    """All processes charge until they are refused: exactly what the budget holds is granted."""
    place = folder / f"race{number}"
    place.mkdir()
    ledger = Ledger(str(place / "ledger.db"), str(place / "key"))
    epsilon = 1.0 + rng.random()
    handle = ledger.dataset("race", epsilon, 1e-6, accounting="gdp")
    reading, writing = os.pipe()
    gate_reading, gate_writing = os.pipe()

    def charge(tell):
        own = Ledger(str(place / "ledger.db"), str(place / "key")).dataset("race")
        os.read(gate_reading, 1)
        for _ in range(200):
            try:
                tell(own.charge(request()).entry)
            except BudgetExceededError:
                return

    pids = [child(charge, writing) for _ in range(PROCESSES)]
    os.close(writing)
    os.write(gate_writing, b"x" * PROCESSES)
    entries = told(reading)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    for end in (gate_reading, gate_writing):
        os.close(end)
    spent, held = handle.spent(), int(Budget(epsilon, 1e-6).mu ** 2 * COST**2)
    problems = list(ledger.verify().problems)
    if any(codes):
        problems.append(f"processes ended with {sorted(set(codes))}")
    if len(entries) != held or len(set(entries)) != held or spent.charges != held:
        problems.append(f"{held} fit, {len(entries)} were granted, {spent.charges} recorded")
    return {"problem": "; ".join(problems), "charges": len(entries)}


# ---------------------------------------------------------------- kills


def killed(work, rng):
    """Kill a child at a random moment after it was ready; what it was promised until then."""
    reading, writing = os.pipe()
    pid = child(work, writing)
    os.close(writing)
    os.read(reading, len("ready\n"))
    time.sleep(rng.random() * LONGEST)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return told(reading)


def kill_charge(folder, number, rng):
    """No acknowledged charge is lost, none is doubled; at most the one under way is extra."""
    place = folder / "kills"
    place.mkdir(exist_ok=True)
    ledger = Ledger(str(place / "ledger.db"), str(place / "key"))
    handle = ledger.dataset("kills", 1e4, 1e-6, accounting="gdp")
    before = handle.spent().charges

    def charge(tell):
        own = Ledger(str(place / "ledger.db"), str(place / "key")).dataset("kills")
        tell("ready")
        while True:
            tell(own.charge(request()).entry)

    entries = killed(charge, rng)
    recorded = handle.spent().charges - before
    problems = list(ledger.verify().problems)
    if not len(entries) <= recorded <= len(entries) + 1 or len(set(entries)) != len(entries):
        problems.append(f"{len(entries)} were acknowledged, {recorded} recorded")
    return {"problem": "; ".join(problems), "charges": len(entries)}


def kill_save(folder, number, rng):
    """After a kill the old release or the new one can be read, whole."""
    models = _models()
    place = folder / "release"
    if not place.exists():
        models[0].save(place)

    def save(tell):
        tell("ready")
        for turn in range(10**6):
            models[turn % 2].save(place, overwrite=True)
            tell(turn)

    saves = len(killed(save, rng))
    try:
        found = veilspan.load(place)
        whole = any(np.array_equal(found.components_, m.components_) for m in models)
        problem = "" if whole else "another release than either that was saved"
    except Exception as error:
        problem = f"{type(error).__name__} after a kill"
    if problem:
        shutil.rmtree(place, ignore_errors=True)
    return {"problem": problem, "charges": saves}


_KEPT = []


def _models():
    if not _KEPT:
        rows = np.random.default_rng(0).standard_normal((60, 12))
        _KEPT.extend(PCA(k, epsilon=1.0).fit(rows) for k in (1, 2))
    return _KEPT


# ---------------------------------------------------------------- malicious files


def open_file(folder, number, rng):
    """A release is opened by a process of its own, which may neither hang nor eat all memory."""
    place = sorted(p for p in folder.iterdir() if p.name != "ran")[number]
    reading, writing = os.pipe()

    def read(tell):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.alarm(PATIENCE)
        try:
            opened = veilspan.load(place)
        except Exception:
            tell("refused")
        else:
            tell("kept" if _sane(opened) else "opened")

    pid = child(read, writing)
    os.close(writing)
    words = told(reading)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    problem = ""
    if (folder / "ran").exists():
        (folder / "ran").unlink()
        problem = f"{place.name}: code of the file was run"
    elif words not in (["refused"], ["kept"]):
        problem = f"{place.name}: {words[0] if words else f'ended with {code}'}"
    return {"problem": problem, "charges": int(words == ["refused"])}


def _sane(model):
    """Nothing of what was smuggled in is there: finite numbers, a budget that can be."""
    return np.isfinite(model.components_).all() and 0 < model.privacy_.epsilon < 100


ROLES = {"race": race, "kill-charge": kill_charge, "kill-save": kill_save, "open": open_file}


def main(arguments):
    if arguments[0] == "--with":
        runpy.run_path(arguments[1])
        arguments = arguments[2:]
    role, folder, count, seed = arguments
    rng = random.Random(int(seed))
    for number in range(int(count)):
        print(json.dumps(ROLES[role](Path(folder), number, rng)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
