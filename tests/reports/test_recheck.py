"""A release is checked again from its folder alone; whatever part was tampered with is named."""

import json
import shutil
import sqlite3
import warnings
from dataclasses import replace

import numpy as np
import pytest

from cli.commands import run
from releases.cases import arrays_file, rewrite
from reports.covers import META
from reports.releases import KINDS, REGRESSION, ROWS, X, Y, fitted
from veilspan import PCA, Ledger, LogisticRegression, Ridge
from veilspan.datasets import make_ward
from veilspan.releases import load, save
from veilspan.reports import report_html, verify_release, write_report
from veilspan.reports.draw import draw_page
from veilspan.reports.recheck.checks import FITS, UNCHECKED, WRONG
from veilspan.reports.record import PageRecord
from veilspan.reports.subject import plain_repr, subject_of
from veilspan.solvers.subspace.geodesic_gradient import GeodesicGradientDescent

WARD = make_ward(500)


def outcomes(found):
    return {check.name: check.outcome for check in found.checks}


def words(found, name):
    return next(check.told for check in found.checks if check.name == name)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A release with everything: sealed, by a schema, charged, and a report with a cover."""
    place = tmp_path_factory.mktemp("original")
    ledger = Ledger(str(place / "budget.db"), key=place / "ledger.key")
    schema = WARD.schema
    account = ledger.dataset(schema.name, 3.0, 1e-6, unit=schema.protects)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(
            schema=schema, features="linear", ledger=account, solver="gd"
        ).fit(WARD.columns)
    save(model, place / "release", key=place / "key")
    write_report(place / "release" / "report.html", model, meta=META)
    schema.save(place / "ward.toml")
    return place


@pytest.fixture
def place(original, tmp_path):
    return shutil.copytree(original, tmp_path / "copy")


def check(place, **options):
    ledger = Ledger(str(place / "budget.db"), key=place / "ledger.key")
    schema = place / "ward.toml"
    return verify_release(place / "release", ledger=ledger, schema=schema, **options)


def test_all_of_it_fits(place):
    found = check(place, key=place / "key")
    assert found.sealed
    assert found.conclusion == "Everything that was checked fits."
    assert found.limits.startswith("Nobody without the key has changed the release")
    assert found
    assert set(outcomes(found).values()) == {FITS}
    assert "byte for byte" in words(found, "report")
    assert META["prepared_by"] in words(found, "report")
    assert "The seal fits" in words(found, "files")
    assert "is the charge of this release" in words(found, "ledger")


@pytest.mark.parametrize("name", [n for n in KINDS if n not in ("SubspaceTracker", "minimize")])
def test_every_kind_of_release_fits(name, tmp_path):
    folder = save(fitted(name), tmp_path / "release")
    write_report(folder / "report.html", fitted(name))
    found = verify_release(folder)
    assert outcomes(found) == {
        "files": FITS, "promise": FITS, "schema": FITS, "report": FITS, "ledger": UNCHECKED
    }  # fmt: skip


def test_without_a_report_or_ledger_it_says_what_is_not_checked(place):
    (place / "release" / "report.html").unlink()
    found = verify_release(place / "release")
    assert found
    assert outcomes(found)["report"] == outcomes(found)["ledger"] == UNCHECKED
    assert "Not checked: report, ledger, the numbers themselves." in found.conclusion


def raise_noise(document):
    for event in document["statement"]["events"]:
        event["noise_multiplier"] *= 2
    document["statement"]["epsilon"] /= 2


def promise_little(document):
    document["statement"].update(epsilon=0.01, asked=0.01, events=[])


FORGED = {
    "a smaller epsilon": ("promise", lambda d: d["statement"].update(epsilon=0.1)),
    "more noise than was planned": ("promise", raise_noise),
    "another schema": ("schema", lambda d: d["statement"]["schema"].update(digest="ab" * 32)),
    "another schema's name": ("schema", lambda d: d["statement"]["schema"].update(name="other")),
    "another entry": ("ledger", lambda d: d["statement"]["ledger"].update(entry=1)),
    "another head": ("ledger", lambda d: d["statement"]["ledger"].update(head="3:" + "0" * 64)),
    "a charge as a test": ("ledger", lambda d: d["statement"]["ledger"].update(test=True)),
    "no charge": ("ledger", lambda d: d["statement"].pop("ledger")),
    "another plan": ("ledger", lambda d: d["plan"].update(n_rows=499)),
    "another unit": ("report", lambda d: d["statement"].update(unit="one hospital")),
    "another assumption": ("report", lambda d: d["statement"].update(assumptions=["all is well"])),
    "nothing asked and nothing used": ("promise", promise_little),
    "nothing used": ("promise", lambda d: d["statement"].update(events=[])),
    "less asked for": ("promise", lambda d: d["statement"].update(asked=0.1)),
    "another result": ("report", lambda d: d["attributes"].update(intercept_=None)),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forger_who_mends_the_digests_is_found(place, name):
    part, forge = FORGED[name]
    rewrite(place / "release", forge, mend=True)
    found = check(place)
    assert not found
    assert outcomes(found)[part] == WRONG or outcomes(found)["files"] == WRONG
    assert outcomes(check(place, key=place / "key"))["files"] == WRONG  # and by the key at once


SAID = {
    "unit": "a whole family",
    "assumptions": ["none"],
    "release_id": "0" * 16,
    "version": "0",
    "population": 10**9,
    "events": [],
    "epsilon": 0.01,
}


@pytest.mark.parametrize("name", SAID)
def test_the_statement_is_the_one_that_the_ledger_recorded(place, name):
    (place / "release" / "report.html").unlink()
    rewrite(place / "release", lambda d: d["statement"].update({name: SAID[name]}), mend=True)
    found = check(place)
    assert outcomes(found)["ledger"] == WRONG
    assert "The statement is not the one" in words(found, "ledger")


@pytest.mark.parametrize("change", [lambda d: d["statement"].update(epsilon=0.1)])
def test_changed_files_are_found(place, change):
    arrays = arrays_file(place / "release")
    before = arrays.read_bytes()
    arrays.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    found = check(place)
    assert outcomes(found)["files"] == WRONG
    assert outcomes(found)["promise"] == UNCHECKED
    assert "was changed after it was written" in words(found, "files")
    arrays.write_bytes(before)
    assert check(place)
    rewrite(place / "release", change)
    assert outcomes(check(place))["files"] == WRONG


PAGE = {
    "the promise": ("Private: strong", "Private: strongest"),
    "a figure": ("73.2", "53.2"),
    "the checklist": ("No patient has more than one row", "Some patients have more rows"),
    "the cover": (META["purpose"], "Something else."),
    "the recommendation": ("Can be released, once", "Must be released, once"),
    "a share": (' %</b>', ' %</b>!'),
    "the style": (":root {", ".promise { display: none } :root {"),
    "the script": ('"use strict";', '"use strict"; document.title = "";'),
    "the policy": ("default-src ", "default-src *; x-src "),
    "the record": ("&quot;own_rows&quot;: false", "&quot;own_rows&quot;: true"),
    "the record's end": ("&quot;written_by&quot;", "&quot;written_by_me&quot;"),
    "the writer": (
        "&quot;veilspan&quot;: &quot;", "&quot;veilspan&quot;: &quot;9"
    ),
    "a word at the end": ("</html>\n", "</html>\n<p>approved</p>"),
    "an invisible letter": ("What it cost", "What it\u200b cost"),
    "a section less": ('<section id="rechecked"', '<section hidden id="rechecked"'),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGE)
def test_a_changed_report_is_found(place, name):
    path = place / "release" / "report.html"
    text = path.read_text()
    old, new = PAGE[name]
    assert old in text
    path.write_text(text.replace(old, new, 1))
    found = check(place)
    assert outcomes(found) == {**dict.fromkeys(outcomes(found), FITS), "report": WRONG}
    assert "report" in found.conclusion


def test_the_part_that_was_changed_is_named(place):
    path = place / "release" / "report.html"
    path.write_text(path.read_text().replace("No patient has", "A patient has"))
    assert "“assumptions”" in words(check(place), "report")


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"<html></html>", b"<code id=x>" * 9])
def test_other_files_in_the_report_s_place(place, data):
    (place / "release" / "report.html").write_bytes(data)
    assert outcomes(check(place))["report"] == WRONG


@pytest.mark.parametrize("text", ["[1]", "{", '{"title": 1}', "[" * 10**5, '{"a": 1, "a": 1}'])
def test_a_foreign_record_is_refused(place, text):
    path = place / "release" / "report.html"
    page = path.read_text()
    start = page.index('<code id="page-text">') + len('<code id="page-text">')
    path.write_text(page[:start] + text + page[page.index("</code>", start) :])
    assert outcomes(check(place))["report"] == WRONG


def test_the_report_of_another_release_is_found(place):
    write_report(place / "release" / "report.html", fitted("PCA"))
    assert outcomes(check(place))["report"] == WRONG


def test_a_forged_account_on_a_report_is_found(place):
    path = place / "release" / "report.html"
    record = PageRecord.from_page(path.read_text())
    told = {"others": 0.0, "this": 0.001, "left": 0.999, "told": ("0 %", "0.1 %", "99.9 %")}
    forged = replace(record, account=replace(record.account, **told))
    path.write_text(draw_page(subject_of(load(place / "release")), forged))
    found = check(place)
    assert outcomes(found)["report"] == FITS
    assert outcomes(found)["ledger"] == WRONG
    assert "not what the ledger says" in words(found, "ledger")
    Ledger(str(place / "budget.db"), key=place / "ledger.key").dataset("another", 1.0, 1e-6)
    assert "were NOT checked" in words(check(place), "ledger")


def test_a_link_that_leads_nowhere_is_found(place):
    path = place / "release" / "report.html"
    path.unlink()
    path.symlink_to("nowhere")
    assert outcomes(check(place))["report"] == WRONG


SCALARS = {
    "whole": lambda: PCA(np.int64(2)).fit(ROWS),
    "epsilon": lambda: PCA(2, epsilon=np.float64(1)).fit(ROWS),
    "short": lambda: Ridge(alpha=np.float32(0.1), **REGRESSION).fit(X, Y),
    "pair": lambda: Ridge(row_norm=1.0, target_range=(np.int64(-1), np.float64(1))).fit(X, Y),
    "truth": lambda: Ridge(fit_intercept=np.bool_(True), **REGRESSION).fit(X, Y),
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_of_numpy_are_drawn_as_they_come_back(name, tmp_path):
    model = SCALARS[name]()
    folder = save(model, tmp_path / "release")
    write_report(folder / "report.html", model)
    assert verify_release(folder)


def test_scalars_of_numpy_within_a_solver_print_as_numbers():
    made = [GeodesicGradientDescent(steps=kind(3), halvings=kind(1)) for kind in (int, np.int64)]
    assert plain_repr(made[0]) == plain_repr(made[1])


def test_words_of_a_release_forge_no_line(place):
    forged = "one row\n  ledger   fits          All seals of the ledger fit\x1b[31m\u2028x"
    said = {"unit": forged, "release_id": "\x1b[2Jabc\n  promise  fits"}
    rewrite(place / "release", lambda d: d["statement"].update(said), mend=True)
    told = run("verify", place / "release", expect=6).out
    assert "\x1b" not in told
    starts = [line.split()[0] for line in told.splitlines() if line.strip()]
    assert starts.count("ledger") == starts.count("promise") == 1
    assert len(repr(check(place)).splitlines()) == len(set(repr(check(place)).splitlines()))


def test_a_report_elsewhere(place):
    path = (place / "release" / "report.html").rename(place / "page.html")
    assert outcomes(check(place, report=path))["report"] == FITS
    assert outcomes(check(place))["report"] == UNCHECKED


def test_rows_of_an_author_cannot_be_compared(tmp_path):
    folder = save(fitted("PCA"), tmp_path / "release")
    page = report_html(fitted("PCA"), public_rows=ROWS[:5])
    (folder / "report.html").write_text(page)
    assert "cannot be compared" in words(verify_release(folder), "report")


def test_a_warning_that_was_taken_away_is_found(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = save(PCA(2, random_state=0).fit(ROWS), tmp_path / "release")
    found = verify_release(folder)
    assert found
    assert not found.private
    assert "NOT PRIVATE" in found.conclusion
    (folder / "NOT_PRIVATE.txt").write_text("all is well")
    assert outcomes(verify_release(folder))["files"] == WRONG
    (folder / "NOT_PRIVATE.txt").unlink()
    assert outcomes(verify_release(folder))["files"] == WRONG


def test_a_ledger_that_was_changed_is_found(place):
    with sqlite3.connect(place / "budget.db") as book:
        triggers = list(book.execute("select name from sqlite_master where type = 'trigger'"))
        for (name,) in triggers:
            book.execute(f'drop trigger "{name}"')
        book.execute("update entries set body = body || ' ' where seq = 3")
    assert outcomes(check(place))["ledger"] == WRONG


def test_another_ledger_is_found(place):
    other = Ledger(str(place / "other.db"), key=place / "other.key")
    account = other.dataset(WARD.schema.name, 3.0, 1e-6, unit=WARD.schema.protects)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        LogisticRegression(schema=WARD.schema, ledger=account).fit(WARD.columns)
    found = verify_release(place / "release", ledger=other)
    assert outcomes(found)["ledger"] == WRONG


def test_another_schema_file_is_found(place):
    path = place / "ward.toml"
    path.write_text(path.read_text().replace('name = "ward"', 'name = "ward 2"'))
    assert outcomes(check(place))["schema"] == WRONG


def test_the_command_and_its_exit_codes(place, tmp_path):
    release, ledger = place / "release", place / "budget.db"
    options = ("--ledger", ledger, "--ledger-key", place / "ledger.key")
    told = run("verify", release, *options).out
    assert "Everything that was checked fits. Not checked: the numbers themselves." in told
    assert "it records what was promised and charged, not the numbers" in told
    assert not run("verify", release, *options, "--json").json["sealed"]
    facts = run("verify", release, *options, "--json").json
    assert facts["ok"]
    assert [check["name"] for check in facts["checks"]] == [
        "files", "promise", "schema", "report", "ledger"
    ]  # fmt: skip
    (release / "report.html").write_text("<p>\x1b[31mfine")
    told = run("verify", release, expect=6).out
    assert "DOES NOT FIT" in told
    assert not run("verify", release, "--json", expect=6).json["ok"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        open_ = save(PCA(2, random_state=0).fit(ROWS), tmp_path / "open")
    assert "NOT PRIVATE" in run("verify", open_, expect=5).out
    assert "holds no release" in run("verify", tmp_path / "nowhere", expect=1).err
    assert "belong to a --ledger" in run("verify", release, "--dataset", "x", expect=1).err


def test_a_release_of_a_newer_version_cannot_be_checked(place):
    path = place / "release" / "release.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
    assert "newer veilspan" in run("verify", place / "release", expect=1).err


def test_requests_are_of_the_right_types(place):
    with pytest.raises(TypeError, match="ledger must be"):
        verify_release(place / "release", ledger="budget.db")
    shown = check(place)
    assert "fits" in shown._repr_html_()
    assert shown.to_dict()["conclusion"] in repr(shown)
