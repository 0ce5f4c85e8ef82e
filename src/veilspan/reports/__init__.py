"""What a release says to a person: one offline HTML file, and how to check it again."""

from veilspan.reports.api import report_html, write_report
from veilspan.reports.recheck import verify_release

__all__ = ["report_html", "verify_release", "write_report"]
