"""Generators with known truth. They draw simulated rows from a seed; nothing here is private."""

from veilspan.datasets.genes import GeneMap, make_gene_map
from veilspan.datasets.haystack import Haystack, make_haystack
from veilspan.datasets.histories import Histories, make_histories
from veilspan.datasets.loci import reduce_loci, scale_counts
from veilspan.datasets.ratings import Ratings, make_ratings
from veilspan.datasets.spd import SPDSample, make_spd
from veilspan.datasets.trees import Tree, make_tree
from veilspan.datasets.visits import make_visits
from veilspan.datasets.ward import Ward, make_ward

__all__ = [
    "GeneMap",
    "Haystack",
    "Histories",
    "Ratings",
    "SPDSample",
    "Tree",
    "Ward",
    "make_gene_map",
    "make_haystack",
    "make_histories",
    "make_ratings",
    "make_spd",
    "make_tree",
    "make_visits",
    "make_ward",
    "reduce_loci",
    "scale_counts",
]
