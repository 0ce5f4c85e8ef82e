"""Input checks in one place, with one wording, and never a value of the data in a message."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from veilspan._scales import check_location
from veilspan.curator.column_words import say_columns, say_targets
from veilspan.curator.dask.table import DaskTable, is_lazy
from veilspan.curator.input_kinds import refuse_dates, refuse_masked
from veilspan.estimators.dask_input import validate_lazy

# First lines of scikit-learn's own messages that hold shapes, dtypes or column names only.
_ROW_FREE = re.compile(
    r"Expected (2D|a 2-dimensional)|Found array with|Complex data not supported|"
    r"Input X contains (NaN|infinity)|X has \d+ features|The feature names should match|"
    r"Feature names|A sparse matrix was passed|Sparse data was passed|"
    r"Input should have at least|(float\(\) )?argument must be|Unable to convert array of|"
    r"float\(\) argument must be|This \w+ estimator requires|requires y to be passed|y cannot be|"
    r"Input y contains (NaN|infinity)"
)

FILL_OR_DROP = (
    "Fill or drop such entries first, by a rule that does not look at other people's rows"
)
OWN_TARGETS = (
    "y could not be compared with what is predicted: it must be of the type of the targets of the "
    "fit, one for each row, and none may be missing."
)


def validate_table(estimator: Any, X: Any, *, lazy: bool = False, **options: Any) -> Any:
    """``validate_data`` of scikit-learn, with messages stripped of anything that could be data.

    scikit-learn quotes the text of a cell it cannot convert and prints complex or one-dimensional
    arrays whole. The error raised here keeps the first line if it is known to be row-free.
    With ``lazy``, a Dask collection becomes a table of tasks (see ``estimators.dask_input``).
    """
    if hasattr(X, "__dask_graph__") or isinstance(X, DaskTable):
        if lazy:
            return validate_lazy(estimator, X, **options)
        refuse_lazy(X)
    if hasattr(options.get("y"), "__dask_graph__"):
        raise TypeError("y is a Dask collection but X is not; pass y.compute(), or X as one too.")
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # a sparse table may be one
        raise TypeError(
            "X is a dict: without a schema pass a data frame or an array of two dimensions, "
            "pandas.DataFrame([X]) for one row of numbers by name."
        )
    X = readable(X, missing=options.get("ensure_all_finite") == "allow-nan")
    if options.get("y") is not None and not is_plain(options["y"]):
        refuse_masked(options["y"], "y")
        if options.get("y_numeric"):
            refuse_dates(options["y"], "y")
    failure: tuple[type[Exception], str] | None = None
    table = None
    try:
        with np.errstate(all="ignore"):
            if _passes_at_sight(X, **options):
                return _take_as_it_is(estimator, X, **options)
            table = validate_data(estimator, X, **options)
            rows = table[0] if isinstance(table, tuple) else table
            if rows.dtype.kind == "O" and hasattr(X, "dtypes"):
                raise TypeError("categories of texts")  # which, is said below
            if options.get("y_numeric") and isinstance(table, tuple):
                table = table[0], as_numbers(table[1])
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        told = say_columns(X, by_schema=hasattr(estimator, "schema"))
        if not told and options.get("y_numeric"):
            told = say_targets(options.get("y"))
        said = _row_free(error, "y" in options, told)
        failure = (kind, f"{said}{_next_step(estimator, said)}")
    if failure is not None:
        # Raised out here so that the original, which may quote a row, is not kept as __context__.
        raise failure[0](failure[1])
    return table


#: What is asked of tables in most fits; a table is looked at by scikit-learn if anything else is.
_USUAL = {"accept_sparse", "dtype", "ensure_min_samples", "y_numeric", "y", "reset"}


def _passes_at_sight(X: Any, **options: Any) -> bool:
    """Whether scikit-learn's checks of the entries would let rows, and targets, pass as they are.

    They take half a millisecond to find out what kind of table an array is, a fifth of a small fit.
    """
    if not (options.keys() <= _USUAL and options.get("dtype") == "numeric"):
        return False
    if not (type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2):
        return False
    y, least = options.get("y", "no_validation"), options.get("ensure_min_samples", 1)
    if isinstance(y, str):
        fits = y == "no_validation"
    else:
        fits = is_plain(y) and y.shape == X.shape[:1] and _is_finite(y)
    return fits and X.shape[0] >= max(1, least) and X.shape[1] >= 1 and _is_finite(X)


def _take_as_it_is(estimator: Any, X: np.ndarray, **options: Any) -> Any:
    """What ``validate_data`` does beside looking at the entries: columns are counted, or compared.

    A fit only notes their number, and forgets the names of an earlier table.
    """
    y = options.get("y", "no_validation")
    if not options.get("reset", True):
        return validate_data(estimator, X, y, reset=False, skip_check_array=True)
    estimator.n_features_in_ = X.shape[1]
    vars(estimator).pop("feature_names_in_", None)
    return X if isinstance(y, str) else (X, y)


def _is_finite(array: np.ndarray) -> bool:
    """Whether a sum says that all entries are finite; not if it overflows, which is no matter."""
    if array.dtype.kind != "f":
        return True
    # Squares are summed in half of the time, where that needs no copy.
    plain = array.dtype == np.float64 and array.flags.c_contiguous
    return math.isfinite(np.vdot(array, array) if plain else array.sum())


def readable(X: Any, name: str = "X", *, missing: bool = False) -> Any:
    """The input as it can be read, unless it is masked or holds dates.

    Parameters
    ----------
    X : Any
        Rows, or numbers of the caller's own.
    name : str
        What an error calls it.
    missing : bool
        Whether NaN says "missing" there: what a mask hides then becomes NaN.
    """
    if is_plain(X):
        return X
    if isinstance(X, (list, tuple)):
        refuse_masked(X, name)
        X = _as_array(X)
    refuse_dates(X, name)
    if missing and isinstance(X, np.ma.MaskedArray) and X.dtype.kind in "fiub":
        return np.ma.filled(X.astype(np.float64), np.nan)
    refuse_masked(X, name)
    return X


def is_plain(x: Any) -> bool:
    """Whether it is an ordinary array of numbers, which masks nothing and holds no dates."""
    return type(x) is np.ndarray and x.dtype.kind in "fiub"


def _as_array(X: Any) -> Any:
    """Lists as the array that NumPy makes of them; left as they are if it makes none."""
    try:
        return np.asarray(X)
    except (TypeError, ValueError):  # ragged: whoever reads it refuses it
        return X


def as_numbers(y: Any) -> np.ndarray:
    """Targets that scikit-learn has let pass as numbers: texts are none to it, nor refused."""
    return y if is_plain(y) else np.asarray(y, dtype=np.float64)


def own_score(
    measure: Callable[..., Any], targets: Any, predicted: np.ndarray, weights: Any
) -> float:
    """What a measure of scikit-learn says of own targets, or an error that quotes none of them."""
    weights = None if weights is None else own_numbers(weights, "sample_weight")
    failure = ""
    try:
        return float(measure(targets, predicted, sample_weight=weights))
    except (ValueError, TypeError) as error:
        failure = _row_free(error, True, OWN_TARGETS)
    raise ValueError(failure)  # out here: the original may quote a target


def own_numbers(X: Any, name: str = "X") -> np.ndarray:
    """Numbers of the caller's own as float64, or an error that quotes none of them."""
    X = readable(X, name)
    numbers = None
    try:
        numbers = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None:  # out here: the original may quote an entry
        raise ValueError(f"{name} could not be read as real numbers.")
    return numbers


def _row_free(error: Exception, with_targets: bool, otherwise: str = "") -> str:
    first = str(error).splitlines()[0] if str(error) else ""
    if first.startswith("Expected 2D array"):
        return f"{first.rstrip(':')}. Reshape your data: array.reshape(1, -1) makes it one row."
    # These two tell the number of rows, which may be private.
    if first.startswith("Found input variables with inconsistent numbers of samples"):
        return "X and y have different numbers of rows."
    if first.startswith("y should be a 1d array"):
        return "y should be a 1d array: one target per row."
    if first.startswith("The feature names should match"):
        return str(error).strip()  # the other lines are names
    if _ROW_FREE.match(first):
        # Without its number of rows, which may be private.
        return re.sub(r"\(shape=\(\d+, 0\)\)", "(shape=(, 0))", first)
    return otherwise or (
        "the data could not be read as a table of real numbers with targets; check dtypes column "
        "by column, and that of y."
        if with_targets
        else "X could not be read as a table of real numbers; check its dtypes column by column."
    )


def _next_step(estimator: Any, said: str) -> str:
    """What to do about entries that are missing or infinite."""
    if not said.startswith(("Input X contains", "Input y contains")):
        return ""
    schema = ", or describe the table by a schema, which knows missing cells"
    schema = schema if hasattr(estimator, "schema") and said.endswith("NaN.") else ""
    return f" {FILL_OR_DROP}{schema}."


def refuse_lazy(*inputs: Any, instead: str = "pass X.compute() if it fits.") -> None:
    """Refuse Dask collections where only tables in memory are of use."""
    if any(is_lazy(each) or isinstance(each, DaskTable) for each in inputs):
        raise TypeError(f"a Dask collection is not loaded into memory behind your back; {instead}")


def refuse_lazy_score(*inputs: Any) -> None:
    """Refuse Dask collections in ``score``, for which scikit-learn would load them."""
    refuse_lazy(
        *inputs, instead="score(...) would load it; compare model.predict(X) with y lazily."
    )


def check_count(value: Any, name: str, largest: int) -> int:
    """Return a whole number between 1 and ``largest``, or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number; got {type(value).__name__}.")
    if not 1 <= value <= largest:
        raise ValueError(f"{name} must lie between 1 and {largest}; got {value}.")
    return int(value)


def check_learned_count(count: Any, least: int, most: int) -> None:
    """Refuse a number of components, as a file says it, that no fit can have had."""
    if isinstance(count, bool) or not isinstance(count, int) or not least <= count <= most:
        raise ValueError("its number of components does not fit its columns")


def check_public_vector(value: Any, name: str, length: int) -> np.ndarray:
    """Return a public vector of the right length, or raise."""
    vector = np.asarray(value, dtype=np.float64)
    if vector.shape != (length,) or not np.isfinite(vector).all():
        raise ValueError(f"{name} must hold {length} finite numbers; got shape {vector.shape}.")
    return check_location(vector, name)
