"""One line of panels for each task: quality, CPU time, memory; a dot for each way."""

from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator, NullFormatter

from ..style import OURS as OUR_ROLE
from ..style import PEER, panels
from .measure import OURS

Row = dict[str, Any]
NAMES = {"opendp": "OpenDP", "pyriemann": "pyRiemann", "scikit-surprise": "surprise",
         OURS: "ours"}  # fmt: skip
SHORT = {"models.": "", "make_": "", "sklearn LinearRegression (Theil-Sen)": "Theil-Sen",
         "minimize on Grassmann": "minimize", "epsilon = inf": "no privacy",
         "AlternatingLeastSquares": "ALS", "SymmetricPositiveDefinite": "SPD",
         "LogisticRegression": "logistic", "LinearRegression": "linear"}  # fmt: skip
LEAST = {"cpu_seconds": 1e-4, "memory_mb": 0.1}  # what is drawn for less


def label(row: Row) -> str:
    """Library and what it was asked for, short."""
    name = NAMES.get(row["library"], row["library"])
    what = row["what"]
    for long, short in SHORT.items():
        what = what.replace(long, short)
    return f"{name}: {what}"


def draw(groups: list[tuple[str, list[Row]]], heading: str) -> Any:
    """A figure of the groups, each the rows of one task by one metric."""
    figure, axes = panels(
        len(groups), 3, width=2.9, height=1.0, sharey="row",
        gridspec_kw={"height_ratios": [len(rows) + 1.6 for _, rows in groups]},
    )  # fmt: skip
    lines = sum(len(rows) for _, rows in groups)
    figure.set_size_inches(8.7, 0.21 * lines + 0.62 * len(groups) + 0.7)
    for (task, rows), line in zip(groups, axes):
        _panel(line[0], rows, "quality", _axis(rows))
        _panel(line[1], rows, "cpu_seconds", "log")
        _panel(line[2], rows, "memory_mb", "log")
        line[0].set_yticks(range(len(rows)), [label(row) for row in rows])
        line[0].set_ylim(len(rows) - 0.4, -0.6)
        better = "lower" if rows[0]["better"] == "lower" else "higher"
        line[0].set_title(f"{task}\n{rows[0]['metric']}, {better} is better", loc="left",
                          fontsize=8.5)  # fmt: skip
        line[1].set_title("CPU seconds", loc="left", fontsize=8.5)
        line[2].set_title("memory of a fit, MB", loc="left", fontsize=8.5)
    figure.suptitle(heading, fontsize=10)
    return figure


def _axis(rows: list[Row]) -> str:
    """Errors that differ by more than a factor of three are drawn by their logarithm."""
    values = [row["quality"] for row in rows if row["quality"] is not None]
    positive = values and min(values) > 0
    return "log" if rows[0]["better"] == "lower" and positive and max(values) > 3 * min(values) \
        else "linear"  # fmt: skip


def _words(row: Row) -> str:
    """What is written in the place of a dot."""
    if row["quality"] is None:
        return "no answer" if row["failure"].startswith("no answer") else "not run"
    return f"{row['quality']:.2g}" if row["better"] == "higher" and row["quality"] < 0 else ""


def _panel(ax: Any, rows: list[Row], column: str, scale: str) -> None:
    ax.set_xscale(scale)
    shown = []
    for place, row in enumerate(rows):
        value = row[column]
        words = _words(row) if column == "quality" else ""
        if words:
            ax.text(0.03, place, words, transform=ax.get_yaxis_transform(), va="center",
                    fontsize=8, style="italic")  # fmt: skip
        if words or value is None:
            continue
        value = max(value, LEAST.get(column, -np.inf))
        shown.append(value)
        role = OUR_ROLE if row["library"] == OURS else PEER
        hollow = row["guarantee"] == "none"
        ax.plot(value, place, linestyle="", marker=role.marker, color=role.color, markersize=6.5,
                markerfacecolor="white" if hollow else role.color, markeredgewidth=1.4)  # fmt: skip
    if scale == "log":
        ax.xaxis.set_minor_formatter(NullFormatter())  # the labels between powers would overlap
    if scale == "log" and shown and max(shown) < 30 * min(shown):  # room for two powers of ten
        middle = np.sqrt(max(shown) * min(shown))
        ax.set_xlim(middle / 11, middle * 11)
    if column == "memory_mb":  # what is less than 0.1 stands at the left
        ax.set_xlim(0.07, max([20.0, *(2 * value for value in shown)]))
    if scale == "linear" and shown:
        ax.xaxis.set_major_locator(MaxNLocator(4))
        middle, half = (max(shown) + min(shown)) / 2, (max(shown) - min(shown)) / 2
        half = max(1.2 * half, 0.03)  # differences of less are not worth a look
        ax.set_xlim(middle - half, middle + half)
    ax.tick_params(axis="y", length=0, labelsize=8)
    ax.tick_params(axis="x", which="both", labelsize=7.5)
    ax.grid(visible=True, which="major", axis="x")


def pictures(job: Any, rows: list[Row]) -> None:
    """Two figures: tasks that other libraries do privately, and the rest."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["task"], row["metric"]), []).append(row)
    private, rest = [], []
    for (task, _), found in groups.items():
        is_private = task.startswith(("private", "logistic", "linear"))
        (private if is_private else rest).append((task, found))
    words = "ours: red circles, others: green triangles; hollow: not private"
    job.picture(draw(private, f"Private tasks at epsilon = 1 ({words})"), "private")
    job.picture(draw(rest, f"Other tasks ({words})"), "other")
