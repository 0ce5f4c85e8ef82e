"""``veilspan schema``: draft, check, show and import what is public of a table."""
