"""The picture of Tables 1 to 3: excess risk and gradients on logarithmic axes, with powers."""

import math

import numpy as np
from matplotlib.ticker import LogLocator

from ..style import BASELINE, CYCLE, LINES, MARKERS, OURS, PRINTED, panels
from .complexity import mean, power_of, sweeps

INSIDE = ("objective", "auto")  # their gradients are asked inside one release, at times


#: place in the cycle of what has no role: the same in all three pictures
PLACES = {
    "accmd": 1, "accmd, entropy": 1, "sgd": 2, "accmd, l2": 2, "gd": 3,
    "gd, projected": 3, "output": 4, "frank-wolfe": 4, "svrg": 5, "svrg++": 5,
}  # fmt: skip
#: Table 2 has one method more than the cycle has places
OBJECTIVE = {"color": "#8b5a2b", "marker": "X", "linestyle": "-"}


def looks(names, role_of):
    """Keywords of each method's line: by its role, or by its place."""
    roles = {"ours": OURS, "printed": PRINTED}
    found = {}
    for name in names:
        if name in role_of:
            found[name] = roles[role_of[name]].line()
        elif name == "objective":
            found[name] = OBJECTIVE
        else:
            place = PLACES[name]
            look = CYCLE[place], MARKERS[place], LINES[place]
            found[name] = dict(zip(("color", "marker", "linestyle"), look))
    return found


def draw(found, names, labels, role_of, guides, value_label="excess risk"):
    """Three panels and a legend with the fitted powers of n and p.

    ``guides`` are (label, power) of a grey line in each panel.
    """
    figure, axes = panels(2, 2, width=3.9, height=3.2)
    styles = looks(names, role_of)
    views = (("rows", 0, "excess", "Excess risk against rows"),
             ("columns", 1, "excess", "Excess risk against columns"),
             ("rows", 0, "gradients", "Gradients of single rows asked"))  # fmt: skip
    for axis, (key, which, value, name), guide in zip(axes.flat, views, guides):
        shown = [row for m in names for row in sweeps(found, m)[which] if counted(row, value)]
        for method, look in styles.items():
            own = [row for row in shown if row["method"] == method]
            xs = sorted({row[key] for row in own})
            axis.plot(xs, [mean(own, **{key: x})[value] for x in xs], **look)
        draw_guide(axis, shown, key, value, guide)
        ylabel = "gradients" if value == "gradients" else value_label
        xlabel = "rows n" if key == "rows" else "columns p"
        axis.set(xscale="log", yscale="log", title=name, xlabel=xlabel, ylabel=ylabel)
        xs = sorted({row[key] for row in shown})
        axis.set_xticks(xs, [f"{x:,}" for x in xs], rotation=30 if len(xs) > 4 else 0)
        axis.minorticks_off()
        low, high = axis.get_ylim()
        if high < 20 * low:  # less than two powers of ten to read
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter("{x:g}")
    add_legend(axes[1, 1], found, styles, labels)
    return figure


def counted(row, value):
    """Whether a number of gradients says something."""
    inside = row["method"] in INSIDE and row["gradients"] <= 2 * row["rows"]
    return not (value == "gradients" and inside)


def draw_guide(axis, shown, key, value, guide):
    """The printed power as a grey line through the middle of the panel, with its name."""
    label, slope = guide
    xs = sorted({row[key] for row in shown})
    middle = math.sqrt(xs[0] * xs[-1])
    level = math.exp(np.mean(np.log([row[value] for row in shown])))
    ys = [level * (x / middle) ** slope for x in (xs[0], xs[-1])]
    axis.plot([xs[0], xs[-1]], ys, color=BASELINE.color, linestyle=BASELINE.linestyle, lw=2.4,
              label=label, zorder=1)  # fmt: skip
    axis.legend(loc="lower left" if slope < 0 else "upper left", handlelength=1.6)


def add_legend(axis, found, styles, labels):
    """Methods, with the powers that their excess follows."""
    axis.axis("off")
    for method, look in styles.items():
        along_n, along_p = sweeps(found, method)
        in_n = power_of(along_n, "rows", "excess")[0]
        in_p = power_of(along_p, "columns", "excess")[0]
        powers = f"$n^{{{in_n:+.1f}}}$" + ("" if math.isnan(in_p) else f"  $p^{{{in_p:+.1f}}}$")
        axis.plot([], [], **look, label=f"{labels.get(method, method)}:  {powers}")
    axis.legend(loc="center left", bbox_to_anchor=(-0.12, 0.5), title="excess risk grows like",
                alignment="left", handlelength=2.8, labelspacing=0.7)  # fmt: skip
