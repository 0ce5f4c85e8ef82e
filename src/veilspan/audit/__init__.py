"""Empirical checks of the guarantee: they can refute it, never prove it."""
