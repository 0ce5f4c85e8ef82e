"""Search settings within one budget: the best candidate is released, and nothing else is told."""

from __future__ import annotations

import secrets
import warnings
from dataclasses import replace
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from veilspan.estimators.base import PrivateEstimator
from veilspan.estimators.cautions import Caution, weigh_promise
from veilspan.estimators.charging import LedgerParameter, log_release, open_charge
from veilspan.estimators.clone_family import count_fit
from veilspan.estimators.publishing import Kept
from veilspan.estimators.search.candidates import list_candidates
from veilspan.estimators.search.running import find_best
from veilspan.estimators.search.scored_fit import ScoredFit
from veilspan.estimators.search.search_plan import SearchPlan, Trial, plan_search
from veilspan.ledger.dataset import Dataset
from veilspan.ledger.errors import LedgerError
from veilspan.ledger.session import dataset_of
from veilspan.privacy.budget import Budget
from veilspan.privacy.errors import RepeatedFitsWarning
from veilspan.privacy.noise import NoiseSource, noise_source
from veilspan.privacy.plan import Plan

METHODS = ("auto", "random", "joint")
SECRET_TRIALS = (
    "how many trials the search ran, what else they found and how they scored was forgotten; the "
    "running time follows the number of trials and is not protected"
)
#: In a pickle of a search: whether the estimator within had no ledger of its own.
BARE_WITHIN = "estimator has no ledger"
PUBLIC_CANDIDATES = "the candidates were chosen without the rows"


def _best_has(name: str) -> Any:
    """Whether the estimator (or the best one) has a method."""

    def check(search: Any) -> bool:
        return hasattr(getattr(search, "best_estimator_", search.estimator), name)

    return check


class PrivateSearch(Kept, LedgerParameter, BaseEstimator):
    r"""Try candidates within one budget, and release the best by a private score.

    Trying settings one after the other and keeping the best spends the budget of every try, and
    tells more by the choice. Here all of it, fits, scores and the choice, is one release with the
    stated (epsilon, delta), however many candidates there are.

    Each trial draws a candidate at random, fits it and scores it on all rows: for classifiers the
    noisy number of right predictions, for regressions of squared errors (clipped to the target
    range), for PCA and RobustPCA how much of the rows' directions the components hold. The number
    of trials is random and secret. With few candidates each is tried once instead, if that leaves a
    fit more (``plan()`` says which). The proof is in :mod:`veilspan.privacy.random_search`.

    A fit in a search has less budget than one without: about 60 % of its mu for ten candidates. Use
    it where settings matter more than that; the default rules of the estimators cost nothing.

    Parameters
    ----------
    estimator : estimator
        A linear model, PCA or RobustPCA of veilspan. Its relation, noise, schema and ``allow_weak``
        hold for the search; its own epsilon and delta play no part.
    candidates : list of dicts, or dict
        Settings; or a grid, each parameter with a list of values; or lists and distributions (with
        ``rvs``), of which ``draws`` are drawn by a public seed. Chosen without the rows.
    epsilon, delta : float
        The budget of the whole search. ``epsilon=inf`` runs the same code without noise.
    tried : float
        Chance that a given candidate is tried at all, for the random search; somewhat above 1/k
        at least, since one of the k is always tried. More takes more trials, tried / (1 - tried)
        for each candidate but one, and leaves each less budget.
    share : float
        Of a trial's budget (of mu^2), what its score takes.
    method : {"auto", "random", "joint"}
        A random number of trials, or every candidate once; "auto" takes the one with the larger
        product of a trial's mu and the chance that a candidate is tried.
    draws : int
        How many candidates are drawn, where there are distributions.
    random_state : None or int
        ``None`` draws secure noise. An int makes a reproducible simulation that is *not* private.
    ledger : Dataset, optional
        Account that is charged once, for the whole search, before any row is read.

    Attributes
    ----------
    best_estimator_ : estimator
        The released one. Its ``privacy_`` and ``plan_`` are those of the search, and so are its
        epsilon and delta: it is saved, loaded and reported on like any release.
    best_params_ : dict
        What the released candidate sets; released with it.
    plan_, privacy_ : Plan, PrivacyStatement
        Of the whole search.

    Examples
    --------
    >>> import numpy as np
    >>> from veilspan import LogisticRegression, PrivateSearch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 3))
    >>> y = (X[:, 0] + 0.3 * rng.standard_normal(4000) > 0).astype(int)
    >>> model = LogisticRegression(row_norm=1.8, classes=(0, 1))
    >>> grid = {"penalty": ["l2"], "C": [1e-4, 1e-2, 1.0]}
    >>> search = PrivateSearch(model, grid, epsilon=2.0, delta=1e-6).fit(X, y)
    >>> sorted(search.best_params_)
    ['C', 'penalty']
    >>> search.privacy_.epsilon <= 2.0
    True
    """

    def __init__(
        self,
        estimator: Any,
        candidates: Any,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        tried: float = 0.75,
        share: float = 0.1,
        method: str = "auto",
        draws: int = 10,
        random_state: int | None = None,
        ledger: Dataset | None = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.epsilon = epsilon
        self.delta = delta
        self.tried = tried
        self.share = share
        self.method = method
        self.draws = draws
        self.random_state = random_state
        self.ledger = ledger

    def plan(self, n_samples: int | None = None, n_features: int | None = None) -> Plan:
        """What a search over a table of this shape would ask and spend: a dry run without data.

        Parameters
        ----------
        n_samples, n_features : int or None
            As in the estimator's own ``plan``.
        """
        lead = self._lead()
        schema = lead.schema
        if schema is not None:
            n_features = lead._width_of(schema)
            n_samples = n_samples if schema.count is None else schema.count
        if n_features is None:
            raise ValueError("a plan needs the number of columns: say n_features=...")
        return self._plan(lead, n_samples, n_features).plan

    def fit(self, X: Any, y: Any = None) -> PrivateSearch:
        """Search on the rows of ``X`` within the budget, and keep the best.

        Parameters
        ----------
        X : table
            As the estimator's own ``fit`` takes it.
        y : targets
            As the estimator's own ``fit`` takes them.
        """
        lead = self._lead()
        lead._searched = _Search(self, lead)  # fit checks the table's form and then asks for this
        try:
            lead.fit(X, y) if y is not None else lead.fit(X)
        finally:
            lead.__dict__.pop("_searched", None)
        return self

    # From public facts to a plan.

    def _lead(self) -> Any:
        """A copy of the estimator with the search's budget: it becomes the released one."""
        _check_share(self.tried, "tried")
        _check_share(self.share, "share")
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}; got {self.method!r}.")
        given = self.estimator
        if not isinstance(given, PrivateEstimator):
            raise TypeError(
                "PrivateSearch searches settings of an estimator of veilspan; got "
                f"{type(given).__name__}."
            )
        for name in ("random_state", "ledger"):
            if getattr(given, name) is not None:
                raise ValueError(f"the search has {name}: give it to PrivateSearch, not within.")
        Budget(self.epsilon, self.delta)
        lead = clone(given)
        lead.set_params(epsilon=self.epsilon, delta=self.delta, ledger=None)
        return lead

    def _plan(self, lead: Any, n_samples: int | None, n_features: int) -> SearchPlan:
        settings = list_candidates(lead, self.candidates, self.draws)
        budget = Budget(self.epsilon, self.delta)

        def prepare(part: Budget) -> list[Trial]:
            trials = []
            for params in settings:
                model = clone(lead)
                model.set_params(**params, epsilon=part.epsilon, delta=part.delta, ledger=None)
                model._scored = ScoredFit(model, self.share)
                plan, prepared = model._draft(n_samples, n_features)
                del model._scored
                trials.append(Trial(params, model, plan, prepared))
            return trials

        name = f"PrivateSearch of {type(lead).__name__}"
        return plan_search(
            prepare, len(settings), budget, lead.neighbors, self.method, self.tried, name
        )

    # Using the best one: rows are the caller's own, nothing is spent.

    @available_if(_best_has("predict"))
    def predict(self, X: Any) -> Any:
        """What the best estimator predicts for rows of your own."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """Probabilities that the best estimator gives to the classes."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_best_has("transform"))
    def transform(self, X: Any) -> Any:
        """Coordinates of rows of your own in the best components."""
        check_is_fitted(self)
        return self.best_estimator_.transform(X)

    @available_if(_best_has("score"))
    def score(self, X: Any, y: Any = None) -> Any:
        """Score of the best estimator on rows of your own."""
        check_is_fitted(self)
        return self.best_estimator_.score(X, y)

    def save(self, folder: Any, **options: Any) -> Any:
        """Write the release, which is the best estimator, to a folder that ``veilspan.load`` reads.

        Parameters
        ----------
        folder : path
            Gets ``release.json`` and the arrays that it names: the whole release or none.
        **options
            ``key``, ``overwrite``: see :func:`veilspan.releases.save`.
        """
        check_is_fitted(self)
        return self.best_estimator_.save(folder, **options)

    def report(self, path: Any, **options: Any) -> Any:
        """Write one offline HTML page about the release, which is the best estimator.

        Parameters
        ----------
        path : path
            The page.
        **options
            See :func:`veilspan.reports.write_report`.
        """
        check_is_fitted(self)
        return self.best_estimator_.report(path, **options)

    # Copies made inside a ledger's session take its dataset along: the search, not what is within.

    def __sklearn_clone__(self) -> Any:
        copy = super().__sklearn_clone__()
        if _has_no_ledger(self.estimator):
            copy.estimator.ledger = None
        return copy

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), BARE_WITHIN: _has_no_ledger(self.estimator)}

    def __setstate__(self, state: Any) -> None:
        state = dict(state)
        bare = state.pop(BARE_WITHIN, False)
        super().__setstate__(state)
        if bare:
            self.estimator.ledger = None

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags


class _Search:
    """What runs in the place of a single fit, once the form of the table is checked."""

    def __init__(self, search: PrivateSearch, lead: Any) -> None:
        self.search, self.lead = search, lead

    def __call__(self, table: Any, targets: Any) -> None:
        """Plan, charge, run the trials, keep the best, and state the whole."""
        search, lead = self.search, self.lead
        ready = search._plan(lead, table.shape[0], table.shape[1])
        source = noise_source(search.random_state)
        dataset = dataset_of(search.ledger)
        loud = [trial.prepared.warning for trial in ready.trials]
        cautions = weigh_promise(lead, ready.plan, source, loud[0] if all(loud) else None)
        cautions += getattr(table, "cautions", ())
        if dataset is None:
            repeated = count_fit(lead, ready.plan, source)
            self._say(cautions)
            self._run(table, targets, ready, source)
            search.privacy_ = lead.privacy_ = repeated.note_on(search.privacy_)
            if repeated.is_told:
                self._say(((RepeatedFitsWarning, repeated.text),))
            self._say(lead.__dict__.pop("_unsaid", ()))
            return
        if dataset.idempotency_key is not None:
            raise LedgerError(
                "a search takes no idempotency key: its release is the best estimator, so save "
                "that. Charge the dataset itself."
            )
        charge = open_charge(dataset, _asked(search, lead, ready), ready.plan, source)
        self._say(cautions)
        receipt = charge.commit()
        self._run(table, targets, ready, source)
        said = replace(search.privacy_, ledger=receipt.describe())
        search.privacy_ = lead.privacy_ = said
        receipt.release(said.to_dict())
        log_release(search, receipt)
        self._say(lead.__dict__.pop("_unsaid", ()))

    def _say(self, cautions: tuple[Caution, ...]) -> None:
        """Give warnings that point at the line which called the search's ``fit``."""
        for kind, text in cautions:
            # Above here: __call__, the estimator's _learn and fit, the search's fit, that line.
            warnings.warn(text, kind, stacklevel=6)

    def _run(self, table: Any, targets: Any, ready: SearchPlan, source: NoiseSource) -> None:
        search, lead = self.search, self.lead
        learned_before = set(vars(lead))
        best, params = find_best(ready, lead, table, targets, source)
        lead.set_params(**params)
        for name, value in vars(best).items():
            if name not in learned_before and not name.startswith("__"):
                lead.__dict__[name] = value
        lead.set_params(epsilon=search.epsilon, delta=search.delta)
        facts = (*best.privacy_.assumptions, PUBLIC_CANDIDATES, SECRET_TRIALS)
        lead.plan_ = ready.plan
        lead.privacy_ = replace(
            best.privacy_,
            method=ready.plan.method,
            epsilon=ready.plan.epsilon,
            delta=ready.plan.budget.delta,
            events=ready.plan.events,
            assumptions=facts,
            release_id=secrets.token_hex(8),
            asked=ready.plan.budget.epsilon,
        )
        if ready.plan.budget.is_private:
            lead._forget_bars()
        search.best_estimator_, search.best_params_ = lead, dict(params)
        search.plan_, search.privacy_ = lead.plan_, lead.privacy_
        search.n_features_in_ = lead.n_features_in_


def _asked(search: PrivateSearch, lead: Any, ready: SearchPlan) -> Any:
    """The search as a charge knows it: its schema and unit are the estimator's.

    It asks for the candidates that are listed, whether they were listed or drawn.
    """
    asked = clone(search)
    asked.candidates = [trial.params for trial in ready.trials]
    asked.schema = lead.schema
    asked._protects = lead._protects
    return asked


def _has_no_ledger(estimator: Any) -> bool:
    return isinstance(estimator, LedgerParameter) and estimator.ledger is None


def _check_share(value: Any, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1; got {value!r}.")
