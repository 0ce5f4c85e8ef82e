"""What a curator adds to a sensitivity for the rounding of a sum by an executor."""

from veilspan.curator.memory import GROUP
from veilspan.privacy.grid import float_slack


def rounding_slack(executor, query, point, neighbors):
    """For a sum over all rows; ``test_curator.py`` holds a curator's noise to it."""
    rows = executor._rows
    facts = query.public_facts(neighbors, rows.n_features, point, sparse=rows.is_sparse)
    return float_slack(
        rows.n_rows if neighbors == "replace-one" else None,
        query.bound,
        facts.block_rows,
        GROUP,
        roundoff=facts.roundoff,
        alike=executor.rounds_alike,
        extra_terms=executor.extra_terms[neighbors],
    )
