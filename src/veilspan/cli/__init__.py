"""The command line: ``veilspan --help``."""

from veilspan.cli.app import main

__all__ = ["main"]
