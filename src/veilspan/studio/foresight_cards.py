"""The three cards of the plan page: what is learned, what an attacker gains, what is left."""

from __future__ import annotations

from typing import Any

from veilspan._html import Html, tag
from veilspan.reports.numbers import percent, percent_up
from veilspan.reports.svg import log_axis
from veilspan.studio.asking import Asking
from veilspan.studio.budgets import budget_strip
from veilspan.studio.charts import foresight_chart
from veilspan.studio.foreseen import STRENGTHS, Foreseen
from veilspan.studio.layout import card


def write_kept(share: float) -> str:
    """A share that is kept; never a round 100, for noise always takes something."""
    return "over 99\u202f%" if share > 0.99 else percent(share, 2)


def utility_card(asking: Asking, seen: Foreseen) -> Html:
    """What noise leaves of what could be learned, on made-up rows of this schema."""
    title = "What noise leaves"
    if seen.bars:
        return bars_card(asking, seen)
    if not seen.utility:
        words = seen.why or "Made-up rows of this schema are being fitted, to see what noise costs."
        wait = None
        if seen.waiting:
            wait = tag("progress", id="simulating", aria_label="Simulation")
        return card(tag("p", words, id="waiting"), wait, title=title, class_="utility")
    kept = seen.at(seen.utility["medium"], asking.epsilon)
    chart = foresight_chart(
        "utility",
        "What noise leaves of what could be learned",
        "kept",
        {name: seen.utility[name] for name in STRENGTHS},
        seen.epsilons,
        asking.epsilon,
        smallest=seen.smallest,
    )
    curve = seen.curve or {}
    keys = [
        tag("li", tag("span", "", class_=f"swatch c{k}"), f"{name} structure")
        for k, name in enumerate(STRENGTHS)
    ]
    like = f"like those of {curve['profile']}" if curve["profile"] else "of this schema's shape"
    taught = "such rows" if curve["released"] else "structure of medium strength"
    meaning = [tag("li", tag("b", f"{n}: "), words) for n, words in curve["planted"].items()]
    return card(
        tag("p", tag("b", write_kept(kept), id="kept", class_="big-number"),
            f" of what {taught} would teach without noise is kept.",
            class_="figure-words"),
        chart,
        tag("ul", *keys, class_="legend"),
        tag("p", seen.conclusion, class_="help"),
        tag("details", tag("summary", "What was simulated"),
            tag("p", f"Made-up rows {like}, {curve['rows_simulated']:,} in each "
                "table, nobody's. Compared is " + str(curve["measure"]) + ". It tells what the "
                "noise does at this size, never how well your data suit the method.",
                class_="help"),
            tag("ul", *meaning, class_="help")),
        title=title,
        class_="utility",
    )  # fmt: skip


def bars_card(asking: Asking, seen: Foreseen) -> Html:
    """How exact a profile will be, which its plan tells: nothing is simulated."""
    now = {name: 100 * seen.at(told, asking.epsilon) for name, told in seen.bars.items()}
    curves = {f"a {name}": [100 * bar for bar in told] for name, told in seen.bars.items()}
    every = [bar for told in curves.values() for bar in told]
    chart = foresight_chart(
        "utility",
        "How exactly shares and means are known",
        "± of 100",
        curves,
        seen.epsilons,
        asking.epsilon,
        upright=log_axis(min(every), max(every), "± of 100"),
        smallest=seen.smallest,
    )
    units = {"share": "a share, in points of 100", "mean": "a mean, in % of its range"}
    keys = [
        tag("li", tag("span", "", class_=f"swatch c{k}"), units[name])
        for k, name in enumerate(seen.bars)
    ]
    mean = None
    if "mean" in now:
        mean = tag("p", "A mean is known to ", tag("b", write_bar(now["mean"]), id="mean"),
                   " % of its column's range.", class_="help")  # fmt: skip
    good = "No epsilon of the slider knows shares to ± 1 point."
    if seen.smallest is not None:
        good = f"Epsilon {seen.smallest:g} would do for shares to ± 1 point."
    return card(
        tag("p", tag("b", write_bar(now["share"]), id="share", class_="big-number"),
            " points of 100 is how exactly a share is known.", class_="figure-words"),
        chart,
        tag("ul", *keys, class_="legend"),
        mean,
        tag("p", "By noise alone, in 95 of 100 cases. "
            f"{good}", class_="help"),
        title="What noise leaves",
        class_="utility",
    )  # fmt: skip


def write_bar(bar: float) -> str:
    """A bar to two digits, as the script of the page writes it."""
    return f"± {float(f'{bar:.2g}'):g}"


def attacker_card(asking: Asking, seen: Foreseen) -> Html:
    """What somebody gains who knows everybody else's data."""
    odds = seen.at(seen.odds, asking.epsilon)
    curves = {"by the promise": seen.odds}
    keys: list[Html] = []
    if seen.planned:
        curves["by the noise that is planned"] = seen.planned
        keys = [
            tag("li", tag("span", "", class_=f"swatch c{k}"), name) for k, name in enumerate(curves)
        ]
        allowed = percent_up(seen.at(seen.planned, asking.epsilon), 3)
    chart = foresight_chart(
        "attacker",
        "The attacker's best guess",
        "right guesses",
        curves,
        seen.epsilons,
        asking.epsilon,
        low=0.5,
    )
    return card(
        tag("p", tag("b", percent_up(odds, 3), id="odds", class_="big-number"),
            " right guesses at most, where blind guessing is right in 50\u202f%.",
            class_="figure-words"),
        chart,
        tag("ul", *keys, class_="legend") if keys else None,
        tag("p", "The noise that is planned allows about ", tag("b", allowed, id="planned"), ".",
            class_="help") if keys else None,
        tag("p", "The attacker knows all the other rows and two equally likely versions of one "
            "person's, and guesses from the release which is true.", class_="help"),
        title="The attacker's best guess",
    )  # fmt: skip


def budget_card(asking: Asking, seen: Foreseen, state: Any) -> Html:
    """What the release would use of the budget, and leave."""
    title = f"Budget of {asking.dataset}"
    if state is None:
        return card(tag("p", "No budget was opened yet."), title=title)
    if not seen.after:
        words = "What each epsilon would use is being counted."
        strip = budget_strip(seen.before, words=words, key="strip")
        return card(strip, tag("p", words), title=title)
    after = seen.at(seen.after, asking.epsilon)
    fits = after <= 1
    this = after - seen.before
    strip = budget_strip(
        seen.before,
        this,
        words=f"{percent(seen.before)} used so far, {percent(max(this, 0.0))} by this release",
        key="strip",
    )
    told = f"about {percent(this, 2)}" if fits else "more than is left"
    left = percent(max(0.0, 1 - after), 2) if fits else "nothing"
    return card(
        tag("p", tag("b", told, id="uses", class_="big-number"), " of the whole budget is used.",
            class_="figure-words"),
        strip,
        tag("p", tag("span", tag("b", percent(seen.before, 2)), " used before"),
            tag("span", tag("b", left, id="left"), " left afterwards"), class_="strip-words"),
        tag("p", "The exact charge is shown before you sign. Shares add up; epsilons do not.",
            class_="help"),
        title=title,
        class_="budget-card" + ("" if fits else " over"),
    )  # fmt: skip
