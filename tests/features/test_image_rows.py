import numpy as np
import pytest

from veilspan.features import edges_and_brightness, hog


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


def test_rows_have_length_one_and_plain_images_are_zeros():
    images = np.concatenate([draw((3, 12, 12)), np.full((1, 12, 12), 0.7), np.zeros((1, 12, 12))])
    rows = edges_and_brightness(images)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 0, 0])


def test_images_of_bytes_of_colours_and_below_zero():
    images = np.random.default_rng(0).integers(0, 256, (4, 8, 8), dtype=np.uint8)
    rows = edges_and_brightness(images)
    np.testing.assert_allclose(rows, edges_and_brightness(images / 255), atol=1e-12)
    colours = np.repeat(images[..., None], 3, axis=3)
    np.testing.assert_allclose(rows, edges_and_brightness(colours), atol=1e-12)
    assert np.isfinite(edges_and_brightness(draw((2, 8, 8)) - 0.5)).all()


@pytest.mark.parametrize("block", [1, 10**9])
def test_blocks_change_nothing(block, monkeypatch):
    images = draw((7, 8, 8))
    whole = edges_and_brightness(images)
    monkeypatch.setattr("veilspan.features.image_rows._BLOCK", block)
    np.testing.assert_array_equal(edges_and_brightness(images), whole)


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
def test_bad_images_and_settings_are_refused(images, settings, text):
    with pytest.raises(ValueError, match=text):
        edges_and_brightness(images, **settings)
