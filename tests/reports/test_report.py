"""A page for every kind of release: complete, escaped, offline, and nothing but the release."""

import base64
import hashlib
import json
import math
import re
import warnings
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from reports.releases import KINDS, ROWS, X, Y, fitted, page_of
from veilspan import PCA, Ledger, LogisticRegression, PrivacyStatement, SubspaceTracker
from veilspan.audit.verdict import AuditLine, AuditReport
from veilspan.datasets import make_ward
from veilspan.ledger.words.sentences import say_used_and_left
from veilspan.releases import load, save
from veilspan.reports import report_html, write_report
from veilspan.reports.promise import promise_of

NASTY = "<script>alert(1)</script>\"'&\u202e\x00"
LARGEST = 800_000


class Reader(HTMLParser):
    """The tags, the visible text, and the ids of a page; unclosed or crossed tags are errors."""

    VOID = frozenset({"meta", "br", "col"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.ids, self.open = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in {"style", "script"}:
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def not_private(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PCA(2, **options).fit(ROWS)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_has_its_page(name):
    release = fitted(name)
    statement = getattr(release, "privacy_", None) or release.privacy
    page = page_of(name)
    text = Reader(page).text.replace("\xa0", " ")
    for words in KINDS[name][1]:
        assert words in text or words in page, words
    for words in (
        "-differentially private",
        "What it assumes",
        "What an attacker gains",
        "The recorded events cost no more than was promised.",
        statement.release_id,
        *statement.assumptions,
        *(event.name for event in statement.events),
    ):
        assert words in text, words
    assert "NOT PRIVATE" not in page
    assert len(page.encode()) < LARGEST


@pytest.mark.parametrize("name", KINDS)
def test_nothing_is_loaded(name):
    page = page_of(name)
    # The digests of the policy are base64, in which two slashes and a letter are no address.
    words = re.sub(r"sha256-[A-Za-z0-9+/]{43}=", "", page)
    assert len(page) - len(words) == 2 * len("sha256-" + 43 * "x" + "=")
    assert not re.search(r"https?://|//[a-z]|@import|url\(", words)
    reader = Reader(page)
    loading = {"src", "srcset", "data", "poster", "background", "action", "xlink:href"}
    for tag, attributes in reader.tags:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form"}
        assert not loading & set(attributes)
        assert attributes.get("href", "#").startswith("#")
        assert not [key for key in attributes if key.startswith("on") or key == "style"]


def test_ids_stand_once_and_links_lead_somewhere():
    reader = Reader(report_html(fitted("PCA, centred"), public_rows=ROWS[:9]))
    assert len(reader.ids) == len(set(reader.ids))
    links = {a["href"][1:] for tag, a in reader.tags if tag == "a"}
    labels = {i for _, a in reader.tags for i in a.get("aria-labelledby", "").split()}
    copied = {a["data-copy"] for tag, a in reader.tags if tag == "button"}
    assert links | labels | copied <= set(reader.ids)


def test_the_policy_names_the_style_and_the_script_by_digest():
    page = report_html(fitted("PCA"))
    policy = next(
        a["content"]
        for tag, a in Reader(page).tags
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        (inside,) = re.findall(rf"<{kind}>(.*?)</{kind}>", page, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize(
    "name", [name for name in KINDS if name not in ("SubspaceTracker", "minimize")]
)
def test_the_page_is_a_function_of_the_saved_release(name, tmp_path):
    """What ``load`` gives back holds no rows, and makes the same page to the last byte."""
    release = fitted(name)
    assert report_html(load(save(release, tmp_path / "release"))) == page_of(name)


def test_names_of_columns_are_text():
    table = pd.DataFrame(ROWS, columns=[NASTY, *"bcdef"])
    page = report_html(PCA(2).fit(table), title=NASTY, public_rows={NASTY: table[:5]})
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\x00" not in page
    reader = Reader(page)
    assert [tag for tag, _ in reader.tags].count("script") == 1
    assert "<script>alert(1)</script>\"'&" in reader.text


def test_a_simulation_says_so_loudly():
    page = report_html(not_private(random_state=0))
    text = Reader(page).text
    assert text.count("NOT PRIVATE") >= 3  # window, top of the page, verdict
    assert "the noise came from a seed" in text
    assert "-differentially private" not in text
    assert "What an attacker would gain" in text
    assert 'class="ok"' not in page
    assert "<title>NOT PRIVATE" in page


def test_without_noise_there_are_no_curves():
    text = Reader(report_html(not_private(epsilon=math.inf))).text
    assert "epsilon is infinite, no noise was added" in text
    assert "What an attacker" not in text
    assert "no noise" in text


def test_a_statement_alone_has_a_page():
    statement = PrivacyStatement.from_dict(fitted("PCA").privacy_.to_dict())
    text = Reader(report_html(statement)).text
    assert "What was learned" not in text
    assert "-differentially private" in text
    assert "Check the statement" in text


def test_the_schema_is_named():
    schema = {"digest": "ab" * 32, "name": NASTY, "version": "2026"}
    unit = "one patient: all rows of one patient_id"
    page = report_html(replace(fitted("PCA").privacy_, schema=schema, unit=unit))
    text = Reader(page).text
    assert f"2026 ({'ab' * 32})" in text
    assert "one patient (all rows of one patient_id)" in text
    assert "<script>alert" not in page


def test_the_statement_on_the_page_can_be_checked():
    page = page_of("RobustPCA, sampled")
    (text,) = re.findall(r'<code id="statement-text">(.*?)</code>', page, flags=re.S)
    assert PrivacyStatement.from_dict(json.loads(unescape(text))).verify()


def test_a_forged_statement_is_seen():
    forged = replace(fitted("PCA").privacy_, epsilon=0.2)
    text = Reader(report_html(forged)).text
    assert "cost MORE than was promised" in text
    assert "The recorded events cost more than was promised" in text
    # What an attacker gains follows the events then, not the claim.
    assert promise_of(forged).mu == pytest.approx(promise_of(fitted("PCA").privacy_).mu, rel=1e-6)


def test_points_are_those_of_the_given_rows_only():
    release = fitted("PCA")
    without = Reader(report_html(release))
    assert "embedding" not in without.ids
    given = {"ours": ROWS[:7], "theirs": ROWS[7:12]}
    page = report_html(release, public_rows=given)
    reader = Reader(page)
    assert "rows given by the author of this report" in reader.text
    assert "12 points of 12 rows" in reader.text
    marks = [a for _, a in reader.tags if a.get("class", "").startswith("mark")]
    assert len(marks) == 12 + 2  # and the legend


def test_many_points_are_not_all_drawn():
    page = report_html(fitted("PCA"), public_rows=np.tile(ROWS, (3, 1)))
    assert "2,000 points of 3,000 rows" in Reader(page).text
    assert len(page.encode()) < LARGEST


def test_bad_requests_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="has no transform"):
        report_html(fitted("Ridge"), public_rows=ROWS)
    with pytest.raises(ValueError, match="1 to 6 groups"):
        report_html(fitted("PCA"), public_rows={})
    with pytest.raises(ValueError, match="released nothing yet"):
        report_html(PCA(2))
    with pytest.raises(ValueError, match="makes no promise"):
        report_html(SubspaceTracker(2).fit(ROWS))
    with pytest.raises(TypeError, match="fitted estimator or a statement; got dict"):
        report_html({})
    with pytest.raises(TypeError, match="audit must be"):
        report_html(fitted("PCA"), audit="fine")
    with pytest.raises(TypeError, match="ledger must be"):
        report_html(fitted("PCA"), ledger="budget.db")


LINE = AuditLine("game", 1.0, 0.4, 2000, "no violation found; lower bound 0.4", True, "seen at 1.2")


@pytest.mark.parametrize("record", [False, True])
def test_an_audit_is_shown_with_its_limits(record):
    audit = AuditReport("PCA", 1e-6, "replace-one", 1e-6, (LINE,))
    text = Reader(report_html(fitted("PCA"), audit=audit.to_dict() if record else audit)).text
    assert "no violation found; lower bound 0.4 (seen at 1.2)" in text
    assert "can refute a promise, never prove it" in text


def test_a_violation_is_the_first_thing_to_read():
    bad = AuditLine("replay", 1.0, math.inf, 4, "violation: half the noise", False)
    audit = AuditReport("PCA", 1e-6, "replace-one", 1e-6, (LINE, bad))
    text = Reader(report_html(fitted("PCA"), audit=audit.to_dict())).text
    assert text.index("The audit found a violation") < text.index("What an attacker gains")
    assert "violation: half the noise" in text


def test_weak_components_and_weak_promises_are_pointed_out():
    noise = np.random.default_rng(1).standard_normal((300, 6)) * 0.05
    text = Reader(report_html(PCA(3, epsilon=0.05).fit(noise))).text
    assert "below the level that noise alone reaches" in text
    assert "weak promise" in Reader(report_html(PCA(2, epsilon=30.0).fit(ROWS))).text


@pytest.mark.parametrize(
    ("options", "badge", "classes", "alarm"),
    [
        ({"epsilon": 1.0}, "Private: strong", "promise", None),
        ({"epsilon": 2.0}, "Private: moderate", "promise moderate", None),
        ({"epsilon": 5.0}, "Private, but WEAK", "promise weak", "alarm weak"),
        ({"delta": 0.01, "allow_weak": True}, "Private, but WEAK", "promise weak", "alarm weak"),
        ({"random_state": 0}, "NOT PRIVATE", "promise danger", "alarm none"),
    ],
)
def test_badges_say_how_strong_a_promise_is(options, badge, classes, alarm):
    """Blue, which is the plain badge, is for strong promises only; weak ones have a banner too."""
    page = report_html(not_private(**options))
    assert f'<div class="{classes}"><p class="verdict">{badge}</p>' in page
    assert re.findall(r'<div class="(alarm[^"]*)"', page) == ([] if alarm is None else [alarm])
    text = Reader(page).text
    if badge.startswith("Private"):
        assert f"{badge.split()[-1].capitalize()}: ε is" in text  # the rule itself


def test_epsilon_reads_as_it_was_asked_for():
    options = {"feature_range": (-0.4, 0.4), "classes": [0, 1], "solver": "objective"}
    release = LogisticRegression(**options).fit(X, (Y > 0).astype(int))
    exact = release.privacy_.epsilon
    assert f"{exact:.6g}" != "1"
    text = Reader(report_html(release)).text.replace("\u00a0", " ")
    assert f"(ε = 1 ({exact:.6g}), δ = 10⁻⁶)-differentially private" in text


@pytest.fixture
def account(tmp_path):
    ledger = Ledger(str(tmp_path / "budget.db"), key=tmp_path / "key")
    return ledger.dataset("trial-42", epsilon=3.0, delta=1e-6)


def test_the_bar_adds_up(account):
    PCA(2, epsilon=0.5, ledger=account).fit(ROWS)
    release = PCA(2, epsilon=1.0, ledger=account).fit(ROWS)
    page = report_html(release)
    (widths,) = re.findall(
        r'class="left"></rect><rect [^>]*width="([\d.]+)"[^>]*></rect>'
        r'<rect x="([\d.]+)"[^>]*width="([\d.]+)"',
        page,
    )
    others, start, this = map(float, widths)
    assert start == pytest.approx(others, abs=0.02)
    assert (others + this) / 920 == pytest.approx(account.spent().fraction, abs=1e-3)
    assert 0 < others < this
    text = Reader(page).text
    assert f"trial-42: {say_used_and_left(account.spent())}, 2 charges so far" in text
    assert "Still fits: one more PCA at epsilon 2." in text
    assert "Shares add up, epsilons do not" in text
    assert release.privacy_.ledger["head"] in text


def test_an_account_that_is_not_at_hand(account, tmp_path):
    release = PCA(2, epsilon=1.0, ledger=account).fit(ROWS)
    loaded = load(save(release, tmp_path / "release"))
    text = Reader(report_html(loaded)).text
    assert "Charged to “trial-42” as entry" in text
    assert "was not at hand" in text
    assert "other releases" in Reader(report_html(loaded, ledger=account)).text
    (tmp_path / "budget.db").unlink()
    assert "was not at hand" in Reader(report_html(release)).text


def test_another_account_does_not_claim_the_release(account):
    assert "is not in this account" in Reader(report_html(fitted("PCA"), ledger=account)).text


def test_a_file_is_whole_or_the_old_one(tmp_path, monkeypatch):
    target = tmp_path / "new" / "report.html"
    assert write_report(target, fitted("PCA")) == target
    before = target.read_bytes()
    assert before.decode() == report_html(fitted("PCA"))

    def full(_):
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_report(target, fitted("Ridge"))
    assert target.read_bytes() == before
    assert [path.name for path in target.parent.iterdir()] == ["report.html"]


def test_tests_and_large_deltas_are_pointed_out(tmp_path):
    ledger = Ledger(str(tmp_path / "budget.db"), key=tmp_path / "key")
    rehearsal = ledger.dataset("rehearsal", epsilon=3.0, delta=0.1, test=True)
    weak = not_private(random_state=0, delta=0.01, ledger=rehearsal, allow_weak=True)
    text = Reader(report_html(weak)).text
    assert "The charge was recorded as a test, at no cost." in text
    assert "delta = 0.01 is not below 1/n = 0.001" in text


def test_large_results_stay_small_files():
    """A mean of 60 x 60, and thousands of columns with long names."""
    found = fitted("minimize")
    page = report_html(replace(found, point=np.random.default_rng(0).standard_normal((60, 60))))
    assert "The first 40 rows and columns are drawn." in Reader(page).text
    assert len(page.encode()) < LARGEST
    wide = np.random.default_rng(0).uniform(-0.01, 0.01, (200, 1500))
    table = pd.DataFrame(wide, columns=[f"column {'x' * 50} {i}" for i in range(1500)])
    page = report_html(PCA(40).fit(table))
    assert len(page.encode()) < LARGEST
    assert "The first 16 of 1,500 columns" in Reader(page).text


def test_the_code_of_plain_parameters_runs_again():
    (text,) = re.findall(r'<code id="code-text">(.*?)</code>', page_of("PCA"), flags=re.S)
    names = {"X": ROWS}
    exec(unescape(text), names)
    assert names["model"].privacy_.epsilon == fitted("PCA").privacy_.epsilon


def test_the_code_of_a_schema_runs_again(tmp_path, monkeypatch):
    """It is told by a file: what a schema prints of itself is no code."""
    ward = make_ward(300)
    model = LogisticRegression(schema=ward.schema, features="linear", epsilon=5.0)
    page = report_html(model.fit(ward.columns))
    (text,) = re.findall(r'<code id="code-text">(.*?)</code>', page, flags=re.S)
    (tmp_path / "schema.toml").write_text(ward.schema_toml)
    monkeypatch.chdir(tmp_path)
    names = {"table": ward.columns}
    exec(unescape(text), names)
    assert names["model"].schema.digest == ward.schema.digest
    assert "as they print themselves" not in text


def test_objects_among_the_parameters_are_named():
    assert "# as they print themselves: manifold, ball" in page_of("FrechetMean, matrices")
