"""What a release, a charge and a report keep of a schema: which one it was, not what it says.

A schema is public and lies in a file of its own. Its digest says whether a file at hand is the one
that was used; name and version say to people which file to look for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Hexadecimal digits of a digest that are enough to tell schemas apart on a line of a table.
_SHORT = 12


@dataclass(frozen=True)
class SchemaRecord:
    """Which schema was used.

    Attributes
    ----------
    digest : str
        SHA-256 of the schema's canonical form, in hexadecimal.
    name : str
        Of the dataset that it describes.
    version : str
        As its author wrote it.
    """

    digest: str
    name: str
    version: str = ""

    def __post_init__(self) -> None:
        texts = (self.digest, self.name, self.version)
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("the digest, the name and the version of a schema are texts.")
        if len(self.digest) != 64 or not set(self.digest) <= set("0123456789abcdef"):
            raise ValueError("the digest of a schema is 64 hexadecimal digits.")

    @classmethod
    def of(cls, schema: Any) -> SchemaRecord:
        """Take the record from anything that has the attributes of a :class:`veilspan.Schema`."""
        try:
            digest, name, version = schema.digest, schema.name, schema.version
        except AttributeError:
            raise TypeError(
                f"schema must be a veilspan.Schema or None; got {type(schema).__name__}."
            ) from None
        return cls(digest, name, version or "")

    @classmethod
    def from_dict(cls, record: Any) -> SchemaRecord:
        """Rebuild the record that :meth:`to_dict` wrote; a ValueError for any other form."""
        named = isinstance(record, Mapping) and set(record) == {"digest", "name", "version"}
        if not named or not all(isinstance(text, str) for text in record.values()):
            raise ValueError("the record of a schema is its digest, name and version.")
        return cls(**record)

    def to_dict(self) -> dict[str, str]:
        """Return the three texts by name, as statements and charges keep them."""
        return {"digest": self.digest, "name": self.name, "version": self.version}

    def describe(self, *, short: bool = False) -> str:
        """Name, version and digest on one line; ``short`` cuts the digest."""
        version = f" {self.version}" if self.version else ""
        digest = self.digest[:_SHORT] if short else self.digest
        return f"{self.name}{version} ({digest})"


def unit_of(schema: Any) -> str:
    """Say whom a fit with this schema protects, as a statement says it.

    Without an id in its ``[unit]`` every row is another person, so that the row is all there is of
    her; with one, all rows that carry it are hers.
    """
    protects = schema.protects
    if names_rows(schema):
        return "one row of the table"
    own = getattr(getattr(schema, "unit", None), "id", None)
    rows = "one row of the table" if own is None else f"all rows of one {own}"
    return f"one {protects}: {rows}"


def names_rows(schema: Any) -> bool:
    """Whether a schema names no other unit than the row, as without a ``[unit]``."""
    return bool(schema.protects.strip().casefold() == "row")
