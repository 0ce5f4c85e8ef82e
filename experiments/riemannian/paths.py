"""Picture of Figure 3: one row of panels per problem, one column per epsilon."""

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

#: solver: (label, colour, marker); colours that stay apart for colour-blind readers.
STYLES = {
    "RGD": ("RGD, tuned with the truth", "#0072B2", "o"),
    "RSGD": ("RSGD, tuned with the truth", "#E69F00", "s"),
    "RSVRG": ("RSVRG, tuned with the truth", "#CC79A7", "D"),
    "default": ("veilspan's default, no tuning", "#D55E00", "*"),
}


def plot_paths(rows, path):
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    epsilons = sorted({row["epsilon"] for row in rows})
    figure, axes = plt.subplots(
        len(problems), len(epsilons), figsize=(4.6 * len(epsilons), 2.7 * len(problems)),
        layout="constrained", squeeze=False, sharey="row",
    )  # fmt: skip
    for (i, j), ax in np.ndenumerate(axes):
        for solver, (label, colour, marker) in STYLES.items():
            chosen = [
                row
                for row in rows
                if (row["problem"], row["epsilon"], row["solver"])
                == (problems[i], epsilons[j], solver)
            ]
            passes, middle, low, high = (
                [row[key] for row in chosen]
                for key in ("passes", "excess", "lower_quartile", "upper_quartile")
            )
            size = 11 if marker == "*" else 4
            # Dotted: tuned on another problem, see the title.
            line = ":" if "truth of" in chosen[-1]["setting"] else "-"
            ax.plot(passes, middle, line, color=colour, marker=marker, markersize=size, label=label)
            ax.fill_between(passes, low, high, color=colour, alpha=0.15, linewidth=0)
        ax.set_yscale("log")
        ax.grid(alpha=0.25)
        ax.set_title(f"{problems[i]}, ε = {epsilons[j]}", fontsize=10)
        if i == len(problems) - 1:
            ax.set_xlabel("gradient calls / n")
        if j == 0:
            ax.set_ylabel("excess risk")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    borrowed = any("truth of" in row["setting"] for row in rows)
    figure.suptitle(
        "Excess risk along the path at equal privacy: medians, quartiles (lower is better)"
        + ("; dotted: tuned on another problem" if borrowed else "")
    )
    figure.savefig(path, dpi=100)
    plt.close(figure)
