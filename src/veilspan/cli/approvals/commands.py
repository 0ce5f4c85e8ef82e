"""``veilspan ledger requests``, ``request``, ``approve``, ``refuse`` and ``withdraw``.

Who somebody is, is what they say: a name on the command line is not checked by a password. Whoever
can write to the ledger and read its key may say any name; the record shows what was said.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veilspan._printable import printable
from veilspan.cli.console import print_json, say

if TYPE_CHECKING:
    from veilspan.ledger import Dataset, FitRequest

Location = Annotated[str, typer.Argument(help="The ledger's file, or postgresql://...")]
DatasetName = Annotated[str, typer.Argument(help="Name of the dataset.")]
MaybeDataset = Annotated[str | None, typer.Argument(help="One dataset only.")]
RequestId = Annotated[str, typer.Argument(help="Of the request, as listed by requests.")]
KeyFile = Annotated[Path | None, typer.Option("--key", help="File with the ledger's key.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]
By = Annotated[str, typer.Option(help="Your name, for the record.")]
Role = Annotated[str, typer.Option(help="As what: officer.")]
Version = Annotated[
    int | None, typer.Option(min=1, help="What you read; refused if it was edited since.")
]


def requests(
    location: Location,
    dataset: MaybeDataset = None,
    state: Annotated[
        str | None, typer.Option(help="Only open, approved, refused, charged or released ones.")
    ] = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """List what people asked for, newest first, and what became of it."""
    from veilspan.ledger import Ledger
    from veilspan.ledger.approvals.words import STATES, name_state

    if state is not None and state not in STATES:
        raise ValueError(f"--state is one of {', '.join(STATES)}.")
    ledger = Ledger(location, key)
    names = ledger.datasets() if dataset is None else [dataset]
    found = [request for name in names for request in ledger.dataset(name).requests()]
    found = [request for request in found if state in (None, request.state)]
    if json:
        print_json([request.to_dict() for request in found])
        return
    for request in found:
        what = f"{request.estimator} at epsilon = {request.epsilon:g} on {request.dataset}"
        say(printable(f"{request.id}  {name_state(request)}: {what}, by {request.asked_by}"))
    if not found:
        say("no requests yet")


def request(
    location: Location,
    dataset: DatasetName,
    request_id: RequestId,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Show one request in words: what would be released, at what cost, and who decided."""
    handle = _open(location, dataset, key)
    _show(handle, handle.request(request_id), as_json=json)


def approve(
    location: Location,
    dataset: DatasetName,
    request_id: RequestId,
    by: By,
    role: Role = "officer",
    note: Annotated[str, typer.Option(help="Words for the record.")] = "",
    version: Version = None,
    solo: Annotated[
        bool, typer.Option("--solo", help="You asked yourself, and there is nobody else.")
    ] = False,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Approve a request: what was asked, and nothing else, may then be charged once."""
    handle = _open(location, dataset, key)
    decided = handle.approve(request_id, by=by, role=role, note=note, solo=solo, version=version)
    _show(handle, decided, as_json=json)


def refuse(
    location: Location,
    dataset: DatasetName,
    request_id: RequestId,
    by: By,
    reason: Annotated[str, typer.Option(help="Why, for whoever asked.")],
    role: Role = "officer",
    version: Version = None,
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Refuse a request, or take an approval back before anything was charged."""
    handle = _open(location, dataset, key)
    decided = handle.refuse(request_id, by=by, role=role, reason=reason, version=version)
    _show(handle, decided, as_json=json)


def withdraw(
    location: Location,
    dataset: DatasetName,
    charge: Annotated[int, typer.Argument(min=1, help="Entry of its charge, as in the history.")],
    by: By,
    reason: Annotated[str, typer.Option(help="Why, for whoever holds a copy.")],
    key: KeyFile = None,
    json: AsJson = False,
) -> None:
    """Tell everybody not to use a release any more. What it cost stays spent."""
    from dataclasses import asdict

    done = _open(location, dataset, key).withdraw(charge, by=by, reason=reason)
    if json:
        print_json(asdict(done))
    else:
        say(printable(f"entry {done.entry}  {done.describe()}"))


def _open(location: str, dataset: str, key: Path | None) -> Dataset:
    from veilspan.ledger import Ledger

    return Ledger(location, key).dataset(dataset)


def _show(handle: Dataset, found: FitRequest, *, as_json: bool) -> None:
    from veilspan.ledger.approvals.words import describe_request

    if as_json:
        print_json(found.to_dict())
        return
    for line in describe_request(found, left=handle.left(found.delta)):
        say(printable(line))
