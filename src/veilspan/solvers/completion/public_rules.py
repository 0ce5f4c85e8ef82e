r"""What public numbers say of a table of ratings before it is read: sizes, norms, hopes.

* *Signal over edge.* With c ratings per item, a covariance of K items and rows clipped to C has its
  leading eigenvalue near C^2 g c, g being the share of one factor in the variance of a rating, and
  noise of std s = a C^2 / mu (a = 1 for add-remove, sqrt(2) for replace-one) reaches s sqrt(2 K):

      rho = g c mu / (a sqrt(2 K)).

  C cancels.
* *Noise of a bias.* Sums of rows clipped to a share k of a full row of typical deviations give a
  bias of an item with noise k h deviations, h = a' sqrt(xi) / (mu c), a' = 1 or 2. Clipping loses
  about (1 - k)^2 of it, so k falls as h grows.

The exponents were chosen by looking at Jester-1, at the 400 most rated films of MovieLens-1M and at
MovieLens-100k.
"""

from __future__ import annotations

import math

from veilspan.privacy.neighbors import Neighbors
from veilspan.solvers.completion.base import CompletionProblem

FILLED = 0.65  # public guess: a user has this share of the ratings that may be kept
# A row of the item statistics is clipped to k of a full row: k = 1 / (4 sqrt(h)) between two ends,
# or, where h is not known, one in between.
BIAS_NORM, LEAST_BIAS_NORM, MOST_BIAS_NORM, BLIND_BIAS_NORM = 0.25, 0.4, 1.2, 0.6
# A row of the covariance is clipped to 0.3 rho^(1/4) of a full row between two ends.
COVARIANCE_NORM, LEAST_COVARIANCE_NORM, MOST_COVARIANCE_NORM = 0.3, 0.35, 1.0
# A covariance is asked of 8 sqrt(n mu / a) items: noise reaches sqrt(2 K), and items that hardly
# anybody rates bring little else.
ITEMS_OF_COVARIANCE, LEAST_ITEMS, MOST_ITEMS = 8.0, 60, 2000


def expected_ratings(problem: CompletionProblem, users: float | None = None) -> float | None:
    """Guess of the ratings per item; ``None`` where nothing is known of the number of users."""
    users = problem.n_users if users is None else users
    return None if users is None else FILLED * users * problem.kept_ratings / problem.n_items


def choose_width(problem: CompletionProblem, neighbors: Neighbors, mu: float, users: float) -> int:
    """How many items a covariance is asked of: the most rated ones by released counts."""
    seen = users * mu / (math.sqrt(2) if neighbors == "replace-one" else 1.0)
    most = min(MOST_ITEMS, problem.n_items)
    if math.isinf(seen):
        return most
    return min(max(int(ITEMS_OF_COVARIANCE * math.sqrt(max(seen, 0.0))), LEAST_ITEMS), most)


def signal_over_edge(
    width: int, neighbors: Neighbors, mu: float, ratings: float, factor_share: float
) -> float:
    """Rho for a covariance of ``width`` items released with ``mu``; see above."""
    factor = math.sqrt(2) if neighbors == "replace-one" else 1.0
    if math.isinf(mu):  # without noise even no rating at all is above it
        return math.inf
    return factor_share * ratings * mu / (factor * math.sqrt(2 * width))


def bias_row_norm(
    problem: CompletionProblem, neighbors: Neighbors, mu: float, ratings: float | None
) -> float:
    """Clipping norm of the item statistics: k = 1 / (4 sqrt(h)), between 0.4 and 1.2."""
    if ratings is None:
        return BLIND_BIAS_NORM * problem.full_row
    factor = 2.0 if neighbors == "replace-one" else 1.0
    if math.isinf(mu):
        return MOST_BIAS_NORM * problem.full_row
    known = mu * ratings / (factor * math.sqrt(problem.kept_ratings))  # 1 / h
    share = max(BIAS_NORM * math.sqrt(known), LEAST_BIAS_NORM)
    return min(share, MOST_BIAS_NORM) * problem.full_row


def covariance_row_norm(problem: CompletionProblem, rho: float) -> float:
    """Clipping norm of the covariance: 0.3 rho^(1/4) of a full row, between 0.35 and 1.

    Rho does not depend on it; but long rows hold more pairs, and clipping makes all rows count
    alike. That helps against noise and costs a little where there is none.
    """
    share = max(COVARIANCE_NORM * rho**0.25, LEAST_COVARIANCE_NORM)
    return min(share, MOST_COVARIANCE_NORM) * problem.full_row
