"""What is asked beside steps: ranges of columns and targets, lengths of rows, a cap."""
