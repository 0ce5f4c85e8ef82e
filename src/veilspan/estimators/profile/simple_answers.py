"""Simple answers: how many, what mean, which quantiles. Each is a small charged release.

What people try first. Each call fits a :class:`veilspan.Profile` of the columns that it needs and
nothing else, so it has the same schema, neighbours, ledger, error bars and proofs. Several calls
compose: **each spends its own budget**. Ten answers at epsilon = 0.1 each are far less exact than
one profile at epsilon = 1, which holds all of them; ask here for one or two numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from veilspan.estimators.profile.profile import QUANTILES, Profile
from veilspan.privacy.statement import PrivacyStatement
from veilspan.solvers.profile.estimates import Estimate
from veilspan.solvers.profile.read_answers import Crosstab
from veilspan.solvers.profile.wording import say_number, say_share, say_value


@dataclass(frozen=True, repr=False, eq=False)
class SimpleAnswer:
    """One or a few released numbers, with what was promised for them.

    Attributes
    ----------
    estimates : dict of Estimate
        The numbers by name, level or label. One alone is also ``value``, ``low``, ``high``.
    privacy_ : PrivacyStatement
        What was promised and spent.
    release : Profile
        The small profile that they were read from: it can be saved and reported on.
    """

    estimates: dict[Any, Estimate]
    privacy_: PrivacyStatement
    release: Profile
    texts: dict[Any, str]

    @property
    def estimate(self) -> Estimate:
        """The number, if there is one alone."""
        if len(self.estimates) != 1:
            raise AttributeError("there are several numbers: look one up in estimates.")
        return next(iter(self.estimates.values()))

    @property
    def value(self) -> float:
        """The number, if there is one alone."""
        return self.estimate.value

    @property
    def low(self) -> float:
        """Lower end of its interval of 95 %, by noise alone."""
        return self.estimate.low

    @property
    def high(self) -> float:
        """Upper end of its interval of 95 %, by noise alone."""
        return self.estimate.high

    def __getitem__(self, name: Any) -> Estimate:
        return self.estimates[name]

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        spent = f"epsilon {self.privacy_.epsilon:g} at delta {self.privacy_.delta:g}"
        if not self.privacy_.private:
            spent = f"NOT PRIVATE: {self.privacy_.why_not_private}"
        if len(self.texts) == 1:
            return f"{next(iter(self.texts.values()))} ({spent})"
        lines = [f"  {name}: {text}" for name, text in self.texts.items()]
        return "\n".join([f"{len(lines)} numbers ({spent})", *lines])

    def to_dict(self) -> dict[str, Any]:
        """For JSON, with the statement."""
        numbers = [{"name": name, **each.to_dict()} for name, each in self.estimates.items()]
        return {"numbers": numbers, "privacy": self.privacy_.to_dict()}


def count(table: Any, schema: Any, **budget: Any) -> SimpleAnswer:
    """How many people are in a table: noisy under add-remove, public otherwise.

    Under replace-one the number is public, the schema or the table says it, and nothing is spent
    on it: use :func:`histogram` to count people of a kind.

    Parameters
    ----------
    table : table
        As for :meth:`veilspan.Profile.fit`.
    schema : Schema
        What is public of it, with ``neighbors = "add-remove"``.
    **budget
        ``epsilon``, ``delta``, ``noise``, ``random_state``, ``ledger``.

    Examples
    --------
    >>> import veilspan
    >>> schema = veilspan.Schema.from_toml('''
    ... veilspan_schema = 1
    ... name = "club"
    ... [unit]
    ... neighbors = "add-remove"
    ... [columns.paid]
    ... type = "boolean"
    ... true = ["yes"]
    ... false = ["no"]
    ... source = "the form"
    ... ''')
    >>> members = veilspan.count({"paid": ["yes", "no"] * 500}, schema, epsilon=1.0)
    >>> 900 < members.value < 1100
    True
    """
    if getattr(schema, "neighbors", None) == "replace-one":  # fit says what is wrong with others
        raise ValueError(
            "under replace-one the number of people is public: the schema's count, or the number "
            'of rows. For a private count declare neighbors = "add-remove" in the schema\'s unit; '
            "to count people of a kind ask for a histogram."
        )
    smallest = min(
        (column for column in getattr(schema, "columns", ()) if column.role in ("use", "target")),
        key=_cells_needed,
        default=None,
    )
    names = None if smallest is None else [smallest.name]
    release = _measure(table, schema, budget, columns=names, bins=1, most_numbers=0)
    return _answer(release, {"people": release.people}, {"people": say_number(release.people)})


def mean(table: Any, schema: Any, column: str, **budget: Any) -> SimpleAnswer:
    """The mean of one column of numbers, dates or booleans, those beyond its range moved to it.

    On a log scale it is the geometric mean; of a boolean the share of true ones.

    Parameters
    ----------
    table, schema, **budget
        As for :func:`count`, with either neighbour relation.
    column : str
        Its name.
    """
    _check_type(schema, column, ("category",), "no mean: ask for its histogram.")
    release = _measure(table, schema, budget, columns=[column], bins=1)
    found = release[column].mean
    assert found is not None
    return _answer(release, {column: found}, {column: say_value(release[column].cells, found)})


def quantiles(
    table: Any,
    schema: Any,
    column: str,
    levels: float | Sequence[float] = QUANTILES,
    *,
    bins: int = 40,
    **budget: Any,
) -> SimpleAnswer:
    """Several quantiles of one column of numbers or dates, for the price of one.

    Parameters
    ----------
    table, schema, **budget
        As for :func:`count`, with either neighbour relation.
    column : str
        Its name.
    levels : float or sequence of float
        Between 0 and 1; how many there are costs nothing.
    bins : int
        Most bins inside the range; a quantile is exact up to one of them.
    """
    _check_type(schema, column, ("category", "boolean"), "no quantiles: ask for its histogram.")
    release = _measure(
        table, schema, budget, columns=[column], bins=bins, quantiles=levels, most_numbers=0
    )
    said = release[column]
    texts = {level: say_value(said.cells, each) for level, each in said.quantiles.items()}
    return _answer(release, dict(said.quantiles), texts)


def histogram(
    table: Any, schema: Any, column: str, *, bins: int = 20, **budget: Any
) -> SimpleAnswer:
    """Share of people in every cell of one column, the missing included.

    Parameters
    ----------
    table, schema, **budget
        As for :func:`count`, with either neighbour relation.
    column : str
        Its name.
    bins : int
        Most bins inside the range of numbers and dates.
    """
    release = _measure(table, schema, budget, columns=[column], bins=bins, most_numbers=0)
    shares = release[column].shares
    return _answer(release, shares, {label: say_share(each) for label, each in shares.items()})


def crosstab(
    table: Any, schema: Any, one: str, other: str, *, bins: int = 10, **budget: Any
) -> SimpleAnswer:
    """Share of people in every pair of cells of two columns.

    Parameters
    ----------
    table, schema, **budget
        As for :func:`count`, with either neighbour relation.
    one, other : str
        Names of the columns: of the rows and of the columns of the table.
    bins : int
        Most bins inside the range of numbers and dates.
    """
    release = _measure(
        table, schema, budget,
        columns=[one, other], crosstabs=[(one, other)], bins=bins, most_numbers=0,
    )  # fmt: skip
    found: Crosstab = release.crosstab(one, other)
    shares = {(a, b): found.of(a, b) for a in found.rows.labels for b in found.columns.labels}
    return _answer(release, shares, {pair: say_share(each) for pair, each in shares.items()})


def _measure(table: Any, schema: Any, budget: dict[str, Any], **what: Any) -> Profile:
    known = ("epsilon", "delta", "noise", "random_state", "ledger")
    for name in budget:
        if name not in known:
            raise TypeError(f"unknown setting {name!r}; known are {', '.join(known)}.")
    neighbors = getattr(schema, "neighbors", "replace-one")  # fit says what is wrong with others
    return Profile(schema=schema, neighbors=neighbors, **budget, **what).fit(table)


def _check_type(schema: Any, column: str, types: tuple[str, ...], why: str) -> None:
    """Refuse a column of these types, before anything is spent."""
    for known in getattr(schema, "columns", ()):
        if known.name == column and known.type in types:
            raise ValueError(f"{column!r} is a {known.type} and has {why}")


def _cells_needed(column: Any) -> int:
    """How many cells a column has with one bin: the fewer, the less noise in their total."""
    if column.type == "category":
        return len(column.categories) + 1
    return 3 if column.type == "boolean" else 4


def _answer(
    release: Profile, estimates: dict[Any, Estimate], texts: dict[Any, str]
) -> SimpleAnswer:
    return SimpleAnswer(estimates, release.privacy_, release, texts)
