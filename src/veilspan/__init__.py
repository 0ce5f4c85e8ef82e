"""Veilspan."""
