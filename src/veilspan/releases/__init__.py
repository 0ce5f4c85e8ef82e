"""Releases on the disk: what was learned and what was promised, without the rows."""

from veilspan.releases.store import load, save

__all__ = ["load", "save"]
