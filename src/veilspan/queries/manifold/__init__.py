"""Questions about points of a manifold."""
