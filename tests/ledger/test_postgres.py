"""What is particular to PostgreSQL: its own schema, lost connections, roles, settings."""

import os
import re
import signal
import sys
import threading
import uuid

import pytest

from ledger.earlier import make_earlier_ledger, read_format
from ledger.server import fresh_database
from ledger.workers import request
from veilspan.ledger import Ledger
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.stores import postgres


@pytest.fixture
def url(postgres_server):
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture
def ledger(url, tmp_path):
    return Ledger(url, tmp_path / "ledger.key")


def run_sql(url, *statements):
    """Run statements as the owner of the database; rows of the last one."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


CUT_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def test_tables_stand_in_a_schema_of_their_own(ledger, url):
    run_sql(url, "CREATE TABLE entries (mine TEXT)")
    ledger.dataset("trial", 3, 1e-6).charge(request())
    assert run_sql(url, "SELECT COUNT(*) FROM public.entries") == [(0,)]
    assert run_sql(url, "SELECT COUNT(*) FROM veilspan_ledger.entries") == [(3,)]


def test_reading_makes_nothing(ledger, url):
    with pytest.raises(LedgerError, match="there is no ledger"):
        ledger.datasets()
    found = "SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'veilspan_ledger'"
    assert run_sql(url, found) == [(0,)]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = '{}'",
        "DELETE FROM entries",
        "TRUNCATE entries CASCADE",
        "DELETE FROM payloads",
        "TRUNCATE payloads",
        "DELETE FROM accounts",
        "TRUNCATE accounts",
    ],
)
def test_entries_are_only_ever_added(ledger, url, statement):
    import psycopg

    ledger.dataset("trial", 3, 1e-6)
    with pytest.raises(psycopg.errors.RaiseException, match="only ever added"):
        run_sql(url, "SET search_path TO veilspan_ledger", statement)
    assert ledger.verify()


def test_a_connection_that_died_while_it_waited_is_replaced(ledger, url):
    handle = ledger.dataset("trial", 3, 1e-6)
    assert run_sql(url, CUT_OTHERS) == [(True,)]
    assert handle.charge(request()).entry == 3


def test_a_connection_that_dies_on_the_way_charges_nothing(ledger, url):
    handle = ledger.dataset("trial", 3, 1e-6)

    def cut():
        with ledger.journal.writing() as page:
            page.append("charge", "trial", {})
            run_sql(url, CUT_OTHERS)

    with pytest.raises(LedgerError, match=r"broke during a commit: .* may stand or not"):
        cut()
    assert [entry.kind for entry in ledger.history()] == ["ledger", "dataset"]
    assert handle.charge(request()).entry == 3
    assert ledger.verify()


def test_a_server_that_is_not_there(tmp_path):
    pytest.importorskip("psycopg")
    ledger = Ledger(f"postgresql://me:secret@/db?host={tmp_path}", tmp_path / "ledger.key")
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        ledger.dataset("trial", 3, 1e-6)
    assert "secret" not in str(caught.value)


def test_no_such_database(postgres_server, tmp_path):
    elsewhere = postgres_server.replace("/postgres?", "/nowhere?")
    if elsewhere == postgres_server:
        pytest.skip("the server's URL is of another form")
    with pytest.raises(LedgerError, match='database "nowhere" does not exist'):
        Ledger(elsewhere, tmp_path / "ledger.key").datasets()


def test_without_psycopg(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"pip install 'veilspan\[postgres\]'"):
        Ledger("postgresql:///db", tmp_path / "ledger.key").datasets()


@pytest.fixture
def role(url):
    """A user of the server with no rights on the ledger yet."""
    name = f"veilspan_{uuid.uuid4().hex}"
    run_sql(url, f"CREATE ROLE {name} LOGIN")
    yield name
    run_sql(url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def as_user(role, ledger):
    """The same ledger, reached by another user."""
    url = re.sub(r"(?<=://)([^@/?]*@)?", f"{role}@", ledger.url, count=1)
    return Ledger(url, ledger.key_file)


READ = (
    "GRANT USAGE ON SCHEMA veilspan_ledger TO {role}",
    "GRANT SELECT ON ALL TABLES IN SCHEMA veilspan_ledger TO {role}",
)
SPEND = (
    "GRANT INSERT ON veilspan_ledger.entries, veilspan_ledger.payloads TO {role}",
    "GRANT UPDATE (spent0, spent1, spent2, spent3) ON veilspan_ledger.accounts TO {role}",
)


def test_a_user_who_may_only_look(ledger, url, role):
    ledger.dataset("trial", 3, 1e-6)
    run_sql(url, *(grant.format(role=role) for grant in READ))
    theirs = as_user(role, ledger)
    assert theirs.dataset("trial").spent().charges == 0
    with pytest.raises(LedgerError, match="does not let this user write"):
        theirs.dataset("trial").charge(request())
    assert ledger.dataset("trial").spent().charges == 0


def test_a_user_who_may_spend_and_not_open_accounts(ledger, url, role):
    ledger.dataset("trial", 3, 1e-6)
    run_sql(url, *(grant.format(role=role) for grant in READ + SPEND))
    theirs = as_user(role, ledger)
    receipt = theirs.dataset("trial").with_key("figure-1").charge(request())
    receipt.release({}, {"answer_": 42})
    with pytest.raises(LedgerError, match="does not let this user write"):
        theirs.dataset("another", 3, 1e-6)
    assert ledger.dataset("trial").spent().released == 1
    assert ledger.verify()


def test_a_user_who_may_spend_leaves_the_upgrade_to_the_owner(url, tmp_path, role):
    ledger = make_earlier_ledger(url, tmp_path / "ledger.key")
    run_sql(url, *(grant.format(role=role) for grant in READ + SPEND))
    theirs = as_user(role, ledger).dataset("trial")
    assert theirs.spent().charges == 2
    with pytest.raises(LedgerError, match=r"may read it but not change .* ledger upgrade"):
        theirs.charge(request())
    assert read_format(url) == 1
    ledger.upgrade()
    assert theirs.charge(request()).entry == 6
    assert ledger.verify()


def test_a_commit_waits_for_the_disk_whatever_the_database_says(ledger, url):
    ledger.dataset("trial", 3, 1e-6)
    name = run_sql(url, "SELECT current_database()")[0][0]
    run_sql(url, f"ALTER DATABASE {name} SET synchronous_commit = off")
    postgres.close_idle()
    with ledger.journal.writing() as page:
        assert page.book.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_a_server_that_may_forget_is_refused(monkeypatch, tmp_path):
    psycopg = pytest.importorskip("psycopg")

    class Forgetful:
        def execute(self, statement):
            assert statement == b"SELECT current_setting('fsync')"
            return self

        def fetchone(self):
            return ("off",)

        def close(self):
            pass

    monkeypatch.setattr(psycopg, "connect", lambda **options: Forgetful())
    with pytest.raises(LedgerError, match="fsync off"):
        Ledger("postgresql:///db", tmp_path / "ledger.key").dataset("trial", 3, 1e-6)


def test_ctrl_c_acts_while_another_writer_holds_the_ledger(ledger, url):
    import psycopg

    handle = ledger.dataset("trial", 3, 1e-6)
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(f"SELECT pg_advisory_lock({postgres._ADVISORY})")
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            handle.charge(request())
    assert handle.charge(request()).entry == 3
