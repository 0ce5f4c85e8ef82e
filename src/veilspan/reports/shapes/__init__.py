"""Curves of columns: charts, a picture of all of them, a section of the report."""
