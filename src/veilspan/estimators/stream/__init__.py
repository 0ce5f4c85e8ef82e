"""Subspaces of rows that come one block after another."""
