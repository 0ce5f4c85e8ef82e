"""How a robust subspace finds its own centre: a paid look at where rows point."""
