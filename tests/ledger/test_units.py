"""An account fixes whom it protects and whose data it is; every charge says both."""

import unicodedata
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.earlier import DELTA, EPSILON, NAME, make_earlier_ledger
from ledger.requests import plan_of, request
from veilspan import PCA, MatrixCompletion
from veilspan.estimators.charging import asked_parameters, open_charge
from veilspan.ledger import LedgerError
from veilspan.ledger.names import check_unit
from veilspan.ledger.records import Terms
from veilspan.ledger.releases import question_of
from veilspan.privacy.noise import noise_source
from veilspan.privacy.schema_record import SchemaRecord

ROWS = np.random.default_rng(0).standard_normal((60, 4))
RATINGS = np.random.default_rng(1).integers(1, 6, (40, 6)).astype(float)


@dataclass(frozen=True)
class WardSchema:
    """What the ledger looks at of a schema."""

    digest: str = "ab" * 32
    name: str = "ward-visits"
    version: str = "2026-11-16"
    protects: str = "patient"


WARD = WardSchema()


def asking(unit="row", schema=None, **more):
    """A request of a fit that protects a unit, with a schema or without."""
    record = None if schema is None else SchemaRecord.of(schema)
    return replace(request(**more), unit=unit, schema=record)


# Terms.


def test_by_default_an_account_is_of_rows_and_of_its_own_name(ledger):
    handle = ledger.dataset("trial", 3, 1e-6)
    assert (handle.terms().unit, handle.terms().data) == ("row", "trial")
    assert handle == ledger.dataset("trial", 3, 1e-6, unit=" ROW", data="trial")
    assert handle == ledger.dataset("trial", unit="row", data="trial")
    record = handle.spent().to_dict()
    assert (record["unit"], record["data"]) == ("row", "trial")
    assert "protects   one row; takes schemas of trial" in repr(handle.spent())


def test_a_schema_gives_unit_and_data(ledger):
    handle = ledger.dataset("ward", 3, 1e-6, schema=WARD)
    assert (handle.terms().unit, handle.terms().data) == ("patient", "ward-visits")
    assert handle == ledger.dataset("ward", 3, 1e-6, unit="Patient", data="ward-visits")
    assert handle == ledger.dataset("ward", schema=WARD)
    assert "unit patient of 'ward-visits'" in handle.terms().describe()


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"unit": "row", "schema": WARD}, r"unit='row' is not what the schema says \('patient'\)"),
        ({"data": "trial", "schema": WARD}, r"data='trial' is not .* \('ward-visits'\)"),
        ({"unit": ""}, "a unit must be 1 to 200 printable"),
        ({"unit": "a\nb"}, "printable"),
        ({"unit": "a\u3164"}, "does not show"),
        ({"unit": "x" * 201}, "1 to 200"),
        ({"data": " ward"}, "without spaces around"),
    ],
)
def test_what_is_no_unit_or_no_data_is_refused(file_ledger, terms, message):
    with pytest.raises(ValueError, match=message):
        file_ledger.dataset("trial", 3, 1e-6, **terms)
    assert not file_ledger.journal.exists()


@pytest.mark.parametrize("terms", [{"unit": 7}, {"data": 7}, {"schema": SimpleNamespace()}])
def test_another_type_is_refused(file_ledger, terms):
    with pytest.raises(TypeError, match="must be"):
        file_ledger.dataset("trial", 3, 1e-6, **terms)


@pytest.mark.parametrize("other", [{"unit": "patient"}, {"data": "ward"}, {"schema": WARD}])
def test_unit_and_data_never_change(ledger, other):
    ledger.dataset("trial", 3, 1e-6)
    with pytest.raises(LedgerError, match="terms do not change"):
        ledger.dataset("trial", 3, 1e-6, **other)
    with pytest.raises(LedgerError, match=r"open (another account for this unit|the account of)"):
        ledger.dataset("trial", **other)
    ledger.dataset("ward", 3, 1e-6, schema=WARD)
    with pytest.raises(LedgerError, match=r"unit patient of 'ward-visits'.*Asked for: .*unit row"):
        ledger.dataset("ward", 3, 1e-6)
    assert len(ledger.history()) == 3


@given(st.text(min_size=1, max_size=8))
def test_a_unit_has_one_spelling(text):
    try:
        unit = check_unit(text)
    except ValueError:
        return
    assert check_unit(unit) == unit == unit.strip()
    assert unicodedata.is_normalized("NFC", unit)
    for same in (f" {text}\t", unicodedata.normalize("NFD", text), text.casefold()):
        assert check_unit(same) == unit
    assert Terms("d", 1.0, 1e-6, unit=text).unit == unit


# Charges.


def test_a_charge_says_unit_and_schema(ledger):
    rows = ledger.dataset("trial", 3, 1e-6)
    patients = ledger.dataset("ward", 3, 1e-6, schema=WARD)
    plain = rows.entry(rows.charge(asking()).entry).content
    assert plain["unit"] == "row"
    assert "schema" not in plain
    charged = patients.entry(patients.charge(asking("Patient", WARD)).entry).content
    assert charged["unit"] == "patient"
    assert charged["schema"] == {
        "digest": "ab" * 32,
        "name": "ward-visits",
        "version": "2026-11-16",
    }
    assert ledger.verify()


@pytest.mark.parametrize(
    ("terms", "asked", "message"),
    [
        ({}, asking("user"), "protects one row; this fit protects one user.*unit='user'"),
        (
            {},
            asking("patient", WARD),
            'protects one row; this fit protects one patient.*write protects = "row"',
        ),
        (
            {"unit": "patient"},
            asking(),
            "protects one patient; this fit protects one row.*schema whose .unit. protects",
        ),
        (
            {"unit": "patient"},
            asking("patient", WARD),
            "that of the dataset 'trial'; this schema is of 'ward-visits'.*one account",
        ),
    ],
)
def test_another_unit_or_dataset_is_refused_before_anything_is_charged(
    ledger, terms, asked, message
):
    handle = ledger.dataset("trial", 3, 1e-6, **terms)
    for ask in (handle.check, handle.charge, handle.with_key("k").charge):
        with pytest.raises(LedgerError, match=message):
            ask(asked)
    assert handle.spent().charges == 0


def test_all_schemas_of_a_dataset_share_its_account(ledger):
    handle = ledger.dataset("ward", 3, 1e-6, schema=WARD)
    revised = replace(WARD, digest="cd" * 32, version="2027-01-01", protects="PATIENT")
    for schema in (WARD, revised):
        handle.charge(asking(schema.protects, schema))
    handle.charge(asking("patient"))  # of people who have one row each, say, and no schema
    said = [entry.content.get("schema", {}).get("digest") for entry in handle.history()[1:]]
    assert said == ["ab" * 32, "cd" * 32, None]
    assert handle.spent().charges == 3


def test_verify_finds_a_charge_for_another_unit(file_ledger):
    handle = file_ledger.dataset("trial", 3, 1e-6)
    handle.charge(asking())
    with file_ledger.journal.writing() as page:  # as only somebody with the key can
        charge = page.book.last_of("charge", "trial").content
        costs = [0] * len(charge["costs"])
        page.append("charge", "trial", {**charge, "costs": costs, "charges": 2, "unit": "patient"})
    assert file_ledger.verify().problems == ("entry 4 protects another unit than its account.",)


def test_names_of_datasets_are_compared_in_one_spelling(ledger):
    name = "caf\u00e9"
    handle = ledger.dataset("visits", 3, 1e-6, data=name)
    handle.charge(asking("row", replace(WARD, name=unicodedata.normalize("NFD", name))))
    handle.charge(asking("row", replace(WARD, name=name.upper())))
    with pytest.raises(LedgerError, match="this schema is of"):
        handle.charge(asking("row", replace(WARD, name="cafe")))


@pytest.mark.parametrize("name", ["hospital", "HOSPITAL", "\uff48ospital", "Hospital "])
def test_one_dataset_has_one_account_however_its_name_is_written(ledger, name):
    ledger.dataset("Hospital", 3, 1e-6)
    if name.strip() != name:
        with pytest.raises(ValueError, match="without spaces around"):
            ledger.dataset(name, 3, 1e-6)
        return
    with pytest.raises(LedgerError, match="one dataset has one account"):
        ledger.dataset(name, 3, 1e-6)
    with pytest.raises(LedgerError, match="one dataset has one account"):
        ledger.dataset("another", 3, 1e-6, data=name)
    ledger.dataset("another", 3, 1e-6, data="others")
    with pytest.raises(LedgerError, match="one dataset has one account"):
        ledger.dataset("others", 3, 1e-6)


# Accounts from before.


@pytest.fixture
def earlier(store_url, tmp_path):
    return make_earlier_ledger(store_url, tmp_path / "ledger.key")


def test_an_earlier_account_takes_what_it_took(earlier):
    handle = earlier.dataset(NAME)
    assert (handle.terms().unit, handle.terms().data) == (None, None)
    assert "opened before units were recorded" in repr(handle.spent())
    rows = replace(WARD, protects="row")
    for asked in ({}, {"unit": "row"}, {"unit": "user"}, {"schema": rows}):
        assert earlier.dataset(NAME, EPSILON, DELTA, accounting="gdp", **asked) == handle
        assert earlier.dataset(NAME, **asked) == handle
    PCA(2, epsilon=0.5, ledger=handle).fit(ROWS)
    handle.charge(asking("user"))
    handle.charge(asking("row", WARD))
    handle.charge(asking("row", replace(WARD, name="something else")))
    units = [entry.content["unit"] for entry in handle.history() if entry.kind == "charge"]
    assert units[-4:] == ["row", "user", "row", "row"]
    assert handle.terms().unit is None
    assert earlier.verify()


@pytest.mark.parametrize(
    "asked", [asking("patient", WARD), asking("patient"), asking("user", WARD)]
)
def test_an_earlier_account_refuses_other_units(earlier, asked):
    handle = earlier.dataset(NAME)
    with pytest.raises(LedgerError, match=r"before units were recorded.*Charge another account"):
        handle.charge(asked)
    with pytest.raises(LedgerError, match="terms do not change"):
        earlier.dataset(NAME, EPSILON, DELTA, accounting="gdp", schema=WARD)
    assert handle.spent().charges == 2
    fresh = earlier.dataset("trial-2", 3, 1e-6, unit=asked.unit, data="ward-visits")
    assert fresh.charge(asked).entry == 7


# Fits.


def test_an_estimator_says_whom_it_protects(file_ledger):
    rows = file_ledger.dataset("rows", 9, 1e-6)
    users = file_ledger.dataset("users", 9, 1e-6, unit="user")
    pca = PCA(2, epsilon=0.5)
    completion = MatrixCompletion(rating_range=(1, 5), n_components=2)
    pca.set_params(ledger=users)
    completion.set_params(ledger=rows)
    with pytest.raises(LedgerError, match="protects one user; this fit protects one row"):
        pca.fit(ROWS)
    with pytest.raises(LedgerError, match="protects one row; this fit protects one user"):
        completion.fit(RATINGS)
    assert file_ledger.spent()["rows"].charges == file_ledger.spent()["users"].charges == 0
    pca.set_params(ledger=rows).fit(ROWS)
    completion.set_params(ledger=users).fit(RATINGS)
    assert [entry.content["unit"] for entry in file_ledger.history() if entry.kind == "charge"] == [
        "row",
        "user",
    ]


class Fitted:
    """An estimator as far as a charge looks at it."""

    _protects = "row"

    def __init__(self, schema=None, ledger=None):
        self.schema, self.ledger = schema, ledger

    def get_params(self, deep):
        return {"n": 2, "ledger": self.ledger, "schema": self.schema}


def test_a_schema_is_charged_with_the_fit(file_ledger):
    handle = file_ledger.dataset("ward", 9, 1e-6, schema=WARD)
    charge = open_charge(handle, Fitted(WARD), plan_of(0.5), noise_source(None))
    assert charge.request.unit == "patient"
    assert charge.request.schema == SchemaRecord.of(WARD)
    content = handle.entry(charge.commit().entry).content
    assert content["schema"]["digest"] == WARD.digest
    with pytest.raises(LedgerError, match="this fit protects one row"):
        open_charge(handle, Fitted(), plan_of(0.5), noise_source(None))
    with pytest.raises(TypeError, match=r"schema must be a veilspan.Schema or None"):
        open_charge(
            handle, Fitted(SimpleNamespace(protects="row")), plan_of(0.5), noise_source(None)
        )


def test_a_fit_without_a_schema_is_known_by_the_key_that_it_had():
    assert asked_parameters(Fitted()) == {"n": 2}
    assert asked_parameters(Fitted(WARD)) == {"n": 2, "schema": WARD.digest}
    other = replace(WARD, digest="cd" * 32)
    asked = [asked_parameters(Fitted(schema)) for schema in (None, WARD, other)]
    assert len({question_of(Fitted, parameters) for parameters in asked}) == 3
    # What is not in the digest of a schema is not asked either.
    renamed = asked_parameters(Fitted(replace(WARD, version="0"), ledger="somebody"))
    assert renamed == asked[1]
