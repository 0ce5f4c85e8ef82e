"""A small table of numbers with names, which prints well and turns into a data frame."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

#: Rows that are printed; ``to_dict`` and ``to_pandas`` have all.
MOST_SHOWN = 60
#: Columns that are printed.
MOST_ACROSS = 8


@dataclass(frozen=True, eq=False, repr=False)
class NamedTable:
    """Numbers by the names of their rows and columns.

    Attributes
    ----------
    title : str
        What it holds.
    rows, columns : tuple of str
        Names.
    values : array of shape (rows, columns)
        The numbers.
    units : tuple of str
        What the numbers of each row are in.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: np.ndarray
    units: tuple[str, ...]

    def __getitem__(self, name: str) -> np.ndarray:
        """The numbers of a row, by its name."""
        return self.values[self.rows.index(name)]

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Numbers by name of row, then of column."""
        return {
            row: dict(zip(self.columns, map(float, numbers)))
            for row, numbers in zip(self.rows, self.values)
        }

    def to_pandas(self) -> Any:
        """A data frame with the units in front; needs pandas."""
        import pandas as pd

        frame = pd.DataFrame(self.values, index=list(self.rows), columns=list(self.columns))
        frame.insert(0, "unit", list(self.units))
        return frame

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        head = ["", *self._shown_columns(), "unit"]
        lines = [[row, *self._numbers(i), self.units[i]] for i, row in self._shown_rows()]
        widths = [max(map(len, cells)) for cells in zip(head, *lines)]
        text = []
        for name, *numbers, unit in [head, *lines]:
            aligned = map(str.rjust, numbers, widths[1:-1])
            text.append("  ".join([name.ljust(widths[0]), *aligned, unit]).rstrip())
        return "\n".join([*text, *self._left_out()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in ("", *self._shown_columns(), "unit"))
        lines = []
        for i, row in self._shown_rows():
            numbers = "".join(f"<td>{number}</td>" for number in self._numbers(i))
            lines.append(
                f"<tr><th>{escape(row)}</th>{numbers}<td>{escape(self.units[i])}</td></tr>"
            )
        more = "".join(f"<p>{escape(line)}</p>" for line in self._left_out())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"

    def _shown_columns(self) -> tuple[str, ...]:
        return self.columns[:MOST_ACROSS]

    def _shown_rows(self) -> list[tuple[int, str]]:
        return list(enumerate(self.rows))[:MOST_SHOWN]

    def _numbers(self, row: int) -> list[str]:
        return [f"{number:.4g}" for number in self.values[row, :MOST_ACROSS]]

    def _left_out(self) -> list[str]:
        more = len(self.rows) - MOST_SHOWN
        across = len(self.columns) - MOST_ACROSS
        counted = ((more, "rows"), (across, "columns"))
        told = " and ".join(f"{count:,} more {what}" for count, what in counted if count > 0)
        return [f"... {told}: see to_pandas() or to_dict()."] if told else []
