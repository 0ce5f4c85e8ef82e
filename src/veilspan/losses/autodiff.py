"""Per-row Euclidean gradients by automatic differentiation, in float64; engines load late."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Value = Callable[[Any, Any], Any]
Vectorised = Callable[[np.ndarray, np.ndarray], np.ndarray]


def jax_gradients(value: Value) -> Vectorised:
    """Gradient of ``value(row, point)`` in the point, for a block of rows at once."""
    jax = _import("jax")
    return _in_float64(jax.jit(jax.vmap(jax.grad(value, argnums=1), in_axes=(0, None))))


def jax_values(value: Value) -> Vectorised:
    """``value(row, point)`` for a block of rows at once."""
    jax = _import("jax")
    return _in_float64(jax.jit(jax.vmap(value, in_axes=(0, None))))


def torch_gradients(value: Value) -> Vectorised:
    """Gradient of ``value(row, point)`` in the point, for a block of rows at once."""
    func = _import("torch").func
    return _as_tensors(func.vmap(func.grad(value, argnums=1), in_dims=(0, None)))


def torch_values(value: Value) -> Vectorised:
    """``value(row, point)`` for a block of rows at once."""
    return _as_tensors(_import("torch").func.vmap(value, in_dims=(0, None)))


def _in_float64(function: Callable[..., Any]) -> Vectorised:
    def call(rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        # JAX works in float32 unless asked; only inside this block, so users' settings stay.
        with _jax_float64():
            found = function(_pad(np.asarray(rows)), np.asarray(point))
            return np.asarray(found, dtype=np.float64)[: len(rows)]

    return call


def _jax_float64() -> Any:
    """A block of float64: ``jax.enable_x64``, in older versions an experimental function."""
    jax = _import("jax")
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return _import("jax.experimental").enable_x64()


def _pad(rows: np.ndarray) -> np.ndarray:
    """Repeat the last row until there is a power of two of them.

    JAX compiles anew for every shape, and every Poisson sample has another size. The caller cuts
    the results of the copies off again.
    """
    missing = (1 << max(0, len(rows) - 1).bit_length()) - len(rows)
    return rows if missing <= 0 else np.concatenate([rows, np.repeat(rows[-1:], missing, axis=0)])


def _as_tensors(function: Callable[..., Any]) -> Vectorised:
    def call(rows: np.ndarray, point: np.ndarray) -> np.ndarray:
        torch = _import("torch")
        # Copies: blocks are read-only views of the table, which torch cannot share.
        tensors = [torch.tensor(np.array(a), dtype=torch.float64) for a in (rows, point)]
        return np.asarray(function(*tensors).detach().numpy())

    return call


def _import(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(
            f"this needs {name}, an optional extra: pip install 'veilspan[{name}]'."
        ) from None
