"""One look for all figures: colours that stay apart for colour-blind readers, few words."""

from textwrap import wrap

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

CURVE, MEASURED, BOUND, RATE = "#0072B2", "#E69F00", "#444444", "#B00020"
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#444444")
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
