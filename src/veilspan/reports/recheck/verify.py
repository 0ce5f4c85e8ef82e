"""``verify_release``: everything about a release that can be computed again, computed again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from veilspan._files import read_regular
from veilspan.ledger.dataset import Dataset
from veilspan.privacy.events import Event, with_count
from veilspan.privacy.schema_record import SchemaRecord
from veilspan.privacy.statement import ROUNDING, PrivacyStatement
from veilspan.privacy.strength import BADGES, NONE
from veilspan.releases import load
from veilspan.releases.documents import DOCUMENT, NewerReleaseError, read_document
from veilspan.releases.files import MARKS, REPORT, belongs_to_release, mark_of
from veilspan.reports.numbers import number
from veilspan.reports.recheck.charge import check_charge
from veilspan.reports.recheck.checks import FITS, UNCHECKED, WRONG, Check, ReleaseCheck
from veilspan.reports.recheck.page import check_page

PathLike = str | os.PathLike[str]

#: Largest mark that is read; real ones take a few lines.
_MOST_MARK = 2**16
#: Versions whose releases had no mark beside them.
_BEFORE_MARKS = ("0.1.0.dev0",)


def verify_release(
    folder: PathLike,
    *,
    key: PathLike | None = None,
    report: PathLike | None = None,
    schema: PathLike | None = None,
    ledger: Any = None,
    dataset: Dataset | None = None,
) -> ReleaseCheck:
    """Check a release and its report again, offline, from what lies in its folder.

    No row is needed and nothing is spent. The digests of the files, the accounting of the recorded
    events, the digest of the schema and every byte of the report are computed anew.

    Parameters
    ----------
    folder : path
        That ``save`` or ``veilspan fit`` wrote.
    key : path, optional
        File with the key that sealed the release.
    report : path, optional
        Its report; ``report.html`` in the folder by default.
    schema : path, optional
        A schema file that must be the one that was used.
    ledger : Ledger, optional
        Whose seals are all checked, and the charge of the release in it.
    dataset : Dataset, optional
        The account; by default the one that the release names.

    Returns
    -------
    ReleaseCheck
        True in a boolean context if nothing was found that does not fit.

    Examples
    --------
    >>> import tempfile
    >>> from veilspan import PCA
    >>> from veilspan.datasets import make_haystack
    >>> from veilspan.reports import verify_release, write_report
    >>> pca = PCA(2).fit(make_haystack(2000, 6, 2).rows)
    >>> folder = pca.save(tempfile.mkdtemp() + "/release")
    >>> page = write_report(folder / "report.html", pca)
    >>> bool(verify_release(folder))
    True
    """
    place = Path(folder)
    if not (place / DOCUMENT).exists():
        raise ValueError(f"{place} holds no release: it has no {DOCUMENT}.")
    try:
        model = load(place, key=key)
    except NewerReleaseError:
        raise
    except ValueError as error:
        rest = ("promise", "schema", "report", "ledger")
        gone = "the release cannot be read."
        checks = [Check("files", WRONG, _as_sentence(error))]
        checks += [Check(name, UNCHECKED, gone) for name in rest]
        return ReleaseCheck("", "", False, NONE, tuple(checks))
    statement: PrivacyStatement = model.privacy_
    strength = statement.strength
    page = Path(report) if report is not None else place / REPORT
    checks = [
        _check_files(place, statement, sealed=key is not None),
        _check_promise(model),
        _check_schema(model, schema),
        check_page(model, page, must=report is not None),
        check_charge(model, ledger, dataset, page),
    ]
    return ReleaseCheck(
        statement.release_id,
        _say_promise(statement, BADGES[strength.grade]),
        statement.private,
        strength.grade,
        tuple(checks),
        sealed=key is not None,
    )


def _say_promise(statement: PrivacyStatement, badge: str) -> str:
    if not statement.private:
        return f"{badge}: {statement.method}, {statement.why_not_private}"
    return (
        f"{badge}: {statement.method} at epsilon = {statement.epsilon_as_asked}, delta = "
        f"{statement.delta:g}, for {statement.unit}"
    )


def _check_files(place: Path, statement: PrivacyStatement, *, sealed: bool) -> Check:
    """The files were read, so their digests fit; what is left is what lies beside them."""
    document = read_document(place, None)
    told = f"{DOCUMENT} and its numbers are as they were written (SHA-256 {document['digest']})."
    if sealed:
        told += " The seal fits the key."
    elif "seal" in document:
        told += " It carries a seal, which was not checked: give its key."
    mark = mark_of(statement)
    if mark is not None and document.get("veilspan") not in _BEFORE_MARKS:
        name, text = mark
        try:
            same = read_regular(place / name, _MOST_MARK) == text.encode()
        except (OSError, ValueError):
            same = False
        if not same:
            return Check(
                "files", WRONG, f"{name}, which warns of this release, is gone or was changed."
            )
    own = (DOCUMENT, REPORT, *MARKS)
    strange = sorted(
        path.name
        for path in place.iterdir()
        if path.name not in own and not belongs_to_release(path.name)
    )
    if strange:
        told += f" Beside it lie files that are no part of it: {', '.join(strange[:5])}."
    return Check("files", FITS, told)


def _check_promise(model: Any) -> Check:
    """The recorded events, accounted anew, cost no more than was promised, and were planned."""
    statement, plan = model.privacy_, model.plan_
    if not statement.private:
        return Check("promise", FITS, f"There is none, as it says: {statement.why_not_private}.")
    found = statement.verify()
    told = (
        f"The recorded uses of the data, accounted anew, cost epsilon = {number(found.recomputed)} "
        f"at delta = {statement.delta:g}"
    )
    if not found.ok:
        return Check("promise", WRONG, f"{told}, MORE than the {number(found.claimed)} promised.")
    least = plan.epsilon
    if statement.epsilon < least * (1 - ROUNDING):
        return Check(
            "promise",
            WRONG,
            f"It promises epsilon = {number(statement.epsilon)}, LESS than the {number(least)} "
            "that its plan costs.",
        )
    if statement.asked is not None and statement.asked != plan.budget.epsilon:
        return Check("promise", WRONG, "The epsilon that was asked for is not that of the plan.")
    if not plan.adaptive and not _were_planned(statement.events, plan.events):
        return Check(
            "promise", WRONG, "The uses of the data that are recorded are not those planned."
        )
    return Check("promise", FITS, f"{told}, no more than the {number(found.claimed)} promised.")


def _were_planned(events: Sequence[Event], planned: Sequence[Event]) -> bool:
    """Whether every event is in the plan, under its name, with its noise, and as often at least.

    A solver that has arrived stops before its plan ends, so fewer events are no forgery: the
    promise is that of the whole plan all the same. None at all is what no fit leaves.
    """
    known = {event.name: event for event in planned}
    return bool(events) == bool(planned) and all(
        event.name in known
        and event.count <= known[event.name].count
        and with_count(known[event.name], event.count) == event
        for event in events
    )


def _check_schema(model: Any, file: PathLike | None) -> Check:
    """The digest of the schema in the release, and of a file, is the one in the statement."""
    recorded = model.privacy_.schema
    own = getattr(model, "schema", None)
    if recorded is None:
        if own is not None or file is not None:
            return Check("schema", WRONG, "The release was made by no schema, as it says.")
        return Check("schema", FITS, "The release was made by no schema.")
    record = SchemaRecord.from_dict(recorded)
    planned = model.plan_.schema
    if own is None or own.digest != record.digest or planned != record:
        return Check(
            "schema", WRONG, "The schema in the release is not the one that its statement names."
        )
    if file is None:
        told = f"The schema in the release is {record.describe()}, as its statement says."
        return Check("schema", FITS, told)
    from veilspan.tables.schema import Schema

    given = Schema.load(file)
    if given.digest != record.digest:
        told = f"{file} is not the schema {record.describe()} that was used."
        return Check("schema", WRONG, told)
    return Check("schema", FITS, f"{file} is the schema that was used, {record.describe()}.")


def _as_sentence(error: ValueError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}"
