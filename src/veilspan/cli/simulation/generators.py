"""Made-up tables by name: what ``veilspan datasets`` writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.cli.arguments.estimators import list_kinds


@dataclass(frozen=True)
class Sample:
    """A table with names, a sentence on what is true of it, and a schema where it is of texts."""

    names: Sequence[str]
    columns: Sequence[Any]
    truth: str
    schema: str | None = None


@dataclass(frozen=True)
class Generator:
    """A table that can be made.

    Attributes
    ----------
    about : str
        What it is, for the list.
    reads : str or None
        What it is to an estimator, as in the catalogue; None if no command learns from it.
    words : str
        What such a command needs to be told of it; for None, what learns from it instead.
    columns : int
        Number of columns by default.
    make : function
        From rows, columns, components and a seed to a :class:`Sample`.
    """

    about: str
    reads: str | None
    words: str
    columns: int
    make: Callable[[int, int, int, int], Sample]

    @property
    def fits(self) -> str:
        """The kinds that learn from it, with the parameters they need."""
        if self.reads is None:
            return self.words
        return list_kinds(self.reads) + (f" ({self.words})" if self.words else "")


def make_linear_table(
    rows: int, columns: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make features uniform in [-1, 1], a noisy score in [-1, 1], and the labels of its sign.

    The score is <x, w> over the length of w, with a tenth of noise; half of the w are zero.
    """
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (rows, columns))
    weights = rng.standard_normal(columns) * (np.arange(columns) < max(1, columns // 2))
    score = features @ weights / max(float(np.linalg.norm(weights)), 1e-12)
    score = np.clip(score + 0.1 * rng.standard_normal(rows), -1, 1)
    return features, score, (score > 0).astype(np.int64)


def _name_columns(table: np.ndarray) -> tuple[list[str], list[np.ndarray]]:
    return [f"x{i + 1}" for i in range(table.shape[1])], list(table.T)


def _make_haystack(rows: int, columns: int, components: int, seed: int) -> Sample:
    from veilspan.datasets import make_haystack

    data = make_haystack(rows, columns, components, noise=0.05, random_state=seed)
    truth = f"half of the rows lie near a subspace of dimension {components}, of length 1 all"
    return Sample(*_name_columns(data.rows), truth)


def _make_spd(rows: int, columns: int, components: int, seed: int) -> Sample:
    from veilspan.datasets import make_spd

    size = round(columns**0.5)
    if size * size != columns:
        raise ValueError(f"spd writes k x k matrices: {columns} is not a square number.")
    points = make_spd(rows, size, random_state=seed).points
    names = [f"m{i + 1}{j + 1}" for i in range(size) for j in range(size)]
    return Sample(names, list(points.reshape(rows, -1).T), "eigenvalues between 0.01 and 100")


def _make_ratings(rows: int, columns: int, components: int, seed: int) -> Sample:
    from veilspan.datasets import make_ratings

    data = make_ratings(rows, columns, components, random_state=seed).train
    users = np.repeat(np.arange(rows), np.diff(data.indptr))
    stars = np.rint(data.data).astype(np.int64)
    return Sample(("user", "item", "rating"), (users, data.indices, stars), "1 to 5 stars")


def _make_labels(rows: int, columns: int, components: int, seed: int) -> Sample:
    features, _, labels = make_linear_table(rows, columns, seed)
    names, table = _name_columns(features)
    return Sample([*names, "label"], [*table, labels], "features in [-1, 1], labels 0 and 1")


def _make_numbers(rows: int, columns: int, components: int, seed: int) -> Sample:
    features, score, _ = make_linear_table(rows, columns, seed)
    names, table = _name_columns(features)
    return Sample([*names, "target"], [*table, score], "features and target in [-1, 1]")


def _make_tree(rows: int, columns: int, components: int, seed: int) -> Sample:
    from veilspan.datasets import make_tree

    depth = 1
    while 3**depth < rows and depth < 12:
        depth += 1
    points = make_tree(3.0, depth, columns, random_state=seed).points[:rows]
    return Sample(
        *_name_columns(points), "nodes of a tree in the Poincaré ball, the root at its centre"
    )


def _make_genes(rows: int, columns: int, components: int, seed: int) -> Sample:
    from veilspan.datasets import make_gene_map

    data = make_gene_map(rows, 0, columns, random_state=seed)
    truth = "allele counts 0, 1 and 2 of people who live on a map of Europe"
    return Sample(*_name_columns(data.counts), truth)


def _make_ward(rows: int, columns: int, components: int, seed: int) -> Sample:
    from veilspan.datasets import make_ward

    ward = make_ward(rows, random_state=seed)
    if columns != len(ward.names):
        raise ValueError(f"ward has {len(ward.names)} columns: leave --columns out.")
    truth = "who is old, smokes or has much creatinine comes back"
    return Sample(ward.names, ward.cells, truth, ward.schema_toml)


def _make_visits(rows: int, columns: int, components: int, seed: int) -> Sample:
    from veilspan.datasets import make_visits

    visits = make_visits(rows, random_state=seed)
    if columns != len(visits.names):
        raise ValueError(f"visits has {len(visits.names)} columns: leave --columns out.")
    truth = "who is old, ill or smokes comes back"
    return Sample(visits.names, visits.cells, truth, visits.schema_toml)


#: Tables by their names on the command line.
GENERATORS = {
    "ward": Generator(
        "an ordinary hospital table: ids, dates, texts, gaps; with its schema",
        "labels",
        "--schema ward.toml",
        9,
        _make_ward,
    ),
    "visits": Generator(
        "the same hospital's visits: several rows a patient; with its schema",
        "labels",
        "--schema visits.toml",
        9,
        _make_visits,
    ),
    "haystack": Generator(
        "rows near a subspace among outliers", "rows", "-p n_components=2", 20, _make_haystack
    ),
    "spd": Generator(
        "positive definite matrices around a mean",
        "points",
        "-p eigenvalues=0.01,100",
        9,
        _make_spd,
    ),
    "ratings": Generator(
        "users, items and stars",
        "ratings",
        "-p rating_range=1,5 --items observed",
        50,
        _make_ratings,
    ),
    "labels": Generator(
        "features with a label",
        "labels",
        "-p feature_range=-1,1 -p classes=0,1 --target label",
        8,
        _make_labels,
    ),
    "numbers": Generator(
        "features with a number",
        "numbers",
        "-p feature_range=-1,1 -p target_range=-1,1 --target target",
        8,
        _make_numbers,
    ),
    "tree": Generator(
        "nodes of a tree in hyperbolic space", None, "FrechetMean in Python", 2, _make_tree
    ),
    "genes": Generator("allele counts along a map", "rows", "", 1000, _make_genes),
}
