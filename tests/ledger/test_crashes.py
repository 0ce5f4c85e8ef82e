"""kill -9 at every step of charge, run, record: what was charged stays, nothing else happened."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("killed.py")


def tell(*arguments):
    """One record for each step at which a child was killed, in order; the last came through."""
    result = subprocess.run(
        [sys.executable, SCRIPT, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_fit_that_is_killed_at_any_step(store_url, tmp_path):
    told = tell("fit", store_url, tmp_path / "ledger.key")
    states = [(each["charges"], each["released"]) for each in told]
    # Nothing, then charged, then released, and never back: one commit decides each time.
    assert states == sorted(states)
    assert set(states) == {(0, 0), (1, 0), (1, 1)}
    cost = told[-1]["units"]
    assert cost > 0
    for each in told:
        assert each["units"] == cost * each["charges"], each
        assert each["problems"] == [], each
        # Not charged: the fit may be tried again. Charged: spent, and its key is used up.
        # Released: the stored release is given out again.
        expected = {(0, 0): "fitted", (1, 0): "refused", (1, 1): "given again"}
        assert each["again"] == expected[each["charges"], each["released"]], each
    assert told[-1]["step"] is None

    steps = [each["step"] for each in told]
    last_before = {state: steps[len(states) - 1 - states[::-1].index(state)] for state in states}
    assert last_before[0, 0] == last_before[1, 0] == "COMMIT"
    for step, state in (("UPDATE accounts", (0, 0)), ("rows are read", (1, 0))):
        assert {s for s, name in zip(states, steps) if (name or "").startswith(step)} == {state}
    recorded = [s for s, name in zip(states, steps) if (name or "").startswith("INSERT")]
    assert recorded == [(0, 0), (1, 0), (1, 0)]  # the charge, its release, what was released


def test_a_ledger_whose_making_was_killed_is_made_again(tmp_path):
    told = tell("make", tmp_path)
    assert any("CREATE TABLE entries" in (each["step"] or "") for each in told)
    for each in told:
        assert each.get("kinds") == ["ledger", "dataset"], each
        assert each["problems"] == [], each
