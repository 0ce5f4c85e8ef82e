"""Tables of a ledger in SQLite, and the steps from earlier formats.

Triggers refuse whatever would change or remove an entry, whoever asks for it by SQL.
"""

from __future__ import annotations

from veilspan.ledger.filters import MOST_RULES

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

#: Statements that make the tables, each ending a line by a semicolon.
TABLES = _TABLES + _APPEND_ONLY

#: From each earlier format to the next: statements, each ending a line by a semicolon.
MIGRATIONS: dict[int, str] = {}
