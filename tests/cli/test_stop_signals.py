"""Commands that are asked to stop: nothing half-written stays behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from cli.commands import write_csv
from veilspan.cli.stop_signals import stop_like_ctrl_c

ROWS = np.random.default_rng(0).standard_normal((50, 3))


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_ends_with_130_and_leaves_nothing(tmp_path):
    code = "from veilspan.cli import main; main()"
    words = ["datasets", "genes", "--rows", "200000", "--columns", "3000", "--out", "g.csv"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    # Once its memory grows, NumPy is loaded and the table is being made.
    while time.monotonic() < deadline and _resident(process.pid) < 150:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def _resident(pid):
    """Megabytes in memory."""
    try:
        with open(f"/proc/{pid}/statm") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (FileNotFoundError, IndexError, ValueError):
        return 1e9


STOPPED = """
import os, pathlib, signal, sys, veilspan.releases
from veilspan.cli import main

def stopped(model, folder, **_):
    assert pathlib.Path(folder).name.startswith(".r.")
    os.kill(os.getpid(), signal.SIGTERM)

veilspan.releases.save = stopped
main(sys.argv[1:])
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_asked_to_stop_nothing_stays_behind(tmp_path):
    rows = write_csv(tmp_path / "rows.csv", ROWS, "abc")
    words = ["fit", "pca", str(rows), "--out", str(tmp_path / "deep" / "r")]
    result = subprocess.run(
        [sys.executable, "-c", STOPPED, *words], timeout=300, capture_output=True, text=True
    )
    assert result.returncode == 143
    *notes, last = result.stderr.splitlines()
    assert last == "veilspan: stopped."
    assert all(line.startswith("veilspan: note: ") for line in notes)  # of released numbers
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_signals_are_given_back():
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with stop_like_ctrl_c() as came:
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)  # what cleans up is not disturbed
        assert came == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with stop_like_ctrl_c() as came:
            os.kill(os.getpid(), signal.SIGTERM)
        assert came == []
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_thread_takes_no_signals():
    failed = []

    def elsewhere():
        try:
            with stop_like_ctrl_c():
                pass
        except ValueError as error:
            failed.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert failed == []
