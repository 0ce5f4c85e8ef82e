"""Fitted powers, and when a promise about one is judged: what the items on rates share."""

import math

import numpy as np

VAGUE = 0.15  # standard error of a power beyond which nothing is judged
#: What a power may miss by in a finite range of sizes: constants and logarithms bend a line by a
#: tenth or two, and an order that nobody could tell from the promised one refutes nothing.
SLACK = 0.2
LARGE = "Powers of the number of rows are fitted from its median on: O() speaks of many rows."
JUDGED = (
    f"A power is compared with a promise after two standard errors and {SLACK} (sizes are finite) "
    "in favour of the promise; seeds of one table are averaged first: promises are on means. Where "
    f"the standard error is above {VAGUE}, or unknown, it is not judged, unless it keeps the "
    "promise with two standard errors against it."
)


def fit_line(x, y):
    """Slope of y on x with its standard error (nan where two points give none)."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    x = x - x.mean()
    square = float(x @ x)
    if square == 0:
        return math.nan, math.nan
    slope = float(x @ y) / square
    left = y - y.mean() - slope * x
    free = len(x) - 2
    return slope, math.sqrt(float(left @ left) / free / square) if free > 0 else math.nan


def fit_power(x, y, least=1e-300):
    """Power of x that y follows, with its standard error."""
    return fit_line(np.log(x), np.log(np.maximum(y, least)))


def fit_means(rows, key, value):
    """Power of a key that the mean over seeds follows; a point is one table at one setting."""
    cells = {}
    for row in rows:
        cells.setdefault((row[key], row["table"]), []).append(value(row))
    return fit_power([place for place, _ in cells], [float(np.mean(c)) for c in cells.values()])


def large(rows, key):
    """Those from the median of a key on: promises with O() speak of large ones."""
    middle = float(np.median(sorted({row[key] for row in rows}))) if rows else 0.0
    return [row for row in rows if row[key] >= middle]


def not_above(value, promised, vague=VAGUE):
    """Whether a slope is at most the promised one; ``None`` if it is too vague to say.

    One that is below by more than two standard errors is clear, however large these are.
    """
    slope, error = value
    if slope + 2 * error <= promised:  # not if it is nan
        return True
    return bool(slope <= promised + SLACK + 2 * error) if error <= vague else None


def not_below(value, promised, vague=VAGUE):
    """Whether a slope is at least the promised one; ``None`` if it is too vague to say."""
    return not_above((-value[0], value[1]), -promised, vague)


def all_hold(*answers):
    """And: one that fails decides, else one that is not judged leaves the whole open."""
    if any(answer is False for answer in answers):
        return False
    return None if None in answers else True


def texts(value):
    """A slope and its standard error in words."""
    slope, error = value
    return f"{slope:+.2f}" + ("" if math.isnan(error) else f" +- {error:.2f}")
