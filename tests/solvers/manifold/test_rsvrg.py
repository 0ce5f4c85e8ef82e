"""DP-RSVRG: what it asks, how it splits the budget, and that it descends."""

import math

import numpy as np
import pytest

from geometry.cases import WITH_LOG, rng, tangent
from solvers.manifold.runs import run
from veilspan import (
    RGD,
    RSVRG,
    Budget,
    FrechetLoss,
    GaussianEvent,
    LeadingSubspace,
    SampledGaussianEvent,
)
from veilspan.curator.tape import fingerprint
from veilspan.geometry import Euclidean, Sphere
from veilspan.privacy.events import with_noise
from veilspan.privacy.noise import SeededNoise
from veilspan.solvers.manifold import rsvrg
from veilspan.solvers.manifold.rsvrg import best_share

SHARE = {"anchor_share": 0.5}


def points_around(m, count=20, length=0.4):
    center = m.random_point(rng(7))
    base = np.broadcast_to(center, (count, *center.shape))
    return center, m.exp(base, tangent(m, base, 1, length))


@pytest.mark.parametrize(("epochs", "inner", "restarts"), [(1, 1, 1), (3, 4, 1), (2, 3, 2)])
def test_the_anchor_is_noised_once_an_epoch(epochs, inner, restarts):
    solver = RSVRG(epochs, inner, 0.5, restarts=restarts, **SHARE)
    start, rows = points_around(Sphere(4))
    _, spent, tape = run(solver, FrechetLoss(Sphere(4)), rows, start, noise=0.7)
    anchors = epochs * restarts
    assert spent == (
        GaussianEvent("anchor", 0.7, anchors),
        SampledGaussianEvent("step", 0.5, 0.7, anchors * inner),
    )
    asked = [(entry.question.query, entry.question.event[0]) for entry in tape.entries]
    epoch = [("TangentGradient", "anchor")] + [("GradientDifference", "step")] * inner
    assert asked == epoch * anchors


def test_the_two_kinds_of_question_have_bounds_of_their_own():
    solver = RSVRG(1, 2, 0.5, difference_clip=0.2, **SHARE)
    start, rows = points_around(Sphere(4))
    _, _, tape = run(solver, FrechetLoss(Sphere(4)), rows, start, noise=0.7, bound=3.0)
    np.testing.assert_allclose([e.question.bound for e in tape.entries], [3.0, 0.6, 0.6])


@pytest.mark.parametrize("name", WITH_LOG)
def test_one_inner_step_without_noise_is_a_full_gradient_step(name):
    """At the anchor the difference is zero, whatever was sampled."""
    m = WITH_LOG[name]
    start, rows = points_around(m)
    solver = RSVRG(epochs=3, inner_steps=1, batch_rate=0.3, step=0.5, **SHARE)
    reduced, _, _ = run(solver, FrechetLoss(m), rows, start)
    plain, _, _ = run(RGD(steps=3, step=0.5), FrechetLoss(m), rows, start)
    assert m.separation(reduced.point, plain.point) < 1e-12


def test_in_flat_space_the_differences_do_not_depend_on_the_row():
    """grad f(w; z) - grad f(a; z) = w - a, so with nearly all rows it is descent on the mean."""
    rows = rng(0).standard_normal((50, 3))
    solver = RSVRG(epochs=1, inner_steps=5, batch_rate=1 - 1e-12, step=0.5, **SHARE)
    reduced, _, _ = run(solver, FrechetLoss(Euclidean(3)), rows, np.ones(3))
    plain, _, _ = run(RGD(steps=5, step=0.5), FrechetLoss(Euclidean(3)), rows, np.ones(3))
    np.testing.assert_allclose(reduced.point, plain.point, atol=1e-10)


def test_sampling_noise_vanishes_near_the_anchor():
    """What variance reduction is for: nearer to the minimum than plain samples of that size."""
    rows = rng(1).standard_normal((4000, 5)) * [0.8, 0.3, 0.2, 0.1, 0.1]
    loss, start = LeadingSubspace(Sphere(5), 4.0), np.ones(5) / math.sqrt(5)
    solver = RSVRG(epochs=8, inner_steps=5, batch_rate=0.05, step=1.0, difference_clip=3.0, **SHARE)
    result, _, _ = run(solver, loss, rows, start, bound=8.0)
    leading = np.linalg.eigh(rows.T @ rows)[1][:, -1]
    assert 1 - abs(result.point @ leading) < 1e-12  # rounding is left


@pytest.mark.parametrize("restarts", [1, 3])
def test_outputs_one_and_two(restarts):
    """The last anchor, or an iterate chosen before the run; noise and questions are the same."""
    start, rows = points_around(Sphere(4))
    settings = {"epochs": 3, "inner_steps": 4, "batch_rate": 0.5, "restarts": restarts, **SHARE}
    last, _, first_tape = run(RSVRG(**settings), FrechetLoss(Sphere(4)), rows, start, noise=0.5)
    drawn, _, tape = run(
        RSVRG(**settings, output="random"), FrechetLoss(Sphere(4)), rows, start, noise=0.5
    )
    assert len(tape.entries) == len(first_tape.entries) == restarts * 3 * 5
    assert len(last.trace) == restarts * 12
    if restarts == 1:
        for one, two in zip(first_tape.entries, tape.entries):
            np.testing.assert_array_equal(one.given, two.given)
    assert not np.array_equal(last.point, drawn.point)


@pytest.mark.parametrize("seed", range(8))
def test_the_iterate_is_drawn_by_coins_tossed_before_the_first_answer(seed):
    start, rows = points_around(Euclidean(2))
    solver = RSVRG(1, 6, 0.5, step=0.5, output="random", **SHARE)
    found, _, tape = run(solver, FrechetLoss(Euclidean(2)), rows, start, noise=1.0, seed=seed)
    chosen = int(SeededNoise(seed).coins("iterates").integers(6))
    visited = [e.question.point for e in tape.entries if e.question.event[0] == "step"]
    assert visited.index(fingerprint((found.point, start))) == chosen


@pytest.mark.parametrize("joint", [-0.6, 0.0, 0.6])
@pytest.mark.parametrize("clip", [0.05, 0.3, 2.0])
@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"])
def test_the_chosen_share_has_the_least_noise(neighbors, clip, joint, monkeypatch):
    """Against a fine grid of shares, with an accountant made up for it: z_k ~ 1 / sqrt(share_k).

    ``joint`` makes the common factor depend on the split, so that the formula alone is not enough.
    """
    rate = 0.1
    events = (GaussianEvent("anchor", count=2), SampledGaussianEvent("step", rate, count=6))
    alone = {"anchor": 3.0, "step": 0.8}

    def accountant(budget, chosen, *, neighbors, weights):
        factor = math.exp(joint * weights[0] / sum(weights))
        return [
            with_noise(e, factor * alone[e.name] * math.sqrt(sum(weights) / w))
            for e, w in zip(chosen, weights)
        ]

    def variance(share):
        noisy = accountant(None, events, neighbors=neighbors, weights=(share, 1 - share))
        sensitivities = (2.0 if neighbors == "replace-one" else 1.0, clip / rate)
        return sum((e.noise_multiplier * d) ** 2 for e, d in zip(noisy, sensitivities))

    monkeypatch.setattr(rsvrg, "calibrate_noise", accountant)
    chosen = best_share.__wrapped__(Budget(2.0, 1e-6), events, neighbors, clip)
    least = min(variance(share) for share in np.linspace(0.01, 0.99, 981))
    assert variance(chosen) <= 1.002 * least


def test_the_share_of_nearly_full_batches_has_a_closed_form():
    """z_1^2 D_0^2 / s + z_2^2 D_1^2 / (1 - s) is least at z_1 D_0 / (z_1 D_0 + z_2 D_1)."""
    budget, clip = Budget(1.0, 1e-6), 0.25
    events = (GaussianEvent("anchor", count=1), SampledGaussianEvent("step", 0.999, count=9))
    # Full batches of sensitivity 1 under add-remove: z_1 : z_2 = 1 : 3, D_1 = 0.25.
    expected = 1 / (1 + 3 * 0.25)
    assert best_share(budget, events, "add-remove", clip) == pytest.approx(expected, rel=1e-3)


def test_without_privacy_no_share_is_searched():
    events = (GaussianEvent("anchor"), SampledGaussianEvent("step", 0.5))
    assert best_share(Budget(math.inf, 1e-6), events, "replace-one", 0.3) == 0.5


@pytest.mark.parametrize(
    "settings",
    [
        {"epochs": 0},
        {"inner_steps": 1.5},
        {"restarts": 0},
        {"batch_rate": 1.0},
        {"difference_clip": 0.0},
        {"anchor_share": 1.0},
        {"output": "best"},
    ],
    ids=str,
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        RSVRG(**settings)
