r"""A noisy number of people, paid for: how far a table is from what its schema says.

Under replace-one the number of people is public, and a table is brought to it: fewer are filled up
with absent units, more are cut. Nobody would see that half of a table was cut. So the number of
people found, before any is cut, is released with noise of a small share of the budget.

*Sensitivity.* 1 under both relations. Tables related by replace-one differ in the rows of one
person: if she has rows in both the number is the same, and if she has none in one of them (her
place is an absent unit there) it differs by one. Under add-remove it differs by one.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from veilspan.curator.curator import Curator
from veilspan.curator.silence import Silence
from veilspan.privacy.grid import noise_scale

#: Name of the event.
PEOPLE = "people"
#: People that are counted at most, so that the grid of the noise is public.
MOST_PEOPLE = 2**40


def count_people(curator: Curator, found: int) -> tuple[float, float]:
    """The number of people with noise, and the noise's standard deviation; charged first.

    Parameters
    ----------
    curator : Curator
        Whose plan names the event.
    found : int
        People that have rows in the table: exact, and secret.
    """
    charged = curator._meter.charge(PEOPLE)
    next(curator._source.steps)
    scale = noise_scale(charged.noise_multiplier, 1.0, 1, largest=MOST_PEOPLE)
    # A curator of groups multiplies what it is told of rows; this one is about people already.
    each = 1.0 / curator._rows_moved
    asked: Any = SimpleNamespace(name="PeopleCount", bound=1.0, sensitivity=lambda _: each)
    with Silence(not curator._source.secure):
        exact = np.array([float(min(found, MOST_PEOPLE))])
        given = curator._release(exact, scale, asked, None, charged)
    return float(given[0]), scale.std
