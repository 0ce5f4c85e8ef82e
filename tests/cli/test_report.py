"""``veilspan report``: the page of a release, with an account and an audit."""

import json

import pytest

from cli.commands import refused, run, write_csv
from reports.releases import ROWS, fitted
from veilspan import PCA, Ledger
from veilspan.audit.verdict import AuditLine, AuditReport
from veilspan.cli.report import report
from veilspan.releases import save
from veilspan.reports import report_html
from veilspan.reports.extras import audit_of


def test_a_release_gets_its_page(tmp_path, capsys):
    folder = save(fitted("PCA"), tmp_path / "release")
    report(folder)
    assert (folder / "report.html").read_text() == report_html(fitted("PCA"))
    assert "open it in any browser" in capsys.readouterr().out


def test_facts_as_json(tmp_path, capsys):
    folder = save(fitted("PCA"), tmp_path / "release")
    out = tmp_path / "elsewhere" / "page.html"
    report(folder, out, json=True, title="Trial 42")
    facts = json.loads(capsys.readouterr().out)
    assert facts == {
        "file": str(out),
        "bytes": out.stat().st_size,
        "release_id": fitted("PCA").privacy_.release_id,
        "private": True,
    }
    assert "<h1>Trial 42</h1>" in out.read_text()


def test_with_an_account_and_an_audit(tmp_path):
    ledger = Ledger(str(tmp_path / "budget.db"), key=tmp_path / "key")
    account = ledger.dataset("trial-42", epsilon=3.0, delta=1e-6)
    folder = save(PCA(2, ledger=account).fit(ROWS), tmp_path / "release")
    line = AuditLine("game", 1.0, 0.4, 2000, "no violation found", True)
    record = AuditReport("PCA", 1e-6, "replace-one", 1e-6, (line,)).to_dict()
    (tmp_path / "audit.json").write_text(json.dumps(record))
    report(
        folder,
        ledger=str(tmp_path / "budget.db"),
        ledger_key=tmp_path / "key",
        audit=tmp_path / "audit.json",
    )
    page = (folder / "report.html").read_text()
    assert "this release" in page
    assert "no violation found" in page


def test_a_statement_alone(tmp_path):
    path = tmp_path / "statement.json"
    path.write_text(fitted("PCA").privacy_.to_json())
    report(path)
    assert "differentially private" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", "{", "is not JSON"),
        ("a.json", "[1]", "holds no statement"),
        ("a.json", '{"events": [], "format": 1}', "holds no whole statement"),
    ],
)
def test_files_of_other_kinds_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=words):
        report(tmp_path / name)
    assert not (tmp_path / "report.html").exists()


def test_an_account_needs_a_name(tmp_path):
    folder = save(fitted("PCA"), tmp_path / "release")
    with pytest.raises(ValueError, match="say which one by --dataset"):
        report(folder, ledger=str(tmp_path / "budget.db"))


def test_report(releases, tmp_path):
    run("report", releases / "pca", "--out", tmp_path / "page.html")
    assert "epsilon" in (tmp_path / "page.html").read_text()
    assert run("report", releases / "pca", "--json").json


LINE = {"check": "replay", "claimed": 1.0, "lower_bound": None, "runs": 3, "verdict": "fine",
        "ok": True}  # fmt: skip

AUDIT = {"method": "PCA", "delta": 1e-6, "neighbors": "replace-one", "alpha": 0.01}


@pytest.mark.parametrize(
    "record",
    [
        {"checks": []},
        {**AUDIT, "checks": []},
        {**AUDIT, "checks": 3},
        {**AUDIT, "checks": [3]},
        {**AUDIT, "checks": [{}]},
        {**AUDIT, "checks": [{**LINE, "ok": "false"}]},
        {**AUDIT, "checks": [{**LINE, "claimed": "much"}]},
        {**AUDIT, "checks": [{**LINE, "more": 1}]},
        {**AUDIT, "checks": [LINE], "delta": None},
    ],
)
def test_a_wrong_audit_record(record, tmp_path):
    run("fit", "pca", write_csv(tmp_path / "rows.csv", ROWS), "--out", tmp_path / "r")
    (tmp_path / "audit.json").write_text(json.dumps(record))
    said = refused("report", tmp_path / "r", "--audit", tmp_path / "audit.json")
    assert said.startswith("audit must be the report of veilspan.audit.audit, or its to_dict()")
    assert audit_of({**AUDIT, "checks": [LINE]}).ok


def test_a_cover_from_a_file(tmp_path):
    folder = save(fitted("PCA"), tmp_path / "release")
    meta = tmp_path / "meta.toml"
    meta.write_text(run("report", "--meta-example").out)
    run("report", folder, "--meta", meta)
    page = (folder / "report.html").read_text()
    assert "Returning patients, ward 3" in page
    assert 'id="cover"' in page


def test_a_wrong_meta_file_is_refused_and_nothing_is_written(tmp_path):
    folder = save(fitted("PCA"), tmp_path / "release")
    meta = tmp_path / "meta.toml"
    meta.write_text('porpose = "x"\n"\\u001b[31m" = 1\ndate = "tomorrow"\n')
    said = run("report", folder, "--meta", meta, expect=1).err
    assert 'Did you mean "purpose"?' in said
    assert "written date = 2026-03-31" in said
    assert "\x1b" not in said
    assert not (folder / "report.html").exists()
    told = json.loads(run("report", folder, "--meta", meta, "--json", expect=1).err)
    assert {"place": "porpose"}.items() <= told["problems"][0].items()
