"""A dataset's account: charge, run, mark released.

    charge  ->  commit, on the disk  ->  rows are read  ->  release is recorded

A crash after the commit leaves the charge standing: nobody can know what got out. There are no
refunds. Under an *idempotency key* a release is stored, and the same fit under the same key is
given the stored release again, at no cost, instead of fresh noise.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from veilspan._html import tag
from veilspan._version import __version__
from veilspan.ledger.approvals import steps, withdrawals
from veilspan.ledger.approvals.binding import recorded_plan
from veilspan.ledger.approvals.drafts import RequestDraft
from veilspan.ledger.approvals.requests import FitRequest, described_request
from veilspan.ledger.approvals.withdrawals import Withdrawal
from veilspan.ledger.claims import claim
from veilspan.ledger.costs import cost_of
from veilspan.ledger.errors import LedgerError, LedgerWarning, TamperError
from veilspan.ledger.filters import CAP, MOST_RULES, Rule
from veilspan.ledger.names import check_name
from veilspan.ledger.receipts import Receipt, Request
from veilspan.ledger.records import (
    APPROVAL,
    CHARGE,
    DATASET,
    REFUSAL,
    RELEASE,
    REQUEST,
    SCHEMA_NOTED,
    WITHDRAWAL,
    Account,
    Entry,
    Terms,
)
from veilspan.ledger.releases import digest_of, unpack
from veilspan.ledger.seal.chain import Head
from veilspan.ledger.seal.journal import Journal, Page, hide_password
from veilspan.ledger.spending import Spending
from veilspan.ledger.terms import read_dataset, refuse_uncovered, spending_on, terms_and_rules
from veilspan.ledger.totals import Charges, charges_so_far, read_account
from veilspan.ledger.words.sentences import refuse_charge
from veilspan.ledger.words.shares import add_leader
from veilspan.privacy.plan import Plan

__all__ = ["Dataset", "Receipt", "Request"]

# What the history of a dataset is made of.
_TOLD = (DATASET, CHARGE, RELEASE, SCHEMA_NOTED, REQUEST, APPROVAL, REFUSAL, WITHDRAWAL)
# Entries of datasets that were opened in this process, by ledger, key and name.
_OPENED: dict[tuple[str, str, str], tuple[Entry, Terms, tuple[Rule, ...]]] = {}


@dataclass(frozen=True)
class Dataset:
    """A handle to a dataset's account: a value that can be copied, pickled and sent.

    It holds where the ledger is, never a connection or the key itself, so that every copy in every
    process charges the same account. Made by :meth:`veilspan.Ledger.dataset`.

    Attributes
    ----------
    url : str
        The ledger's file or URL.
    name : str
        The dataset.
    key_file : str
        Where the ledger's key is.
    idempotency_key : str or None
        See :meth:`with_key`.
    """

    url: str
    name: str
    key_file: str
    idempotency_key: str | None = None

    @property
    def journal(self) -> Journal:
        """The ledger's journal, opened anew by each use; a handle holds no connection."""
        return Journal(self.url, Path(self.key_file))

    def with_key(self, key: str) -> Dataset:
        """The same account, for one release with a name of its own.

        The first fit is charged and its release stored. The same fit again (class, parameters,
        shape of the table) returns the stored release, bit for bit, and costs nothing: rows are not
        looked at. While the first one runs, in whatever thread or process of this machine (with
        PostgreSQL, of any), others wait for it. Another fit under the same key is refused, and so
        is a fit whose first attempt broke off after its charge: that is spent, take a new key.

        Parameters
        ----------
        key : str
            For example ``"figure-3"``. One key is one release: do not give it to a search.
        """
        return replace(self, idempotency_key=check_name(key, "an idempotency key"))

    def terms(self) -> Terms:
        """What may be spent on the dataset; it was fixed when the dataset was made."""
        return self._open()[1]

    def _open(self) -> tuple[Entry, Terms, tuple[Rule, ...]]:
        """The entry of the dataset, which never changes, and what it says."""
        if self._place not in _OPENED:
            with self.journal.reading() as page:
                entry = read_dataset(page, self.name)
            _OPENED[self._place] = (entry, *terms_and_rules(entry))
        return _OPENED[self._place]

    @property
    def stored_name(self) -> str:
        """The name as it is spelled in the ledger."""
        return self._open()[0].dataset

    @property
    def _place(self) -> tuple[str, str, str]:
        return self.url, self.key_file, self.name

    def spent(self) -> Spending:
        """What was spent and what is left, checked against sealed entries, in constant time."""
        with self.journal.reading() as page:
            return spending_on(page, read_dataset(page, self.name))

    def left(self, delta: float | None = None) -> float:
        """Largest epsilon of a Gaussian fit that still fits, 0 if none.

        Parameters
        ----------
        delta : float, optional
            Of that fit; by default the dataset's.

        Examples
        --------
        ``PCA(epsilon=handle.left(), delta=handle.terms().delta, ledger=handle)`` spends the rest.
        """
        return self.spent().left(delta)

    def left_for(self, plan: Plan) -> float:
        """Largest epsilon of a fit of a plan's kind that still fits, 0 if none.

        Parameters
        ----------
        plan : Plan
            Of such a fit, at whatever epsilon: ``estimator.plan(...)``, or ``plan_``.
        """
        return self.spent().left_for(plan)

    def history(self, *, limit: int | None = None, before: int | None = None) -> list[Entry]:
        """Entries of this dataset, in order; the seal of each is checked.

        Parameters
        ----------
        limit : int, optional
            Only the last ones. A page takes the same time however long the record is.
        before : int, optional
            Only entries before this number: the next page back is before the first of this one.
        """
        with self.journal.reading() as page:
            name = read_dataset(page, self.name).dataset
            return page.entries(name, _TOLD, limit=limit, before=before)

    def entry(self, number: int) -> Entry | None:
        """One entry of this dataset, its seal checked; None if it is none of them."""
        with self.journal.reading() as page:
            name = read_dataset(page, self.name).dataset
            found = page.book.entry(number)
            return None if found is None or found.dataset != name else page.genuine(found)

    def requests(self) -> list[FitRequest]:
        """What people asked of this dataset and what became of it, newest first, seals checked."""
        with self.journal.reading() as page:
            found = steps.read_requests(page, read_dataset(page, self.name).dataset)
        return list(found.values())[::-1]

    def request(self, request_id: str) -> FitRequest:
        """One of them by its id; ``RequestError`` if there is none."""
        with self.journal.reading() as page:
            return steps.read_request(page, read_dataset(page, self.name).dataset, request_id)

    def ask(self, draft: RequestDraft) -> FitRequest:
        """Ask for a fit: an entry that others can approve or refuse. Charges nothing."""
        opened, terms, _ = self._open()
        with self.journal.writing() as page:
            return steps.ask(page, terms, opened.dataset, draft)

    def edit_request(self, request_id: str, draft: RequestDraft, by: str) -> FitRequest:
        """Ask for something else under the same id: the next version, which nobody approved yet."""
        opened, terms, _ = self._open()
        with self.journal.writing() as page:
            past = steps.read_request(page, opened.dataset, request_id)
            return steps.edit(page, terms, past, draft, by)

    def approve(
        self,
        request_id: str,
        *,
        by: str,
        role: str,
        note: str = "",
        solo: bool = False,
        version: int | None = None,
    ) -> FitRequest:
        """Approve a request: what was asked, and nothing else, may then be charged once.

        Parameters
        ----------
        request_id : str
            Which.
        by, role : str
            Who, and as what: an ``"officer"``, and not the person who asked.
        note : str
            Words for the record.
        solo : bool
            Whether there is one person only, who may then approve what they asked. It is recorded,
            and a release says that both were the same.
        version : int, optional
            What was looked at: refused if the request was edited since.
        """
        said = {"by": by, "role": role, "note": note, "solo": solo, "version": version}
        return self._decide(request_id, steps.approve, said)

    def refuse(
        self, request_id: str, *, by: str, role: str, reason: str, version: int | None = None
    ) -> FitRequest:
        """Refuse a request, or take an approval back before anything was charged.

        Parameters
        ----------
        request_id : str
            Which.
        by, role : str
            Who, and as what: an ``"officer"``, or the person who asked, who takes it back.
        reason : str
            Why, for whoever asked.
        version : int, optional
            What was looked at: refused if the request was edited since.
        """
        said = {"by": by, "role": role, "reason": reason, "version": version}
        return self._decide(request_id, steps.refuse, said)

    def _decide(self, request_id: str, decide: Any, said: dict[str, Any]) -> FitRequest:
        name = self.stored_name
        with self.journal.writing() as page:
            decide(page, steps.read_request(page, name, request_id), **said)
            return steps.read_request(page, name, request_id)

    def record_schema(self, schema_digest: str, *, by: str) -> Entry:
        """Record by which schema the dataset is read from now on; returns the entry."""
        name = self.stored_name
        with self.journal.writing() as page:
            return steps.note_schema(page, name, schema_digest, by)

    def withdraw(self, charge: int, *, by: str, reason: str) -> Withdrawal:
        """Tell everybody not to use a release any more; what it cost stays spent.

        Parameters
        ----------
        charge : int
            The number of its charge, as ``privacy_.ledger["entry"]`` and the history say it.
        by, reason : str
            Who, and why, for the record. Whoever comes second finds what the first one said.
        """
        name = self.stored_name
        with self.journal.writing() as page:
            return withdrawals.withdraw(page, name, charge, by, reason)

    def withdrawal(self, charge: int) -> Withdrawal | None:
        """Who withdrew the release of a charge, when and why; None if nobody did."""
        with self.journal.reading() as page:
            name = read_dataset(page, self.name).dataset
            return withdrawals.find_withdrawal(page, name, charge)

    def check(self, request: Request) -> None:
        """Refuse what this dataset never covers, whatever is left. Charges nothing."""
        refuse_uncovered(self.terms(), request)

    def charge(self, request: Request) -> Receipt:
        """Charge a fit, or find the release that it may have again.

        Returns once the charge is on the disk. Raises ``BudgetExceededError`` if it does not fit.
        """
        opened, terms, rules = self._open()
        refuse_uncovered(terms, request)
        # Slow for sampled plans, so before the ledger is locked; terms and rules never change.
        costs = (0,) * MOST_RULES if request.test else cost_of(request.plan, rules)
        if self.idempotency_key is None:
            return self._charge(request, costs)
        # Whoever works on this release already is waited for, with nothing locked.
        held = claim(self.url, opened.dataset, self.idempotency_key)
        try:
            receipt = self._charge(request, costs)
        except BaseException:
            held.end()
            raise
        if receipt.stored is not None:
            held.end()
            return receipt
        return replace(receipt, claim=held)

    def _charge(self, request: Request, costs: tuple[int, ...]) -> Receipt:
        """Check, spend and record in one exclusive transaction: all of it stands, or nothing."""
        opened, terms, rules = self._open()
        name = opened.dataset  # as it is spelled in the ledger
        with self.journal.writing() as page:
            if self.idempotency_key is not None:
                earlier = page.book.charge_with_key(name, self.idempotency_key)
                if earlier is not None:
                    return self._replay(page, page.genuine(earlier), request)
            if page.book.dataset_entry(name) != opened:
                _OPENED.pop(self._place, None)
                raise TamperError(
                    f"the terms of {name!r} are not what they were when this process first read "
                    "them. Nothing was charged; run verify."
                )
            asked = steps.check_approved(page, terms, name, self.idempotency_key, request)
            so_far = charges_so_far(page, name)
            before = read_account(page, opened, so_far)
            spent = page.book.spend(name, costs)
            told = {} if asked is None else {"request": described_request(asked)}
            entry = self._record(page, request, costs, so_far, before, told) if spent else None
        if entry is None:  # what would still fit is searched for when others may write again
            raise refuse_charge(terms, rules, before, costs, request.plan)
        head = Head(entry.seq, entry.mac)
        return Receipt(self, entry.seq, head, bool(request.test), request=told.get("request"))

    def _record(
        self,
        page: Page,
        request: Request,
        costs: tuple[int, ...],
        so_far: Charges,
        before: Account,
        told: dict[str, Any],
    ) -> Entry:
        name = self.stored_name
        total = [min(CAP, past + cost) for past, cost in zip(so_far.spent, costs)]
        plan = recorded_plan(request.plan)
        content = {
            "method": plan["method"],
            "epsilon": plan["epsilon"],
            "delta": plan["delta"],
            "plan": plan,
            "question": request.question,
            "test": request.test,
            "unit": request.unit,
            **({} if request.schema is None else {"schema": request.schema.to_dict()}),
            "costs": list(costs),
            "spent": total,
            "led": list(add_leader(so_far.led, before.allowed, total)),
            "charges": so_far.charges + 1,
            "tests": so_far.tests + bool(request.test),
            "version": __version__,
            **told,
        }
        return page.append(CHARGE, name, content, key=self.idempotency_key)

    def _replay(self, page: Page, charge: Entry, request: Request) -> Receipt:
        key = self.idempotency_key
        if charge.content["question"] != request.question:
            raise LedgerError(
                f"the key {key!r} belongs to entry {charge.seq}, another fit (class, parameters or "
                "shape of the table differ). One key is one release: take a new key."
            )
        released = page.book.release_of(charge.seq)
        if released is None:
            raise LedgerError(
                f"the fit under the key {key!r} was charged (entry {charge.seq}) and never "
                "recorded as released: it broke off, or still runs. What was charged stays spent; "
                "take a new key."
            )
        payload = page.book.payload(released.seq)
        told = page.genuine(released).content["payload"]
        if told is None:
            raise LedgerError(f"the release under the key {key!r} was not stored.")
        if payload is None or digest_of(payload) != told:
            raise TamperError(f"the stored release of entry {released.seq} was changed or lost.")
        withdrawn = withdrawals.find_withdrawal(page, charge.dataset, charge.seq)
        if withdrawn is not None:
            warnings.warn(f"the release under the key {key!r} was withdrawn. "
                          f"{withdrawn.describe()}", LedgerWarning, stacklevel=2)  # fmt: skip
        head = Head(charge.seq, charge.mac)
        told = charge.content.get("request")
        test = bool(charge.content["test"])
        return Receipt(self, charge.seq, head, test, unpack(payload), request=told)

    def _repr_html_(self) -> str:
        """The account as it stands, or, where it cannot be read, the handle as text."""
        try:
            return self.spent()._repr_html_()
        except (LedgerError, OSError):
            return str(tag("code", repr(self)))

    def __repr__(self) -> str:
        key = "" if self.idempotency_key is None else f", key {self.idempotency_key!r}"
        return f"Dataset({self.name!r} in {hide_password(self.url)}{key})"
