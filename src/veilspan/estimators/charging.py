"""A fit and its dataset's account: charged before any row is read, recorded after.

What a fit costs is settled by its plan, so the charge comes between the plan and the run. That the
table has the form which counts as public (columns, dtypes, finite numbers) is checked earlier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from veilspan._log import log_event
from veilspan.curator.tape import CURRENT_TAPE
from veilspan.estimators.clone_family import join_family, protected_by
from veilspan.ledger.dataset import Dataset, Receipt, Request
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.releases import question_of
from veilspan.ledger.session import current_dataset, dataset_of
from veilspan.privacy.noise import NoiseSource
from veilspan.privacy.plan import Plan
from veilspan.privacy.schema_record import SchemaRecord

#: Parameters that estimators got after requests had been stored, and what of them says nothing.
CAME_LATER: dict[str, Any] = {
    "features": None, "threshold": None, "task": "rate", "scale": None, "blocks_apart": None,
    "allow_weak": False,
}  # fmt: skip


class LedgerParameter:
    """What a parameter ``ledger`` brings to an estimator.

    Copies and pickles that are made inside a session take its dataset with them: a grid search
    hands them to other processes, which know of no session.
    """

    ledger: Dataset | None = None

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()  # type: ignore[misc]
        join_family(copy, self)
        if copy.ledger is None and current_dataset() is not None:
            copy.ledger = current_dataset()
        return copy

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()  # type: ignore[misc]
        if self.ledger is None and current_dataset() is not None:
            state = {**state, "ledger": current_dataset()}
        return state


@dataclass(frozen=True)
class Charge:
    """A fit that is about to be charged to a dataset, which covers fits of its kind."""

    dataset: Dataset
    request: Request

    def commit(self) -> Receipt:
        """Charge; returns once that is on the disk."""
        receipt = self.dataset.charge(self.request)
        budget = self.request.plan.budget
        log_event(
            "charged",
            dataset=self.dataset.name,
            entry=receipt.entry,
            epsilon=budget.epsilon,
            delta=budget.delta,
            again=receipt.stored is not None,
        )
        return receipt


def open_charge(dataset: Dataset, estimator: Any, plan: Plan, source: NoiseSource) -> Charge:
    """What a fit will charge to a dataset; refuses what that never covers."""
    schema = getattr(estimator, "schema", None)
    reasons = (
        (not plan.budget.is_private, "epsilon is infinite"),
        (not source.secure, "random_state is a seed"),
        (CURRENT_TAPE.get() is not None, "the exact answers are recorded on a tape"),
    )
    request = Request(
        plan=plan,
        question=question_of(type(estimator), asked_parameters(estimator), plan.to_dict()),
        test=" and ".join(text for holds, text in reasons if holds),
        # A tracker is no PrivateEstimator; each of its rows is a person's, within a block.
        unit=protected_by(estimator),
        schema=None if schema is None else SchemaRecord.of(schema),
    )
    dataset.check(request)
    return Charge(dataset, request)


def asked_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters by which a fit is known again under its idempotency key.

    Whose account it charges is no part of what it asks. A schema is known by its digest. It and
    what else came later are left out where nothing is said: fits from before have the digests that
    they had.
    """
    parameters = estimator.get_params(deep=False)
    schema = parameters.pop("schema", None)
    parameters.pop("ledger", None)
    for name, nothing in CAME_LATER.items():
        value = parameters.get(name, "")
        if value is None or (isinstance(value, (str, bool)) and value == nothing):
            parameters.pop(name)
    if schema is not None and isinstance(parameters.get("center"), str):
        # By a schema "auto" is the private centre that saying nothing was before there was "auto".
        parameters["center"] = {"auto": None}.get(parameters["center"], parameters["center"])
    return (
        parameters if schema is None else {**parameters, "schema": SchemaRecord.of(schema).digest}
    )


def give_again(estimator: Any, receipt: Receipt) -> bool:
    """Set the attributes of the stored release, if there is one; whether there was."""
    if receipt.stored is None:
        return False
    for name, value in receipt.stored.items():
        setattr(estimator, name, value)
    return True


def record(estimator: Any, receipt: Receipt) -> None:
    """Mark the charge as released: the statement, and public attributes under a key."""
    estimator.privacy_ = replace(estimator.privacy_, ledger=receipt.describe())
    public = {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and not name.startswith("_")
    }
    receipt.release(estimator.privacy_.to_dict(), public)
    log_release(estimator, receipt)


def log_release(estimator: Any, receipt: Receipt) -> None:
    """Tell the log that what was charged is released."""
    log_event(
        "released",
        dataset=receipt.dataset.name,
        entry=receipt.entry,
        estimator=type(estimator).__name__,
        release=estimator.privacy_.release_id,
    )


def refuse_without_epsilon(estimator: Any) -> None:
    """Refuse an account or a session to an estimator that runs without privacy."""
    dataset = dataset_of(estimator.ledger)
    if dataset is not None:
        raise LedgerError(
            f"{type(estimator).__name__} with epsilon=None is not private, and the dataset "
            f"{dataset.name!r} has no account of what it would spend. Give epsilon, or use it "
            "outside the ledger's session."
        )
