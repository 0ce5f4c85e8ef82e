"""Error bars are computed after the charge: they must never cost a fit that was paid for."""

import numpy as np
import pytest

from veilspan import LinearRegression
from veilspan.estimators.noise import coefficient_noise

pytestmark = pytest.mark.filterwarnings("ignore::veilspan.NotPrivateWarning")

PUBLIC = {"feature_range": (-1, 1), "target_range": (-1, 1), "delta": 1e-6}


@pytest.mark.parametrize("seed", range(8))
def test_columns_that_repeat_each_other_keep_their_fit(seed):
    y = np.sign(np.random.default_rng(seed).standard_normal(3000))
    model = LinearRegression(solver="newton", epsilon=5.0, random_state=seed, **PUBLIC)
    model.fit(np.ones((3000, 2)), y)
    assert np.isfinite(model.coef_bars()).all()


@pytest.mark.parametrize("seed", range(4))
def test_residuals_that_are_all_cut_have_no_sampling(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-1, 1, (60, 90)), np.sign(rng.standard_normal(60))
    model = LinearRegression(epsilon=20.0, random_state=seed, **PUBLIC).fit(x, y)
    assert np.isfinite(model.coef_).all()
    if "coef_sampling_" not in vars(model):
        assert "no sampling" in model.coef_sampling_told_


def test_algebra_that_fails_costs_the_bars_alone(monkeypatch):
    def fail(noise):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(coefficient_noise, "find_sampling", fail)
    x = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    model = LinearRegression(epsilon=1.0, random_state=0, **PUBLIC).fit(x, x[:, 0])
    assert np.isfinite(model.coef_).all()
    assert model.coef_noise_told_ == coefficient_noise.NO_INVERSE
    with pytest.raises(AttributeError, match="no error bars"):
        model.coef_bars()
