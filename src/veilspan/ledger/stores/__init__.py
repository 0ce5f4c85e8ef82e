"""Where a ledger is kept: one database file, or tables on a server."""
