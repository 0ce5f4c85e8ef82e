"""Every page as a command and as Python, which do the same to the letter.

Pages are read by people who may not know the passwords of servers: addresses are written without
them. Whoever runs the texts has their own, in ``PGPASSWORD`` or a ``.pgpass`` file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veilspan._passwords import without_password
from veilspan.studio.questions import find_kind
from veilspan.studio.releases import audit_words
from veilspan.studio.schemas import find_schema, keep_schema, name_in_files, schema_path
from veilspan.studio.settings import Settings, Table
from veilspan.studio.state import Studio

if TYPE_CHECKING:
    from veilspan.studio.asking import Asking


def join_words(*words: object) -> str:
    """A command for a shell: words with spaces and signs are quoted."""
    return " ".join(shlex.quote(str(word)) for word in words)


def account_as_text(settings: Settings, dataset: str | None = None) -> tuple[str, str]:
    """Show the budgets of all datasets, or of one."""
    one = () if dataset is None else (dataset,)
    place = without_password(settings.ledger)
    command = join_words("veilspan", "ledger", "show", place, *one, "--key", settings.key)
    ledger = f"Ledger({place!r}, key={str(settings.key)!r})"
    shown = f"print({ledger}.dataset({dataset!r}).spent())\n"
    if dataset is None:
        shown = f"for state in {ledger}.spent().values():\n    print(state)\n"
    return command, f"from veilspan import Ledger\n\n{shown}"


def schema_as_text(studio: Studio, dataset: str) -> tuple[str, str]:
    """Check the schema in force against the header of the table."""
    table, schema = studio.table(dataset), find_schema(studio, dataset)
    data = without_password(table.data)
    of = () if table.table is None else ("--table", table.table)
    if schema is None:
        file = f"{dataset}.toml"
        command = join_words("veilspan", "schema", "init", data, "--out", file, *of)
        return command, f"from veilspan import open_table\n\nprint({_write_source(table)}.names)\n"
    path = keep_schema(studio, schema)
    command = join_words("veilspan", "schema", "check", path, data, *of)
    python = f"from veilspan import Schema\n\nprint(Schema.load({str(path)!r}).digest)\n"
    return command, python


def import_as_text(studio: Studio, dataset: str) -> tuple[str, str]:
    """Make a schema file of another tool's description, which lies in the folder one is in."""
    file, out = "description.json", f"{_plain(dataset)}.toml"
    command = join_words("veilspan", "schema", "import", file, "--out", out)
    python = (
        "from veilspan.tables.importers import import_schema\n\n"
        f"print(import_schema({file!r}).to_toml())\n"
    )
    return command, python


def plan_as_text(studio: Studio, asking: Asking) -> tuple[str, str]:
    """Make the plan of a question."""
    from veilspan.studio.profiles import describe_profile

    path, profile = schema_path(studio, asking.schema_digest), describe_profile(studio, asking)
    command = join_words(
        "veilspan", "plan", asking.estimator, "--schema", path,
        "--epsilon", f"{asking.epsilon!r}", "--delta", f"{asking.delta!r}",
        *_parameter_words(asking.params),
        *(() if profile is None else ("--profile", profile["folder"])),
    )  # fmt: skip
    name = find_kind(asking.estimator).estimator
    python = (
        f"from veilspan import Schema, {name}\n\n"
        f"schema = Schema.load({str(path)!r})\n"
        f"model = {write_model(asking, name)}\n"
        "print(model.plan())\n"
    )
    return command, python


def find_out(studio: Studio, key: str) -> Path:
    """Where the texts of a request save their release: a folder of its own for every key."""
    return studio.folder / f"release-{_plain(key)}"


def _plain(name: str) -> str:
    """A name as it is where its letters are fit for a file, else letters that stand for it."""
    return name if re.fullmatch(r"[A-Za-z0-9-]{1,80}", name) else name_in_files(name)


def fit_as_text(studio: Studio, asking: Asking, key: str) -> tuple[str, str]:
    """Fit, charged under the key of the request: the same key gives the same release.

    Both look at the folder of the release before anything is charged.
    """
    out = find_out(studio, key)
    settings, table = studio.settings, studio.table(asking.dataset)
    path = schema_path(studio, asking.schema_digest)
    of = () if table.table is None else ("--table", table.table)
    data, place = without_password(table.data), without_password(settings.ledger)
    command = join_words(
        "veilspan", "fit", asking.estimator, data, *of, "--schema", path,
        "--epsilon", f"{asking.epsilon!r}", "--delta", f"{asking.delta!r}",
        *_parameter_words(asking.params), "--ledger", place, "--dataset", asking.dataset,
        "--key", settings.key, "--request", key, "--out", out,
    )  # fmt: skip
    name = find_kind(asking.estimator).estimator
    python = (
        "from pathlib import Path\n\n"
        f"from veilspan import Ledger, Schema, {name}, open_table\n\n"
        f"out = Path({str(out)!r})\n"
        "if out.exists():\n"
        "    raise SystemExit(f'{out} is there already: choose another. Nothing was charged.')\n"
        f"schema = Schema.load({str(path)!r})\n"
        f"ledger = Ledger({place!r}, key={str(settings.key)!r})\n"
        f"account = ledger.dataset({asking.dataset!r}).with_key({key!r})\n"
        f"model = {write_model(asking, name, ', ledger=account')}\n"
        f"model.fit({_write_source(table)})\n"
        f"model.save(out, key={str(settings.key)!r})\n"
    )
    return command, python


def release_as_text(studio: Studio, released: Any) -> tuple[str, str]:
    """Write the report of a release again, and audit its method."""
    folder, key, request = released.folder, studio.settings.key, released.request
    place = without_password(studio.settings.ledger)
    command = "\n".join(
        (
            join_words("veilspan", "inspect", folder, "--key", key),
            join_words(
                "veilspan", "report", folder, "--key", key, "--out", "report.html",
                "--ledger", place, "--ledger-key", key,
            ),
            join_words(*audit_words(request)),
        )
    )  # fmt: skip
    python = (
        "from veilspan import Ledger, load\n"
        "from veilspan.reports import write_report\n\n"
        f"model = load({str(folder)!r}, key={str(key)!r})\n"
        f"ledger = Ledger({place!r}, key={str(key)!r})\n"
        f"write_report('report.html', model, ledger=ledger.dataset({request.dataset!r}))\n"
        "print(model.privacy_)\n"
    )
    return command, python


def requests_as_text(studio: Studio, state: str | None = None) -> tuple[str, str]:
    """List what was asked of the studio's datasets, or what came to a state such as released."""
    key, place = studio.settings.key, without_password(studio.settings.ledger)
    names = [name for name in studio.settings.tables if studio.account(name) is not None]
    of = () if state is None else ("--state", state)
    command = "\n".join(
        join_words("veilspan", "ledger", "requests", place, name, *of, "--key", key)
        for name in names
    )
    chosen = "" if state is None else f"        if request.state == {state!r}:\n    "
    python = (
        "from veilspan import Ledger\n\n"
        f"ledger = Ledger({place!r}, key={str(key)!r})\n"
        f"for name in {names!r}:\n"
        "    for request in ledger.dataset(name).requests():\n"
        f"{chosen}        print(request.id, request.estimator, request.epsilon, request.asked_by, "
        "request.state)\n"
    )
    return command, python


def compare_as_text(studio: Studio, pair: Sequence[Any]) -> tuple[str, str]:
    """Say what two releases are, and in what they differ."""
    key, place = studio.settings.key, without_password(studio.settings.ledger)
    asked = [released.request for released in pair]
    lines = [
        join_words("veilspan", "ledger", "request", place, one.dataset, one.id, "--key", key)
        for one in asked
    ]
    lines += [join_words("veilspan", "inspect", each.folder, "--key", key) for each in pair]
    found = ",\n    ".join(f"ledger.dataset({one.dataset!r}).request({one.id!r})" for one in asked)
    python = (
        "from veilspan import Ledger\n\n"
        f"ledger = Ledger({place!r}, key={str(key)!r})\n"
        f"first, second = (\n    {found},\n)\n"
        "for name, value in first.to_dict().items():\n"
        "    if value != getattr(second, name):\n"
        '        print(f"{name}: {value} | {getattr(second, name)}")\n'
    )
    return "\n".join(lines), python


def withdraw_as_text(studio: Studio, request: Any, person: str) -> str:
    """Withdraw a release: the command alone, which nobody should run by copying a page."""
    place = without_password(studio.settings.ledger)
    return join_words(
        "veilspan", "ledger", "withdraw", place, request.dataset, request.charge,
        "--by", person, "--reason", "...", "--key", studio.settings.key,
    )  # fmt: skip


def write_model(asking: Asking, name: str, more: str = "") -> str:
    """The estimator of a question, as Python."""
    said = "".join(f"{key}={value!r}, " for key, value in asking.params.items())
    return (
        f"{name}({said}epsilon={asking.epsilon!r}, delta={asking.delta!r}, "
        f"neighbors=schema.neighbors, schema=schema{more})"
    )


def _write_source(table: Table) -> str:
    of = "" if table.table is None else f", table={table.table!r}"
    return f"open_table({without_password(table.data)!r}{of})"


def _parameter_words(params: Mapping[str, Any]) -> list[str]:
    return [word for name, value in params.items() for word in ("-p", f"{name}={value!r}")]
