"""What is asked of rows: queries with their norms, bounds and proofs of sensitivity, by family."""
