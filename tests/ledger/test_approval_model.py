"""Any order of asking, editing, deciding, charging, breaking off and reopening, against a model."""

import contextlib
import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ledger.asked import draft, fit_of
from ledger.test_storage import let_go
from veilspan.ledger import Ledger, RequestError, SelfApproval
from veilspan.ledger.approvals import steps
from veilspan.ledger.dataset import _OPENED
from veilspan.ledger.seal.journal import Page

PEOPLE = st.sampled_from(["Ana", "Otto", "Olga"])
ROLES = st.sampled_from(["officer", "officer", "analyst", "steward"])
EPSILONS = st.sampled_from([0.1, 0.2, 0.3])
PLACES = st.integers(0, 5)


class PowerCut(BaseException):
    """Ends a transaction after its entry was written and before it was committed."""


class RequestMachine(RuleBasedStateMachine):
    """Two accounts: one takes approved fits alone, one takes others as well."""

    @initialize()
    def start(self):
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = Ledger(self.folder / "budget.db", key=self.folder / "key")
        self.ledger.dataset("strict", 9, 1e-6, approval=True)
        self.ledger.dataset("free", 9, 1e-6)
        self.known = []  # dicts: account, id, key, by, epsilon, version, state, receipt
        self.charges = {"strict": 0, "free": 0}

    def teardown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def choose(self, place):
        one = self.known[place % len(self.known)]
        return one, self.ledger.dataset(one["account"])

    def maybe(self, allowed, act, error=RequestError):
        """Do it, or see it refused, as the model says."""
        if allowed:
            return act()
        with pytest.raises(error):
            act()
        return None

    @rule(account=st.sampled_from(["strict", "free"]), by=PEOPLE, epsilon=EPSILONS)
    def ask(self, account, by, epsilon):
        asked = self.ledger.dataset(account).ask(draft(epsilon, by))
        told = {"account": account, "id": asked.id, "key": asked.key, "by": by}
        self.known.append({**told, "epsilon": epsilon, "version": 1, "state": "open"})

    @precondition(lambda self: self.known)
    @rule(place=PLACES, by=PEOPLE, epsilon=EPSILONS)
    def edit(self, place, by, epsilon):
        one, account = self.choose(place)
        allowed = by == one["by"] and one["state"] in ("open", "approved", "refused")
        if self.maybe(allowed, lambda: account.edit_request(one["id"], draft(epsilon, by), by)):
            one |= {"epsilon": epsilon, "version": one["version"] + 1, "state": "open"}

    @precondition(lambda self: self.known)
    @rule(place=PLACES, by=PEOPLE, role=ROLES, solo=st.sampled_from([False, False, True]))
    def approve(self, place, by, role, solo):
        one, account = self.choose(place)
        fit_to_decide = solo or (by != one["by"] and role == "officer")
        own = by == one["by"] and not solo
        self.maybe(
            fit_to_decide and one["state"] != "refused",
            lambda: account.approve(one["id"], by=by, role=role, solo=solo),
            SelfApproval if own else RequestError,
        )
        if fit_to_decide and one["state"] == "open":
            one["state"] = "approved"

    @precondition(lambda self: self.known)
    @rule(place=PLACES, by=PEOPLE, role=ROLES)
    def refuse(self, place, by, role):
        one, account = self.choose(place)
        may = role == "officer" or by == one["by"]
        allowed = may and one["state"] in ("open", "approved", "refused")
        if self.maybe(allowed, lambda: account.refuse(one["id"], by=by, role=role, reason="no")):
            one["state"] = "refused"

    @precondition(lambda self: self.known)
    @rule(place=PLACES, epsilon=EPSILONS)
    def charge(self, place, epsilon):
        one, account = self.choose(place)
        handle = account.with_key(one["key"])
        if one["state"] == "released":
            assert handle.charge(fit_of(one["epsilon"])).stored == {"answer_": one["id"]}
            return
        if one["state"] == "charged":  # broke off, and stays spent
            with pytest.raises(Exception, match="never recorded as released"):
                handle.charge(fit_of(one["epsilon"]))
            return
        allowed = one["state"] == "approved" and epsilon == one["epsilon"]
        receipt = self.maybe(allowed, lambda: handle.charge(fit_of(epsilon)))
        if receipt is not None:
            one |= {"state": "charged", "receipt": receipt}
            self.charges[one["account"]] += 1
            receipt.claim.end()

    @precondition(lambda self: self.known)
    @rule(place=PLACES)
    def release(self, place):
        one, _ = self.choose(place)
        if one["state"] == "charged":
            one["receipt"].release({}, {"answer_": one["id"]})
            one["state"] = "released"

    @rule(account=st.sampled_from(["strict", "free"]), key=st.sampled_from([None, "figure"]))
    def charge_without_a_request(self, account, key):
        handle = self.ledger.dataset(account)
        if account == "strict":
            with pytest.raises(RequestError, match="approved fits alone"):
                (handle if key is None else handle.with_key(key)).charge(fit_of(0.1))
        elif key is None and self.charges["free"] < 30:
            handle.charge(fit_of(0.1))
            self.charges["free"] += 1

    @precondition(lambda self: self.known)
    @rule(place=PLACES, what=st.sampled_from(["ask", "edit", "approve", "refuse", "charge"]))
    def crash(self, place, what):
        """The power goes after the entry was written, before it was committed: nothing happened."""
        one, account = self.choose(place)
        acts = {
            "ask": lambda: account.ask(draft(0.1, one["by"])),
            "edit": lambda: account.edit_request(one["id"], draft(0.3, one["by"]), one["by"]),
            "approve": lambda: account.approve(one["id"], by="Zoe", role="officer"),
            "refuse": lambda: account.refuse(one["id"], by="Zoe", role="officer", reason="no"),
            "charge": lambda: account.with_key(one["key"]).charge(fit_of(one["epsilon"])),
        }
        append = Page.append

        def cut(page, *arguments, **options):
            append(page, *arguments, **options)
            raise PowerCut

        lost = contextlib.suppress(PowerCut, RequestError, RuntimeError)
        with patch.object(Page, "append", cut), lost:
            acts[what]()
        self.reopen()

    @rule()
    def reopen(self):
        let_go()
        _OPENED.clear()
        self.ledger = Ledger(self.ledger.url, self.ledger.key_file)

    @invariant()
    def the_ledger_says_what_the_model_says(self):
        for name, charges in self.charges.items():
            account = self.ledger.dataset(name)
            assert account.spent().charges == charges
            told = {each.id: (each.version, each.state) for each in account.requests()}
            mine = [one for one in self.known if one["account"] == name]
            assert told == {one["id"]: (one["version"], one["state"]) for one in mine}

    @invariant()
    def no_charge_without_an_approval_and_one_at_most(self):
        entries = self.ledger.history()
        by_key = [entry.key for entry in entries if entry.kind == "charge" and entry.key]
        assert len(by_key) == len(set(by_key))
        approvals = {entry.seq: entry for entry in entries if entry.kind == "approval"}
        for entry in entries:
            if entry.kind != "charge" or (entry.dataset == "free" and entry.key is None):
                continue
            asked = entry.content["request"]
            approval = approvals[asked["approval"]]
            assert approval.seq < entry.seq
            assert approval.content["binding"] == asked["binding"]
            newest = max(
                each.seq
                for each in entries
                if each.kind == "request" and each.key == entry.key and each.seq < entry.seq
            )
            assert approval.about == newest

    @invariant()
    def nothing_is_wrong(self):
        report = self.ledger.verify()
        assert report, report.problems


TestRequestMachine = RequestMachine.TestCase
TestRequestMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


def no_state_is_looked_at(page, terms, dataset, key, asked):
    return None if key is None else steps.find_under_key(page, dataset, key)


def no_plan_is_compared(page, terms, dataset, key, asked):
    found = no_state_is_looked_at(page, terms, dataset, key, asked)
    return found if found is not None and found.state == "approved" else None


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("check_approved", no_state_is_looked_at),
        ("check_approved", no_plan_is_compared),
        ("same_person", lambda *_: False),
    ],
)
def test_a_broken_copy_is_caught(monkeypatch, name, broken):
    """The same machine, on a ledger without one of its rules."""
    monkeypatch.setattr(steps, name, broken)
    chosen = settings(max_examples=100, stateful_step_count=20, deadline=None, database=None)
    with pytest.raises(BaseException) as caught:
        run_state_machine_as_test(
            RequestMachine, settings=settings(chosen, phases=[Phase.generate], print_blob=False)
        )
    assert not isinstance(caught.value, (TypeError, NameError, AttributeError))
