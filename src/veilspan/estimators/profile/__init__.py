"""A private profile of a table, and simple answers one at a time."""
