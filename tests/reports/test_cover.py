"""A cover that can be signed: what it says, what it refuses, and that nothing behind it changes."""

import datetime
import html
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

from reports.covers import FULL, META, NASTY, cut_record, without_cover
from reports.releases import KINDS, ROWS, X, Y, fitted, page_of
from reports.test_report import LINE, Reader
from veilspan import PCA, Ledger, LogisticRegression
from veilspan.audit.verdict import AuditLine, AuditReport
from veilspan.reports import report_html
from veilspan.reports.assumptions import list_assumptions
from veilspan.reports.cover.meta import EXAMPLE, KEYS, MetaError, meta_from, read_meta
from veilspan.reports.cover.recommendation import ASK, NO, RULES, YES, recommend
from veilspan.reports.odds import letter_odds, of_hundred
from veilspan.reports.record import PageRecord
from veilspan.reports.subject import subject_of


@pytest.fixture
def account(tmp_path):
    ledger = Ledger(str(tmp_path / "budget.db"), key=tmp_path / "key")
    return ledger.dataset("trial-42", epsilon=3.0, delta=1e-6)


def not_private(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PCA(2, **options).fit(ROWS)


def problems_of(given):
    with pytest.raises(MetaError) as caught:
        meta_from(given)
    return {problem.place: problem.what for problem in caught.value.problems}


def test_it_says_who_when_why_and_for_whom():
    text = Reader(report_html(fitted("PCA"), meta=META)).text
    for name in KEYS:
        if isinstance(META[name], str):
            assert META[name] in text
    for words in ("2026-03-31", "2024-01-01 to 2024-12-31", "Data owner", "Privacy officer"):
        assert words in text
    for words in ("What was promised", "What it cost", "What is left", "Signatures"):
        assert words in text


@pytest.mark.parametrize("name", ["PCA, centred", "LogisticRegression, objective", "RobustPCA"])
def test_what_is_behind_it_stays_the_same_to_the_last_byte(name):
    page = report_html(fitted(name), meta={**META, "title": ""})
    assert cut_record(without_cover(page)) == cut_record(page_of(name))
    other = report_html(fitted(name), meta={**FULL, "title": ""})
    assert cut_record(without_cover(other)) == cut_record(page_of(name))


def test_its_code_is_that_of_the_release():
    """The same whatever an author writes; another for another release."""

    def code(release, **options):
        page = report_html(release, **options)
        return re.search(r'<code class="wrap">([0-9a-f]{64})</code>', page)[1]

    first = code(fitted("PCA"), meta=META)
    assert first == code(fitted("PCA"), meta=FULL, title="Another")
    assert first != code(fitted("PCA, centred"), meta=META)


def test_the_other_releases_are_named_with_shares_that_add_up(account):
    PCA(2, epsilon=0.5, ledger=account.with_key("figure 3")).fit(ROWS)
    PCA(2, epsilon=0.7, ledger=account).fit(ROWS)
    release = PCA(2, epsilon=1.0, ledger=account).fit(ROWS)
    page = report_html(release, meta=META)
    text = Reader(page).text.replace("\u00a0", " ")
    assert "figure 3: PCA" in text
    assert "this release: PCA" in text
    cells = re.findall(r'<td class="number">(?:<b>)?([\d.]+) %', page[: page.index("</section>")])
    assert len(cells) == 4
    assert sum(map(float, cells)) == pytest.approx(100.0)
    assert f"{cells[-1]} % of the budget of trial-42. Still fits: one more PCA at epsilon" in text


def test_many_releases_are_a_line(account):
    for _ in range(8):
        PCA(2, epsilon=0.1, ledger=account).fit(ROWS)
    release = PCA(2, epsilon=0.2, ledger=account).fit(ROWS)
    text = Reader(report_html(release, meta=META)).text
    assert "4 other releases, before these" in text
    first = PCA(2, epsilon=0.2, ledger=account)
    first.fit(ROWS)
    for _ in range(9):
        PCA(2, epsilon=0.1, ledger=account).fit(ROWS)
    assert "this release: PCA" in Reader(report_html(first, meta=META)).text


def test_what_is_not_known_is_said(account, tmp_path):
    text = Reader(report_html(fitted("PCA"), meta=META)).text
    assert "nobody has counted all releases about these people" in text
    release = PCA(2, ledger=account).fit(ROWS)
    (tmp_path / "budget.db").unlink()
    assert "whose account was not at hand" in Reader(report_html(release, meta=META)).text


def test_a_release_that_is_not_private_is_not_dressed_up():
    text = Reader(report_html(not_private(random_state=0), meta=META)).text
    assert "Nothing: the noise came from a seed" in text
    assert "Do not release." in text
    assert "of 100 cases" not in text


@pytest.mark.parametrize(
    ("release", "answer", "words"),
    [
        (lambda: fitted("PCA"), YES, "The promise is strong."),
        (lambda: not_private(epsilon=2.0), YES, "moderate"),
        (lambda: not_private(epsilon=8.0), ASK, "The promise is weak"),
        (lambda: fitted("RobustPCA"), ASK, "nobody stated a guess"),
        (lambda: not_private(random_state=0), NO, "no guarantee"),
        (lambda: replace(fitted("PCA").privacy_, epsilon=0.1), NO, "cost more"),
    ],
)
def test_recommendations_follow_their_rules(release, answer, words):
    found = recommend(subject_of(release()), None, None)
    assert found.answer == answer
    assert any(words in reason for reason in found.reasons)


def test_accounts_and_audits_count_in_a_recommendation(account):
    bad = AuditLine("replay", 1.0, None, 4, "violation: half the noise", False)
    audit = AuditReport("PCA", 1e-6, "replace-one", 1e-6, (LINE, bad))
    assert recommend(subject_of(fitted("PCA")), None, audit).answer == NO
    text = Reader(report_html(fitted("PCA"), meta=META, ledger=account)).text
    assert "Ask back before releasing." in text
    assert "is not in the account of trial-42" in text


def test_the_rules_are_on_every_page():
    text = Reader(page_of("PCA")).text
    assert all(rule in text for rule in RULES)


@pytest.mark.parametrize("name", KINDS)
def test_every_assumption_has_plain_words(name):
    """A text without them is shown as it stands, with its first letter large."""
    release = fitted(name)
    statement = getattr(release, "privacy_", None) or release.privacy
    listed = list_assumptions(statement)
    assert len(listed) == len(statement.assumptions) + 2
    for one in listed:
        assert one.plain.rstrip(".") != f"{one.exact[:1].upper()}{one.exact[1:]}", one.exact
        assert not re.search(r"1e\d|2\^|NaN|dtype|add-remove|gauss", one.plain, flags=re.I)


def test_one_figure_compares_methods():
    """At the same epsilon and delta the first figure is the same, whatever the method."""
    logistic = LogisticRegression(feature_range=(-0.4, 0.4), classes=[0, 1], solver="objective")
    pages = [fitted("PCA"), logistic.fit(X, (Y > 0).astype(int))]
    texts = [Reader(report_html(release)).text for release in pages]
    assert all("with it in at most 73.2 of 100." in text for text in texts)
    assert all("The noise that was really used allows" in text for text in texts)


def test_odds_are_rounded_up_and_never_a_round_hundred():
    assert of_hundred(0.5) == "50.0"
    assert of_hundred(0.7310585) == "73.2"
    for share in np.linspace(0.5, 1 - 1e-6, 50):
        assert 100 * share <= float(of_hundred(share)) < 100
    assert letter_odds(subject_of(fitted("PCA"))) == pytest.approx(0.7310588, abs=1e-6)


def test_hostile_words_are_text():
    page = report_html(fitted("PCA"), meta={**META, "purpose": NASTY, "title": NASTY})
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "<script>alert(1)</script>" in Reader(page).text
    assert PageRecord.from_page(page).meta.purpose == NASTY


def test_the_record_gives_back_what_the_page_was_made_with(account):
    release = PCA(2, ledger=account).fit(ROWS)
    audit = AuditReport("PCA", 1e-6, "replace-one", 1e-6, (LINE,))
    page = report_html(release, meta=META, title="Ünï", audit=audit)
    record = PageRecord.from_page(page)
    assert record.meta == meta_from(META)
    assert record.title == "Ünï"
    assert record.audit == audit
    assert record.account.name == "trial-42"
    assert html.unescape(record.to_json()) == record.to_json()


def test_the_example_is_whole_and_says_all(tmp_path):
    path = tmp_path / "meta.toml"
    path.write_text(EXAMPLE)
    assert set(META) == set(KEYS)
    assert read_meta(path) == meta_from(META)
    assert report_html(fitted("PCA"), meta=path) == report_html(fitted("PCA"), meta=META)


def test_all_problems_are_named_at_once():
    given = {**META, "porpose": "x", "date": "31.03.2026", "contact": 7, "legal_basis": " "}
    del given["purpose"]
    found = problems_of(given)
    assert 'Did you mean "purpose"?' in found["porpose"]
    assert "written date = 2026-03-31" in found["date"]
    assert "is a text" in found["contact"]
    assert "is empty" in found["legal_basis"]
    assert "is missing" in found["purpose"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("date", datetime.datetime(2026, 3, 31, 12), "is a day"),
        ("date", datetime.date(226, 3, 31), "a slip"),
        ("date", "2026-02-30", "is a day"),
        ("date", 20260331, "is a day"),
        ("date", "2026-W01-1", "is a day"),
        ("purpose", "\u200b\u2060", "is empty"),
        ("contact", "\u3164 \u0301", "is empty"),
        ("signatures", ["\u200b"], "1 to 4 roles"),
        ("period_end", datetime.date(2020, 1, 1), "is before period_start"),
        ("purpose", "x" * 201, "room for 200"),
        ("title", "x" * 101, "room for 100"),
        ("signatures", [], "1 to 4 roles"),
        ("signatures", ["a"] * 5, "1 to 4 roles"),
        ("signatures", [1], "1 to 4 roles"),
        ("signatures", "Data owner", "1 to 4 roles"),
        ("population", {"a": 1}, "not a table"),
    ],
)
def test_wrong_entries_are_refused(name, value, words):
    assert words in problems_of({**META, name: value})[name]


def test_dates_may_stand_in_quotes():
    assert meta_from({**META, "date": "2026-03-31"}) == meta_from(META)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (EXAMPLE.encode("utf-16"), "is not UTF-8"),
        ('contact = "Ä"'.encode("latin-1"), "is not UTF-8"),
        (b"title = Ward 3", "Texts stand in double quotes"),
        (b"a = " + b"[" * 20_000, "it is"),
        (b"date = 2026-02-31\n", "it is not TOML"),
        (b"#" * 70_000, "larger than any file of its kind (64 KiB)"),
        (b"", "has 9 problems"),
    ],
)
def test_wrong_files_are_refused(tmp_path, data, words):
    path = tmp_path / "meta.toml"
    path.write_bytes(data)
    with pytest.raises(MetaError, match=re.escape(words)):
        read_meta(path)


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="meta must be a mapping"):
        report_html(fitted("PCA"), meta=7)
    with pytest.raises(FileNotFoundError):
        report_html(fitted("PCA"), meta="nowhere.toml")
