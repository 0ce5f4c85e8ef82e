"""A made-up hospital to try the studio on: a table with schema and budget, and one without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from veilspan.studio.settings import Settings, Table

PATIENTS, VISITORS = 5000, 2000
#: What all releases of the demo's ward may spend together.
EPSILON, DELTA = 3.0, 1e-6


def make_demo(folder: Path, *, team: bool = False) -> Settings:
    """Fill a folder with a hospital that nobody is in; what is there already is kept.

    Where several people work with it, every charge needs a request that an officer approved.
    """
    from veilspan.datasets import make_visits, make_ward
    from veilspan.ledger import Ledger
    from veilspan.tables.schema import Schema

    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    ward, visits = folder / "ward.csv", folder / "visits.csv"
    declared = folder / "ward.toml"
    if not ward.exists() or not declared.exists():
        make_ward(PATIENTS).save(ward, declared)
    if not visits.exists():
        make_visits(VISITORS).save(visits, folder / "visits-hint.toml")
    settings = Settings(
        folder / "studio",
        str(folder / "budget.db"),
        folder / "ledger.key",
        {
            "ward": Table("ward", str(ward), schema=declared),
            "visits": Table("visits", str(visits)),
        },
    )
    ledger = Ledger(settings.ledger, settings.key)
    if not ledger.journal.exists():
        schema = Schema.load(declared)
        ledger.dataset("ward", epsilon=EPSILON, delta=DELTA, schema=schema, approval=team)
    return replace(settings, person="Demo", team=team)
