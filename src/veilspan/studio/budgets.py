"""Budgets as people see them: a bar, and two shares that add up."""

from __future__ import annotations

from typing import Any

from veilspan._html import Html, tag

_WIDTH = 920.0


def budget_strip(used: float, this: float = 0.0, *, words: str, key: str = "") -> Html:
    """A bar: spent so far, what is asked for, and left; too much is shown as such."""
    used = min(max(used, 0.0), 1.0)
    fits = used + this <= 1.0 + 1e-9
    parts = [
        tag("rect", x=0.0, y=0.0, width=_WIDTH, height=14.0, class_="left"),
        tag("rect", x=0.0, y=0.0, width=used * _WIDTH, height=14.0, class_="used"),
        tag(
            "rect",
            x=used * _WIDTH,
            y=0.0,
            width=max(0.0, min(this, 1.0 - used)) * _WIDTH,
            height=14.0,
            class_="this" if fits else "over",
        ),
    ]
    return tag(
        "svg",
        *parts,
        viewBox=f"0 0 {_WIDTH:g} 14",
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
        class_="strip",
        id=key or None,
    )


def draw_budget(state: Any, this: float = 0.0, *, key: str = "") -> list[Html]:
    """The budget of a dataset as a bar and two numbers; ``this`` is asked for on top."""
    from veilspan.ledger.words.sentences import say_used_and_left
    from veilspan.ledger.words.shares import write_shares

    shares = state.shares
    used, left = write_shares([shares.used, shares.left])
    words = tag(
        "p",
        tag("span", tag("b", used), " used"),
        tag("span", tag("b", left), " left"),
        class_="strip-words",
    )
    return [budget_strip(shares.used, this, words=say_used_and_left(state), key=key), words]
