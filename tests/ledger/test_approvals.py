"""Requests that people ask, edit, approve and refuse, in the sealed record of both stores."""

import json
import threading
from dataclasses import replace

import pytest

from ledger.asked import DIGEST, draft, fit_of
from ledger.earlier import NAME, make_earlier_ledger, read_format
from veilspan import PCA
from veilspan.ledger import Ledger, LedgerError, RequestDraft, digest_plan
from veilspan.ledger.approvals.requests import new_request_id
from veilspan.ledger.approvals.words import describe_request
from veilspan.ledger.errors import RequestError, SelfApproval, TamperError
from veilspan.ledger.records import APPROVAL, REQUEST
from veilspan.ledger.stores.base import SCHEMA
from veilspan.releases import load, save
from veilspan.reports import report_html

OFFICER = {"by": "Otto", "role": "officer"}


@pytest.fixture
def ward(ledger):
    return ledger.dataset("ward", 3, 1e-6, approval=True)


def approved(ward, **changes):
    return ward.approve(ward.ask(draft(**changes)).id, **OFFICER)


def test_the_whole_way(ward, ledger):
    asked = ward.ask(draft())
    assert (asked.state, asked.version, asked.asked_by) == ("open", 1, "Ana")
    assert asked.key == f"request-{asked.id}"
    assert ward.request(asked.id) == asked
    done = ward.approve(asked.id, **OFFICER, note="fine")
    assert (done.state, done.approved_by, done.approval_note) == ("approved", "Otto", "fine")
    assert ward.spent().charges == 0
    receipt = ward.with_key(done.key).charge(fit_of())
    assert ward.request(asked.id).state == "charged"
    assert receipt.describe()["request"] == {
        "id": asked.id,
        "version": 1,
        "asked_by": "Ana",
        "approved_by": "Otto",
        "solo": False,
    }
    receipt.release({}, {"answer_": 1})
    assert ward.request(asked.id).state == "released"
    again = ward.with_key(done.key).charge(fit_of())  # a second click
    assert again.stored == {"answer_": 1}
    assert again.describe() == receipt.describe()
    assert ward.spent().charges == 1
    kinds = [entry.kind for entry in ward.history()]
    assert kinds == ["dataset", "request", "approval", "charge", "release"]
    assert ledger.verify()


def test_newest_first(ward):
    ids = [ward.ask(draft(note=str(i))).id for i in range(3)]
    assert [request.id for request in ward.requests()] == ids[::-1]
    ward.edit_request(ids[0], draft(0.6), "Ana")
    assert [request.id for request in ward.requests()] == ids[::-1]


def test_an_account_by_approval_takes_nothing_else(ward):
    for handle in (ward, ward.with_key("figure-1")):
        with pytest.raises(RequestError, match="approved fits alone"):
            handle.charge(fit_of())
    assert ward.spent().charges == 0


@pytest.mark.parametrize("approval", [True, False])
def test_the_key_of_a_request_needs_its_approval(ledger, approval):
    account = ledger.dataset("any", 3, 1e-6, approval=approval)
    asked = account.ask(draft())
    with pytest.raises(RequestError, match="is not approved yet: nothing was charged"):
        account.with_key(asked.key).charge(fit_of())
    account.refuse(asked.id, **OFFICER, reason="not now")
    with pytest.raises(RequestError, match="was refused: nothing was charged"):
        account.with_key(asked.key).charge(fit_of())
    if not approval:
        account.charge(fit_of())  # somebody else's business
    assert ledger.verify()


def test_an_edit_voids_the_approval(ward, ledger):
    first = approved(ward)
    edited = ward.edit_request(first.id, draft(0.7), "ana")
    assert (edited.state, edited.version, edited.approved_by) == ("open", 2, None)
    assert edited.key == first.key
    assert edited.binding != first.binding
    with pytest.raises(RequestError, match="not approved yet"):
        ward.with_key(first.key).charge(fit_of())
    ward.approve(first.id, **OFFICER)
    with pytest.raises(RequestError, match="the plan of this fit is not what was approved"):
        ward.with_key(first.key).charge(fit_of())
    ward.with_key(first.key).charge(fit_of(0.7))
    with pytest.raises(RequestError, match="cannot be edited any more"):
        ward.edit_request(first.id, draft(), "Ana")
    assert ledger.verify()


CHANGES = [
    {"source": "others.parquet"},
    {"schema_digest": DIGEST},
    {"params": {"n_components": 3}},
    {"estimator": "profile"},
    {"epsilon": 0.6},
    {"delta": 1e-7},
    {"plan_digest": DIGEST},
    {"question": DIGEST},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_an_approval_binds_all_that_was_asked(ward, change):
    fields = {**{name: getattr(draft(), name) for name in draft().__dataclass_fields__}, **change}
    first, other = ward.ask(draft(key="one")), ward.ask(RequestDraft(**{**fields, "key": "two"}))
    assert first.binding != other.binding


def test_a_charge_is_held_to_schema_and_question(ward):
    by_schema = approved(ward, schema_digest=DIGEST)
    with pytest.raises(RequestError, match="the schema of this fit"):
        ward.with_key(by_schema.key).charge(fit_of())
    asked = approved(ward, question=DIGEST)
    with pytest.raises(RequestError, match="the question of this fit"):
        ward.with_key(asked.key).charge(fit_of(question="cd" * 32))
    ward.with_key(asked.key).charge(fit_of(question=DIGEST))


def test_a_charge_may_name_the_version_that_it_means(ward):
    first = approved(ward)
    ward.edit_request(first.id, draft(source="elsewhere.parquet"), "Ana")
    second = ward.approve(first.id, **OFFICER)
    handle = ward.with_key(first.key)
    with pytest.raises(RequestError, match="edited since: nothing was charged"):
        handle.charge(replace(fit_of(), binding=first.binding))
    handle.charge(replace(fit_of(), binding=second.binding))


def test_nobody_approves_their_own(ward):
    asked = ward.ask(draft())
    for name in ("Ana", "ANA", "Ana"):
        with pytest.raises(SelfApproval, match="nobody approves their own request"):
            ward.approve(asked.id, by=name, role="officer")
    for role in ("analyst", "steward"):
        with pytest.raises(RequestError, match=r"is approved by an officer; Otto is"):
            ward.approve(asked.id, by="Otto", role=role)
    with pytest.raises(RequestError, match="only who asked may edit"):
        ward.edit_request(asked.id, draft(asked_by="Otto"), "Otto")
    with pytest.raises(RequestError, match="only who asked may edit"):
        ward.edit_request(asked.id, draft(asked_by="Otto"), "Ana")
    assert ward.request(asked.id) == asked


def test_one_person_alone_may_and_the_record_says_so(ward, ledger):
    asked = ward.ask(draft())
    done = ward.approve(asked.id, by="Ana", role="steward", solo=True)
    assert done.solo
    assert any("the person who asked" in line for line in describe_request(done))
    receipt = ward.with_key(done.key).charge(fit_of())
    assert receipt.describe()["request"]["solo"] is True
    assert ledger.verify()


def test_a_version_that_was_not_read_is_not_decided(ward):
    asked = ward.ask(draft())
    ward.edit_request(asked.id, draft(0.9), "Ana")
    for decide in (
        lambda: ward.approve(asked.id, **OFFICER, version=1),
        lambda: ward.refuse(asked.id, **OFFICER, reason="no", version=1),
    ):
        with pytest.raises(RequestError, match="was edited since"):
            decide()
    assert ward.approve(asked.id, **OFFICER, version=2).state == "approved"


def test_two_officers_are_one_approval(ward, ledger):
    asked = ward.ask(draft())
    threads = [
        threading.Thread(
            target=ward.approve, args=(asked.id,), kwargs={"by": name, "role": "officer"}
        )
        for name in ("Otto", "Olga", "Otto")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.kind for entry in ward.history()].count(APPROVAL) == 1
    assert ward.request(asked.id).approved_by in ("Otto", "Olga")
    assert ledger.verify()


def test_refusals(ward):
    asked = ward.ask(draft())
    with pytest.raises(ValueError, match="says why"):
        ward.refuse(asked.id, **OFFICER, reason=" ")
    with pytest.raises(RequestError, match="refused by an officer, or taken back"):
        ward.refuse(asked.id, by="Anton", role="analyst", reason="mine first")
    ward.approve(asked.id, **OFFICER)
    refused = ward.refuse(asked.id, by="Olga", role="officer", reason="too much")
    assert (refused.state, refused.approved_by, refused.reason) == ("refused", None, "too much")
    assert ward.refuse(asked.id, **OFFICER, reason="again") == refused
    with pytest.raises(RequestError, match="was refused by Olga"):
        ward.approve(asked.id, **OFFICER)
    assert ward.edit_request(asked.id, draft(0.3), "Ana").state == "open"
    taken_back = ward.refuse(asked.id, by="Ana", role="analyst", reason="a mistake")
    assert taken_back.refused_by == "Ana"
    other = approved(ward)
    ward.with_key(other.key).charge(fit_of())
    with pytest.raises(RequestError, match="too late to refuse"):
        ward.refuse(other.id, **OFFICER, reason="oh")


def test_a_key_is_one_request(ward):
    ward.ask(draft(key="mine"))
    with pytest.raises(RequestError, match="'mine' is in use"):
        ward.ask(draft(key="mine"))
    first = approved(ward)
    with pytest.raises(RequestError, match="the key of a request stays"):
        ward.edit_request(first.id, draft(key="other"), "Ana")


def test_the_key_of_an_earlier_charge_is_in_use(ledger):
    account = ledger.dataset("any", 3, 1e-6)
    account.with_key("figure-1").charge(fit_of())
    with pytest.raises(RequestError, match="'figure-1' is in use"):
        account.ask(draft(key="figure-1"))


def test_what_the_account_never_takes_is_not_asked(ward):
    with pytest.raises(RequestError, match="accounted under replace-one"):
        ward.ask(draft(neighbors="add-remove"))
    with pytest.raises(RequestError, match="no request 'nothing'"):
        ward.request("nothing")


BAD = [
    ({"asked_by": "a\u202eb"}, "printable"),
    ({"asked_by": ""}, "printable"),
    ({"params": {"x": float("nan")}}, "NaN"),
    ({"params": {"x": object()}}, "JSON"),
    ({"params": [1]}, "mapping"),
    ({"params": {"x": "a" * 60_000}}, "at most"),
    ({"epsilon": float("inf")}, "finite"),
    ({"epsilon": "1"}, "number"),
    ({"epsilon": -1.0}, "epsilon"),
    ({"plan_digest": "12"}, "64 hexadecimal"),
    ({"schema_digest": "x" * 64}, "64 hexadecimal"),
    ({"source": ""}, "printable"),
    ({"source": "a\x00b"}, "printable"),
    ({"note": "a\x1b[2J"}, "does not show"),
    ({"note": "a" * 3000}, "at most"),
    ({"neighbors": "friends"}, "neighbors"),
]


@pytest.mark.parametrize(("change", "said"), BAD)
def test_bad_drafts(change, said):
    with pytest.raises((ValueError, TypeError, RequestError), match=said):
        draft(**change)


def test_no_password_gets_into_the_record(ward):
    asked = ward.ask(draft(source="postgresql://me:secret@host/db?table=visits"))
    assert "secret" not in asked.source
    assert all("secret" not in entry.body for entry in ward.history())


def test_ids_sort_by_time_and_are_never_the_same():
    ids = {new_request_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert {len(each) for each in ids} == {26}
    assert len({each[:8] for each in ids}) <= 2


def test_schemas_are_noted_once(ward, ledger):
    entry = ward.record_schema(DIGEST, by="Steffi")
    assert ward.record_schema(DIGEST, by="Steffi").seq == entry.seq
    assert ward.record_schema("cd" * 32, by="Steffi").seq == entry.seq + 1
    with pytest.raises(ValueError, match="64 hexadecimal"):
        ward.record_schema("x", by="Steffi")
    assert ledger.verify()


def test_an_earlier_ledger_takes_requests(store_url, tmp_path):
    ledger = make_earlier_ledger(store_url, tmp_path / "ledger.key")
    account = ledger.dataset(NAME)
    assert account.requests() == []
    assert read_format(store_url) == 1
    asked = account.ask(draft())
    assert read_format(store_url) == SCHEMA
    account.approve(asked.id, **OFFICER)
    account.with_key(asked.key).charge(fit_of()).release({}, {"answer_": 3})
    assert account.request(asked.id).state == "released"
    assert ledger.verify()


def forge(ledger, *entries):
    """Somebody who has the key writes entries of their own."""
    with ledger.journal.writing() as page:
        for kind, content, more in entries:
            page.append(kind, "ward", content, **more)


def test_verify_finds_what_does_not_follow(ward, ledger):
    asked = ward.ask(draft())
    said = {"id": asked.id, "version": 1, "binding": asked.binding, "note": "", "solo": False}
    own = (APPROVAL, {**said, "by": "Ana", "role": "officer"}, {"about": asked.entry})
    forge(ledger, own)
    report = ledger.verify()
    assert not report
    assert "is an approval by the person who asked" in report.problems[0]
    with pytest.raises(TamperError, match="the person who asked"):
        ward.requests()
    with pytest.raises(TamperError, match="the person who asked"):
        ward.with_key(asked.key).charge(fit_of())
    assert ward.spent().charges == 0


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"version": 3}, "cannot be read"),
        ({"binding": DIGEST}, "cannot be read"),
        ({"epsilon": 99.0}, "cannot be read"),
    ],
)
def test_verify_finds_forged_requests(ward, ledger, change, problem):
    asked = ward.ask(draft())
    content = json.loads(ward.entry(asked.entry).body)
    forge(ledger, (REQUEST, {**content, "id": "X", **change}, {"key": "other"}))
    assert any(problem in text for text in ledger.verify().problems)


def test_verify_finds_a_charge_without_its_request(ward, ledger, monkeypatch):
    monkeypatch.setattr("veilspan.ledger.dataset.steps.check_approved", lambda *_: None)
    asked = ward.ask(draft())
    ward.charge(fit_of())
    ward.with_key(asked.key).charge(fit_of())
    problems = ledger.verify().problems
    assert sum("without an approved request" in text for text in problems) == 2
    assert any("charges a request that is open, not approved" in text for text in problems)


def test_the_digest_of_a_plan_is_that_of_its_record(ward):
    plan = fit_of().plan
    assert digest_plan(plan) == digest_plan(json.loads(json.dumps(plan.to_dict())))
    odd = type(plan)(**{**vars(plan), "decisions": {"map": object()}})
    assert digest_plan(odd) == digest_plan({**plan.to_dict(), "decisions": {}})


def test_a_fit_under_an_approved_request(ward, ledger, tmp_path):
    import numpy as np

    rows = np.random.default_rng(0).normal(size=(200, 3))
    model = PCA(2, epsilon=0.5, delta=1e-6, row_norm=1.0)
    plan = model.plan(200, 3)
    asked = approved(ward, plan_digest=digest_plan(plan))
    fitted = PCA(2, epsilon=0.5, delta=1e-6, row_norm=1.0, ledger=ward.with_key(asked.key))
    fitted.fit(rows)
    assert fitted.privacy_.ledger["request"]["approved_by"] == "Otto"
    again = load(save(fitted, tmp_path / "release"))
    assert again.privacy_.ledger == fitted.privacy_.ledger
    assert "asked by Ana, approved by Otto" in report_html(again)
    assert ward.request(asked.id).state == "released"
    other = PCA(2, epsilon=0.6, delta=1e-6, row_norm=1.0, ledger=ward.with_key("request-x"))
    with pytest.raises(LedgerError, match="approved fits alone"):
        other.fit(rows)
    assert ledger.verify()


def test_terms_say_it(ward, ledger):
    assert ward.terms().approval
    with pytest.raises(LedgerError, match="by approval only"):
        ledger.dataset("ward", 3, 1e-6)
    assert Ledger(ledger.url, ledger.key_file).dataset("ward", 3, 1e-6, approval=True) == ward
