"""The neighbour relation: which two tables must be hard to tell apart.

``"replace-one"``
    The number of rows n is public; one row is exchanged for any other row.
``"add-remove"``
    One row is added or taken away; n is private.

A guarantee under add-remove at (epsilon, delta) and one under replace-one are different promises,
so every function takes the relation by name and none assumes one silently.
"""

from __future__ import annotations

from typing import Literal, get_args

Neighbors = Literal["replace-one", "add-remove"]
RELATIONS: tuple[str, ...] = get_args(Neighbors)


def check_neighbors(neighbors: str) -> Neighbors:
    """Return ``neighbors`` if it names a relation, else raise a ``ValueError`` that lists them."""
    if neighbors not in RELATIONS:
        raise ValueError(f"neighbors must be one of {', '.join(RELATIONS)}; got {neighbors!r}.")
    return neighbors  # type: ignore[return-value]
