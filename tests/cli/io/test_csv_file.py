"""CSV files: no row becomes names in silence, and no error quotes a cell."""

import numpy as np
import pytest

from cli.commands import run, write_csv
from veilspan.cli.io.ratings import read_ratings
from veilspan.cli.io.tables import read_table
from veilspan.releases import load

SECRET = "Karoline"
ROWS = np.random.default_rng(0).standard_normal((20, 3))


def error_of(path, text, **options):
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        read_table(str(path), **options)
    assert SECRET not in str(caught.value)
    return str(caught.value)


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
    assert said.startswith("a.csv holds text, not numbers, in 0, 1: texts, categories, dates and")
    assert "(veilspan schema init a.csv --out schema.toml, then --schema schema.toml)" in said
    assert said.endswith("; or leave them out by --columns.")
    path.write_text("name,age\nPaul,2\n")
    with pytest.raises(ValueError, match="not numbers, in name: texts, categories"):
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


@pytest.mark.parametrize("first", [f"{SECRET},1.5,2", f"1.5,2,{SECRET}", "1.5,,2"])
def test_a_first_row_of_data_is_not_taken_for_names(first, tmp_path):
    said = error_of(tmp_path / "a.csv", f"{first}\nPaul,2,3\n")
    assert said == (
        "the first line of a.csv mixes numbers and text: say --header if it names the columns, "
        "--no-header if it is a row."
    )


def test_a_first_line_that_may_be_a_row_is_not_quoted(tmp_path):
    text = f"{SECRET},Ulm\nPaul,Bonn\n"
    assert error_of(tmp_path / "a.csv", text).startswith("a.csv holds no numbers: texts, categor")
    said = error_of(tmp_path / "a.csv", text, columns=["x"])
    assert said == (
        "a.csv has no column 'x'; its first line has 2 names, and --header allows to list them."
    )


@pytest.mark.parametrize("columns", [None, ["x"], ["x", "y"]])
@pytest.mark.parametrize("line", ["1,2,3,4", "1,2"])
def test_ragged_lines_are_refused_whatever_is_read(columns, line, tmp_path):
    text = f"x,y,z\n1,2,3\n{line}\n"
    said = error_of(tmp_path / "a.csv", text, columns=columns)
    assert said.startswith("the lines of a.csv have different numbers of cells")
    said = error_of(tmp_path / "a.csv", text, columns=["x"], target="y")
    assert said.startswith("the lines of a.csv have different numbers of cells")


def test_records_are_counted_as_csv_counts_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('\n\n"size, cm",y\n1,2\n\n"3"," 4 "\n')
    found = read_table(str(path))
    assert found.names == ("size, cm", "y")
    assert found.rows.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x,y\n1,\N{FULLWIDTH DIGIT TWO}\n", "a.csv could not be read as a table of numbers."),
        ('x,y\n1,"2\x1f3"\n', "a.csv holds text, not numbers, in column 2 (the first is 1"),
        ('x,y\n1,"2,3"\n', "a.csv writes numbers with a decimal comma in column 2 (the first"),
        ('x,y\n1,"2,3"\n2,oh\n', "a.csv holds text, not numbers, in column 2 (the first is 1"),
        ('x\n1\n""\n2\n', "a.csv has cells that are empty or say NA in x: texts, categories,"),
        ("x\n1\nN/A\n2\n", "a.csv has cells that are empty or say NA in x: texts, categories,"),
    ],
)
def test_what_is_wrong_with_a_table_is_told_rightly(text, sentence, tmp_path):
    assert error_of(tmp_path / "a.csv", text).startswith(sentence)


def test_columns_that_are_named_twice(tmp_path):
    said = error_of(tmp_path / "a.csv", "x,y\n1,2\n3,4\n", columns=["x", "x"])
    assert said == "--columns names a column twice."
    (tmp_path / "r.csv").write_text("user,item,rating\n1,2,3\n")
    with pytest.raises(ValueError, match="names a column twice"):
        read_ratings(str(tmp_path / "r.csv"), None, "user,user,rating")
