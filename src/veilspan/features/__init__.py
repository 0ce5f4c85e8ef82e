"""Public maps from raw rows to better coordinates: each row by itself, at no privacy cost."""

from veilspan.features.covariance import covariance_descriptors, descriptor_bounds
from veilspan.features.image_rows import edges_and_brightness, edges_lines_and_brightness
from veilspan.features.oriented_gradients import hog

__all__ = [
    "covariance_descriptors",
    "descriptor_bounds",
    "edges_and_brightness",
    "edges_lines_and_brightness",
    "hog",
]
