"""Curves of columns: what each adds to the score, with error bars, and where the rows are."""

from typing import Any

import numpy as np

from veilspan import LogisticRegression
from veilspan.datasets import make_ward

PATIENTS = 20_000
COLUMNS = ("age", "creatinine", "smoker", "ward")


def draw(style: Any) -> Any:
    """Four panels with one axis of scores."""
    ward = make_ward(PATIENTS)
    model = LogisticRegression(epsilon=1.0, schema=ward.schema, random_state=0).fit(ward.columns)
    figure, (axes,) = style.panels(1, 4, width=2.3, height=2.8, sharey=True)
    for ax, name in zip(axes, COLUMNS):
        shape = model.shapes_[name]
        if shape.kind == "categories":
            bars(ax, style, shape)
        else:
            curve(ax, style, shape)
        ax.set(title=name, xlabel=shape.unit)
    axes[0].set_ylabel("added to the score of coming back")
    return figure


def curve(ax: Any, style: Any, shape: Any) -> None:
    """Draw a line with two standard deviations of the noise, and the released histogram."""
    x, score = shape.values, shape.scores[:, 0]
    if shape.errors is not None:
        reach = 2 * shape.errors[:, 0]
        ax.fill_between(x, score - reach, score + reach, color=style.OURS.color, alpha=0.2, lw=0)
    ax.plot(x, score, color=style.OURS.color)
    ax.axhline(0, color=style.GREY, linewidth=0.8)
    if shape.is_log:
        ax.set_xscale("log")
    if shape.share_below is not None:
        rows = ax.twinx()
        across = np.log(x) if shape.is_log else x
        rows.stairs(np.diff(shape.share_below) / np.diff(across), x, fill=True, color="#DDDDDD")
        rows.set(
            yticks=[], ylim=(0, 6 * float(np.max(np.diff(shape.share_below) / np.diff(across))))
        )
        rows.set_zorder(-1)
        ax.patch.set_visible(False)
        rows.grid(visible=False)
        rows.spines[:].set_visible(False)


def bars(ax: Any, style: Any, shape: Any) -> None:
    """Draw a bar for each category, with two standard deviations of the noise."""
    names = [str(value) for value in shape.values]
    errors = None if shape.errors is None else 2 * shape.errors[:, 0]
    ax.bar(names, shape.scores[:, 0], yerr=errors, color=style.OURS.color, width=0.6)
    ax.axhline(0, color=style.GREY, linewidth=0.8)
    ax.tick_params(axis="x", labelrotation=60 if len(names) > 3 else 0)
