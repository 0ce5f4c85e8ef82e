"""Tables of a ledger in SQLite, and the steps from earlier formats.

Triggers refuse whatever would change or remove an entry, whoever asks for it by SQL.
"""

from __future__ import annotations

from veilspan.ledger.filters import MOST_RULES
from veilspan.ledger.stores.base import REQUEST_INDICES, WITHDRAWAL_INDICES, list_kinds

_UNITS = ",\n".join(
    f"allowed{j} INTEGER NOT NULL, spent{j} INTEGER NOT NULL CHECK (spent{j} >= 0)"
    for j in range(MOST_RULES)
)
_WITHIN = " OR ".join(f"spent{j} <= allowed{j}" for j in range(MOST_RULES))


def _entries(name: str) -> str:
    """The table of entries under a name of its own, which a migration gives it for a while."""
    return f"""
CREATE TABLE {name} (
    seq INTEGER PRIMARY KEY,
    dataset TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ({list_kinds()})),
    time TEXT NOT NULL,
    key TEXT,
    about INTEGER REFERENCES entries (seq),
    body TEXT NOT NULL,
    mac TEXT NOT NULL
) STRICT;
"""


_OTHERS = f"""
CREATE TABLE accounts (
    dataset TEXT PRIMARY KEY,
    {_UNITS},
    CHECK ({_WITHIN})
) STRICT;
CREATE TABLE payloads (
    seq INTEGER PRIMARY KEY REFERENCES entries (seq),
    data BLOB NOT NULL
) STRICT;
"""
_INDICES = """
CREATE INDEX entries_by_dataset ON entries (dataset, kind, seq);
CREATE UNIQUE INDEX one_dataset ON entries (dataset) WHERE kind = 'dataset';
CREATE UNIQUE INDEX one_charge_a_key ON entries (dataset, key) WHERE kind = 'charge';
CREATE UNIQUE INDEX one_release_a_charge ON entries (about) WHERE kind = 'release';
"""
_OF_REQUESTS = "".join(f"{statement};\n" for statement in REQUEST_INDICES)
_OF_WITHDRAWALS = "".join(f"{statement};\n" for statement in WITHDRAWAL_INDICES)
_APPEND_ONLY = {
    table: "".join(
        f"CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table} BEGIN "
        f"SELECT RAISE(ABORT, '{table} are only ever added'); END;\n"
        for verb in verbs
    )
    for table, verbs in (
        ("entries", ("UPDATE", "DELETE")),
        ("payloads", ("UPDATE", "DELETE")),
        ("accounts", ("DELETE",)),
    )
}

#: Statements that make the tables, each ending a line by a semicolon.
TABLES = "".join(
    (
        _entries("entries"),
        _OTHERS,
        _INDICES,
        _OF_REQUESTS,
        _OF_WITHDRAWALS,
        *_APPEND_ONLY.values(),
    )
)


# SQLite cannot change a check: the table is made anew and its rows are copied as they are, seals
# included (https://www.sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema
# Changes"). Indices and triggers go with the old table. Releases, which may be large, refer to the
# entries by name and stay where they are.
def _with_more_kinds(name: str, indices: str) -> str:
    return f"""
{_entries(name)}
INSERT INTO {name} (seq, dataset, kind, time, key, about, body, mac)
    SELECT seq, dataset, kind, time, key, about, body, mac FROM entries ORDER BY seq;
DROP TABLE entries;
ALTER TABLE {name} RENAME TO entries;
{indices}
{_APPEND_ONLY["entries"]}
"""


#: From each earlier format to the next: statements, each ending a line by a semicolon. They run
#: while foreign keys are not enforced.
MIGRATIONS: dict[int, str] = {
    1: _with_more_kinds("entries_of_format_2", _INDICES),
    2: _OF_REQUESTS,
    3: _with_more_kinds("entries_of_format_4", _INDICES + _OF_REQUESTS + _OF_WITHDRAWALS),
}
