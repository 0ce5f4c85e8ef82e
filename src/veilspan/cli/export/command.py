"""``veilspan export``: a linear model as one JSON file that scores rows without veilspan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veilspan.cli.arguments.options import AsJson, KeyFile, Release
from veilspan.cli.console import print_json, say


def export(
    release: Release,
    out: Annotated[Path, typer.Option(help="The .json file to write.")],
    shapes: Annotated[
        Path | None, typer.Option(help="Also draw what each column adds, to an .svg file.")
    ] = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Write a linear model as JSON that scores rows anywhere.

    The file holds what predict uses: rules for cells, released numbers, classes. A page of the
    documentation (Without veilspan) has a reader for it that needs nothing but Python. Nothing is
    spent, and nothing in it is computed from rows.

    Example: veilspan export release --out model.json
    """
    if out.suffix.lower() != ".json":
        raise ValueError(f"--out must end in .json; got {out.name!r}.")
    if shapes is not None and shapes.suffix.lower() != ".svg":
        raise ValueError(f"--shapes must end in .svg; got {shapes.name!r}.")
    from veilspan._files import write_whole
    from veilspan.releases import load

    model = load(release, key=key)
    if not hasattr(model, "to_json"):
        raise ValueError(
            "only linear models are exported (logistic, svc, linear, ridge, lasso, elastic-net, "
            "huber); this release holds another kind of model."
        )
    text = model.to_json().encode()
    drawn = None
    if shapes is not None:
        if not hasattr(model, "shapes_"):
            raise ValueError(
                "this model was fitted without a schema, is straight and has nothing to draw: "
                "leave --shapes out; the report shows its coefficients."
            )
        drawn = model.shapes_.plot()
    write_whole(out, lambda stream: stream.write(text))
    if drawn is not None and shapes is not None:
        drawn.save(shapes)
    facts = {
        "file": str(out),
        "bytes": len(text),
        "shapes": None if shapes is None else str(shapes),
        "release_id": model.privacy_.release_id,
        "private": model.privacy_.private,
    }
    if json:
        print_json(facts)
        return
    say(f"{out} ({len(text):,} bytes): scores rows without veilspan")
    if shapes is not None:
        say(f"{shapes}: what each column adds to the score")
