"""Arguments and options that several commands share.

This module is imported for ``--help``, so what takes long to import waits inside the functions.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.estimators import KINDS, complete_kind

MOST_EPSILON = 1e9  # as in ``privacy.budget``, which a command imports when it runs


def read_epsilon(text: str) -> float:
    """A number; one too large for a float is refused, since it would read as no privacy at all."""
    try:
        value = float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number.") from None
    if math.isinf(value) and "inf" not in str(text).lower():
        raise typer.BadParameter(
            f"epsilon must be at most {MOST_EPSILON:g}, or inf for no privacy."
        )
    return value


def split_names(text: str) -> list[str]:
    """Names of columns from a text with commas between them."""
    return [name.strip() for name in text.split(",")]


KindName = Annotated[str, typer.Argument(help=f"{', '.join(KINDS)}.", autocompletion=complete_kind)]
Epsilon = Annotated[
    float, typer.Option(help="Privacy budget epsilon.", parser=read_epsilon, metavar="<float>")
]
Delta = Annotated[float, typer.Option(help="Privacy budget delta, far below 1/rows.")]
Neighbors = Annotated[str, typer.Option(help="replace-one or add-remove.")]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--param", "-p", help="A parameter, name=value; may be repeated."),
]
Release = Annotated[Path, typer.Argument(help="Folder that fit wrote.")]
DataFile = Annotated[str, typer.Argument(help="A .csv, .tsv, .parquet, .npy or .npz file.")]
Columns = Annotated[str | None, typer.Option(help="Columns to use, with commas; all by default.")]
Separator = Annotated[str | None, typer.Option(help="Between the cells of a CSV file.")]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a CSV file names the columns; by default if it can be "
        "told. Names are public: they go into the release.",
    ),
]
KeyFile = Annotated[Path | None, typer.Option("--key", help="Key file that seals the release.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON only.")]
