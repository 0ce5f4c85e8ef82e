"""The words of an account: each contradiction that people found, with what is said now.

The old words were "14.1 % spent, epsilon = 1.036" after a fit at 1; "epsilon .999969" and "together
1.472 of 3" for one fit; "1.45 left" of an unspent 1.5; another .994 after 1 of 1.5; "Nothing is
left" beside "one Gaussian fit with 1.043"; "epsilon = not defined".
"""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.requests import SAMPLED, plan_of, request
from veilspan import PCA, BudgetExceededError, Ledger, LogisticRegression, ObjectiveEvent
from veilspan.datasets import make_haystack
from veilspan.ledger.filters import CAP, rules_for
from veilspan.ledger.records import Account, Terms
from veilspan.ledger.spending import Spending
from veilspan.ledger.words.fits import find_fitting, fitting_epsilon
from veilspan.ledger.words.sentences import (
    NOTHING,
    WHY,
    list_what_fits,
    refuse_charge,
    say_after_charge,
    say_rule_changes,
)
from veilspan.ledger.words.shares import (
    Shares,
    count_shares,
    find_leading_rule,
    write_shares,
    write_used,
)
from veilspan.privacy.statement import write_epsilon

ROWS = make_haystack(500, 4, 2, random_state=0).rows
TILTED = ObjectiveEvent(
    name="minimum", lam=5.0, clip=1.0, smoothness=0.25, shape="logistic", noise_multiplier=6.0
)


def charge_shares(data):
    """Shares of all charges by the rule that is shown now."""
    shares = data.spent().shares
    return [shares.of(e.content["costs"]) for e in data.history() if e.kind == "charge"]


def percents(text):
    return [float(word) for word, sign in zip(text.split(), text.split()[1:]) if sign == "%"]


def test_after_a_fit_at_one_no_other_epsilon_stands_for_what_was_spent(file_ledger):
    """Was: "14.1 % spent of epsilon = 3", and below it "epsilon = 1.036"."""
    data = file_ledger.dataset("d", 3, 1e-6)
    PCA(2, epsilon=1.0, ledger=data).fit(ROWS)
    said = repr(data.spent())
    assert said.splitlines()[0] == "d: 14.1 % of the budget used, 85.9 % left"
    assert "1.03" not in said
    assert "spent" not in said
    assert WHY in said


def test_one_fit_has_one_epsilon_as_it_was_asked_for():
    """Was: "epsilon .999969" in the release, for somebody who had asked for 1."""
    assert write_epsilon(0.999969, 1.0) == "1 (0.999969)"
    fitted = LogisticRegression(row_norm=2.0, classes=[0, 1], solver="objective", epsilon=1.0).fit(
        ROWS, (ROWS[:, 0] > 0).astype(int)
    )
    exact = fitted.privacy_.epsilon
    first = repr(fitted.privacy_).splitlines()[0]
    assert exact < 1
    assert first.endswith(f"epsilon = 1 ({exact:.6g}) at delta = 1e-06")


def test_one_fit_has_no_total_beside_it(file_ledger):
    """Was: "together 1.472 of 3" after one logistic fit at 1."""
    data = file_ledger.dataset("d", 3, 1e-6)
    receipt = data.charge(request(events=(TILTED,)))
    entry = data.entry(receipt.entry)
    said = say_after_charge(data.spent(), entry.content["costs"], plan_of(events=(TILTED,)))
    used = data.spent().fraction
    assert said.startswith(f"This release used {100 * used:.1f} % of the budget of d; ")
    assert sum(percents(said)) == pytest.approx(100)
    assert "together" not in repr(data.spent())


def test_an_unspent_account_is_whole_and_says_why_one_fit_gets_less(file_ledger):
    """Was: an account of 1.5 had "1.45 left" before anything was spent."""
    data = file_ledger.dataset("d", 1.5, 1e-5)
    first, *rest = repr(data.spent()).splitlines()
    assert first == "d: 0 % of the budget used, 100 % left"
    said = " ".join(rest)
    assert "one Gaussian fit, such as PCA, at epsilon 1.43836 (delta 1e-05)" in said
    assert (
        "every rule has a part of delta, so one fit gets a little less than epsilon = 1.5" in said
    )
    exact = file_ledger.dataset("exact", 1.5, 1e-5, accounting="gdp").spent()
    assert list_what_fits(exact) == [
        "one Gaussian fit, such as PCA, at epsilon 1.49999 (delta 1e-05)"
    ]
    assert "a little less" not in repr(exact)


def test_epsilons_that_do_not_add_are_shares_that_do(file_ledger):
    """Was: after 1 of 1.5 another .994 fits. It does; the shares say how."""
    data = file_ledger.dataset("d", 1.5, 1e-6)
    PCA(2, epsilon=1.0, ledger=data).fit(ROWS)
    fits = data.left_for(PCA(2).plan(500, 4))
    assert 0.95 < fits < 1.1
    assert f"one more PCA at epsilon {math.floor(fits * 1e4) / 1e4:.4g}"[:-1] in repr(data.spent())
    first = data.spent().fraction
    PCA(2, epsilon=fits, ledger=data).fit(ROWS)
    assert sum(charge_shares(data)) == pytest.approx(data.spent().fraction, rel=1e-12)
    assert charge_shares(data)[0] == first
    assert data.spent().fraction > 0.9999


def test_nothing_is_left_only_if_nothing_fits(file_ledger):
    """Was: "Nothing is left" for a tilted objective, beside "one Gaussian fit with 1.043"."""
    data = file_ledger.dataset("d", 1.5, 1e-6)
    data.charge(request(1.0))
    data.charge(request(0.9, events=(replace(SAMPLED, noise_multiplier=12.0),)))
    with pytest.raises(BudgetExceededError) as refused:
        data.charge(request(events=(replace(TILTED, noise_multiplier=0.8),)))
    said = str(refused.value)
    assert NOTHING not in said
    assert "Still fits: one Test at epsilon about 0." in said
    fits = float(said.split("epsilon about ")[1].split()[0])
    assert 0 < fits < data.left() * 1.1
    data.charge(request(data.left()))
    assert list_what_fits(data.spent())[0] != NOTHING or data.left() == 0


def test_nothing_at_all_is_said_as_such():
    terms = Terms("d", 1.0, 1e-6)
    rules = rules_for(1.0, 1e-6, "auto")
    allowed = tuple(rule.allowance(1.0) for rule in rules)
    full = Account("d", allowed, allowed)
    assert list_what_fits(Spending(terms, rules, full, 3, 0, 3)) == [NOTHING]
    error = refuse_charge(terms, rules, full, allowed, plan_of())
    assert "and 0 % is left. Nothing is left. Nothing was charged." in str(error)


def test_a_difference_that_figures_do_not_show_is_said(file_ledger):
    data = file_ledger.dataset("d", 3, 1e-6)
    data.charge(request(1.0))
    with pytest.raises(
        BudgetExceededError, match=r"needs 85\.9 % .* 85\.9 % is left, 0\.0\d+ % too"
    ):
        data.charge(request(data.left() * 1.0001))


def test_a_kind_that_never_fits_is_told_what_else_does(monkeypatch):
    terms, rules = Terms("d", 1.0, 1e-6), rules_for(1.0, 1e-6, "auto")
    allowed = tuple(rule.allowance(1.0) for rule in rules)
    half = Account("d", allowed, tuple(units // 2 for units in allowed))
    monkeypatch.setattr("veilspan.ledger.words.fits.fitting_epsilon", lambda *_: 0.0)
    costs = tuple(2 * units for units in allowed)
    said = str(refuse_charge(terms, rules, half, costs, plan_of(events=(SAMPLED,))))
    assert "No epsilon of its kind fits any more, but one Gaussian fit, such as PCA, at" in said


def test_mixed_accounts_are_defined_and_say_that_they_are_recounted(file_ledger):
    """Was: "epsilon = not defined (exact, Gaussian releases)"."""
    data = file_ledger.dataset("d", 3, 1e-6)
    data.charge(request(1.0))
    before = data.spent()
    assert before.led == (0,)
    assert not before.to_dict()["recounted"]
    data.charge(request(0.5, events=(SAMPLED,)))
    state = data.spent()
    said = repr(state)
    assert "not defined" not in said
    assert "inf" not in said
    assert "earlier charges were counted by another rule and are recounted by this one" in said
    assert state.to_dict()["recounted"]
    assert state.to_dict()["counted_by"].startswith("rdp at order")
    assert sum(charge_shares(data)) == pytest.approx(state.fraction, rel=1e-12)
    assert charge_shares(data)[0] > before.fraction  # by the rule that is shown now
    (change,) = say_rule_changes(data.history(), state)
    assert change.startswith("From entry 4 on d has most left by Rényi counting at order ")
    assert change.endswith("before by exact Gaussian counting.")


def test_an_account_that_was_always_mixed_was_not_recounted(file_ledger):
    data = file_ledger.dataset("d", 3, 1e-6)
    for _ in range(2):
        data.charge(request(0.5, events=(SAMPLED,)))
    assert "recounted" not in repr(data.spent())
    assert say_rule_changes(data.history(), data.spent()) == []


def test_old_records_without_leading_rules_are_counted(file_ledger, monkeypatch):
    """As an earlier version wrote them: the next reader finds out by itself."""
    from veilspan.ledger.dataset import Dataset

    data = file_ledger.dataset("d", 3, 1e-6)
    record = Dataset._record

    def forget(self, page, *given):
        append = page.append
        monkeypatch.setattr(
            type(page),
            "append",
            lambda _, kind, name, content, **more: append(
                kind, name, {k: v for k, v in content.items() if k != "led"}, **more
            ),
        )
        try:
            return record(self, page, *given)
        finally:
            monkeypatch.undo()

    monkeypatch.setattr(Dataset, "_record", forget)
    data.charge(request(1.0))
    monkeypatch.setattr(Dataset, "_record", forget)
    data.charge(request(0.5, events=(SAMPLED,)))
    assert "led" not in data.history()[-1].content
    assert data.spent().led[0] == 0
    assert len(data.spent().led) == 2
    data.charge(request(0.1))
    assert len(data.history()[-1].content["led"]) == 2


def test_what_fits_of_a_kind_fits_and_a_little_more_does_not(file_ledger):
    """Of sampled and tilted plans too, up to how a new plan spreads its noise."""
    data = file_ledger.dataset("d", 2, 1e-6)
    data.charge(request(1.0))
    for event in (replace(SAMPLED, count=2000), TILTED):
        state, plan = data.spent(), plan_of(events=(event,))
        fits = fitting_epsilon(plan, state.rules, state.account, 1e-6)
        assert 0.5 < fits < 2
        assert find_fitting(plan, state.rules, state.account, 1e-6).exact is False
    assert find_fitting(plan_of(), state.rules, state.account, 1e-6).exact


def test_what_still_fits_is_at_the_account_s_delta(file_ledger):
    """At a smaller delta more than the whole epsilon may fit, which nobody would believe."""
    data = file_ledger.dataset("d", 3, 1e-5)
    plan = plan_of(1.0, delta=1e-8)
    data.charge(request(1.0, delta=1e-8))
    (said,) = list_what_fits(data.spent())
    assert said.endswith("(delta 1e-05)")
    assert data.spent().fitting(plan).epsilon < 3 < data.left_for(plan)
    assert data.left_for(plan) == data.left(1e-8)


units = st.integers(1, 10**13)


@given(
    st.lists(st.tuples(units, units, units, units), min_size=1, max_size=12),
    st.tuples(units, units, units, units),
)
@settings(max_examples=60, deadline=None)
def test_shares_add_up_under_whatever_rule_is_ahead(costs, extra):
    """Exactly, as fractions of one allowance; and so do the figures that are shown."""
    spent = tuple(min(CAP, sum(column)) for column in zip(*costs))
    allowed = tuple(total + more for total, more in zip(spent, extra))
    shares = count_shares(Account("d", allowed, spent))
    assert shares.place == find_leading_rule(allowed, spent)
    assert math.fsum(map(shares.of, costs)) == pytest.approx(shares.used, rel=1e-12)
    assert shares.used + shares.left == 1
    assert shares.used == min(s / a for s, a in zip(spent, allowed))


@given(st.lists(st.floats(0.001, 1), min_size=2, max_size=8))
@settings(max_examples=100, deadline=None)
def test_figures_of_a_whole_add_up(parts):
    parts = [part / math.fsum(parts) for part in parts]
    told = write_shares(parts)
    if all(word[0].isdigit() for word in told):
        tenths = sum(round(10 * float(word.split()[0])) for word in told)
        assert tenths == 1000
    for word, part in zip(told, parts):
        if word[0].isdigit():
            assert abs(float(word.split()[0]) - 100 * part) <= 0.1 + 1e-9


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=9), st.integers(1, 10**6))
@settings(max_examples=100, deadline=None)
def test_figures_of_charges_add_up_to_the_figure_of_what_is_used(costs, rest):
    allowed = sum(costs) + rest
    shares = Shares(0, allowed, sum(costs) / allowed)
    told = write_used(shares, [shares.of((cost,)) for cost in costs])
    (whole,) = write_used(shares, [shares.used])
    if all(word[0].isdigit() for word in (*told, whole)):
        tenths = [round(10 * float(word.split()[0])) for word in (*told, whole)]
        assert sum(tenths[:-1]) == tenths[-1]


def test_notebooks_show_the_same_words_and_no_markup_of_others(file_ledger):
    data = file_ledger.dataset("<script>alert(1)</script>", 3, 1e-6)
    fitted = PCA(2, epsilon=1.0, ledger=data).fit(ROWS)
    for shown in (data, data.spent(), fitted.privacy_, fitted.plan_, file_ledger):
        html = shown._repr_html_()
        assert "<script" not in html
        assert len(html) < 10_000
    html = data.spent()._repr_html_()
    assert "14.1 % of the budget used, 85.9 % left" in html
    assert 'aria-label="14.1 % of the budget used"' in html
    assert "Private: strong" in fitted.privacy_._repr_html_()
    gone = replace(data, url=data.url + ".gone")
    assert gone._repr_html_().startswith("<code>Dataset(")
    assert "14.1 % of the budget used, 85.9 % left" in file_ledger._repr_html_()


def test_a_ledger_that_is_not_there_shows_its_name(tmp_path):
    gone = Ledger(str(tmp_path / "gone.db"), key=tmp_path / "key")
    assert "gone.db" in gone._repr_html_()


def test_a_report_and_the_account_use_the_same_words(file_ledger):
    from veilspan.reports import report_html

    data = file_ledger.dataset("d", 3, 1e-6)
    fitted = PCA(2, epsilon=1.0, ledger=data).fit(ROWS)
    page = report_html(fitted)
    assert "14.1 % of the budget used, 85.9 % left" in page
    assert "one more PCA at epsilon " in page
    assert WHY in page
