"""Settings of the whole suite."""

import io
from contextlib import redirect_stderr

import pytest
from hypothesis import settings

# Fixed examples on every run: a red build must mean a change, not bad luck.
settings.register_profile("veilspan", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("veilspan")


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="also the tests that take minutes")


def pytest_collection_modifyitems(config, items):
    """Leave the tests marked ``long`` to ``run.py test --long`` and ``.ci/run --long``."""
    if config.getoption("--long"):
        return
    later = [item for item in items if item.get_closest_marker("long")]
    if later:
        config.hook.pytest_deselected(items=later)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


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
