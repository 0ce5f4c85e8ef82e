"""``veilspan fit``: learn from a file under privacy, save the release with its report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veilspan._progress import show_progress
from veilspan.cli.arguments.estimators import find_kind, read_parameters
from veilspan.cli.arguments.options import (
    AccountName,
    AllowWeak,
    AsJson,
    Columns,
    Delta,
    Encoding,
    Epsilon,
    Header,
    KindName,
    LedgerPlace,
    MaybeNeighbors,
    Parameters,
    Replace,
    SchemaFile,
    SealKey,
    Separator,
    TableName,
)
from veilspan.cli.console import NOT_PRIVATE, note, print_json, say

if TYPE_CHECKING:
    from veilspan.cli.io.watched_dataset import WatchedDataset
    from veilspan.tables.schema import Schema

REPORT = "report.html"


def fit(
    kind: KindName,
    data: Annotated[
        str,
        typer.Argument(
            help="A .csv, .tsv, .parquet, .npy or .npz file, or a folder or pattern of parquet "
            "files (by Dask). For recommend: a .csv of user, item, rating. By a schema also .arrow "
            "or .feather, - (CSV from the standard input), or postgresql://host/database with "
            "--table."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the release and its report.")],
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    neighbors: MaybeNeighbors = None,
    schema: SchemaFile = None,
    param: Parameters = None,
    columns: Columns = None,
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    items: Annotated[
        str | None, typer.Option(help="For recommend: file with the public items, or observed.")
    ] = None,
    separator: Separator = None,
    header: Header = None,
    encoding: Encoding = None,
    table: TableName = None,
    ledger: LedgerPlace = None,
    dataset: AccountName = None,
    key: SealKey = None,
    request: Annotated[
        str | None,
        typer.Option(
            help="With --ledger: a name of this request. The same name again gives the stored "
            "release and charges nothing. By default made of what is asked and --out."
        ),
    ] = None,
    force: Replace = False,
    allow_weak: AllowWeak = False,
    json: AsJson = False,
) -> None:
    """Learn from a file under privacy; save the release and its report.

    The folder appears whole or not at all. What is public of the columns is said by --schema, or
    for tables of numbers by --param; rows never choose it.

    With --ledger the same command after a crash gives the release that was paid for and charges
    nothing.

    A release that is NOT PRIVATE (a seed, epsilon = inf) is saved with a file NOT_PRIVATE.txt
    beside it, and exit code 5; one that is weak with a file WEAK.txt.

    Example: veilspan fit logistic ward.csv --schema ward.toml --out release
    """
    # Whatever can be refused is refused before rows are read.
    chosen = find_kind(kind)
    from veilspan.cli.io import declared_data, fit_input
    from veilspan.cli.io import release_folder as folders
    from veilspan.cli.io.watched_dataset import explain_given_again, name_request
    from veilspan.privacy.budget import Budget
    from veilspan.releases import save

    reading = fit_input.Reading(columns, target, items, separator, header, encoding, table)
    declared = None if schema is None else declared_data.load_schema(schema)
    if declared is None:
        fit_input.check_reading(chosen, data, reading)
    place = folders.resolve_place(out)
    folders.check_free(place, force=force)
    settings = read_parameters(chosen, param or ())
    if declared is None:
        fit_input.check_public_facts(chosen, data, settings)
    else:
        fit_input.check_schema(chosen, declared, reading, settings)
    neighbors = declared_data.choose_neighbors(neighbors, declared)
    if request is not None and ledger is None:
        raise ValueError("--request is for fits with --ledger: it names what is paid for.")
    asked = {
        "kind": kind,
        "parameters": settings,
        "budget": (epsilon, delta, neighbors),
        "data": data if declared_data.is_address(data) else str(Path(data).absolute()),
        "read as": tuple(reading) if declared is None else (declared.digest, table),
        "out": str(place),
        "replaces": folders.read_replaced_id(place),
    }
    account = _open_account(
        ledger, _choose_account(ledger, dataset, declared), key, request or name_request(asked)
    )
    budget = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, "ledger": account}
    budget |= {"allow_weak": True} if allow_weak else {}
    Budget(epsilon, delta)
    shown = fit_input.name_data(data)
    learn = fit_input.open_input(chosen, data, reading, declared, quiet=json)
    # The folder comes before the fit: better no place to write than a charge without a release.
    with _tell_what_is_paid(account), folders.open_folder(place, force=force) as folder:
        with show_progress(f"fitting {kind}", quiet=json), _asking_for_consent():
            model = learn(settings, budget)
        save(model, folder, key=key, overwrite=force)
        problem = _write_report(model, folder / REPORT)
    again = account is not None and account.given_again
    if account is not None and again:
        note(explain_given_again(account, shown))
    told = None if account is None else _tell_account(account, model)
    _tell(model, out, problem, again=again, account=told, as_json=json)
    if not model.privacy_.private:
        raise typer.Exit(NOT_PRIVATE)


@contextmanager
def _asking_for_consent() -> Iterator[None]:
    """Say in the words of the command line how a weak promise is allowed."""
    from veilspan.privacy.errors import WeakGuaranteeError

    try:
        yield
    except WeakGuaranteeError as error:
        raise WeakGuaranteeError(error.reason, "--allow-weak") from None


def _tell_account(account: WatchedDataset, model: Any) -> str | None:
    """What the release used of its budget and what is left; None if that cannot be read."""
    from veilspan.ledger.words.sentences import say_after_charge

    try:
        entry = account.entry(account.receipts[-1].entry)
        if entry is None or not model.plan_.budget.is_private:
            return None
        return say_after_charge(account.spent(), entry.content["costs"], model.plan_)
    except Exception:  # the release is there and paid for: its words must not fail it
        return None


def _choose_account(ledger: str | None, dataset: str | None, schema: Schema | None) -> str | None:
    """The dataset that was named, or the schema's."""
    if ledger is None or dataset is not None or schema is None:
        return dataset
    if not schema.name:
        raise ValueError(
            "--ledger needs to know whose budget it is: give the schema a name (name = ...), or "
            "say --dataset NAME."
        )
    return schema.name


def _open_account(
    ledger: str | None, dataset: str | None, key: Path | None, request: str
) -> WatchedDataset | None:
    if ledger is None and dataset is None:
        return None
    if ledger is None or dataset is None:
        raise ValueError("--ledger and --dataset go together: where the budget is, and whose.")
    from veilspan.cli.io.watched_dataset import watch_dataset
    from veilspan.ledger import Ledger

    return watch_dataset(Ledger(ledger, key).dataset(dataset), request)


@contextmanager
def _tell_what_is_paid(account: WatchedDataset | None) -> Iterator[None]:
    """Say where a release is that was paid for and could not be put into its place."""
    try:
        yield
    except BaseException:
        if account is not None and account.keeps_release():
            note(
                "the release is paid for and kept in the ledger: the same command again gives it, "
                "and charges nothing."
            )
        raise


def _write_report(model: Any, path: Path) -> str | None:
    """Write the report; the release is worth keeping without it, so say what is wrong instead."""
    try:
        from veilspan._files import write_whole
        from veilspan.reports import report_html

        text = report_html(model).encode()
        write_whole(path, lambda stream: stream.write(text))
    except Exception as error:
        return type(error).__name__
    return None


def _tell(
    model: Any,
    out: Path,
    problem: str | None,
    *,
    again: bool,
    account: str | None,
    as_json: bool,
) -> None:
    from veilspan.cli.io.tables import join_names

    report = None if problem else str(out / REPORT)
    schema = getattr(model, "schema", None)
    known = getattr(model, "feature_names_in_", None)
    names = None if known is None else [str(column) for column in known]
    if problem:
        note(f"no report was written ({problem}).")
    if as_json:
        facts: dict[str, Any] = {
            "release": str(out), "report": report, "given_again": again, "columns": names
        }  # fmt: skip
        if schema is not None:
            facts["schema"] = {"name": schema.name, "digest": schema.digest}
        if account is not None:
            facts["account"] = account
        facts["strength"] = model.privacy_.strength.grade
        if hasattr(model, "column_names"):  # a profile, whose numbers are what was asked for
            facts["profile"] = {k: v for k, v in model.to_dict().items() if k != "privacy"}
        print_json({**facts, "privacy": model.privacy_.to_dict()})
        return
    if hasattr(model, "column_names"):
        say(f"{model.summary()}\n")
    say(model.privacy_)
    if schema is not None:
        counted = list(getattr(model, "column_names", ()))
        _tell_schema(schema, counted, predicts=hasattr(model, "predict"))
    elif names is not None:
        say(f"\nLearned from the columns {join_names(names)}: their names are part of the release.")
    if account is not None:
        say(f"\n{account}")
    say(f"\nSaved in {out}" + (f"; open {report}" if report else ""))


def _tell_schema(schema: Schema, counted: list[str], *, predicts: bool) -> None:
    """Say which columns were used: a schema is public, and part of the release."""
    from veilspan.cli.io.tables import join_names

    unused = ("id", "ignore", "target")
    used = counted or [column.name for column in schema.columns if column.role not in unused]
    aim = f" to predict {schema.target.name}" if predicts and schema.target is not None else ""
    verb = "Counted" if counted else "Learned from"
    say(f"\n{verb} {join_names(used)}{aim}, read by the schema")
    say(f"{schema.name or '(unnamed)'}, digest {schema.digest[:12]}, which is part of the release.")
