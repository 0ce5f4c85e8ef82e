"""No password in what is shown, stored or said by an error, whatever its letters are."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veilspan import SubspaceTracker
from veilspan._passwords import is_unclear, without_password
from veilspan.ledger import Ledger
from veilspan.ledger.dataset import Dataset
from veilspan.ledger.errors import LedgerError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql:///db", "postgresql:///db"),
        ("postgresql://me:secret@host:5432/db", "postgresql://me@host:5432/db"),
        ("postgresql://host/db?password=secret&port=1", "postgresql://host/db?port=1"),
        ("postgresql://host/db?port=1&p%61ssword=secret", "postgresql://host/db?port=1"),
        ("postgresql://host/db?port=1&sslpassword=secret", "postgresql://host/db?port=1"),
        ("postgres://me@/db?host=/run/postgresql", "postgres://me@/db?host=/run/postgresql"),
        ("postgresql://me:sec?ret@host/db", "postgresql://me@host/db"),
        ("postgresql://me:sec?ret@host/db?port=1", "postgresql://me@host/db?port=1"),
        ("postgresql://me:se:cret@h1:1,h2:2/db", "postgresql://me@h1:1,h2:2/db"),
        ("postgresql://me:secret@[::1]:5432/db", "postgresql://me@[::1]:5432/db"),
        ("postgresql://me@h/db?application_name=a@b", "postgresql://me@h/db?application_name=a@b"),
    ],
)
def test_a_password_is_never_shown(url, shown):
    assert without_password(url) == shown
    assert "secret" not in repr(Ledger(url, "ledger.key"))


letters = st.text("ab:/?@&=# %'\\", min_size=1, max_size=12)


@given(letters, st.sampled_from(["", "?sslmode=require", "?application_name=a@b"]))
def test_no_letter_of_a_password_is_shown(middle, parameters):
    """The marks at both ends are part of the password; no part of it may stay."""
    for secret in (f"X{middle}Z", f"{middle}XZ", f"XZ{middle}"):
        for url in (
            f"postgresql://me:{secret}@host/db{parameters}",
            f"postgresql://me:{secret}@host:5432{parameters}",
            f"postgresql://host/db?password={secret.replace('&', '')}",
            f"postgresql://me@host/db?port=1&password={secret.replace('&', '')}",
        ):
            assert not set("XZ") & set(without_password(url)), url


@pytest.mark.parametrize(
    ("pairs", "shown"),
    [
        ("host=h dbname=d", "host=h dbname=d"),
        ("host=h password=XZ dbname=d", "host=h dbname=d"),
        ("host=h password = 'X Z' user=u", "host=h user=u"),
        (r"password='X\' Z' host=h", "host=h"),
        (r"password=X\ Z host=h", "host=h"),
        ("password=X?@:/Z host=h", "host=h"),
        ("password='X Z host=h", ""),
        ("PASSWORD=XZ host=h", "host=h"),
        ("host=h sslpassword=XZ", "host=h"),
        ("password=X Z host=h", "host=h"),
    ],
)
def test_pairs_lose_their_password(pairs, shown):
    assert without_password(pairs) == shown


@pytest.mark.parametrize("secret", ["pa/ss", "pa@ss", "a/b?c", "a@b/c"])
def test_a_url_that_libpq_reads_otherwise_is_refused_without_its_letters(secret):
    url = f"postgresql://me:{secret}@host/db"
    assert is_unclear(url)
    with pytest.raises(LedgerError, match="%40, %3A or %2F") as refused:
        Ledger(url)
    assert secret not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    ["postgresql://me:secret/db", "host=h password=secret", "dbname=d user=u", " user = u"],
)
def test_what_was_meant_for_a_server_is_not_taken_for_a_file(text):
    with pytest.raises(LedgerError) as refused:
        Ledger(text)
    assert "secret" not in str(refused.value)


def test_clear_urls_are_taken():
    for login, rest in itertools.product(
        ("", "me@", "me:p%40ss@", "me:p?ss@", "a%40b:c@"),
        ("/db", "host/db", "host:1,other:2/db?sslmode=x", "/db?host=/run", "[::1]/db"),
    ):
        assert not is_unclear(f"postgresql://{login}{rest}")


@pytest.mark.parametrize("wrong", ["p%zz", "%"])
def test_an_error_of_libpq_quotes_no_password(wrong, tmp_path):
    pytest.importorskip("psycopg")
    ledger = Ledger(f"postgresql://me:{wrong}secret@host/db", tmp_path / "key")
    with pytest.raises(LedgerError, match="cannot be read: write special") as refused:
        ledger.datasets()
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_tracker_leaves_the_password_of_its_ledger_out_of_its_file(tmp_path):
    import numpy as np

    rows = np.random.default_rng(0).standard_normal((20, 4))
    tracker = SubspaceTracker(2, random_state=0).partial_fit(rows)
    tracker.ledger = Dataset("postgresql://me:XsecretZ@host/db", "trial", "ledger.key", "k")
    state = tracker.state_dict()
    assert "secret" not in repr(state)
    tracker.save(tmp_path / "tracker.npz")
    assert b"secret" not in (tmp_path / "tracker.npz").read_bytes()
    handle = SubspaceTracker.load(tmp_path / "tracker.npz").ledger
    assert handle == Dataset("postgresql://me@host/db", "trial", "ledger.key", "k")
    tracker.ledger = Dataset("/data/a:b@c.db", "trial", "ledger.key")  # a file keeps its name
    assert tracker.state_dict()["parameters"]["ledger"]["dataset"]["url"] == "/data/a:b@c.db"
