r"""The private life of :class:`veilspan.SubspaceTracker`: one release per block, for ever.

Rows come one after another. The b rows at the places 1..b are the first block, those at b+1..2b
the second, and so on: a row's block is a matter of its *place*, which is public. A full block goes
to a curator of its own, which answers one question with Gaussian noise; the subspace after every
block is released. Rows of a block that is not full wait in memory and reach nobody.

**Promise.** Two streams are neighbours if they have other rows, of the same person, in at most k
places, no two of them in one block (k = ``max_blocks_per_person``), nor in blocks less than
``blocks_apart`` apart. Then the sequence of *all* releases, however long, is (epsilon, delta)-DP.

*Proof.* Let mu be the largest GDP parameter within (epsilon, delta). The releases are played out
against an adversary who sees each before choosing the next pair of blocks, equal ones or such that
differ in one row, the latter at most k times on any path.

1. *One block.* The question asked of block t is a function of earlier releases: the query, its
   point and scale, and the basis that fills gaps in rows (a map of each row by itself at public
   numbers). Given these, exact sums of a pair that differs are at most the sensitivity apart.
2. *All blocks, correlated noise.* The theorem of :mod:`veilspan.privacy.correlation`, with columns
   of norm at most 1 that for k > 1 end before the person's next block. Noise of std sqrt(k) / mu
   times the sensitivity makes all releases together mu-GDP.
3. *All blocks, independent noise* (:mod:`veilspan.estimators.stream.stream_plan` says when) is the
   case C = I of it, whose columns are disjoint for any blocks.
4. *Everything else* is computed from answers and public numbers. []

The adversary may choose rows with earlier releases in hand, so the promise covers a world that
reacts to what is published. It rests on one thing that no library can see: that a person really has
at most one row in a block and is in at most k blocks, so far apart. With m rows in one block she
moves an answer by m times its sensitivity.

**Why not add-remove.** A row that is put in moves all later rows by one place, and with them one
row of *every* later block; noise of one size does not cover that for ever. So
``neighbors="add-remove"`` is refused. Somebody who may be absent is covered under replace-one by a
row of gaps in her place, which counts as zero; a block without anybody is a block of such rows.

**What is public**: how many rows have come, hence when a block is full. **What is never written**:
waiting rows (:mod:`veilspan.curator.waiting`) and the noise that is carried on
(:mod:`veilspan.privacy.noise_buffers`), which would tell exact sums. A pickle, a copy or a saved
state holds released numbers only, so the rows that wait at that moment are lost to it, and its next
block starts with the next row and with a new triangular block of noise. There is no way to release
a block before it is full: it would carry the same noise for fewer rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from veilspan.curator.silence import quiet
from veilspan.estimators.base import PrivateEstimator
from veilspan.estimators.cautions import refuse_weak
from veilspan.estimators.charging import open_charge
from veilspan.estimators.noise.loud_noise import as_cautions, find_loud_subspace
from veilspan.estimators.schema_input import SCHEMA_FACTS
from veilspan.estimators.stream.one_at_a_time import lock_of
from veilspan.estimators.stream.private_stream import PrivateStream, publish
from veilspan.estimators.stream.stream_plan import (
    Release,
    choose_release,
    first_belief,
    stream_plan,
)
from veilspan.ledger.claims import ending_claims
from veilspan.ledger.session import dataset_of
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import NotPrivateWarning, PrivacyError, WeakGuaranteeWarning
from veilspan.privacy.events import with_count
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.noise import noise_source
from veilspan.privacy.noise_buffers import NoiseBuffers
from veilspan.privacy.plan import Plan
from veilspan.privacy.statement import PrivacyStatement
from veilspan.queries.stream.touching_moment import complete_rows
from veilspan.solvers.base import Outcome, Prepared
from veilspan.solvers.stream.belief import Belief
from veilspan.solvers.stream.running_belief import RunningBelief

NOISE_IN_MEMORY = (
    "noise of earlier blocks is carried on in memory alone; a copy or a restart has new noise"
)


@dataclass(eq=False, repr=False)
class BlockRelease(PrivateEstimator):
    """The release of one block: plan, run, record, as for every private fit.

    The ledger is charged for the whole stream, at its first block.

    Parameters
    ----------
    block_plan : Plan
        The stream's plan, for one of a person's blocks.
    release : RunningRelease or StreamRelease
        Who asks.
    belief : RunningBelief or Belief
        What earlier blocks have told.
    noise, random_state : str, int or None
        As for every estimator.
    """

    _charges: ClassVar[bool] = False
    #: The stream was asked before it was charged.
    allow_weak: ClassVar[bool] = True

    _input_options: ClassVar[dict[str, Any]] = {
        "dtype": np.float64,
        "ensure_min_samples": 2,
        "ensure_all_finite": "allow-nan",
    }

    block_plan: Plan
    release: Release
    belief: RunningBelief | Belief
    noise: str
    random_state: int | None

    def _draft(self, n_samples: int | None, n_features: int) -> tuple[Plan, Prepared[Any, Any]]:
        """The plan was made with the stream; only what is believed is new."""
        plan = self.block_plan
        return plan, self._prepare(plan.budget, plan.neighbors, plan.n_rows, plan.n_features)

    def _prepare(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> Prepared[Any, Any]:
        release: Any = self.release
        return cast("Prepared[Any, Any]", release.prepare(self.belief, budget, neighbors))

    def _rows_for_curator(self, table: Any, targets: Any) -> Any:
        ridge = 1.0 if self.belief.basis is None else self.belief.ridge
        with quiet():
            rows = complete_rows(table, self.belief.basis, self.release.row_norm, ridge)
        return super()._rows_for_curator(rows, targets)

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        self.belief_ = outcome.result.belief


@ending_claims()
def release_blocks(tracker: Any, X: Any) -> Any:
    """Take rows in, release every block that is full; ``partial_fit`` of a private tracker.

    One thread at a time: two that took rows out of the same queue would ask about some of them
    twice, and give two answers the same noise.
    """
    with lock_of(tracker):
        return _release_blocks(tracker, X)


def _release_blocks(tracker: Any, X: Any) -> Any:
    """The same, for whoever holds the tracker's lock.

    A call that is refused (wrong columns, infinite numbers, bad parameters) has taken nothing in.
    One that breaks off later has taken in *all* of its rows and may have released some of them: do
    not pass them again, that would be a second block for the same people.
    """
    first = not hasattr(tracker, "_private_")
    if hasattr(tracker, "_stream"):
        raise PrivacyError(
            "this tracker has learned without privacy; use a new one, or fit, for a private stream."
        )
    noise_source(tracker.random_state)  # refuses what is neither None nor an int
    if first:
        choose_release(tracker, 2)  # refuses bad parameters before a table is looked at
    rows = tracker._table(X, reset=first)
    began = None if first else tracker._private_.belief
    release = choose_release(tracker, rows.shape[1], began=began)
    plan = stream_plan(tracker, rows.shape[1], release)
    refuse_weak(tracker, plan)  # a stream has at least as many people as a block
    # Asked on every call, so that a dataset that never covers this stream takes no row of it.
    dataset = dataset_of(tracker.ledger)
    charge = None
    if dataset is not None:
        charge = open_charge(dataset, tracker, plan, noise_source(tracker.random_state))
    if first:
        start = _find_public_start(tracker, rows.shape[1])
        stream = PrivateStream(plan, first_belief(release, start))
    else:
        stream = tracker._private_
        if not _same_promise(stream.plan, plan):
            raise PrivacyError(
                "parameters of a private stream cannot change on the way: its promise is for all "
                "releases together. Start a new tracker."
            )
    if charge is None:
        stream.check_account(None)
    else:
        stream.check_account(charge.dataset, bool(charge.request.test))
    tracker._private_ = stream
    stream.waiting.accept(rows)
    before = stream.releases
    try:
        while len(stream.waiting) >= tracker.block_size:
            if charge is not None and stream.account is None:
                stream.receipt = charge.commit()  # for the whole stream, before its first block
            _release_block(tracker, stream, release)
            publish(tracker)
    finally:
        stream.waiting.let_go()
    if stream.releases > before and plan.budget.is_private:
        belief: Any = stream.belief
        for kind, text in as_cautions(find_loud_subspace(belief.precision, *belief.basis.shape)):
            warnings.warn(text, kind, stacklevel=5)
    return tracker


def _same_promise(began: Plan, now: Plan) -> bool:
    """Whether a stream may go on by its plan under these parameters.

    Its noise is that of the plan that it began with, to the last digit; what is computed today may
    differ in the last ones. Streams of earlier versions have no words on their noise.
    """
    one, two = (
        (plan.budget, plan.schema, {k: v for k, v in plan.decisions.items() if k != "noise"})
        for plan in (began, now)
    )
    return one == two and began.asks_the_same_as(now)


def _find_public_start(tracker: Any, n_features: int) -> np.ndarray | None:
    """The basis given as ``init``; rows of the stream are no public start."""
    if isinstance(tracker.init, str):
        if tracker.init not in ("rows", "random"):
            raise ValueError(f'init must be "rows", "random" or an array; got {tracker.init!r}.')
        return None
    return np.asarray(tracker._start(n_features).basis.T.copy())


def _release_block(tracker: Any, stream: PrivateStream, release: Release) -> None:
    block = stream.waiting.take_block(tracker.block_size)
    once = replace(stream.plan, events=tuple(with_count(e, 1) for e in stream.plan.events))
    seed = tracker.random_state
    if seed is not None:  # the noise of a simulation must differ from block to block as well
        sequence = np.random.SeedSequence([int(seed), stream.releases])
        seed = int(sequence.generate_state(1, np.uint64)[0])
    asked = BlockRelease(once, release, stream.belief, tracker.noise, seed)
    # A block that breaks off is lost: noise that reaches so many *answers* on would reach further
    # than so many blocks, so it is forgotten.
    asked._buffers, stream.buffers = stream.buffers, NoiseBuffers()
    with warnings.catch_warnings():
        if stream.releases:  # said once, after the first block
            warnings.simplefilter("ignore", NotPrivateWarning)
            warnings.simplefilter("ignore", WeakGuaranteeWarning)
        asked.fit(block)
    stream.buffers = asked._buffers
    stream.belief = asked.belief_
    stream.statement = _state_promise(stream, asked.privacy_)
    stream.releases += 1
    if stream.receipt is not None and stream.releases == 1:
        stream.receipt.release(stream.statement.to_dict())


def _find_charge(stream: PrivateStream) -> dict[str, Any] | None:
    if stream.receipt is not None:
        return stream.receipt.describe()
    return None if stream.statement is None else stream.statement.ledger


def _state_promise(stream: PrivateStream, block: PrivacyStatement) -> PrivacyStatement:
    """The promise for all releases together; one that was not private spoils it for good."""
    before, plan = stream.statement, stream.plan
    most = plan.decisions["blocks of one person"]
    spoiled = before is not None and not before.private
    apart = plan.decisions.get("blocks apart", 1)
    apart = f", at least {apart} blocks apart" if apart > 1 else ""
    return replace(
        block,
        schema=None if plan.schema is None else plan.schema.to_dict(),
        epsilon=plan.epsilon,
        events=plan.events,
        unit=f"all rows of one person: at most one in a block, in at most {most} block(s){apart}",
        assumptions=(
            *block.assumptions,
            *(() if plan.schema is None else (SCHEMA_FACTS,)),
            f"each person has at most one row in a block and appears in at most {most} block(s)"
            + apart,
            *((NOISE_IN_MEMORY,) if stream.correlated else ()),
            f"blocks are {plan.n_rows:,} rows by their place in the stream, which is public; "
            "events are those of one person's worst case, not of the whole stream",
            "which entries are missing (NaN) is as private as the others",
        ),
        private=block.private and not spoiled,
        ledger=_find_charge(stream),
        why_not_private=before.why_not_private if spoiled and before else block.why_not_private,
    )
