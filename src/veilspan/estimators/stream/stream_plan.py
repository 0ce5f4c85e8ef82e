"""The plan of a private stream: what its blocks are asked, with noise of which kind.

Correlated noise (:mod:`veilspan.solvers.stream.running_release`) is chosen wherever it can help:
for people in one block each, or in several that are a declared number of blocks apart. Independent
noise
(:mod:`veilspan.solvers.stream.block_release`) stays for

* people in several blocks that may follow each other: a column of C must then not reach into the
  next block, which leaves C = I;
* more than :data:`MOST_COLUMNS` columns, where buffers and sums would take a dozen matrices of
  columns^2 numbers, and its questions need r (D + r) numbers alone once the subspace is known;
* streams that began with it, in earlier versions: what was promised cannot change on the way.
"""

from __future__ import annotations

from typing import Any

from veilspan._scales import check_scale
from veilspan.estimators.base import check_privacy_parameters
from veilspan.estimators.validation import check_count
from veilspan.privacy.budget import Budget
from veilspan.privacy.correlation import WIDEST
from veilspan.privacy.plan import Plan
from veilspan.privacy.schema_record import SchemaRecord
from veilspan.solvers.stream.belief import Belief
from veilspan.solvers.stream.block_release import StreamRelease
from veilspan.solvers.stream.running_belief import RunningBelief
from veilspan.solvers.stream.running_release import RunningRelease

#: Most columns for which noise is carried on from block to block.
MOST_COLUMNS = 500
#: More columns, larger blocks or more of them for one person are surely a mistake.
MOST = 10**9
#: What belongs to single rows, with its default: a private stream never looks at one.
_ROW_BY_ROW = {
    "step": "noisy",
    "noise_variance": None,
    "robust": None,
    "adapt_rank": False,
    "detect_change": False,
}

Release = StreamRelease | RunningRelease


def choose_release(tracker: Any, n_features: int, *, began: Any = None) -> Release:
    """What a tracker's blocks are asked, from its parameters and public sizes.

    Parameters
    ----------
    tracker : SubspaceTracker
        With ``epsilon`` given.
    n_features : int
        Number of columns.
    began : Belief, RunningBelief or None
        What a stream that is under way believes: it goes on as it began.
    """
    kept = 0.0 if tracker.forgetting is None else tracker.forgetting
    if isinstance(kept, bool) or not isinstance(kept, (int, float)) or not 0 <= kept <= 1:
        raise ValueError(f"forgetting must be None or lie in [0, 1]; got {tracker.forgetting!r}.")
    row_norm = check_scale(tracker.row_norm, "row_norm")
    if tracker.schema is not None:
        row_norm *= tracker.schema.row_norm
    most = check_count(tracker.max_blocks_per_person, "max_blocks_per_person", MOST)
    apart = 1 if tracker.blocks_apart is None else tracker.blocks_apart
    apart = check_count(apart, "blocks_apart", MOST)
    shared = (tracker.n_components, row_norm, float(kept))
    carried = n_features <= MOST_COLUMNS and (most == 1 or apart > 1)
    if began is not None:
        carried = isinstance(began, RunningBelief)
    if not carried:
        return StreamRelease(*shared, max_blocks_per_person=most)
    return RunningRelease(*shared, most, None if most == 1 else min(apart, WIDEST))


def first_belief(release: Release, basis: Any) -> Belief | RunningBelief:
    """What is believed before the first block: nothing, or a public start."""
    kind = RunningBelief if isinstance(release, RunningRelease) else Belief
    return kind(basis=basis)


def describe_noise(release: Release, n_features: int) -> dict[str, Any]:
    """Public words and numbers on the noise, for a plan."""
    if isinstance(release, RunningRelease):
        words = {"noise": "carried on from block to block"}
        return words if release.band is None else {**words, "blocks apart": release.band}
    if n_features > MOST_COLUMNS:
        return {"noise": f"new in every block: more than {MOST_COLUMNS} columns"}
    return {"noise": "new in every block: a person may be in blocks that follow each other"}


def stream_plan(tracker: Any, n_features: int, release: Release | None = None) -> Plan:
    """What one person's worst case costs: k blocks, each with its one question.

    Parameters
    ----------
    tracker : SubspaceTracker
        With ``epsilon`` given.
    n_features : int
        Number of columns.
    release : RunningRelease or StreamRelease, optional
        Who asks, by default what is chosen for a new stream.
    """
    if tracker.epsilon is None:
        raise ValueError("epsilon is None: a tracker without privacy has no plan.")
    check_privacy_parameters(tracker)
    if tracker.neighbors != "replace-one":
        raise ValueError(
            'neighbors must be "replace-one" for a stream: a row that is added or taken away moves '
            "all later rows to other places, and with them every later block. Put a row of NaN in "
            "the place of somebody who is absent."
        )
    for name, default in _ROW_BY_ROW.items():
        value = getattr(tracker, name)
        if not (value is default or (isinstance(value, str) and value == default)):
            raise ValueError(f"{name} works row by row and cannot be set together with epsilon.")
    width = check_count(n_features, "n_features", MOST)
    if width < 2:
        raise ValueError("a subspace needs at least 2 columns; got n_features = 1.")
    size = check_count(tracker.block_size, "block_size", MOST)
    if size < 2:
        raise ValueError("block_size must be at least 2; got 1.")
    most = check_count(tracker.max_blocks_per_person, "max_blocks_per_person", MOST)
    rank = check_count(tracker.n_components, "n_components", width - 1)
    asks: Any = choose_release(tracker, width) if release is None else release
    budget = Budget(tracker.epsilon, tracker.delta)
    return Plan(
        method=type(tracker).__name__,
        budget=budget,
        neighbors="replace-one",
        n_rows=size,
        n_features=width,
        events=asks.prepare(first_belief(asks, None), budget, "replace-one").events,
        decisions={
            "n_components": rank,
            "row_norm": asks.row_norm,
            "blocks of one person": most,
            "releases": "one after every block, without end",
            **describe_noise(asks, width),
        },
        schema=None if tracker.schema is None else SchemaRecord.of(tracker.schema),
    )
