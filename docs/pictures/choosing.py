"""What the best attacker reaches at an epsilon, and what a plane costs at it."""

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from veilspan import PCA
from veilspan.datasets import make_haystack
from veilspan.metrics import projection_distance
from veilspan.privacy.gdp import mu_of

ATTACKS = (0.5, 1.0, 3.0, 10.0)
BUDGETS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
ROWS = (1000, 4000, 16_000)
SEEDS = range(9)


def draw(style: Any) -> Any:
    """Two panels: attack and error."""
    figure, ((left, right),) = style.panels(1, 2, width=3.8, height=3.4)
    wrong = np.geomspace(1e-5, 1, 200)
    for k, epsilon in enumerate(ATTACKS):
        right_rate = ndtr(ndtri(wrong) + mu_of(epsilon, 1e-6))
        left.loglog(wrong, right_rate, linestyle=style.LINES[k], color=style.CYCLE[k],
                    label=f"ε = {epsilon:g}")  # fmt: skip
    left.loglog(wrong, wrong, **style.BASELINE.line(), label="without a release")
    left.axvline(1e-3, color=style.GREY, linewidth=0.8)
    left.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(1e-5, 1),
             ylim=(1e-5, 1.3), title="The best attack there is (δ = 1e-6)")  # fmt: skip
    left.legend(loc="lower right")
    for k, n in enumerate(ROWS):
        errors = [median_error(n, epsilon) for epsilon in BUDGETS]
        right.loglog(BUDGETS, errors, marker=style.MARKERS[k], linestyle=style.LINES[k],
                     color=style.CYCLE[k], label=f"{n:,} rows")  # fmt: skip
        plain = median_error(n, np.inf)
        right.plot(13, plain, marker=style.MARKERS[k], color="white", clip_on=False,
                   markeredgecolor=style.CYCLE[k], linestyle="")  # fmt: skip
    right.set(xlabel="ε (hollow: without privacy)", ylabel="error of a plane (1: orthogonal)",
              title="What it costs: PCA, generated rows", xlim=(0.08, 18))  # fmt: skip
    right.legend(loc="upper right")
    return figure


def median_error(n: int, epsilon: float) -> float:
    """Return the median error of a released plane in 20 columns."""
    found = []
    for seed in SEEDS:
        data = make_haystack(n, 20, 2, inlier_share=0.7, noise=0.1, random_state=seed)
        fit = PCA(2, epsilon=epsilon, delta=1e-6, random_state=seed).fit(data.rows)
        found.append(projection_distance(data.subspace, fit.components_))
    return float(np.median(found))
