"""Tracking: a subspace that jumps and one that drifts, row by row and without privacy."""

from typing import Any

import numpy as np

from veilspan import SubspaceTracker
from veilspan.metrics import principal_angles

COLUMNS, RANK, ROWS, BLOCK = 50, 3, 4000, 20


def draw(style: Any) -> Any:
    """Two panels: a jump, a drift."""
    figure, (axes,) = style.panels(1, 2, width=3.7, height=3.1, sharey=True)
    methods = (
        ("default", {}, style.OURS.line(marker="")),
        ("forgetting=0.05", {"forgetting": 0.05}, style.CORRECTED.line(marker="", linestyle="--")),
    )
    titles = {"jump": "It jumps after 2,000 rows", "drift": "It turns all the time"}
    for ax, (kind, title) in zip(axes, titles.items()):
        for label, options, look in methods:
            seen, errors = follow(kind, SubspaceTracker(RANK, random_state=0, **options))
            ax.semilogy(seen, errors, label=label, **look)
        ax.set(xlabel="rows seen", title=title)
    axes[0].set_ylabel("sine of the largest angle")
    axes[1].legend(loc="upper right")
    return figure


def follow(kind: str, tracker: SubspaceTracker) -> tuple[list[int], list[float]]:
    """Return the numbers of rows seen and the errors after them."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((COLUMNS, 2 * RANK)))[0].T
    seen, errors = [], []
    for start in range(0, ROWS, BLOCK):
        angle = (np.pi / 2) * (start >= ROWS / 2) if kind == "jump" else start / ROWS
        truth = np.cos(angle) * basis[:RANK] + np.sin(angle) * basis[RANK:]
        noise = 0.1 * rng.standard_normal((BLOCK, COLUMNS))
        tracker.partial_fit(rng.standard_normal((BLOCK, RANK)) @ truth + noise)
        seen.append(start + BLOCK)
        errors.append(float(np.sin(principal_angles(truth, tracker.components_)).max()))
    return seen, errors
