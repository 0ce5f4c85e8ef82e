"""Settings of the whole suite."""

import io
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
#: Left to ``run.py test --all``, which ``.ci/run`` runs: files or folders, and why they take long.
SLOW: dict[str, str] = {}

# Fixed examples on every run: a red build must mean a change, not bad luck.
settings.register_profile("veilspan", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("veilspan")


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also what takes long, as .ci/run does")
    parser.addoption("--long", action="store_true", help="--all, and what takes minutes each")


def is_left_out(item, config):
    """Whether a test is for ``--all`` or ``--long`` only."""
    if config.getoption("--long"):
        return False
    if item.get_closest_marker("long"):
        return True
    path = item.path.relative_to(TESTS).as_posix()
    slow = item.get_closest_marker("slow") or any(path.startswith(place) for place in SLOW)
    # A test that was named on the command line is wanted, whatever it takes.
    named = any(Path(word.split("::")[0]).suffix == ".py" for word in config.args)
    return bool(slow) and not config.getoption("--all") and not named


def pytest_collection_modifyitems(config, items):
    """Leave to ``run.py test --all`` what the table and the markers say."""
    later = [item for item in items if is_left_out(item, config)]
    if later:
        config.hook.pytest_deselected(items=later)
        gone = set(later)
        items[:] = [item for item in items if item not in gone]


@pytest.fixture(scope="session")
def long_run(request):
    """Whether everything is run: for tests that do more of the same then."""
    return request.config.getoption("--long")


class _Terminal(io.StringIO):
    """Text that says of itself that somebody looks at it."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """``with terminal() as shown:`` makes the error stream a terminal, and keeps what it gets."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return lambda: redirect_stderr(_Terminal())
