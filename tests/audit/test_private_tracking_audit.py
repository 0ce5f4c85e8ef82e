"""Audits of a private stream: nothing but answers leaves, and broken copies are caught."""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from veilspan import BudgetExceededError, NotPrivateWarning, calibrate_noise
from veilspan.audit.replay import replay
from veilspan.curator.tape import recording
from veilspan.curator.waiting import WaitingRows
from veilspan.estimators.stream import private_stream, private_tracker
from veilspan.estimators.stream.private_tracker import BlockRelease, stream_plan
from veilspan.estimators.stream.subspace_tracker import SubspaceTracker
from veilspan.privacy import correlation, plan
from veilspan.privacy.correlation import Correlation
from veilspan.privacy.events import with_count
from veilspan.privacy.noise_buffers import NoiseBuffers
from veilspan.solvers.stream import block_release
from veilspan.solvers.stream.running_release import RunningRelease

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


#: The ways of noise: carried on, decayed, up to a person's next block, and not at all.
WAYS = {
    "carried on": {},
    "forgetting": {"forgetting": 0.3},
    "band": {"max_blocks_per_person": 2, "blocks_apart": 3},
    "independent": {"max_blocks_per_person": 2},
    "forgetting, band": {"forgetting": 0.3, "max_blocks_per_person": 2, "blocks_apart": 3},
    "forgetting, independent": {"forgetting": 0.3, "max_blocks_per_person": 2},
    "one block at a time": {"forgetting": 1.0},
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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("row", EXTREME_ROWS.values(), ids=EXTREME_ROWS)
def test_nothing_but_answers_leaves(row, way, some_of):
    rows = stream(noise=0.01 if way == "carried on" else 0.3)
    mu = stream_plan(tracker(**WAYS[way]), WIDTH).budget.mu
    for place in some_of((0, SIZE + 3, 5 * SIZE - 1, len(rows) - 1), 3):
        report = replay(follow(**WAYS[way]), rows, exchanged(rows, place, row))
        assert report.ok, report.findings
        assert report.questions == BLOCKS
        assert report.realised_mu <= mu
        # Waiting rows reach nothing at all.
        assert (report.realised_mu == 0) == (place == len(rows) - 1)


def test_all_questions_are_among_the_audited():
    asked = set()
    for way in WAYS.values():
        with recording() as tape, pytest.warns(NotPrivateWarning):
            follow(**way)(stream(noise=0.01))
        asked |= {entry.question.query for entry in tape.entries}
    assert asked == {"StretchedMoment", "SecondMoment", "TouchingMoment"}


def realised(places, blocks=BLOCKS, fit=follow, *, broken=False, **changes):
    """Distance over the budget's mu of two streams with orthogonal rows in these places."""
    settings = {"epsilon": 1.0, **changes}
    rows = np.zeros((SIZE * blocks, WIDTH))
    one, two = (exchanged(rows, places, AXES[axis]) for axis in (0, 1))
    report = replay(fit(**settings), one, two)
    assert broken or report.ok, report.findings  # nothing but answers leaves, and noise is as said
    return report.realised_mu / stream_plan(tracker(**settings), WIDTH).budget.mu


@pytest.mark.parametrize(
    ("blocks", "changes"),
    [
        ([0], {}),
        ([3], {}),
        ([2], {"forgetting": 0.3}),
        ([0, 1, 2], {"max_blocks_per_person": 3}),
        ([0, 3], {"max_blocks_per_person": 2, "blocks_apart": 3}),
        ([1, 5, 9], {"max_blocks_per_person": 3, "blocks_apart": 4}),
        ([1, 5, 9], {"max_blocks_per_person": 3, "blocks_apart": 4, "forgetting": 0.3}),
        ([4, 5], {"max_blocks_per_person": 2, "forgetting": 0.3}),
        ([0, 3], {"max_blocks_per_person": 2, "blocks_apart": 3, "forgetting": 1.0}),
        ([6], {"forgetting": 1.0}),
    ],
    ids=str,
)
def test_all_blocks_of_one_person_stay_within_the_budget_and_nearly_use_it(blocks, changes):
    """The theorem of privacy.correlation, replayed: what is carried on is in later answers."""
    used = realised(SIZE * np.array(blocks) + 7, 14, **changes)
    apart = changes.get("blocks_apart", 1)
    band = None if len(blocks) == 1 else apart
    matrix = Correlation(band, 1 - changes.get("forgetting", 0.0)).matrix(14)
    columns = math.sqrt(np.mean(np.sum(matrix[:, blocks] ** 2, axis=0)))
    assert used == pytest.approx(columns, rel=0.005)
    assert 0.85 < used <= 1


@pytest.mark.parametrize("way", WAYS)
def test_somebody_who_is_absent_costs_no_more_than_somebody_else(way):
    """A row of gaps in a person's places is a replacement, and moves answers less than a row."""
    changes = WAYS[way]
    k, apart = changes.get("max_blocks_per_person", 1), changes.get("blocks_apart", 1)
    places = SIZE * (apart * np.arange(k)) + 7
    rows = stream(noise=0.3)
    there, absent = (exchanged(rows, places, row) for row in (AXES[0], EXTREME_ROWS["absent"]))
    report = replay(follow(**changes), there, absent)
    assert report.ok, report.findings
    assert 0 < report.realised_mu <= stream_plan(tracker(**changes), WIDTH).budget.mu / math.sqrt(2)


@pytest.mark.parametrize("way", WAYS)
def test_add_remove_is_refused_in_every_way_of_noise(way):
    one = tracker(neighbors="add-remove", **WAYS[way])
    with pytest.raises(ValueError, match="row of NaN"):
        one.plan(WIDTH)
    with pytest.raises(ValueError, match="row of NaN"):
        one.partial_fit(stream())


def test_the_theorem_is_about_later_answers_too():
    """One block moves all that follow; without them its answer alone is far below the budget."""
    alone, later = realised([5 * SIZE + 7], 6), realised([5 * SIZE + 7], 40)
    assert alone < 0.6
    assert later > 0.85


def test_one_block_more_than_allowed_breaks_the_budget():
    """The assumption is needed: the audit sees what happens without it."""
    assert realised(SIZE * np.arange(2) + 7, broken=True) > 1.3
    apart = {"max_blocks_per_person": 2, "blocks_apart": 5}
    near = SIZE * np.array([5, 6]) + 7  # not five blocks apart
    assert realised(near, 14, broken=True, **apart) > 1.1


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
    genuine, run = BlockRelease._rows_for_curator, RunningRelease.run
    found = []

    def peeks(self, table, targets):
        found.append(float(np.nanmax(np.abs(table))))
        self.release = replace(self.release, row_norm=found[-1])
        return genuine(self, table, targets)

    def uses_it(self, curator, problem):
        return run(replace(self, row_norm=found[-1]), curator, problem)

    monkeypatch.setattr(BlockRelease, "_rows_for_curator", peeks)
    monkeypatch.setattr(RunningRelease, "run", uses_it)
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
    """What is drawn anew, C n, must not repeat: it would cancel in a difference of two blocks."""

    class Repeats:
        def __init__(self, entropy):
            pass

        def generate_state(self, count, dtype):
            return np.zeros(count, dtype)

    def spread():
        one = tracker(epsilon=1.0)
        sums = [np.zeros((WIDTH, WIDTH))]
        for _ in range(2):
            one.partial_fit(np.zeros((SIZE, WIDTH)))
            sums.append(one._private_.belief.total)
        first, second = Correlation().matrix(2) @ np.diff(sums, axis=0).reshape(2, -1)
        return float(np.linalg.norm(first - second) / np.linalg.norm(first))

    with pytest.warns(NotPrivateWarning, match="simulation"):
        assert spread() > 0.5
    monkeypatch.setattr(private_tracker.np.random, "SeedSequence", Repeats)
    with pytest.warns(NotPrivateWarning, match="simulation"):
        assert spread() < 1e-6


@pytest.fixture
def _no_broken_numbers_stay():
    """Spreads of noise are remembered: those of a broken copy must not outlive its test."""
    correlation._spreads_of.cache_clear()
    yield
    correlation._spreads_of.cache_clear()


@pytest.mark.usefixtures("_no_broken_numbers_stay")
def test_a_wrong_column_norm_is_caught(monkeypatch):
    """Weights of the memories without the norm that goes with them."""
    genuine, tail2 = Correlation.weights.fget, Correlation().tail2
    monkeypatch.setattr(Correlation, "weights", property(lambda self: 1.5 * genuine(self)))
    monkeypatch.setattr(Correlation, "tail2", property(lambda self: tail2))
    assert realised([5 * SIZE + 7], 40) > 1.1


def test_a_band_that_is_too_wide_is_caught(monkeypatch):
    """Noise that reaches into the person's next block: two columns in one row."""
    apart = {"max_blocks_per_person": 2, "blocks_apart": 3}
    places = SIZE * np.array([6, 9]) + 7
    assert realised(places, 24, **apart) <= 1
    wide = property(lambda self: Correlation(12))
    monkeypatch.setattr(RunningRelease, "correlation", wide)
    assert realised(places, 24, broken=True, **apart) > 1.1


# ---------------------------------------------------------------- noise is a secret


def branches(carry):
    """A stream, and a copy of it that goes on by itself: all that both release."""

    def follow_both(**changes):
        def fit(rows):
            one = tracker(**changes).partial_fit(rows[: 8 * SIZE])
            two = carry(one)
            # Other noise than the original's: a simulation's is a matter of the seed.
            two.set_params(random_state=1)
            return [public(each.partial_fit(rows[8 * SIZE :])) for each in (one, two)]

        return fit

    return follow_both


CARRIED = {
    "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "state": lambda one: SubspaceTracker.from_state_dict(one.state_dict()),
}


def keep_secrets(monkeypatch):
    """The broken twin: buffers travel along."""
    monkeypatch.setattr(NoiseBuffers, "__reduce__", object.__reduce__)
    monkeypatch.setattr(NoiseBuffers, "__reduce_ex__", object.__reduce_ex__)
    monkeypatch.setattr(private_stream.PrivateStream, "without_secrets", lambda self: replace(self))


@pytest.mark.parametrize("carry", CARRIED.values(), ids=CARRIED)
def test_a_copy_that_goes_on_keeps_the_promise(carry):
    assert 0.8 < realised([7 * SIZE + 7], 40, branches(carry)) <= 1


def test_a_copy_with_the_noise_of_the_original_is_caught(monkeypatch):
    keep_secrets(monkeypatch)
    assert realised([7 * SIZE + 7], 40, branches(CARRIED["deepcopy"])) > 1.04


def attack(stolen, released):
    """The exact sum of the first block, from a stolen object and the first release."""
    buffers = stolen._private_.buffers
    if not buffers._units.size:
        return None
    spec, scale, _ = buffers._fits
    _, factor = spec.column(0)
    noise = buffers._units[0] / (factor * spec.weights[0]) * scale.step / 2**8
    noise = noise.reshape(released.shape)
    return released - (noise + noise.T) / 2


def test_a_stolen_copy_tells_no_exact_sum_and_the_broken_one_does(monkeypatch):
    rows = stream(gaps=0.0, noise=0.5, n=SIZE)
    shortened = rows / np.maximum(1, np.linalg.norm(rows, axis=1))[:, None]
    with pytest.warns(NotPrivateWarning, match="simulation"):
        one = tracker(epsilon=0.1).partial_fit(rows)
    released = one._private_.belief.total
    for carry in CARRIED.values():
        assert attack(carry(one), released) is None
    assert np.linalg.norm(released - shortened.T @ shortened) > 50
    keep_secrets(monkeypatch)
    found = attack(CARRIED["pickle"](one), released)
    np.testing.assert_allclose(found, shortened.T @ shortened, atol=1e-3)
