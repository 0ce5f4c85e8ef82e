import numpy as np
import pytest

from veilspan.features import (
    edges_and_brightness,
    edges_lines_and_brightness,
    hog,
    image_rows,
)

BOTH = pytest.mark.parametrize("rows_of", [edges_and_brightness, edges_lines_and_brightness])


def draw(shape, seed=0):
    return np.random.default_rng(seed).random(shape)


def test_the_definition_image_by_image():
    images = draw((3, 9, 12))
    for image, row in zip(images, edges_and_brightness(images, 4, 5)):
        edges = hog(image[None], 4, 5)[0]
        edges -= edges.mean()
        roots = np.array([
            np.sqrt(image[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].mean())
            for i in range(4) for j in range(6)
        ])  # fmt: skip
        roots -= roots.mean()
        wanted = np.concatenate([
            edges / np.linalg.norm(edges), 0.5 * roots / np.linalg.norm(roots)
        ])  # fmt: skip
        np.testing.assert_allclose(row, wanted / np.linalg.norm(wanted), atol=1e-12)


def test_the_definition_with_lines():
    """Second differences by hand; votes of one pixel shared as `hog` shares them."""
    images = draw((2, 8, 12))
    for image, row in zip(images, edges_lines_and_brightness(images, 4, 5)):
        wide, parts = np.pad(image, 2, mode="edge"), []
        for d in (1, 2):
            sums = np.zeros((2, 3, 4))
            for y in range(8):
                for x in range(12):
                    for line, (i, j) in enumerate([(0, d), (d, 0), (d, d), (d, -d)]):
                        ahead = wide[y + 2 + i, x + 2 + j] + wide[y + 2 - i, x + 2 - j]
                        bend = abs(ahead - 2 * image[y, x])
                        for cell_y in range(2):
                            for cell_x in range(3):
                                away = abs(y - 4 * cell_y - 1.5) / 4, abs(x - 4 * cell_x - 1.5) / 4
                                share = max(0, 1 - away[0]) * max(0, 1 - away[1])
                                sums[cell_y, cell_x, line] += share * bend
            parts.append(np.sqrt(sums).ravel())
        squares = image.reshape(4, 2, 6, 2).mean(axis=(1, 3))
        parts = [hog(image[None], 4, 5)[0], *parts, np.sqrt(squares).ravel()]
        parts = [part - part.mean() for part in parts]
        wanted = np.concatenate([part / np.linalg.norm(part) for part in parts])
        np.testing.assert_allclose(row, wanted / 2, atol=1e-12)


def test_thin_lines_bend_where_they_are():
    """Stripes of one pixel bend across and not along, most at a distance of one pixel."""
    images = np.zeros((1, 16, 16))
    images[0, :, ::2] = 1.0
    bends = image_rows._bends(images, 4)
    one, two = (part.reshape(4, 4, 4)[1:-1, 1:-1] for part in bends)
    assert (one[..., 0] > 1).all()
    assert (one[..., 1] == 0).all()
    assert (two == 0).all()


@BOTH
def test_rows_have_length_one_and_plain_images_are_zeros(rows_of):
    images = np.concatenate([draw((3, 12, 12)), np.full((1, 12, 12), 0.7), np.zeros((1, 12, 12))])
    rows = rows_of(images)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 0, 0])


@BOTH
def test_images_of_bytes_of_colours_and_below_zero(rows_of):
    images = np.random.default_rng(0).integers(0, 256, (4, 8, 8), dtype=np.uint8)
    rows = rows_of(images)
    np.testing.assert_allclose(rows, rows_of(images / 255), atol=1e-12)
    colours = np.repeat(images[..., None], 3, axis=3)
    np.testing.assert_allclose(rows, rows_of(colours), atol=1e-12)
    assert np.isfinite(rows_of(draw((2, 8, 8)) - 0.5)).all()


@BOTH
@pytest.mark.parametrize("block", [1, 10**9])
def test_blocks_change_nothing(block, rows_of, monkeypatch):
    images = draw((7, 8, 8))
    whole = rows_of(images)
    monkeypatch.setattr("veilspan.features.image_rows._BLOCK", block)
    np.testing.assert_array_equal(rows_of(images), whole)


@BOTH
@pytest.mark.parametrize(
    ("images", "settings", "text"),
    [
        (np.zeros((2, 3, 3)), {}, "at least 4"),
        (np.zeros((0, 8, 8)), {}, "at least one image"),
        (np.full((1, 8, 8), np.nan), {}, "NaN"),
        (np.zeros((1, 8, 8)), {"cell": 1}, "cell must"),
        (np.zeros((1, 8, 8)), {"orientations": True}, "orientations must"),
    ],
)
def test_bad_images_and_settings_are_refused(images, settings, text, rows_of):
    with pytest.raises(ValueError, match=text):
        rows_of(images, **settings)
