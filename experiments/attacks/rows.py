"""Adversarial rows, replayed: nothing but charged answers may leave, within the budget."""

import random

import veilspan
from veilspan.audit.api import make_seeded_fit
from veilspan.audit.game import no_simulation_warnings
from veilspan.audit.inputs import pairs_for
from veilspan.audit.replay import replay
from veilspan.geometry import SPD, Ball
from veilspan.solvers.linear.gradient_descent import GradientDescent

from .outcome import Outcome

_BALL = Ball.from_eigenvalues(SPD(2), 0.1, 10.0)
_CLASSES = {"row_norm": 1.0, "classes": [0, 1]}


def estimators(neighbors):
    """One of every family, with small settings."""
    more = {"epsilon": 1.0, "neighbors": neighbors}
    yield veilspan.PCA(1, **more)
    yield veilspan.RobustPCA(1, **more)
    yield veilspan.FrechetMean(_BALL.manifold, ball=_BALL, **more)
    yield veilspan.MatrixCompletion(rating_range=(1, 5), max_ratings_per_user=4, **more)
    yield veilspan.LogisticRegression(**_CLASSES, **more)
    yield veilspan.LogisticRegression(**_CLASSES, solver=GradientDescent(3), **more)
    yield veilspan.LinearRegression(row_norm=1.0, target_range=(-1, 1), **more)
    if neighbors == "replace-one":
        yield veilspan.SubspaceTracker(1, block_size=20, **more)


def replays(count, seed, made=estimators):
    """Pairs of tables that differ in one extreme row, dealt over all estimators."""
    rng, outcome, answers = random.Random(seed), Outcome(), 0
    cases = [
        (model, pair)
        for neighbors in ("replace-one", "add-remove")
        for model in made(neighbors)
        for pair in pairs_for(model, sizes=(5, 40))
    ]
    with no_simulation_warnings():
        for model, pair in rng.sample(cases, min(count, len(cases))):
            fit = make_seeded_fit(model)
            found = replay(lambda table, fit=fit: fit(table, 0), pair.one, pair.two)
            answers += found.questions
            name = f"{type(model).__name__} ({model.neighbors}), {pair.name}"
            outcome.count(f"{name}: {found.findings[0]}" if found.findings else "")
    outcome.note = f"{answers:,} answers compared, noise measured in each"
    return outcome
