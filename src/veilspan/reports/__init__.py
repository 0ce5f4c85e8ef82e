"""What a release says to a person: one offline HTML file."""

from veilspan.reports.api import report_html, write_report

__all__ = ["report_html", "write_report"]
