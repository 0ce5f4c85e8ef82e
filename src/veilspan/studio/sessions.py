"""Who is speaking: links that work once, and sessions behind a cookie.

Both are random texts of 256 bits of which only digests are kept, so that a look into memory or a
comparison that stops early tells nothing that could be sent. A session is made anew by every
entrance: what a browser brought along is never taken over.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from dataclasses import dataclass, field

#: Seconds after which a session that nobody used is over: a working day.
IDLE = 12 * 3600.0
#: Sessions that are kept at most; the ones unused for longest go first.
MOST_SESSIONS = 1000
#: Links that wait to be used at most.
MOST_LINKS = 100
SOLO = "solo"


@dataclass
class Session:
    """One browser of one person.

    Attributes
    ----------
    person, role : str
        Who it is, and what they may do: steward, analyst, officer, or solo for all of it.
    stamp : str
        Of the account when it began; another password or role ends it.
    csrf : str
        Stands in every form; a page of somebody else cannot know it.
    notices : list of (str, str)
        What the next page says once: a kind (done, problem) and words.
    seen : float
        When it was last used.
    """

    person: str
    role: str
    stamp: str = ""
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    notices: list[tuple[str, str]] = field(default_factory=list)
    seen: float = field(default_factory=time.monotonic)

    def may(self, *roles: str) -> bool:
        """Whether this person has one of the roles; whoever is alone has all."""
        return self.role == SOLO or self.role in roles

    def say(self, words: str, kind: str = "done") -> None:
        """Have the next page say something, once."""
        self.notices.append((kind, words))

    def take_notices(self) -> list[tuple[str, str]]:
        """What is to be said now, and not again."""
        said, self.notices = self.notices, []
        return said

    def knows(self, token: str) -> bool:
        """Whether a form carries the token of this session."""
        return hmac.compare_digest(self.csrf.encode(), token.encode("utf-8", "replace"))


class Sessions:
    """All sessions by the digest of their cookie."""

    def __init__(self) -> None:
        self._held: dict[str, Session] = {}
        self._lock = threading.Lock()

    def start(self, person: str, role: str, stamp: str = "") -> str:
        """Begin a session; return the value of its cookie, which is kept nowhere else."""
        cookie = secrets.token_urlsafe(32)
        with self._lock:
            self._drop_old()
            self._held[_digest(cookie)] = Session(person, role, stamp)
        return cookie

    def find(self, cookie: str | None) -> Session | None:
        """The session of a cookie, or None if it is over or never was."""
        if not cookie:
            return None
        with self._lock:
            session = self._held.get(_digest(cookie))
            if session is None:
                return None
            now = time.monotonic()
            if now - session.seen > IDLE:
                del self._held[_digest(cookie)]
                return None
            session.seen = now
            return session

    def end(self, cookie: str | None) -> None:
        """Forget a session; its cookie is worth nothing from now on."""
        with self._lock:
            self._held.pop(_digest(cookie or ""), None)

    def end_all_of(self, person: str) -> None:
        """Forget every session of a person, whose password or role has changed."""
        with self._lock:
            self._held = {k: s for k, s in self._held.items() if s.person != person}

    def _drop_old(self) -> None:
        oldest = sorted(self._held, key=lambda key: self._held[key].seen)
        for key in oldest[: max(0, len(oldest) - MOST_SESSIONS + 1)]:
            del self._held[key]


class Links:
    """Tokens of links that let somebody in, each once."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._lock = threading.Lock()

    def make(self) -> str:
        """A token that works once."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._waiting = [*self._waiting[1 - MOST_LINKS :], _digest(token)]
        return token

    def redeem(self, token: str) -> bool:
        """Use a token up; False if it was used before, or never made."""
        found = _digest(token)
        with self._lock:
            matches = [held for held in self._waiting if hmac.compare_digest(held, found)]
            for held in matches:
                self._waiting.remove(held)
        return bool(matches)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
