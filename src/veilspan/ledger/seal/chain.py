"""Tamper evidence: an entry carries a keyed digest of itself and, through the last, of all before.

    mac_n = HMAC-SHA256(key, [n, dataset, kind, time, key, about, body, mac_(n-1)])

Whoever can write to the database but has no key cannot edit, insert, remove or reorder entries
unseen. Entries cut off at the end leave a valid, shorter chain: that is seen by comparing with a
*head*, the number of entries and the last digest at some time. Every release carries one, and the
last one seen is remembered beside the key.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, replace
from functools import lru_cache

from veilspan.ledger.records import Entry, as_json

#: What stands for the digest before the first entry.
FIRST = "0" * 64


@dataclass(frozen=True)
class Head:
    """How long the chain was, and its last digest: written ``count:mac``."""

    count: int
    mac: str

    def __str__(self) -> str:
        return f"{self.count}:{self.mac}"

    @classmethod
    def parse(cls, text: str) -> Head:
        """Read a head as it prints itself, ``count:mac``; ValueError for anything else."""
        count, _, mac = text.strip().partition(":")
        whole = count.isascii() and count.isdigit() and len(count) <= 18  # within 64 bits
        if not whole or len(mac) != 64 or not set(mac) <= set("0123456789abcdef"):
            raise ValueError("a head reads count:digest, as printed in a release.")
        return cls(int(count), mac)


def seal(entry: Entry, previous: str, key: bytes) -> Entry:
    """Return the entry with its digest, as the one after the entry of digest ``previous``."""
    return replace(entry, mac=digest(entry, previous, key))


@lru_cache(maxsize=256)  # pure, and the last entries are looked at again by every charge
def digest(entry: Entry, previous: str, key: bytes) -> str:
    """Keyed digest of an entry and of the digest before it."""
    fields = [
        entry.seq,
        entry.dataset,
        entry.kind,
        entry.time,
        entry.key,
        entry.about,
        entry.body,
        previous,
    ]
    # As a JSON list, so that no two entries have the same text: ("ab", "c") is not ("a", "bc").
    return hmac.new(key, as_json(fields).encode(), hashlib.sha256).hexdigest()


def is_sealed(entry: Entry, previous: str, key: bytes) -> bool:
    """Whether an entry carries the digest that it should."""
    try:
        return hmac.compare_digest(entry.mac, digest(entry, previous, key))
    except (TypeError, ValueError):  # a damaged file may hold anything, bytes for text among it
        return False
