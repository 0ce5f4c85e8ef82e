"""Text stays text, whatever it is."""

from html import unescape
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from veilspan.reports.html import Html, escape, join, table, tag
from veilspan.reports.numbers import number, percent, percent_up


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.found, self.words = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, attributes))

    def handle_data(self, data):
        self.words += data


@given(st.text(), st.text())
def test_no_text_becomes_a_tag_or_leaves_its_attribute(inside, value):
    page = Tags(tag("p", inside, title=value))
    ((name, attributes),) = page.found
    assert name == "p"
    assert [key for key, _ in attributes] == ["title"]
    assert page.words == unescape(escape(inside))


@given(st.text())
def test_every_text_can_be_written_as_utf8(text):
    escape(text).encode()


def test_invisible_characters_show():
    assert escape("a\u202eb\x00c\ud800d") == "a\ufffdb\ufffdc\ufffdd"
    assert escape("می\u200cخواهم\n") == "می\u200cخواهم\n"


def test_markup_is_not_escaped_twice():
    assert tag("b", tag("i", "a & b")) == "<b><i>a &amp; b</i></b>"
    assert join(["<", Html("<br>")], " & ") == "&lt; &amp; <br>"


def test_attributes():
    assert (
        tag("meta", charset="utf-8", hidden=True, id=None, x=False)
        == '<meta charset="utf-8" hidden>'
    )
    assert tag("line", x1=1.0, y1=-0.001, class_="a", stroke_width=2.126) == (
        '<line x1="1" y1="0" class="a" stroke-width="2.13"></line>'
    )


def test_rows_of_tables_are_headed():
    made = table(("name", "value"), [("<a>", 1)], caption="Values", numeric=(1,))
    assert '<th scope="row">&lt;a&gt;</th><td class="number">1</td>' in made
    assert "<caption>Values</caption>" in made


@given(st.floats(1e-12, 1.0))
def test_bounds_are_rounded_up(share):
    shown = percent_up(share)
    value = _read(shown)
    assert value >= 100 * share * (1 - 1e-8)
    assert value <= min(100.0, 100 * share * 1.011)


def test_round_bounds_stay_round():
    assert [_read(percent_up(x)) for x in (0.0, 0.001, 0.1, 0.57, 1.0, 2.0)] == [
        0.0, 0.1, 10.0, 57.0, 100.0, 100.0,
    ]  # fmt: skip


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_can_be_read_back(value):
    assert abs(_read(number(value, 6)) - value) <= 5e-6 * abs(value)


def test_numbers_that_are_none():
    assert [number(x) for x in (float("inf"), float("-inf"), float("nan"))] == [
        "∞", "−∞", "not a number",
    ]  # fmt: skip
    assert percent(0.255).startswith("25.5")


def _read(shown):
    """The number that a person reads."""
    plain = shown.replace("\u202f", "").replace("%", "").replace("−", "-")
    digits = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    mantissa, times, power = plain.partition("×10")
    if times:
        return float(f"{mantissa}e{power.translate(digits)}")
    if any(letter in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹" for letter in plain):
        sign, _, power = plain.partition("10")
        return float(f"{sign}1e{power.translate(digits)}")
    return float(plain)
