"""The zoo is flagged, every animal every time; repaired twins and the library's own code pass.

False alarms: replays and computed covariances have none; the five games of the zoo have 2e-8 each.
"""

import dataclasses

import numpy as np
import pytest

from audit.replay_cells import CELLS
from audit.zoo import noise
from audit.zoo.samplers import BALL, BURES, FAR_POINT, exact_bures
from audit.zoo.specimens import SPECIMENS, examine
from experiments.riemannian.printed_samplers import find_variance_range
from veilspan.audit.replay import replay
from veilspan.curator.curator import Curator
from veilspan.curator.query import RowQuery
from veilspan.queries.moments import SecondMoment

GAMES = [name for name, specimen in SPECIMENS.items() if specimen.kind == "game"]


@pytest.mark.parametrize("name", SPECIMENS)
def test_the_broken_one_is_flagged(name):
    assert examine(name)


@pytest.mark.parametrize("name", SPECIMENS)
def test_the_repaired_one_passes(name):
    assert examine(name, repaired=True) == ()


def test_a_finding_says_what_was_seen_on_which_tables():
    found = examine("len(X) as a divisor")
    assert found[0] == "n = 2, huge: output is not a function of the answers alone."


@pytest.mark.parametrize("name", GAMES)
def test_a_game_flags_whatever_its_seed(name):
    assert all(examine(name, seed=seed) for seed in range(1, 6))


def test_the_zoo_shares_its_error():
    assert sum(specimen.false_alarm for specimen in SPECIMENS.values()) <= 1e-7 * (1 + 1e-9)


def test_every_specimen_says_what_is_wrong():
    for name, specimen in SPECIMENS.items():
        assert len(specimen.why) > 20, name
        assert specimen.source, name
        assert "\n" not in specimen.why


def test_wishart_noise_gives_itself_away_as_often_as_computed():
    """P[M - A' not PSD] = 1 - exp(-epsilon/3) for a row that was added (6 standard errors)."""
    runs, rng = 8000, np.random.default_rng(5)
    table, other = noise.WISHART_PAIR
    scores = noise.below_second_table(noise.wishart_moment(table, runs, rng))
    expected = 1 - np.exp(-1 / 3)
    assert abs(np.mean(scores < -1e-12) - expected) < 6 * np.sqrt(expected / runs)
    under_second = noise.wishart_moment(other, 500, rng)
    assert np.all(noise.below_second_table(under_second) > -1e-12)


def test_tiny_tables_are_what_finds_early_stops():
    """In larger ones no single row decides when the loss is small."""
    assert {text.split(",")[0] for text in examine("early stopping on the loss")} == {"n = 2"}


def test_covariances_of_samplers():
    def doubled(w, normals):
        return 2 * exact_bures(w, normals)

    assert find_variance_range(exact_bures, BURES, np.diag([3.0, 0.1])) == pytest.approx((1, 1))
    assert find_variance_range(doubled, BURES, np.eye(2)) == pytest.approx((4, 4))
    assert find_variance_range(BALL.from_coordinates, BALL, FAR_POINT) == pytest.approx((1, 1))


# ---------------------------------------------------------------- the same faults in our own code


def cells_named(*names):
    found = [cell for cell in CELLS if cell.name in names]
    assert len(found) == len(names)  # a renamed cell must not drop out in silence
    return found


def flagged(cell, relation):
    """Whether a replay of any pair of the cell finds something."""
    return any(
        not replay(lambda rows: cell.fit(rows, relation), pair.one, pair.two).ok
        for pair in cell.pairs(relation)
    )


OURS = cells_named(
    "PCA", "RobustPCA, ggd", "LogisticRegression, gd", "LinearRegression, statistics",
    "FrechetMean, rgd, spd", "minimize, rgd, leading on the sphere", "SubspaceTracker",
)  # fmt: skip
replayed = pytest.mark.parametrize("cell", OURS, ids=lambda cell: cell.name)
quiet = pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning")


@quiet
@replayed
def test_answers_without_noise_are_seen_in_every_estimator(cell, monkeypatch):
    monkeypatch.setattr(Curator, "_release", lambda self, exact, *rest: exact)
    assert flagged(cell, "replace-one")


@quiet
@replayed
def test_a_sensitivity_of_a_third_is_seen_in_every_estimator(cell, monkeypatch):
    for kind in queries():
        if "sensitivity" in vars(kind):
            monkeypatch.setattr(kind, "sensitivity", third(kind.sensitivity))
    assert flagged(cell, "replace-one")


def queries(kind=RowQuery):
    yield kind
    for below in kind.__subclasses__():
        yield from queries(below)


def third(honest):
    return lambda self, neighbors: honest(self, neighbors) / 3


@quiet
@pytest.mark.parametrize("cell", cells_named("PCA", "PCA, private centre"), ids=lambda c: c.name)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_skipped_clipping_is_seen(cell, relation, monkeypatch):
    monkeypatch.setattr(
        "veilspan.curator.rows.clip_weights", lambda norms, bound: np.ones_like(norms)
    )
    assert flagged(cell, relation)


@quiet
@pytest.mark.parametrize(
    ("name", "place"), [("PCA", "unbounded.stretched_pca"), ("PCA, private centre", "base")]
)
def test_a_number_of_rows_that_is_not_asked_for_is_seen(name, place, monkeypatch):
    """Under add-remove a curator that tells the number of rows tells it exactly."""
    (cell,) = cells_named(name)
    monkeypatch.setattr(
        f"veilspan.solvers.subspace.{place}.count_rows",
        lambda curator: float(curator._rows.n_rows),
    )
    assert flagged(cell, "add-remove")


@quiet
def test_exact_centring_is_seen(monkeypatch):
    honest = SecondMoment.prepare
    monkeypatch.setattr(
        SecondMoment,
        "prepare",
        lambda self, block, point: honest(
            self, dataclasses.replace(block, x=block.x - block.x.mean(axis=0)), point
        ),
    )
    (cell,) = cells_named("PCA")
    assert flagged(cell, "replace-one")
