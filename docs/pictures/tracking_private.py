"""Tracking in private: one budget for the whole stream, a release after every block."""

from typing import Any

import numpy as np

from veilspan import SubspaceTracker
from veilspan.metrics import principal_angles

COLUMNS, RANK, BLOCK, BLOCKS = 20, 2, 1000, 30
SEEDS = range(3)


def draw(style: Any) -> Any:
    """One panel: error after each release, by how many blocks a person may be in."""
    figure, ((ax,),) = style.panels(1, 1, width=6.4, height=3.1)
    people = ((1, None), (4, 7), (4, None), (30, None))
    looks = zip(people, style.CYCLE, style.MARKERS, style.LINES)
    for number, ((often, apart), color, marker, line) in enumerate(looks):
        color = style.OURS.color if number == 0 else color
        errors = np.median([stream(often, apart, seed) for seed in SEEDS], axis=0)
        words = "one block" if often == 1 else f"up to {often} blocks"
        words += "" if apart is None else f", {apart} apart"
        ax.semilogy(range(1, BLOCKS + 1), errors, color=color, linestyle=line, marker=marker,
                    markersize=3.5, label=f"a person is in {words}")  # fmt: skip
    ax.set(xlabel="releases (a block of 1,000 rows each)", ylabel="sine of the largest angle",
           title="ε = 1 for all releases together")  # fmt: skip
    ax.legend()
    return figure


def stream(often: int, apart: int | None, seed: int) -> list[float]:
    """Return the error after each block."""
    rng = np.random.default_rng(seed)
    truth = np.linalg.qr(rng.standard_normal((COLUMNS, RANK)))[0].T
    tracker = SubspaceTracker(
        RANK, epsilon=1.0, delta=1e-6, block_size=BLOCK, row_norm=1.0,
        max_blocks_per_person=often, blocks_apart=apart, random_state=seed,
    )  # fmt: skip
    errors = []
    for _ in range(BLOCKS):
        noise = 0.02 * rng.standard_normal((BLOCK, COLUMNS))
        tracker.partial_fit(rng.standard_normal((BLOCK, RANK)) @ truth / 1.5 + noise)
        errors.append(float(np.sin(principal_angles(truth, tracker.components_)).max()))
    return errors
