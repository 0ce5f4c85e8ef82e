"""Utpala, Han, Jawanpuria & Mishra (2023): private optimisation on manifolds."""
