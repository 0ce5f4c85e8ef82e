"""The words of a mean: which manifold its points lie on, and in which ball.

A :class:`~veilspan.FrechetMean` takes a manifold and a ball. On the command line ``--param`` names
the manifold instead, and says in one of three ways where the points live.
"""

from __future__ import annotations

import math
from typing import Any

#: What ``--param`` may say of a mean.
MEAN_WORDS = ("manifold", "eigenvalues", "norm", "radius", "noise", "random_state")
_MANIFOLDS = ("spd", "spd-log-euclidean", "spd-bures-wasserstein", "sphere", "euclidean")


def read_mean_settings(n_columns: int, words: dict[str, Any]) -> dict[str, Any]:
    """Manifold and ball from words, for points of ``n_columns`` numbers each; the rest as it is."""
    from veilspan.geometry import Ball

    settings = dict(words)
    manifold = _make_manifold(settings.pop("manifold", "spd"), n_columns)
    where = {
        name: settings.pop(name) for name in ("eigenvalues", "norm", "radius") if name in words
    }
    if len(where) > 1:
        raise ValueError("say where points live by one of eigenvalues, norm and radius.")
    ball = None
    if "eigenvalues" in where:
        ball = Ball.from_eigenvalues(manifold, *_check_pair(where["eigenvalues"], "eigenvalues"))
    elif "norm" in where:
        ball = Ball.from_norm(manifold, _check_number(where["norm"], "norm"))
    elif "radius" in where:
        ball = Ball(manifold, manifold.reference_point, _check_number(where["radius"], "radius"))
    return {"manifold": manifold, "ball": ball, **settings}


def _make_manifold(name: Any, n_columns: int) -> Any:
    from veilspan import geometry

    if name == "sphere":
        return geometry.Sphere(n_columns)
    if name == "euclidean":
        return geometry.Euclidean(n_columns)
    if name not in _MANIFOLDS:
        raise ValueError(f"unknown manifold {name!r}; known are {', '.join(_MANIFOLDS)}.")
    size = math.isqrt(n_columns)
    if size * size != n_columns:
        raise ValueError(
            f"a matrix has k x k entries, row by row; {n_columns} is not a square number."
        )
    metric: Any = name.removeprefix("spd-") if name != "spd" else "affine-invariant"
    return geometry.SPD(size, metric=metric)


def _check_pair(value: Any, name: str) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{name} takes two numbers, --param {name}=0.01,100 say.")
    return _check_number(value[0], name), _check_number(value[1], name)


def _check_number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{name} must be a number; got {value!r}.")
    return float(value)
