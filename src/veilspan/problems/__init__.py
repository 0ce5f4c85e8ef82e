"""What is asked: row queries with their norms, bounds and proofs of sensitivity."""
