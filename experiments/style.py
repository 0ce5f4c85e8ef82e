"""One look for all pictures: colours that stay apart for colour-blind readers and in print.

The colours are those of Okabe & Ito (2008). Each **role** has one colour, line style and marker in
all pictures, so that nothing is told by colour alone: ours is vermilion and solid, what a paper
prints is blue and dashed, and so on. What is not private is said in words, and drawn hollow.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from veilspan._files import write_whole

BLACK, GREY, SKY, GREEN = "#000000", "#767676", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE, ORANGE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#E69F00"
NOT_PRIVATE = "#A0001C"  # of words only, never of lines

#: colours for methods that have no role, in the order to use them
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))


@dataclass(frozen=True)
class Role:
    """How one kind of method is drawn everywhere."""

    color: str
    linestyle: Any
    marker: str

    def line(self, **more: Any) -> dict[str, Any]:
        """Return the keywords for ``ax.plot`` that draw a line of this role."""
        return {"color": self.color, "linestyle": self.linestyle, "marker": self.marker, **more}


OURS = Role(VERMILION, "-", "o")
PRINTED = Role(BLUE, "--", "s")  # as the paper prints it
CORRECTED = Role(BLUE, "-", "s")  # the paper's method with the noise that its promise needs
PEER = Role(GREEN, "-.", "^")  # another library
PLAIN = Role(BLACK, ":", "")  # without privacy
BASELINE = Role(GREY, (0, (1, 1)), "")  # chance, bias alone, a bound

_STYLE = {
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.7,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "figure.titlesize": 11,
    "savefig.facecolor": "white",
    "svg.hashsalt": "veilspan",  # the same picture gives the same file
}
mpl.rcParams.update(_STYLE)
_DPI = 120


def panels(rows: int, columns: int, width: float = 3.4, height: float = 2.9, **more: Any) -> Any:
    """A figure and its array of axes (always two-dimensional); sizes are those of one panel."""
    size = (width * columns, height * rows)
    return plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False, **more)


def title(figure: Any, text: str) -> None:
    """A title over all panels, broken to the width of the figure."""
    per_line = int(11.5 * figure.get_figwidth())  # letters of this size
    text = text.replace(" = ", "\u00a0=\u00a0")  # "N = 200" stays on one line
    figure.suptitle("\n".join(wrap(text, per_line)))


def save(figure: Any, stem: Path) -> None:
    """Write ``stem.png`` and ``stem.svg``, and close the figure."""
    for suffix in ("png", "svg"):
        # Without dates the same numbers give the same files.
        options = {"format": suffix, "dpi": _DPI, "metadata": _no_dates(suffix)}
        write_whole(
            Path(f"{stem}.{suffix}"),
            lambda stream, options=options: figure.savefig(stream, **options),
        )
    plt.close(figure)


def _no_dates(suffix: str) -> dict[str, Any]:
    return {"Date": None} if suffix == "svg" else {"Software": None}


def heat(
    ax: Any,
    table: Any,
    xs: Sequence[Any],
    ys: Sequence[Any],
    title: str,
    *,
    limits: tuple[float, float],
    labels: tuple[str, str],
    form: Any = "{:.1f}".format,
    colours: str = "viridis",
    bad: bool = False,
    notes: Any = None,
) -> Any:
    """One panel of squares with their numbers: ``table[i, j]`` at ``ys[i]`` (upwards), ``xs[j]``.

    Yellow is bad in all figures. What is not a number is drawn like the worst. ``notes`` are second
    lines. ``bad`` marks a title as that of something not private.
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
    ax.grid(visible=False)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    ax.set_title(title, color=NOT_PRIVATE if bad else "black")
    return image
