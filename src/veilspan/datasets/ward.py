"""A made-up hospital table as people have them: ids, dates, texts, categories, gaps, typing errors.

One row a patient, nobody real. What is public of it stands in a schema.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from veilspan._files import write_whole

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema

WARDS = ("A", "B", "C", "D", "E")
#: Share of cells that are empty or cannot be read, as in tables that were typed by hand.
UNREADABLE = 0.03
FIRST, LAST = np.datetime64("2020-01-01"), np.datetime64("2025-12-31")
NOTES = ("", "follow-up in 6 weeks", "see letter", "transferred, stable", 'family: "no concerns"')

SCHEMA = """\
veilspan_schema = 1
name    = "ward"
version = "1"
about   = "One line a patient of a made-up hospital, 2020 to 2025."
owner   = "Data protection office"

[unit]
protects = "patient"
count    = {count}
source   = "Annual report 2025, page 12"

[file]
missing = ["", "NA", "-99"]

[columns.patient_id]
role = "ignore"

[columns.age]
type   = "integer"
unit   = "year"
range  = [0, 110]
fill   = 50
source = "Nobody is older."

[columns.creatinine]
type   = "number"
unit   = "umol/L"
range  = [20, 1500]
scale  = "log"
fill   = 80
missing_column = true
source = "Laboratory manual, revision 7: range of the device"

[columns.sex]
type       = "category"
categories = ["female", "male", "diverse"]
other      = true
source     = "Admission form, question 3"

[columns.ward]
type       = "category"
categories = ["A", "B", "C", "D", "E"]
other      = true
source     = "Hospital web site"

[columns.smoker]
type   = "boolean"
true   = ["yes"]
false  = ["no"]
fill   = false
source = "Admission form, question 9"

[columns.admitted]
type   = "date"
format = "%Y-%m-%d"
range  = [2020-01-01, 2025-12-31]
as     = ["days", "weekday"]
source = "Period of the study"

[columns.readmitted]
role       = "target"
type       = "category"
categories = ["no", "yes"]
source     = "Study protocol, section 4"

[columns.note]
role = "ignore"
"""


@dataclass(frozen=True, repr=False)
class Ward:
    """A table of texts, as a file holds it, and what is public of it.

    Attributes
    ----------
    names : tuple of str
        Of the columns.
    cells : tuple of lists of str
        A list of cells a column.
    schema_toml : str
        The schema, as a person would write it.
    """

    names: tuple[str, ...]
    cells: tuple[Sequence[str], ...]
    schema_toml: str

    def __repr__(self) -> str:
        lines = len(self.cells[0]) if self.cells else 0
        return f"{type(self).__name__}({lines:,} lines x {len(self.names)} columns)"

    @property
    def schema(self) -> Schema:
        """What is public of the table, as a value."""
        from veilspan.tables.schema import Schema

        return Schema.from_toml(self.schema_toml)

    @property
    def columns(self) -> dict[str, list[str]]:
        """Cells by the name of their column: what ``pandas.DataFrame`` takes."""
        return {name: list(cells) for name, cells in zip(self.names, self.cells)}

    def to_csv(self) -> str:
        """The table as the text of a CSV file."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.names)
        writer.writerows(zip(*self.cells))
        return text.getvalue()

    def save(self, table: str | os.PathLike[str], schema: str | os.PathLike[str]) -> None:
        """Write the table to a CSV file and its schema to a TOML file."""
        written, declared = self.to_csv().encode(), self.schema_toml.encode()
        write_whole(Path(table), lambda stream: stream.write(written))
        write_whole(Path(schema), lambda stream: stream.write(declared))


def make_ward(n_patients: int = 5000, *, random_state: int | None = 0) -> Ward:
    """Draw patients whose chance to come back grows with age, creatinine and smoking.

    Parameters
    ----------
    n_patients : int
        Rows.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> from veilspan import LogisticRegression
    >>> from veilspan.datasets import make_ward
    >>> ward = make_ward(3000)
    >>> model = LogisticRegression(epsilon=1.0, schema=ward.schema, features="linear")
    >>> model.fit(ward.columns).coefficients_.rows[:3]
    ('age', 'creatinine', 'creatinine=(missing)')
    """
    rng = np.random.default_rng(random_state)
    n = n_patients
    age = np.clip(rng.normal(58, 18, n), 0, 104).round().astype(int)
    creatinine = np.exp(rng.normal(4.4, 0.45, n) + 0.004 * (age - 58)).round(1)
    smoker = rng.random(n) < 0.28
    ward = rng.choice(WARDS, n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    score = 0.045 * (age - 58) + 1.1 * (np.log(creatinine) - 4.4) + 0.9 * smoker - 0.8
    score += 0.6 * (ward == "D")
    back = rng.logistic(size=n) < score
    days = rng.integers(int((LAST - FIRST).astype(int)) + 1, size=n)
    cells = {
        "patient_id": [f"P{number:06d}" for number in rng.permutation(10 * n)[:n]],
        "age": list(map(str, age)),
        "creatinine": list(map(str, creatinine)),
        "sex": rng.choice(["female", "male", "diverse"], n, p=[0.51, 0.485, 0.005]).tolist(),
        "ward": ward.tolist(),
        "smoker": np.where(smoker, "yes", "no").tolist(),
        "admitted": list(map(str, FIRST + days)),
        "readmitted": np.where(back, "yes", "no").tolist(),
        "note": rng.choice(NOTES, n).tolist(),
    }
    spoil_cells(cells, rng)
    return Ward(tuple(cells), tuple(cells.values()), SCHEMA.format(count=n))


def spoil_cells(cells: dict[str, list[str]], rng: np.random.Generator) -> None:
    """Empty some cells of every used column, or write something into them that is no value."""
    for name in ("age", "creatinine", "sex", "smoker", "admitted", "readmitted"):
        for place in np.flatnonzero(rng.random(len(cells[name])) < UNREADABLE):
            cells[name][place] = str(rng.choice(["", "NA", "-99", "?", "not asked"]))
