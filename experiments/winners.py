"""Who wins, task by task: ours beside the best private rival, read from the records of full runs.

Each picture is a table of squares: a set of data (or a stream) each line, an epsilon (or a moment)
each column, and in it how far ours is ahead of the best private rival there, with the rival's name.
Vermilion is ours ahead, blue the rival. Nothing is computed here: a square says what a record says.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .records import read_record

#: Of a comparison in ratios of errors (streams): a square of this many times is full colour.
FULL_RATIO = 2.0


@dataclass(frozen=True)
class Square:
    """One comparison: where, how far ours is ahead, and of whom."""

    line: str
    column: float
    ahead: float
    rival: str


@dataclass(frozen=True)
class Contest:
    """A task with its squares."""

    name: str
    title: str
    unit: str
    columns: str
    squares: tuple[Square, ...]
    full: float  # a lead that is drawn in full colour


def compare(
    cells: dict[tuple[str, float, str], float], ours: str, rivals: Iterable[str]
) -> tuple[Square, ...]:
    """Squares from scores by (line, column, method), larger being better."""
    found = []
    for (line, column, method), score in cells.items():
        others = {r: cells[line, column, r] for r in rivals if (line, column, r) in cells}
        if method == ours and others:
            best = max(others, key=others.__getitem__)
            found.append(Square(line, column, score - others[best], best))
    return tuple(found)


def contests(folder: Path) -> list[Contest]:
    """Every task of which a full record is in a folder."""
    found = [*_tables(folder), *_pca(folder), *_lists(folder), *_streams(folder)]
    return [contest for contest in found if contest.squares]


def _facts(folder: Path, name: str, what: str) -> list[dict[str, Any]]:
    record = read_record(folder / f"{name}.json")
    return record["facts"].get(what, []) if record and record["scale"] == "full" else []


def _tables(folder: Path) -> list[Contest]:
    """Models of ordinary tables: new draws, one neighbour relation, all sizes."""
    rivals = ("DP-EBM", "AdaSSP", "BoostedAdaSSP", "TukeyEM")
    scores = [
        row for row in _facts(folder, "tables", "scores")
        if row["draw"] == "fresh" and not row["task"].endswith("add-remove")
        and math.isfinite(float(row["epsilon"]))
    ]  # fmt: skip
    cells = {(r["task"], float(r["epsilon"]), r["method"]): float(r["mean"]) for r in scores}
    numbers = {row["task"] for row in scores if row["method"] == "AdaSSP"}
    squares = compare(cells, "auto (ours)", rivals)
    return [
        Contest("classes", "Predicting a class from a table", "points of accuracy", "epsilon",
                tuple(s for s in squares if s.line not in numbers), 0.05),
        Contest("numbers", "Predicting a number from a table", "points of R²", "epsilon",
                tuple(s for s in squares if s.line in numbers), 0.2),
    ]  # fmt: skip


def _pca(folder: Path) -> list[Contest]:
    cells = {
        (f"{row['table']}, {row['components']}", float(row["epsilon"]), row["method"]): row["mean"]
        for row in _facts(folder, "pca-default", "cells")
    }
    squares = compare(cells, "default", ("diffprivlib, exact bounds", "OpenDP, exact bounds"))
    return [Contest("pca", "Principal components without bounds (table, how many)",
                    "points of the variance that is there", "epsilon", squares, 0.2)]  # fmt: skip


def _lists(folder: Path) -> list[Contest]:
    cells = {
        (row["data"], float(row["epsilon"]), row["method"]): float(row["mean"])
        for row in _facts(folder, "lists", "recall")
    }
    squares = compare(cells, "ours", ("noisy popularity", "DP-EASE", "DPALS"))
    return [Contest("lists", "Lists of 20 to recommend", "points of recall", "epsilon",
                    squares, 0.05)]  # fmt: skip


def _streams(folder: Path) -> list[Contest]:
    """Distances, smaller being better: logarithms turn ratios into leads."""
    cells = {
        (row["setting"], float(row["blocks"]), row["method"]): -math.log(row["mean"])
        for row in _facts(folder, "streams", "cells")
    }
    rivals = ("independent noise", "square root, built for 128")
    squares = compare(cells, "ours", rivals)
    return [Contest("streams", "Subspaces of a stream", "times the error", "blocks seen", squares,
                    math.log(FULL_RATIO))]  # fmt: skip


def draw(contest: Contest) -> Any:
    """Draw one task: vermilion where ours is ahead, blue where the rival is."""
    from matplotlib.colors import LinearSegmentedColormap

    from . import style

    lines = list(dict.fromkeys(square.line for square in contest.squares))[::-1]
    columns = sorted({square.column for square in contest.squares})
    table = [[math.nan] * len(columns) for _ in lines]
    words = [["not measured"] * len(columns) for _ in lines]
    for square in contest.squares:
        i, j = lines.index(square.line), columns.index(square.column)
        table[i][j] = square.ahead
        words[i][j] = f"{_lead(contest, square.ahead)}\n{square.rival}"
    colours = LinearSegmentedColormap.from_list("who", [style.BLUE, "#F4F4F4", style.VERMILION])
    width = 2.6 + 1.25 * len(columns)
    figure, axes = style.panels(1, 1, width=width, height=0.9 + 0.36 * len(lines))
    ax, full = axes[0, 0], contest.full
    ax.imshow(table, origin="lower", aspect="auto", cmap=colours, vmin=-full, vmax=full)
    for i, row in enumerate(words):
        for j, text in enumerate(row):
            deep = math.isfinite(table[i][j]) and abs(table[i][j]) > 0.6 * full
            ax.text(j, i, text, ha="center", va="center", fontsize=6.5, linespacing=1.1,
                    color="white" if deep else "black")  # fmt: skip
    ax.set_xticks(range(len(columns)), [f"{column:g}" for column in columns])
    ax.set_yticks(range(len(lines)), lines)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_xlabel(contest.columns)
    style.title(figure, f"{contest.title}: ours beside the best private rival, {contest.unit}")
    return figure


def _lead(contest: Contest, ahead: float) -> str:
    if contest.unit == "times the error":
        return f"{math.exp(-ahead):.2f}x"
    return f"{100 * ahead:+.1f}"


def in_words(contest: Contest) -> str:
    """Say what a picture shows, the worst square included."""
    worst = min(contest.squares, key=lambda square: square.ahead)
    won = sum(square.ahead > 0 for square in contest.squares)
    where = f"{worst.line}, {contest.columns} {worst.column:g}"
    return (
        f"{contest.title}: ours is ahead in {won} of {len(contest.squares)} squares (in "
        f"{contest.unit}); furthest behind, or least ahead, {_lead(contest, worst.ahead)} "
        f"({where}, {worst.rival})."
    )
