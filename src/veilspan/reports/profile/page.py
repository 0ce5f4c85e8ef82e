"""The sections of a profile's page, in the order in which people look at them."""

from __future__ import annotations

from typing import Any

from veilspan.reports.html import Html, tag
from veilspan.reports.profile.columns import column_card
from veilspan.reports.profile.overview import at_a_glance, profile_hero
from veilspan.reports.profile.together import correlations_section, crosstab_section, means_section

__all__ = ["is_profile", "profile_hero", "profile_sections"]


def is_profile(source: Any) -> bool:
    """Whether a release is a profile, which has a page of its own."""
    return hasattr(source, "counts_") and hasattr(source, "means_within")


def profile_sections(profile: Any) -> dict[str, tuple[str, Html]]:
    """Sections by the key of their anchor: the name in the navigation, and the markup."""
    keys = {name: f"column-{i + 1}" for i, name in enumerate(profile.column_names)}
    cards = (column_card(profile[name], key) for name, key in keys.items())
    legend = (
        "≤ and ≥ are people at a border of the range, those moved to it included; ∅ is missing. "
        "Outlines are not measurable. The strip below has the quantiles."
    )
    found = {
        "glance": ("At a glance", at_a_glance(profile, keys)),
        "columns": (
            "Columns",
            tag(
                "section",
                tag("h2", "Columns", class_="over"),
                tag("p", legend, class_="muted small"),
                tag("div", *cards, class_="columns"),
                id="columns",
            ),
        ),
    }
    correlations = correlations_section(profile.correlations, profile.left_out)
    if correlations is not None:
        found["correlations"] = ("Correlations", correlations)
    crossed = [
        crosstab_section(f"{a} × {b}", profile.crosstab(a, b)) for a, b in _pairs(profile, 0)
    ]
    if crossed:
        found["crosstabs"] = ("Cross-tables", tag("div", *crossed, id="crosstabs"))
    means = [means_section(profile, a, b) for a, b in _pairs(profile, 1)]
    if means:
        found["means"] = ("Means by group", tag("div", *means, id="means", class_="side-by-side"))
    return found


def _pairs(profile: Any, which: int) -> tuple[tuple[str, str], ...]:
    layout = profile._answers.layout
    return layout.means_by if which else layout.crosstabs
