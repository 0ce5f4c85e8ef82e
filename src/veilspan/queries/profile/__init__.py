"""What a profile asks of rows: counts of cells, and moments of numbers."""
