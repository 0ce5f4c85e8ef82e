"""A ledger in a PostgreSQL database: many machines, one record.

The tables stand in a schema of their own, so that the database may hold other things. Writers take
one advisory lock for the length of their transaction; a commit returns when the server has it on
the disk. Under READ COMMITTED every statement sees what was committed before it, so that what is
read under the lock is the latest. Connections are kept for the next transaction, never across a
fork.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from veilspan._passwords import without_password
from veilspan.ledger.errors import LedgerError, MissingLedgerError
from veilspan.ledger.stores.base import READABLE, SCHEMA, Book, Store
from veilspan.ledger.stores.postgres_tables import MIGRATIONS, SCHEMA_NAME, TABLES

#: Seconds to wait for another writer, and for the server to answer a new connection.
PATIENCE = 60.0
CONNECT_PATIENCE = 15
# How often to look whether another process has let go of what we wait for, in seconds.
_LOOK = 0.1
# Any fixed number that other programs on the server are unlikely to use: the letters of "veilspan",
# shifted by one bit so that it is a positive number of 64 bits with a sign.
_ADVISORY = int.from_bytes(b"veilspan", "big") >> 1

_BEGIN_WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# For this transaction only. A server set to answer before the disk has it is told to wait.
_SETTINGS = f"""
SELECT set_config('search_path', '{SCHEMA_NAME}', true),
       set_config('lock_timeout', %s, true),
       CASE WHEN current_setting('synchronous_commit') = 'off'
            THEN set_config('synchronous_commit', 'on', true) END
"""

# Connections that wait for the next transaction, by URL.
_IDLE: dict[str, list[Any]] = {}
_LOCK = threading.Lock()


class PostgresBook(Book):
    """A transaction on a connection to the server."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Run one statement; psycopg writes ``%s`` where the shared SQL has ``?``."""
        return self._connection.execute(statement.replace("?", "%s").encode(), values)


class PostgresStore(Store):
    """A ledger on a server.

    Parameters
    ----------
    url : str
        ``postgresql://user@host/database``, with any options of libpq. A password is better kept
        in libpq's password file than in the URL.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def exists(self) -> bool:
        """Whether the database holds a ledger."""
        with self._transaction(_BEGIN_READING) as connection:
            return _version(connection, self.url) > 0

    @contextmanager
    def writing(self) -> Iterator[Book]:
        """One writer at a time, from the lock to the commit."""
        with self._transaction(_BEGIN_WRITING) as connection:
            connection.execute(f"SELECT pg_advisory_xact_lock({_ADVISORY})".encode())
            _make_or_migrate_tables(connection, _version(connection, self.url), self.url)
            yield PostgresBook(connection)

    @contextmanager
    def reading(self) -> Iterator[Book]:
        """A snapshot of one moment; tables that are too old to be read are migrated first."""
        with self._transaction(_BEGIN_READING) as connection:
            version = _version(connection, self.url)
            if version == 0:
                raise MissingLedgerError(
                    f"there is no ledger at {without_password(self.url)}: it is made with its "
                    "first dataset."
                )
            if version >= READABLE:
                yield PostgresBook(connection)
                return
        with self.writing() as book:  # migrates
            yield book

    def wait_for_writers(self, seconds: float) -> None:
        """Pass through the lock of writers, shared, so that nobody who writes is before us.

        A server may be at work on the commit of a client that is dead by now, and notices only
        afterwards. The lock is held until that commit is made and seen by all; who did not hold it
        yet when its client died would need further words of that client to write anything.
        """
        with self._transaction(_BEGIN_READING) as connection:
            patience = f"SET LOCAL lock_timeout = '{max(1, int(1000 * seconds))}ms'"
            connection.execute(patience.encode())
            connection.execute(f"SELECT pg_advisory_xact_lock_shared({_ADVISORY})".encode())

    def hold(self, what: str) -> Callable[[], None]:
        """An advisory lock of a transaction that stays open, on a connection of its own.

        Not one of the session: behind a pooler that may be another one by the time it is let go.
        """
        number = int.from_bytes(hashlib.sha256(what.encode()).digest()[:8], "big", signed=True)
        with _sentences(self.url):
            connection = _begin(self.url, _BEGIN_READING)
            try:
                while not _locks_now(connection, number):
                    time.sleep(_LOOK)
            except BaseException:
                connection.close()
                raise
        return partial(_let_go, self.url, connection)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Any]:
        with _sentences(self.url):
            connection = _begin(self.url, begin)
            try:
                yield connection
                _commit(connection, self.url)
            except BaseException:
                # Whatever state it is in: closing undoes what was not committed.
                connection.close()
                raise
            with _LOCK:
                _IDLE.setdefault(self.url, []).append(connection)


def _locks_now(connection: Any, number: int) -> bool:
    found = connection.execute(b"SELECT pg_try_advisory_xact_lock(%s)", (number,)).fetchone()
    return bool(found[0])


def _let_go(url: str, connection: Any) -> None:
    try:
        connection.execute(b"COMMIT")
    except Exception:  # it died, and its locks with it
        connection.close()
        return
    with _LOCK:
        _IDLE.setdefault(url, []).append(connection)


def _version(connection: Any, url: str) -> int:
    # By a query, not by to_regclass: that may answer from before the wait for the lock.
    found = connection.execute(
        b"SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'format'",
        (SCHEMA_NAME,),
    ).fetchone()
    if found is None:
        return 0
    version = int(connection.execute(b"SELECT version FROM format").fetchone()[0])
    if version > SCHEMA:
        raise LedgerError(
            f"{without_password(url)} was written by a later version (format {version}; this one "
            f"reads {SCHEMA}). Update veilspan."
        )
    return version


def _make_or_migrate_tables(connection: Any, version: int, url: str) -> None:
    """Bring the tables to this version, in the transaction that is going to write to them."""
    import psycopg

    if version == SCHEMA:
        return
    steps = (MIGRATIONS[old] for old in range(version, SCHEMA)) if version else (TABLES,)
    try:
        for statement in (statement for step in steps for statement in step):
            connection.execute(statement.encode())
        connection.execute(b"DELETE FROM format")
        connection.execute(b"INSERT INTO format (version) VALUES (%s)", (SCHEMA,))
    except psycopg.errors.InsufficientPrivilege:
        if version == 0:
            raise
        raise LedgerError(
            f"the ledger {without_password(url)} was written by an earlier version (format "
            f"{version}; this one writes {SCHEMA}), and this user may read it but not change its "
            "tables. Their owner does so once, by veilspan ledger upgrade."
        ) from None


def _begin(url: str, begin: str) -> Any:
    """A connection inside a new transaction.

    One that waited may have died with its server. That shows at BEGIN, when nothing was asked yet.
    """
    import psycopg

    while True:
        with _LOCK:
            waiting = _IDLE.get(url)
            kept = waiting.pop() if waiting else None
        connection = kept or _connect(url)
        try:
            connection.execute(begin.encode())
            connection.execute(_SETTINGS.encode(), (f"{int(1000 * PATIENCE)}ms",))
        except psycopg.OperationalError:
            connection.close()
            if kept is None:
                raise
        else:
            return connection


def _connect(url: str) -> Any:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        options: dict[str, Any] = {"connect_timeout": CONNECT_PATIENCE, **conninfo_to_dict(url)}
    except psycopg.Error:  # its text quotes what it could not read, a password perhaps
        raise LedgerError(
            f"the URL {without_password(url)} of the ledger cannot be read: write special "
            "characters of names and passwords as %40 (for @) and the like."
        ) from None
    # Statements are not prepared: poolers between us and the server need not keep them.
    connection: Any = psycopg.connect(**options, autocommit=True, prepare_threshold=None)
    if connection.execute(b"SELECT current_setting('fsync')").fetchone()[0] != "on":
        connection.close()
        raise LedgerError(
            f"the server of {without_password(url)} runs with fsync off: a power cut could give "
            "back what was spent. Turn fsync on."
        )
    return connection


def _commit(connection: Any, url: str) -> None:
    import psycopg

    try:
        status = connection.execute(b"COMMIT").statusmessage
    except psycopg.OperationalError:
        # Whether the server had received it cannot be known. Spent is the safe side.
        raise LedgerError(
            f"the connection to {without_password(url)} broke during a commit: what was being "
            "written may stand or not; `veilspan ledger history` shows it."
        ) from None
    if status != "COMMIT":
        raise LedgerError(
            f"the server of {without_password(url)} did not commit: nothing was charged. Try again."
        )


@contextmanager
def _sentences(url: str) -> Iterator[None]:
    """Turn errors of PostgreSQL into sentences that say what to do."""
    try:
        import psycopg
    except ImportError:
        raise LedgerError(
            "a ledger on PostgreSQL needs psycopg: pip install 'veilspan[postgres]'."
        ) from None
    try:
        yield
    except psycopg.Error as error:
        raise LedgerError(f"the ledger {without_password(url)} {_explain(error)}.") from error


def _explain(error: Any) -> str:
    state = error.sqlstate or ""
    detail = " ".join((error.diag.message_primary or str(error)).split())
    # No state: the server was never reached. 08 and 57P: it went away.
    lost = not state or state.startswith(("08", "57P"))
    return _SAID.get(state) or (f"cannot be reached ({detail})" if lost else f"failed ({detail})")


_SAID = {
    "53100": "cannot grow: the server's disk is full",
    "25006": "is read-only",
    "42501": "does not let this user write (or make tables, the first time)",
    "55P03": f"is held by another writer for more than {PATIENCE:g} s",
}


def close_idle() -> None:
    """Close the connections that wait for the next transaction."""
    with _LOCK:
        _close_all()


def _close_all() -> None:
    for connection in (each for waiting in _IDLE.values() for each in waiting):
        with contextlib.suppress(Exception):  # dead already
            connection.close()
    _IDLE.clear()


def _before_fork() -> None:
    """A connection must not be shared with a child; the parent opens another when it needs one."""
    _LOCK.acquire()
    _close_all()


atexit.register(close_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )
