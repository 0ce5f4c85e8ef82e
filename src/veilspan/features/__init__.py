"""Public maps from raw rows to points of a manifold: each row by itself, at no privacy cost."""

from veilspan.features.covariance import covariance_descriptors, descriptor_bounds

__all__ = ["covariance_descriptors", "descriptor_bounds"]
