"""Arguments and options that several commands share.

This module is imported for ``--help``, so what takes long to import waits inside the functions.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.estimators import KINDS, complete_kind, complete_parameter

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
#: The same where a schema may say it.
MaybeNeighbors = Annotated[
    str | None,
    typer.Option(
        "--neighbors", help="replace-one (by default) or add-remove; a schema says it itself."
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        help="A parameter, name=value; may be repeated. A name alone lists those of the kind.",
        autocompletion=complete_parameter,
    ),
]
Release = Annotated[Path, typer.Argument(help="Folder that fit wrote.")]
DataFile = Annotated[
    str,
    typer.Argument(
        help="A .csv, .tsv, .parquet, .npy or .npz file; by a schema also .arrow or .feather, - "
        "(CSV from the standard input), or postgresql://host/database with --table."
    ),
]
Columns = Annotated[str | None, typer.Option(help="Columns to use, with commas; all by default.")]


def _as_typed(separator: str | None) -> str | None:
    """A tab as people can type it in a shell."""
    return "\t" if separator in ("\\t", "tab") else separator


Separator = Annotated[
    str | None,
    typer.Option(help="Between the cells of a CSV file: ; or tab, say.", callback=_as_typed),
]
Decimal = Annotated[str | None, typer.Option(help="Decimal mark of a CSV file: . or ,")]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a CSV file names the columns; by default if it can be "
        "told. Names are public: they go into the release.",
    ),
]
Encoding = Annotated[
    str | None, typer.Option(help="Of a CSV file: utf-8 (by default), latin-1, cp1252, ...")
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema", help="TOML file of what is public of each column; veilspan schema init."
    ),
]
SchemaPath = Annotated[Path, typer.Argument(help="A schema: a TOML file.")]
SchemaOut = Annotated[Path, typer.Option("--out", help="The .toml file to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
TableName = Annotated[str | None, typer.Option(help="Table of a postgresql:// database.")]
OutputTable = Annotated[Path, typer.Option("--out", help="A .csv, .npy or .parquet file.")]
KeyFile = Annotated[Path | None, typer.Option("--key", help="Key file that seals the release.")]
ByPerson = Annotated[
    bool,
    typer.Option(
        "--by-person",
        help="One line a person, with the id, where the schema of the release names a column of "
        "ids; by default one line a row.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON only.")]
LedgerPlace = Annotated[
    str | None, typer.Option("--ledger", help="Ledger to charge: its file or URL.")
]
AccountName = Annotated[
    str | None,
    typer.Option("--dataset", help="Whose budget in the ledger; by default the schema's name."),
]
SealKey = Annotated[
    Path | None, typer.Option("--key", help="Key file: of the ledger, and to seal the release.")
]
Replace = Annotated[bool, typer.Option("--force", help="Replace a release in --out.")]
AllowWeak = Annotated[
    bool,
    typer.Option(
        "--allow-weak",
        help="Go on with a delta that is not below 1/rows, or an epsilon above 10.",
    ),
]
