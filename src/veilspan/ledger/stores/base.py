"""Where a ledger is kept: what every database must offer, and the SQL that they share.

A store hands out a :class:`Book` for the length of one transaction. ``writing`` is exclusive: from
its start to its end nobody else writes, and what it did is on the disk when it ends, or undone if
it ends by an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from veilspan.ledger.errors import LedgerError
from veilspan.ledger.filters import CAP, MOST_RULES
from veilspan.ledger.names import spellings
from veilspan.ledger.records import CHARGE, RELEASE, Account, Entry

#: Version of the format: of the tables, and of what entries must be understood before anything is
#: charged. Whoever writes to an older ledger migrates it first; a newer one is refused.
#:
#: 2. Accounts have a unit and a dataset, which earlier versions would not hold a charge to; more
#:    kinds of entries.
#: 3. Requests, which earlier versions would charge without their approval; indices of them.
#: 4. Withdrawals, of which earlier versions would say nothing; an index of them.
SCHEMA = 4
#: The oldest format that readers take as it stands, so that a ledger that this user may not write
#: to can be read, and that looking at one does not shut out who still has an earlier version.
READABLE = 1
#: What an entry can be.
KINDS = (
    "ledger",
    "dataset",
    "charge",
    "release",
    "schema",
    "request",
    "approval",
    "refusal",
    "withdrawal",
)

_COLUMNS = "seq, dataset, kind, time, key, about, body, mac"
_COLUMNS_OF_E = ", ".join(f"e.{column}" for column in _COLUMNS.split(", "))
_ALLOWED = ", ".join(f"allowed{j}" for j in range(MOST_RULES))
_SPENT = ", ".join(f"spent{j}" for j in range(MOST_RULES))
_HOLES = ", ".join("?" * MOST_RULES)

# One statement decides and spends, so that no other writer can come in between. Sums stay below
# 2 CAP < 2^63 and are cut at CAP: a rule that has been exceeded can never have room again.
_SPEND = (
    "UPDATE accounts SET "
    + ", ".join(
        f"spent{j} = CASE WHEN spent{j} + ? > {CAP} THEN {CAP} ELSE spent{j} + ? END"
        for j in range(MOST_RULES)
    )
    + " WHERE dataset = ? AND ("
    + " OR ".join(f"spent{j} + ? <= allowed{j}" for j in range(MOST_RULES))
    + ")"
)


class Book(ABC):
    """An open transaction. Databases differ in how they execute a statement."""

    @abstractmethod
    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Run one statement with ``?`` for values; return a cursor."""

    # Entries.

    def last(self) -> Entry | None:
        """Return the entry with the highest number; None in an empty ledger."""
        return self._entry("ORDER BY seq DESC LIMIT 1")

    def entry(self, seq: int) -> Entry | None:
        """Return the entry with this number; None if there is none."""
        return self._entry("WHERE seq = ?", seq)

    def entries(self) -> Iterator[Entry]:
        """Iterate over all entries in order, one at a time: a ledger may be long."""
        rows = self.execute(f"SELECT {_COLUMNS} FROM entries ORDER BY seq")
        return (Entry(*row) for row in rows)

    def page(
        self, dataset: str | None, kind: str | None, before: int, limit: int | None
    ) -> list[tuple[Entry, str | None]]:
        """The last entries before a number, each with the digest before it, in order.

        Of one dataset *and* one kind, or of all datasets: for these an index leads to the last ones
        whatever there is before them.
        """
        asked = [("e.dataset", dataset), ("e.kind", kind)]
        chosen = [(column, value) for column, value in asked if value is not None]
        where = " AND ".join(["e.seq < ?", *(f"{column} = ?" for column, _ in chosen)])
        cut = "" if limit is None else f"LIMIT {int(limit)}"
        rows = self.execute(
            f"SELECT {_COLUMNS_OF_E}, p.mac FROM entries e LEFT JOIN entries p "
            f"ON p.seq = e.seq - 1 WHERE {where} ORDER BY e.seq DESC {cut}",
            (before, *(value for _, value in chosen)),
        )
        return [(Entry(*row[:-1]), row[-1]) for row in rows][::-1]

    def dataset_entries(self) -> Iterator[Entry]:
        """The entries with the terms of all datasets, oldest first."""
        rows = self.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE kind = 'dataset' ORDER BY seq"
        ).fetchall()
        return (Entry(*row) for row in rows)

    def dataset_entry(self, dataset: str) -> Entry | None:
        """The entry with a dataset's terms."""
        return self._entry("WHERE dataset = ? AND kind = 'dataset'", dataset)

    def charge_with_key(self, dataset: str, key: str) -> Entry | None:
        """The charge under an idempotency key."""
        return self._entry(
            "WHERE dataset = ? AND key IN (?, ?) AND kind = ? ORDER BY seq LIMIT 1",
            dataset,
            *spellings(key),
            CHARGE,
        )

    def last_of(self, kind: str, dataset: str) -> Entry | None:
        """The latest entry of a kind about a dataset."""
        return self._entry(
            "WHERE dataset = ? AND kind = ? ORDER BY seq DESC LIMIT 1", dataset, kind
        )

    def release_of(self, charge: int) -> Entry | None:
        """The release that followed a charge."""
        return self._entry("WHERE about = ? AND kind = ?", charge, RELEASE)

    def withdrawal_of(self, release: int) -> Entry | None:
        """The withdrawal of a release, by the release's own number."""
        return self._entry("WHERE about = ? AND kind = 'withdrawal'", release)

    def requests_with_key(self, dataset: str, key: str) -> list[Entry]:
        """All versions of the request under an idempotency key, in order."""
        rows = self.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE kind = 'request' AND dataset = ? "
            "AND key IN (?, ?) ORDER BY seq",
            (dataset, *spellings(key)),
        ).fetchall()
        return [Entry(*row) for row in rows]

    def decisions_about(self, request: int) -> list[Entry]:
        """Approvals and refusals of one version of a request, in order."""
        rows = self.execute(
            f"SELECT {_COLUMNS} FROM entries WHERE kind IN ('approval', 'refusal') "
            "AND about = ? ORDER BY seq",
            (request,),
        ).fetchall()
        return [Entry(*row) for row in rows]

    def append(self, entry: Entry) -> None:
        """Add an entry at the end."""
        self.execute(
            f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.seq,
                entry.dataset,
                entry.kind,
                entry.time,
                entry.key,
                entry.about,
                entry.body,
                entry.mac,
            ),
        )

    def _entry(self, where: str, *values: Any) -> Entry | None:
        row = self.execute(f"SELECT {_COLUMNS} FROM entries {where}", values).fetchone()
        return None if row is None else Entry(*row)

    # Stored releases.

    def keep(self, seq: int, payload: bytes) -> None:
        """Store what was released, beside the entry of the release."""
        self.execute("INSERT INTO payloads (seq, data) VALUES (?, ?)", (seq, payload))

    def payload(self, seq: int) -> bytes | None:
        """Return the bytes stored beside an entry; None if there are none."""
        row = self.execute("SELECT data FROM payloads WHERE seq = ?", (seq,)).fetchone()
        return None if row is None else bytes(row[0])

    # Accounts.

    def open_account(self, dataset: str, allowed: Sequence[int]) -> None:
        """Open an account from which nothing was spent."""
        self.execute(
            f"INSERT INTO accounts (dataset, {_ALLOWED}, {_SPENT}) VALUES (?, {_HOLES}, {_HOLES})",
            (dataset, *allowed, *[0] * MOST_RULES),
        )

    def account(self, dataset: str) -> Account | None:
        """Return the account of a dataset; None if there is none."""
        return next(self.accounts(dataset), None)

    def accounts(self, dataset: str | None = None) -> Iterator[Account]:
        """Iterate over the accounts of all datasets by name, or over the one of ``dataset``."""
        where, values = ("", ()) if dataset is None else ("WHERE dataset = ?", (dataset,))
        rows = self.execute(
            f"SELECT dataset, {_ALLOWED}, {_SPENT} FROM accounts {where} ORDER BY dataset", values
        )
        for name, *units in rows:
            yield Account(name, tuple(units[:MOST_RULES]), tuple(units[MOST_RULES:]))

    def spend(self, dataset: str, costs: Sequence[int]) -> bool:
        """Spend if some rule has room, by one conditional UPDATE; whether it did."""
        check_units(costs)
        # The statement names each cost twice before the condition: in the test and in the sum.
        doubled = [cost for cost in costs for _ in range(2)]
        return bool(self.execute(_SPEND, (*doubled, dataset, *costs)).rowcount == 1)


#: Indices of requests, in both stores: by key, and one decision of a kind about each version.
REQUEST_INDICES = (
    "CREATE INDEX requests_by_key ON entries (dataset, key) WHERE kind = 'request'",
    "CREATE UNIQUE INDEX one_approval_a_version ON entries (about) WHERE kind = 'approval'",
    "CREATE UNIQUE INDEX one_refusal_a_version ON entries (about) WHERE kind = 'refusal'",
)
#: And of withdrawals: one for each release.
WITHDRAWAL_INDICES = (
    "CREATE UNIQUE INDEX one_withdrawal_a_release ON entries (about) WHERE kind = 'withdrawal'",
)


def list_kinds() -> str:
    """Kinds of entries as SQL lists them, for the tables of a store."""
    return ", ".join(f"'{kind}'" for kind in KINDS)


class Store(ABC):
    """A database that holds a ledger and hands out one transaction at a time."""

    @abstractmethod
    def exists(self) -> bool:
        """Tell whether there is a ledger, without making one."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Book]:
        """An exclusive transaction, durable when it ends.

        Makes the tables if there are none, and migrates those of an earlier format.
        """

    @abstractmethod
    def reading(self) -> AbstractContextManager[Book]:
        """A consistent view. Refuses if there is no ledger."""

    @abstractmethod
    def wait_for_writers(self, seconds: float) -> None:
        """Wait until whoever writes now has done so or given up; refuse after so many seconds.

        What is read afterwards holds every write whose process was killed before: a commit that
        was on its way to a server has been made, or never will be.
        """

    @abstractmethod
    def hold(self, what: str) -> Callable[[], None]:
        """Wait until no other process holds ``what``, then hold it.

        It is held until the returned function is called, or the process ends.

        Where locks are not to be had it is not held, and others do not wait.
        """


def check_units(costs: Sequence[int]) -> None:
    """Refuse a cost that is not a whole number of units: negative, NaN, infinite, a fraction."""
    if len(costs) != MOST_RULES:
        raise ValueError(f"a charge has {MOST_RULES} costs, one for each rule.")
    for cost in costs:
        if isinstance(cost, bool) or not isinstance(cost, int) or not 0 <= cost <= CAP:
            raise LedgerError(f"a cost must be a whole number from 0 to {CAP}; got {cost!r}.")


def open_store(url: str) -> Store:
    """Return the store behind a path (SQLite) or a URL (PostgreSQL); nothing is opened yet."""
    if url.startswith(("postgresql://", "postgres://")):
        from veilspan.ledger.stores.postgres import PostgresStore

        return PostgresStore(url)
    from veilspan.ledger.stores.sqlite import SQLiteStore

    return SQLiteStore(url)
