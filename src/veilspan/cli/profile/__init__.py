"""The command that says what there is in a table, under privacy."""
