"""Releases that a ledger stores: how a fit is recognised, and how its result is kept.

A fit under an idempotency key is recognised by a digest of what it asks, and its result is a pickle
that is read back by an unpickler which builds veilspan's own classes and NumPy arrays only.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import pickle
import types
from collections.abc import Mapping
from typing import Any

from veilspan._earlier_names import EARLIER_RESULTS
from veilspan.catalogue import stable_name
from veilspan.ledger.errors import LedgerError
from veilspan.tables.schema import Schema

# What NumPy names in a pickle of an array, in its versions 1 and 2.
_ARRAYS = {"_reconstruct", "scalar", "_frombuffer"}
_PLAIN = {
    "builtins": {"set", "frozenset", "slice", "complex", "range", "bytearray"},
    "numpy": {"ndarray", "dtype"},
    **{
        f"numpy.{core}.{part}": _ARRAYS
        for core in ("core", "_core")
        for part in ("multiarray", "numeric")
    },
}


def question_of(*parts: Any) -> str:
    """Digest of what a fit asks: class, parameters, plan. Never of rows.

    Equal values have equal digests in every process, whatever their place in memory.
    """
    state = hashlib.sha256()
    _feed(state, parts)
    return state.hexdigest()


def _feed(state: Any, part: Any) -> None:
    if hasattr(part, "tobytes") and hasattr(part, "dtype"):
        state.update(f"array {part.dtype} {part.shape} ".encode())
        _feed(state, part.tolist() if part.dtype.hasobject else part.tobytes())
    elif isinstance(part, Mapping):
        # Kinds and lengths go in before contents, so that no two values run into the same bytes.
        state.update(f"mapping {len(part)} ".encode())
        for name in sorted(part, key=repr):
            _feed(state, name)
            _feed(state, part[name])
    elif isinstance(part, (list, tuple, set, frozenset)):
        items = sorted(part, key=repr) if isinstance(part, (set, frozenset)) else part
        state.update(f"{type(part).__name__} {len(part)} ".encode())
        for item in items:
            _feed(state, item)
    elif part is None or isinstance(part, (str, bytes, int, float, complex)):
        text = repr(part).encode()
        state.update(f"{type(part).__name__} {len(text)} ".encode() + text)
    else:
        _feed_object(state, part)


def _feed_object(state: Any, part: Any) -> None:
    kind = part if isinstance(part, type) else type(part)
    # The name of the class, so that two kinds of objects with equal contents differ; one that
    # stays when code moves, so that a request is known again by a later version.
    state.update(f"object {stable_name(kind)} ".encode())
    if isinstance(part, type):
        return
    if isinstance(part, types.FunctionType):
        # A function of the user's: its code, what it holds, not where it lives. (Globals that it
        # looks up are known by name only.)
        held = [cell.cell_contents for cell in part.__closure__ or ()]
        _feed(state, (part.__qualname__, part.__code__, held))
        _feed(state, (part.__defaults__, part.__kwdefaults__))
    elif isinstance(part, types.CodeType):
        _feed(state, (part.co_code, part.co_consts, part.co_names))
    elif isinstance(part, types.MethodType):
        _feed(state, (part.__self__, part.__func__))
    elif isinstance(part, functools.partial):
        _feed(state, (part.func, part.args, part.keywords))
    elif isinstance(part, Schema):
        _feed(state, part.digest)  # whatever a later version keeps beside what the digest is of
    elif dataclasses.is_dataclass(part):
        _feed(state, {f.name: getattr(part, f.name) for f in dataclasses.fields(part)})
    elif hasattr(part, "get_params"):
        _feed(state, part.get_params(deep=False))
    elif hasattr(part, "__dict__"):
        _feed(state, vars(part))
    else:
        _feed(state, repr(part))


def pack(attributes: Mapping[str, Any]) -> bytes:
    """Return the attributes of a release as bytes; ``LedgerError`` if one cannot be pickled."""
    try:
        return pickle.dumps(dict(attributes), protocol=5)
    except Exception as error:  # whatever an attribute of the user's raises
        raise LedgerError(
            f"the release cannot be stored under an idempotency key ({type(error).__name__}): an "
            "attribute of it cannot be pickled. Fit without a key."
        ) from error


def unpack(payload: bytes) -> dict[str, Any]:
    """A release from bytes whose digest was found in a sealed entry.

    The digest says that whoever wrote them had the key. Only classes defined by veilspan and NumPy
    arrays are built, so that a stored release cannot run anything else.
    """
    try:
        attributes = _Unpickler(io.BytesIO(payload)).load()
    except LedgerError:
        raise
    except Exception as error:
        raise LedgerError(
            f"the stored release was written by another version and cannot be read ({error})."
        ) from error
    if not isinstance(attributes, dict):
        raise LedgerError("the stored release is not a set of attributes.")
    return attributes


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return super().find_class(module, name)
        moved = EARLIER_RESULTS.get((module.removeprefix("veilspan."), name))
        if moved is not None:
            module = f"veilspan.{moved}"
        # Defined there, not merely imported there: a module of ours may import anything.
        if module.startswith("veilspan.") and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise LedgerError(
            f"the stored release holds a {module}.{name}, neither a class of veilspan nor an array "
            "of NumPy; it is not read."
        )


def digest_of(payload: bytes) -> str:
    """Return the SHA-256 of a stored release, in hexadecimal; a sealed entry holds it."""
    return hashlib.sha256(payload).hexdigest()
