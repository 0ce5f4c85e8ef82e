"""The page of a private profile: columns first, then what was promised for them."""
