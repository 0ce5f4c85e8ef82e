"""Files that others may send, and a guard: a reader that waits for ever fails instead."""

import os
import signal

import pytest

from releases.cases import fitted
from veilspan import SubspaceTracker
from veilspan.datasets import make_haystack
from veilspan.releases import save


@pytest.fixture
def no_hanging():
    """A reader that waits for ever fails instead."""
    if os.name != "posix":
        yield
        return

    def too_long(*_):
        raise TimeoutError("the reader waits")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def release(tmp_path):
    return save(fitted("PCA"), tmp_path / "release")


@pytest.fixture
def tracker(tmp_path):
    SubspaceTracker(2).fit(make_haystack(60, 5, 2).rows).save(tmp_path / "tracker.npz")
    return tmp_path / "tracker.npz"


@pytest.fixture
def predictor(tmp_path):
    fitted("MatrixCompletion, factors").local_predictor().save(tmp_path / "phone.npz")
    return tmp_path / "phone.npz"
