"""Pictures of the phase diagrams: what a paper prints on the left, what is honest on the right."""

import numpy as np

from ..style import heat, panels, title
from .common import short
from .phase import Printed

ERRORS = {"limits": (-22, 1), "bar": "log10 d²"}  # of a picture of final errors


def pair_up(left, right):
    """Two columns as one list of panels, row by row."""
    return [panel for pair in zip(left, right, strict=True) for panel in pair]


def draw_squares(job, text, methods, cells, number, *, xs, ys, labels, bar, **options):
    """Squares of ``number(method, cell)`` for all methods (or gaps), two panels in a row."""
    rows = len(methods) // 2
    lines = max(lines_of(method, cells) for method in methods)
    height = 1.1 + (0.22 + 0.11 * lines) * max(len(ys), 3)
    figure, axes = panels(rows, 2, width=3.7, height=height)
    for k, (ax, method) in enumerate(zip(axes.flat, methods, strict=True)):
        if method is None:
            ax.set_axis_off()
            continue
        values = np.array([[number(method, cell) for cell in row] for row in cells])
        image = heat(ax, values, xs, ys, method.title, labels=labels, bad=method.bad,
                     notes=notes_of(method, cells), **options)  # fmt: skip
        if k % 2 and methods[k - 1] is not None:
            ax.set_ylabel("")  # said by the panel on the left
        if k + 2 < len(methods) and methods[k + 2] is not None:
            ax.set_xlabel("")  # said by the panel below
    figure.colorbar(image, ax=axes, label=bar, shrink=min(1, 1.6 / rows), aspect=25, pad=0.02)
    title(figure, text)
    job.picture(figure)


def lines_of(method, cells):
    """Lines of text below the number of a square."""
    notes = notes_of(method, cells[:1])
    return len(notes[0][0].split("\n")) if notes else 0


def notes_of(method, cells):
    """The true epsilons under every square of a printed method, the best reading first."""
    if not isinstance(method, Printed):
        return None
    return [
        ["ε " + "\nor ".join(map(short, cell.printed_epsilons(method.method))) for cell in row]
        for row in cells
    ]
