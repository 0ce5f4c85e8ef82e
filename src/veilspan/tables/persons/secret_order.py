r"""Coins of people and of their rows: a keyed function of the id, so that nobody's hang on others.

A key is drawn for every fit and forgotten with it. A person's *mark* is BLAKE2b of her id under the
key, 128 bits; the *coin* of her j-th row is SipHash-2-4 (Aumasson & Bernstein 2012) of mark and j
under another. Both are pseudorandom functions: to whoever does not know the key, marks of different
people and coins of different rows are independent and uniform. So

* the order of marks is a uniformly random order of people that does not follow from their ids,
  their rows or the file: which people are cut from too many nobody can tell, nor choose by their
  id;
* coins of one person stay what they are, whatever other people's rows there are: the coupling of
  the proofs in :mod:`veilspan.tables.persons.gathering` is the one of equal keys.

Two people share a mark with probability below 2^-88 among a million of them; they would be one
unit, which protects both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

#: Rows whose coins are made in one go: all words of the state stay in the cache of a core.
_BLOCK = 16_384
_U = np.uint64


@dataclass(frozen=True)
class PersonCoins:
    """The secret of one walk through a table of people.

    Attributes
    ----------
    key : bytes
        32 bytes; whoever knows them can tell who was cut and which rows were kept.
    """

    key: bytes = field(repr=False)

    @classmethod
    def draw(cls, coins: np.random.Generator) -> PersonCoins:
        """A fresh key from a source of coins."""
        return cls(coins.bytes(32))

    def mark_people(self, ids: Sequence[str]) -> np.ndarray:
        """Marks of ids, of shape (n, 2); an empty id has the mark 0, 0."""
        marks = np.zeros((len(ids), 2), dtype=np.uint64)
        raw = b"".join(self._mark(name) for name in ids)
        if raw:
            marks[:] = np.frombuffer(raw, dtype=">u8").reshape(-1, 2)
        return marks

    def _mark(self, name: str) -> bytes:
        if not name:
            return bytes(16)
        text = name.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, key=self.key, digest_size=16, person=b"people").digest()

    def toss_for_rows(self, marks: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """One coin of 64 bits for each row, by the mark of its person and its number among hers."""
        secret = hashlib.blake2b(b"rows", key=self.key, digest_size=16).digest()
        first, second = np.frombuffer(secret, dtype="<u8").astype(np.uint64)
        coins = np.empty(len(numbers), dtype=np.uint64)
        for start in range(0, len(numbers), _BLOCK):
            part = slice(start, start + _BLOCK)
            words = (marks[part, 0], marks[part, 1], numbers[part].astype(np.uint64))
            coins[part] = sip_hash(first, second, words)
        return coins


def sip_hash(first: np.uint64, second: np.uint64, words: Sequence[np.ndarray]) -> np.ndarray:
    """SipHash-2-4 of messages of 64-bit words, one message an entry of the arrays."""
    with np.errstate(over="ignore"):
        size = len(words[0])
        v = [
            np.full(size, secret ^ constant, dtype=np.uint64)
            for secret, constant in (
                (first, _U(0x736F6D6570736575)),
                (second, _U(0x646F72616E646F6D)),
                (first, _U(0x6C7967656E657261)),
                (second, _U(0x7465646279746573)),
            )
        ]
        length = np.full(size, _U((8 * len(words)) % 256) << _U(56), dtype=np.uint64)
        for word in (*words, length):
            v[3] ^= word
            _mix(v, 2)
            v[0] ^= word
        v[2] ^= _U(0xFF)
        _mix(v, 4)
        return v[0] ^ v[1] ^ v[2] ^ v[3]


def _mix(v: list[np.ndarray], rounds: int) -> None:
    """Rounds of SipHash, in place."""
    for _ in range(rounds):
        v[0] += v[1]
        v[2] += v[3]
        v[1], v[3] = _turn(v[1], 13), _turn(v[3], 16)
        v[1] ^= v[0]
        v[3] ^= v[2]
        v[0] = _turn(v[0], 32)
        v[2] += v[1]
        v[0] += v[3]
        v[1], v[3] = _turn(v[1], 17), _turn(v[3], 21)
        v[1] ^= v[2]
        v[3] ^= v[0]
        v[2] = _turn(v[2], 32)


def _turn(word: np.ndarray, bits: int) -> np.ndarray:
    return (word << _U(bits)) | (word >> _U(64 - bits))
