"""Trackers that survive a restart: their state as a dictionary, and in one file."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan._passwords import without_password
from veilspan._version import __version__
from veilspan.estimators.charging import LedgerParameter, refuse_without_epsilon
from veilspan.estimators.publishing import Reported
from veilspan.ledger.dataset import Dataset
from veilspan.nonprivate.grouse import loops, steps
from veilspan.nonprivate.grouse.files import StateFileError, read_state, write_state
from veilspan.nonprivate.grouse.stream import Stream
from veilspan.privacy.errors import PrivacyError
from veilspan.privacy.records import plan_from, statement_from

FORMAT = "veilspan.SubspaceTracker"
#: Of a state, and of one of a private stream with correlated noise, which earlier libraries cannot
#: go on with.
VERSION, CORRELATED_VERSION = 1, 2
_RULES = {
    rule.__name__: rule
    for rule in (
        steps.GreedyStep,
        steps.NoisyStep,
        steps.ConstantStep,
        steps.DiminishingStep,
    )
}


class StoredState(Reported, LedgerParameter):
    """Save, load and resume, to the last bit; for :class:`veilspan.SubspaceTracker`."""

    _stream: Stream

    def __getstate__(self) -> Any:
        """What a pickle or copy takes along: of a private stream released numbers alone."""
        state: Any = super().__getstate__()
        if "_private_" in state:
            state = {**state, "_private_": state["_private_"].without_secrets()}
        return state

    def state_dict(self) -> dict[str, Any]:
        """Parameters and all that was learned: numbers and texts, and arrays under ``arrays``.

        The arrays are copies. Without privacy they hold what depends on single rows, with
        ``adapt_rank`` the last rows themselves; of a private tracker, released numbers only.
        """
        check_is_fitted(self, "n_features_in_")  # type: ignore[arg-type]
        tracker: Any = self
        parameters = {
            name: _encode(value, name) for name, value in tracker.get_params(deep=False).items()
        }
        arrays = {"init": tracker.init} if isinstance(tracker.init, np.ndarray) else {}
        private = hasattr(tracker, "_private_")
        if private:
            from veilspan.estimators.stream.private_stream import released_state

            learned, more = released_state(tracker)
        else:
            learned = {"changed": tracker.changed_}
            more = vars(tracker._stream)
        columns = getattr(tracker, "feature_names_in_", None)
        return {
            "format": FORMAT,
            "version": CORRELATED_VERSION if "noise" in learned else VERSION,
            "written_by": __version__,
            "private": private,
            "columns": None if columns is None else list(columns),
            "parameters": parameters,
            "learned": learned,
            "arrays": {name: np.array(array) for name, array in {**arrays, **more}.items()},
        }

    @classmethod
    def from_state_dict(cls, state: dict[str, Any]) -> Self:
        """A tracker that goes on where :meth:`state_dict` was taken."""
        _check(state)
        try:
            return _resume(cls, state)
        except (StateFileError, PrivacyError):
            raise
        except Exception as error:  # of whatever type: a file may hold anything
            raise StateFileError(
                f"the state of a tracker is not whole or not consistent ({type(error).__name__})."
            ) from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`state_dict` to one ``.npz`` file, whole or not at all."""
        state = self.state_dict()
        write_state(path, state, state.pop("arrays"))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A tracker from a file of :meth:`save`; the rest of a stream gives the same bits."""
        header, arrays = read_state(path)
        return cls.from_state_dict({**header, "arrays": arrays})


def check_may_go_without_epsilon(tracker: Any) -> None:
    """Refuse rows without privacy to a tracker that has a private past, an account or a session."""
    if hasattr(tracker, "_private_"):
        raise PrivacyError(
            "this tracker has released private components; going on without epsilon would "
            "replace them by components that are not. Make a new tracker."
        )
    refuse_without_epsilon(tracker)


def _resume(cls: Any, state: dict[str, Any]) -> Any:
    arrays = {name: np.array(array) for name, array in state["arrays"].items()}
    start = arrays.pop("init", None)
    parameters = {
        name: start if _is(value, "array") else _decode(value)
        for name, value in state["parameters"].items()
    }
    tracker: Any = cls(**parameters)
    if state["private"]:
        from veilspan.estimators.stream.private_stream import restore_released_state

        _check_released(state["learned"], arrays)
        restore_released_state(tracker, state["learned"], arrays)
    else:
        stream = Stream(**arrays)
        _check_stream(stream)
        tracker._stream = stream
        tracker.n_features_in_ = stream.basis.shape[1]
        tracker.changed_ = bool(state["learned"]["changed"])
        tracker._publish()
    if state["columns"] is not None:
        tracker.feature_names_in_ = np.array(state["columns"], dtype=object)
        if tracker.feature_names_in_.shape != (tracker.n_features_in_,):
            raise StateFileError("the state's names do not fit its columns.")
    return tracker


def _check_stream(stream: Stream) -> None:
    """Refuse arrays that no stream can have; rows of the window may have gaps."""
    if stream.memory.shape != (loops.SIZE,):
        raise StateFileError("the state was written by another version of the stream.")
    parts = (stream.basis, stream.memory, stream.recent)
    width = stream.basis.shape[-1]
    shaped = stream.basis.ndim == stream.recent.ndim == 2 and stream.recent.shape[1] == width
    if not shaped or not 1 <= len(stream.basis) <= width or any(p.dtype != float for p in parts):
        raise StateFileError("the arrays of the state do not fit together.")
    if not (np.isfinite(stream.basis).all() and np.isfinite(stream.memory).all()):
        raise StateFileError("the state holds numbers that are not finite.")


def _check_released(learned: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Refuse numbers that no private stream has released."""
    plan = plan_from(learned["plan"])
    if learned["statement"] is not None:
        statement_from(learned["statement"])
    releases, belief = learned["releases"], learned["belief"]
    if type(releases) is not int or releases < 0 or plan.n_rows is None:
        raise StateFileError("the state's number of releases is none.")
    numbers = [value for value in belief.values() if value is not None]
    if not all(isinstance(n, (int, float)) and not math.isnan(n) for n in numbers):
        raise StateFileError("the state holds something else than numbers.")
    if not all(part.dtype == float and np.isfinite(part).all() for part in arrays.values()):
        raise StateFileError("the state holds numbers that are not finite.")
    width, basis = plan.n_features, arrays.get("basis")
    rank = 0 if basis is None else basis.shape[-1]
    shapes = {"basis": (width, rank), "inside": (rank, rank), "moment": (width, width)}
    if learned.get("noise") is not None:
        shapes = {"basis": (width, rank), "centre": (width, rank)}
        shapes |= {"total": (width, width), "moment": (width, width), "recent": (rank, rank)}
        _check_running(belief, arrays)
    if any(array.shape != shapes[name] for name, array in arrays.items()):
        raise StateFileError("the arrays of the state do not fit together.")


def _check_running(belief: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Refuse sums and stretches that no running sum has."""
    from veilspan.queries.stream.stretched_moment import SMALLEST_SCALE

    answers, scale = belief["answers"], belief["scale"]
    whole = type(answers) is int and (answers > 0) == ("total" in arrays)
    if not whole or not (answers == 0 or (belief["weight"] > 0 and belief["weight2"] > 0)):
        raise StateFileError("the state's sums do not fit the number of its answers.")
    if not SMALLEST_SCALE <= scale <= 1 or (scale < 1) != ("centre" in arrays):
        raise StateFileError("the state's stretch is none.")
    if belief["precision"] < 0 or belief["prior"] < 0 or (scale < 1 and belief["precision"] == 0):
        raise StateFileError("the state's precision is none.")
    for name in ("basis", "centre"):
        held = arrays.get(name)
        if held is not None and not np.allclose(held.T @ held, np.eye(held.shape[1]), atol=1e-6):
            raise StateFileError("a basis of the state is not orthonormal.")


def _check(state: dict[str, Any]) -> None:
    if state.get("format") != FORMAT:
        raise StateFileError(f"not the state of a tracker: its format is {state.get('format')!r}.")
    if state.get("version") not in (VERSION, CORRELATED_VERSION):
        raise StateFileError(
            f"a state of version {state.get('version')!r}; this library reads versions {VERSION} "
            f"and {CORRELATED_VERSION}."
        )


def _encode(value: Any, name: str) -> Any:
    """A parameter as JSON can hold it; arrays are kept beside it, under their names."""
    if isinstance(value, steps.StepRule) and type(value).__name__ in _RULES:
        return {"rule": type(value).__name__, **asdict(value)}
    if isinstance(value, Dataset):
        # A file is copied and shown around: a password stays out of it, and libpq finds it where
        # passwords belong (its password file, PGPASSWORD) when the tracker is loaded.
        return {"dataset": {**asdict(value), "url": _without_password(value.url)}}
    if name == "schema" and value is not None:
        return {"schema": value.to_toml()}
    if isinstance(value, np.ndarray):
        return {"array": name}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}, which a state cannot hold.")


def _without_password(url: str) -> str:
    return without_password(url) if "://" in url else url


def _decode(value: Any) -> Any:
    if _is(value, "rule"):
        return _RULES[value["rule"]](**{key: part for key, part in value.items() if key != "rule"})
    if _is(value, "dataset"):
        return Dataset(**value["dataset"])
    if _is(value, "schema"):
        from veilspan.tables.schema import Schema

        return Schema.from_toml(value["schema"])
    return float(value["float"]) if _is(value, "float") else value


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, dict) and kind in value
