"""Exit codes, and what an error may say."""

import json
import warnings

import pytest

from cli.commands import refused, run
from veilspan.cli import datasets as datasets_command
from veilspan.cli import main
from veilspan.cli.console import spell_parameters
from veilspan.privacy.errors import BudgetExceededError, RareClassWarning

SECRET = "Karoline"


def failing(error):
    def command(**_):
        raise error

    return command


def test_unexpected_errors_say_only_their_type(monkeypatch):
    secret = "row 17: Karoline"
    for error in (ZeroDivisionError(secret), KeyError(secret), AssertionError(secret)):
        monkeypatch.setattr(datasets_command, "show_generators", failing(error))
        said = refused("datasets")
        assert said == f"unexpected: {type(error).__name__}; run again with --debug."


def test_sentences_that_are_not_ours_are_not_shown(monkeypatch):
    """NumPy and others quote the cell that they cannot read."""

    def foreign(**_):
        json.loads("Karoline")

    monkeypatch.setattr(datasets_command, "show_generators", foreign)
    said = refused("datasets")
    assert said == "unexpected: JSONDecodeError; run again with --debug."


def test_debug_shows_the_traceback_wherever_it_stands(monkeypatch):
    monkeypatch.setattr(datasets_command, "show_generators", failing(ZeroDivisionError("why")))
    for words in (["--debug", "datasets"], ["datasets", "--debug"]):
        with pytest.raises(ZeroDivisionError, match="why"):
            main(words)
    with pytest.raises(SystemExit) as ended:  # what the parser says needs no traceback
        main(["datasets", "--nonsense", "--debug"])
    assert ended.value.code == 2


def test_errors_as_json():
    result = run("datasets", "iris", "--json", expect=1)
    said = json.loads(result.err)
    assert said["exit_code"] == 1
    assert said["error"].startswith("unknown dataset 'iris'")
    said = json.loads(run("datasets", "--nonsense", "--json", expect=2).err)
    assert said["exit_code"] == 2
    assert "No such option" in said["error"]


def test_exit_codes(monkeypatch):
    # Raised here, outside of veilspan, so its text is not shown; the code tells what it is.
    error = BudgetExceededError("too much")
    monkeypatch.setattr(datasets_command, "show_generators", failing(error))
    run("datasets", expect=4)
    monkeypatch.setattr(datasets_command, "show_generators", failing(KeyboardInterrupt()))
    assert run("datasets", expect=130).err == "veilspan: stopped.\n"
    said = json.loads(run("datasets", "--json", expect=130).err)
    assert said == {"error": "stopped.", "exit_code": 130}
    run("nonsense", expect=2)
    said = json.loads(run("fit", "nope", "a.csv", "--out", "r", "--json", expect=2).err)
    assert "unknown kind 'nope'; known are pca" in said["error"]
    run(expect=2)  # without a word: the help


def test_files_that_cannot_be_opened_are_named(tmp_path):
    said = refused("fit", "pca", tmp_path, "--out", tmp_path / "r")
    assert "holds no parquet files" in said or "Dask" in said
    (tmp_path / "a.csv").mkdir()
    refused("fit", "pca", tmp_path / "a.csv", "--out", tmp_path / "r")
    said = refused("datasets", "spd", "--out", tmp_path / "a.csv" / ".." / "nothing" / ".." / "x.y")
    assert "must end in" in said


def test_texts_of_compiled_code_are_not_shown(monkeypatch):
    """They come from a line of veilspan, but not from a ``raise``."""

    def compiled(**_):
        exec(f"float({SECRET!r})", {"__name__": "veilspan.cli.datasets"})

    monkeypatch.setattr(datasets_command, "show_generators", compiled)
    assert refused("datasets") == "unexpected: ValueError; run again with --debug."


def test_warnings_say_parameters_as_they_are_said_here(monkeypatch):
    said = 'fit with threshold="f1", or class_weight="balanced", or class_weight="balanced"'
    spelled = " (On the command line: -p threshold=f1, -p class_weight=balanced.)"
    assert spell_parameters(said) == spelled
    assert spell_parameters("say feature_range=(lo, hi)") == (
        " (On the command line: -p feature_range=lo,hi.)"
    )
    assert "--neighbors add-remove" in spell_parameters('say neighbors="add-remove"')
    assert spell_parameters('epsilon=1 and say role = "ignore"') == ""

    def warn(**_):
        warnings.warn(said, RareClassWarning, stacklevel=1)

    monkeypatch.setattr(datasets_command, "show_generators", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert run("datasets").err.strip() == f"veilspan: note: {said}{spelled}"
