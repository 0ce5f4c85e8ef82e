"""A rough map of Europe: boxes for the parts of countries, in whole or half degrees.

The numbers are round figures of common geographic knowledge, good enough to recognise the shape of
the continent in a scatter plot, and no substitute for a gazetteer. The last column says how many
of 1,000 generated people live in a box; it follows population sizes only loosely, so that small
countries stay visible.
"""

from __future__ import annotations

import colorsys
from dataclasses import dataclass

import numpy as np

#: Degrees of longitude are this much shorter than degrees of latitude in the middle of the map.
SHRINK = float(np.cos(np.radians(48.0)))
_CENTRE = np.array([10.0, 48.0])

# country, longitude, latitude, half width, half height, people per thousand
_BOXES = [
    ("Portugal", -8.0, 39.5, 0.8, 2.3, 34),
    ("Spain", -6.5, 42.3, 1.8, 1.0, 12),
    ("Spain", -4.0, 40.0, 2.8, 2.0, 40),
    ("Spain", 0.5, 41.3, 1.8, 1.0, 16),
    ("Spain", -5.0, 37.3, 2.3, 0.7, 14),
    ("France", -1.5, 47.8, 2.8, 0.9, 14),
    ("France", 1.5, 44.5, 2.8, 1.1, 22),
    ("France", 2.8, 48.7, 2.3, 1.3, 32),
    ("France", 5.5, 45.5, 1.2, 2.0, 18),
    ("Ireland", -8.0, 53.2, 1.6, 1.4, 36),
    ("United Kingdom", -1.3, 52.2, 2.2, 1.4, 54),
    ("United Kingdom", -2.3, 54.3, 1.0, 0.9, 16),
    ("United Kingdom", -3.9, 56.8, 1.2, 1.4, 22),
    ("Belgium", 4.6, 50.7, 1.2, 0.5, 24),
    ("Netherlands", 5.6, 52.3, 1.0, 0.9, 28),
    ("Germany", 9.0, 52.3, 1.9, 1.2, 26),
    ("Germany", 12.8, 52.3, 1.4, 1.4, 20),
    ("Germany", 10.3, 49.3, 2.2, 1.5, 34),
    ("Switzerland", 8.1, 46.9, 1.4, 0.5, 40),
    ("Austria", 14.2, 47.5, 2.0, 0.7, 24),
    ("Italy", 9.7, 45.3, 2.2, 0.6, 34),
    ("Italy", 11.6, 43.3, 1.2, 0.9, 20),
    ("Italy", 14.0, 41.5, 1.4, 0.6, 18),
    ("Italy", 16.3, 39.7, 0.7, 1.1, 14),
    ("Italy", 14.2, 37.5, 1.2, 0.5, 16),
    ("Italy", 9.0, 40.1, 0.5, 0.8, 12),
    ("Denmark", 9.6, 56.0, 1.1, 1.0, 18),
    ("Norway", 8.5, 60.5, 2.0, 1.6, 20),
    ("Norway", 13.5, 65.5, 1.2, 2.0, 8),
    ("Sweden", 14.5, 58.5, 2.0, 1.8, 24),
    ("Sweden", 17.5, 63.8, 1.8, 2.2, 12),
    ("Finland", 25.5, 62.3, 2.8, 1.8, 22),
    ("Finland", 26.5, 66.5, 1.6, 1.6, 6),
    ("Estonia", 25.7, 58.7, 1.6, 0.6, 10),
    ("Latvia", 25.2, 56.9, 1.8, 0.6, 10),
    ("Lithuania", 23.9, 55.3, 1.6, 0.7, 10),
    ("Poland", 19.4, 52.1, 3.6, 1.8, 44),
    ("Czechia", 15.3, 49.8, 2.2, 0.7, 22),
    ("Slovakia", 19.4, 48.7, 1.8, 0.5, 12),
    ("Hungary", 19.3, 47.1, 2.0, 0.8, 22),
    ("Slovenia", 14.8, 46.1, 0.8, 0.4, 8),
    ("Croatia", 16.2, 45.4, 1.2, 0.6, 12),
    ("Bosnia and Herzegovina", 17.8, 44.2, 1.2, 0.8, 12),
    ("Serbia", 20.8, 44.2, 1.1, 1.3, 20),
    ("Albania", 20.0, 41.1, 0.5, 1.0, 10),
    ("North Macedonia", 21.7, 41.6, 0.8, 0.5, 8),
    ("Romania", 25.0, 45.8, 2.6, 1.5, 34),
    ("Moldova", 28.6, 47.2, 0.8, 0.9, 8),
    ("Bulgaria", 25.2, 42.7, 2.0, 0.8, 18),
    ("Greece", 22.0, 39.5, 1.2, 1.3, 18),
    ("Greece", 22.2, 37.4, 0.8, 0.7, 10),
    ("Greece", 24.9, 35.2, 0.9, 0.2, 6),
    ("Turkey", 29.5, 39.7, 2.4, 1.4, 20),
    ("Turkey", 34.0, 39.0, 2.4, 1.5, 10),
    ("Cyprus", 33.2, 35.0, 0.6, 0.3, 6),
    ("Belarus", 28.0, 53.5, 2.4, 1.3, 14),
    ("Ukraine", 27.0, 49.5, 2.6, 1.2, 16),
    ("Ukraine", 33.0, 49.0, 3.0, 1.6, 18),
    ("Russia", 34.0, 56.5, 3.4, 2.4, 24),
]


@dataclass(frozen=True)
class Regions:
    """The boxes as arrays, one entry each."""

    country: np.ndarray
    centre: np.ndarray
    half_size: np.ndarray
    weight: np.ndarray


def regions() -> Regions:
    """Europe as boxes of longitude and latitude with shares of the population."""
    numbers = np.array([box[1:] for box in _BOXES], dtype=float)
    names = np.array([box[0] for box in _BOXES])
    return Regions(names, numbers[:, :2], numbers[:, 2:4], numbers[:, 4] / numbers[:, 4].sum())


def on_plane(longitude: np.ndarray, latitude: np.ndarray) -> np.ndarray:
    """Places on a flat map, in degrees of latitude from its middle: one row each, east then north.

    The equirectangular projection (longitude shrunk by the cosine of 48 degrees) keeps distances on
    the continent to about a tenth, which a map drawn by eye never shows.
    """
    place = np.column_stack([longitude, latitude]) - _CENTRE
    return place * np.array([SHRINK, 1.0])


def colours() -> dict[str, str]:
    """A colour for every country: the hue turns with the direction from the middle of the map.

    Neighbours get similar colours, so a drawing whose colours run smoothly is a drawing of the map.
    """
    table = regions()
    out = {}
    for name in dict.fromkeys(table.country):
        east, north = on_plane(*table.centre[table.country == name].mean(axis=0, keepdims=True).T)[
            0
        ]
        hue = (np.arctan2(north, east) / (2 * np.pi)) % 1
        saturation = min(1.0, 0.35 + np.hypot(east, north) / 18)
        rgb = colorsys.hls_to_rgb(hue, 0.46, saturation)
        out[str(name)] = "#" + "".join(f"{round(255 * part):02x}" for part in rgb)
    return out
