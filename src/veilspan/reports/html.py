"""The markup of reports: that of :mod:`veilspan._html`, which escapes all text."""

from __future__ import annotations

from veilspan._html import Html, details, escape, join, table, tag

__all__ = ["Html", "details", "escape", "join", "table", "tag"]
