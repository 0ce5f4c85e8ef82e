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
    settings = replace(make_hospital(folder), team=team)
    open_hospital(settings)
    return settings


def make_hospital(folder: Path) -> Settings:
    """The tables and the schema alone, which is quick; nothing of it is in a studio yet."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    ward, visits = folder / "ward.csv", folder / "visits.csv"
    declared = folder / "ward.toml"
    if not ward.exists() or not declared.exists():
        from veilspan.datasets import make_ward

        make_ward(PATIENTS).save(ward, declared)
    if not visits.exists():
        from veilspan.datasets import make_visits

        make_visits(VISITORS).save(visits, folder / "visits-hint.toml")
    tables = {
        "ward": Table("ward", str(ward), schema=declared),
        "visits": Table("visits", str(visits)),
    }
    budget, key = str(folder / "budget.db"), folder / "ledger.key"
    return Settings(folder / "studio", budget, key, tables, person="Demo")


def open_hospital(settings: Settings) -> None:
    """Answer for the names of the columns, and open the budget of the ward if nobody did yet."""
    from veilspan.ledger import Ledger
    from veilspan.studio.header_names import confirm_names
    from veilspan.studio.state import SCHEMAS
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.open_table import open_table

    (settings.folder / SCHEMAS).mkdir(parents=True, exist_ok=True, mode=0o700)
    visits = open_table(settings.tables["visits"].data)
    confirm_names(settings.folder, "visits", visits.names)  # our own line
    ledger, declared = Ledger(settings.ledger, settings.key), settings.tables["ward"].schema
    if declared is None or ledger.journal.exists():
        return
    schema = Schema.load(declared)
    ledger.dataset("ward", epsilon=EPSILON, delta=DELTA, schema=schema, approval=settings.team)
