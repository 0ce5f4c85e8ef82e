"""A ledger that an earlier version wrote stays readable, and can still be charged."""

import json
import shutil
from pathlib import Path

import pytest

from ledger.requests import request
from veilspan.ledger import Ledger

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize("version", sorted(path.name for path in SAMPLES.iterdir()))
# Moved to another place, it has no anchor there, which a charge says once.
@pytest.mark.filterwarnings("ignore::veilspan.ledger.errors.LedgerWarning")
def test_an_earlier_ledger_says_what_it_said_and_goes_on(version, tmp_path):
    for name in ("budget.db", "ledger.key"):
        shutil.copy(SAMPLES / version / name, tmp_path)
    (tmp_path / "ledger.key").chmod(0o600)  # git keeps no such modes
    expected = json.loads((SAMPLES / version / "expected.json").read_text())
    ledger = Ledger(tmp_path / "budget.db", key=tmp_path / "ledger.key")
    assert ledger.verify()
    trial = ledger.dataset("trial-42")
    assert trial.spent().charges == expected["charges"]
    assert trial.left() == pytest.approx(expected["trial-42"], rel=1e-6)
    trial.charge(request())
    assert trial.spent().charges == expected["charges"] + 1
    assert trial.left() < expected["trial-42"]
    assert ledger.verify()
