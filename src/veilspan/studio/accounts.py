"""Who may come into a studio of several people: names, roles and passwords in one file.

A password is kept as its scrypt digest with a salt of its own. After some wrong ones in a row an
account waits, longer each time; right ones are not taken meanwhile. A name that nobody has takes
as long to refuse as a wrong password. The file is replaced whole, under a lock, and is readable by
its owner only: whoever can read or write it can pass for anybody.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veilspan._files import IrregularFileError, only_writer, read_regular, write_whole
from veilspan.ledger.names import check_name, fold_name

#: Name of the file in a studio's folder.
FILE = "accounts.json"
ROLES = ("steward", "analyst", "officer")
#: scrypt's cost: 32 MiB and some 0.1 s a guess, as OWASP recommends for logins; kept in the file
#: with each password, so that a later version may raise it.
COST = {"n": 2**15, "r": 8, "p": 1}
_MEMORY = 2**26
#: Wrong passwords in a row after which an account waits, and for how many seconds at first and at
#: most: 40 guesses a day at the end, and nobody is locked out for longer than a coffee.
FREE_FAILURES, FIRST_WAIT, MOST_WAIT = 5, 30.0, 15 * 60.0
#: Shortest and longest passwords, in characters.
LEAST_LENGTH, MOST_LENGTH = 12, 1000
#: Seconds for which a link to choose a new password works.
RESET_LASTS = 24 * 3600.0
_MOST_BYTES = 2**24
_FORMAT = 1


class AccountsError(ValueError):
    """Accounts cannot be changed or read like this; the words say what to do."""


@dataclass(frozen=True)
class Account:
    """A person of the studio.

    Attributes
    ----------
    name : str
        As entries of the ledger name them.
    role : {"steward", "analyst", "officer"}
        What they may do.
    stamp : str
        Changes with the password: a session that began under another one is over.
    has_password : bool
        False until the link of a new account was used.
    """

    name: str
    role: str
    stamp: str
    has_password: bool = True


class Accounts:
    """The accounts of a file; several processes may use the same one.

    Parameters
    ----------
    path : Path
        Made with the first account.
    clock : callable
        Seconds since 1970.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self._clock = clock

    def add(self, name: str, role: str, password: str | None = None) -> Account:
        """Add a person; without a password they choose one by :meth:`reset_link`."""
        name = check_name(name, "a person's name")
        _check_role(role)
        person: dict[str, Any] = {"name": name, "role": role, "failures": 0, "until": 0.0}
        person |= {"stamp": secrets.token_hex(8)}
        if password is not None:
            person |= _keep(check_password(password, name))
        with self._changing() as people:
            if fold_name(name) in people:
                raise AccountsError(f"there is an account {name!r} already; names differ by more.")
            people[fold_name(name)] = person
        return _account(person)

    def verify(self, name: str, password: str) -> Account | None:
        """The account if the password is right and it does not wait; None otherwise.

        Whether the name exists, the account waits or the password is wrong cannot be told apart,
        neither by the answer nor by the time that it takes.
        """
        place = fold_name(name) if isinstance(name, str) else ""
        person = self._read().get(place)
        kept = _NOBODY if person is None or "digest" not in person else person
        right = _is_right(kept, password) and kept is not _NOBODY
        # The file is written for names that nobody has as well. It is read again, since others may
        # have tried meanwhile.
        with self._changing() as people:
            now, current = self._clock(), people.get(place)
            if person is None or current is None or current.get("digest") != person.get("digest"):
                return None
            if now < current["until"]:
                return None
            if right:
                current |= {"failures": 0, "until": 0.0}
                return _account(current)
            current["failures"] += 1
            past = current["failures"] - FREE_FAILURES
            if past >= 0:
                current["until"] = now + min(MOST_WAIT, FIRST_WAIT * 2.0 ** min(past, 30))
        return None

    def set_password(self, name: str, password: str) -> Account:
        """Give a person another password; their sessions and links are over."""
        check_password(password, name)
        kept = _keep(password)
        with self._changing() as people:
            person = _find(people, name)
            _renew(person, kept)
            return _account(person)

    def reset_link(self, name: str) -> str:
        """A text that lets a person choose a password once, within a day; earlier ones are void.

        The password until now and all sessions are over at once: it may be in wrong hands. Whoever
        has the text can pass for the person: hand it over in a way that reaches nobody else.
        """
        token = secrets.token_urlsafe(32)
        with self._changing() as people:
            person = _find(people, name)
            for kept in ("salt", *COST, "digest"):
                person.pop(kept, None)
            person["stamp"] = secrets.token_hex(8)
            person["reset"] = {"digest": _digest(token), "until": self._clock() + RESET_LASTS}
        return token

    def use_reset(self, token: str, password: str) -> Account:
        """Choose a password by a link; refused if the link is void, used or too old."""
        with self._changing() as people:
            person = self._by_token(people, token)
            check_password(password, person["name"])
            _renew(person, _keep(password))
            return _account(person)

    def whose_link(self, token: str) -> str:
        """The name of the person for whom a link is, without using it up."""
        return str(self._by_token(self._read(), token)["name"])

    def find(self, name: str) -> Account | None:
        """A person by name; None if there is none, for example since they were removed."""
        person = self._read().get(fold_name(name))
        return None if person is None else _account(person)

    def list(self) -> list[Account]:
        """All people, in the order of their names."""
        return sorted(map(_account, self._read().values()), key=lambda each: fold_name(each.name))

    def remove(self, name: str) -> None:
        """Remove an account. What the person asked and approved stays in the ledger."""
        with self._changing() as people:
            _find(people, name)
            del people[fold_name(name)]

    def _by_token(self, people: dict[str, Any], token: str) -> dict[str, Any]:
        digest, now, found = _digest(token), self._clock(), None
        for person in people.values():  # all of them, so that the time does not tell which
            reset = person.get("reset")
            if reset is not None and hmac.compare_digest(reset["digest"], digest):
                found = person if now < reset["until"] else None
        if found is None:
            raise AccountsError("this link was used, is older than a day, or was replaced.")
        return found

    def _read(self) -> dict[str, Any]:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return {}
        if os.name == "posix" and status.st_mode & 0o077:
            raise AccountsError(f"{self.path} is open to others than its owner; chmod 600 it.")
        try:
            found = json.loads(read_regular(self.path, _MOST_BYTES))
            people = found["people"]
            if found["format"] != _FORMAT or not isinstance(people, dict):
                raise ValueError("another format")
        except (IrregularFileError, ValueError, KeyError, TypeError):
            # Never taken for an empty one: anybody could then make themselves an officer.
            raise AccountsError(
                f"{self.path} was damaged, or written by a later version: put a copy back."
            ) from None
        return people

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """The people, to be changed while nobody else does; written if that ends well."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with only_writer(self.path.parent):
            people = self._read()
            yield people
            text = json.dumps({"format": _FORMAT, "people": people}, indent=1).encode()
            write_whole(self.path, lambda stream: stream.write(text), 0o600)


def check_password(password: Any, name: str) -> str:
    """Return a password that may be used, or say what is wrong with it."""
    if not isinstance(password, str):
        raise TypeError("a password is text.")
    plain = _normal(password)
    if not LEAST_LENGTH <= len(plain) <= MOST_LENGTH:
        raise AccountsError(
            f"a password has at least {LEAST_LENGTH} characters: four words that do not belong "
            "together are easy to keep in mind."
        )
    if len(set(plain)) < 5 or fold_name(name) in fold_name(plain):
        raise AccountsError("this password is easily guessed: take one without your name.")
    return password


def _check_role(role: Any) -> None:
    if role not in ROLES:
        raise AccountsError(f"a role is one of {', '.join(ROLES)}; got {role!r}.")


def _find(people: dict[str, Any], name: str) -> dict[str, Any]:
    found = people.get(fold_name(name))
    if found is None:
        raise AccountsError(f"there is no account {name!r}.")
    person: dict[str, Any] = found
    return person


def _renew(person: dict[str, Any], kept: dict[str, Any]) -> None:
    person.pop("reset", None)
    person |= {**kept, "failures": 0, "until": 0.0, "stamp": secrets.token_hex(8)}


def _account(person: dict[str, Any]) -> Account:
    return Account(person["name"], person["role"], person["stamp"], "digest" in person)


def _normal(password: str) -> str:
    """One spelling for what keyboards send differently."""
    return unicodedata.normalize("NFKC", password)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _keep(password: str) -> dict[str, Any]:
    kept: dict[str, Any] = {"salt": secrets.token_hex(16), **COST}
    return {**kept, "digest": _scrypt(kept, password)}


def _scrypt(kept: dict[str, Any], password: str) -> str:
    plain = _normal(password)[: MOST_LENGTH + 1].encode("utf-8", "surrogatepass")
    salt, cost = bytes.fromhex(kept["salt"]), {name: kept[name] for name in COST}
    return hashlib.scrypt(plain, salt=salt, **cost, maxmem=_MEMORY, dklen=32).hex()


def _is_right(kept: dict[str, Any], password: Any) -> bool:
    given = password if isinstance(password, str) else ""
    return hmac.compare_digest(_scrypt(kept, given), kept["digest"])


#: Stands for a name that nobody has: as costly to compare with, and never right.
_NOBODY: dict[str, Any] = {"salt": "00" * 16, **COST, "digest": "00" * 32}
