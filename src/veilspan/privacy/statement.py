"""The statement of a release: what was promised, on what it rests, and the means to re-check it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

from veilspan._notebook import draw_card
from veilspan.privacy import gdp
from veilspan.privacy.accounting import epsilon_spent, gaussian_mu, gaussian_only
from veilspan.privacy.events import Event, event_from_dict, event_to_dict
from veilspan.privacy.neighbors import Neighbors, check_neighbors
from veilspan.privacy.plan import event_lines
from veilspan.privacy.renyi import epsilon_renyi
from veilspan.privacy.schema_record import SchemaRecord
from veilspan.privacy.strength import (
    BADGES,
    NONE,
    WEAK,
    Strength,
    find_even_odds,
    grade_promise,
    say_unchecked_delta,
)

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
    asked : float or None
        The epsilon that was asked for; ``epsilon``, which was needed, is never more. None in
        statements from before it was kept.
    population : int or None
        The number of people that delta was held against: public under replace-one, under
        add-remove a public guess. None if nobody said.
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
    asked: float | None = None
    population: int | None = None

    @property
    def mu(self) -> float | None:
        """Mu if all that was released is mu-GDP: of the promise, or of the events if they are more.

        A solver that chooses its Gaussian answers as it goes may have used less than its promise,
        and how much less may depend on rows.
        """
        noisy = all(event.noise_multiplier for event in self.events) and self.events
        if not (noisy and math.isfinite(self.epsilon) and gaussian_only(self.events)):
            return None
        return max(gdp.mu_of(self.epsilon, self.delta), gaussian_mu(self.events))

    @property
    def strength(self) -> Strength:
        """How strong the promise is, and why it is weak or none (:mod:`privacy.strength`)."""
        if not self.private:
            return Strength(NONE, (self.why_not_private or "there is no guarantee",))
        odds = find_even_odds(self.epsilon, self.delta, self.mu)
        return grade_promise(self.epsilon, self.delta, self.population, odds=odds)

    @property
    def epsilon_as_asked(self) -> str:
        """Epsilon as it was asked for, with the exact figure in brackets: ``1 (0.999969)``."""
        return write_epsilon(self.epsilon, self.asked)

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
            "epsilon": _plain(self.epsilon),
            "delta": self.delta,
            "neighbors": self.neighbors,
            "unit": self.unit,
            "events": [event_to_dict(event) for event in self.events],
            "assumptions": list(self.assumptions),
            "release_id": self.release_id,
            "version": self.version,
            **({} if self.ledger is None else {"ledger": dict(self.ledger)}),
            **({} if self.schema is None else {"schema": dict(self.schema)}),
            **({} if self.asked is None else {"asked": _plain(self.asked)}),
            **({} if self.population is None else {"population": self.population}),
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
        if fields.get("asked") is not None:
            fields["asked"] = float(fields["asked"])
        fields["neighbors"] = check_neighbors(fields["neighbors"])
        fields["events"] = tuple(event_from_dict(event) for event in fields["events"])
        fields["assumptions"] = tuple(fields["assumptions"])
        if fields.get("schema") is not None:
            fields["schema"] = SchemaRecord.from_dict(fields["schema"]).to_dict()
        return cls(**fields)

    def __repr__(self) -> str:
        head = (
            f"{self.method}: epsilon = {self.epsilon_as_asked} at delta = {self.delta:g}"
            if self.private
            else f"{self.method}: NOT PRIVATE ({self.why_not_private})"
        )
        lines = [line for label, texts in self._facts() for line in _section(label, texts)]
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        grade = self.strength.grade
        promise = f"{self.method}: epsilon = {self.epsilon_as_asked} at delta = {self.delta:g}"
        title = promise if self.private else f"{self.method}: {self.why_not_private}"
        return draw_card(title, self._facts(), badge=(grade, BADGES[grade]))

    def _facts(self) -> list[tuple[str, list[str]]]:
        """What there is to say, as labelled lines: the same in text and in a notebook."""
        strength = self.strength
        facts: list[tuple[str, list[str]]] = []
        if strength.grade == WEAK:
            facts.append(("WEAK", list(strength.reasons)))
        facts += [
            ("protects", [self.unit]),
            ("neighbours", [_describe_relation(self.neighbors, self.unit)]),
        ]
        if self.private and self.neighbors == "add-remove" and self.population is None:
            facts.append(("delta", [say_unchecked_delta(self.delta)]))
        if self.schema is not None:
            facts.append(("schema", [SchemaRecord.from_dict(self.schema).describe()]))
        facts += [
            ("spent", event_lines(self.events)),
            ("assumes", list(self.assumptions)),
            ("release", [f"{self.release_id} (veilspan {self.version})"]),
        ]
        if self.ledger is not None:
            facts.append(
                ("ledger", ["{dataset}, entry {entry}, head {head}".format(**self.ledger)])
            )
        return facts


def write_epsilon(
    exact: float, asked: float | None, write: Callable[[float], str] = "{:.6g}".format
) -> str:
    """Epsilon as it was asked for, and the exact figure in brackets where they differ.

    Examples
    --------
    >>> write_epsilon(0.999969, 1.0), write_epsilon(1.0, 1.0), write_epsilon(0.5, None)
    ('1 (0.999969)', '1', '0.5')
    """
    told = write(exact)
    return told if asked is None or write(asked) == told else f"{write(asked)} ({told})"


def _plain(epsilon: float) -> float | str:
    """A number, or ``"inf"``, which JSON has no number for."""
    return epsilon if math.isfinite(epsilon) else "inf"


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
