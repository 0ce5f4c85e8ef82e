"""The whole command line: its help, how quickly it starts, and shell completion."""

import os
import subprocess
import sys

import pytest

from cli.commands import run
from veilspan import __version__

COMMANDS = {
    "Start here:": ["demo", "studio", "datasets", "schema", "plan"],
    "Work:": ["profile", "fit", "transform", "predict", "recommend", "export"],
    "Check:": ["inspect", "report", "verify", "audit", "ledger"],
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
    words = [command, *{"ledger": ["create"], "schema": ["init"]}.get(command, [])]
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


def test_version_and_help():
    assert __version__ in run("--version").out
    assert "demo" in run("--help").out
