"""What the command line refuses so that no cell is told."""

import pytest

from veilspan._errors import raised_by_us


def test_whose_words_an_error_speaks():
    assert not raised_by_us(ValueError("never raised"))
    for name, code, ours in (
        ("veilspan.cli.fit", "raise ValueError('a')", True),
        ("veilspan.audit", "raise ValueError('a') from None", True),
        ("experiments.erm", "raise ValueError('a')", False),  # or anybody's package of that name
        ("veilspan", "int('a')", False),
        ("numpy", "raise ValueError('a')", False),
        ("veilspanner", "raise ValueError('a')", False),
    ):
        with pytest.raises(ValueError) as caught:
            exec(code, {"__name__": name})
        assert raised_by_us(caught.value) is ours, code
