"""Questions about the ratings of users, one row each."""
