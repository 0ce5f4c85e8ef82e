"""From noisy gradients to a point of a manifold."""
