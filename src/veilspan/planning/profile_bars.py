"""How exact a profile will be, counted from its plan: nothing has to be simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veilspan.estimators.profile.profile import Profile

#: Parameters of a profile that say what is counted.
_COUNTED = ("columns", "bins", "crosstabs", "means_by", "most_numbers")


def foretell_profile(profile: Profile) -> dict[str, float]:
    """Bars of an unfitted profile at its budget, by noise alone, with 95 %.

    ``share`` of any share, and ``mean`` of a mean as a part of its column's range, where there are
    numbers. Empty where the number of people is private.
    """
    from veilspan.solvers.profile.measure_cells import ProfileProblem, foretell_bars
    from veilspan.tables.profiling.layout import plan_layout

    plan = profile.plan()
    layout = plan_layout(profile.schema, **{name: getattr(profile, name) for name in _COUNTED})
    return foretell_bars(ProfileProblem(layout, plan.n_rows), plan.events, plan.neighbors)
