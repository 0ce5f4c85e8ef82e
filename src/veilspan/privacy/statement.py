"""The statement of a release: what was promised, on what it rests, and the means to re-check it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

from veilspan.privacy.accounting import epsilon_spent
from veilspan.privacy.events import Event, event_from_dict, event_to_dict
from veilspan.privacy.neighbors import Neighbors, check_neighbors
from veilspan.privacy.plan import event_lines
from veilspan.privacy.renyi import epsilon_renyi
from veilspan.privacy.schema_record import SchemaRecord

#: Format of a written statement; raise it when fields change their meaning.
FORMAT = 1
#: How much of epsilon two machines may differ in when they account the same events.
ROUNDING = 1e-6
_RELATION_TEXT = {
    "replace-one": "one row exchanged for any other (the number of rows is public)",
    "add-remove": "one row added or taken away (the number of rows is private)",
}


@dataclass(frozen=True)
class Verification:
    """Outcome of re-accounting a release from its recorded events alone.

    Attributes
    ----------
    ok : bool
        Whether the recorded events cost no more than was claimed.
    claimed, recomputed, renyi : float
        Epsilon as stated, by exact or PLD accounting now, and by Rényi accounting (an independent
        upper bound, usually a few percent larger).
    """

    ok: bool
    claimed: float
    recomputed: float
    renyi: float

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivacyStatement:
    """What a fitted estimator says about its privacy, as ``privacy_``.

    Attributes
    ----------
    method : str
        What was fitted.
    epsilon, delta : float
        The guarantee. ``epsilon`` is ``inf`` without privacy.
    neighbors : {"replace-one", "add-remove"}
        Which tables are neighbours.
    unit : str
        Whose privacy this is.
    events : tuple of events
        Every use of the data, with its noise.
    assumptions : tuple of str
        What the guarantee rests on.
    private : bool
        Whether there is a guarantee at all.
    why_not_private : str
        The reason, if not.
    release_id : str
        A random name of this release.
    version : str
        The library's version.
    ledger : dict or None
        If a dataset's account was charged: its name, the number of the charge, and the head of the
        ledger at that time.
    schema : dict or None
        If the table was read by a schema: its digest, name and version
        (:class:`~veilspan.privacy.schema_record.SchemaRecord`).
    """

    method: str
    epsilon: float
    delta: float
    neighbors: Neighbors
    events: tuple[Event, ...]
    assumptions: tuple[str, ...]
    private: bool
    why_not_private: str = ""
    unit: str = "one row of the table"
    release_id: str = ""
    version: str = ""
    ledger: dict[str, Any] | None = field(default=None, hash=False)
    schema: dict[str, str] | None = field(default=None, hash=False)

    def verify(self) -> Verification:
        """Account the recorded events anew, from scratch.

        Returns
        -------
        Verification
            True in a boolean context if the events cost no more than ``epsilon`` at ``delta``.
            It re-checks the arithmetic; it cannot see whether the noise was really added.
        """
        again = epsilon_spent(self.events, self.delta, neighbors=self.neighbors)
        renyi = epsilon_renyi(self.events, self.delta, neighbors=self.neighbors)
        return Verification(again <= self.epsilon * (1 + ROUNDING), self.epsilon, again, renyi)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, JSON-ready (an infinite epsilon is the string ``"inf"``)."""
        return {
            "format": FORMAT,
            "method": self.method,
            "private": self.private,
            "why_not_private": self.why_not_private,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "delta": self.delta,
            "neighbors": self.neighbors,
            "unit": self.unit,
            "events": [event_to_dict(event) for event in self.events],
            "assumptions": list(self.assumptions),
            "release_id": self.release_id,
            "version": self.version,
            **({} if self.ledger is None else {"ledger": dict(self.ledger)}),
            **({} if self.schema is None else {"schema": dict(self.schema)}),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return :meth:`to_dict` as JSON text, without NaN or infinities."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> PrivacyStatement:
        """Rebuild a statement from :meth:`to_dict`, e.g. to ``verify()`` someone else's release."""
        fields = dict(record)
        if fields.pop("format", None) != FORMAT:
            raise ValueError(
                "this record is in a format that this version cannot read: update veilspan."
            )
        fields["epsilon"] = float(fields["epsilon"])
        fields["neighbors"] = check_neighbors(fields["neighbors"])
        fields["events"] = tuple(event_from_dict(event) for event in fields["events"])
        fields["assumptions"] = tuple(fields["assumptions"])
        if fields.get("schema") is not None:
            fields["schema"] = SchemaRecord.from_dict(fields["schema"]).to_dict()
        return cls(**fields)

    def __repr__(self) -> str:
        head = (
            f"{self.method}: epsilon = {self.epsilon:.6g} at delta = {self.delta:g}"
            if self.private
            else f"{self.method}: NOT PRIVATE ({self.why_not_private})"
        )
        lines = [
            head,
            f"  protects   {self.unit}",
            f"  neighbours {_describe_relation(self.neighbors, self.unit)}",
        ]
        if self.schema is not None:
            lines += _section("schema", [SchemaRecord.from_dict(self.schema).describe()])
        lines += _section("spent", event_lines(self.events))
        lines += _section("assumes", self.assumptions)
        lines.append(f"  release    {self.release_id} (veilspan {self.version})")
        if self.ledger is not None:
            charged = "{dataset}, entry {entry}, head {head}".format(**self.ledger)
            lines += _section("ledger", [charged])
        return "\n".join(lines)


def _describe_relation(neighbors: str, unit: str) -> str:
    """What is exchanged, added or removed: a row, or the unit that is named before a colon."""
    text = _RELATION_TEXT[neighbors]
    named, colon, _ = unit.partition(":")
    if not colon or not named.startswith("one "):
        return text
    return text.replace("one row", named).replace("the number of rows", "how many there are")


def _section(label: str, entries: Iterable[str]) -> list[str]:
    wrapped = [line for entry in entries for line in wrap(entry, 76, subsequent_indent="  ")]
    return [f"  {label if i == 0 else '':<10} {line}" for i, line in enumerate(wrapped)]
