"""Generators with known truth. They draw simulated rows from a seed; nothing here is private."""

from veilspan.datasets.haystack import Haystack, make_haystack

__all__ = ["Haystack", "make_haystack"]
