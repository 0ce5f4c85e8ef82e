"""The curator: the only place that holds rows, and what it may be asked.

A :class:`~veilspan.curator.curator.Curator` holds the rows of one fit. It takes row queries
(:class:`~veilspan.curator.query.RowQuery`), and returns answers that are clipped, summed, noisy and
charged. Solvers see nothing else, so they are post-processing. Estimators hand it the rows; a
private stream keeps those of a block that is not full yet.
"""
