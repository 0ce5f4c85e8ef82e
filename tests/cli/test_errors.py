"""The tour, start-up, exit codes, and what an error may say."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from cli.commands import refused, run
from veilspan.cli import datasets as datasets_command
from veilspan.cli import main
from veilspan.privacy.errors import BudgetExceededError

COMMANDS = {
    "Start here:": ["demo", "datasets", "plan"],
    "Work:": ["fit", "transform", "recommend"],
    "Check:": ["report", "audit", "ledger"],
    "Evidence:": ["reproduce"],
}
NOT_FOR_HELP = (
    "numpy", "scipy", "sklearn", "matplotlib", "pandas", "dask", "dp_accounting", "rich.markdown",
    "pygments", "markdown_it",
)  # fmt: skip


def test_help_reads_like_a_tour(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    lines = run("--help").out.splitlines()
    place = 0
    for title, commands in COMMANDS.items():
        place = lines.index(title, place)
        shown = [line.split()[0] for line in lines[place + 1 :][: len(commands)]]
        assert shown == commands, f"each of {title} fits in one line, in this order"
    text = "\n".join(lines)
    assert "Exit codes:" in text
    for code in ("  0  done", "  4  the budget does not cover", "130  stopped by Ctrl-C"):
        assert code in text
    assert "--install-completion" in text


@pytest.mark.parametrize("command", [c for group in COMMANDS.values() for c in group])
def test_every_command_has_help_and_json(command):
    words = [command, "create"] if command == "ledger" else [command]
    text = run(*words, "--help").out
    assert "--json" in text
    assert text.startswith(f"Usage: veilspan {command}")


def modules_after(*words):
    code = (
        "import sys\nfrom veilspan.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=120
    )
    return set(result.stderr.split())


@pytest.mark.parametrize("words", [("--help",), ("fit", "--help"), ("--version",)])
def test_help_loads_nothing_heavy(words):
    loaded = modules_after(*words)
    assert "veilspan.cli.app" in loaded
    assert sorted(loaded & set(NOT_FOR_HELP)) == []
    assert len(loaded) < 600


def test_a_wrong_word_loads_nothing_heavy():
    assert "sklearn" not in modules_after("fit", "nope", "a.csv", "--out", "b")


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


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_ends_with_130_and_leaves_nothing(tmp_path):
    code = "from veilspan.cli import main; main()"
    words = ["datasets", "genes", "--rows", "200000", "--columns", "3000", "--out", "g.csv"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    # Once its memory grows, NumPy is loaded and the table is being made.
    while time.monotonic() < deadline and _resident(process.pid) < 150:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def _resident(pid):
    """Megabytes in memory."""
    try:
        with open(f"/proc/{pid}/statm") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (FileNotFoundError, IndexError, ValueError):
        return 1e9


def test_completion_knows_the_commands_and_kinds():
    def complete(line):
        result = subprocess.run(
            [sys.executable, "-c", "from veilspan.cli import main; main()"],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "_VEILSPAN_COMPLETE": "complete_bash", "COMP_WORDS": line,
                 "COMP_CWORD": str(len(line.split()))},
        )  # fmt: skip
        return result.stdout.split()

    assert {"fit", "plan", "ledger"} <= set(complete("veilspan "))
    assert complete("veilspan fit ")[:2] == ["pca", "robust-pca"]
