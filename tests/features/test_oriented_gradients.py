import numpy as np
import pytest

from veilspan.features import hog


def draw(shape, seed=0):
    return np.random.default_rng(seed).random(shape)


def slow_hog(image, cell, orientations):
    """The definition, pixel by pixel and vote by vote."""
    h, w = image.shape
    wide = np.pad(image, 1, mode="edge")
    rows, columns = h // cell, w // cell
    votes = np.zeros((rows, columns, orientations))
    for i in range(h):
        for j in range(w):
            dx = (wide[i + 1, j + 2] - wide[i + 1, j]) / 2
            dy = (wide[i + 2, j + 1] - wide[i, j + 1]) / 2
            turn = (np.arctan2(dy, dx) / np.pi % 1.0) * orientations
            for r in range(rows):
                up = 1 - abs(i - (cell * (r + 0.5) - 0.5)) / cell
                for c in range(columns):
                    left = 1 - abs(j - (cell * (c + 0.5) - 0.5)) / cell
                    for o in range(orientations):
                        away = min(abs(turn - o), orientations - abs(turn - o))
                        share = max(0, 1 - away) * max(0, up) * max(0, left)
                        votes[r, c, o] += np.hypot(dx, dy) * share
    energy = np.pad((votes**2).sum(axis=2), 1, mode="edge")
    out = np.zeros_like(votes)
    for r in range(rows):
        for c in range(columns):
            for i in (0, 1):
                for j in (0, 1):
                    block = energy[r + i : r + i + 2, c + j : c + j + 2].sum()
                    out[r, c] += np.minimum(votes[r, c] / np.sqrt(block + 1e-4), 0.2) / 4
    return out.ravel() / np.linalg.norm(out)


@pytest.mark.parametrize(("shape", "cell"), [((2, 8, 12), 4), ((1, 9, 7), 2)])
def test_blocks_agree_with_the_definition(shape, cell):
    images = draw(shape)
    wanted = [slow_hog(image, cell, 5) for image in images]
    np.testing.assert_allclose(hog(images, cell, 5), wanted, atol=1e-12)


def test_rows_have_length_one_or_no_edge():
    images = np.concatenate([draw((3, 12, 12)), np.full((1, 12, 12), 0.7)])
    rows = hog(images)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 0])
    assert (rows >= 0).all()


def test_brightness_and_opposite_edges_change_little():
    images = draw((4, 16, 16))
    np.testing.assert_allclose(hog(1 - images), hog(images), atol=1e-12)
    np.testing.assert_allclose(hog(images + 3.0), hog(images), atol=1e-9)


def test_colours_are_averaged_and_integers_scaled():
    pixels = np.random.default_rng(1).integers(0, 256, (2, 12, 12, 3)).astype(np.uint8)
    np.testing.assert_allclose(hog(pixels), hog(pixels.mean(axis=3) / 255))


def test_what_is_refused():
    for cell in (1, True, 2.5):
        with pytest.raises(ValueError, match="cell must be a whole number"):
            hog(draw((1, 8, 8)), cell)
    with pytest.raises(ValueError, match="at least 4 x 4 pixels, one cell"):
        hog(draw((1, 3, 8)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        hog(np.full((1, 8, 8), np.nan))
