"""Time and memory against the size of the table."""
