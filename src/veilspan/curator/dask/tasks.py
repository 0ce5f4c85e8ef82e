"""Tasks on a Dask cluster that cannot tell anything of a row but what they return.

When a task fails, Dask writes its arguments, rows among them, into the worker's log, and sends the
error's text here. So functions of parts are run by :func:`run_guarded`, which returns a refusal
instead of raising. Names of tasks are those of functions and random numbers.

Tasks of others, which read or make the table, do fail, and what they say may quote a cell. So every
wait for a result goes through :func:`wait_for`, which tells what kind of error it was and no more.
"""

from __future__ import annotations

import importlib
import uuid
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np

from veilspan._errors import raised_by_us
from veilspan._version import __version__
from veilspan.curator.silence import quiet
from veilspan.privacy.errors import PrivacyError

#: Sums that are added up in one task, or here: more make a flatter tree and longer tasks. Rounding
#: is bounded for any order of adding, so results do not depend on it beyond that.
FAN_IN = 8
#: Points, and targets that are in memory here, travel with the tasks. Dask would warn from 10 MB on
#: and propose ``scatter``, whose data a dead worker takes along.
_QUIET = {"distributed.admin.large-graph-warning-threshold": "4 GiB"}


def dask_module(name: str = "dask") -> Any:
    """Import a module of Dask late; it is installed wherever somebody has a Dask collection."""
    return importlib.import_module(name)


T = TypeVar("T")


class ClusterError(PrivacyError, ValueError):
    """The cluster cannot be trusted with the next sum: a fact about machines, not about rows."""


class Refusal:
    """An error of a part, as a value: its type and a message that holds no value of a row."""

    def __init__(self, error: Exception) -> None:
        ours = isinstance(error, (ValueError, TypeError)) and raised_by_us(error)
        spent = isinstance(error, MemoryError)
        self.kind = type(error) if ours else MemoryError if spent else RuntimeError
        # Other errors come from libraries whose messages may quote what they stumbled over.
        self.text = str(error) if ours else f"a part could not be computed: {type(error).__name__}."

    def raise_here(self) -> None:
        """Raise the error in this process."""
        raise self.kind(self.text)


class Call:
    """A function and its public arguments, opaque to Dask, which would look for tasks in them."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.function, self.arguments = function, arguments
        self.versions = _versions()

    def __call__(self, *parts: Any) -> Any:
        """Apply the function to parts."""
        for name, here in _versions().items():
            if self.versions.get(name) != here:
                raise ClusterError(
                    f"the workers run {name} {here}, this process {self.versions.get(name)}: "
                    "install the same version everywhere, since what is charged here is computed "
                    "there."
                )
        return self.function(*parts, *self.arguments)

    def __repr__(self) -> str:
        return getattr(self.function, "__name__", "call")


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    """Versions of what computes sums and of what draws samples."""
    return {"veilspan": __version__, "randomgen": version("randomgen")}


def run_guarded(call: Call, *parts: Any) -> Any:
    """Call a function on parts; return a refusal where it fails or a part is one already."""
    for part in _flat(parts):
        if isinstance(part, Refusal):
            return part
    try:
        with quiet():  # a warning could tell something of a row
            return call(*parts)
    except Exception as error:
        return Refusal(error)


def _flat(parts: Sequence[Any]) -> list[Any]:
    return [p for part in parts for p in (part if isinstance(part, list) else [part])]


def task(function: Callable[..., Any], parts: Sequence[Any], *arguments: Any) -> Any:
    """A task that applies a function to parts and public arguments.

    Run again because its worker died, it is the same pure function of the same inputs.
    """
    return dask_module().delayed(run_guarded, pure=False)(Call(function, *arguments), *parts)


def results(tasks: Sequence[Any]) -> list[Any]:
    """Compute tasks where the cluster is; the first refusal is raised here."""
    if not tasks:
        return []
    client = current_client()
    if client is None:
        return raise_refusals(wait_for(lambda: _compute_here(tasks)))
    with dask_module().config.set(_QUIET):
        futures = client.compute(list(tasks))
    return raise_refusals(wait_for(lambda: client.gather(futures)))


def wait_for(result: Callable[[], T]) -> T:
    """Wait for a result of other people's tasks; of an error say its kind and no more."""
    failure: Exception
    try:
        return result()
    except MemoryError:
        raise
    except Exception as error:
        failure = _unquote(error)
    raise failure  # out here: the original, which may quote a cell, is not kept as __context__


def _unquote(error: Exception) -> Exception:
    kind = type(error)
    if kind.__module__.partition(".")[0] in ("distributed", "asyncio", "concurrent"):
        return ClusterError(
            f"the cluster gave no result ({kind.__name__}): workers may have died or been out of "
            "reach. Look at its dashboard and logs, then fit again."
        )
    told = f"a task that makes the table failed ({kind.__name__}). "
    told += "What it said is withheld, because it may quote a cell: compute the table to see it."
    return next((k for k in (TypeError, ValueError) if isinstance(error, k)), RuntimeError)(told)


def _compute_here(tasks: Sequence[Any]) -> list[Any]:
    """Without a cluster: by the scheduler that Dask is set to, threads if none.

    Threads that limit BLAS and lift their limits in another order would leave one behind; the
    limits of before are put back when all have ended.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        return list(dask_module().compute(*tasks))


def raise_refusals(found: Sequence[Any]) -> list[Any]:
    """Return the values; if there is a refusal among them, raise the first one."""
    for each in found:
        if isinstance(each, Refusal):
            each.raise_here()
    return list(found)


def add_tasks(tasks: list[Any]) -> np.ndarray:
    """Add up the results of tasks, by a tree of tasks; only their sum comes here."""
    while len(tasks) > 1:
        tasks = [task(add_up, [chunk]) for chunk in _chunks(tasks)]
    return np.asarray(results(tasks)[0])


def start(calls: Sequence[Call], inputs: Sequence[Any]) -> list[Any]:
    """Start calls on parts that are kept: one message for all, and no graph to be built."""
    client = current_client()
    keys = [f"{call!r}-{uuid.uuid4().hex}" for call in calls]
    with dask_module().config.set(_QUIET):
        return list(client.map(run_guarded, list(calls), list(inputs), key=keys, pure=False))


def add_futures(futures: list[Any]) -> np.ndarray:
    """Add up futures: the last few here, more of them by a tree of tasks."""
    while len(futures) > FAN_IN:
        chunks = _chunks(futures)
        futures = start([Call(add_up)] * len(chunks), chunks)
    return np.asarray(add_up(raise_refusals(wait_for(lambda: current_client().gather(futures)))))


def add_up(values: list[Any]) -> Any:
    """Add values up in their order, from the first to the last."""
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total


def _chunks(values: list[Any]) -> list[list[Any]]:
    return [values[i : i + FAN_IN] for i in range(0, len(values), FAN_IN)]


def current_client() -> Any:
    """The client of the cluster that computes, if there is one."""
    if dask_module().config.get("scheduler", None) not in (None, "dask.distributed", "distributed"):
        return None  # somebody has asked for another scheduler
    try:
        client = dask_module("distributed").get_client()
    except (ImportError, ValueError):  # dask alone, or no cluster
        return None
    if client.asynchronous:
        raise TypeError("fit waits for its answers: it needs a Client without asynchronous=True.")
    return client
