"""``veilspan export``: a linear model as one JSON file that scores rows without veilspan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.options import AsJson, Force, KeyFile, Release
from veilspan.cli.console import print_json, say


def export(
    release: Release,
    out: Annotated[Path | None, typer.Option(help="The .json file to write.")] = None,
    shapes: Annotated[
        Path | None, typer.Option(help="Draw what each column adds, to an .svg file.")
    ] = None,
    key: KeyFile = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Write a linear model as JSON that scores rows anywhere.

    The file holds what predict uses: rules for cells, released numbers, classes. A page of the
    documentation (Using a model without Veilspan) has a reader for it that needs nothing but
    Python. Nothing is spent, and nothing in it is computed from rows.

    Example: veilspan export release --out model.json
    """
    if out is None and shapes is None:
        raise ValueError("say what to write: --out FILE.json, --shapes FILE.svg, or both.")
    _check_place(out, "--out", ".json", force=force)
    _check_place(shapes, "--shapes", ".svg", force=force)
    from veilspan._files import write_whole
    from veilspan.releases import load

    model = load(release, key=key)
    if not hasattr(model, "to_json"):
        raise ValueError(
            "only linear models are exported (logistic, svc, linear, ridge, lasso, elastic-net, "
            "huber); this release holds another kind of model."
        )
    text = b"" if out is None else model.to_json().encode()
    drawn = None
    if shapes is not None:
        if not hasattr(model, "shapes_"):
            raise ValueError(
                "this model was fitted without a schema, is straight and has nothing to draw: "
                "leave --shapes out; the report shows its coefficients."
            )
        drawn = model.shapes_.plot()
    if out is not None:
        write_whole(out, lambda stream: stream.write(text))
    if drawn is not None and shapes is not None:
        drawn.save(shapes)
    facts = {
        "file": None if out is None else str(out),
        "bytes": None if out is None else len(text),
        "shapes": None if shapes is None else str(shapes),
        "release_id": model.privacy_.release_id,
        "private": model.privacy_.private,
    }
    if json:
        print_json(facts)
        return
    if out is not None:
        say(f"{out} ({len(text):,} bytes): scores rows without veilspan")
    if shapes is not None:
        say(f"{shapes}: what each column adds to the score")


def _check_place(path: Path | None, option: str, ending: str, *, force: bool) -> None:
    """Refuse another ending, and to replace a file unless somebody says so."""
    if path is None:
        return
    if path.suffix.lower() != ending:
        raise ValueError(f"{option} must end in {ending}; got {path.name!r}.")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; choose another {option}, or --force to replace it.")
