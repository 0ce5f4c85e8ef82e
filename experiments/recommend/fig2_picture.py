"""The picture of Figure 2: held-out error against the epsilon that holds, one panel a set."""

import numpy as np

from .. import style
from .methods import DEFAULT, FRANK_WOLFE, PAPER_PLAIN, SVD, TWIN, USER_MEAN, summary
from .rival import TUNED

#: methods that are drawn, all others are in the CSV
LOOKS = {
    DEFAULT: style.OURS,
    FRANK_WOLFE: style.PRINTED,
    "frank-wolfe, corrected": style.CORRECTED,
    SVD: style.Role(style.SKY, "--", "v"),
    TUNED: style.Role(style.GREEN, "--", "P"),
    "als": style.Role(style.PURPLE, "-.", "D"),
    "item bias alone": style.Role(style.GREY, "-", "x"),
    USER_MEAN: style.Role(style.GREY, (0, (1, 1)), ""),
    TWIN: style.PLAIN,
    PAPER_PLAIN: style.Role(style.BLUE, (0, (3, 1, 1, 1)), ""),
    "surprise SVD, not private": style.PEER,
}
NAMES = {
    DEFAULT: "ours, default",
    "frank-wolfe, corrected": "Frank-Wolfe, corrected (ours)",
    FRANK_WOLFE: "Frank-Wolfe as printed",
    SVD: "SVD as printed (counts left out)",
    TUNED: "McSherry & Mironov (2009), per user",
    "als": "alternating least squares (ours)",
    "item bias alone": "item bias alone (ours)",
    USER_MEAN: "each user's mean",
    TWIN: "ours without noise, not private",
    PAPER_PLAIN: "the paper's Frank-Wolfe without privacy",
    "surprise SVD, not private": "surprise SVD, not private",
}


def draw(rows, job):
    """One panel for each set of ratings."""
    labels = list(dict.fromkeys(row["data"] for row in rows))
    columns = min(2, len(labels))
    lines = -(-len(labels) // columns)
    width, height = (6.2, 4.6) if columns == 1 else (4.0, 3.2)
    figure, axes = style.panels(lines, columns, width=width, height=height)
    for ax in axes.flat[len(labels) :]:
        ax.set_visible(False)
    cells = summary(rows)
    for ax, label in zip(axes.flat, labels):
        for method, look in LOOKS.items():
            curve(ax, {e: c for (d, m, e), c in cells.items() if (d, m) == (label, method)},
                  look, NAMES[method])  # fmt: skip
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_title(label)
        ax.set_xlabel("epsilon that holds (delta = 1e-6)")
        ax.set_ylabel("held-out RMSE")
        if label.startswith("synthetic"):
            ax.set_yscale("log")
    legend(figure, axes)
    style.title(figure, "Error of recommendations against epsilon (one user: all her ratings)")
    job.picture(figure)


def curve(ax, points, look, label):
    """A line with error bars at the true epsilons; a level where there is no epsilon."""
    if not points:
        return
    finite = [(true, mean, sd) for e, (mean, sd, true) in points.items() if np.isfinite(e)]
    if finite:
        x, y, error = zip(*sorted(finite))
        ax.errorbar(x, y, error, capsize=2, **look.line(label=label))
    else:
        ax.axhline(points[np.inf][0], color=look.color, linestyle=look.linestyle, label=label)


def legend(figure, axes):
    """One legend for all panels."""
    found = {}
    for ax in axes.flat:
        for handle, label in zip(*ax.get_legend_handles_labels()):
            found.setdefault(label, handle)
    order = [name for name in NAMES.values() if name in found]
    figure.legend([found[k] for k in order], order, loc="outside lower center", ncols=2,
                  handlelength=3.2)  # fmt: skip
