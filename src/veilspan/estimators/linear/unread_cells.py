r"""What a fit tells of cells that nobody could read, by answers that were paid for.

A cell that its schema cannot read counts as missing, and no message may tell of one. So a file that
writes "40h" for 40, or 12,5 for 12.5, becomes a table in which all rows are alike, and a model that
learned nothing looks like one that did. Two noisy answers show it:

* *Targets.* Rows without a target count nothing in any sum. A count of the others
  (:mod:`veilspan.solvers.linear.asked.readable_targets`, or that of the classes) beside the public
  number of rows says how many could be read.
* *Columns of numbers.* The histogram by which curves are laid
  (:mod:`veilspan.solvers.linear.tables.column_mass`) says where all rows fall into one cell, which
  is that of missing numbers or of what is filled in for them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from veilspan.estimators.people_plan import has_people
from veilspan.privacy.plan import Plan
from veilspan.queries.linear.residual_features import ResidualFeatures
from veilspan.queries.linear.table_features import TableFeatures
from veilspan.solvers.linear.base import LinearResult

#: Targets that can be read are few below this part of the rows, and worth a word below that.
FEW, MOST = 0.5, 0.95
#: Stds of the noise by which they must be below that: one false word in 30,000 fits.
SURELY = 4.0
#: Stds of the noise above which a count is worth its name.
COUNTED = 2.0
#: Columns that a warning names.
NAMED = 5

NUMBERS_UNREAD = (
    "the rows have a target that could be read (by a noisy count that was paid for). The others "
    "count as missing and taught the model nothing. If the table has numbers there, it writes them "
    'in another way than the schema expects ("40h" for 40, or 12,5 for 12.5): change the table, or '
    "say in the schema how its numbers are written, and fit again. A new fit is a new charge."
)
NUMBERS_PARTLY_UNREAD = (
    "the rows have a target that could be read (by a noisy count that was paid for); the others "
    "count as missing{places}. If fewer are, the table writes numbers in another way than the "
    "schema expects."
)
FEWER_ROWS = ", and so do rows that the schema counts and the table has not"
ALIKE = (
    "nearly all rows are alike in {columns} (by noisy counts that were paid for). That may be so. "
    "If it is not, cells could not be read and count as missing (12,5 for 12.5, say), lie beyond "
    "the range that the schema gives, or hardly differ beside so wide a range: change it, or the "
    "table, and fit again. A new fit is a new charge."
)


class UnreadCellsWarning(UserWarning):
    """Paid, noisy counts say that few cells of a column, or few targets, could be read."""


class UnreadLabelsWarning(UnreadCellsWarning):
    """A paid, noisy count says that few rows have a label that could be read."""


class ReadCells:
    """What gives a linear model its words about cells that could not be read.

    Attributes
    ----------
    cautions_ : tuple of str
        What paid answers say of the table that whoever uses the release should know: cells or
        labels that could not be read, rare classes. ``fit`` warns of it, and reports show it.
    """

    schema: Any
    cautions_: tuple[str, ...]
    _to_say: tuple[tuple[type[Warning], str], ...]

    def _keep_unread(self, row_map: Any, result: LinearResult, plan: Plan) -> None:
        """What to say after the fit, by released counts and public numbers."""
        self.cautions_, self._to_say = (), ()
        said = []
        if result.readable is not None:
            found = float(result.readable.value[0])
            told = unread_share(found, result.readable.noise_std, plan, self.schema)
            if told is not None:
                said.append(f"{told} {NUMBERS_UNREAD}")
            elif self.schema is not None:
                told = unread_share(found, result.readable.noise_std, plan, self.schema, MOST)
                text = NUMBERS_PARTLY_UNREAD.format(places=say_places(self.schema))
                said += [] if told is None else [f"{told} {text}"]
        alike = () if self.schema is None else columns_alike(row_map)
        if alike and not said:  # without targets there are no rows in the histogram either
            said.append(_say_alike(alike))
        for text in said:
            self._keep_caution(UnreadCellsWarning, text)

    def _keep_caution(self, kind: type[Warning], text: str) -> None:
        """Keep a sentence with the release, for a warning at the end of the fit as well."""
        self.cautions_ = (*self.cautions_, text)
        self._to_say = (*self._to_say, (kind, text))

    def _warn_of_cautions(self) -> None:
        for kind, text in self.__dict__.pop("_to_say", ()):
            warnings.warn(text, kind, stacklevel=3)


def knows_rows(schema: Any) -> bool:
    """Whether the number of rows is public and each person's is one.

    Where it is a guess, or people bring several or none, a table may have fewer rows than the
    public number says: few targets are no sign of another spelling then.
    """
    return bool(schema.neighbors == "replace-one") and not has_people(schema)


def say_places(schema: Any) -> str:
    """What else counts as missing, where the number of rows is that of the schema."""
    return "" if schema.count is None else FEWER_ROWS


def unread_share(
    found: float, noise_std: float, plan: Plan, schema: Any, below: float = FEW
) -> str | None:
    """How few rows have a target, in words that begin a sentence; None where many may have one."""
    rows = plan.n_rows
    if rows is None or (schema is not None and not knows_rows(schema)):
        return None
    if found + SURELY * noise_std >= below * rows:
        return None
    few = found > COUNTED * noise_std
    return f"Only about {100 * found / rows:.2g} % of" if few else "Hardly any of"


def columns_alike(row_map: Any) -> tuple[str, ...]:
    """Columns of numbers in which nearly all rows fall into one cell of the released histogram."""
    features = row_map.features if isinstance(row_map, ResidualFeatures) else row_map
    if not isinstance(features, TableFeatures) or features.alike is None:
        return ()
    layout = features.layout
    owners = layout.number_column[np.flatnonzero(features.alike)]
    return tuple(dict.fromkeys(layout.columns[owner] for owner in owners))


def _say_alike(columns: tuple[str, ...]) -> str:
    named = ", ".join(columns[:NAMED])
    if len(columns) > NAMED:
        named += f" and {len(columns) - NAMED} more"
    text = ALIKE.format(columns=named)
    return text[0].upper() + text[1:]
