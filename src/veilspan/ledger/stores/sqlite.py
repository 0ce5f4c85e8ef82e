"""A ledger in one SQLite file: no server, many processes.

Write-ahead log with ``synchronous=FULL``: a commit returns when the log is on the disk. Writers
start with BEGIN IMMEDIATE, so that nobody writes between what they read and what they write.
Connections are kept for the next transaction, never across a fork. Every transaction checks that
the file has one path only (:mod:`veilspan.ledger.stores.one_path`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from veilspan.ledger.errors import LedgerError, MissingLedgerError
from veilspan.ledger.stores.base import READABLE, SCHEMA, Book, Store
from veilspan.ledger.stores.byte_locks import hold_byte
from veilspan.ledger.stores.one_path import Identity, is_unchanged, locate
from veilspan.ledger.stores.sqlite_tables import MIGRATIONS, TABLES

#: Seconds to wait for another writer.
PATIENCE = 60.0
# SQLite waits in C, where Ctrl-C is not seen: it is let wait for this many seconds at a time.
_MOMENT = 0.2

# Connections that wait for the next transaction: path -> [(file identity, connection)].
_IDLE: dict[str, list[tuple[Identity, sqlite3.Connection]]] = {}
_LOCK = threading.Lock()

Result = TypeVar("Result")


class SQLiteBook(Book):
    """A transaction on a connection to the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement with ``?`` for values and return its cursor."""
        return self._connection.execute(statement, values)


class SQLiteStore(Store):
    """A ledger in a file.

    Parameters
    ----------
    path : str
        The file; made when something is first written.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether the file is there and its tables were made."""
        if not _holds_something(self.path):
            return False
        with self._transaction("BEGIN") as (_, version):
            return version > 0

    @contextmanager
    def writing(self) -> Iterator[Book]:
        """One writer at a time: waits for others at its start, and is on the disk at its end."""
        while True:
            with self._transaction("BEGIN IMMEDIATE") as (connection, version):
                if version in (0, SCHEMA):
                    if version == 0:
                        _make_tables(connection)
                    yield SQLiteBook(connection)
                    return
            self._migrate()

    def _migrate(self) -> None:
        """Bring the tables to this version, in a transaction of its own: all of it or nothing.

        Whoever else had the same in mind and came first has done it.
        """
        with self._transaction("BEGIN IMMEDIATE", rebuilding=True) as (connection, version):
            if version == 0:  # put in its place just now: an empty file, to be made a ledger
                return
            for old in range(version, SCHEMA):
                _execute_all(connection, MIGRATIONS[old])
            connection.execute(f"PRAGMA user_version = {SCHEMA}")

    @contextmanager
    def reading(self) -> Iterator[Book]:
        """A snapshot of one moment; tables that are too old to be read are migrated first."""
        if not _holds_something(self.path):
            raise MissingLedgerError(
                f"there is no ledger at {self.path}: it is made with its first dataset."
            )
        with self._transaction("BEGIN") as (connection, version):
            if version == 0:
                raise MissingLedgerError(f"there is no ledger at {self.path}, which is a database.")
            if version >= READABLE:
                yield SQLiteBook(connection)
                return
        with self.writing() as book:  # migrates
            yield book

    def wait_for_writers(self, seconds: float) -> None:
        """Nothing to wait for: a commit is made by the process that asks for it, or dies with it.

        Others who write just now are not killed, and tell themselves how it ended.
        """

    def hold(self, what: str) -> Callable[[], None]:
        """A lock on one byte of a file beside the ledger, which the system ends with the process.

        Such a lock is held by the process: its threads exclude each other elsewhere.
        """
        return hold_byte(os.path.realpath(self.path), what)

    @contextmanager
    def _transaction(
        self, begin: str, *, rebuilding: bool = False
    ) -> Iterator[tuple[sqlite3.Connection, int]]:
        """A connection inside a transaction, and the format of the tables.

        If tables are to be rebuilt, foreign keys are not enforced: dropping the old table would
        count as removing what others refer to. That can only be said before a transaction begins,
        and such a connection is not used again.
        """
        with _sentences(self.path):
            expected, connection = _take(self.path)
            try:
                if rebuilding:
                    connection.execute("PRAGMA foreign_keys = OFF")
                version = retry_while_busy(lambda: _begin(connection, begin, self.path))
                # Now that nobody else writes: a name that was made while we waited is seen as well.
                if not is_unchanged(expected):
                    raise LedgerError(
                        f"the ledger {self.path} was moved or replaced just now; try again."
                    )
                yield connection, version
                connection.execute("COMMIT")
            except BaseException:
                # Whatever state it is in: closing undoes what was not committed.
                connection.close()
                raise
            if rebuilding:
                connection.close()
                return
            with _LOCK:
                _IDLE.setdefault(self.path, []).append((expected, connection))


def retry_while_busy(work: Callable[[], Result]) -> Result:
    """Do something again and again while other writers hold the file, for :data:`PATIENCE` s."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > until:
                raise
        time.sleep(0.001)  # some waits end at once: then this is the pause


def _begin(connection: sqlite3.Connection, begin: str, path: str) -> int:
    """Begin and read: only then does a snapshot stand. Returns the format of the tables."""
    connection.execute(begin)
    try:
        return _version(connection, path)
    except sqlite3.OperationalError:
        connection.execute("ROLLBACK")
        raise


def _holds_something(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False


def _make_tables(connection: sqlite3.Connection) -> None:
    _execute_all(connection, TABLES)
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _execute_all(connection: sqlite3.Connection, script: str) -> None:
    for statement in _statements(script):
        connection.execute(statement)


def _statements(script: str) -> Iterator[str]:
    """Statements of a script. ``executescript`` would commit what was begun."""
    pending = ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _version(connection: sqlite3.Connection, path: str) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version != SCHEMA:
        _refuse_foreign(connection, path)
    if version > SCHEMA:
        raise LedgerError(
            f"{path} was written by a later version (format {version}; this one reads {SCHEMA}). "
            "Update veilspan."
        )
    return version


def _refuse_foreign(connection: sqlite3.Connection, path: str) -> None:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if names and not {"entries", "accounts"} <= names:
        raise LedgerError(
            f"there is no ledger at {path}: it is a database of something else. A ledger gets its "
            "own file."
        )


def _take(path: str) -> tuple[Identity, sqlite3.Connection]:
    """A connection that waits, if its file is still the one at ``path``, else a new one."""
    while True:
        with _LOCK:
            waiting = _IDLE.get(path)
            kept = waiting.pop() if waiting else None
        if kept is None:
            connection = _connect(path)
            try:
                return locate(path), connection
            except BaseException:
                connection.close()
                raise
        try:
            status = os.stat(path)
            if (status.st_dev, status.st_ino) == kept[0][1:]:
                return kept
        except OSError:
            pass
        kept[1].close()  # the file was replaced: charges must not go to the old one


def _connect(path: str) -> sqlite3.Connection:
    if not Path(path).parent.is_dir():
        raise LedgerError(f"the folder of {path} does not exist: make it first.")
    with contextlib.suppress(FileNotFoundError):
        locate(path)  # before SQLite makes a log beside a second name
    connection = sqlite3.connect(
        path, timeout=_MOMENT, isolation_level=None, check_same_thread=False
    )
    try:
        # Before anything is changed: somebody else's file is left as it is.
        retry_while_busy(lambda: _refuse_foreign(connection, path))
        # SQLite does not wait for this one if another connection is doing the same.
        retry_while_busy(lambda: connection.execute("PRAGMA journal_mode = WAL"))
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _sentences(path: str) -> Iterator[None]:
    """Turn errors of SQLite into sentences that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        said = [text for start, text in _SAID.items() if name.startswith(start)]
        text = said[0] if said else f"failed ({error})"
        raise LedgerError(f"the ledger {path} {text}.") from error
    except UnicodeDecodeError:  # texts that are none, also in what SQLite says about them
        raise LedgerError(f"the ledger {path} {_SAID['SQLITE_CORRUPT']}.") from None


_SAID = {
    "SQLITE_FULL": "cannot grow: the disk is full",
    "SQLITE_READONLY": "is read-only",
    "SQLITE_CANTOPEN": "cannot be opened: check the folder and its permissions",
    "SQLITE_NOTADB": "is not a SQLite database",
    "SQLITE_CORRUPT": "is damaged: restore it from a copy, then compare heads",
    "SQLITE_BUSY": f"is held by another writer for more than {PATIENCE:g} s",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error",
}


def _before_fork() -> None:
    """A connection must not be shared with a child; the parent opens another when it needs one."""
    _LOCK.acquire()
    for _, connection in (pair for waiting in _IDLE.values() for pair in waiting):
        connection.close()
    _IDLE.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )
