"""Check a release again from what lies in its folder: files, promise, schema, report, charge."""

from veilspan.reports.recheck.checks import Check, ReleaseCheck
from veilspan.reports.recheck.verify import verify_release

__all__ = ["Check", "ReleaseCheck", "verify_release"]
