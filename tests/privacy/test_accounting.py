import math

import dp_accounting
import numpy as np
import pytest

from veilspan import GaussianEvent, SampledGaussianEvent, delta_spent, epsilon_spent, privacy_curve
from veilspan.privacy.neighbors import RELATIONS
from veilspan.privacy.renyi import ORDERS, epsilon_renyi, renyi_divergences

STEP = SampledGaussianEvent("step", 0.01, 2.0, 2000)


def accountant_epsilon(event, relation, delta):
    accountant = dp_accounting.pld.PLDAccountant(relation)
    return accountant.compose(event).get_epsilon(delta)


def test_full_batch_composition_is_exact():
    events = [GaussianEvent("a", 5.0, 4), GaussianEvent("b", 10.0)]
    mu = math.sqrt(4 / 25 + 1 / 100)
    expected = dp_accounting.get_epsilon_gaussian(1 / mu, 1e-6)
    assert epsilon_spent(events, 1e-6) == pytest.approx(expected, rel=1e-6)


def test_full_batch_events_cost_the_same_under_both_relations():
    # The multiplier refers to the sensitivity under the relation, so the relation is inside it.
    events = [GaussianEvent("a", 5.0)]
    costs = {epsilon_spent(events, 1e-6, neighbors=relation) for relation in RELATIONS}
    assert len(costs) == 1


@pytest.mark.parametrize(
    ("neighbors", "relation"),
    [
        ("add-remove", dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE),
        ("replace-one", dp_accounting.NeighboringRelation.REPLACE_ONE),
    ],
)
def test_sampled_events_against_the_accountant(neighbors, relation):
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(2.0)), 2000
    )
    expected = accountant_epsilon(event, relation, 1e-6)
    assert epsilon_spent([STEP], 1e-6, neighbors=neighbors) == pytest.approx(expected, rel=1e-6)


def test_mixed_events_are_joined_not_added():
    start = GaussianEvent("start", 6.0)
    joint = epsilon_spent([start, STEP], 1e-6, neighbors="add-remove")
    alone = [epsilon_spent([event], 1e-6, neighbors="add-remove") for event in (start, STEP)]
    assert max(alone) < joint < 0.9 * sum(alone)
    event = dp_accounting.ComposedDpEvent(
        [
            dp_accounting.GaussianDpEvent(6.0),
            dp_accounting.SelfComposedDpEvent(
                dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(2.0)), 2000
            ),
        ]
    )
    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    assert joint == pytest.approx(accountant_epsilon(event, relation, 1e-6), rel=1e-6)


def test_a_gaussian_beside_a_sampled_step_keeps_its_own_sensitivity_under_replace_one():
    # dp-accounting would double the Gaussian's sensitivity; ours is already under the relation.
    tiny = SampledGaussianEvent("step", 1e-6, 50.0)
    joint = epsilon_spent([GaussianEvent("a", 5.0), tiny], 1e-6)
    # The step itself adds 2e-8.
    assert joint == pytest.approx(epsilon_spent([GaussianEvent("a", 5.0)], 1e-6), rel=1e-6)


@pytest.mark.parametrize("events", [[GaussianEvent("a", 3.0)], [STEP]])
def test_delta_and_epsilon_agree(events):
    epsilon = epsilon_spent(events, 1e-5)
    assert delta_spent(events, epsilon) == pytest.approx(1e-5, rel=1e-6)


def test_no_noise_means_no_guarantee():
    for event in (GaussianEvent("a", 0.0), SampledGaussianEvent("b", 0.5, 0.0)):
        assert epsilon_spent([event], 1e-6) == math.inf
        assert delta_spent([event], 5.0) == 1.0
        with pytest.raises(ValueError, match="without noise"):
            privacy_curve([event])
    assert epsilon_spent([], 1e-6) == 0.0


@pytest.mark.parametrize("events", [[GaussianEvent("a", 3.0)], [STEP]])
def test_the_curve_decreases(events):
    epsilons, deltas = privacy_curve(events, neighbors="add-remove")
    assert len(epsilons) == 101
    assert np.all(np.diff(deltas) <= 0)
    assert deltas[-1] <= 1.2e-9


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize("events", [[GaussianEvent("a", 3.0)], [STEP], [STEP, GaussianEvent("a")]])
def test_renyi_is_an_upper_bound_within_fifteen_percent(events, neighbors):
    exact = epsilon_spent(events, 1e-6, neighbors=neighbors)
    assert exact <= epsilon_renyi(events, 1e-6, neighbors=neighbors) <= 1.15 * exact


@pytest.mark.parametrize(("rate", "noise"), [(0.01, 2.0), (0.1, 1.0), (0.5, 4.0)])
def test_renyi_of_sampling_against_dp_accounting(rate, noise):
    accountant = dp_accounting.rdp.RdpAccountant(
        orders=[2.0, 3.0, 8.0, 16.0, 32.0],
        neighboring_relation=dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
    )
    accountant.compose(
        dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    )
    ours = renyi_divergences(
        [SampledGaussianEvent("s", rate, noise)],
        [2.0, 3.0, 8.0, 16.0, 32.0],
        neighbors="add-remove",
    )
    np.testing.assert_allclose(ours, accountant._rdp, rtol=1e-6)


def test_renyi_orders_ascend():
    assert np.all(np.diff(ORDERS) > 0)


def hockey_stick(u, v, rate, noise, c, half_width=9.0, points=1201):
    """H_c between (1-q) N(0) + q N(u) and (1-q) N(0) + q N(v) in the plane, by quadrature."""
    axis = np.linspace(-half_width * noise - 1, half_width * noise + 1, points)
    y = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)

    def density(mean):
        return np.exp(-np.sum((y - mean) ** 2, axis=-1) / (2 * noise**2)) / (2 * np.pi * noise**2)

    base = (1 - rate) * density(np.zeros(2))
    gap = base + rate * density(u) - c * (base + rate * density(v))
    return float(np.maximum(gap, 0).sum() * (axis[1] - axis[0]) ** 2)


@pytest.mark.parametrize("rate", [0.05, 0.5])
@pytest.mark.parametrize("noise", [0.7, 2.0])
@pytest.mark.parametrize("c", [0.8, 1.0, 1.3])
def test_opposite_rows_are_the_worst_pair_of_a_poisson_sample(rate, noise, c):
    """The lemma in accounting.py: no angle and no shorter row does worse than v = -u."""
    worst = hockey_stick(np.array([1.0, 0.0]), np.array([-1.0, 0.0]), rate, noise, c, points=401)
    for angle in (0.2, 1.0, 2.0, 2.8):
        for length in (0.5, 1.0):
            v = length * np.array([np.cos(angle), np.sin(angle)])
            value = hockey_stick(np.array([1.0, 0.0]), v, rate, noise, c, points=401)
            assert value <= worst + 1e-9  # both are sums over the same grid


def test_hardly_any_noise_is_accounted_in_little_memory():
    """Printed mini-batch noise of a published experiment: claimed 0.8, truly above 100,000."""
    step = SampledGaussianEvent("step", 0.01, 0.0109, 2000)
    epsilon = epsilon_spent([step], 0.0224)
    assert 1.1e5 < epsilon < 1.4e5
    assert epsilon_spent([SampledGaussianEvent("step", 0.01, 1e-4, 10)], 1e-6) > 1e8


@pytest.mark.long
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_coarser_cells_stay_upper_bounds_and_close(neighbors):
    above, below = (SampledGaussianEvent("s", 0.1, z, 5) for z in (0.2001, 0.1999))
    fine, coarse = (epsilon_spent([event], 1e-5, neighbors=neighbors) for event in (above, below))
    assert fine <= coarse <= fine * 1.01
