"""What makes a changed, shortened or swapped ledger show: the chain, its key and its anchor."""
