"""Made-up tables, and what fits to them foretell."""
