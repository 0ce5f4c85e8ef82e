"""Audits of a private stream: nothing but answers leaves, and broken copies are caught."""

import math
from dataclasses import replace

import numpy as np
import pytest

from veilspan import BudgetExceededError, NotPrivateWarning, calibrate_noise
from veilspan.audit.replay import replay
from veilspan.curator.tape import recording
from veilspan.curator.waiting import WaitingRows
from veilspan.estimators.stream import private_tracker
from veilspan.estimators.stream.private_tracker import BlockRelease, stream_plan
from veilspan.estimators.stream.subspace_tracker import SubspaceTracker
from veilspan.privacy import plan
from veilspan.privacy.events import with_count
from veilspan.solvers.stream import block_release
from veilspan.solvers.stream.block_release import StreamRelease

WIDTH, RANK, SIZE, BLOCKS = 6, 2, 40, 6
AXES = np.eye(WIDTH)
GAPS = np.where(np.arange(WIDTH) % 2, np.nan, 0.7)
EXTREME_ROWS = {
    "zero": np.zeros(WIDTH),
    "axis": AXES[0],
    "opposite": -AXES[-1],
    "long": 1e6 * np.ones(WIDTH),
    "short": -1e-9 * np.ones(WIDTH),
    "gaps": GAPS,
    "absent": np.full(WIDTH, np.nan),
}


def tracker(**changes):
    settings = {"epsilon": 30.0, "block_size": SIZE, "random_state": 0, **changes}
    return SubspaceTracker(RANK, **settings)


def follow(**changes):
    """All that is ever released: the fitted attributes after every call."""

    def fit(stream):
        one, seen = tracker(**changes), []
        for part in np.array_split(stream, 17):
            one.partial_fit(part)
            seen.append(public(one))
        return seen

    return fit


def public(one):
    fitted = {n: v for n, v in vars(one).items() if n.endswith("_") and not n.startswith("_")}
    if "privacy_" in fitted:
        fitted["privacy_"] = {**fitted["privacy_"].to_dict(), "release_id": ""}
    return fitted


def stream(seed=0, noise=0.1, gaps=0.1, n=SIZE * BLOCKS + 11):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, RANK)) @ AXES[:RANK] / math.sqrt(RANK)
    rows += noise * rng.standard_normal(rows.shape)
    rows[rng.random(rows.shape) < gaps] = np.nan
    return rows


def exchanged(rows, places, row):
    other = rows.copy()
    other[places] = row
    return other


# ---------------------------------------------------------------- the real one


@pytest.mark.parametrize("row", EXTREME_ROWS.values(), ids=EXTREME_ROWS)
@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_nothing_but_answers_leaves(row, noise):
    rows = stream(noise=noise)
    mu = stream_plan(tracker(), WIDTH).budget.mu
    for place in (0, SIZE + 3, 5 * SIZE - 1, len(rows) - 1):
        report = replay(follow(), rows, exchanged(rows, place, row))
        assert report.ok, report.findings
        assert report.questions == BLOCKS
        assert report.realised_mu <= mu
        # Waiting rows reach nothing at all.
        assert (report.realised_mu == 0) == (place == len(rows) - 1)


def test_both_questions_are_among_the_audited():
    with recording() as tape, pytest.warns(NotPrivateWarning):
        follow()(stream(noise=0.01))
    assert {entry.question.query for entry in tape.entries} == {"SecondMoment", "TouchingMoment"}


@pytest.mark.parametrize("k", [1, 3])
def test_k_blocks_of_one_person_stay_within_the_budget_and_nearly_use_it(k):
    settings = {"epsilon": 1.0, "max_blocks_per_person": k}
    rows = np.zeros((SIZE * BLOCKS, WIDTH))
    places = SIZE * np.arange(k) + 7
    one, two = (exchanged(rows, places, AXES[axis]) for axis in (0, 1))
    report = replay(follow(**settings), one, two)
    mu = stream_plan(tracker(**settings), WIDTH).budget.mu
    assert report.ok, report.findings
    assert 0.98 * mu < report.realised_mu <= mu


def test_one_block_more_than_allowed_breaks_the_budget():
    """The assumption is needed: the audit sees what happens without it."""
    rows = np.zeros((SIZE * BLOCKS, WIDTH))
    places = SIZE * np.arange(2) + 7
    one, two = (exchanged(rows, places, AXES[axis]) for axis in (0, 1))
    report = replay(follow(epsilon=1.0), one, two)
    assert report.realised_mu > 1.3 * stream_plan(tracker(epsilon=1.0), WIDTH).budget.mu


# ---------------------------------------------------------------- broken copies


def test_noise_for_one_block_where_three_are_allowed_is_caught(monkeypatch):
    settings = {"epsilon": 1.0, "max_blocks_per_person": 3}

    def too_little(budget, events, **options):
        (once,) = calibrate_noise(budget, (with_count(e, 1) for e in events))
        return (with_count(once, 3),)

    mu = stream_plan(tracker(**settings), WIDTH).budget.mu
    rows = np.zeros((SIZE * BLOCKS, WIDTH))
    places = SIZE * np.arange(3) + 7
    one, two = (exchanged(rows, places, AXES[axis]) for axis in (0, 1))
    monkeypatch.setattr(block_release, "calibrate_noise", too_little)
    with pytest.raises(BudgetExceededError, match="more than its budget"):
        tracker(**settings).partial_fit(one)
    monkeypatch.setattr(
        plan, "fits_budget", lambda *_: True
    )  # let it pass, and see who else catches it
    assert replay(follow(**settings), one, two).realised_mu > 1.5 * mu
    with pytest.warns(NotPrivateWarning, match="simulation"):
        broken = tracker(**settings).partial_fit(one)
    said = broken.privacy_
    assert said.epsilon == 1.0
    assert not said.verify()  # its own events refute it


def test_a_count_of_gaps_that_leaves_is_caught(monkeypatch):
    genuine = private_tracker._release_block

    def leaky(one, state, release):
        empty = int(np.isnan(state.waiting._waiting[:SIZE]).all(axis=1).sum())
        genuine(one, state, release)
        one.n_samples_skipped_ = empty

    monkeypatch.setattr(private_tracker, "_release_block", leaky)
    rows = stream()
    report = replay(follow(), rows, exchanged(rows, 3, EXTREME_ROWS["absent"]))
    assert any("n_samples_skipped_" in finding for finding in report.findings)


def test_a_row_norm_taken_from_the_rows_is_caught(monkeypatch):
    genuine, run = BlockRelease._rows_for_curator, StreamRelease.run
    found = []

    def peeks(self, table, targets):
        found.append(float(np.nanmax(np.abs(table))))
        self.release = replace(self.release, row_norm=found[-1])
        return genuine(self, table, targets)

    def uses_it(self, curator, problem):
        return run(replace(self, row_norm=found[-1]), curator, problem)

    monkeypatch.setattr(BlockRelease, "_rows_for_curator", peeks)
    monkeypatch.setattr(StreamRelease, "run", uses_it)
    rows = stream()
    report = replay(follow(), rows, exchanged(rows, 3, EXTREME_ROWS["long"]))
    assert any("bound" in finding for finding in report.findings)


def test_gaps_filled_from_other_peoples_rows_are_caught(monkeypatch):
    def fills_with_means(rows, basis, row_norm, ridge):
        return np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)

    monkeypatch.setattr(private_tracker, "complete_rows", fills_with_means)
    rows = stream(gaps=0.5)
    report = replay(follow(), rows, exchanged(rows, 3, EXTREME_ROWS["long"]))
    assert any("sensitivity" in finding for finding in report.findings)


def test_a_block_that_uses_waiting_rows_is_caught(monkeypatch):
    """One row would then be in two blocks: the audit sees two answers move."""

    def overlapping(self, size):
        block = self._waiting[:size]
        self._waiting = self._waiting[size // 2 :]
        return block

    rows = np.zeros((SIZE * 2, WIDTH))
    one, two = (exchanged(rows, SIZE // 2 + 3, AXES[axis]) for axis in (0, 1))
    mu = stream_plan(tracker(epsilon=1.0), WIDTH).budget.mu
    assert replay(follow(epsilon=1.0), one, two).realised_mu <= mu
    monkeypatch.setattr(WaitingRows, "take_block", overlapping)
    assert replay(follow(epsilon=1.0), one, two).realised_mu > 1.3 * mu


def test_the_same_noise_in_every_block_is_caught(monkeypatch):
    """Noise that repeats cancels in a difference of two blocks."""

    class Repeats:
        def __init__(self, entropy):
            pass

        def generate_state(self, count, dtype):
            return np.zeros(count, dtype)

    def spread():
        one = tracker(epsilon=1.0)
        moments = []
        for _ in range(2):
            one.partial_fit(np.zeros((SIZE, WIDTH)))
            moments.append(one._private_.belief.moment)
        first, second = moments[0], 2 * moments[1] - moments[0]
        return float(np.linalg.norm(first - second) / np.linalg.norm(first))

    with pytest.warns(NotPrivateWarning, match="simulation"):
        assert spread() > 0.5
    monkeypatch.setattr(private_tracker.np.random, "SeedSequence", Repeats)
    with pytest.warns(NotPrivateWarning, match="simulation"):
        assert spread() < 1e-9
