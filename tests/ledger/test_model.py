"""Any course of events, against a model that is a dictionary of exact sums."""

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from ledger.requests import SAMPLED, request
from veilspan import BudgetExceededError, GaussianEvent
from veilspan.ledger import Ledger, LedgerError
from veilspan.ledger.costs import cost_of
from veilspan.ledger.filters import CAP, UNIT, rules_for
from veilspan.privacy import gdp
from veilspan.privacy.schema_record import SchemaRecord

names = st.sampled_from(["a", "b"])
units = st.sampled_from(["row", "row", "row", "patient"])
NOISE = st.sampled_from([0.8, 2.0, 5.0, 30.0])


class LedgerMachine(RuleBasedStateMachine):
    """Open, charge, release, break off, retry and reopen in any order, for rows and patients."""

    receipts = Bundle("receipts")

    @initialize()
    def start(self):
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = Ledger(self.folder / "budget.db", key=self.folder / "key")
        self.terms = {}  # name -> (epsilon, accounting, unit)
        self.spent = {}  # name -> units under each rule
        self.exact = {}  # name -> sum of mu^2 while all releases are Gaussian, else None
        self.keys = {}  # (name, key) -> (question, stored answer or None)
        self.entries = 0

    def teardown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    @rule(
        name=names,
        epsilon=st.sampled_from([0.5, 3.0]),
        accounting=st.sampled_from(["auto", "gdp", "rdp"]),
        unit=units,
    )
    def open_dataset(self, name, epsilon, accounting, unit):
        wanted = (epsilon, accounting, unit)
        if self.terms.get(name, wanted) != wanted:
            with pytest.raises(LedgerError, match="terms do not change"):
                self.ledger.dataset(name, epsilon, 1e-6, accounting=accounting, unit=unit)
            return
        self.ledger.dataset(name, epsilon, 1e-6, accounting=accounting, unit=unit.title())
        if name not in self.terms:
            self.entries += 1 if self.entries else 2  # the first line is the ledger's own
            self.terms[name] = wanted
            self.spent[name] = [0] * 4
            self.exact[name] = Fraction(0)

    @rule(
        target=receipts,
        name=names,
        noise=NOISE,
        sampled=st.sampled_from([False, False, True]),
        key=st.sampled_from([None, None, "k1", "k2"]),
        unit=units,
        described=st.sampled_from([None, None, "a", "b"]),
    )
    def charge(self, name, noise, sampled, key, unit, described):
        if name not in self.terms:
            with pytest.raises(LedgerError, match=r"there is no ledger|no dataset"):
                self.ledger.dataset(name)
            return multiple()
        question = f"{noise} {sampled}"
        asked = request(events=(SAMPLED if sampled else GaussianEvent("e", noise),))
        schema = None if described is None else SchemaRecord("0" * 64, described)
        asked = type(asked)(asked.plan, question, unit=unit, schema=schema)
        handle = self.ledger.dataset(name)
        handle = handle if key is None else handle.with_key(key)
        if unit != self.terms[name][2] or described not in (None, name):
            with pytest.raises(LedgerError, match=r"another promise|this schema is of"):
                handle.charge(asked)
            return multiple()
        if key is not None and (name, key) in self.keys:
            self._retry(handle, asked, *self.keys[name, key])
            return multiple()
        epsilon, accounting, _ = self.terms[name]
        rules = rules_for(epsilon, 1e-6, accounting)
        costs = cost_of(asked.plan, rules)
        after = [min(CAP, a + b) for a, b in zip(self.spent[name], costs)]
        if not any(u <= r.allowance(epsilon) for u, r in zip(after, rules) if r.active):
            with pytest.raises(BudgetExceededError):
                handle.charge(asked)
            return multiple()
        receipt = handle.charge(asked)
        self.entries += 1
        assert receipt.entry == self.entries
        self.spent[name] = after
        if sampled:
            self.exact[name] = None
        elif self.exact[name] is not None:
            self.exact[name] += 1 / Fraction(noise) ** 2
        if key is not None:
            self.keys[name, key] = (question, None)
        return receipt

    def _retry(self, handle, asked, question, stored):
        if asked.question == question and stored is not None:
            assert handle.charge(asked).stored == {"answer_": stored}
            return
        with pytest.raises(LedgerError, match=r"another fit|never recorded as released"):
            handle.charge(asked)

    @rule(receipt=consumes(receipts), answer=st.integers())
    def release(self, receipt, answer):
        receipt.release({}, {"answer_": answer})
        self.entries += 1
        key = receipt.dataset.idempotency_key
        if key is not None:
            question, _ = self.keys[receipt.dataset.name, key]
            self.keys[receipt.dataset.name, key] = (question, answer)

    @rule(receipt=consumes(receipts))
    def crash(self, receipt):
        """Nobody ever marks it as released."""

    @rule()
    def reopen(self):
        self.ledger = Ledger(self.ledger.url, self.ledger.key_file)

    @invariant()
    def spent_is_what_the_model_says(self):
        for name, (epsilon, _, unit) in self.terms.items():
            spending = self.ledger.dataset(name).spent()
            assert spending.terms.unit == unit
            assert list(spending.account.spent) == self.spent[name]
            assert spending.epsilon <= epsilon * (1 + 1e-9)
            mu_squared = self.exact[name]
            if mu_squared is not None:  # never below the exact sum, less than a unit a charge above
                units = spending.account.spent[0]
                assert 0 <= units - mu_squared * UNIT <= spending.charges
                if spending.rules[0].active and units <= spending.account.allowed[0]:
                    assert gdp.delta_of(float(mu_squared) ** 0.5, epsilon) <= 1e-6

    @invariant()
    def nothing_is_wrong(self):
        if self.terms:
            report = self.ledger.verify()
            assert report, report.problems
            assert report.entries == self.entries


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
