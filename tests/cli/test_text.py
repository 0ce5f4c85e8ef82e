"""Control characters: no text that came from a file runs a terminal."""

import ast
import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veilspan.cli
from cli.commands import refused, run
from veilspan import PCA
from veilspan._printable import printable

SECRET = "Karoline"

RED = "\x1b[31m"

ROWS = np.random.default_rng(0).standard_normal((20, 3))


@given(st.text())
def test_what_is_printed_can_be_printed(text):
    shown = printable(text)
    assert shown.isprintable()
    assert (shown == text) == text.isprintable()
    kept = printable(text, lines=True)
    assert all(part.isprintable() for part in kept.split("\n"))
    assert not any(unicodedata.category(letter).startswith("C") for letter in shown)


def test_escapes_say_what_was_there():
    assert printable(f"{RED}x\u202ey\udc80\n") == r"\x1b[31mx\u202ey\udc80\n"
    assert printable("a\nb\rc", lines=True) == "a\nb\\rc"
    assert printable("größe") == "größe"


def shown(*words, expect=0):
    result = run(*words, expect=expect)
    for text in (result.out, result.err):
        assert all(part.isprintable() for part in text.split("\n")), repr(text)
    return result.out + result.err


def test_no_control_character_of_a_file_reaches_the_terminal(tmp_path):
    path = tmp_path / f"a{RED}.csv"
    path.write_text(f"x{RED},y\n1,2\n3,4\n")
    text = shown("fit", "pca", path, "--out", tmp_path / f"r{RED}")
    assert r"Learned from the columns x\x1b[31m, y" in text
    shown("transform", tmp_path / f"r{RED}", path, "--out", tmp_path / f"z{RED}.csv")
    shown("transform", tmp_path / f"r{RED}", path, "--out", tmp_path / "z.csv", "--columns", RED,
          expect=1)  # fmt: skip
    path.write_text(f"x{RED},y\nnan,2\n3,4\n")
    assert r"infinite numbers in x\x1b[31m" in shown("fit", "pca", path, "--out", RED, expect=1)
    path.write_text(f"x{RED},y\n,2\n3,4\n")
    assert r"empty or say NA in x\x1b[31m" in shown("fit", "pca", path, "--out", RED, expect=1)
    shown("fit", f"pca{RED}", path, "--out", RED, expect=2)
    shown("fit", "pca", path, f"--{RED}", expect=2)
    shown("datasets", RED, expect=1)
    shown(RED, expect=2)


def test_no_control_character_of_a_rating_reaches_the_terminal(tmp_path):
    path = tmp_path / "r.csv"
    lines = [
        f"ann{RED}{user},film{RED}{item},{1 + item % 5}" for user in range(9) for item in range(4)
    ]
    path.write_text("\n".join(["user,item,rating", *lines]))
    words = ("-p", "rating_range=1,5", "--items", "observed")
    shown("fit", "recommend", path, "--out", tmp_path / "shop", *words)
    (tmp_path / "one.csv").write_text(f"user,item,rating\nann{RED},film{RED}0,5\n")
    text = shown("recommend", tmp_path / "shop", tmp_path / "one.csv")
    assert r"ann\x1b[31m: film\x1b[31m" in text


def test_no_control_character_of_a_statement_reaches_the_terminal(tmp_path):
    record = PCA(1, epsilon=np.inf).fit(ROWS).privacy_.to_dict()
    record["why_not_private"] = f"because{RED}\n\x07"
    (tmp_path / "s.json").write_text(json.dumps(record))
    text = shown("report", tmp_path / "s.json", "--out", tmp_path / "page.html")
    assert r"NOT PRIVATE: because\x1b[31m\n\x07" in text
    record["epsilon"] = -1
    (tmp_path / "s.json").write_text(json.dumps(record))
    said = refused("report", tmp_path / "s.json", "--out", tmp_path / "page.html")
    assert said.endswith("holds no whole statement of a release.")


CLI = Path(veilspan.cli.__file__).parent

#: Where the one way to print is.
CONSOLE = CLI / "console.py"


@pytest.mark.parametrize(
    "path",
    [path for path in CLI.rglob("*.py") if path != CONSOLE],
    ids=lambda path: str(path.relative_to(CLI)),
)
def test_commands_print_by_one_function(path):
    """``say``, ``note`` and ``print_json`` of console.py; tables of rich hold our own words."""
    calls = [
        node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
    ]
    names = {call.id for call in calls if isinstance(call, ast.Name)}
    parts = {call.attr for call in calls if isinstance(call, ast.Attribute)}
    assert "print" not in names
    assert not parts & {"echo", "secho"}
