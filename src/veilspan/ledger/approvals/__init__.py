"""Requests that people make of a dataset, and that others approve or refuse, under the seal."""
