"""The demo's picture: one large map, the alternatives beside it, and the truth.

It is drawn with matplotlib, which is an extra (``veilspan[plots]``): nothing else in the package
needs it, so that it is imported where something is drawn and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from veilspan.cli.demo.methods import (
    CUT,
    GENEROUS,
    PLAIN,
    PRINTED,
    ROBUST,
    TYPICAL,
    WHOLE,
    DemoResult,
    rounded_down,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_PICTURE = (
    "no picture was drawn, because matplotlib is not installed: "
    'pip install "veilspan[plots]" brings it.'
)

SIZE, DPI = (16.0, 10.0), 100
INK, SOFT, OUTLIER, FRAME = "#1c2230", "#5d6675", "#b9bec8", "#e3e6ea"
TRUTH = "true map"
LANDMARKS = ("Portugal", "Ireland", "France", "Italy", "Norway", "Finland", "Russia", "Turkey")
#: Correlation from which the eye finds the map.
RECOGNISED = 0.9
GOOD, BAD = "#0b6e4f", "#b3261e"

#: Hues (degrees of OKLCH) at the corners of the map: south-west, south-east; north-west,
#: north-east. They run from blue to yellow through violet and avoid green, and the lightness rises
#: from north to south, so that both directions survive colour blindness.
HUES = np.array([[205.0, 435.0], [264.0, 388.0]])
LIGHTNESS, CHROMA = (0.80, 0.44), (0.135, 0.175)

CODES = {
    "Albania": "AL",
    "Austria": "AT",
    "Belarus": "BY",
    "Belgium": "BE",
    "Bosnia and Herzegovina": "BA",
    "Bulgaria": "BG",
    "Croatia": "HR",
    "Cyprus": "CY",
    "Czechia": "CZ",
    "Denmark": "DK",
    "Estonia": "EE",
    "Finland": "FI",
    "France": "FR",
    "Germany": "DE",
    "Greece": "GR",
    "Hungary": "HU",
    "Ireland": "IE",
    "Italy": "IT",
    "Latvia": "LV",
    "Lithuania": "LT",
    "Moldova": "MD",
    "Netherlands": "NL",
    "North Macedonia": "MK",
    "Norway": "NO",
    "Poland": "PL",
    "Portugal": "PT",
    "Romania": "RO",
    "Russia": "RU",
    "Serbia": "RS",
    "Slovakia": "SK",
    "Slovenia": "SI",
    "Spain": "ES",
    "Sweden": "SE",
    "Switzerland": "CH",
    "Turkey": "TR",
    "Ukraine": "UA",
    "United Kingdom": "GB",
}


@dataclass(frozen=True)
class Panel:
    """Where a panel stands, in fractions of the picture, and what is written above it."""

    place: tuple[float, float, float, float]
    title: str
    privacy: str
    verdict: str
    color: str
    large: bool = False


def can_draw() -> bool:
    """Tell whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(result: DemoResult) -> Figure:
    """Draw every method's view of the people, turned and scaled to the map."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DPI, facecolor="white")
    _headline(figure, result)
    truth = result.data.place
    for name, panel in _panels(result).items():
        points = truth if name == TRUTH else aligned(result.views[name].points, truth)
        _scatter(_axis(figure, panel), points, result, large=panel.large)
    return figure


def _panels(result: DemoResult) -> dict[str, Panel]:
    delta = f"{result.budget.delta:g}".replace("e-0", "e-")
    epsilon, rho = result.budget.epsilon, {k: v.correlation for k, v in result.views.items()}
    left, right, top, bottom, size = 0.513, 0.757, 0.473, 0.048, (0.223, 0.332)
    return {
        ROBUST: Panel(
            (0.02, 0.048, 0.473, 0.757),
            "Private robust PCA",
            f"ε = {epsilon:g}, δ = {delta}; no bound on the rows to guess",
            f"map correlation {rho[ROBUST]:.2f}",
            _judge(rho[ROBUST]),
            large=True,
        ),
        PLAIN: Panel(
            (left, top, *size),
            "Plain PCA",
            "not private",
            f"map correlation {rho[PLAIN]:.2f}: it finds the outliers",
            BAD,
        ),
        WHOLE: Panel(
            (right, top, *size),
            "Private PCA",
            f"ε = {epsilon:g}, row bound {GENEROUS:.0f}: all rows stay whole",
            f"map correlation {rho[WHOLE]:.2f} ({rho[CUT]:.2f} if cut at {TYPICAL:.0f})",
            _judge(rho[WHOLE]),
        ),
        PRINTED: Panel(
            (left, bottom, *size),
            "dp-SGGD as printed",
            f"claims ε = {epsilon:g}, truly over {rounded_down(result.epsilon_as_printed)}",
            f"map correlation {rho[PRINTED]:.2f}, but not private",
            BAD,
        ),
        TRUTH: Panel(
            (right, bottom, *size),
            "The true map",
            "longitude and latitude of the same people",
            "",
            SOFT,
        ),
    }


def _judge(correlation: float) -> str:
    return GOOD if correlation >= RECOGNISED else BAD


def _headline(figure: Figure, result: DemoResult) -> None:
    outliers = int(result.data.is_outlier.sum())
    people, loci = len(result.data.is_outlier) - outliers, result.data.counts.shape[1]
    drawn = result.release.correlation >= RECOGNISED
    title = "Two private components draw the map" if drawn else "Two private components, one map"
    about = (
        f"{people:,} people coloured by where they live, among {outliers:,} of other descent "
        f"(grey). Each row: {loci:,} genetic loci, publicly summed to 200 scores."
    )
    honest = (
        "Generated data: no real person. Private are the components; the scatter of people is the "
        "data owner's own view, turned and scaled to the map."
    )
    figure.text(0.02, 0.955, title, size=27, weight="bold", color=INK)
    figure.text(0.02, 0.925, about, size=13, color=SOFT)
    figure.text(0.02, 0.015, honest, size=10.5, color=SOFT)


def _axis(figure: Figure, panel: Panel) -> Any:
    axis: Any = figure.add_axes(panel.place)
    axis.set(xticks=[], yticks=[])
    axis.set_aspect("equal", adjustable="datalim")
    axis.margins(0.03)
    axis.spines[:].set_color(FRAME)
    heading, size, gap = (19, 13, 6) if panel.large else (14.5, 11, 5)
    height = 0.0
    for text, points, color, weight in (
        (panel.verdict, size, panel.color, "bold"),
        (panel.privacy, size, SOFT, "normal"),
        (panel.title, heading, INK, "bold"),
    ):
        if text:
            offset = {"xytext": (0, height + gap), "textcoords": "offset points"}
            style = {"size": points, "color": color, "weight": weight}
            axis.annotate(text, (0, 1), xycoords="axes fraction", **offset, **style)
            height += points + gap
    return axis


def _scatter(axis: Any, points: np.ndarray, result: DemoResult, *, large: bool) -> None:
    from matplotlib.patheffects import withStroke

    data, size = result.data, 26 if large else 8
    here, shown = ~data.is_outlier, np.isfinite(points).all(axis=1)
    axis.scatter(*points[~here & shown].T, s=size / 2, c=OUTLIER, alpha=0.55, linewidths=0)
    axis.scatter(*points[here].T, s=size, c=map_colours(data.place[here]), alpha=0.85, linewidths=0)
    style = {"size": 11.5 if large else 8.5, "weight": "bold", "ha": "center", "va": "center"}
    halo = [withStroke(linewidth=2.6 if large else 2.0, foreground="white")]
    for country in CODES if large else LANDMARKS:
        middle = np.median(points[data.country == country], axis=0)
        axis.text(*middle, CODES[country], color=INK, path_effects=halo, **style)


def aligned(points: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Turn, mirror, shift and scale a view so that people on the map have its centre and spread."""
    here = np.isfinite(truth).all(axis=1)
    middle, target = points[here].mean(axis=0), truth[here].mean(axis=0)
    x, y = points[here] - middle, truth[here] - target
    left, _, right = np.linalg.svd(x.T @ y)
    scale = np.linalg.norm(y) / np.linalg.norm(x)
    return np.asarray((points - middle) @ (left @ right) * scale + target)


def map_colours(place: np.ndarray) -> np.ndarray:
    """A colour for every place: hue, lightness and chroma blended between the map's corners."""
    low, high = np.percentile(place, [1, 99], axis=0)
    east, north = np.clip((place - low) / (high - low), 0, 1).T
    west_hue, east_hue = HUES[0, :, None] + (HUES[1] - HUES[0])[:, None] * north
    hue = np.radians((1 - east) * west_hue + east * east_hue)
    lightness = LIGHTNESS[0] + (LIGHTNESS[1] - LIGHTNESS[0]) * north
    chroma = CHROMA[0] + (CHROMA[1] - CHROMA[0]) * north
    return from_oklab(np.column_stack([lightness, chroma * np.cos(hue), chroma * np.sin(hue)]))


def from_oklab(colours: np.ndarray) -> np.ndarray:
    """From OKLab (Ottosson 2020) to sRGB between 0 and 1."""
    to_lms = [
        [1, 0.3963377774, 0.2158037573],
        [1, -0.1055613458, -0.0638541728],
        [1, -0.0894841775, -1.2914855480],
    ]
    to_rgb = [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
    linear = np.clip((colours @ np.transpose(to_lms)) ** 3 @ np.transpose(to_rgb), 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
