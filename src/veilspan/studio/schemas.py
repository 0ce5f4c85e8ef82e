"""The schemas of a studio: kept by their digest, never changed, one of them in force a dataset."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from veilspan._files import read_regular, write_whole
from veilspan.studio.state import SCHEMAS, Studio

if TYPE_CHECKING:
    from veilspan.tables.schema import Schema

_LOADED: dict[tuple[str, int], Schema] = {}


def name_in_files(dataset: str) -> str:
    """A name for files that stands for a dataset, whatever letters its own name has."""
    return hashlib.sha256(dataset.encode()).hexdigest()[:24]


def find_schema(studio: Studio, dataset: str) -> Schema | None:
    """The schema in force: the one that was frozen last, else the one of the settings."""
    pointer = _pointer(studio, dataset)
    if pointer.exists():
        digest = read_regular(pointer, 100).decode().strip()
        return load_schema(schema_path(studio, digest))
    given = studio.table(dataset).schema
    return None if given is None else load_schema(given)


def schema_path(studio: Studio, digest: str) -> Path:
    """Where the schema of a digest is kept; only hexadecimal digits make a path."""
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError("that is no digest of a schema.")
    return studio.folder / SCHEMAS / f"{digest}.toml"


def keep_schema(studio: Studio, schema: Schema) -> Path:
    """Keep a schema under its digest; return where."""
    path = schema_path(studio, schema.digest)
    if not path.exists():
        schema.save(path)
    return path


def freeze_schema(studio: Studio, dataset: str, schema: Schema) -> None:
    """Put a schema in force for a dataset."""
    keep_schema(studio, schema)
    text = f"{schema.digest}\n".encode()
    write_whole(_pointer(studio, dataset), lambda stream: stream.write(text), 0o600)


def load_schema(path: Path) -> Schema:
    """A schema from a file, read anew only if the file has changed."""
    from veilspan.tables.schema import Schema

    place = (str(path), path.stat().st_mtime_ns)
    if place not in _LOADED:
        _LOADED[place] = Schema.load(path)
    return _LOADED[place]


def _pointer(studio: Studio, dataset: str) -> Path:
    return studio.folder / SCHEMAS / f"{name_in_files(dataset)}.current"
