"""The page of a profile: whole, offline, escaped, the same for the same release."""

import re

import pytest

from veilspan import Profile, Schema
from veilspan.datasets import make_ward
from veilspan.reports import report_html

WARD = make_ward(2000)


@pytest.fixture(scope="module")
def profile():
    return Profile(
        epsilon=1.0,
        schema=WARD.schema,
        crosstabs=[("sex", "ward")],
        means_by=[("age", "ward")],
    ).fit(WARD.columns)


@pytest.fixture(scope="module")
def page(profile):
    return report_html(profile)


def test_everything_is_on_it(page, profile):
    for words in ("At a glance", "Correlations", "sex × ward", "age by ward", "What is promised"):
        assert words in page
    for name in profile.column_names:
        assert f"<h3>{name}</h3>" in page
    assert page.count("<svg") > 15
    assert "veilspan · private profile" in page.lower()


def test_it_loads_nothing_and_repeats(page, profile):
    assert "http://" not in page
    assert "https://" not in page
    assert " style=" not in page
    assert report_html(profile) == page


def test_ids_are_unique_and_links_lead_somewhere(page):
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for link in re.findall(r'href="#([^"]+)"', page):
        assert link in ids


def test_numbers_are_numbers(page):
    assert "nan" not in re.sub(r"<style>.*?</style>", "", page, flags=re.S).lower().split()
    assert 'height="-' not in page
    assert 'width="-' not in page


def test_names_are_escaped():
    toml = """
veilspan_schema = 1
name = "<script>"
[columns."<b>x"]
type = "category"
categories = ["<i>a", "b&c"]
other = true
source = "made up"
"""
    profile = Profile(schema=Schema.from_toml(toml)).fit({"<b>x": ["<i>a", "b&c"] * 50})
    for text in (report_html(profile), profile._repr_html_()):
        assert "<b>x" not in text
        assert "<i>a" not in text
        assert "&lt;b&gt;x" in text


def test_a_simulation_says_so_first():
    with pytest.warns(UserWarning, match="simulation"):
        profile = Profile(schema=WARD.schema, random_state=0).fit(WARD.columns)
    page = report_html(profile)
    assert "NOT PRIVATE" in page[: page.index("At a glance")]
    assert "NOT PRIVATE" in profile._repr_html_()


def test_bounds_that_cut_are_told_in_plain_words():
    toml = WARD.schema_toml.replace("range  = [0, 110]", "range  = [50, 60]").replace(
        "fill   = 50\n", "fill   = 55\n"
    )
    profile = Profile(epsilon=2.0, schema=Schema.from_toml(toml)).fit(WARD.columns)
    assert profile["age"].at_low.value > 0.2
    page = report_html(profile)
    assert "no error bar here covers it" in page
