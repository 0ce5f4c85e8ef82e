"""Data for Figure 3 of Utpala, Han, Jawanpuria & Mishra (2023): images, digits and mammals.

Below the folder given by ``--data`` any of these files are used, in whatever subfolder of the name
given; what is missing is generated, and ``source`` says which:

- ``pathmnist.npz`` (MedMNIST), or ``fashion-mnist/*-ubyte.gz`` in its place;
- ``mnist/*-ubyte.gz``;
- ``wordnet-nouns/data.noun.xz``, or ``data.noun``, of WordNet 3.0.

**Descriptors.** The paper describes colour images of tissue by 11 x 11 matrices. Fashion-MNIST is
grey. Three equal channels would give 11 x 11 matrices of rank 9 plus the ridge: two eigenvalues
equal to 1e-6 for every image, an artefact that says nothing. Colouring the images by hand would
make the numbers depend on our colours. So grey images get their own nine features, and 9 x 9
matrices: the same pipeline with an intensity in place of a colour. Generated images are in colour
and have the paper's 11 x 11.

**Digits** are divided by 255 and by 28, so that no row of 784 pixels can be longer than 1: a public
bound, known without looking at the digits.
"""

import gzip
import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from veilspan.datasets import make_tree
from veilspan.features import covariance_descriptors

from .embeddings import PUBLIC_RADIUS, embedding

RIDGE = 1e-6
FALLBACK_ROWS = 1000  # of each generated class
PARTS, KINDS = ("train", "t10k"), ("images-idx3", "labels-idx1")  # of MNIST's file names
#: Left out by Nickel & Kiela (2017), whose 1,180 nodes and 6,540 pairs the paper uses.
LEFT_OUT = ("tusker", "female_mammal")


@dataclass(frozen=True)
class TwoSets:
    """One array of points for each of two classes, and where they come from."""

    sets: tuple
    names: tuple
    source: str


@dataclass(frozen=True)
class Hierarchy:
    """Transitive closure of an is-a relation, node 0 being the root; pairs are (node, ancestor)."""

    names: list
    pairs: np.ndarray
    source: str


@dataclass(frozen=True)
class Points:
    """Points of the Poincaré ball, none of which can be farther from the origin than ``radius``."""

    points: np.ndarray
    radius: float
    source: str
    name: str


def descriptors(data=None, limit=None, ridge=RIDGE):
    """Two sets of covariance descriptors; ``limit`` keeps the first images of each."""
    chosen = images(data, limit)
    matrices = tuple(covariance_descriptors(part[:limit], ridge) for part in chosen.sets)
    return TwoSets(matrices, chosen.names, chosen.source)


def images(data=None, limit=None):
    """Two classes of images: tissue (in colour), clothes (grey) or generated textures (in colour).

    The train and test parts are taken together, as the sizes in the paper suggest.
    """
    if tissue := find(data, "pathmnist.npz"):
        with np.load(tissue) as file:
            parts = [(file[f"{p}_images"], file[f"{p}_labels"].ravel()) for p in ("train", "test")]
        pixels, labels = map(np.concatenate, zip(*parts))
        return two_classes(pixels, labels, ("adipose tissue", "background"), "PathMNIST")
    if folder := find_images(data, "fashion-mnist"):
        names = ("T-shirts", "trousers")
        return two_classes(*read_idx_folder(folder), names, "Fashion-MNIST, grey")
    return textures(limit or FALLBACK_ROWS)


def digits(data=None, limit=None):
    """Zeros and ones as rows of 784 pixels with length at most 1."""
    if folder := find_images(data, "mnist"):
        chosen = two_classes(*read_idx_folder(folder), ("zeros", "ones"), "MNIST")
    else:
        chosen = blobs(limit or FALLBACK_ROWS)
    rows = tuple(part[:limit].reshape(len(part[:limit]), -1) / (255.0 * 28) for part in chosen.sets)
    return TwoSets(rows, chosen.names, chosen.source)


def mammals(data=None, cache=None):
    """Points of the mammals of WordNet by Poincaré embedding, or a generated tree as it is."""
    if find_nouns(data) is None:
        made = make_tree(3.9, 5, 10, edge_length=2.0)
        radius = made.edge_length * made.depth.max()
        return Points(made.points, radius, "generated tree", "tree")
    tree = hierarchy(data)
    points = embedding(tree.pairs, len(tree.names), cache)
    return Points(points, PUBLIC_RADIUS, tree.source, "mammals")


def hierarchy(data=None):
    """Transitive closure of the mammals, or of a generated tree."""
    if path := find_nouns(data):
        names, parents = read_nouns(path)
        root = next(node for node, words in names.items() if words[0] == "mammal")
        return subtree(names, parents, root, "WordNet 3.0 mammals")
    made = make_tree(3.9, 5)
    parents = {k: [int(p)] if p >= 0 else [] for k, p in enumerate(made.parent)}
    return subtree({k: (f"node {k}",) for k in parents}, parents, 0, "generated tree")


# ---------------------------------------------------------------- files


def find(data, name):
    """The file or folder of this name below a folder; None if there is none."""
    if data is None:
        return None
    folder = Path(data)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder.")
    return next(iter(sorted(folder.rglob(name))), None)


def find_images(data, name):
    """The folder of an MNIST-like set if all of its four files are there."""
    folder = find(data, name)
    parts = [f"{part}-{kind}-ubyte.gz" for part in PARTS for kind in KINDS]
    return folder if folder and all((folder / part).is_file() for part in parts) else None


def find_nouns(data):
    return find(data, "data.noun.xz") or find(data, "data.noun")


def read_idx_folder(folder):
    """Images and labels of the train and test files of an MNIST-like folder."""
    return (
        np.concatenate([read_idx(folder / f"{part}-{kind}-ubyte.gz") for part in PARTS])
        for kind in KINDS
    )


def read_idx(path):
    """An array in the IDX format: two zeros, type (8: uint8), rank, sizes (big endian), values."""
    with gzip.open(path) as file:
        content = file.read()
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path.name} is not an IDX file of unsigned bytes")
    rank = content[3]
    shape = np.frombuffer(content, ">u4", rank, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)


def two_classes(pixels, labels, names, source):
    return TwoSets(tuple(pixels[labels == k] for k in (0, 1)), names, source)


def read_nouns(path):
    """Words and hypernyms of every noun of a WordNet data file (format: wndb(5)).

    Fields: offset, file number, type, number of words (hexadecimal), words each with a number,
    number of pointers, pointers as (symbol, offset, type, source and target); ``@`` is "is a kind
    of" and ``@i`` "is an instance of".
    """
    names, parents = {}, {}
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            if line.startswith("  "):  # the licence
                continue
            fields = line.split()
            last = 4 + 2 * int(fields[3], 16)
            pointers = fields[last + 1 : last + 1 + 4 * int(fields[last])]
            names[fields[0]] = tuple(fields[4:last:2])
            kinds = zip(pointers[::4], pointers[1::4])
            parents[fields[0]] = [to for symbol, to in kinds if symbol in ("@", "@i")]
    return names, parents


def subtree(names, parents, root, source):
    """All nodes with the root among their ancestors, and all pairs between them."""
    known = {root: frozenset()}

    def ancestors(node):
        """Ancestors up to the root, itself included if the root is one."""
        if node not in known:
            above = [(p, ancestors(p)) for p in parents[node]]
            found = [{p} | up for p, up in above if p == root or up]
            known[node] = frozenset().union(*found)
        return known[node]

    inside = [root] + [
        node
        for node in names
        if node != root and ancestors(node) and names[node][0] not in LEFT_OUT
    ]
    index = {node: k for k, node in enumerate(inside)}
    pairs = [(index[a], index[b]) for a in inside for b in known[a] if b in index]
    return Hierarchy([names[node][0] for node in inside], np.array(sorted(pairs)), source)


# ---------------------------------------------------------------- generated in their place


def textures(n, size=28, seed=0):
    """Coloured waves of two kinds: fine and purple, or coarse and pale, with noise of a camera."""
    rng = np.random.default_rng(seed)
    kinds = {"fine": (5.0, (0.65, 0.35, 0.65)), "coarse": (1.5, (0.85, 0.8, 0.75))}
    sets = tuple(waves(rng, n, size, *kind) for kind in kinds.values())
    return TwoSets(sets, tuple(f"{name} textures" for name in kinds), "generated textures")


def waves(rng, n, size, frequency, colour, n_waves=4):
    """Sums of plane waves per image; each channel mixes them in its own way."""
    y, x = np.mgrid[:size, :size] / size
    angle, phase = rng.uniform(0, 2 * np.pi, (2, n, n_waves, 1, 1))
    speed = 2 * np.pi * frequency * rng.uniform(0.6, 1.4, (n, n_waves, 1, 1))
    field = np.sin(speed * (x * np.cos(angle) + y * np.sin(angle)) + phase)
    mixture = rng.normal(0, 0.08, (n, n_waves, 3)) + 0.06
    pixels = np.einsum("nwyx,nwc->nyxc", field, mixture) + np.array(colour)
    pixels += rng.normal(0, 0.03, pixels.shape)
    return (255 * np.clip(pixels, 0, 1)).round().astype(np.uint8)


def blobs(n, size=28, seed=0):
    """Rings and strokes of uncertain place, size and slant, which remind of zeros and ones."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:size, :size] / (size - 1) - 0.5
    shift = rng.normal(0, 0.03, (2, 2 * n, 1, 1))
    slant = rng.normal(0, 0.2, (2 * n, 1, 1))
    across, along = x - shift[0] + slant * y, y - shift[1]
    radius = rng.uniform(0.22, 0.3, (n, 1, 1))
    ring = np.hypot(1.3 * across[:n], along[:n]) - radius
    stroke = np.hypot(across[n:], np.maximum(np.abs(along[n:]) - radius, 0))
    sets = tuple((255 * np.exp(-((d / 0.05) ** 2))).astype(np.uint8) for d in (ring, stroke))
    return TwoSets(sets, ("rings", "strokes"), "generated blobs")
