"""A ledger in one SQLite file: no server, many processes.

Write-ahead log with ``synchronous=FULL``: a commit returns when the log is on the disk. Writers
start with BEGIN IMMEDIATE, so that nobody writes between what they read and what they write.
Connections are kept for the next transaction, never across a fork.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from veilspan.ledger.errors import LedgerError
from veilspan.ledger.filters import MOST_RULES
from veilspan.ledger.store import SCHEMA, Book, Store

#: Seconds to wait for another writer.
PATIENCE = 60.0

_UNITS = ",\n".join(
    f"allowed{j} INTEGER NOT NULL, spent{j} INTEGER NOT NULL CHECK (spent{j} >= 0)"
    for j in range(MOST_RULES)
)
_WITHIN = " OR ".join(f"spent{j} <= allowed{j}" for j in range(MOST_RULES))
_TABLES = f"""
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    dataset TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('ledger', 'dataset', 'charge', 'release')),
    time TEXT NOT NULL,
    key TEXT,
    about INTEGER REFERENCES entries (seq),
    body TEXT NOT NULL,
    mac TEXT NOT NULL
) STRICT;
CREATE TABLE accounts (
    dataset TEXT PRIMARY KEY,
    {_UNITS},
    CHECK ({_WITHIN})
) STRICT;
CREATE TABLE payloads (
    seq INTEGER PRIMARY KEY REFERENCES entries (seq),
    data BLOB NOT NULL
) STRICT;
CREATE INDEX entries_by_dataset ON entries (dataset, kind, seq);
CREATE UNIQUE INDEX one_dataset ON entries (dataset) WHERE kind = 'dataset';
CREATE UNIQUE INDEX one_charge_a_key ON entries (dataset, key) WHERE kind = 'charge';
CREATE UNIQUE INDEX one_release_a_charge ON entries (about) WHERE kind = 'release';
"""
_APPEND_ONLY = "\n".join(
    f"CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table} BEGIN "
    f"SELECT RAISE(ABORT, '{table} are only ever added'); END;"
    for table, verb in [
        ("entries", "UPDATE"),
        ("entries", "DELETE"),
        ("payloads", "UPDATE"),
        ("payloads", "DELETE"),
        ("accounts", "DELETE"),
    ]
)

#: From each earlier format to the next: statements, each ending a line by a semicolon.
MIGRATIONS: dict[int, str] = {}

# Connections that wait for the next transaction: path -> [(file identity, connection)].
_IDLE: dict[str, list[tuple[tuple[int, int], sqlite3.Connection]]] = {}
_LOCK = threading.Lock()


class SQLiteBook(Book):
    """A transaction on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement."""
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
        with self._transaction("BEGIN") as connection:
            return _version(connection, self.path) > 0

    @contextmanager
    def writing(self) -> Iterator[Book]:
        """BEGIN IMMEDIATE ... COMMIT."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            _make_or_migrate_tables(connection, self.path)
            yield SQLiteBook(connection)

    @contextmanager
    def reading(self) -> Iterator[Book]:
        """A snapshot."""
        if not _holds_something(self.path):
            raise LedgerError(f"there is no ledger at {self.path}.")
        with self._transaction("BEGIN") as connection:
            version = _version(connection, self.path)
            if version == 0:
                raise LedgerError(f"there is no ledger at {self.path}, which is a database.")
            if version == SCHEMA:
                yield SQLiteBook(connection)
                return
        with self.writing() as book:  # migrates
            yield book

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with _sentences(self.path):
            connection = _take(self.path)
            try:
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # Whatever state it is in: closing undoes what was not committed.
                connection.close()
                raise
            _give_back(self.path, connection)


def _holds_something(path: str) -> bool:
    try:
        return os.stat(path).st_size > 0
    except OSError:
        return False


def _make_or_migrate_tables(connection: sqlite3.Connection, path: str) -> None:
    version = _version(connection, path)
    if version == SCHEMA:
        return
    if version > 0:
        script = "".join(MIGRATIONS[old] for old in range(version, SCHEMA))
    else:
        script = _TABLES + _APPEND_ONLY
    for statement in _statements(script):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _statements(script: str) -> Iterator[str]:
    """Statements of a script. ``executescript`` would commit what was begun."""
    pending = ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _version(connection: sqlite3.Connection, path: str) -> int:
    if _is_foreign(connection):
        raise LedgerError(
            f"there is no ledger at {path}: it is a database of something else. A ledger gets its "
            "own file."
        )
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > SCHEMA:
        raise LedgerError(
            f"{path} was written by a later version (format {version}; this one reads {SCHEMA}). "
            "Update veilspan."
        )
    return version


def _is_foreign(connection: sqlite3.Connection) -> bool:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    return bool(names) and not {"entries", "accounts"} <= names


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _take(path: str) -> sqlite3.Connection:
    """A connection that waits, if its file is still the one at ``path``, else a new one."""
    while True:
        with _LOCK:
            waiting = _IDLE.get(path)
            kept = waiting.pop() if waiting else None
        if kept is None:
            return _connect(path)
        try:
            if _identity(path) == kept[0]:
                return kept[1]
        except OSError:
            pass
        kept[1].close()  # the file was replaced: charges must not go to the old one


def _give_back(path: str, connection: sqlite3.Connection) -> None:
    with _LOCK:
        _IDLE.setdefault(path, []).append((_identity(path), connection))


def _connect(path: str) -> sqlite3.Connection:
    if not Path(path).parent.is_dir():
        raise LedgerError(f"the folder of {path} does not exist.")
    connection = sqlite3.connect(
        path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        if not _is_foreign(connection):  # somebody else's file is left as it is
            _use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Change the mode, which SQLite does not wait for if another connection is doing the same."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def _sentences(path: str) -> Iterator[None]:
    """Errors of SQLite as sentences that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        said = [text for start, text in _SAID.items() if name.startswith(start)]
        text = said[0] if said else f"failed ({error})"
        raise LedgerError(f"the ledger {path} {text}.") from error


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
