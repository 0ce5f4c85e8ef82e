"""The one door to the data.

Only a :class:`~veilspan.curator.curator.Curator` holds rows. It takes row queries
(:class:`~veilspan.curator.query.RowQuery`), and returns answers that are clipped, summed, noisy and
charged. Everything above this folder is post-processing.
"""
