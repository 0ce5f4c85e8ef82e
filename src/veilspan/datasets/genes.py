"""Genes that mirror geography: allele counts of people on a map, among people of other descent.

The stylised version of the experiment that drew Europe from the genes of 1,387 people (Novembre et
al. 2008, Nature 456:98-101), with outliers as in Maunu, Yu & Lerman (section 5.2). Every number
here is drawn from a seed and a rough public map: no person's data is involved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from veilspan.datasets.geography import Regions, colours, on_plane, regions

#: Degrees of latitude in one unit of the clines' coordinates: about the spread of the people.
_UNIT = 7.0
#: Waves in the smooth random part of the allele frequencies, and its size beside the linear part.
_N_WAVES, _WAVE_SIZE = 6, 0.3
#: The first two groups of other descent are far away: each owns this share of the loci.
_FAR = 0.45
#: Frequency, within a group, of the alleles that are rare on the map.
_PRIVATE_ALLELE = 0.95
#: Entries of a block of counts made at once: 10 MB as float32.
_BLOCK = 2_500_000


@dataclass(frozen=True)
class GeneMap:
    """Allele counts with known places.

    Attributes
    ----------
    counts : int8 array of shape (n, n_loci)
        Copies (0, 1 or 2) of the counted allele, people in random order.
    frequencies : float32 array of shape (n_loci,)
        Public reference frequency of each allele: its average over the map, not over the people.
    longitude, latitude : array of shape (n,)
        Places in degrees; nan for outliers.
    country : array of str, shape (n,)
        Country of each person; the empty string for outliers.
    is_outlier : boolean array of shape (n,)
        Who is of other descent.
    colours : dict
        A colour for every country, ``"#rrggbb"``; similar for neighbours.
    """

    counts: np.ndarray
    frequencies: np.ndarray
    longitude: np.ndarray
    latitude: np.ndarray
    country: np.ndarray
    is_outlier: np.ndarray
    colours: dict[str, str] = field(repr=False)

    @property
    def place(self) -> np.ndarray:
        """Places on a flat map, east and north in degrees of latitude; nan for outliers."""
        return on_plane(self.longitude, self.latitude)


def make_gene_map(
    n_people: int = 1387,
    n_outliers: int = 1000,
    n_loci: int = 10_000,
    *,
    cline: float = 1.0,
    n_groups: int = 10,
    random_state: int | None = 0,
) -> GeneMap:
    r"""Draw allele counts whose two main axes are a map of Europe, and outliers that hide it.

    A person at place :math:`z` carries :math:`\mathrm{Bin}(2, p_j(z))` copies of allele :math:`j`,

    .. math:: \operatorname{logit} p_j(z) = b_j + g_j \cdot z + h_j(z),

    with slopes :math:`g_j` that are Gaussian of standard deviation ``cline`` per 7 degrees, and a
    smooth random field :math:`h_j` of six waves, 0.3 times as strong. Alleles are rare to common
    (from 2 % to 50 %, log-uniform; a random half is counted from the other side). Each outlier
    belongs to one of ``n_groups`` groups; a group owns a random set of loci, disjoint from the
    others', where alleles that are rare on the map are common, and a person of the group has
    between 70 % and all of that difference. Two groups own nine tenths of the loci: their rows are
    the longest, so plain PCA finds them instead of the map. Scaled to the sphere no group
    outweighs the map, so robust PCA finds the map.

    The loci are *ancestry-informative*: place explains about a quarter of the variance of the
    scaled counts, far more than it does at a locus of the real continent (below one hundredth).
    What a private release can show depends on exactly this share: ``cline`` sets it.

    Parameters
    ----------
    n_people, n_outliers, n_loci : int
        People on the map, people of other descent, and columns.
    cline : float
        Strength of the geographic differences.
    n_groups : int
        Groups of other descent.
    random_state : int or None
        Seed.

    Examples
    --------
    >>> data = make_gene_map(50, 20, 300)
    >>> data.counts.shape, data.counts.dtype.name, int(data.is_outlier.sum())
    ((70, 300), 'int8', 20)
    """
    _check(n_people, n_outliers, n_loci, n_groups, cline)
    rng = np.random.default_rng(random_state)
    table = regions()
    # Before the people: what is public must not change with them.
    model = _Model.draw(rng, n_loci, cline, n_groups, table)
    home = rng.choice(len(table.weight), size=n_people, p=table.weight)
    where = table.centre[home] + table.half_size[home] * rng.uniform(-1, 1, (n_people, 2))

    order = rng.permutation(n_people + n_outliers)
    counts = np.empty((len(order), n_loci), dtype=np.int8)
    mapped = on_plane(*where.T)
    for rows in _blocks(n_people, n_loci):
        counts[order[:n_people][rows]] = _draw_counts(rng, model.on_map(mapped[rows]))
    group = rng.integers(n_groups, size=n_outliers)
    amount = rng.uniform(0.7, 1.0, size=n_outliers).astype(np.float32)
    for rows in _blocks(n_outliers, n_loci):
        frequencies = model.off_map(group[rows], amount[rows])
        counts[order[n_people:][rows]] = _draw_counts(rng, frequencies)

    n, here = len(order), order[:n_people]
    position, country = np.full((n, 2), np.nan), np.full(n, "", table.country.dtype)
    position[here], country[here] = where, table.country[home]
    is_outlier = np.ones(n, dtype=bool)
    is_outlier[here] = False
    return GeneMap(
        counts=counts,
        frequencies=model.reference,
        longitude=position[:, 0],
        latitude=position[:, 1],
        country=country,
        is_outlier=is_outlier,
        colours=colours(),
    )


def _check(n_people: int, n_outliers: int, n_loci: int, n_groups: int, cline: float) -> None:
    for name, value, least in (
        ("n_people", n_people, 1),
        ("n_outliers", n_outliers, 0),
        ("n_loci", n_loci, 1),
        ("n_groups", n_groups, 1),
    ):
        if value < least:
            raise ValueError(f"{name} must be at least {least}; got {value}.")
    if not (np.isfinite(cline) and cline >= 0):
        raise ValueError(f"cline must be a number >= 0; got {cline}.")


@dataclass(frozen=True)
class _Model:
    """Allele frequencies of every locus, as functions of the place or of the group."""

    intercepts: np.ndarray
    slopes: np.ndarray
    waves: np.ndarray
    phases: np.ndarray
    reference: np.ndarray
    private: np.ndarray
    owner: np.ndarray

    @classmethod
    def draw(
        cls, rng: np.random.Generator, n_loci: int, cline: float, n_groups: int, table: Regions
    ) -> _Model:
        rare = np.exp(rng.uniform(np.log(0.02), np.log(0.5), n_loci))
        turned = rng.random(n_loci) < 0.5
        base = np.where(turned, 1 - rare, rare)
        slopes = rng.standard_normal((2 + _N_WAVES, n_loci)) * cline
        slopes[2:] *= _WAVE_SIZE * np.sqrt(2 / _N_WAVES)
        share = np.where(np.arange(n_groups) < 2, _FAR, (1 - 2 * _FAR) / max(1, n_groups - 2))
        model = cls(
            np.log(base / (1 - base)).astype(np.float32),
            slopes.astype(np.float32),
            rng.standard_normal((2, _N_WAVES)),
            rng.uniform(0, 2 * np.pi, _N_WAVES),
            np.zeros(0),  # the reference needs the rest of the model: it follows below
            np.where(turned, 1 - _PRIVATE_ALLELE, _PRIVATE_ALLELE).astype(np.float32),
            rng.choice(n_groups, size=n_loci, p=share / share.sum()),
        )
        # Public: averaged over the table of regions, never over the people drawn from it.
        over_map = model.on_map(on_plane(*table.centre.T))
        reference = (table.weight @ over_map).astype(np.float32)
        return cls(**{**vars(model), "reference": reference})

    def on_map(self, place: np.ndarray) -> np.ndarray:
        z = place / _UNIT
        features = np.hstack([z, np.cos(z @ self.waves + self.phases)]).astype(np.float32)
        out = features @ self.slopes
        out += self.intercepts
        # The logistic function in place: no second array of this size.
        np.negative(out, out=out)
        np.exp(out, out=out)
        out += 1
        return np.reciprocal(out, out=out)

    def off_map(self, group: np.ndarray, amount: np.ndarray) -> np.ndarray:
        shift = (self.private - self.reference) * (group[:, None] == self.owner)
        return self.reference + amount[:, None] * shift


def _blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    step = max(1, _BLOCK // n_columns)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def _draw_counts(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
    """Bin(2, p) from one uniform each: P[0] = (1-p)^2 and P[2] = p^2."""
    u = rng.random(p.shape, dtype=np.float32)
    both = u < p * p
    u += p * p
    u -= 2 * p  # now u < 0 unless the uniform was above 1 - (1-p)^2
    return (u < 0).astype(np.int8) + both
