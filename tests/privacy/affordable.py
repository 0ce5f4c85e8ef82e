"""Budgets for plans whose noise a test has chosen itself."""

import math

from veilspan import Budget
from veilspan.privacy.accounting import fits_budget


def budget_for(events, neighbors="replace-one", delta=1e-6):
    """The first power of ten, from 1 on, that covers the events; no privacy if nothing does."""
    for power in range(10):
        budget = Budget(10.0**power, delta)
        if fits_budget(tuple(events), budget, neighbors):
            return budget
    return Budget(math.inf, delta)
