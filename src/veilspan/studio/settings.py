"""What a studio is told when it starts: tables, ledger, folder, and where it may be reached.

Tables are named here and nowhere else. No page takes a path or a table, so that nobody who reaches
the studio can make it read another file.
"""

from __future__ import annotations

import getpass
import ipaddress
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from veilspan._files import read_regular

#: Largest configuration that is read; a hundred tables take a few kilobytes.
MOST_BYTES = 2**20
LOOPBACK = "127.0.0.1"
_STUDIO = {"folder", "ledger", "key", "host", "port", "url", "team", "person"}
_TABLE = {"data", "table", "schema"}


@dataclass(frozen=True)
class Table:
    """A table that the studio knows: its name, where it lies, and its schema if there is one."""

    name: str
    data: str
    table: str | None = None
    schema: Path | None = None


@dataclass(frozen=True)
class Settings:
    """All that a studio is told.

    Attributes
    ----------
    folder : Path
        Where drafts, schemas, jobs and releases are kept.
    ledger, key : str, Path
        The ledger and the file of its key.
    tables : mapping of str to Table
        What can be asked about.
    host, port : str, int
        Where it listens; port 0 takes a free one.
    url : str
        ``https://...`` under which a proxy serves it; empty if there is none. It declares TLS.
    team : bool
        Whether people log in and nobody approves their own request.
    person : str
        Who works with it where there is one person only.
    """

    folder: Path
    ledger: str
    key: Path
    tables: Mapping[str, Table] = field(default_factory=dict)
    host: str = LOOPBACK
    port: int = 0
    url: str = ""
    team: bool = False
    person: str = ""

    def __post_init__(self) -> None:
        if self.url:
            _check_url(self.url)
        if not is_loopback(self.host):
            if not self.url:
                raise ValueError(
                    f"{self.host} is reached by other machines, and passwords must not cross a "
                    "network in the clear: let a proxy serve the studio by TLS and say so by "
                    'url = "https://..." in studio.toml, or leave --host out.'
                )
            if not self.team:
                raise ValueError(
                    f"{self.host} is reached by other people: say team = true in studio.toml, so "
                    "that they log in."
                )
        if not 0 <= self.port <= 65535:
            raise ValueError(f"a port is a number from 0 to 65535; got {self.port}.")
        for name in self.tables:
            check_table_name(name)

    @property
    def who(self) -> str:
        """The one person of a studio without accounts, as entries of the ledger name them."""
        if self.person:
            return self.person
        try:
            return getpass.getuser()
        except (OSError, KeyError):
            return "one person"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address; a name other than localhost may be anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_table_name(name: str) -> str:
    """A name that stands in addresses as well as in the ledger."""
    from veilspan.ledger.names import check_name

    checked = check_name(name, "the name of a dataset")
    if "/" in checked or "\\" in checked or checked in (".", ".."):
        raise ValueError(f"the name of a dataset in the studio holds no slash; got {name!r}.")
    return checked


def read_settings(path: Path) -> dict[str, Any]:
    """The contents of a ``studio.toml`` as keywords of :class:`Settings`; paths are beside it."""
    try:
        document = tomllib.loads(read_regular(path, MOST_BYTES).decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {str(error)[:200]}.") from None
    beside = path.resolve().parent
    _refuse_unknown(path, "", document, {"studio", "datasets"})
    studio, datasets = _table_of(path, document, "studio"), _table_of(path, document, "datasets")
    _refuse_unknown(path, "studio.", studio, _STUDIO)
    for key, kind in {"port": int, "team": bool}.items():
        if key in studio and type(studio[key]) is not kind:
            raise ValueError(f"{path}: studio.{key} is not {kind.__name__}.")
    found: dict[str, Any] = dict(studio)
    for key in ("folder", "key"):
        if key in found:
            found[key] = beside / found[key]
    if "ledger" in found and "://" not in found["ledger"]:
        found["ledger"] = str(beside / found["ledger"])
    tables = {}
    for name, facts in datasets.items():
        if not isinstance(facts, dict) or "data" not in facts:
            raise ValueError(f"{path}: [datasets.{name}] needs data = the file of the table.")
        _refuse_unknown(path, f"datasets.{name}.", facts, _TABLE)
        data = facts["data"] if "://" in facts["data"] else str(beside / facts["data"])
        schema = beside / facts["schema"] if "schema" in facts else None
        tables[name] = Table(name, data, facts.get("table"), schema)
    return {**found, "tables": tables}


def read_pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """``NAME=VALUE`` texts of the command line by name."""
    pairs: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise ValueError(f"{option} takes NAME=FILE, ward=visits.csv say; got {text!r}.")
        if name.strip() in pairs:
            raise ValueError(f"{option} names {name.strip()!r} twice: one file a dataset.")
        pairs[name.strip()] = value.strip()
    return pairs


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or parts.query:
        raise ValueError(
            f"url is where people reach the studio, https://studio.example say; got {url!r}."
        )


def _table_of(path: Path, document: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"{path}: {name} is a table, [{name}].")
    return found


def _refuse_unknown(path: Path, place: str, found: Mapping[str, Any], known: set[str]) -> None:
    from veilspan.tables.problems import suggest

    for key in found:
        if key not in known:
            hint = suggest(key, known) or f" Known are {', '.join(sorted(known))}."
            raise ValueError(f"{path}: {place}{key} is not a key.{hint}")
