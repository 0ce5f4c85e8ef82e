"""Checks of scikit-learn that estimators may fail: all others pass, and the page shows which."""

from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from veilspan import catalogue, expected_failed_checks
from veilspan.scikit_learn_checks import EXPECTED, NOT_CHECKED, SETTINGS

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "scikit_learn.md"
START, END = "<!-- checks -->\n", "<!-- end -->"
#: Fitted with their defaults in every run; ``--all`` checks the others too.
FIRST = ("PCA", "RobustPCA", "LogisticRegression", "LinearRegression", "MatrixCompletion")


def make(names):
    return [catalogue.ESTIMATORS[name].load_class()(**SETTINGS.get(name, {})) for name in names]


def others():
    names = [n for n in catalogue.ESTIMATORS if n not in FIRST and n not in NOT_CHECKED]
    private_stream = catalogue.ESTIMATORS["SubspaceTracker"].load_class()(1, epsilon=1.0)
    return [*make(names), private_stream]


def run(estimator, check):
    # A check that is expected to fail may pass by the luck of its noise.
    name = getattr(check, "func", check).__name__
    if name in expected_failed_checks(estimator):
        pytest.skip(expected_failed_checks(estimator)[name])
    check(estimator)


silent = (
    pytest.mark.filterwarnings("ignore::veilspan.privacy.errors.NotPrivateWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
)


@silent[0]
@silent[1]
@parametrize_with_checks(make(FIRST))
def test_defaults_pass_what_is_not_in_the_table(estimator, check):
    run(estimator, check)


@silent[0]
@silent[1]
@parametrize_with_checks(others())
def test_the_others_pass_too(estimator, check):
    run(estimator, check)


def test_the_table_speaks_of_estimators_that_exist():
    assert {*EXPECTED, *SETTINGS, *NOT_CHECKED} <= {*catalogue.ESTIMATORS}
    assert not {*EXPECTED} & {*NOT_CHECKED}


def write_table():
    """The lines that the page shows."""
    lines = ["| estimator | check | why |", "|---|---|---|"]
    seen = {}
    for name, checks in EXPECTED.items():
        seen.setdefault(tuple(checks.items()), []).append(name)
    for checks, names in seen.items():
        for check, why in checks:
            lines.append(f"| {', '.join(f'`{n}`' for n in names)} | `{check}` | {why} |")
    stream = expected_failed_checks(
        catalogue.ESTIMATORS["SubspaceTracker"].load_class()(1, epsilon=1.0)
    )
    shown = ", ".join(f"`{check}`" for check in stream)
    lines.append(f"| `SubspaceTracker(1, epsilon=1.0)` | {shown} | {next(iter(stream.values()))} |")
    lines += [f"| `{name}` | none is run | {why} |" for name, why in NOT_CHECKED.items()]
    return "\n".join(lines) + "\n"


def test_the_page_shows_the_table():
    text = PAGE.read_text(encoding="utf-8")
    assert text.split(START)[1].split(END)[0] == write_table()
