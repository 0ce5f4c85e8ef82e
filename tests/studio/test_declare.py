"""Declare: entries are never lost, problems stand where they belong, freezing is deliberate."""

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from cli.commands import run
from studio.stories import go, send, text_of, words_of
from veilspan import Schema
from veilspan.datasets import make_visits, make_ward
from veilspan.studio.declaring import declare, entries_of, merge
from veilspan.studio.pages.importing import read_pasted
from veilspan.studio.schemas import find_schema


@pytest.mark.parametrize("table", [make_ward(50), make_visits(50)])
def test_a_schema_is_its_own_entries(table):
    """Nothing of a schema is lost in the form: the digest stays."""
    found = declare(table.schema.name, entries_of(table.schema))
    assert found.problems == ()
    assert found.schema == table.schema


def test_only_the_names_are_read(own_running, monkeypatch):
    from veilspan.tables.sources.csv_file import CsvFile

    def fail(*_, **__):
        raise AssertionError("a row was read")

    for name in ("batches", "blocks", "rows"):
        if hasattr(CsvFile, name):
            monkeypatch.setattr(CsvFile, name, fail)
    page = go(own_running.enter(), "/d/visits/schema")
    assert "creatinine" in page.text


def form_of(page):
    """The fields of the form as a browser would send them back."""
    text = page.text[page.text.index('id="declare"') :]
    fields = dict(
        re.findall(r'<input type="(?:text|hidden)"[^>]*? name="([^"]+)" value="([^"]*)"', text)
    )
    fields |= dict(re.findall(r'name="(c\d+-name)" value="([^"]*)"', text))
    for name, body in re.findall(
        r'<textarea[^>]*name="([^"]+)"[^>]*>\n?(.*?)</textarea>', text, re.DOTALL
    ):
        fields[name] = body
    for name, body in re.findall(
        r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', text, re.DOTALL
    ):
        chosen = re.search(r'value="([^"]*)" selected', body)
        fields[name] = chosen.group(1) if chosen else ""
    for name in re.findall(r'type="checkbox"[^>]*name="([^"]+)"[^>]*checked', text):
        fields[name] = "yes"
    return {k: v for k, v in fields.items() if k != "csrf"}


def number_of(fields, column):
    return next(k.split("-")[0] for k, v in fields.items() if k.endswith("-name") and v == column)


SMARTNOISE = """
clinic:
  public:
    visits:
      patient:
        type: string
        private_id: True
      age:
        type: int
        lower: 0
        upper: 110
      shoe_size:
        type: int
        lower: 20
        upper: 60
"""
FRICTIONLESS = {"fields": [
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110}},
    {"name": "shoe_size", "type": "integer", "constraints": {"minimum": 20, "maximum": 60}},
]}  # fmt: skip
CSVW = {"@context": "http://www.w3.org/ns/csvw", "url": "visits.csv", "tableSchema": {"columns": [
    {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 110}},
    {"name": "shoe_size", "datatype": {"base": "integer", "minimum": 20, "maximum": 60}},
]}}  # fmt: skip
DESCRIPTIONS = {
    "smartnoise": SMARTNOISE,
    "frictionless": json.dumps(FRICTIONLESS),
    "csvw": json.dumps(CSVW),
}


@pytest.mark.parametrize("form", DESCRIPTIONS)
@pytest.mark.parametrize("said", [True, False])
def test_a_description_of_another_tool_is_unconfirmed(own_running, form, said):
    if form == "smartnoise":
        pytest.importorskip("yaml")
    visitor, studio = own_running.enter(), own_running.studio
    before = form_of(go(visitor, "/d/visits/schema"))
    place = number_of(before, "age")
    fields = {"toml": DESCRIPTIONS[form], "form": form if said else ""}
    assert send(visitor, "/d/visits/import", fields).endswith("/schema")
    page = go(visitor, "/d/visits/schema")
    words = words_of(page)
    assert "imported and unconfirmed" in words
    assert "“shoe_size”: left out" in words
    assert "The description says nothing of" in words
    entries = form_of(page)
    assert [k for k in entries if k.endswith("-name")] == [k for k in before if k.endswith("-name")]
    age = [entries[f"{place}-{key}"] for key in ("low", "high", "source")]
    assert age == ["0", "110", "imported, unconfirmed"]
    assert "was imported and is not confirmed" in words
    assert 'name="digest"' not in page.text, "nothing can be frozen"
    # A person says where they know it from, and ignores the rest.
    known = {k: "the admission form" for k, v in entries.items() if v == "imported, unconfirmed"}
    assert f"{place}-source" in known
    send(visitor, "/d/visits/schema", {**entries, **known})
    assert "was imported and is not confirmed" not in words_of(go(visitor, "/d/visits/schema"))
    assert find_schema(studio, "visits") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "There is nothing to read"),
        ("{", "it is not JSON"),
        ('{"fields": []}', "This was not taken"),
        ("veilspan_schema = 99", "This was not taken"),
        ("<script>alert(1)</script>: [", "This was not taken"),
    ],
)
def test_what_cannot_be_read_stays_in_the_form(running, text, words):
    visitor = running.enter()
    answer = visitor.submit("/d/visits/import", {"toml": text})
    assert answer.status_code == 422
    assert words in words_of(answer)
    assert "<script>alert" not in answer.text
    kept = html.unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", answer.text, re.DOTALL)[1])
    assert kept == text


def test_a_description_by_text_is_what_the_page_takes(running, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("description.json").write_text(DESCRIPTIONS["frictionless"])
    page = go(running.enter(), "/d/visits/import")
    words = shlex.split(text_of(page, "command"))
    run(*words[1:])
    made = Schema.load(words[words.index("--out") + 1])
    assert made == read_pasted(DESCRIPTIONS["frictionless"])
    exec(compile(text_of(page, "python"), "as-python", "exec"), {})


def test_from_names_to_a_frozen_schema(own_running):
    visitor = own_running.enter()
    page = go(visitor, "/d/visits/schema")
    assert "where do you know it from" in page.text.lower()
    assert "Fill in the columns" in page.text
    assert "aria-invalid" not in page.text, "nobody has said anything yet"
    send(visitor, "/d/visits/schema", form_of(page))
    assert "still missing or wrong" in go(visitor, "/d/visits/schema").text
    # Somebody else's work is taken over by pasting it, then confirmed here.
    toml = make_visits(100).schema_toml.replace('"ward-visits"', '"visits"')
    send(visitor, "/d/visits/import", {"toml": toml})
    page = go(visitor, "/d/visits/schema")
    assert "still missing" not in page.text
    digest = re.search(r'name="digest" value="([0-9a-f]{64})"', page.text).group(1)
    send(visitor, "/d/visits/freeze", {"digest": "0" * 64})
    assert find_schema(own_running.studio, "visits") is None
    send(visitor, "/d/visits/freeze", {"digest": digest})
    assert find_schema(own_running.studio, "visits").digest == digest
    assert find_schema(own_running.studio, "visits") == Schema.from_toml(toml)
    send(visitor, "/d", {"name": "visits", "epsilon": "2", "delta": "1e-6"})
    assert own_running.studio.account("visits").terms().unit == "patient"


def test_what_is_wrong_is_kept_and_said_beside_its_entry(own_running):
    visitor = own_running.enter()
    page = go(visitor, "/d/ward/schema")
    fields = form_of(page)
    age = number_of(fields, "age")
    fields |= {f"{age}-low": "200", f"{age}-high": "old", f"{age}-source": ""}
    send(visitor, "/d/ward/schema", fields)
    page = go(visitor, "/d/ward/schema")
    assert 'value="old"' in page.text
    assert f'id="{age}-source-wrong"' in page.text
    assert "Freeze this schema" not in page.text
    assert own_running.studio.account("ward") is not None


def test_saving_what_is_there_changes_no_digest(own_running):
    visitor = own_running.enter()
    before = find_schema(own_running.studio, "ward").digest
    send(visitor, "/d/ward/schema", form_of(go(visitor, "/d/ward/schema")))
    page = go(visitor, "/d/ward/schema")
    assert before in page.text
    assert "frozen and in force" in page.text


def test_two_windows_lose_nothing(own_running):
    visitor = own_running.enter()
    fields = form_of(go(visitor, "/d/ward/schema"))
    send(visitor, "/d/ward/schema", {**fields, "about": "Base"})
    base = form_of(go(visitor, "/d/ward/schema"))
    age, sex = number_of(base, "age"), number_of(base, "sex")
    send(visitor, "/d/ward/schema", {**base, f"{age}-source": "From one window"})
    send(visitor, "/d/ward/schema", {**base, f"{sex}-source": "From another"})
    after = form_of(go(visitor, "/d/ward/schema"))
    assert after[f"{age}-source"] == "From one window"
    assert after[f"{sex}-source"] == "From another"
    send(visitor, "/d/ward/schema", {**base, f"{age}-source": "From a third"})
    page = go(visitor, "/d/ward/schema")
    assert "From one window" in words_of(page), "the other entry is named"


def test_merging_keeps_both():
    base = {"a": "1", "b": "1", "columns": {"x": {"s": "1"}}}
    mine = {"a": "2", "b": "1", "columns": {"x": {"s": "2"}}}
    theirs = {"a": "1", "b": "3", "columns": {"x": {"s": "3"}}}
    merged, clashes = merge(base, mine, theirs)
    assert merged == {"a": "2", "b": "3", "columns": {"x": {"s": "2"}}}
    assert clashes == ["x, s (the other entry was: 3)"]


def test_a_first_line_that_may_be_a_row_is_not_shown(tmp_path):
    from studio.running import run_studio
    from veilspan.studio.settings import Settings, Table

    (tmp_path / "rows.csv").write_text("Miller,1970-03-04,yes\nSmith,1980-01-01,no\n")
    tables = {"rows": Table("rows", str(tmp_path / "rows.csv"))}
    settings = Settings(tmp_path / "s", str(tmp_path / "b.db"), tmp_path / "k", tables)
    with run_studio(settings) as found:
        answer = go(found.enter(), "/d/rows/schema", expect=409)
        assert "may be a row" in words_of(answer)
        assert "Miller" not in answer.text


def test_a_table_that_is_gone_is_said_plainly(tmp_path):
    from studio.running import run_studio
    from veilspan.studio.settings import Settings, Table

    tables = {"gone": Table("gone", str(tmp_path / "gone.csv"))}
    settings = Settings(tmp_path / "s", str(tmp_path / "b.db"), tmp_path / "k", tables)
    with run_studio(settings) as found:
        visitor = found.enter()
        go(visitor, "/")
        assert "does not exist" in words_of(go(visitor, "/d/gone/schema", expect=409))


def test_a_first_line_is_shown_once_somebody_answers_for_it(tmp_path):
    """It may be a person's row that looks like names; a word for one line is for no other."""
    from studio.running import run_studio
    from veilspan.studio.settings import Settings, Table

    file = tmp_path / "rows.csv"
    file.write_text("Anna Schmidt,female,diabetes\nBo Li,male,asthma\n")
    tables = {"rows": Table("rows", str(file))}
    settings = Settings(tmp_path / "s", str(tmp_path / "b.db"), tmp_path / "k", tables)
    with run_studio(settings) as found:
        visitor = found.enter()
        for path in ("/", "/d/rows", "/d/rows/schema"):
            assert "Schmidt" not in go(visitor, path).text
        assert "Does rows begin with names?" in words_of(go(visitor, "/d/rows/schema"))
        for path in ("schema", "import", "freeze"):
            toml = make_visits(100).schema_toml
            answer = visitor.submit(f"/d/rows/{path}", {"toml": toml, "digest": "0"})
            assert answer.status_code == 409
            assert "Schmidt" not in answer.text
        send(visitor, "/d/rows/names", {"names": ""})
        assert "Schmidt" not in go(visitor, "/d/rows/schema").text
        file.write_text("name,sex,illness\nAnna Schmidt,female,diabetes\n")
        send(visitor, "/d/rows/names", {"names": "yes"})
        assert "illness" in go(visitor, "/d/rows/schema").text
        file.write_text("Anna Schmidt,female,diabetes\n")
        assert "Schmidt" not in go(visitor, "/d/rows/schema").text
    with run_studio(settings) as again:
        file.write_text("name,sex,illness\nAnna Schmidt,female,diabetes\n")
        assert "illness" in go(again.enter(), "/d/rows/schema").text, "said once, kept"
