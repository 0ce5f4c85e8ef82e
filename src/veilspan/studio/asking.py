"""A question on its way: a draft until somebody submits it, then a request of the ledger."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from veilspan.studio.drafts import load_draft, save_draft
from veilspan.studio.errors import Refusal
from veilspan.studio.questions import make_model, make_plan
from veilspan.studio.schemas import load_schema, schema_path
from veilspan.studio.state import Studio

if TYPE_CHECKING:
    from veilspan.ledger.spending import Spending
    from veilspan.privacy.plan import Plan
    from veilspan.tables.schema import Schema

#: What a new question begins with.
EPSILON = 1.0


@dataclass(frozen=True)
class Asking:
    """All that is said of a question so far; public facts only.

    Attributes
    ----------
    id : str
        Of the draft, in addresses.
    dataset, estimator, params, epsilon, delta, schema_digest, note
        What is asked, as in a request of the ledger.
    asked_by : str
        The person.
    request : str
        Id of the request in the ledger; empty until it was submitted.
    edits : str
        Id of the request of which this is to be the next version; empty for a new one.
    like_profile : bool
        Whether simulated rows are like those of the dataset's released profile.
    """

    id: str
    dataset: str
    estimator: str
    schema_digest: str
    asked_by: str
    params: dict[str, Any] = field(default_factory=dict)
    epsilon: float = EPSILON
    delta: float = 1e-6
    note: str = ""
    request: str = ""
    edits: str = ""
    like_profile: bool = False

    def save(self, studio: Studio, **changes: Any) -> Asking:
        """Keep the draft with some changes."""
        changed = replace(self, **changes)
        save_draft(studio, f"request-{self.id}", asdict(changed))
        return changed

    def schema(self, studio: Studio) -> Schema:
        """The schema that the question is about."""
        return load_schema(schema_path(studio, self.schema_digest))

    def model(self, studio: Studio, epsilon: float | None = None) -> Any:
        """The estimator, unfitted, at its epsilon or another."""
        schema, chosen = self.schema(studio), self.epsilon if epsilon is None else epsilon
        return make_model(self.estimator, schema, self.params, chosen, self.delta)

    def plan(self, studio: Studio, epsilon: float | None = None) -> Plan:
        """What the fit would ask and spend."""
        found: Plan = make_plan(self.model(studio, epsilon))
        return found


def new_asking(studio: Studio, **facts: Any) -> Asking:
    """A question that nobody has asked before."""
    return Asking(id=secrets.token_hex(10), **facts).save(studio)


def find_asking(studio: Studio, asking_id: str) -> Asking:
    """The draft of an id; 404 if there is none."""
    found = load_draft(studio, f"request-{asking_id}")
    if found is None or found["dataset"] not in studio.settings.tables:
        raise Refusal(404, "There is no such request.", link=True)
    return Asking(**found)


def asking_of(request: Any) -> Asking:
    """The question that a request of the ledger asks."""
    return Asking(
        id="",
        dataset=request.dataset,
        estimator=request.estimator,
        schema_digest=request.schema_digest or "",
        asked_by=request.asked_by,
        params=dict(request.params),
        epsilon=request.epsilon,
        delta=request.delta,
        note=request.note,
        request=request.id,
    )


def find_request(studio: Studio, request_id: str) -> tuple[Any, Any]:
    """The account and the request of an id; 404 if no dataset of the studio has it."""
    from veilspan.ledger.errors import RequestError

    for name in studio.settings.tables:
        account = studio.account(name)
        if account is not None:
            try:
                return account, account.request(request_id)
            except RequestError:
                continue
    raise Refusal(404, "There is no such request.", link=True)


def refuse_others(asking: Asking, person: str) -> None:
    """Drafts are seen by whoever wrote them; requests by everybody."""
    if asking.asked_by != person:
        raise Refusal(404, "There is no such request.", link=True)


@dataclass(frozen=True)
class Charge:
    """What a fit would do to a budget.

    Attributes
    ----------
    before, after : float
        Share of the budget that is used before and after; ``after`` is above 1 if it does not fit.
    fits : bool
        Whether the ledger would take it now.
    """

    before: float
    after: float
    fits: bool

    @property
    def share(self) -> float:
        """Part of the whole budget that it uses."""
        return self.after - self.before


def weigh(costs: Any, state: Spending) -> Charge:
    """What a charge of these units would do to an account as it stands."""
    from veilspan.ledger.records import Account
    from veilspan.ledger.words.shares import count_shares

    account = state.account
    spent = tuple(a + b for a, b in zip(account.spent, costs))
    fits = any(units <= room for units, room in zip(spent, account.allowed) if room > 0)
    used = state.shares.used
    if not fits:
        return Charge(used, 1.0 + 1e-6, False)
    after = count_shares(Account(account.dataset, account.allowed, spent)).used
    return Charge(used, max(after, used), True)
