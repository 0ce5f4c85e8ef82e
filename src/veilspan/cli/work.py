"""The commands to start and to work with: their options. Their work has modules of their names.

Heavy imports happen inside the commands, so that ``--help`` stays quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.options import (
    AsJson,
    Columns,
    DataFile,
    Delta,
    Epsilon,
    Header,
    KeyFile,
    KindName,
    Neighbors,
    Parameters,
    Release,
    Separator,
    complete_generator,
)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the records.")] = Path(
        "veilspan-demo"
    ),
    epsilon: Epsilon = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy budget delta.")] = 1e-6,
    json: AsJson = False,
) -> None:
    """Draw a map from made-up genes by two private components.

    Writes a picture and the record of what was spent.
    """
    from veilspan.cli.demo import run_demo

    run_demo(out, epsilon, delta, as_json=json)


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Which table; without a name, list them.", autocompletion=complete_generator
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A .csv, .npy or .parquet file.")] = None,
    rows: Annotated[int, typer.Option(help="Rows, or users.")] = 1000,
    columns: Annotated[int | None, typer.Option(help="Columns, or items.")] = None,
    components: Annotated[int, typer.Option(help="Dimension of the structure.")] = 2,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the file in --out.")] = False,
    json: AsJson = False,
) -> None:
    """Write made-up tables to try things on; without a name, list them."""
    from veilspan.cli.datasets import show_generators, write_sample

    if name is None:
        show_generators(as_json=json)
        return
    target = Path(f"{name}.csv") if out is None else out
    write_sample(
        name,
        target,
        rows=rows,
        columns=columns,
        components=components,
        seed=seed,
        force=force,
        as_json=json,
    )


def plan(
    kind: KindName,
    rows: Annotated[int, typer.Option(help="Number of rows (users).")],
    columns: Annotated[int, typer.Option(help="Number of columns (items).")],
    epsilon: Epsilon = 1.0,
    delta: Delta = 1e-6,
    neighbors: Neighbors = "replace-one",
    param: Parameters = None,
    simulate: Annotated[bool, typer.Option(help="Also fit made-up tables, for seconds.")] = True,
    json: AsJson = False,
) -> None:
    """What a fit would cost, and how good it would be (simulated).

    Prints the plan (events and noise) and the errors of fits to made-up tables of this shape. No
    file is read, nothing is spent.

    Example: veilspan plan robust-pca --rows 5000 --columns 30
    """
    from veilspan.cli.plan import run_plan

    run_plan(
        kind,
        rows=rows,
        columns=columns,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        parameters=param or (),
        simulate=simulate,
        as_json=json,
    )


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
    from veilspan.cli.fit import run_fit

    run_fit(
        kind,
        data,
        out,
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
        parameters=param or (),
        columns=columns,
        target=target,
        items=items,
        separator=separator,
        header=header,
        ledger=ledger,
        dataset=dataset,
        key=key,
        request=request,
        force=force,
        as_json=json,
    )


def transform(
    release: Release,
    data: DataFile,
    out: Annotated[Path, typer.Option(help="A .csv, .npy or .parquet file.")],
    columns: Columns = None,
    separator: Separator = None,
    header: Header = None,
    proba: Annotated[bool, typer.Option("--proba", help="Probabilities of the classes.")] = False,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Coordinates or predictions of rows of your own, by a release.

    Nothing is spent. Columns are found by the names the release was learned from.

    Example: veilspan transform release table.csv --out coordinates.csv
    """
    from veilspan.cli.transform import run_transform

    run_transform(
        release,
        data,
        out,
        columns=columns,
        separator=separator,
        header=header,
        probabilities=proba,
        key=key,
        as_json=json,
    )


def recommend(
    release: Release,
    ratings: Annotated[str, typer.Argument(help="A .csv of user, item, rating: the users' own.")],
    k: Annotated[int, typer.Option("--k", "-k", help="Items for each user.")] = 10,
    user: Annotated[str | None, typer.Option(help="One user only.")] = None,
    out: Annotated[Path | None, typer.Option(help="A .csv file for all of them.")] = None,
    columns: Annotated[str | None, typer.Option(help="Names of the three columns.")] = None,
    separator: Separator = None,
    header: Header = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Items that users may like, by a release and their own ratings.

    Nothing is spent. What a user is shown depends on her own ratings without noise: for her eyes.

    Example: veilspan recommend release ratings.csv --k 5 --user 7
    """
    from veilspan.cli.recommend import run_recommend

    run_recommend(
        release,
        ratings,
        k=k,
        user=user,
        out=out,
        columns=columns,
        separator=separator,
        header=header,
        key=key,
        as_json=json,
    )
