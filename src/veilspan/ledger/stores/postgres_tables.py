"""Tables of a ledger on PostgreSQL: those of SQLite, in a schema of their own.

Triggers refuse whatever would change or remove an entry, whoever asks for it by SQL.
"""

from __future__ import annotations

from veilspan.ledger.filters import MOST_RULES
from veilspan.ledger.stores.base import REQUEST_INDICES, WITHDRAWAL_INDICES, list_kinds

SCHEMA_NAME = "veilspan_ledger"

_UNITS = ",\n".join(
    f"allowed{j} BIGINT NOT NULL, spent{j} BIGINT NOT NULL CHECK (spent{j} >= 0)"
    for j in range(MOST_RULES)
)
_WITHIN = " OR ".join(f"spent{j} <= allowed{j}" for j in range(MOST_RULES))
_ONLY_ADDED = [
    ("entries", "UPDATE OR DELETE OR TRUNCATE"),
    ("payloads", "UPDATE OR DELETE OR TRUNCATE"),
    ("accounts", "DELETE OR TRUNCATE"),
]

#: Statements that make the tables, in order.
TABLES = (
    f"CREATE SCHEMA IF NOT EXISTS {SCHEMA_NAME}",
    "CREATE TABLE format (version INTEGER NOT NULL)",
    f"""CREATE TABLE entries (
        seq BIGINT PRIMARY KEY,
        dataset TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ({list_kinds()})),
        time TEXT NOT NULL,
        key TEXT,
        about BIGINT REFERENCES entries (seq),
        body TEXT NOT NULL,
        mac TEXT NOT NULL
    )""",
    f"CREATE TABLE accounts (dataset TEXT PRIMARY KEY, {_UNITS}, CHECK ({_WITHIN}))",
    "CREATE TABLE payloads (seq BIGINT PRIMARY KEY REFERENCES entries (seq), data BYTEA NOT NULL)",
    "CREATE INDEX entries_by_dataset ON entries (dataset, kind, seq)",
    "CREATE UNIQUE INDEX one_dataset ON entries (dataset) WHERE kind = 'dataset'",
    "CREATE UNIQUE INDEX one_charge_a_key ON entries (dataset, key) WHERE kind = 'charge'",
    "CREATE UNIQUE INDEX one_release_a_charge ON entries (about) WHERE kind = 'release'",
    *REQUEST_INDICES,
    *WITHDRAWAL_INDICES,
    """CREATE FUNCTION only_added() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '% are only ever added', TG_TABLE_NAME; END $$""",
    *(
        f"CREATE TRIGGER {table}_only_added BEFORE {verbs} ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION only_added()"
        for table, verbs in _ONLY_ADDED
    ),
)

# Format 1 had an unnamed check of kinds, which the server has named by table and column.
_MORE_KINDS = (
    "ALTER TABLE entries DROP CONSTRAINT entries_kind_check, "
    f"ADD CONSTRAINT entries_kind_check CHECK (kind IN ({list_kinds()}))"
)

#: Statements that lead from a version of the tables to the next.
MIGRATIONS: dict[int, tuple[str, ...]] = {
    1: (_MORE_KINDS,),
    2: REQUEST_INDICES,
    3: (_MORE_KINDS, *WITHDRAWAL_INDICES),
}
