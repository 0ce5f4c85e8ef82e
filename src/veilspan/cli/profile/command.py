"""``veilspan profile``: what there is in a table, as one release with its page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.options import (
    AccountName,
    AllowWeak,
    AsJson,
    Delta,
    Epsilon,
    LedgerPlace,
    Replace,
    SchemaFile,
    SealKey,
    TableName,
    split_names,
)
from veilspan.cli.fit import fit


def profile(
    data: Annotated[
        str,
        typer.Argument(
            help="A .csv, .tsv, .parquet, .arrow or .feather file, - (CSV from the standard "
            "input), or postgresql://host/database with --table."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the release and its page.")],
    schema: SchemaFile = None,
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    columns: Annotated[
        str | None, typer.Option(help="Columns to count, with commas; all by default.")
    ] = None,
    bins: Annotated[int, typer.Option(help="Most bins inside a range.")] = 20,
    quantiles: Annotated[
        str | None, typer.Option(help="Levels with commas; 0.05,0.25,0.5,0.75,0.95 by default.")
    ] = None,
    crosstab: Annotated[
        list[str] | None,
        typer.Option(help="Two columns to count together, as sex,ward; may be repeated."),
    ] = None,
    mean_by: Annotated[
        list[str] | None,
        typer.Option(help="A number and a group, as age,ward; may be repeated."),
    ] = None,
    table: TableName = None,
    ledger: LedgerPlace = None,
    dataset: AccountName = None,
    key: SealKey = None,
    request: Annotated[
        str | None, typer.Option(help="With --ledger: a name of this request; see veilspan fit.")
    ] = None,
    force: Replace = False,
    allow_weak: AllowWeak = False,
    json: AsJson = False,
) -> None:
    """Say what there is in a table, every number with its error bar.

    One release, one charge. Every number has an error bar by noise alone; where noise wins it says
    so. The folder holds the release and report.html, a page that needs no network.

    Example: veilspan profile ward.csv --schema ward.toml --epsilon 1 --out profile
    """
    if schema is None:
        raise ValueError(
            "a profile needs to know what is public of the table: veilspan schema init makes a "
            "draft of a schema to fill in, and --schema FILE takes it."
        )
    settings = [f"bins={bins}"]
    if columns is not None:
        settings.append(f"columns={split_names(columns)!r}")
    if quantiles is not None:
        settings.append(f"quantiles={_read_levels(quantiles)!r}")
    if crosstab:
        settings.append(f"crosstabs={_read_pairs(crosstab, '--crosstab', 'sex,ward')!r}")
    if mean_by:
        settings.append(f"means_by={_read_pairs(mean_by, '--mean-by', 'age,ward')!r}")
    fit(
        "profile", data, out, epsilon=epsilon, delta=delta, schema=schema, param=settings,
        table=table, ledger=ledger, dataset=dataset, key=key, request=request, force=force,
        allow_weak=allow_weak, json=json,
    )  # fmt: skip


def _read_levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(level) for level in text.split(","))
    except ValueError:
        pass
    raise ValueError(f"--quantiles takes numbers with commas, as 0.25,0.5,0.75; got {text!r}.")


def _read_pairs(given: list[str], option: str, example: str) -> list[tuple[str, ...]]:
    pairs = [tuple(split_names(text)) for text in given]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{option} takes two columns with a comma, as {example}.")
    return pairs
