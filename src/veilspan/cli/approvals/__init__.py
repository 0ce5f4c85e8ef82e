"""Requests on the command line: list, read, approve and refuse them."""
