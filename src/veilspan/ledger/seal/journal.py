"""The journal: a ledger whose every write continues the chain of seals and is checked against it.

A write is refused if the ledger is not the one that was seen here before: another key, an end that
was cut off, a file that was made anew. Reading an old backup back in would hand out budget twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veilspan._printable import printable
from veilspan._version import __version__
from veilspan.ledger.errors import LedgerError, MissingLedgerError, TamperError
from veilspan.ledger.records import OPENED, Entry, as_json, now
from veilspan.ledger.seal import keys
from veilspan.ledger.seal.chain import FIRST, Head, is_sealed, seal
from veilspan.ledger.stores.base import Book, open_store

# Larger than the number of any entry: stands for "no end" in a query.
_BEYOND = 2**62


class Page:
    """An open transaction whose last entry was checked, and to which entries can be added."""

    def __init__(self, book: Book, key: bytes, last: Entry | None) -> None:
        self.book = book
        self._key = key
        self._last = last

    @property
    def head(self) -> Head:
        """Length and digest of the chain as it stands."""
        assert self._last is not None
        return Head(self._last.seq, self._last.mac)

    def append(
        self,
        kind: str,
        dataset: str,
        content: dict[str, Any],
        *,
        key: str | None = None,
        about: int | None = None,
    ) -> Entry:
        """Add an entry and seal it."""
        count, previous = (0, FIRST) if self._last is None else (self._last.seq, self._last.mac)
        entry = Entry(count + 1, dataset, kind, now(), key, about, as_json(content))
        self._last = seal(entry, previous, self._key)
        self.book.append(self._last)
        return self._last

    def entries(
        self,
        dataset: str | None,
        kinds: Sequence[str | None],
        *,
        limit: int | None = None,
        before: int | None = None,
    ) -> list[Entry]:
        """The last ``limit`` entries before a number, in order, every seal checked."""
        if limit is not None and limit < 1:
            raise ValueError(f"limit must be at least 1; got {limit!r}.")
        end = _BEYOND if before is None else before
        found = [pair for kind in kinds for pair in self.book.page(dataset, kind, end, limit)]
        found.sort(key=lambda pair: pair[0].seq)
        if limit is not None:
            found = found[-limit:]
        for entry, previous in found:
            if entry.seq > 1 and previous is None:
                raise TamperError(f"entry {entry.seq - 1} of the ledger is missing.")
            if not is_sealed(entry, FIRST if previous is None else previous, self._key):
                raise TamperError(f"entry {entry.seq} of the ledger is not what was written.")
        return [entry for entry, _ in found]

    def genuine(self, entry: Entry) -> Entry:
        """The entry if its seal is right, else ``TamperError``."""
        if entry != self._last:  # that one was checked when the page was opened, or is ours
            check_seal(self.book, entry, self._key)
        return entry


@dataclass(frozen=True)
class Journal:
    """A ledger and its key, by where they lie; each use opens a transaction of its own."""

    url: str
    key_file: Path

    @contextmanager
    def writing(self) -> Iterator[Page]:
        """An exclusive transaction; the head is remembered once it is on the disk."""
        with open_store(self.url).writing() as book:
            last = book.last()
            known = keys.known_ledger(self.key_file, self.url)
            if last is None:
                page, ledger_id = self._begin(book, known)
                anchor = keys.anchor_of(self.key_file, ledger_id)
            else:
                key, ledger_id = self._identify(book, known)
                anchor = keys.anchor_of(self.key_file, ledger_id)
                seen = anchor.read()
                page = self._continue(book, key, last, seen)
                anchor.prepare(seen, page.head, expected=known is not None)
            yield page
        # Only now that the charge is on the disk: a head that is remembered for a write that was
        # undone would make the ledger look cut off.
        if known is None:
            keys.remember_ledger(self.key_file, self.url, ledger_id)
        anchor.keep(page.head)

    @contextmanager
    def reading(self) -> Iterator[Page]:
        """A consistent view, under the ledger's own key, of a ledger that is not an old copy."""
        # Before the view: a charge that comes in between makes the ledger longer than the head.
        seen = self.seen()
        with self.looking() as book:
            key, _ = self._identify(book, keys.known_ledger(self.key_file, self.url))
            last = book.last()
            assert last is not None  # there is a first
            yield self._continue(book, key, last, seen)

    @contextmanager
    def looking(self) -> Iterator[Book]:
        """The bare tables, nothing of which is checked; a ledger that is gone is named as such."""
        with ExitStack() as open_tables:
            try:
                book = open_tables.enter_context(open_store(self.url).reading())
            except MissingLedgerError:
                self._refuse_lost(keys.known_ledger(self.key_file, self.url))
                raise
            yield book

    def seen(self) -> Head | None:
        """Return the last head seen from here of the ledger that should be in this place."""
        ledger_id = keys.known_ledger(self.key_file, self.url)
        if ledger_id is None:  # never written to from here; it may have been elsewhere before
            with self.looking() as book:
                ledger_id = _id_of(book.entry(1))
        return None if ledger_id is None else keys.anchor_of(self.key_file, ledger_id).read()

    def wait_for_writers(self, seconds: float) -> None:
        """Wait until a write that was on its way is made or given up, whoever sent it."""
        open_store(self.url).wait_for_writers(seconds)

    def exists(self) -> bool:
        """Whether there is a ledger; one that was here and is gone is not taken for none."""
        found = open_store(self.url).exists()
        if not found:
            self._refuse_lost(keys.known_ledger(self.key_file, self.url))
        return found

    def _refuse_lost(self, known: str | None) -> None:
        if known is not None:
            raise TamperError(
                f"there was a ledger at {self._place} and its entries are gone. Put it back; or, "
                "if it is to be given up with all that it knows, remove "
                f"{keys.place_file(self.key_file, self.url)}."
            )

    def _begin(self, book: Book, known: str | None) -> tuple[Page, str]:
        self._refuse_lost(known)
        ledger_id = secrets.token_hex(keys.ID_BYTES)
        page = Page(book, keys.read_or_make_key(self.key_file), None)
        page.append(OPENED, "", {"id": ledger_id, "version": __version__})
        return page, ledger_id

    def _identify(self, book: Book, known: str | None) -> tuple[bytes, str]:
        """The key and the ledger's own name, which must be the one that is known in this place."""
        first = book.entry(1)
        key = keys.read_key(self.key_file)
        if first is None:
            raise TamperError(
                f"the ledger at {self._place} has lost its first entry: restore it from a copy."
            )
        if not is_sealed(first, FIRST, key):
            raise TamperError(
                f"the key in {self.key_file} is not the key of the ledger at {self._place}, or its "
                "first entry was changed."
            )
        ledger_id = str(first.content["id"])
        if known not in (None, ledger_id):
            raise TamperError(
                f"the ledger at {self._place} was exchanged for another one since it was last "
                "seen. If that is as it should be, remove "
                f"{keys.place_file(self.key_file, self.url)}."
            )
        return key, ledger_id

    def _continue(self, book: Book, key: bytes, last: Entry, seen: Head | None) -> Page:
        """Return a page after the last entry, once its seal and the head seen here are checked."""
        if seen is not None:
            then = last if seen.count == last.seq else book.entry(seen.count)
            if then is None or then.mac != seen.mac:
                raise TamperError(
                    f"the ledger at {self._place} ends at entry {last.seq}, but {seen.count} "
                    "entries were seen before, or they were others: an old copy, or one that was "
                    "cut or rewritten. Nothing is charged to it."
                )
        check_seal(book, last, key)
        return Page(book, key, last)

    @property
    def _place(self) -> str:
        return hide_password(self.url)


def _id_of(first: Entry | None) -> str | None:
    try:
        return None if first is None else str(first.content["id"])
    except (ValueError, TypeError, KeyError, TamperError):
        return None


def check_seal(book: Book, entry: Entry, key: bytes) -> None:
    """Check one entry against the digest before it."""
    previous = FIRST
    if entry.seq > 1:
        before = book.entry(entry.seq - 1)
        if before is None:
            raise TamperError(f"entry {entry.seq - 1} of the ledger is missing.")
        previous = before.mac
    if not is_sealed(entry, previous, key):
        raise TamperError(f"entry {entry.seq} of the ledger is not what was written.")


def hide_password(url: str) -> str:
    """Return a path, or a URL without its password, such that it may be printed."""
    if "://" not in url:
        return printable(url)
    from veilspan._passwords import without_password

    return printable(without_password(url))


def resolve_location(location: Any) -> str:
    """Return an absolute path or a checked URL, so that other processes mean the same ledger."""
    from veilspan._passwords import are_pairs, is_unclear

    text = str(location)
    if "://" in text:
        if is_unclear(text):
            raise LedgerError(
                "the URL of the ledger can be read in two ways: write an @, : or / that is part of "
                "a name, a password or a parameter as %40, %3A or %2F."
            )
        if not text.startswith(("postgresql://", "postgres://")):
            raise LedgerError(
                "a ledger lives in a file or behind postgresql://...; got a URL of another kind."
            )
        return text
    if are_pairs(text):
        raise LedgerError(
            "a ledger on a server is named by a URL, postgresql://user@host/database; pairs of "
            "key=value would be the name of a file."
        )
    if not text or text.endswith(("/", "\\")):
        raise LedgerError("a ledger needs the name of a file, not of a folder: budget.db, say.")
    return str(Path(text).expanduser().absolute())
