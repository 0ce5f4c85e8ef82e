"""Means of points on a manifold, and the minimum of any loss there."""
