"""The public schema of a table: everything that is known of it without looking at a row."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veilspan._words import plural
from veilspan.tables.canonical import digest_of
from veilspan.tables.columns import (
    UNCONFIRMED,
    BooleanColumn,
    CategoryColumn,
    Column,
    NumberColumn,
)
from veilspan.tables.conflicts import find_conflicts
from veilspan.tables.file_format import FileFormat
from veilspan.tables.problems import Problem, SchemaError, not_confirmed, place_of, show
from veilspan.tables.unit import Unit

if TYPE_CHECKING:
    import numpy as np

    from veilspan.tables.encoding import Encoded

__all__ = ["VERSION", "FileFormat", "Schema", "SchemaError", "Unit"]

#: Version of the format that is written; newer ones are refused.
VERSION = 1
_TEXTS = ("name", "version", "about", "owner", "notes")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Schema:
    """What is public of a table: whom it is about, how it is written, and its columns.

    With it every row of every table becomes a row of numbers in [-1, 1] or {0, 1}, so that no
    bound has to be given to an estimator. Two schemas are equal if their digests are.

    Parameters
    ----------
    name : str
        What the dataset is called.
    version, about, owner, notes : str
        For people; part of the digest.
    unit : Unit
        Whom a release protects.
    file : FileFormat
        How text files write cells.
    columns : tuple of Column
        All columns of the file, in the order of the encoded ones.
    veilspan_schema : int
        Version of the format.

    Raises
    ------
    SchemaError
        With every problem, each with its place and what to do.

    Examples
    --------
    >>> from veilspan import Schema
    >>> schema = Schema.from_toml('''
    ... veilspan_schema = 1
    ... name = "ward"
    ...
    ... [columns.age]
    ... type = "integer"
    ... range = [0, 110]
    ... source = "Nobody is older."
    ...
    ... [columns.sex]
    ... type = "category"
    ... categories = ["female", "male", "diverse"]
    ... other = true
    ... source = "Admission form, question 3"
    ... ''')
    >>> schema.columns_out
    ('age', 'sex=female', 'sex=male', 'sex=diverse', 'sex=(other)')
    >>> round(schema.row_norm, 4)
    1.4142
    >>> Schema.from_toml(schema.to_toml()) == schema
    True
    """

    name: str = ""
    version: str = ""
    about: str = ""
    owner: str = ""
    notes: str = ""
    unit: Unit = field(default_factory=Unit)
    file: FileFormat = field(default_factory=FileFormat)
    columns: tuple[Column, ...] = ()
    veilspan_schema: int = VERSION

    def __post_init__(self) -> None:
        if isinstance(self.columns, list):
            object.__setattr__(self, "columns", tuple(self.columns))
        problems = list(self.problems())
        if problems:
            raise SchemaError(problems)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a TOML file; category files are looked for beside it."""
        from veilspan.tables.schema_toml import load_schema

        return load_schema(Path(path))

    @classmethod
    def from_toml(cls, text: str, folder: str | os.PathLike[str] | None = None) -> Schema:
        """Read a schema from TOML text.

        Parameters
        ----------
        text : str
            The schema.
        folder : path, optional
            Where category files are looked for; without one no file is ever opened.
        """
        from veilspan.tables.schema_toml import parse_schema

        return parse_schema(text, None if folder is None else Path(folder))

    def to_toml(self) -> str:
        """The schema as TOML text that reads back with the same digest, lists written out."""
        from veilspan.tables.schema_toml import write_schema

        return write_schema(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a TOML file, whole or not at all."""
        from veilspan._files import write_whole

        data = self.to_toml().encode()
        write_whole(Path(path), lambda stream: stream.write(data))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that the schema says, in hexadecimal; layout does not count."""
        return digest_of(self)

    @cached_property
    def features(self) -> tuple[Column, ...]:
        """Columns that are learned from."""
        return tuple(column for column in self.columns if column.role == "use")

    @cached_property
    def target(self) -> Column | None:
        """The column that the others predict, if there is one."""
        return self.column_of_role("target")

    def column_of_role(self, role: str) -> Column | None:
        """The column of a role that one column has at most, or ``None``."""
        return next((column for column in self.columns if column.role == role), None)

    @cached_property
    def columns_out(self) -> tuple[str, ...]:
        """Names of the encoded columns, in their order."""
        return tuple(name for column in self.features for name in column.names_out)

    @property
    def bounds_out(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest values of the encoded columns, as two arrays."""
        import numpy as np

        pairs = [pair for column in self.features for pair in column.bounds_out]
        table = np.array(pairs, dtype=float).reshape(-1, 2)
        return table[:, 0].copy(), table[:, 1].copy()

    @cached_property
    def row_norm(self) -> float:
        """Length that no encoded row exceeds."""
        return math.sqrt(sum(column.longest for column in self.features))

    @cached_property
    def classes(self) -> tuple[Any, ...] | None:
        """Labels of the target, sorted as NumPy sorts them, if it has some."""
        if isinstance(self.target, CategoryColumn):
            return tuple(sorted(self.target.categories))
        return (False, True) if isinstance(self.target, BooleanColumn) else None

    @property
    def target_range(self) -> tuple[float, float] | None:
        """Range of the target in the user's units, if it is a number."""
        return self.target.range if isinstance(self.target, NumberColumn) else None

    @property
    def neighbors(self) -> str:
        """``"replace-one"`` or ``"add-remove"``, as the unit says."""
        return self.unit.neighbors

    @property
    def count(self) -> int | None:
        """Public number of units, under replace-one."""
        return self.unit.count

    @property
    def expected(self) -> int | None:
        """Public guess of the number of units, under add-remove."""
        return self.unit.expected

    @property
    def protects(self) -> str:
        """What one unit is called: row, patient, household."""
        return self.unit.protects

    def encode(self, table: Any) -> Encoded:
        """Encode a table: every row as numbers within ``bounds_out``, by rules of its cells.

        What comes out is as sensitive as the table.
        """
        from veilspan.tables.encoding import encode_table

        return encode_table(self, table)

    @property
    def unconfirmed(self) -> tuple[str, ...]:
        """Places of facts that were imported and whose source nobody has named yet."""
        found = [place_of("columns", c.name) for c in self.columns if c.source == UNCONFIRMED]
        return (*(("unit",) if self.unit.source == UNCONFIRMED else ()), *found)

    def check_confirmed(self) -> None:
        """Refuse a schema with imported facts that nobody has confirmed."""
        if self.unconfirmed:
            raise SchemaError(not_confirmed(place) for place in self.unconfirmed)

    def check_people(self) -> None:
        """Refuse a schema whose people have ids and no public number, where one is needed."""
        unit = self.unit
        if unit.id is not None and unit.neighbors == "replace-one" and unit.count is None:
            problem = Problem(
                "unit.count",
                f"is missing: how many {plural(self.protects)} there are is not read off their "
                'rows. Say the public number, or neighbors = "add-remove" to keep it private.',
            )
            raise SchemaError([problem])

    def problems(self) -> Iterator[Problem]:
        """Everything that is wrong; a schema that exists has none."""
        yield from self._head_problems()
        yield from self.unit.problems()
        yield from self.file.problems()
        for column in self.columns:
            yield from column.problems()
        yield from find_conflicts(self.unit, self.file, self.columns)

    def _head_problems(self) -> Iterator[Problem]:
        version = self.veilspan_schema
        if type(version) is not int or version < 1:
            yield Problem("veilspan_schema", f"is the version of the format, {VERSION}.")
        elif version > VERSION:
            yield Problem(
                "veilspan_schema",
                f"{show(version)} is newer than this veilspan, which reads {VERSION}; upgrade it.",
            )
        for name in _TEXTS:
            if not isinstance(getattr(self, name), str):
                yield Problem(name, f"is a text, not {show(getattr(self, name))}.")

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Schema) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    # Nothing in a schema changes, so a copy is itself.
    def __copy__(self) -> Schema:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Schema:
        return self

    def __getstate__(self) -> dict[str, str]:
        return {"toml": self.to_toml()}

    def __setstate__(self, state: dict[str, str]) -> None:
        self.__dict__.update(Schema.from_toml(state["toml"]).__dict__)

    def __repr__(self) -> str:
        from veilspan.tables.display import describe_line

        return describe_line(self)

    def __str__(self) -> str:
        from veilspan.tables.display import describe_text

        return describe_text(self)

    def _repr_html_(self) -> str:
        from veilspan.tables.display import describe_html

        return describe_html(self)
