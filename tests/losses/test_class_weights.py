import numpy as np
import pytest

from veilspan.losses.class_weights import ClassWeighted
from veilspan.losses.linear import Logistic, Multinomial, SmoothedHinge


@pytest.mark.parametrize("loss", [Logistic(), SmoothedHinge(0.3)], ids=lambda loss: loss.name)
def test_two_classes(loss):
    weighted = ClassWeighted(loss, (0.5, 3.0))
    u = np.linspace(-3, 3, 13)
    for y, weight in ((-1.0, 0.5), (1.0, 3.0)):
        targets = np.full(13, y)
        for part in ("value", "slope", "curvature"):
            ours, plain = (getattr(each, part)(u, targets) for each in (weighted, loss))
            np.testing.assert_allclose(ours, weight * plain)
    assert weighted.slope_bound == 3.0 * loss.slope_bound
    assert weighted.smoothness == 3.0 * loss.smoothness
    assert weighted.name == f"weighted {loss.name}"


def test_several_classes():
    loss = Multinomial(3)
    weighted = ClassWeighted(loss, (0.5, 1.0, 3.0))
    u, y = np.random.default_rng(0).normal(size=(9, 3)), np.arange(9) % 3
    factors = np.array([0.5, 1.0, 3.0])[y]
    np.testing.assert_allclose(weighted.value(u, y), factors * loss.value(u, y))
    np.testing.assert_allclose(weighted.slope(u, y), factors[:, None] * loss.slope(u, y))
    assert (np.linalg.norm(weighted.slope(50 * u, y), axis=1) <= weighted.slope_bound).all()
    assert weighted.n_outputs == 3
