"""Cards of a notebook: one style, escaped, readable on light and dark pages."""

import re
import warnings

import pytest

from reports.releases import ROWS, fitted
from reports.test_browser import CHROMIUM, CONTRAST, browser, visit  # noqa: F401
from veilspan import PCA, Ledger
from veilspan._notebook import draw_card, draw_table_card
from veilspan.audit.verdict import AuditLine, AuditReport
from veilspan.releases import save
from veilspan.reports import verify_release

NASTY = "<script>alert(1)</script>\"'\u202e"
GOOD = AuditLine("game", 1.0, 0.4, 2000, "no violation found; lower bound 0.4", True, "seen at 1.2")
BAD = AuditLine("replay", 1.0, float("inf"), 4, f"violation: {NASTY}", False)


@pytest.fixture
def shown(tmp_path):
    """Everything that shows itself as a card."""
    ledger = Ledger(str(tmp_path / "budget.db"), key=tmp_path / "key")
    account = ledger.dataset(f"trial {NASTY[:-1]}", 3.0, 1e-6)
    ledger.dataset("unspent", 1.0, 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = PCA(2, ledger=account).fit(ROWS)
        others = [PCA(2, epsilon=2.0).fit(ROWS), PCA(2, epsilon=8.0).fit(ROWS)]
        others.append(PCA(2, random_state=0).fit(ROWS))
    found = verify_release(save(fitted("PCA"), tmp_path / "release"))
    audits = [AuditReport("PCA", 1e-6, "replace-one", 1e-6, (line,)) for line in (GOOD, BAD)]
    cards = [release.privacy_, *(other.privacy_ for other in others), release.plan_]
    return [*cards, account, account.spent(), ledger, *audits, found]


def test_cards_are_text_and_one_style(shown):
    for one in shown:
        html = one._repr_html_()
        assert html.startswith('<div style="border:1px solid')
        assert "<script" not in html
        assert "\u202e" not in html
        assert not re.search(r"https?:|url\(|\bon\w+=|\bclass=|\bid=", html)
        assert len(html) < 12_000


def test_an_audit_says_what_was_found():
    good, bad = (AuditReport("PCA", 1e-6, "replace-one", 1e-6, (line,)) for line in (GOOD, BAD))
    assert "no violation found; lower bound 0.4 (seen at 1.2)" in good._repr_html_()
    assert "VIOLATION" in bad._repr_html_()
    assert "can refute a promise, never prove it" in bad._repr_html_()


def test_a_meter_is_full_only_when_everything_is_spent():
    def width(used):
        return float(re.search(r"width:([\d.]+)%", draw_card("", [], used=used))[1])

    assert [width(0.0), width(1e-9), width(0.5), width(0.9999), width(1.0)] == [0, 1, 50, 99, 100]


def test_a_table_may_be_empty():
    assert "<table" in draw_table_card("Nothing", ("a", "b"), [])


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
@pytest.mark.parametrize(("paper", "ink"), [("#ffffff", "#1a1d21"), ("#111418", "#e9ecef")])
def test_cards_can_be_read_on_light_and_dark(visit, shown, paper, ink):  # noqa: F811
    cards = "<hr>".join(one._repr_html_() for one in shown)
    style = f"background:{paper};color:{ink};font-family:sans-serif"
    page = visit(f'<!doctype html><meta charset="utf-8"><body style="{style}">{cards}</body>')
    low = [(ratio, words) for ratio, words in page.evaluate(CONTRAST) if ratio < 4.5]
    assert not low
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
