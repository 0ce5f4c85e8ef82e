"""Every test with ``store_url`` runs on SQLite, and on PostgreSQL where there is a server."""

import pytest

from ledger.server import fresh_database, running_server, why_no_server
from veilspan.ledger import Ledger


@pytest.fixture(scope="session")
def postgres_server():
    reason = why_no_server()
    if reason:
        pytest.skip(reason)
    with running_server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request, tmp_path):
    """Where a ledger may be made: a file, or an empty database."""
    if request.param == "sqlite":
        yield str(tmp_path / "budget.db")
        return
    with fresh_database(request.getfixturevalue("postgres_server")) as url:
        yield url


@pytest.fixture
def ledger(store_url, tmp_path):
    return Ledger(store_url, key=tmp_path / "ledger.key")


@pytest.fixture
def file_ledger(tmp_path):
    """A ledger in a file, for tests of what does not depend on the store."""
    return Ledger(tmp_path / "budget.db", key=tmp_path / "ledger.key")
