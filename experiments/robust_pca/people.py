"""People for Figure 3: allele counts whose main axes are a map of Europe, among outliers.

With the public files of Novembre et al. (2008), the paper's recipe (section 5.2): 20 coordinates of
1,387 people times a random Gaussian matrix, 1,000 outliers from 30 uniform coordinates likewise,
both cut to three values. The paper does not say how the coordinates are scaled; as published all 20
columns are equally long and hold no two-dimensional subspace at all. Here column k has the length
sqrt(l_k - l_20), what its eigenvalue stands above the flat end of the spectrum. Values below half
a standard deviation become 1, the others 0 and 2. Without the files, people are made up.

These two choices were made with the map in view. Correlation of PCA without privacy with the map,
200 loci unless said: equal columns 0.3, sqrt(l_k) 0.7, l_k 0.80 (300 loci), l_k - 1.3 0.75 to 0.77
(300 loci), sqrt(l_k - 1.3) 0.82 to 0.84 (300 loci); the cut (0.1 to 0.6 deviations) hardly matters.
The scaling with the clearest map was kept, so the figure compares methods on data where there is
something to find; it does not say how well such a map comes out of real genes.
"""

from dataclasses import dataclass

import numpy as np

from veilspan.datasets import make_gene_map

SHRINK = np.cos(np.radians(48.0))  # of a degree of longitude


@dataclass
class People:
    """Counts with public allele frequencies, and the places of those on the map."""

    counts: np.ndarray
    frequencies: np.ndarray
    is_outlier: np.ndarray
    place: np.ndarray
    source: str


def load_people(data, n_loci, n_people=1387, n_outliers=1000):
    """From the published files if the data folder has them, else from a rough map."""
    folder = published_folder(data)
    if folder is None:
        made = make_gene_map(n_people, n_outliers, n_loci, random_state=0)
        place = made.place[~made.is_outlier]
        source = "simulated people"
        if data is not None:
            source += " (no files of Novembre et al. in the data folder)"
        return People(made.counts, made.frequencies, made.is_outlier, place, source)
    scores, place = read_published(folder)
    rng = np.random.default_rng(0)
    outliers = rng.uniform(-0.5, 0.5, (1000, 30))
    counts = np.concatenate([alleles(part, n_loci, rng) for part in (scores, outliers)])
    is_outlier = np.arange(len(counts)) >= len(scores)
    half = np.full(n_loci, 0.5, dtype=np.float32)
    return People(counts, half, is_outlier, place, "Novembre et al. (2008), stylised")


def published_folder(data):
    """The folder with the published files: a data folder, its ``novembre2008``, or ``None``."""
    places = [] if data is None else [data / "novembre2008", data]
    for place in places:
        if (place / "PCA.txt").is_file() and any(place.glob("*.eigs")):
            return place
    return None


def read_published(folder):
    """Scaled coordinates of every person, and places with longitudes shrunk to the map."""
    files = sorted(folder.glob("*.eigs"))
    first, *lines = (line.split() for line in files[0].read_text().splitlines())
    values = np.array(first[1:], dtype=float)
    scores = np.array([line[2 : 2 + len(values)] for line in lines], dtype=float)
    table = [line.split("\t") for line in (folder / "PCA.txt").read_text().splitlines()[1:]]
    where = {row[0]: (float(row[3]) * SHRINK, float(row[4])) for row in table}
    place = np.array([where[line[0]] for line in lines])
    return scores * np.sqrt(values - values[-1]), place


def alleles(coordinates, n_loci, rng):
    """Counts 0, 1, 2 from a random linear image, cut at half a standard deviation."""
    image = coordinates.astype(np.float32) @ rng.standard_normal(
        (coordinates.shape[1], n_loci), dtype=np.float32
    )
    cut = 0.5 * image.std()
    return (image > cut).astype(np.int8) - (image < -cut).astype(np.int8) + np.int8(1)
