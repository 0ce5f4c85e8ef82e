"""First lines and control characters: no row becomes names in silence, no text runs a terminal."""

import ast
import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veilspan.cli
from cli.commands import refused, run, write_csv
from veilspan import PCA
from veilspan._printable import printable
from veilspan.cli.io.tables import read_table
from veilspan.releases import load

SECRET = "Karoline"
RED = "\x1b[31m"
ROWS = np.random.default_rng(0).standard_normal((20, 3))


def error_of(path, text, **options):
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        read_table(str(path), **options)
    assert SECRET not in str(caught.value)
    return str(caught.value)


# First lines.


@pytest.mark.parametrize(
    "first", [f"{SECRET},NA", f"{SECRET},2020-01-31", f"{SECRET},12:30", f"{SECRET},?", "yes,no",
              f"{SECRET},$ 5", f"{SECRET},-", f"{SECRET},180cm", "73519kg,180cm", "<LOD73519,ND",
              "0x73519,0x12"]
)  # fmt: skip
def test_a_first_row_of_text_is_not_taken_for_names(first, tmp_path):
    said = error_of(tmp_path / "a.csv", f"{first}\n1,2\n3,4\n")
    assert said.startswith("the first line of a.csv holds what may be values of a row")
    assert said.endswith("say --header if it names the columns, --no-header if it is a row.")


@pytest.mark.parametrize("header", [None, True])
@pytest.mark.parametrize(
    "text", ['a,"b\n73519,2\n0.5,"0.6"\n1,2\n', '"a\n73519",b\n1,2\n3,4\n', 'a,"b\r73519"\n1,2\n']
)
def test_a_quote_that_stays_open_publishes_no_row(text, header, tmp_path):
    said = error_of(tmp_path / "a.csv", text, header=header)
    assert "73519" not in said
    assert "a quote that stays open" in said


def test_a_cell_of_the_first_line_is_not_quoted_beside_cells_like_it(tmp_path):
    """In a column of texts, the first line looks like every other."""
    said = error_of(tmp_path / "a.csv", f"{SECRET},Ulm\nPaul,2\nAnna,3\n")
    assert "in column 1 (the first is 1; --header allows their names)" in said
    wide = ",".join([SECRET] + [f"t{i}" for i in range(20)])
    said = error_of(tmp_path / "a.csv", f"{wide}\n{'1,' + 'x,' * 19}x\n")
    assert "in column 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, ... (the first is 1" in said


def test_what_the_first_line_is_can_be_said(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("2019,2020\n1,2\n3,4\n")
    assert read_table(str(path)).rows.tolist() == [[2019, 2020], [1, 2], [3, 4]]
    assert read_table(str(path), header=False).rows.tolist() == [[2019, 2020], [1, 2], [3, 4]]
    named = read_table(str(path), header=True)
    assert (named.names, named.rows.tolist()) == (("2019", "2020"), [[1, 2], [3, 4]])
    said = error_of(path, f"{SECRET},Ulm\nPaul,2\n", header=False)
    assert said.startswith("a.csv holds text, not numbers, in 0, 1: leave ids out")
    path.write_text("name,age\nPaul,2\n")
    with pytest.raises(ValueError, match="not numbers, in name: leave ids out"):
        read_table(str(path), header=True)
    with pytest.raises(ValueError, match="has no column 'x'; it has name, age"):
        read_table(str(path), header=True, columns=["x"])
    np.save(tmp_path / "a.npy", ROWS)
    with pytest.raises(ValueError, match=r"are for CSV files, which a\.npy is not"):
        read_table(str(tmp_path / "a.npy"), header=True)


def test_the_commands_take_it(tmp_path):
    path = write_csv(tmp_path / "a.csv", ROWS, ["2019", "2020", "2021"])
    result = run("fit", "pca", path, "--out", tmp_path / "r", "--header", "--json").json
    assert result["columns"] == ["2019", "2020", "2021"]
    assert load(tmp_path / "r").plan_.n_rows == 20
    run("transform", tmp_path / "r", path, "--header", "--out", tmp_path / "z.npy")
    assert np.load(tmp_path / "z.npy").shape == (20, 3)
    shown = run("fit", "pca", path, "--out", tmp_path / "s", "--no-header", "--json").json
    assert shown["columns"] is None
    assert load(tmp_path / "s").plan_.n_rows == 21
    (tmp_path / "r.csv").write_text("\n".join(f"{u},{i},5" for u in range(9) for i in range(3)))
    words = (
        "fit",
        "recommend",
        tmp_path / "r.csv",
        "--items",
        "observed",
        "-p",
        "rating_range=1,5",
    )
    more = ("--columns", "0,1,2", "--no-header", "--out", tmp_path / "shop")
    run(*words, *more)
    run("recommend", tmp_path / "shop", tmp_path / "r.csv", *more[:3])


def test_names_that_go_into_a_release_are_said(tmp_path):
    path = write_csv(tmp_path / "a.csv", ROWS, "abc")
    shown = run("fit", "pca", path, "--out", tmp_path / "r").out
    assert "Learned from the columns a, b, c: their names are part of the release." in shown


def test_a_hundred_thousand_columns(tmp_path):
    """Seconds; a reader that looks for each name in the list of all takes minutes."""
    names = [f"c{i}" for i in range(100_000)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n")
    table = read_table(str(path), columns=names[::-1][1:], target="c99999")
    assert table.rows.shape == (1, 99_999)
    assert table.names[0] == "c99998"


# Control characters.


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
    assert r"empty cells in x\x1b[31m" in shown("fit", "pca", path, "--out", RED, expect=1)
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
