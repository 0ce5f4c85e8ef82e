"""Veilspan Studio: a local web application that leads from a file to a signed release.

Every page is made on the server from public facts, the ledger and releases; none shows a row.
"""
