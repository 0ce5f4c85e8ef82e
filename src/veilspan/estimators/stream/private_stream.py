"""The state of a private stream: released numbers, its account, and the rows that wait."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from veilspan.curator.waiting import WaitingRows
from veilspan.ledger.dataset import Dataset, Receipt
from veilspan.privacy.errors import PrivacyError
from veilspan.privacy.noise_buffers import NoiseBuffers
from veilspan.privacy.plan import Plan
from veilspan.privacy.statement import PrivacyStatement
from veilspan.solvers.stream.belief import Belief
from veilspan.solvers.stream.running_belief import RunningBelief

#: What a state says of a stream whose blocks' noise hangs together.
CORRELATED = "correlated"


@dataclass
class PrivateStream:
    """What a private tracker carries from call to call.

    Attributes
    ----------
    plan : Plan
        Of the whole stream; it cannot change once a row has come.
    belief : RunningBelief or Belief
        Released numbers only; of a stream with correlated noise, or with independent noise.
    releases : int
        Blocks released so far.
    statement : PrivacyStatement or None
        After the last release.
    receipt : Receipt or None
        Of the charge for the whole stream, if it has an account.
    waiting : WaitingRows
        Rows of the next block. Left out of pickles and copies.
    buffers : NoiseBuffers
        What the noise so far leaves to take back. Secret, and left out of them as well.
    """

    plan: Plan
    belief: Belief | RunningBelief
    releases: int = 0
    statement: PrivacyStatement | None = None
    receipt: Receipt | None = None
    owner: tuple[str, str, bool] | None = None  # ledger, dataset, whether as a test
    begun: bool = False
    waiting: WaitingRows = field(default_factory=WaitingRows, repr=False)
    buffers: NoiseBuffers = field(default_factory=NoiseBuffers, repr=False)

    @property
    def correlated(self) -> bool:
        """Whether the noise of its blocks hangs together."""
        return isinstance(self.belief, RunningBelief)

    def without_secrets(self) -> PrivateStream:
        """The same stream without the rows that wait and without its noise: what copies hold."""
        return replace(self, waiting=WaitingRows(), buffers=NoiseBuffers())

    @property
    def account(self) -> str | None:
        """Name of the dataset that was charged."""
        if self.receipt is not None:
            return self.receipt.dataset.name
        said = None if self.statement is None else self.statement.ledger
        return None if said is None else str(said["dataset"])

    def check_account(self, dataset: Dataset | None, test: bool = False) -> None:
        """Refuse an account that is not the one under which the stream took its first row.

        A stream that is paid for may go on without naming its account; one that is not may not.
        """
        here = None if dataset is None else (dataset.url, dataset.name, test)
        if self.begun:
            fits = here == self.owner or (here is None and self.account is not None)
        else:
            fits = here is None or not self.releases or here[1:] == (self.account, self._was_test)
            self.begun, self.owner = here is not None or not self.releases, here
        if not fits:
            began = "no account" if self.account is None else f"that of {self.account!r}"
            raise PrivacyError(
                f"this stream began with {began}: another account, or the same one as a test, "
                "cannot take it over. Start a new tracker."
            )

    @property
    def _was_test(self) -> bool:
        said = None if self.statement is None else self.statement.ledger
        return bool(said and said.get("test"))


def publish(tracker: Any) -> None:
    """Fitted attributes, all from released numbers and the public count of rows."""
    stream = tracker._private_
    tracker.components_ = np.ascontiguousarray(stream.belief.basis.T)
    tracker.releases_ = stream.releases
    tracker.n_samples_seen_ = stream.releases * stream.plan.n_rows
    tracker.n_changes_ = stream.belief.losses
    tracker.plan_ = stream.plan
    tracker.privacy_ = stream.statement


def released_state(tracker: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """JSON-ready numbers and arrays from which a stream goes on; no waiting row, no noise."""
    stream = tracker._private_
    parts = {entry.name: getattr(stream.belief, entry.name) for entry in fields(stream.belief)}
    arrays = {name: part for name, part in parts.items() if isinstance(part, np.ndarray)}
    numbers = {
        "plan": stream.plan.to_dict(),
        "releases": stream.releases,
        "statement": None if stream.statement is None else stream.statement.to_dict(),
        "belief": {name: part for name, part in parts.items() if name not in arrays},
    }
    if stream.correlated:  # streams of earlier versions say nothing
        numbers["noise"] = CORRELATED
    return numbers, arrays


def restore_released_state(
    tracker: Any, numbers: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Go on where :func:`released_state` was taken, with an empty block and new noise."""
    said = numbers["statement"]
    parts: dict[str, Any] = {**numbers["belief"], **arrays}
    kind = RunningBelief if numbers.get("noise") == CORRELATED else Belief
    tracker._private_ = PrivateStream(
        Plan.from_dict(numbers["plan"]),
        kind(**parts),
        numbers["releases"],
        None if said is None else PrivacyStatement.from_dict(said),
    )
    tracker.n_features_in_ = tracker._private_.plan.n_features
    if said is not None:
        publish(tracker)
