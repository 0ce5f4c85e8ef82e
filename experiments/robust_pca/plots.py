"""One look for all figures: colours that stay apart for colour-blind readers, few words."""

from textwrap import wrap

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

#: method: (colour, line style); stochastic methods look like their full-batch twins.
STYLES = {
    "GGD": ("#0072B2", "-"),
    "SGGD": ("#0072B2", "-"),
    "GD-REAP": ("#E69F00", "--"),
    "SGD-REAP": ("#E69F00", "--"),
    "MD-REAP": ("#009E73", "-."),
    "SMD-REAP": ("#009E73", "-."),
    "auto": ("#D55E00", ":"),
}
NOT_PRIVATE = "#B00020"
plt.rcParams.update({"font.size": 10, "axes.titlesize": 10, "axes.spines.top": False,
                     "axes.spines.right": False})  # fmt: skip


def grid_of(rows, columns, width=3.4, height=3.0):
    return plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), layout="constrained", squeeze=False
    )


def finish(figure, title, path):
    # About eleven letters of this size per inch.
    figure.suptitle("\n".join(wrap(title, int(11 * figure.get_figwidth()))), fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def heat(
    ax,
    table,
    xs,
    ys,
    title,
    *,
    limits,
    labels,
    form="{:.1f}".format,
    colours="viridis",
    bad=False,
    notes=None,
):
    """One panel of squares: ``table[i, j]`` at ``ys[i]`` (upwards) and ``xs[j]``.

    Yellow is bad in all figures. What is not a number is drawn like the worst, as in the paper.
    ``notes`` are second lines.
    """
    table = np.asarray(table, dtype=float)
    shown = np.clip(np.where(np.isfinite(table), table, limits[1]), *limits)
    image = ax.imshow(
        shown, origin="lower", aspect="auto", cmap=colours, vmin=limits[0], vmax=limits[1]
    )
    for i, j in np.ndindex(table.shape):
        text = form(table[i, j]) if np.isfinite(table[i, j]) else "never"
        note = f"\n{notes[i][j]}" if notes else ""
        red, green, blue, _ = image.cmap(image.norm(shown[i, j]))
        dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
        ax.text(j, i, text + note, ha="center", va="center", fontsize=7,
                color="white" if dark else "black", linespacing=1.1)  # fmt: skip
    ax.set_xticks(range(len(xs)), xs)
    ax.set_yticks(range(len(ys)), ys)
    ax.tick_params(length=0, labelsize=8)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    ax.set_title(title, color=NOT_PRIVATE if bad else "black")
    return image


def heat_grid(panels, xs, ys, title, path, *, columns, bar, **options):
    """Panels of squares under one colour bar; a panel is (table, title, bad, notes) or a gap."""
    figure, axes = grid_of(-(-len(panels) // columns), columns)
    for ax, panel in zip(axes.flat, panels):
        if panel is None:
            ax.set_axis_off()
            continue
        table, name, bad, notes = panel
        image = heat(ax, table, xs, ys, name, bad=bad, notes=notes, **options)
    figure.colorbar(image, ax=axes, label=bar, shrink=0.6, pad=0.01)
    finish(figure, title, path)
