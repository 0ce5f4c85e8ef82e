"""One bit turned over in a ledger or a release: it is refused, or nothing has changed."""

import json
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np

from veilspan import PCA, load
from veilspan.ledger import Ledger

from .outcome import Outcome


def ledger_state(place):
    """What a ledger says, checked: all of its entries, and what was spent."""
    ledger = Ledger(str(place / "ledger.db"), str(place / "key"))
    report = ledger.verify()
    if not report:
        raise ValueError(report.problems[0])
    return [repr(entry) for entry in ledger.history()], ledger.dataset("flips").spent().to_dict()


def release_state(place):
    """What a release says: every learned attribute and the statement."""
    model = load(place)
    learned = {name: value for name, value in vars(model).items() if name.endswith("_")}
    return {
        name: value.tobytes() if isinstance(value, np.ndarray) else repr(value)
        for name, value in learned.items()
    }


def ledger_flips(count, seed, state=ledger_state):
    """In the ledger's file, its key or the head that is kept beside it."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "original"
        place.mkdir()
        handle = Ledger(str(place / "ledger.db"), str(place / "key")).dataset("flips", 30.0, 1e-5)
        rows = np.random.default_rng(0).standard_normal((50, 3))
        for _ in range(4):
            PCA(1, epsilon=0.5, ledger=handle).fit(rows)
        return _flipped(place, count, seed, state, Path(folder))


def release_flips(count, seed, state=release_state):
    """In any file of a saved release."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "original"
        PCA(2, epsilon=1.0).fit(np.random.default_rng(0).standard_normal((50, 4))).save(place)
        return _flipped(place, count, seed, state, Path(folder))


def _flipped(place, count, seed, state, folder):
    rng, outcome, refused = random.Random(seed), Outcome(), 0
    before = json.dumps(state(place), default=repr, sort_keys=True)
    copy = folder / "copy"
    for _ in range(count):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(place, copy)
        files = sorted(p for p in copy.rglob("*") if p.is_file() and p.stat().st_size)
        weights = [p.stat().st_size for p in files]
        path = rng.choices(files, weights)[0]
        data = bytearray(path.read_bytes())
        spot, bit = rng.randrange(len(data)), rng.randrange(8)
        data[spot] ^= 1 << bit
        path.write_bytes(bytes(data))
        try:
            after = json.dumps(state(copy), default=repr, sort_keys=True)
        except Exception:
            refused += 1
            outcome.count()
            continue
        silent = after.replace(str(copy), "") != before.replace(str(place), "")
        outcome.count(f"bit {bit} of byte {spot} of {path.name} went unseen" if silent else "")
    without, silent = outcome.held - refused, outcome.tried - outcome.held
    outcome.note = f"{refused} refused, {without} without any effect, {silent} silent"
    return outcome
