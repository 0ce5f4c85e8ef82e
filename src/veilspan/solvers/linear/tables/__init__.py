"""What is asked of a table before a linear model of curves: mass, lengths, widths."""
