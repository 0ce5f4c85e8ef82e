"""``veilspan profile`` end to end: from a CSV and a schema to a release with its page."""

import json

import pytest

from cli.commands import run
from veilspan import load
from veilspan.datasets import make_ward


@pytest.fixture
def ward(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_ward(800).save("ward.csv", "ward.toml")
    return tmp_path


def test_from_a_file_to_a_page(ward):
    words = ("profile", "ward.csv", "--schema", "ward.toml", "--epsilon", "1", "--out", "release")
    result = run(*words, "--crosstab", "sex,ward", "--mean-by", "age,ward")
    assert "Profile of ward: 800 people" in result.out
    assert "Counted age, creatinine, sex" in result.out
    assert "age by ward" in result.out
    profile = load("release")
    assert profile.crosstabs == [("sex", "ward")]
    assert "At a glance" in (ward / "release" / "report.html").read_text()
    assert "--force" in run(*words, expect=1).err


def test_json_has_every_number(ward):
    words = ("profile", "ward.csv", "--schema", "ward.toml", "--out", "release", "--json")
    said = json.loads(run(*words, "--columns", "age,sex", "--quantiles", "0.5").out)
    assert [column["name"] for column in said["profile"]["columns"]] == ["age", "sex"]
    assert len(said["profile"]["columns"][0]["quantiles"]) == 1
    assert said["privacy"]["epsilon"] == pytest.approx(1.0)


def test_a_ledger_is_charged_and_the_same_command_gives_it_again(ward):
    run(
        "ledger", "create", "budget.db", "ward", "--epsilon", "1.2", "--delta", "1e-6",
        "--unit", "patient",
    )  # fmt: skip
    words = ("profile", "ward.csv", "--schema", "ward.toml", "--ledger", "budget.db")
    run(*words, "--out", "one")
    run(*words, "--out", "two", "--columns", "age", expect=4)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--out", "o"), "schema init"),
        (("--out", "o", "--schema", "ward.toml", "--crosstab", "sex"), "two columns with a comma"),
        (("--out", "o", "--schema", "ward.toml", "--quantiles", "half"), "numbers with commas"),
        (("--out", "o", "--schema", "ward.toml", "--columns", "aeg"), "Did you mean"),
        (("--out", "o", "--schema", "ward.toml", "--bins", "0"), "bins must be"),
    ],
)
def test_mistakes_are_sentences_before_anything_is_read(ward, words, said):
    result = run("profile", "ward.csv", *words, expect=1)
    assert said in result.err
    assert not (ward / "o").exists()


def test_the_plan_says_how_exact_it_will_be(ward):
    result = run("plan", "profile", "--schema", "ward.toml")
    assert "a share is known to: ± " in result.out


def test_other_commands_say_what_a_profile_is_not_for(ward):
    run("profile", "ward.csv", "--schema", "ward.toml", "--out", "release")
    assert (
        "describes a table"
        in run("transform", "release", "ward.csv", "--out", "x.csv", expect=1).err
    )
    assert "--schema" in run("fit", "profile", "ward.csv", "--out", "p", expect=1).err
    run("report", "release", "--title", "Trial")
