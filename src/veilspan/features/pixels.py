"""Images as arrays of floats: what all maps of images check and scale alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def check_images(images: ArrayLike, smallest: int, why: str) -> np.ndarray:
    """Return the images as an array, not copied; messages hold shapes and dtypes only.

    Parameters
    ----------
    images : array of shape (n, h, w, 3) or (n, h, w)
        Colour or grey.
    smallest : int
        Least height and width.
    why : str
        Where that number comes from.
    """
    pixels = np.asarray(images)
    if pixels.dtype.kind not in "buif":
        raise TypeError(f"images must hold real numbers; got dtype {pixels.dtype}.")
    shape = pixels.shape
    if pixels.ndim not in (3, 4):
        raise ValueError(
            f"images must have shape (n, h, w, 3) or (n, h, w); got {shape}. "
            "A single image is image[None]."
        )
    if pixels.ndim == 4 and shape[3] != 3:
        raise ValueError(
            f"colour images must have 3 channels; got shape {shape}. Drop an alpha channel with "
            "images[..., :3], and pass grey images as (n, h, w)."
        )
    if shape[0] == 0:
        raise ValueError(f"at least one image is needed; got shape {shape}.")
    if min(shape[1:3]) < smallest:
        raise ValueError(
            f"images must have at least {smallest} x {smallest} pixels, {why}; got shape {shape}. "
            "A single colour image is image[None]."
        )
    return pixels


def unit_range(block: np.ndarray) -> np.ndarray:
    """Float64 pixels; unsigned integers scaled to [0, 1]."""
    pixels = block.astype(np.float64)
    if block.dtype.kind == "u":
        pixels /= np.iinfo(block.dtype).max
    elif not np.isfinite(pixels).all():
        raise ValueError("images contain NaN or infinity: fill or drop such pixels first.")
    return pixels
