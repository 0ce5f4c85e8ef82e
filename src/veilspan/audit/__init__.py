"""Empirical checks of the guarantee: they can refute it, never prove it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veilspan.audit.api import audit
    from veilspan.audit.one_run import audit_one_run
    from veilspan.audit.verdict import AuditReport, Claim

__all__ = ["AuditReport", "Claim", "audit", "audit_one_run"]

_HOME = {
    "AuditReport": "verdict",
    "Claim": "verdict",
    "audit": "api",
    "audit_one_run": "one_run",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
