"""Questions about users' ratings."""
