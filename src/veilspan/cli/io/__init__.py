"""Files that commands read and write: tables, ratings, releases, and the ledger's record."""
