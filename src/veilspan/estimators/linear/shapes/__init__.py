"""What each column adds to the score of a model of curves, in the units of the table."""
