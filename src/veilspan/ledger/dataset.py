"""A dataset's account: charge, run, mark released.

    charge  ->  commit, on the disk  ->  rows are read  ->  release is recorded

A crash after the commit leaves the charge standing: nobody can know what got out. There are no
refunds. Under an *idempotency key* a release is stored, and the same fit under the same key is
given the stored release again, at no cost, instead of fresh noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from veilspan._version import __version__
from veilspan.ledger.chain import Head
from veilspan.ledger.costs import cost_of
from veilspan.ledger.errors import LedgerError, TamperError
from veilspan.ledger.filters import MOST_RULES, Rule
from veilspan.ledger.journal import Journal, Page, shown
from veilspan.ledger.records import CHARGE, RELEASE, Account, Entry, Terms, as_json, check_name
from veilspan.ledger.releases import digest_of, pack, unpack
from veilspan.ledger.spending import Spending, refusal
from veilspan.ledger.terms import spending_on, terms_and_rules
from veilspan.privacy.plan import Plan

# Entries of datasets that were opened in this process, by ledger, key and name.
_OPENED: dict[tuple[str, str, str], tuple[Entry, Terms, tuple[Rule, ...]]] = {}


@dataclass(frozen=True)
class Request:
    """What a fit asks of its dataset, before any row is read.

    Attributes
    ----------
    plan : Plan
        What it will ask and spend.
    question : str
        Digest of class, parameters and plan (:func:`veilspan.ledger.releases.question_of`).
    test : str
        Why the release will not be private (a seed, no noise, a tape); empty if it will be.
    """

    plan: Plan
    question: str = ""
    test: str = ""


@dataclass(frozen=True)
class Receipt:
    """A charge that is on the disk.

    Attributes
    ----------
    dataset : Dataset
        Whose account.
    entry : int
        Number of the charge.
    head : Head
        Of the chain, with the charge as its last entry.
    test : bool
        Whether it was recorded as a test, at no cost.
    stored : mapping or None
        The release to give out again, if this was asked before under its key.
    """

    dataset: Dataset
    entry: int
    head: Head
    test: bool = False
    stored: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def describe(self) -> dict[str, Any]:
        """JSON-ready: for the statement of the release."""
        described = {"dataset": self.dataset.name, "entry": self.entry, "head": str(self.head)}
        return {**described, "test": True} if self.test else described

    def release(
        self, statement: Mapping[str, Any], attributes: Mapping[str, Any] | None = None
    ) -> Head:
        """Record the release; its attributes are stored if the charge has a key."""
        keyed = self.dataset.idempotency_key is not None and attributes is not None
        payload = pack(attributes) if keyed and attributes is not None else None
        content = {
            "statement": dict(statement),
            "payload": None if payload is None else digest_of(payload),
        }
        with self.dataset.journal.writing() as page:
            entry = page.append(RELEASE, self.dataset.name, content, about=self.entry)
            if payload is not None:
                page.book.keep(entry.seq, payload)
        return page.head


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
        """The ledger's journal."""
        return Journal(self.url, Path(self.key_file))

    def with_key(self, key: str) -> Dataset:
        """The same account, for one release with a name of its own.

        The first fit is charged and its release stored. The same fit again (class, parameters,
        shape of the table) returns the stored release, bit for bit, and costs nothing: rows are not
        looked at. Another fit under the same key is refused, and so is a fit whose first attempt
        broke off after its charge: that is spent, take a new key.

        Parameters
        ----------
        key : str
            For example ``"figure-3"``. One key is one release: do not give it to a search.
        """
        return replace(self, idempotency_key=check_name(key, "an idempotency key"))

    def terms(self) -> Terms:
        """What may be spent, for ever."""
        return self._opened()[1]

    def _opened(self) -> tuple[Entry, Terms, tuple[Rule, ...]]:
        """The entry of the dataset, which never changes, and what it says."""
        if self._place not in _OPENED:
            with self.journal.reading() as page:
                terms, rules = terms_and_rules(page, self.name)
                entry = page.book.dataset_entry(self.name)
                assert entry is not None
            _OPENED[self._place] = (entry, terms, rules)
        return _OPENED[self._place]

    @property
    def _place(self) -> tuple[str, str, str]:
        return self.url, self.key_file, self.name

    def spent(self) -> Spending:
        """What was spent and what is left."""
        with self.journal.reading() as page:
            return spending_on(page, self.name)

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

    def history(self) -> list[Entry]:
        """Entries of this dataset, in order."""
        with self.journal.reading() as page:
            terms_and_rules(page, self.name)
            return list(page.book.entries(self.name))

    def check(self, request: Request) -> None:
        """Refuse what this dataset never covers, whatever is left. Charges nothing."""
        _refuse_unfit(self.terms(), request)

    def charge(self, request: Request) -> Receipt:
        """Charge a fit, or find the release that it may have again.

        Returns once the charge is on the disk. Raises ``BudgetExceededError`` if it does not fit.
        """
        opened, terms, rules = self._opened()
        _refuse_unfit(terms, request)
        # Slow for sampled plans, so before the ledger is locked; terms and rules never change.
        costs = (0,) * MOST_RULES if request.test else cost_of(request.plan, rules)
        with self.journal.writing() as page:
            if self.idempotency_key is not None:
                earlier = page.book.charge_with_key(self.name, self.idempotency_key)
                if earlier is not None:
                    return self._replayed(page, page.genuine(earlier), request)
            before = self._checked_account(page, opened)
            spent = page.book.spend(self.name, costs)
            entry = self._recorded(page, request, costs) if spent else None
        if entry is None:  # what would still fit is searched for when others may write again
            raise refusal(terms, rules, before, costs, request.plan)
        return Receipt(self, entry.seq, Head(entry.seq, entry.mac), bool(request.test))

    def _checked_account(self, page: Page, opened: Entry) -> Account:
        """The account, if it is what the sealed entries say."""
        if page.book.dataset_entry(self.name) != opened:
            _OPENED.pop(self._place, None)
            raise TamperError(f"the terms of {self.name!r} are not what they were.")
        account, past = page.book.account(self.name), page.book.last_charge(self.name)
        spent = [0] * MOST_RULES if past is None else page.genuine(past).content["spent"]
        allowed = opened.content["allowed"]
        if account is None or [*account.allowed, *account.spent] != [*allowed, *spent]:
            raise TamperError(f"the account of {self.name!r} is not what its entries say.")
        return account

    def _recorded(self, page: Page, request: Request, costs: tuple[int, ...]) -> Entry:
        after = page.book.account(self.name)
        assert after is not None
        plan = request.plan.to_dict()
        content = {
            "method": plan["method"],
            "epsilon": plan["epsilon"],
            "delta": plan["delta"],
            "plan": plan if _fits_json(plan) else {**plan, "decisions": {}},
            "question": request.question,
            "test": request.test,
            "costs": list(costs),
            "spent": list(after.spent),
            "version": __version__,
        }
        return page.append(CHARGE, self.name, content, key=self.idempotency_key)

    def _replayed(self, page: Page, charge: Entry, request: Request) -> Receipt:
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
        head = Head(charge.seq, charge.mac)
        return Receipt(self, charge.seq, head, bool(charge.content["test"]), unpack(payload))

    def __repr__(self) -> str:
        key = "" if self.idempotency_key is None else f", key {self.idempotency_key!r}"
        return f"Dataset({self.name!r} in {shown(self.url)}{key})"


def _refuse_unfit(terms: Terms, request: Request) -> None:
    if request.plan.neighbors != terms.neighbors:
        raise LedgerError(
            f"the dataset {terms.name!r} is accounted under {terms.neighbors}; this fit promises "
            f"{request.plan.neighbors}, which is another promise and cannot be added to it."
        )
    if request.test and not terms.test:
        raise LedgerError(
            f"{request.test}: such a fit is not private and is refused by the dataset "
            f"{terms.name!r}. Use random_state=None and a finite epsilon, or a dataset made with "
            "test=True."
        )


def _fits_json(plan: Mapping[str, Any]) -> bool:
    try:
        as_json(plan)
    except (TypeError, ValueError):
        return False
    return True
