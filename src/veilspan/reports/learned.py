"""What was learned, from the released attributes alone: spectrum, loadings, coefficients, items.

Each function looks for attributes, not classes: it returns nothing where they are absent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from veilspan.reports.charts import MOST_BARS, MOST_CELLS, matrix_chart, small_bar, spectrum_chart
from veilspan.reports.error_bars import error_bars
from veilspan.reports.html import Html, details, table, tag
from veilspan.reports.numbers import MINUS, count, number, percent
from veilspan.reports.shapes.section import shapes_part
from veilspan.reports.subject import Subject, top
from veilspan.reports.svg import figure

MOST_NAMES, MOST_COLUMNS = 16, 6
CENTERS = {
    "private": "a private mean, subtracted",
    "public": "a public vector, subtracted",
    "origin": "the origin: nothing was subtracted",
}
LEVELS = 9  # shades of a cell on each side of zero


def learned_section(subject: Subject) -> Html | None:
    """The section, or None for a bare statement."""
    parts = [part for make in _PARTS if (part := make(subject)) is not None]
    curves = getattr(subject.source, "shapes_", None)
    if not parts and curves is None:
        return None
    return tag(
        "section",
        tag("h2", "What was learned"),
        tag(
            "p",
            "Drawn from the released numbers alone; no row was looked at for this page.",
            class_="muted",
        ),
        None if curves is None else shapes_part(curves),
        tag("div", *parts, class_="two" if len(parts) > 1 else None) if parts else None,
        id="learned",
        class_="card",
    )


def _spectrum(subject: Subject) -> Html | None:
    source = subject.source
    values = getattr(source, "explained_variance_", None)
    label = "variance"
    if values is None:
        values, label = getattr(source, "spectrum_", None), "eigenvalue"
    if values is None:
        return None
    values = np.asarray(values, dtype=float)
    kept, edge = len(source.components_), getattr(source, "noise_edge_", None)
    shares = getattr(source, "explained_variance_ratio_", None)
    rows = [
        (i + 1, number(value), "" if shares is None else percent(float(shares[i])))
        for i, value in enumerate(values[:MOST_BARS])
    ]
    words = f"Noisy {label} along {'each component' if len(values) == kept else 'all directions'}."
    if edge is not None:
        words += " The dashed line is what noise alone reaches: what stays below it may be noise."
    if len(values) > MOST_BARS:
        words += f" The first {MOST_BARS} of {len(values):,} are drawn."
    head = ("component", label, "" if shares is None else "share of the total")
    numbers = details("Numbers", table(head, rows, caption="Spectrum", numeric=(0, 1, 2)))
    return _with_title("Spectrum", spectrum_chart(values, kept, edge, label), words, numbers)


def _loadings(subject: Subject) -> Html | None:
    parts = getattr(subject.source, "components_", None)
    if parts is None:
        return None
    parts = np.asarray(parts, dtype=float)
    shown = parts[:MOST_COLUMNS]
    names = subject.names(parts.shape[1])
    chosen = top(np.abs(shown).max(axis=0), MOST_NAMES)
    heads = [f"component {i + 1}" if len(shown) < 3 else str(i + 1) for i in range(len(shown))]
    rows = [(names[j], *shown[:, j]) for j in chosen]
    words = _of_all(len(chosen), parts.shape[1], "column", "by their largest loading")
    if len(parts) > MOST_COLUMNS:
        words += f" Components 1 to {MOST_COLUMNS} of {len(parts)}."
    return _with_title("Loadings", heat_table("column", heads, rows, "Loadings"), words)


def _coefficients(subject: Subject) -> Html | None:
    values = getattr(subject.source, "coef_", None)
    if values is None:
        return None
    values = np.atleast_2d(np.asarray(values, dtype=float))
    names = subject.names(values.shape[1])
    chosen = top(np.abs(values).max(axis=0), MOST_NAMES)
    zeros = int(np.sum(np.all(values == 0, axis=0)))
    words = _of_all(len(chosen), values.shape[1], "column", "by size")
    words += " In units of the columns: sizes compare only where units do."
    words += f" {count(zeros, 'coefficient is', 'coefficients are')} zero." if zeros else ""
    constants = np.atleast_1d(np.asarray(getattr(subject.source, "intercept_", 0.0), dtype=float))
    classes = getattr(subject.source, "classes_", None)
    if len(values) == 1:
        pairs = [(names[j], values[0, j]) for j in chosen]
        towards = "" if classes is None else f" Positive speaks for {_plain(classes[-1])}."
        words += f"{towards} Intercept {number(constants[0])}."
        return _with_title("Coefficients", bar_table("column", "coefficient", pairs), words)
    heads = [_plain(label) for label in classes] if classes is not None else range(len(values))
    heads = list(map(str, heads))[:MOST_COLUMNS]
    if len(values) > MOST_COLUMNS:
        words += f" The first {MOST_COLUMNS} of {len(values)} classes."
    rows: list[Sequence[Any]] = [(names[j], *values[:MOST_COLUMNS, j]) for j in chosen]
    rows.append(("(intercept)", *constants[:MOST_COLUMNS]))
    return _with_title("Coefficients", heat_table("column", heads, rows, "Coefficients"), words)


def _items(subject: Subject) -> Html | None:
    source = subject.source
    bias = getattr(source, "item_bias_", None)
    if bias is None:
        return None
    bias = np.asarray(bias, dtype=float)
    known = getattr(source, "item_ids_", range(len(bias)))
    names = [_plain(name) for name in known]
    best, worst = top(bias, MOST_NAMES // 2), top(-bias, MOST_NAMES // 2)
    chosen = [*best, *(j for j in reversed(worst) if j not in best)]
    words = (
        f"How much better than its raters' own means an item is rated: the ends of {len(bias):,} "
        "items. Noise included."
    )
    pairs = [(names[j], bias[j]) for j in chosen]
    return _with_title("Items", bar_table("item", "bias", pairs), words)


def _factors(subject: Subject) -> Html | None:
    source = subject.source
    if not np.size(getattr(source, "item_factors_", ())):
        return None
    factors = np.asarray(source.item_factors_, dtype=float)
    known = getattr(source, "item_ids_", range(len(factors)))
    chosen = top(np.linalg.norm(factors, axis=1), MOST_NAMES)
    heads = [str(i + 1) for i in range(min(factors.shape[1], MOST_COLUMNS))]
    rows = [(_plain(known[j]), *factors[j, :MOST_COLUMNS]) for j in chosen]
    words = _of_all(len(chosen), len(factors), "item", "by the length of their factors")
    if factors.shape[1] > MOST_COLUMNS:
        words += f" Factors 1 to {MOST_COLUMNS} of {factors.shape[1]}."
    return _with_title("Item factors", heat_table("item", heads, rows, "Item factors"), words)


def _popular(subject: Subject) -> Html | None:
    """The most popular items of a release of lists."""
    source = subject.source
    popularity = getattr(source, "popularity_", None)
    if popularity is None:
        return None
    popularity = np.asarray(popularity, dtype=float)
    chosen = top(popularity, MOST_NAMES)
    pairs = [(_plain(source.item_ids_[j]), popularity[j]) for j in chosen]
    words = (
        f"{_of_all(len(chosen), len(popularity), 'item', 'by popularity')} A user counts once in "
        f"all, however much she has. Noise of {number(source.popularity_noise_)} included."
    )
    return _with_title("Popular items", bar_table("item", "popularity", pairs), words)


def _lists(subject: Subject) -> Html | None:
    """What lists of simulated users cover; people's histories are not looked at."""
    if getattr(subject.source, "popularity_", None) is None:
        return None
    found = subject.source.list_statistics()
    rows = [
        ("items in at least one list", percent(found.coverage)),
        ("items that a history can bring up", percent(found.reachable)),
        ("places that the most popular 1 % of items take", percent(found.head_share)),
        ("the same in the simulated histories", percent(found.head_share_of_histories)),
        ("mean rank by popularity of a listed item", percent(found.mean_popularity_rank)),
    ]
    words = (
        f"Lists of {found.k} for {found.users:,} users who were simulated by the released numbers: "
        "nobody's history was looked at, and nothing was spent. 0 % is the most popular rank."
    )
    chart = table(("", "share of all items, or of places"), rows, caption="Lists", numeric=(1,))
    return _with_title("Coverage and popularity of lists", chart, words)


def _point(subject: Subject) -> Html | None:
    """A mean on a manifold, or the point that ``minimize`` found."""
    source = subject.source
    point = getattr(source, "point", getattr(source, "point_", None))
    name = "Point"
    if point is None and hasattr(source, "manifold"):
        point, name = getattr(source, "mean_", None), f"Mean on {source.manifold!r}"
    if point is None:
        return None
    point = np.asarray(point, dtype=float)
    if point.ndim == 2:
        return _matrix(point, name)
    flat = point.reshape(-1)
    names = [f"[{i}]" for i in range(len(flat))]
    return _vector(flat, names, name, "coordinate")


#: What a centre that was found is called.
FOUND_CENTRES = {
    "origin": "The origin",
    "cap": "The origin, with a cluster of rows left out",
    "pairs": "Differences of randomly paired rows: the direction of the subspace, not its place",
}


def _asked_of_rows(subject: Subject) -> Html | None:
    """Which centre, bound and scale a PCA used, and what its numbers say that one should know."""
    source = subject.source
    if not hasattr(source, "row_norm_") or not hasattr(source, "center_used_"):
        return None
    found = getattr(source, "row_norm", None) is None
    scaled = getattr(source, "scale_", None) is not None
    rows = [
        ("centre", CENTERS.get(source.center_used_, source.center_used_)),
        ("row norm", f"{number(source.row_norm_)}, {'found privately' if found else 'public'}"),
        ("scale", "columns over private standard deviations" if scaled else "columns as they are"),
    ]
    notes = [tag("p", text[:1].upper() + text[1:]) for text in getattr(source, "notes_", ())]
    words = "Rows longer than the row norm about the centre were shortened to it."
    return _with_title(
        "Centre and bound", table(("", "used"), rows, caption="Centre and bound"), words, *notes
    )


def _center(subject: Subject) -> Html | None:
    """The centre of a subspace: what was subtracted, or what was used and why."""
    source = subject.source
    center = getattr(source, "mean_", None)
    if center is None or not hasattr(source, "components_"):
        return None
    used = FOUND_CENTRES.get(getattr(source, "center_used_", ""))
    if used is not None and hasattr(source, "center_reason_"):
        words = f"{used}. Why: {source.center_reason_}."
        return tag("div", tag("h3", "Centre"), tag("p", words))
    if not np.any(center):
        return None
    flat = np.asarray(center, dtype=float)
    return _vector(flat, subject.names(len(flat)), "Centre", "column")


def _matrix(matrix: np.ndarray, name: str) -> Html:
    rows = [
        (str(i), *(number(value) for value in matrix[i, :MOST_CELLS]))
        for i in range(min(len(matrix), MOST_CELLS))
    ]
    heads = ("", *map(str, range(min(matrix.shape[1], MOST_CELLS))))
    words = f"{matrix.shape[0]} × {matrix.shape[1]} released numbers, coloured by sign and size."
    if max(matrix.shape) > MOST_CELLS:
        words += f" The first {MOST_CELLS} rows and columns are drawn."
    numeric = range(1, len(heads))
    numbers = details("Numbers", table(heads, rows, caption=name, numeric=numeric))
    return _with_title(name, matrix_chart(matrix, "matrix", name), words, numbers)


def _vector(flat: np.ndarray, names: Sequence[str], title: str, kind: str) -> Html:
    chosen = top(np.abs(flat), MOST_NAMES)
    pairs = [(names[j], flat[j]) for j in chosen]
    return _with_title(
        title, bar_table(kind, "value", pairs), _of_all(len(chosen), len(flat), kind, "by size")
    )


def heat_table(kind: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], name: str) -> Html:
    """Numbers in cells that are coloured by sign and size."""
    largest = max((abs(float(v)) for row in rows for v in row[1:]), default=0.0) or 1.0
    cells = [(row[0], *(_heat(float(value), largest) for value in row[1:])) for row in rows]
    numeric = range(1, len(heads) + 1)
    return table((kind, *heads), cells, caption=name, numeric=numeric, class_="heat")


def _heat(value: float, largest: float) -> Html:
    level = round(abs(value) / largest * LEVELS)
    shade = f"{'p' if value >= 0 else 'n'}{level}" if level else None
    return tag("span", _align(value, largest), class_=shade)


def _align(value: float, largest: float) -> str:
    """With as many decimals as give the largest of its table three digits."""
    if not 1e-3 <= largest < 1e5:
        return number(value, 2)
    decimals = max(0, 2 - math.floor(math.log10(largest)))
    return f"{value:z.{decimals}f}".replace("-", MINUS)


def bar_table(kind: str, what: str, pairs: Sequence[tuple[str, float]]) -> Html:
    """Names, bars that grow from the middle, and numbers."""
    largest = max((abs(float(value)) for _, value in pairs), default=0.0)
    rows = [
        (name, small_bar(float(value), largest, signed=True), number(value, 3))
        for name, value in pairs
    ]
    return table((kind, "", what), rows, caption=what, numeric=(2,), class_="bars")


def _with_title(title: str, chart: Html, words: str, *more: Html) -> Html:
    return tag("div", tag("h3", title), figure(chart, words, *more))


def _of_all(shown: int, total: int, kind: str, how: str) -> str:
    if shown == total:
        return f"All {count(total, kind)}, {how}."
    return f"The first {shown} of {count(total, kind)}, {how}."


def _plain(value: Any) -> str:
    return str(value.item() if isinstance(value, np.generic) else value)


_PARTS = (
    _spectrum,
    _asked_of_rows,
    _center,
    _loadings,
    _coefficients,
    _items,
    _factors,
    _popular,
    _lists,
    _point,
    error_bars,
)
