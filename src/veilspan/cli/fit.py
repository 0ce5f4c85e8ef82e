"""``veilspan fit``: learn from a file under privacy, save the release with its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from veilspan._progress import show_progress
from veilspan.catalogue import Kind
from veilspan.cli.arguments.estimators import (
    OBSERVED,
    find_kind,
    list_kinds,
    make_estimator,
    read_parameters,
)
from veilspan.cli.arguments.options import (
    AsJson,
    Columns,
    Delta,
    Epsilon,
    Header,
    KindName,
    Neighbors,
    Parameters,
    Separator,
    split_names,
)
from veilspan.cli.console import note, print_json, say

if TYPE_CHECKING:
    from veilspan.cli.io.watched_dataset import WatchedDataset

REPORT = "report.html"
#: From parameters and the budget to a fitted model.
Learn = Callable[[dict[str, Any], dict[str, Any]], Any]


class Reading(NamedTuple):
    """How the user says that the file is to be read."""

    columns: str | None
    target: str | None
    items: str | None
    separator: str | None
    header: bool | None


def fit(
    kind: KindName,
    data: Annotated[
        str,
        typer.Argument(
            help="A .csv, .tsv, .parquet, .npy or .npz file, or a folder or pattern of parquet "
            "files (by Dask). For recommend: a .csv of user, item, rating."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the release and its report.")],
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    neighbors: Neighbors = "replace-one",
    param: Parameters = None,
    columns: Columns = None,
    target: Annotated[str | None, typer.Option(help="The column to predict.")] = None,
    items: Annotated[
        str | None, typer.Option(help="For recommend: file with the public items, or observed.")
    ] = None,
    separator: Separator = None,
    header: Header = None,
    ledger: Annotated[str | None, typer.Option(help="Ledger to charge: its file or URL.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Whose budget in the ledger.")] = None,
    key: Annotated[
        Path | None, typer.Option(help="Key file: of the ledger, and to seal the release.")
    ] = None,
    request: Annotated[
        str | None,
        typer.Option(
            help="With --ledger: a name of this request. The same name again gives the stored "
            "release and charges nothing. By default made of what is asked and --out."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a release in --out.")] = False,
    json: AsJson = False,
) -> None:
    """Learn from a file under privacy; save the release and its report.

    The folder appears whole or not at all. Bounds are public knowledge and are given by --param;
    rows never choose them.

    With --ledger the same command after a crash gives the release that was paid for and charges
    nothing.

    Example: veilspan fit robust-pca table.csv --out release -p n_components=2
    """
    # Whatever can be refused is refused before rows are read.
    chosen = find_kind(kind)
    reading = Reading(columns, target, items, separator, header)
    _check_reading(chosen, reading)
    from veilspan.cli.io import release_folder as folders
    from veilspan.cli.io.watched_dataset import explain_given_again, name_request
    from veilspan.privacy.budget import Budget
    from veilspan.releases import save

    place = folders.resolve_place(out)
    folders.check_free(place, force=force)
    settings = read_parameters(chosen, param or ())
    _check_classes(chosen, settings)
    if request is not None and ledger is None:
        raise ValueError("--request is for fits with --ledger: it names what is paid for.")
    asked = {
        "kind": kind,
        "parameters": settings,
        "budget": (epsilon, delta, neighbors),
        "data": str(Path(data).absolute()),
        "read as": tuple(reading),
        "out": str(place),
        "replaces": folders.read_replaced_id(place),
    }
    account = _open_account(ledger, dataset, key, request or name_request(asked))
    budget = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, "ledger": account}
    Budget(epsilon, delta)
    with show_progress(f"reading {Path(data).name}", quiet=json):
        read = _read_ratings if chosen.reads == "ratings" else _read_rows
        learn = read(chosen, data, reading)
    # The folder comes before the fit: better no place to write than a charge without a release.
    with _tell_what_is_paid(account), folders.open_folder(place, force=force) as folder:
        with show_progress(f"fitting {kind}", quiet=json):
            model = learn(settings, budget)
        save(model, folder, key=key, overwrite=force)
        problem = _write_report(model, folder / REPORT)
    again = account is not None and account.given_again
    if account is not None and again:
        note(explain_given_again(account, data))
    _tell(model, out, problem, again=again, as_json=json)


def _check_reading(kind: Kind, reading: Reading) -> None:
    """Refuse options that this kind has no use for, and ask for those that it needs."""
    if kind.needs_target and reading.target is None:
        raise ValueError(f"{kind.command} needs --target NAME, the column to predict.")
    if not kind.needs_target and reading.target is not None:
        raise ValueError(f"{kind.command} predicts no column: leave --target out.")
    if kind.reads == "ratings" and reading.items is None:
        raise ValueError(
            f"{kind.command} needs --items FILE, the public list of items (one a line), or --items "
            "observed if the list of rated items is public knowledge."
        )
    if kind.reads != "ratings" and reading.items is not None:
        raise ValueError(f"--items is for {list_kinds('ratings')}.")


def _check_classes(kind: Kind, settings: dict[str, Any]) -> None:
    """Which labels there are may tell of a row: somebody must say that it is public."""
    if kind.reads == "labels" and "classes" not in settings:
        raise ValueError(
            f"{kind.command} needs the public labels: -p classes=0,1 say, or -p classes=observed "
            "if the set of labels in the file is public knowledge."
        )


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


def _read_rows(kind: Kind, data: str, reading: Reading) -> Learn:
    """Read a table; return how to learn from it."""
    from veilspan.cli.io.tables import read_table

    table = read_table(
        data,
        columns=None if reading.columns is None else split_names(reading.columns),
        target=reading.target,
        separator=reading.separator,
        header=reading.header,
    )
    text = table.targets is not None and table.targets.dtype.kind not in "fiub"
    if text and kind.reads == "numbers":
        raise ValueError(
            f"{reading.target} holds text, not numbers: it cannot be predicted by {kind.command}."
        )

    def learn(settings: dict[str, Any], budget: dict[str, Any]) -> Any:
        if text and settings.get("classes") is not None:  # as they are written in the file
            settings = {**settings, "classes": [str(label) for label in settings["classes"]]}
        model = make_estimator(kind, table.n_columns, settings, **budget)
        model.fit(*((table.rows, table.targets) if kind.needs_target else (table.rows,)))
        if table.names is not None:  # for the report, and so that transform finds its columns
            import numpy as np

            model.feature_names_in_ = np.array(table.names, dtype=object)
        return model

    return learn


def _read_ratings(kind: Kind, data: str, reading: Reading) -> Learn:
    """Read ratings; return how to learn from them."""
    from veilspan.cli.io.ratings import read_items, read_ratings

    public = read_items(reading.items or OBSERVED)
    triples = read_ratings(data, public, reading.columns, reading.separator, reading.header)

    def learn(settings: dict[str, Any], budget: dict[str, Any]) -> Any:
        model = make_estimator(kind, 0, settings, **budget)
        return model.fit_triples(*triples, items=OBSERVED if public is None else public)

    return learn


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


def _tell(model: Any, out: Path, problem: str | None, *, again: bool, as_json: bool) -> None:
    from veilspan.cli.io.tables import join_names

    report = None if problem else str(out / REPORT)
    known = getattr(model, "feature_names_in_", None)
    names = None if known is None else [str(column) for column in known]
    if problem:
        note(f"no report was written ({problem}).")
    if as_json:
        statement = model.privacy_.to_dict()
        print_json({
            "release": str(out), "report": report, "given_again": again, "columns": names,
            "privacy": statement,
        })  # fmt: skip
        return
    say(model.privacy_)
    if names is not None:
        say(f"\nLearned from the columns {join_names(names)}: their names are part of the release.")
    say(f"\nSaved in {out}" + (f"; open {report}" if report else ""))
