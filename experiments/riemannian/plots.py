"""Tables and pictures of the Riemannian figures."""

import csv

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

#: one colour per scheme; they stay apart for colour-blind readers.
COLOURS = {"printed": "#0072B2", "once": "#E69F00", "ours": "#D55E00"}
TITLES = {"one row": "one row of n, Rényi", "Poisson": "Poisson 1/n, loss distributions"}


def pick(rows, **wanted):
    return [row for row in rows if all(row[k] == value for k, value in wanted.items())]


def write(rows, path):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def plot_costs(rows, labels, path):
    """Epsilon over epochs: one row of panels per accountant, one column per noise level."""
    sigmas = sorted({row["sigma"] for row in rows}, reverse=True)
    figure, axes = plt.subplots(
        len(TITLES), len(sigmas), figsize=(1.5 + 4.3 * len(sigmas), 7.6),
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for (i, j), ax in np.ndenumerate(axes):
        accounting = list(TITLES)[i]
        panel = pick(rows, accounting=accounting, sigma=sigmas[j])
        for scheme, label in labels.items():
            for choice, line, words in (("half", "--", "α = 1/2"), ("best", "-", "best α")):
                points = pick(panel, scheme=scheme, choice=choice)
                ax.plot(
                    [row["epochs"] for row in points], [row["epsilon"] for row in points], line,
                    color=COLOURS[scheme], marker="o", markersize=4, label=f"{label}, {words}",
                )  # fmt: skip
        ax.set_yscale("log")
        ax.set_title(f"{TITLES[accounting]}; σ = {sigmas[j]}", fontsize=11)
        ax.grid(alpha=0.25)
        ax.set_xlabel("epochs S")
        ax.set_ylabel("ε at δ = 1e-6")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False
    )
    figure.suptitle("DP-RSVRG: what equal noise per step costs (lower is better)")
    figure.savefig(path, dpi=110)
    plt.close(figure)
