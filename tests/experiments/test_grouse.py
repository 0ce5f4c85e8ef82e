"""The GROUSE experiment: its bounds, its shortcuts, and a small run that can be read."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.grouse import bounds, common, fig1, fig2, fig3, lemmas
from veilspan.metrics import determinant_similarity, frobenius_discrepancy
from veilspan.nonprivate.grouse import GreedyStep, NoisyStep, random_basis, update_block

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(2, 6), st.integers(0, 30))
@settings(max_examples=10, deadline=None)
def test_lemma_2_holds_and_section_3_1_is_misprinted(seed, d, extra):
    gaps = lemmas.lemma2_gaps(2 * d + 1 + extra, d, np.random.default_rng(seed))
    assert gaps[0] < 1e-6
    assert gaps[1] < 1e-6
    assert gaps[2] > 1e-6


@given(seeds)
@settings(max_examples=10, deadline=None)
def test_metrics_are_those_of_the_library(seed):
    basis = random_basis(12, 3, np.random.default_rng(seed))
    truth = np.eye(3, 12)
    zeta, epsilon = determinant_similarity(basis, truth), frobenius_discrepancy(basis, truth)
    assert common.similarity(basis) == pytest.approx(zeta, rel=1e-6)
    assert common.discrepancy(basis) == pytest.approx(epsilon)
    assert common.similar(zeta * 0.999)(basis)
    assert not common.similar(min(zeta * 1.001, 1.0))(basis)
    trace = common.follow(iter([basis]), 0)
    assert (trace.zeta[0], trace.epsilon[0]) == (pytest.approx(zeta), pytest.approx(epsilon))


@given(seeds, st.sampled_from([GreedyStep(), NoisyStep(0.1)]))
@settings(max_examples=10, deadline=None)
def test_a_rotated_stream_gives_a_rotated_basis(seed, step):
    rng = np.random.default_rng(seed)
    start, rows = random_basis(15, 3, rng), common.rows_of(40, 15, 3, 0.1, rng)
    rotation = np.linalg.qr(rng.standard_normal((15, 15)))[0]
    turned = np.ascontiguousarray(start @ rotation)
    update_block(start, rows, step=step, engine="numpy")
    update_block(turned, rows @ rotation, step=step, engine="numpy")
    np.testing.assert_allclose(turned, start @ rotation, atol=1e-8)


def test_a_folded_start_lives_the_same_life():
    rng = np.random.default_rng(3)
    whole = random_basis(50, 4, rng)
    small = common.fold(whole)
    assert small.shape == (4, 8)
    rows = common.rows_of(30, 50, 4, 0.0, rng)
    for row in rows[:, None]:
        update_block(whole, row, engine="numpy")
        update_block(small, np.ascontiguousarray(row[:, :8]), engine="numpy")
        assert common.similarity(small) == pytest.approx(common.similarity(whole), rel=1e-6)
        assert common.discrepancy(small) == pytest.approx(common.discrepancy(whole), abs=1e-10)


def test_the_mean_similarity_of_a_random_start():
    # 2,000 draws of a bounded mean: off by 6 standard errors in one of 1e8 seeds.
    mean, error = lemmas.mean_start(8, 2, 2000, np.random.default_rng(4))
    assert abs(mean - 1) < 6 * error < 0.5
    assert np.exp(bounds.start_similarity(8, 2)) == pytest.approx(1 / 28)


def test_bounds_without_noise_are_the_simple_ones():
    assert bounds.theorem4(0.25, 100, 5, 0.0) == pytest.approx(0.75 / 5)
    assert bounds.theorem5(0.1, 0.9, 100, 5, 0.0) == pytest.approx(0.9 / 5)
    assert bounds.theorem4(1.0, 100, 5, 0.0) == 0
    # With noise, by hand: n = 100, d = 5, sigma^2 = 1.
    assert bounds.theorem4(0.5, 100, 5, 1.0) == pytest.approx(0.1 * (1 - 1 / 1.1) / 1.05)
    assert bounds.theorem5(0.5, 0.9, 100, 5, 1.0) == pytest.approx(
        (0.9 - 0.95 / (0.1 + 0.95)) / 5 / 1.05
    )
    assert bounds.rows_by_theorem4(0.25, 100, 5, 0.0) == np.argmax(
        bounds.iterate_theorem4(0.25, 50, 100, 5, 0.0) >= 0.5
    )
    first, second = bounds.theorem1(2000, 20, 1e-4)
    assert second == pytest.approx(40 * np.log(1e5))
    assert 4e5 < first < 5e5


def test_rows_are_counted_in_the_order_of_the_goals():
    values = iter([0, 1, 5, 2, 9])
    count = common.rows_until
    assert count(values, lambda x: x > 3, lambda x: x > 1, lambda x: x > 6, limit=9) == [2, 2, 4]
    first, never = count(iter([0, 1]), lambda x: x > 0, lambda x: x > 6, limit=9)
    assert first == 1
    assert np.isnan(never)


def read(job):
    return json.loads(job.file("json").read_text()), job.file("csv").read_text()


@pytest.mark.parametrize("module", [lemmas, fig1, fig2, fig3])
def test_a_tiny_run_writes_its_verdict(tiny_job, module):
    pytest.importorskip("matplotlib")
    job = tiny_job("grouse-" + module.__name__.rsplit(".", 1)[1])
    module.run(job)
    record, table = read(job)
    assert record["verdict"]
    assert {"claim", "measured", "holds", "who"} == set(record["claims"][0])
    assert job.file("png").stat().st_size > 8_000
    assert table.count("\n") > 1


def test_an_interrupted_run_goes_on_and_ends_the_same(tiny_job, monkeypatch):
    monkeypatch.setattr(fig3, "draw", lambda *_: None)
    whole = fig3.run(tiny_job("grouse-fig3", fresh=True))
    calls, one_trial = [], fig3.one_trial

    def counted(*args):
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return one_trial(*args)

    monkeypatch.setattr(fig3, "one_trial", counted)
    with pytest.raises(KeyboardInterrupt):
        fig3.run(tiny_job("grouse-fig3"))
    again = fig3.run(tiny_job("grouse-fig3"))
    assert len(calls) == 13  # 12 parts, one of them begun twice
    assert again["claims"] == whole["claims"]


def test_the_lemmas_can_be_found_right_or_wrong():
    row = {"lemma2_zeta": 1e-15, "lemma2_epsilon": 1e-15, "printed_zeta": 2.0,
           "lemma1_constant": 5.0}  # fmt: skip
    other = {"lemma2_zeta": 1e-3, "lemma2_epsilon": 0.0, "printed_zeta": 0.0,
             "lemma1_constant": 1.2}  # fmt: skip
    expected, turned = lemmas.judge([row], 1.0, 0.1), lemmas.judge([other], 2.0, 0.1)
    assert [c.holds for c in expected] == [True, False, True, False]
    assert [c.holds for c in turned] == [False, True, False, True]
    words = "Lemma 2 is {}; the denominators of section 3.1 are {}"
    assert lemmas.headline(expected) == words.format("exact", "misprints")
    assert lemmas.headline(turned) == words.format("NOT exact", "right")


def test_a_missing_number_can_not_support_a_claim():
    def small(values):
        return max(values) < 2

    nan = float("nan")
    assert common.judged(small, [1.0, 1.5]) is True
    for values in ([1.0, nan], [nan, 1.0], [nan], []):
        assert common.judged(small, values) is None
    for values in ([nan, 3.0], [3.0, nan], [1.0, np.inf]):
        assert common.judged(small, values) is False
    assert common.span([1.0, 0.25]) == "0.25 to 1"
    assert common.span([nan, 1.0]) == "1 to 1, 1 of 2 unknown: a trial did not arrive"
    words = [common.word_of(fig2.Claim("", "", holds), "loose") for holds in (True, False, None)]
    assert words == ["loose", "NOT loose", "(loose: not judged)"]


def test_phases_without_noise_are_judged_by_their_counts():
    good = fig2.summary(2000, 20, [[236, 173], [240, 175]])
    bad = fig2.summary(2000, 20, [[40_000, 800], [40_000, 800]])
    lost = fig2.summary(2000, 20, [[236, 173], [np.nan, np.nan]])
    assert [c.holds for c in fig2.judge([good])] == [True] * 4
    assert [c.holds for c in fig2.judge([bad])] == [True, False, False, False]
    for cells in ([good, lost], [lost, good]):
        assert [c.holds for c in fig2.judge(cells)][:3] == [False, None, None]
        assert {c.holds for c in fig2.judge(cells)[3:]} == {True, None}
    assert fig2.judge([bad, lost])[1].holds is False


def test_phases_with_noise_are_judged_by_their_counts():
    def cells(slow, k2):
        return [
            fig3.summary(5000, 10, noise, [[k1, k1, k2 * np.log(1 / noise)]])
            for noise, k1 in ((1e-4, 100.0), (1e-2, 100.0), (1.0, slow))
        ]

    assert [c.holds for c in fig3.judge(cells(1000.0, 10.0))] == [True] * 3
    assert [c.holds for c in fig3.judge(cells(1e4, 40.0))] == [False] * 3


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_noise_level_that_never_arrives_is_not_judged(place):
    nan = float("nan")
    counts = [[100.0, 100.0, 10 * np.log(1 / noise)] for noise in (1e-4, 1e-2, 1.0)]
    counts[2][0] = 1000.0
    counts[place] = [nan] * 3
    made = [fig3.summary(5000, 10, s, [c]) for s, c in zip((1e-4, 1e-2, 1.0), counts)]
    claims = fig3.judge(made)
    # K_2 is looked at up to 1e-2, and the slowdown compares the ends.
    assert [c.holds for c in claims] == [
        None, True if place == 2 else None, True if place == 1 else None
    ]  # fmt: skip
    assert "unknown" in claims[0].measured


def record(theorem=4, step="eq. (8)", above=0.0, ratio=1.0, phase="zeta >= 1/2"):
    return {"noise": 0.1, "phase": phase, "measured": ratio, "promised": 1.0, "ratio": ratio,
            "theorem": theorem, "step": step, "errors_above": above}  # fmt: skip


def test_progress_is_judged_against_the_promise():
    above = {(4, "eq. (8)"): 1.0, (4, "the oracle"): -2.9, (5, "eq. (8)"): -5.0,
             (5, "the oracle"): -3.7}  # fmt: skip
    claims = list(fig1.bound_claims([record(*key, value) for key, value in above.items()]))
    assert [c.holds for c in claims] == [True, True, False, None]
    assert ["too close" in c.measured for c in claims] == [False, False, False, True]


def test_a_bound_is_tight_loose_broken_or_unclear():
    def word(*pairs):
        return fig1.tightness([record(above=a, ratio=r) for a, r in pairs])[0]

    assert word((0.5, 1.2), (-1.5, 0.87)) == "tight"
    assert word((0.5, 1.2), (9.0, 2.1)) == "loose"
    assert word((0.5, 1.2), (-10.0, 0.52)) == "broken"
    assert word((9.0, 3.0), (-10.0, 0.99)) == "broken"  # also where it is loose elsewhere
    assert word((0.5, 1.2), (-2.0, 0.52)) == "unclear"
    assert word((0.5, 1.2), (-4.0, 0.9)) == "unclear"
    assert word((0.0, np.nan)) == word() == "unclear"


def test_the_verdict_says_which_theorem_is_what():
    claims = list(fig1.tight_claims([
        record(4, ratio=9.0, phase="zeta < 1/2"), record(4, ratio=0.5, above=-9.0),
        record(5, ratio=9.0, phase="zeta < 1/2"),  # of which the paper claims nothing
    ]))  # fmt: skip
    assert [c.holds for c in claims] == [False, False, None]
    assert fig1.line_of(claims) == (
        "loose: Theorem 4 before zeta = 1/2; broken: Theorem 4 from zeta = 1/2; "
        "unclear: Theorem 5 from zeta = 1/2"
    )


def test_arrivals_are_judged_from_both_sides():
    def judged(*pairs):
        return [c.holds for c in fig1.arrival_claims(dict(zip((0.0, 1e-5, 1.0), pairs)))]

    assert judged((100.0, 150.0), (101.0, 150.0), (400.0, 700.0)) == [True, True]
    assert judged((100.0, 1500.0), (201.0, 1500.0), (110.0, 700.0)) == [False, False]
    assert judged((100.0, 40.0), (101.0, 150.0), (400.0, 700.0))[0] is False
    never = (np.inf, 700.0)
    assert judged((100.0, 150.0), (101.0, 150.0), never) == [None, None]
    assert judged(never, (101.0, 150.0), (400.0, 700.0)) == [None, None]
    assert judged((100.0, 1500.0), (101.0, 150.0), never) == [False, None]
    assert judged((100.0, np.inf), (101.0, 150.0), (400.0, 700.0))[0] is False
