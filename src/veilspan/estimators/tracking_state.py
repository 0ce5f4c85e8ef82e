"""Trackers that survive a restart: their state as a dictionary, and in one file."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan._version import __version__
from veilspan.estimators.charging import LedgerParameter, refuse_without_epsilon
from veilspan.estimators.keeping import Reported
from veilspan.ledger.dataset import Dataset
from veilspan.ledger.passwords import without_password
from veilspan.privacy.errors import PrivacyError
from veilspan.streaming import loops, steps
from veilspan.streaming.files import StateFileError, read_state, write_state
from veilspan.streaming.stream import Stream

FORMAT, VERSION = "veilspan.SubspaceTracker", 1
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
            from veilspan.estimators.private_stream import released_state

            learned, more = released_state(tracker)
        else:
            learned = {"changed": tracker.changed_}
            more = vars(tracker._stream)
        columns = getattr(tracker, "feature_names_in_", None)
        return {
            "format": FORMAT,
            "version": VERSION,
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
        arrays = {name: np.array(array) for name, array in state["arrays"].items()}
        start = arrays.pop("init", None)
        parameters = {
            name: start if _is(value, "array") else _decode(value)
            for name, value in state["parameters"].items()
        }
        tracker: Any = cls(**parameters)
        if state["private"]:
            from veilspan.estimators.private_stream import restore_released_state

            restore_released_state(tracker, state["learned"], arrays)
        else:
            stream = Stream(**arrays)
            if stream.memory.shape != (loops.SIZE,):
                raise StateFileError("the state was written by another version of the stream.")
            tracker._stream = stream
            tracker.n_features_in_ = stream.basis.shape[1]
            tracker.changed_ = state["learned"]["changed"]
            tracker._publish()
        if state["columns"] is not None:
            tracker.feature_names_in_ = np.array(state["columns"], dtype=object)
        return tracker

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


def _check(state: dict[str, Any]) -> None:
    if state.get("format") != FORMAT:
        raise StateFileError(f"not the state of a tracker: its format is {state.get('format')!r}.")
    if state.get("version") != VERSION:
        raise StateFileError(
            f"a state of version {state.get('version')!r}; this library reads version {VERSION}."
        )


def _encode(value: Any, name: str) -> Any:
    """A parameter for JSON."""
    if isinstance(value, steps.StepRule) and type(value).__name__ in _RULES:
        return {"rule": type(value).__name__, **asdict(value)}
    if isinstance(value, Dataset):
        # A file is copied and shown around: a password stays out of it, and libpq finds it where
        # passwords belong (its password file, PGPASSWORD) when the tracker is loaded.
        return {"dataset": {**asdict(value), "url": _without_password(value.url)}}
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
    return float(value["float"]) if _is(value, "float") else value


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, dict) and kind in value
