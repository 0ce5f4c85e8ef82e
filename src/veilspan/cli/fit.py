"""``veilspan fit``: learn from a file, save the release with its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from veilspan._files import write_whole
from veilspan.cli.console import busy, note, print_json, say
from veilspan.cli.folders import check_free, folder_for, place_of, replaced_release
from veilspan.cli.kinds import OBSERVED, Kind, kind_named, make_estimator, parameters_of
from veilspan.cli.ratings import read_items, read_ratings
from veilspan.cli.requests import WatchedDataset, request_name, watched, words_on
from veilspan.cli.tables import listed, read_table
from veilspan.privacy.budget import Budget

REPORT = "report.html"
#: From parameters and the budget to a fitted model.
Learn = Callable[[dict[str, Any], dict[str, Any]], Any]


def run_fit(
    name: str,
    data: str,
    out: Path,
    *,
    epsilon: float,
    delta: float,
    neighbors: str,
    parameters: Sequence[str],
    columns: str | None,
    target: str | None,
    items: str | None,
    separator: str | None,
    header: bool | None,
    ledger: str | None,
    dataset: str | None,
    key: Path | None,
    request: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Read, fit, save: all or nothing. What can be refused is refused before rows are read."""
    kind = kind_named(name)
    _check_options(kind, name, target=target, items=items)
    place = place_of(out)
    check_free(place, force=force)
    settings = parameters_of(kind, parameters)
    _check_classes(kind, name, settings)
    if request is not None and ledger is None:
        raise ValueError("--request is for fits with --ledger: it names what is paid for.")
    asked = {
        "kind": name,
        "parameters": settings,
        "budget": (epsilon, delta, neighbors),
        "data": str(Path(data).absolute()),
        "read as": (columns, target, items, separator, header),
        "out": str(place),
        "replaces": replaced_release(place),
    }
    account = _account(ledger, dataset, key, request or request_name(asked))
    budget = {"epsilon": epsilon, "delta": delta, "neighbors": neighbors, "ledger": account}
    Budget(epsilon, delta)
    with busy(f"reading {Path(data).name}", quiet=as_json):
        read = _read_ratings if kind.reads == "ratings" else _read_rows
        learn = read(
            kind,
            name,
            data,
            columns=columns,
            target=target,
            items=items,
            separator=separator,
            header=header,
        )
    from veilspan.releases import save

    # The folder comes before the fit: better no place to write than a charge without a release.
    with _kept(account), folder_for(place, force=force) as folder:
        with busy(f"fitting {name}", quiet=as_json):
            model = learn(settings, budget)
        save(model, folder, key=key, overwrite=force)
        problem = _write_report(model, folder / REPORT)
    again = account is not None and account.given_again
    if account is not None and again:
        note(words_on(account, data))
    _tell(model, out, problem, again=again, as_json=as_json)


@contextmanager
def _kept(account: WatchedDataset | None) -> Iterator[None]:
    """Say where a release is that was paid for and could not be put into its place."""
    try:
        yield
    except BaseException:
        if account is not None and account.released():
            note(
                "the release is paid for and kept in the ledger: the same command again gives it, "
                "and charges nothing."
            )
        raise


def _check_options(kind: Kind, name: str, **given: str | None) -> None:
    if kind.needs_target and given["target"] is None:
        raise ValueError(f"{name} needs --target NAME, the column to predict.")
    if not kind.needs_target and given["target"] is not None:
        raise ValueError(f"{name} predicts no column: leave --target out.")
    if kind.reads == "ratings" and given["items"] is None:
        raise ValueError(
            "recommend needs --items FILE, the public list of items (one a line), or --items "
            "observed if the list of rated items is public knowledge."
        )
    if kind.reads != "ratings" and given["items"] is not None:
        raise ValueError("--items is for recommend.")


def _check_classes(kind: Kind, name: str, settings: dict[str, Any]) -> None:
    """Which labels there are may tell of a row: somebody must say that it is public."""
    if kind.reads == "labels" and "classes" not in settings:
        raise ValueError(
            f"{name} needs the public labels: -p classes=0,1 say, or -p classes=observed if the "
            "set of labels in the file is public knowledge."
        )


def _account(
    ledger: str | None, dataset: str | None, key: Path | None, request: str
) -> WatchedDataset | None:
    if ledger is None and dataset is None:
        return None
    if ledger is None or dataset is None:
        raise ValueError("--ledger and --dataset go together: where the budget is, and whose.")
    from veilspan.ledger import Ledger

    return watched(Ledger(ledger, key).dataset(dataset), request)


def _read_rows(kind: Kind, name: str, data: str, **options: Any) -> Learn:
    """Read a table; return how to learn from it."""
    names = options["columns"]
    chosen = None if names is None else [column.strip() for column in names.split(",")]
    table = read_table(
        data,
        columns=chosen,
        target=options["target"],
        separator=options["separator"],
        header=options["header"],
    )
    text = table.targets is not None and table.targets.dtype.kind not in "fiub"
    if text and kind.reads == "numbers":
        raise ValueError(
            f"{options['target']} holds text, not numbers: it cannot be predicted by {name}."
        )

    def learn(settings: dict[str, Any], budget: dict[str, Any]) -> Any:
        if text and settings.get("classes") is not None:  # as they are written in the file
            settings = {**settings, "classes": [str(label) for label in settings["classes"]]}
        model = make_estimator(kind, table.n_columns, settings, **budget)
        model.fit(*((table.rows, table.targets) if kind.needs_target else (table.rows,)))
        if table.names is not None:  # for the report, and so that transform finds its columns
            model.feature_names_in_ = np.array(table.names, dtype=object)
        return model

    return learn


def _read_ratings(kind: Kind, name: str, data: str, **options: Any) -> Learn:
    """Read ratings; return how to learn from them."""
    listed = read_items(options["items"])
    reading = (options["columns"], options["separator"], options["header"])
    triples = read_ratings(data, listed, *reading)
    items = OBSERVED if listed is None else listed
    return lambda settings, budget: make_estimator(kind, 0, settings, **budget).fit_triples(
        *triples, items=items
    )


def _write_report(model: Any, path: Path) -> str | None:
    """Write the report; the release is worth keeping without it, so say what is wrong instead."""
    try:
        from veilspan.reports import report_html

        text = report_html(model).encode()
        write_whole(path, lambda stream: stream.write(text))
    except Exception as error:
        return type(error).__name__
    return None


def _tell(model: Any, out: Path, problem: str | None, *, again: bool, as_json: bool) -> None:
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
        say(f"\nLearned from the columns {listed(names)}: their names are part of the release.")
    say(f"\nSaved in {out}" + (f"; open {report}" if report else ""))
