"""The studio as one value: its settings, who is in, the ledger, and its folder.

What lasts is the ledger and the folder; sessions end with the process.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from veilspan.studio.errors import Refusal
from veilspan.studio.sessions import Links, Session, Sessions
from veilspan.studio.settings import Settings, Table
from veilspan.studio.warming import Warming

if TYPE_CHECKING:
    from veilspan.ledger.dataset import Dataset
    from veilspan.ledger.ledger import Ledger
    from veilspan.ledger.seal.verification import LedgerReport
    from veilspan.studio.accounts import Accounts
    from veilspan.studio.foresight import Foresight
    from veilspan.studio.jobs import JobQueue
    from veilspan.studio.releases import Records

#: Folders inside the studio's own, readable by its owner only.
SCHEMAS, DRAFTS, JOBS, CURVES = "schemas", "drafts", "jobs", "curves"


class Studio:
    """Everything that pages share; safe to use from several threads.

    Parameters
    ----------
    settings : Settings
        What the studio was told.
    port : int
        Where it listens, once that is known.
    """

    def __init__(self, settings: Settings, port: int = 0) -> None:
        self.settings = settings
        self.port = port
        self.sessions, self.links, self.warming = Sessions(), Links(), Warming()
        self._lock = threading.Lock()
        self._drafts: WeakValueDictionary[str, Any] = WeakValueDictionary()
        self._verified: tuple[Any, LedgerReport] | None = None

    @property
    def cookie_name(self) -> str:
        """Cookies do not know ports, so that each studio of a machine needs its own name."""
        return "__Host-veilspan" if self.settings.url else f"veilspan-{self.port}"

    def lock_draft(self, name: str) -> AbstractContextManager[Any]:
        """A lock for whoever writes a draft: one waits for the ledger, others write theirs."""
        with self._lock:
            # Kept here as long as somebody uses it, and forgotten then.
            return self._drafts.setdefault(name, threading.RLock())

    @property
    def how_to_enter(self) -> str:
        """What somebody without a session is told."""
        if self.settings.team:
            return "You are not logged in, or have been away for long. Please log in."
        return (
            "Each link works once, and this browser holds no session. The terminal in which the "
            "studio runs gives a new link when you press Enter there."
        )

    @cached_property
    def folder(self) -> Path:
        """The studio's folder, made for its owner only if it is not there."""
        folder = self.settings.folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in (SCHEMAS, DRAFTS, JOBS, CURVES):
            (folder / name).mkdir(exist_ok=True, mode=0o700)
        return folder

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of all datasets."""
        from veilspan.ledger import Ledger

        return Ledger(self.settings.ledger, self.settings.key)

    def table(self, name: str) -> Table:
        """A table by its name; 404 for names that the studio was not told."""
        found = self.settings.tables.get(name)
        if found is None:
            raise Refusal(404, "The studio knows no dataset of this name.", link=True)
        return found

    def account(self, name: str) -> Dataset | None:
        """The account of a dataset in the ledger; None if no budget was opened yet."""
        self.table(name)
        if not self.ledger.journal.exists() or name not in self.ledger.datasets():
            return None
        return self.ledger.dataset(name)

    @cached_property
    def foresight(self) -> Foresight:
        """What is foretold in the background."""
        from veilspan.studio.foresight import Foresight

        return Foresight(self)

    @cached_property
    def accounts(self) -> Accounts:
        """Who may come in, where several people do."""
        from veilspan.studio.accounts import FILE, Accounts

        return Accounts(self.folder / FILE)

    def find_session(self, cookie: str | None) -> Session | None:
        """The session of a cookie; None if it is over, or its account has changed since."""
        session = self.sessions.find(cookie)
        if session is None or not self.settings.team:
            return session
        account = self.accounts.find(session.person)
        same = account is not None and (account.stamp, account.role) == (
            session.stamp,
            session.role,
        )
        if not same:
            self.sessions.end(cookie)
        return session if same else None

    @cached_property
    def queue(self) -> JobQueue:
        """The fits that run or wait, one at a time."""
        from veilspan.studio.jobs import JobQueue

        settings = self.settings
        return JobQueue(self.folder, settings.ledger, settings.key, settings.tables)

    @cached_property
    def records(self) -> Records:
        """Audits and withdrawals of releases."""
        from veilspan.studio.releases import Records

        return Records(self)

    def verify_ledger(self) -> LedgerReport:
        """Whether every entry is what was written; checked again when there are more of them."""
        head = self.ledger.head()
        if self._verified is None or self._verified[0] != head:
            self._verified = (head, self.ledger.verify())
        return self._verified[1]
