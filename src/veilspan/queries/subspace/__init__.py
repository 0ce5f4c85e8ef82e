"""Questions whose answers tell where a subspace lies."""
