"""Save a fitted estimator as a release, and load it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from veilspan._archives import read_with_header
from veilspan._files import IrregularFileError, sync_folder
from veilspan._log import log_event
from veilspan._version import __version__
from veilspan.ledger.seal.keys import key_path, read_key, read_or_make_key
from veilspan.privacy.errors import PrivacyError
from veilspan.privacy.records import plan_from, statement_from
from veilspan.releases.checks import check_release
from veilspan.releases.documents import DOCUMENT
from veilspan.releases.encoding import Encoder, decode
from veilspan.releases.files import mark_of, read_release, refuse_taken, write_release
from veilspan.releases.names import estimator_class, releasable

#: Attributes with a place of their own.
_APART = ("privacy_", "plan_")

PathLike = str | os.PathLike[str]


def save(
    estimator: Any, folder: PathLike, *, key: PathLike | None = None, overwrite: bool = False
) -> Path:
    """Write a fitted estimator to a folder: ``release.json`` and ``arrays-<digest>.npz``.

    The release holds parameters, fitted attributes, the statement and the plan: what may be
    published, and no row. Whatever happens meanwhile (a kill, a power cut, another process that
    saves to the same folder), the folder holds one whole release or, before the first, none. The
    ledger is not part of it (the statement names the charge). A promise that is weak, or none, is
    told by a file ``WEAK.txt`` or ``NOT_PRIVATE.txt`` beside them.

    Parameters
    ----------
    estimator : estimator
        Any fitted estimator of veilspan. A :class:`~veilspan.SubspaceTracker` goes on learning and
        has a ``save`` of its own.
    folder : path
        Made if it is not there.
    key : path, optional
        File with a key, as a ledger's; made if it is not there. The release is sealed by it, so
        that a change is seen even if somebody recomputes the digests.
    overwrite : bool
        Whether a release that is there may be replaced; its ``report.html`` goes with it.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import tempfile
    >>> from veilspan import PCA
    >>> from veilspan.datasets import make_haystack
    >>> from veilspan.releases import load, save
    >>> rows = make_haystack(2000, 6, 2).rows
    >>> folder = save(PCA(2).fit(rows), tempfile.mkdtemp() + "/release")
    >>> load(folder).transform(rows).shape
    (2000, 2)
    """
    content, arrays = _describe(estimator)
    place = Path(folder)
    if not overwrite:
        refuse_taken(place)  # before a key or a folder is made
    secret = None if key is None else read_or_make_key(key_path(key))
    new = not place.exists()
    place.mkdir(parents=True, exist_ok=True)
    if new:
        sync_folder(place.parent)
    mark = mark_of(estimator.privacy_)
    write_release(place, content, arrays, secret, overwrite=overwrite, mark=mark)
    log_event("saved", folder=place, release=estimator.privacy_.release_id)
    return place


def load(path: PathLike, *, key: PathLike | None = None) -> Any:
    """Load a release: the fitted estimator, as it was saved.

    Nothing in the files is executed. A file that was changed, cut off, or written by a newer
    version is refused with a sentence that says so; so are numbers that cannot have been learned
    (not finite, of other shapes than the plan says), budgets that are none, and everything that is
    no regular file of a bounded size.

    Parameters
    ----------
    path : path
        The folder that :func:`veilspan.releases.save` wrote, or the ``.npz`` file of a tracker or
        local predictor.
    key : path, optional
        File with the key that sealed the release; the seal is then checked as well.

    Returns
    -------
    estimator
        With the same parameters and attributes; ``transform`` and ``predict`` give the same bits.
        Its ``ledger`` is None.
    """
    place = Path(path)
    if place.exists() and not place.is_dir() and place.name != DOCUMENT:
        return _load_file(place)
    document, arrays = read_release(place, None if key is None else _existing_key(key))
    try:
        found = _rebuild(document, arrays)
    except Exception as error:  # also MemoryError, RecursionError, OverflowError
        # Unchanged, so written like this: by another version, or by somebody else's program.
        reason = str(error) if isinstance(error, ValueError) else type(error).__name__
        raise ValueError(f"the release {place} cannot be rebuilt: {reason.rstrip('.')}.") from error
    log_event("loaded", detail=True, folder=place, release=found.privacy_.release_id)
    return found


def _existing_key(key: PathLike) -> bytes:
    path = key_path(key)
    try:
        path.stat()
    except FileNotFoundError:
        raise PrivacyError(
            f"the release's key file {path} does not exist. Its seal cannot be checked without it: "
            "put it back, name another file, or load the release without a key."
        ) from None
    except OSError:
        pass  # read_key says what is wrong with it
    return read_key(path)


def _check_can_be_saved(estimator: Any) -> None:
    name = type(estimator).__name__
    if name == "SubspaceTracker":
        raise ValueError(
            "a SubspaceTracker goes on learning, so it has a state and no release: use "
            "tracker.save(file) and SubspaceTracker.load(file)."
        )
    if estimator_class(name) is not type(estimator):
        raise ValueError(
            f"{name} is not an estimator that can be saved; those are {', '.join(releasable())}."
        )
    check_is_fitted(estimator)


def _is_learned(name: str) -> bool:
    """Whether an attribute is one that ``fit`` sets, without those that have their own place."""
    return name.endswith("_") and not name.startswith("_") and name not in _APART


def _describe(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    _check_can_be_saved(estimator)
    encoder = Encoder()
    parameters = estimator.get_params(deep=False)
    fitted = {key: value for key, value in vars(estimator).items() if _is_learned(key)}
    content = {
        "veilspan": __version__,
        "class": type(estimator).__name__,
        "parameters": {
            key: encoder.encode(value, key) for key, value in parameters.items() if key != "ledger"
        },
        "attributes": {key: encoder.encode(value, key) for key, value in fitted.items()},
        "statement": encoder.encode(estimator.privacy_.to_dict(), "privacy_"),
        "plan": encoder.encode(estimator.plan_.to_dict(), "plan_"),
    }
    return content, encoder.arrays


def _rebuild(document: dict[str, Any], arrays: dict[str, Any]) -> Any:
    kind = estimator_class(document["class"])
    if kind is None:
        raise ValueError(f"it is of the class {document['class']!r}, which is not known here")
    parameters = decode(document["parameters"], arrays)
    if "ledger" in parameters:  # never written: whose budget is charged is not a file's to say
        raise ValueError("it names a ledger")
    estimator = kind(**parameters)
    for name, value in decode(document["attributes"], arrays).items():
        if not _is_learned(name):  # a method or a parameter could be put in its place
            raise ValueError(f"it sets {name!r}, which is nothing that is learned")
        setattr(estimator, name, value)
    estimator.plan_ = plan_from(decode(document["plan"], arrays))
    estimator.privacy_ = statement_from(decode(document["statement"], arrays), estimator.plan_)
    check_release(estimator, estimator.plan_)
    return estimator


def _load_file(path: Path) -> Any:
    """A tracker's state or a local predictor: files with a header of their own."""
    from veilspan.estimators.completion.local_predictor import LocalPredictor
    from veilspan.estimators.stream.subspace_tracker import SubspaceTracker

    try:
        header, arrays = read_with_header(path, compressed=True)
    except IrregularFileError:
        raise
    except Exception:  # whatever NumPy, zipfile and the memory say of a foreign archive
        header, arrays = {}, {}
    if header.get("format") == "veilspan.SubspaceTracker":
        return SubspaceTracker.from_state_dict({**header, "arrays": arrays})
    if "item_ids" in header:
        return LocalPredictor.from_parts(header, arrays)
    raise ValueError(
        f"{path} is not a release: that is a folder with {DOCUMENT}, or the .npz file of a tracker "
        "or a local predictor."
    )
