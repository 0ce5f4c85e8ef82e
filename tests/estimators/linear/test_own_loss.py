"""HuberRegressor(loss=...): another loss of residuals, and who may minimise it."""

import numpy as np
import pytest

from veilspan import HuberRegressor
from veilspan.losses.linear import Huber, Logistic, Quantile
from veilspan.losses.nonconvex import Biweight

pytestmark = pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")
SAID = {"feature_range": (-1, 1), "target_range": (-2, 2), "random_state": 0}


def contaminated(count=6000):
    """A line of which a third of the rows have the target 2."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-1, 1, (count, 3))
    y = x @ [0.6, -0.4, 0.2]
    y[: count // 3] = 2.0
    return x, y


def test_far_targets_do_not_count():
    x, y = contaminated()
    clean = x @ [0.6, -0.4, 0.2]
    robust = HuberRegressor(loss=Biweight(0.5), epsilon=5.0, **SAID).fit(x, y)
    usual = HuberRegressor(epsilon=5.0, **SAID).fit(x, y)
    assert robust.score(x, clean) > 0.99 > 0.95 > usual.score(x, clean)
    assert robust.plan_.decisions["loss"] == "biweight"
    assert "gd" in robust.plan_.method


def test_a_quantile_needs_no_other_solver():
    x, y = contaminated()
    high = HuberRegressor(loss=Quantile(0.9), epsilon=np.inf, **SAID).fit(x, y)
    low = HuberRegressor(loss=Quantile(0.1), epsilon=np.inf, **SAID).fit(x, y)
    assert high.predict(x).mean() > low.predict(x).mean() + 0.5


@pytest.mark.parametrize("solver", ["newton", "objective", "statistics", "svrg", "accmd"])
def test_what_rests_on_convexity_refuses(solver):
    x, y = contaminated(60)
    model = HuberRegressor(loss=Biweight(0.5), solver=solver, **SAID)
    with pytest.raises(ValueError, match=r'biweight loss is not convex.* use solver="gd"'):
        model.fit(x, y)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"loss": Biweight(0.5), "selection": ["gd", "sgd"]}, "without a selection"),
        ({"loss": Biweight(0.5), "features": "bins"}, 'features="linear"'),
        ({"loss": Biweight(0.5), "threshold": 1.0}, "threshold is that of Huber"),
        ({"loss": Logistic()}, "loss must be one of veilspan's losses of residuals"),
        ({"loss": "biweight"}, "loss must be one of veilspan's losses of residuals"),
    ],
)
def test_settings_that_do_not_fit(settings, words):
    x, y = contaminated(60)
    with pytest.raises(ValueError, match=words):
        HuberRegressor(**SAID, **settings).fit(x, y)


def test_the_default_is_what_it_was():
    x, y = contaminated(600)
    one = HuberRegressor(**SAID).fit(x, y)
    two = HuberRegressor(loss=None, **SAID).fit(x, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_what_only_looks_like_a_loss_is_refused():
    forged = type("Huber", (Huber,), {"__module__": "veilspan.losses.more"})(0.5)
    with pytest.raises(ValueError, match="one of veilspan's losses"):
        HuberRegressor(loss=forged, **SAID).fit(*contaminated(60))


def test_a_loss_that_was_changed_is_made_anew():
    narrowed = Biweight(0.5)
    object.__setattr__(narrowed, "width", 0.004)
    with pytest.raises(ValueError, match="width"):
        HuberRegressor(loss=narrowed, **SAID).fit(*contaminated(60))
    bent = Huber(0.5)
    object.__setattr__(bent, "slope", lambda u, y: 1e6 * (u - y))
    x, y = contaminated(600)
    one, two = (HuberRegressor(loss=loss, **SAID).fit(x, y) for loss in (bent, Huber(0.5)))
    np.testing.assert_array_equal(one.coef_, two.coef_)
