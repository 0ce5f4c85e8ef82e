"""The progress bar: drawn where somebody looks, on the error stream only, obeying no file name."""

import subprocess
import sys

import pytest

from veilspan._progress import round_down, show_progress, track_progress, watch_rows


def test_steps_are_counted_and_named(terminal, capsys):
    with terminal() as stream, show_progress("starting", 3) as bar:
        for name in ("one", "two"):
            bar.describe(f"step {name}")
            bar.advance()
    shown = stream.getvalue()
    assert "step two" in shown
    assert "2/3" in shown
    assert capsys.readouterr().out == ""


def test_work_that_counts_itself_gets_a_new_bar_for_each_label(terminal):
    with terminal() as stream, show_progress("starting", 1) as bar:
        bar.show("replay", 2, 2)
        bar.show("game", 1, 40)
    shown = stream.getvalue()
    assert "game" in shown
    assert "1/40" in shown


def test_what_cannot_be_counted_has_a_clock(terminal):
    with terminal() as stream, show_progress("reading table.csv"):
        pass
    assert "reading table.csv" in stream.getvalue()
    assert "0:00:00" in stream.getvalue()


@pytest.mark.parametrize("total", [None, 2])
def test_a_label_is_text(terminal, total):
    """Names of files may hold brackets and what a terminal would obey."""
    with terminal() as stream, show_progress("a[red]{b}\x1b[2Jc", total):
        pass
    assert r"a[red]{b}\x1b[2Jc" in stream.getvalue()


def test_a_loop_keeps_its_items_and_its_errors(terminal):
    with terminal() as stream:
        assert list(track_progress(iter("abc"), "spelling")) == ["a", "b", "c"]
    assert "3/3" in stream.getvalue()

    def stumble():
        for item in track_progress("abc", "spelling"):
            raise KeyError(item)

    with terminal(), pytest.raises(KeyError, match="a"):
        stumble()


BATCHES = [{"a": range(70_000)}, {"a": range(52_345)}]


def test_rows_are_counted_roughly_where_somebody_looks(terminal, monkeypatch):
    """Two digits of the count and of the rate; nothing that tells one row more from one less."""
    clock = iter([0.0, 1.0, 2.0, *[3.0] * 1000])
    with terminal() as stream, show_progress("fitting pca"):
        monkeypatch.setattr("veilspan._progress.time.monotonic", lambda: next(clock))
        walk = watch_rows(BATCHES)
        assert next(walk) is BATCHES[0]
        assert next(walk) is BATCHES[1]
        _flush()
        seen = stream.getvalue()
        assert list(walk) == []
        _flush()
    assert "70,000 rows read, 70,000 a second" in seen
    assert "122" not in stream.getvalue()
    assert "120,000 rows" not in stream.getvalue().rsplit("fitting pca", 1)[-1]


def _flush():
    """Wait until a bar, which is drawn ten times a second, was drawn again."""
    import time

    time.sleep(0.25)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (7, "7"), (99.9, "99"), (123, "120"), (4_000_001, "4,000,000"), (-1, "0")],
)
def test_numbers_are_rounded_down(number, text):
    assert round_down(number) == text


@pytest.mark.parametrize("quiet", [True, False])
def test_rows_are_not_counted_elsewhere(terminal, quiet):
    """Neither outside a command's bar, nor where it is quiet, nor where nobody looks."""
    with terminal() as stream:
        assert list(watch_rows(BATCHES)) == BATCHES
        with show_progress("fitting", quiet=quiet):
            pass
        assert list(watch_rows(BATCHES)) == BATCHES
        with show_progress("fitting", quiet=True):
            assert list(watch_rows(BATCHES)) == BATCHES
    assert "rows" not in stream.getvalue()


def test_a_fit_in_python_says_nothing_of_rows(terminal):
    from veilspan import PCA
    from veilspan.datasets import make_ward

    ward = make_ward(50, random_state=0)
    with terminal() as stream:
        PCA(2, schema=ward.schema).fit(ward.columns)
    assert stream.getvalue() == ""


def test_quiet_draws_nothing(terminal):
    with terminal() as stream:
        with show_progress("simulating", 3, quiet=True) as bar:
            bar.advance()
        assert list(track_progress("ab", "spelling", quiet=True)) == ["a", "b"]
    assert stream.getvalue() == ""


def test_nothing_is_drawn_or_imported_where_nobody_looks():
    code = (
        "import sys\nfrom veilspan._progress import show_progress, track_progress, watch_rows\n"
        "with show_progress('a', 2) as bar:\n"
        "    bar.describe('b'); bar.advance(); bar.show('c', 1, 2)\n"
        "    assert list(watch_rows([{'a': 'bc'}])) == [{'a': 'bc'}]\n"
        "assert list(track_progress('ab', 'd')) == ['a', 'b']\n"
        "print(sorted({'rich', 'numpy', 'typer'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("[]\n", "")
