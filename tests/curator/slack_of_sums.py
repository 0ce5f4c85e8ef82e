"""What a curator adds to a sensitivity for the rounding of a sum over rows."""

from veilspan.curator.clipping import GROUP
from veilspan.privacy.grid import float_slack


def rounding_slack(rows, query, point, neighbors):
    """For a sum over all rows; ``test_curator.py`` holds a curator's noise to it."""
    facts = query.public_facts(neighbors, rows.n_features, point, sparse=rows.is_sparse)
    return float_slack(
        rows.n_rows if neighbors == "replace-one" else None,
        query.bound,
        facts.block_rows,
        GROUP,
        roundoff=facts.roundoff,
        alike=rows.rounds_alike,
        extra_terms=rows.extra_terms[neighbors],
    )
