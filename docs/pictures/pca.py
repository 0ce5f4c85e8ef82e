"""PCA: the error of a released plane over the number of rows and over the bound on them."""

from typing import Any

import numpy as np

from veilspan import PCA
from veilspan.datasets import make_haystack
from veilspan.metrics import projection_distance

SEEDS = range(5)
ROWS = (500, 1000, 2000, 5000, 10_000, 20_000)
BOUNDS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)


def draw(style: Any) -> Any:
    """Two panels: more rows, and a better or worse bound."""
    figure, ((left, right),) = style.panels(1, 2, width=3.7, height=3.1, sharey=True)
    looks = ((0.3, style.CYCLE[0], "s", "--"), (1.0, style.OURS.color, "o", "-"),
             (3.0, style.CYCLE[2], "^", "-."))  # fmt: skip
    for epsilon, color, marker, line in looks:
        errors = [median_error(n, epsilon) for n in ROWS]
        left.loglog(ROWS, errors, line, color=color, marker=marker, label=f"ε = {epsilon:g}")
    left.loglog(ROWS, [median_error(n, np.inf) for n in ROWS], **style.PLAIN.line(),
                label="without privacy")  # fmt: skip
    left.set(
        xlabel="rows", ylabel="error of the plane (1: orthogonal)", title="More rows, less error"
    )
    left.legend()
    errors = [median_error(5000, 1.0, bound=bound, on_sphere=False) for bound in BOUNDS]
    right.loglog(BOUNDS, errors, **style.OURS.line(), label="ε = 1, 5,000 rows")
    right.axvline(1.0, color=style.GREY, linewidth=1)
    right.text(1.07, 0.6 * max(errors), "length of\na typical row", color=style.GREY, fontsize=8.5)
    right.set(xlabel="row_norm", title="Too large a bound costs most")
    right.legend(loc="upper left")
    return figure


def median_error(n: int, epsilon: float, bound: float = 1.0, **rows: Any) -> float:
    """Return the median error of a released plane; rows have length 1 unless told otherwise."""
    return float(np.median([_error(n, epsilon, bound, seed, **rows) for seed in SEEDS]))


def _error(n: int, epsilon: float, bound: float, seed: int, **rows: Any) -> float:
    data = make_haystack(n, 20, 2, inlier_share=0.7, noise=0.1, random_state=seed, **rows)
    pca = PCA(2, epsilon=epsilon, delta=1e-6, row_norm=bound, center="origin", random_state=seed)
    return projection_distance(data.subspace, pca.fit(data.rows).components_)
