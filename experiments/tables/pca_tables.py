"""Tables for PCA of which nobody says a bound or a centre: columns as they come.

With ``--data`` those of ``fashion-mnist/`` and ``mnist/`` (60,000 training images of 784 pixels,
0 to 255), the ten numbers of ``covertype/covtype.npz`` and the seven of
``census-income-kdd/census-income.{data,test}.gz`` (its column 24, a weight of the sample, is left
out as its documentation asks). Without it two generated ones of the same kinds.
"""

import numpy as np

from ..riemannian.data import find_images, read_idx
from . import sets

IMAGES = {"fashion-mnist": "fashion-mnist", "mnist": "mnist"}


def far_from_the_origin(seed=0, n=60_000):
    """Twelve columns of different units: far from zero, correlated, one with a heavy tail."""
    rng = np.random.default_rng([seed, 1])
    factors = rng.standard_normal((n, 3)) * [3.0, 2.0, 1.0]
    mixed = factors @ rng.standard_normal((3, 12)) + 0.7 * rng.standard_normal((n, 12))
    units = 10.0 ** rng.uniform(-1, 2, 12)
    rows = units * (mixed + 5.0 * rng.standard_normal(12))
    rows[:, 0] = units.max() * rng.standard_exponential(n) ** 2
    return rows


def smooth_pictures(seed=0, n=20_000, side=12):
    """Pictures of three soft spots, 0 to 255: a mean that dominates, variances that fall."""
    rng = np.random.default_rng([seed, 2])
    grid = np.arange(side)
    rows = np.zeros((n, side, side))
    for _ in range(3):
        x, y = rng.uniform(2, side - 3, (2, n, 1))
        width = rng.uniform(1.5, 4.0, (n, 1))
        across = np.exp(-((grid - x) ** 2) / width**2)
        down = np.exp(-((grid - y) ** 2) / width**2)
        rows += rng.uniform(0.3, 1.0, (n, 1, 1)) * across[:, :, None] * down[:, None, :]
    return np.rint(255 * np.minimum(rows, 1)).reshape(n, -1)


GENERATED = {"far from the origin": far_from_the_origin, "smooth pictures": smooth_pictures}


def find_table(name, folder):
    """A table by its name, read or generated."""
    return GENERATED[name]() if name in GENERATED else read_table(name, folder)


def read_table(name, folder):
    """A table of real rows, as an array of floats in the units of its files."""
    if name in IMAGES:
        found = find_images(folder, IMAGES[name])
        return read_idx(found / "train-images-idx3-ubyte.gz").reshape(60_000, -1).astype(float)
    read, numbers = {
        "covertype": (sets.read_covertype, sets.COVERTYPE),
        "census": (sets.read_census, sets.CENSUS),
    }[name]
    columns = read(folder)
    return np.column_stack([np.asarray(columns[key], dtype=float) for key in numbers])
