"""Several threads that feed one private tracker: each row is asked about once."""

import sys
import threading

import numpy as np
import pytest

from veilspan import SubspaceTracker
from veilspan.curator.waiting import WaitingRows


@pytest.fixture
def impatient():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.filterwarnings("ignore")
def test_threads_never_ask_about_a_row_twice(monkeypatch, impatient):
    asked = []
    take = WaitingRows.take_block

    def spied(self, size):
        block = take(self, size)
        asked.extend(block[:, 0].tolist())
        return block

    monkeypatch.setattr(WaitingRows, "take_block", spied)
    rows = np.random.default_rng(0).standard_normal((1200, 3))
    rows[:, 0] = np.arange(1200)  # names
    tracker = SubspaceTracker(1, epsilon=1.0, delta=1e-6, block_size=20, random_state=0)

    def feed(start):
        for j in range(start, start + 300, 7):
            tracker.partial_fit(rows[j : min(j + 7, start + 300)])

    threads = [threading.Thread(target=feed, args=(300 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == len(set(asked)) == 1200
    assert tracker.releases_ == 60
