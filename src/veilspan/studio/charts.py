"""Charts of the plan page: what each epsilon would mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from veilspan._html import Html, tag
from veilspan.reports.numbers import percent
from veilspan.reports.svg import TOP, Axis, Frame, line, path, picture, text

CHART_HEIGHT = 250.0

#: Zones of epsilon by the rule of :mod:`veilspan.privacy.strength`, and their words.
ZONES = (("strong", 0.03, 1.0), ("moderate", 1.0, 3.0), ("weak", 3.0, 10.0))


def foresight_chart(
    key: str,
    title: str,
    label: str,
    curves: Mapping[str, Sequence[float]],
    epsilons: Sequence[float],
    here: float,
    *,
    low: float = 0.0,
    upright: Axis | None = None,
    smallest: float | None = None,
) -> Html:
    """Curves over epsilon with the zones of the promise behind, and a line where the slider is.

    They are shares from ``low`` to 1, unless there is another axis ``upright``.
    """
    x = Axis(epsilons[0], epsilons[-1], (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), "epsilon", log=True)
    wanted = (0.0, 0.25, 0.5, 0.75, 1.0) if low == 0 else (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    y = upright or Axis(low, 1.0, wanted, label, form=percent)
    frame = Frame(x, y, CHART_HEIGHT)
    parts: list[Html] = []
    for name, start, end in ZONES:
        left, _ = frame.at(start, y.high)
        right, _ = frame.at(end, y.high)
        width, tall = right - left, frame.floor - TOP
        parts.append(tag("rect", x=left, y=TOP, width=width, height=tall, class_=f"zone {name}"))
        parts.append(text((left + right) / 2, TOP + 14, name, "zone-name", "middle"))
    parts.append(frame.axes(upright=False))
    names = []
    for number, (name, values) in enumerate(curves.items()):
        points = [frame.at(e, v) for e, v in zip(epsilons, values)]
        parts.append(path(points, f"line c{number}"))
        names.append(name)
    if smallest is not None:
        across, _ = frame.at(smallest, y.high)
        parts.append(line(across, TOP, across, frame.floor, "good"))
    across, _ = frame.at(here, y.high)
    parts.append(
        tag("line", x1=across, y1=TOP, x2=across, y2=frame.floor, class_="here", data_here="yes")
    )
    words = f"Curves over epsilon from {epsilons[0]:g} to {epsilons[-1]:g}: {', '.join(names)}."
    return picture(key, title, words, *parts, height=CHART_HEIGHT)
