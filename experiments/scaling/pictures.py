"""Cost against size, log-log: one panel per size, the fitted law as a line."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from ..style import BASELINE, OURS, panels, title
from .fits import Exponent

COLUMNS = 3
WORDS = {
    "n": "rows n", "D": "columns D", "r": "components r", "d": "size d of a matrix",
    "users": "users", "items": "items", "rows": "rows of the stream",
}  # fmt: skip
TRACKER = {**WORDS, "n": "columns n", "d": "dimension d of the subspace"}


def time_picture(fitted: Sequence[tuple]) -> Any:
    """CPU time of every sweep."""
    lines = [(sweep, rows, time) for sweep, rows, time, _ in fitted]
    return _picture(lines, "cost", 1.0, _seconds, "CPU time of a fit, against every size",
                    lambda sweep: sweep.time, lambda sweep: sweep.at_most)  # fmt: skip


def memory_picture(fitted: Sequence[tuple]) -> Any:
    """Memory beyond the table of every sweep."""
    lines = [(sweep, rows, memory) for sweep, rows, _, memory in fitted]
    return _picture(lines, "extra_bytes", 1e-6, lambda sweep: "memory, MB",
                    "Memory of one fit beyond its table",
                    lambda sweep: sweep.memory, lambda sweep: sweep.memory > 0)  # fmt: skip


def _seconds(sweep: Any) -> str:
    return "CPU s per release" if sweep.model == "RobustPCA" else "CPU seconds"


def _picture(
    lines: list[tuple[Any, list[dict], Exponent]],
    key: str,
    unit: float,
    label: Callable[[Any], str],
    text: str,
    expected: Callable[[Any], float],
    at_most: Callable[[Any], bool],
) -> Any:
    count = -(-len(lines) // COLUMNS)
    figure, axes = panels(count, COLUMNS, width=2.9, height=2.35)
    for ax, (sweep, rows, found) in zip(axes.flat, lines):
        sizes = np.array([row["value"] for row in rows], dtype=float)
        costs = unit * np.array([row[key] for row in rows], dtype=float)
        _panel(ax, sizes, costs, found, unit)
        bound = "≤ " if at_most(sweep) else ""
        ax.set_title(f"{sweep.model}: expected {bound}{expected(sweep):g}")
        names = TRACKER if sweep.model == "SubspaceTracker" else WORDS
        ax.set_xlabel(names[sweep.variable])
        ax.set_ylabel(label(sweep))
    for ax in list(axes.flat)[len(lines) :]:
        ax.set_visible(False)
    title(figure, text)
    return figure


def _panel(ax: Any, sizes: np.ndarray, costs: np.ndarray, found: Exponent, unit: float) -> None:
    ax.loglog(sizes, costs, **{**OURS.line(), "linestyle": ""})
    upper = sizes[sizes >= found.first * 0.999]
    slope = f"slope {found.value:.2f} ± {found.error:.2f}"
    ax.loglog(upper, unit * found.at(upper), color=BASELINE.color, linestyle="--", label=slope)
    # At least a decade and a half high: a flat cost shall look flat.
    middle = np.sqrt(costs.min() * costs.max())
    reach = max(np.sqrt(costs.max() / costs.min()) * 1.6, 10**0.75)
    ax.set_ylim(middle / reach, middle * reach)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(numticks=5))
        axis.set_minor_formatter(NullFormatter())
    ax.legend(loc="upper left", handlelength=1.8)
