r"""AdaSSP, BoostedAdaSSP and TukeyEM as their papers print them, for regressions.

Neighbours of the first two add or remove a row, where half of the noise of replace-one is enough:
they are given that advantage here. Rows x have length at most 1 (the schema's encoding over its
longest row, with a constant column) and targets lie in [-1, 1].
"""

import math

import numpy as np

from veilspan import Budget
from veilspan.tables.columns import NumberColumn

from . import sets
from .tukey import fit_parts, tukey_em

ADA, BOOSTED, TUKEY = "AdaSSP", "BoostedAdaSSP", "TukeyEM"
FAILURE = 0.05  # rho: probability that the ridge is too small
ROUNDS = (5, 25, 100)  # of boosting: the best by the test rows is shown, in the rival's favour
#: Fits of TukeyEM, and the best by the test rows is shown: its paper advises 1,000, and at least as
#: many rows as columns for each.
FITS = (250, 500, 1_000, 2_000)
REFUSED = 0.0  # R^2 where TukeyEM refuses: that of the exact mean, in its favour


def symmetric_noise(rng, size):
    """One normal for each entry on and above the diagonal."""
    upper = np.triu(rng.standard_normal((size, size)))
    return upper + np.triu(upper, 1).T


def ada_ssp(x, y, epsilon, delta, rng):
    """Wang (2018), Algorithm 2: a third of epsilon each for lambda_min, X^T X and X^T y."""
    size, third = x.shape[1], epsilon / 3
    log = math.log(6 / delta)
    noise = math.sqrt(log) / third
    gram = x.T @ x
    least = np.linalg.eigvalsh(gram)[0] + noise * rng.standard_normal() - log / third
    spread = math.sqrt(size * log * math.log(2 * size**2 / FAILURE)) / third
    ridge = max(0.0, spread - max(least, 0.0))
    noisy = gram + noise * symmetric_noise(rng, size)
    products = x.T @ y + noise * rng.standard_normal(size)
    return np.linalg.solve(noisy + ridge * np.eye(size), products)


def boosted_ada_ssp(x, y, epsilon, delta, rounds, rng):
    """Tang, Aydore, Kearns, Rho, Roth, Wang, Wang & Wu (2023): boosted, with GDP accounting.

    A third of mu^2 each for lambda_min, X^T X, and all rounds of X^T r together; residuals r are
    cut to [-1, 1] before each round; the Gram matrix and the ridge are shared by the rounds.
    """
    size, mu = x.shape[1], Budget(epsilon, delta).mu / math.sqrt(3)
    gram = x.T @ x
    least = max(np.linalg.eigvalsh(gram)[0] + rng.standard_normal() / mu, 0.0)
    ridge = max(0.0, math.sqrt(size * math.log(2 * size**2 / FAILURE)) / mu - least)
    noisy = gram + symmetric_noise(rng, size) / mu + ridge * np.eye(size)
    theta = np.zeros(size)
    for _ in range(rounds):
        rest = np.clip(y - x @ theta, -1.0, 1.0)
        products = x.T @ rest + math.sqrt(rounds) / mu * rng.standard_normal(size)
        theta = theta + np.linalg.solve(noisy, products)
    return theta


def number_places(schema):
    """Places of the columns of numbers among the encoded ones."""
    numbers = {c.name for c in schema.features if isinstance(c, NumberColumn)}
    return [place for place, name in enumerate(schema.columns_out) if name in numbers]


def rows_of(task, numbers_alone=False):
    """Encoded rows in the unit ball with a constant, and targets in [-1, 1]; train and test."""
    low, high = task.schema.target_range
    middle, half = (low + high) / 2, (high - low) / 2
    length = task.schema.row_norm
    made = []
    for part in (task.train, task.test):
        encoded = task.schema.encode(part)
        constant = np.full((len(encoded.x), 1), 0.3 * length)
        chosen = encoded.x[:, number_places(task.schema)] if numbers_alone else encoded.x
        rows = np.hstack([chosen, constant]) / (length * math.hypot(1, 0.3))
        made.append((rows, (encoded.y - middle) / half))
    return made


def fit_tukey(rows, rng):
    """Fits of TukeyEM for each number of them that the rows are enough for."""
    (x, y), _ = rows
    return [fit_parts(x, y, count, rng) for count in FITS if len(x) >= count * x.shape[1]]


def best_tukey(shapes, epsilon, delta, rng):
    """R^2 of TukeyEM: the best over numbers of fits, on all columns or on the numbers alone."""
    found = [REFUSED]
    for (_, (new, wanted)), tried in shapes:
        for fits in tried:
            theta = tukey_em(fits, epsilon, delta, rng)
            if theta is not None:
                found.append(r2(wanted, new @ theta))
    return max(found)


def scores(task, epsilons, delta, seed):
    """R^2 on the test rows of each method, by name, at each epsilon."""
    rows = rows_of(task)
    (x, y), (new, wanted) = rows
    rng = np.random.default_rng([21, seed])
    few = rows_of(task, numbers_alone=True)
    shapes = [(each, fit_tukey(each, rng)) for each in (rows, few)]
    found = []
    for epsilon in epsilons:
        boosted = [boosted_ada_ssp(x, y, epsilon, delta, rounds, rng) for rounds in ROUNDS]
        found.append({
            ADA: r2(wanted, new @ ada_ssp(x, y, epsilon, delta, rng)),
            BOOSTED: max(r2(wanted, new @ theta) for theta in boosted),
            TUKEY: best_tukey(shapes, epsilon, delta, rng),
        })  # fmt: skip
    return found


def ask_rivals(folder, case, epsilons, delta):
    """The same of a case (task, draw, rows, seed); classes are none of their business."""
    name, draw, rows, seed = case
    task = sets.make_task(name, folder, draw, seed, rows)
    return [] if task.is_classes else scores(task, epsilons, delta, seed)


def r2(wanted, told):
    """Coefficient of determination of predictions cut to the range of targets."""
    rest = np.sum((wanted - np.clip(told, -1, 1)) ** 2)
    return float(1 - rest / np.sum((wanted - wanted.mean()) ** 2))
