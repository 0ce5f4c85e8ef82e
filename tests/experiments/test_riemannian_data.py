"""Readers of the manifold experiments on tiny files, their fallbacks, and the embedding."""

import gzip
import lzma

import numpy as np
import pytest

from experiments.riemannian import data, embeddings
from veilspan.geometry import SPD, PoincareBall


def test_generated_descriptors_are_elevens():
    found = data.descriptors(limit=20)
    assert [part.shape for part in found.sets] == [(20, 11, 11)] * 2
    assert all(SPD(11).contains(part).all() for part in found.sets)
    assert found.source == "generated textures"
    # Better conditioned than the ridge would make them: colours are not copies of each other.
    assert np.median([np.linalg.eigvalsh(part)[:, 0] for part in found.sets]) > 3e-6


def test_generated_digits_are_rows_within_the_unit_ball():
    found = data.digits(limit=30)
    assert [part.shape for part in found.sets] == [(30, 784)] * 2
    lengths = np.linalg.norm(np.concatenate(found.sets), axis=1)
    assert 0.05 < lengths.min() < lengths.max() <= 1
    first, second = (np.linalg.svd(part)[2][0] for part in found.sets)
    assert abs(first @ second) < 0.9  # the classes differ


def test_the_generated_tree_keeps_its_radius():
    found = data.mammals()
    distances = PoincareBall(10).dist(np.zeros(10), found.points)
    assert 0.5 * found.radius < distances.max() <= found.radius * (1 + 1e-9)


def test_the_closure_of_the_generated_tree():
    tree = data.hierarchy()
    ancestors = np.bincount(tree.pairs[:, 0], minlength=len(tree.names))
    assert ancestors[0] == 0
    assert ancestors[1:].min() == 1
    assert ancestors.max() == 5
    assert np.sum(tree.pairs[:, 1] == 0) == len(tree.names) - 1  # the root is above all others


def write_idx(path, array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(head + array.tobytes()))


def test_idx_files_are_read(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.array([0, 1, 2, 1], dtype=np.uint8)
    pixels = rng.integers(0, 256, (4, 28, 28), dtype=np.uint8)
    for name in ("mnist", "fashion-mnist"):
        folder = tmp_path / name
        folder.mkdir()
        for part in ("train", "t10k"):
            write_idx(folder / f"{part}-images-idx3-ubyte.gz", pixels)
            write_idx(folder / f"{part}-labels-idx1-ubyte.gz", labels)
    zeros, ones = data.digits(tmp_path).sets
    assert (len(zeros), len(ones)) == (2, 4)
    np.testing.assert_allclose(ones[1] * 255 * 28, pixels[3].ravel())
    found = data.descriptors(tmp_path)
    assert found.source == "Fashion-MNIST, grey"
    assert found.sets[0].shape == (2, 9, 9)
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    assert data.digits(tmp_path, limit=3).source == "generated blobs"  # a set with files missing
    (tmp_path / "bad.gz").write_bytes(gzip.compress(b"no idx file"))
    with pytest.raises(ValueError, match=r"bad\.gz"):
        data.read_idx(tmp_path / "bad.gz")


def test_tissue_comes_before_clothes(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (3, 28, 28, 3), dtype=np.uint8)
    labels = np.array([[0], [1], [7]])
    parts = {f"{p}_{k}": v for p in ("train", "val", "test") for k, v in
             (("images", images), ("labels", labels))}  # fmt: skip
    np.savez(tmp_path / "pathmnist.npz", **parts)
    found = data.descriptors(tmp_path)
    assert [part.shape for part in found.sets] == [(2, 11, 11)] * 2
    assert found.source == "PathMNIST"


NOUNS = """\
  1 a licence line
00000001 05 n 01 animal 0 000 | the top
00000002 05 n 02 mammal 0 mammalian 0 001 @ 00000001 n 0000 | root
00000003 05 n 01 carnivore 0 002 @ 00000002 n 0000 ~ 00000004 n 0000 | between
00000004 05 n 01 dog 0 002 @ 00000003 n 0000 @ 00000006 n 0000 | two parents
00000005 05 n 01 Laika 0 001 @i 00000004 n 0000 | an instance
00000006 05 n 01 pet 0 001 @ 00000001 n 0000 | outside
00000007 05 n 01 tusker 0 001 @ 00000002 n 0000 | left out
"""


@pytest.mark.parametrize("packed", [True, False])
def test_the_closure_of_a_small_dictionary(tmp_path, packed):
    path = tmp_path / ("data.noun.xz" if packed else "data.noun")
    path.write_bytes(lzma.compress(NOUNS.encode()) if packed else NOUNS.encode())
    tree = data.hierarchy(tmp_path)
    assert tree.names == ["mammal", "carnivore", "dog", "Laika"]
    expected = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
    np.testing.assert_array_equal(tree.pairs, expected)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match="nowhere is not a folder"):
        data.digits(tmp_path / "nowhere")


BINARY = np.array([(k, a) for k in range(1, 15) for a in range(k) if (k + 1) >> 1 == a + 1
                   or (k + 1) >> 2 == a + 1 or (k + 1) >> 3 == a + 1])  # fmt: skip


def test_a_step_follows_the_gradient_of_the_loss():
    """Against finite differences of the loss, made Riemannian by the ball itself."""
    ball = PoincareBall(3)
    points = ball.random_point(np.random.default_rng(0), 15)
    related = embeddings.relation(BINARY, 15)
    batch, rate = BINARY[::5], 1e-4
    negatives = np.random.default_rng(1).integers(15, size=(len(batch), 4))

    def loss(x):
        total = 0.0
        for (u, v), drawn in zip(batch, negatives):
            kept = [v, *(w for w in drawn if not related[u, w])]
            distances = ball.dist(x[u], x[kept])
            total += distances[0] + np.log(np.sum(np.exp(-distances)))
        return total

    h = 1e-6
    slopes = np.zeros_like(points)
    for place in np.ndindex(points.shape):
        change = np.zeros_like(points)
        change[place] = h
        slopes[place] = (loss(points + change) - loss(points - change)) / (2 * h)
    moved = points.copy()
    embeddings.descend(moved, batch, related, rate, 4, np.random.default_rng(1))
    np.testing.assert_allclose((points - moved) / rate, ball.egrad2rgrad(points, slopes), atol=1e-6)


def test_a_binary_tree_is_embedded_and_remembered(tmp_path):
    settings = embeddings.Settings(dimension=3, epochs=200, rate=0.1, negatives=10, batch=8)
    points = embeddings.embedding(BINARY, 15, tmp_path, settings)
    rank, precision = embeddings.quality(points, BINARY)
    assert rank < 1.5
    assert precision > 0.8
    assert np.argmin(np.linalg.norm(points, axis=1)) == 0  # the root is in the middle
    (stored,) = tmp_path.iterdir()
    np.savez(stored, points=points + 1)
    again = embeddings.embedding(BINARY, 15, tmp_path, settings)
    np.testing.assert_array_equal(again, points + 1)


def test_an_interrupted_write_leaves_no_embedding(tmp_path, monkeypatch):
    settings = embeddings.Settings(dimension=2, epochs=1, negatives=2, batch=8)
    whole = np.savez_compressed

    def interrupted(file, **arrays):
        whole(file, **arrays)
        raise KeyboardInterrupt

    monkeypatch.setattr(embeddings.np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        embeddings.embedding(BINARY, 15, tmp_path, settings)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(embeddings.np, "savez_compressed", whole)
    assert embeddings.embedding(BINARY, 15, tmp_path, settings).shape == (15, 2)
    assert len(list(tmp_path.iterdir())) == 1


def test_quality_by_hand():
    """On a line 0, 1, 2, 3 with 3 as the only ancestor of 0: two others are closer."""
    points = np.array([[0.0], [0.1], [0.2], [0.3]])
    assert embeddings.quality(points, np.array([[0, 3]])) == (3.0, pytest.approx(1 / 3))
    both = np.array([[0, 3], [0, 1]])  # ranks 1 and 2; precisions 1 and 2/3
    assert embeddings.quality(points, both) == (1.5, pytest.approx(5 / 6))


def test_the_points_never_leave_the_public_radius():
    points = np.zeros((3, 2))
    embeddings.subtract(points, np.array([0, 0, 1]), np.array([[5.0, 0], [1, 0], [0.25, 0]]))
    np.testing.assert_allclose(points, [[-(1 - 1e-5), 0], [-0.25, 0], [0, 0]])
    far = PoincareBall(2).dist(points[2], points[0])
    assert far == pytest.approx(embeddings.PUBLIC_RADIUS, rel=1e-9)
