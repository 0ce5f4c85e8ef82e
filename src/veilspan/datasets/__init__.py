"""Generators with known truth. They draw simulated rows from a seed; nothing here is private."""

from veilspan.datasets.genes import GeneMap, make_gene_map
from veilspan.datasets.haystack import Haystack, make_haystack
from veilspan.datasets.loci import reduce_loci, scale_counts

__all__ = [
    "GeneMap",
    "Haystack",
    "make_gene_map",
    "make_haystack",
    "reduce_loci",
    "scale_counts",
]
