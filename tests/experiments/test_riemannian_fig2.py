"""What DP-RSVRG costs: units, the closed form, and the small run of the figure."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.riemannian import fig2 as figure
from experiments.riemannian import rsvrg_costs as fig2
from veilspan.privacy.accounting import CERTIFY, epsilon_spent

alphas = st.floats(0.01, 0.99)
sigmas = st.floats(0.01, 1.0)


@given(alphas, sigmas)
def test_multipliers_hold_the_sensitivities_of_claim_3(alpha, sigma):
    mean, inner = fig2.events_of("printed", 1, sigma, alpha)
    # Moments l (l + 1) / (2 z^2), there 2 C_0^2 / (n^2 sigma_1^2) and 8 C_1^2 / sigma_2^2.
    full = 2 * 0.1**2 / (1e5**2 * alpha * sigma**2)
    assert 1 / (2 * mean.noise_multiplier**2) == pytest.approx(full)
    replaced = inner.noise_multiplier / 2  # two opposite rows are twice one row's norm apart
    assert 1 / (2 * replaced**2) == pytest.approx(8 * 0.01**2 / ((1 - alpha) * sigma**2))
    assert (mean.count, inner.count) == (10_000, 10_000)


@given(alphas, sigmas)
def test_a_clipped_difference_is_half_as_long(alpha, sigma):
    _, printed = fig2.events_of("printed", 3, sigma, alpha)
    mean, ours = fig2.events_of("ours", 3, sigma, alpha)
    assert ours.noise_multiplier == pytest.approx(2 * printed.noise_multiplier)
    assert (mean.count, ours.count) == (3, 30_000)


@given(alphas, sigmas)
def test_noise_once_an_epoch_saves_nothing_at_equal_noise_of_an_epoch(alpha, sigma):
    printed, _ = fig2.events_of("printed", 7, sigma, alpha)
    once, _ = fig2.events_of("once", 7, sigma / math.sqrt(fig2.INNER_STEPS), alpha)
    assert once.mu == pytest.approx(printed.mu)
    assert fig2.epoch_noise("printed", alpha) == pytest.approx(1)
    # One draw of variance alpha / m used m times adds up to what m draws of variance alpha do.
    share = fig2.epoch_noise("once", alpha) ** 2 - (1 - alpha)
    assert share / fig2.INNER_STEPS == pytest.approx(alpha)


def test_the_renyi_bound_gives_what_the_paper_prints():
    assert fig2.one_row_epsilon("printed", 100, 0.05, 0.5) == pytest.approx(0.659, abs=0.002)
    assert fig2.one_row_epsilon("printed", 50, 0.05, 0.5) == pytest.approx(0.642, abs=0.002)
    assert fig2.one_row_epsilon("printed", 100, 0.05, 0.23) == pytest.approx(0.467, abs=0.002)


def test_dp_accounting_does_not_double_a_gaussian_for_replace_one():
    """Why sensitivities are put in whole: the relation changes nothing."""
    from dp_accounting import GaussianDpEvent, NeighboringRelation
    from dp_accounting.rdp import RdpAccountant

    costs = set()
    for relation in (NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE):
        accountant = RdpAccountant(neighboring_relation=relation)
        accountant.compose(GaussianDpEvent(5.0))
        costs.add(accountant.get_epsilon(1e-6))
    assert len(costs) == 1


@pytest.mark.parametrize("scheme", ["printed", "once", "ours"])
def test_the_figure_composes_as_the_library_does(scheme):
    events = fig2.events_of(scheme, 5, 0.1, 0.3)
    own = fig2.poisson_epsilon(scheme, 5, 0.1, 0.3, cell=CERTIFY)
    assert own == pytest.approx(epsilon_spent(events, fig2.DELTA), rel=1e-4)
    # Rounding is pessimistic: fine cells never cost more.
    assert fig2.poisson_epsilon(scheme, 5, 0.1, 0.3) < own


def test_fine_cells_are_fine_enough():
    """Half the width changes epsilon by less than 2 %."""
    for scheme, sigma in (("printed", 0.05), ("once", 0.05), ("ours", 0.1)):
        events = fig2.events_of(scheme, 5, sigma, 0.2)
        cell = events[1].sampling_rate / (2 * events[1].noise_multiplier)
        half = fig2.poisson_epsilon(scheme, 5, sigma, 0.2, cell=cell / 2)
        assert fig2.poisson_epsilon(scheme, 5, sigma, 0.2) == pytest.approx(half, rel=0.02)


def test_alpha_is_found_from_near_and_from_far():
    def cost(alpha):
        return 1 / alpha + 400 / (1 - alpha)  # least at 1/21

    for near in (0.05, 0.9, 1e-4):
        alpha, lowest = fig2.best_alpha(cost, near)
        assert alpha == pytest.approx(1 / 21, rel=0.1)
        assert lowest == pytest.approx(441, rel=1e-3)


def test_leading_alpha_is_nearly_best_for_poisson_samples():
    for scheme in fig2.SCHEMES:
        start = fig2.leading_alpha(scheme)
        _, lowest, half = fig2.optimise(fig2.poisson_epsilon, scheme, 5, 0.1, start)
        assert fig2.poisson_epsilon(scheme, 5, 0.1, start) <= 1.005 * lowest < half


@given(st.floats(0.001, 0.999))
def test_the_closed_form_alpha_of_the_paper_is_right(alpha):
    best = fig2.CLAIM_5_ALPHA
    assert 2 / best + 28 / (1 - best) <= 2 / alpha + 28 / (1 - alpha) + 1e-9


def test_claim_4_is_not_stated_where_it_would_be_used():
    free, order = fig2.claim_4_epsilon(100, 0.05, 0.5)
    assert free == pytest.approx(0.319, abs=0.002)  # half of what the accountant gives
    printed = fig2.claim_4_largest_order(0.05, 0.5)
    unitless = fig2.claim_4_largest_order(0.05, 0.5, 16 * 0.01**2)
    assert printed < 1 < unitless < order / 10
    assert fig2.claim_4_epsilon(100, 0.05, 0.5, unitless)[0] > 5 * free


def made_summary(half, best, exact_half, exact_best):
    def cell(half, best):
        entry = {"alpha": 0.2, "epoch_noise": 2.0}
        return {"half": {**entry, "epsilon": half}, "best": {**entry, "epsilon": best}}

    exact = {s: cell(exact_half * f, exact_best * f) for s, f in (("printed", 1), ("ours", 0.5))}
    return {"sigma": 0.05, "epochs": 100, "at": {
        "one row": {"printed": cell(half, best)}, "Poisson": exact}}  # fmt: skip


EXTRA = {
    "agreeing_rows": 0.2, "poisson_at_the_paper_s_alpha": 0.3, "claim_4": {
        "epsilon": 0.3, "order": 80.0, "largest_order_printed": 0.01,
        "largest_order_without_units": 7.0, "epsilon_within": 2.0},
}  # fmt: skip


def test_verdicts_of_costs_can_go_either_way():
    poor = figure.claims(made_summary(0.66, 0.47, 0.22, 0.21), EXTRA)
    assert [claim.holds for claim in poor] == [True, False, False, False, True]
    closed = {**EXTRA, "claim_4": {**EXTRA["claim_4"], "order": 5.0}}
    good = figure.claims(made_summary(0.8, 0.47, 0.3, 0.2), closed)
    assert [claim.holds for claim in good] == [False, True, True, True, True]


def test_the_printed_clip_bounds_nothing():
    assert figure.printed_clip(0.5, 1.0) == 0.25  # short gradients get shorter
    assert figure.printed_clip(7.0, 1.0) == 7.0  # long ones stay
    costs = figure.costs(made_summary(0.66, 0.47, 0.22, 0.18), EXTRA)
    assert [cost.true for cost in costs] == [0.22, 0.3, math.inf]


def test_the_small_figure_writes_what_it_found(tiny_job, tmp_path, monkeypatch):
    def nearly_best(epsilon, scheme, epochs, sigma, near):  # the search is tested above
        return near, epsilon(scheme, epochs, sigma, near), epsilon(scheme, epochs, sigma, 0.5)

    monkeypatch.setattr(figure, "optimise", nearly_best)
    figure.run(tiny_job("riemannian-fig2"))
    record = json.loads((tmp_path / "riemannian-fig2.json").read_text())
    assert len(record["claims"]) == 5
    assert record["costs"][-1]["true"] == "inf"
    for schemes in record["facts"]["at"].values():
        best = [schemes[scheme]["best"]["epsilon"] for scheme in ("printed", "once", "ours")]
        assert best == sorted(best, reverse=True)
    assert (tmp_path / "riemannian-fig2.png").stat().st_size > 10_000
