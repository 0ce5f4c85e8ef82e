"""Picture of Figure 3: one panel per problem and epsilon."""

import numpy as np

from ..style import BLUE, ORANGE, OURS, PURPLE, Role, panels, title

STYLES = {
    "RGD": ("RGD", Role(BLUE, "--", "s")),
    "RSGD": ("RSGD", Role(ORANGE, "-.", "^")),
    "RSVRG": ("RSVRG", Role(PURPLE, (0, (3, 1, 1, 1)), "D")),
    "default": ("veilspan's default, no tuning", OURS),
}


def plot_paths(job, rows):
    cells = list(dict.fromkeys((row["problem"], row["epsilon"]) for row in rows))
    columns = 3 if len({epsilon for _, epsilon in cells}) == 3 else 2
    count = -(-len(cells) // columns)
    figure, axes = panels(count, columns, width=6.8 / columns + 0.6, height=2.35)
    for k, ax in enumerate(axes.flat):
        if k >= len(cells):
            ax.axis("off")
            continue
        draw(ax, rows, *cells[k])
        if k + columns >= len(cells):
            ax.set_xlabel("gradient calls / n")
        if k % columns == 0:
            ax.set_ylabel("excess risk")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    how = "tuned with the truth" if job.full else "best of a few settings"
    labels = [f"{label}, {how}" if label in STYLES else label for label in labels]
    if axes.size > len(cells):
        axes.flat[-1].legend(handles, labels, loc="center")
    else:
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    title(
        figure,
        "Excess risk along the path at equal privacy: medians and quartiles (lower is better)",
    )
    job.picture(figure)


def draw(ax, rows, problem, epsilon):
    for solver, (label, role) in STYLES.items():
        chosen = [
            row
            for row in rows
            if (row["problem"], row["epsilon"], row["solver"]) == (problem, epsilon, solver)
        ]
        passes, middle, low, high = (
            np.array([row[key] for row in chosen])
            for key in ("passes", "excess", "lower_quartile", "upper_quartile")
        )
        ax.plot(passes, middle, **role.line(label=label, linewidth=1.7))
        ax.fill_between(passes, low, high, color=role.color, alpha=0.15, linewidth=0)
    ax.set_yscale("log")
    ax.set_title(f"{problem}, ε = {epsilon}", fontsize=9)
