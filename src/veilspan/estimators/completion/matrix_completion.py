"""Private recommendations: matrix completion under user-level joint differential privacy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan.estimators.base import PrivateEstimator
from veilspan.estimators.completion.local_predictor import LocalPredictor
from veilspan.estimators.completion.local_ranker import LocalRanker
from veilspan.estimators.completion.making_lists import MakesLists
from veilspan.estimators.completion.ranking import (
    keep_ranking,
    make_ranker,
    prepare_ranking,
    ranking_shapes,
    ranks,
    recall_of,
)
from veilspan.estimators.completion.ratings_input import (
    as_ratings,
    check_range,
    frame_columns,
    triples_to_ratings,
)
from veilspan.estimators.completion.ratings_with_schema import (
    item_names,
    place_users,
    rating_range_of,
    read_users,
)
from veilspan.estimators.dask_input import lazy_for_dask
from veilspan.estimators.noise.loud_noise import find_loud_items, find_loud_popularity
from veilspan.estimators.noise.summary import Parts, summarize_factors
from veilspan.estimators.parameters import TableParameters
from veilspan.estimators.schema_input import reads_by_schema, refuse_said_twice, schema_of
from veilspan.estimators.validation import (
    check_count,
    check_learned_count,
    refuse_lazy,
    validate_table,
)
from veilspan.metrics.ranking import rmse
from veilspan.privacy.budget import Budget
from veilspan.privacy.neighbors import Neighbors
from veilspan.privacy.noise import noise_source
from veilspan.privacy.plan import Plan
from veilspan.queries.completion.rating_rows import MOST_ITEMS, RatingRule
from veilspan.solvers.base import Outcome, Prepared
from veilspan.solvers.completion.base import (
    CompletionProblem,
    CompletionSolver,
)
from veilspan.solvers.completion.by_name import completion_solver

# So many times more items than users look like a transposed table.
TRANSPOSED = 2
# ... and so many for lists, where catalogues are long and most of them is never bought.
LONG_CATALOGUE = 20
JOINT = (
    "joint DP: user i's own predictions also use her own ratings; what others see is "
    "(epsilon, delta)-DP, one user being all of her ratings"
)
PUBLIC_ITEMS = "the list of items and the rating range are public"


@dataclass(eq=False, repr=False)
class MatrixCompletion(MakesLists, TableParameters, PrivateEstimator):
    r"""Recommendations under user-level joint differential privacy.

    A model has two halves. The *global* half, ``item_bias_`` and ``item_factors_``, is learned from
    all users, is (epsilon, delta)-DP with one user (all of her ratings) as the unit, and may be
    published. The *local* half is computed where a user's ratings are, from the global half and her
    own ratings alone (:class:`~veilspan.estimators.completion.local_predictor.LocalPredictor`).
    Together they are joint-DP (Kearns, Pai, Roth & Ullman 2014; the "billboard" lemma of Hsu et al.
    2016): what all other users see, together, hardly depends on one user's ratings. No user's
    factors are ever part of the model.

    Parameters
    ----------
    task : {"rate", "rank"}
        What is to be learned: ratings (item bias and factors), or lists of what users will like
        (popularity and what goes together beyond it). Lists also take data without ratings.
    solver : str or completion solver
        ``"auto"`` (item statistics, then a look at the covariance, and where factors show the whole
        of it and what they gain users on hidden ratings), ``"covariance"`` (statistics and
        covariance, always), ``"frank-wolfe"``,
        ``"svd"``, ``"als"``, or an instance with settings of its own.
    rating_range : (float, float)
        Public lowest and highest rating; ratings outside are clipped. A schema says it. With
        ``task="rank"`` it may be left out: then whatever is not 0 says that the user has the item.
    max_ratings_per_user : int
        At most so many ratings of a user enter the global half, chosen at random (secure
        randomness); all of them serve her own predictions.
    n_components : int, optional
        Largest number of item factors; by default the solver's choice.
    center : {"user", "middle"}
        What the global step subtracts from ratings first: the user's own mean, or the middle of
        the range (for ratings that are already relative).
    epsilon, delta : float
        The budget. ``epsilon=inf`` runs the same code without noise.
    neighbors : {"replace-one", "add-remove"}
        Neighbour relation on users. Under add-remove the number of users is private.
    noise : {"grid", "exact"}
        Gaussian noise rounded to a grid, or the exact discrete Gaussian (small tables only).
    random_state : None or int
        ``None`` draws secure noise. An int makes a reproducible simulation that is *not* private.
    ledger : Dataset, optional
        Account that is charged before any row is read (:class:`veilspan.Ledger`).
    allow_weak : bool
        Whether a promise may be weak: a delta of 1/n or more is refused otherwise, and an epsilon
        above 10 warned of. n is the public number of people, or a public guess.

    Attributes
    ----------
    item_bias_ : array of shape (n_items,)
        Global, may be published: how much better than its raters' own means an item is rated.
    item_factors_ : array of shape (n_items, r)
        Global, may be published. r may be 0, where noise hides all structure.
    item_ids_ : tuple
        Public names of the items.
    ridge_ : float
        Global: penalty of the local fits.
    subspace_angle_ : float
        With ``solver="covariance"``: degrees by which noise may have turned the span of the item
        factors, with 95 %.
    popularity_ : array of shape (n_items,)
        With ``task="rank"``, global: noisy sum of users' rows of length 1.
    top_items_ : array of shape (K,)
        With ``task="rank"``, global: items of which it is known what goes with them.
    weights_ : array of shape (K, K)
        With ``task="rank"``, global: a user's row times it are the scores of these items.
    plan_ : Plan
        What was asked.
    privacy_ : PrivacyStatement
        What was promised and spent.

    Notes
    -----
    Users without ratings are rows like others. At least two users are needed. The items are public:
    nobody can add one by rating it.

    Examples
    --------
    >>> from veilspan import MatrixCompletion
    >>> from veilspan.datasets import make_ratings
    >>> data = make_ratings(3000, 30)
    >>> model = MatrixCompletion(rating_range=(1, 5), epsilon=3.0).fit(data.train)
    >>> model.item_bias_.shape
    (30,)
    >>> phone = model.local_predictor()
    >>> len(phone.recommend({3: 5.0, 7: 1.0}, k=4))
    4
    """

    _assumptions: ClassVar[tuple[str, ...]] = (JOINT, PUBLIC_ITEMS)
    _unit: ClassVar[str] = "one user: all of her ratings"
    _protects: ClassVar[str] = "user"
    _solver_label: ClassVar[str] = " ({0.solver.name})"

    solver: str | CompletionSolver = "auto"
    _: KW_ONLY
    rating_range: tuple[float, float] | None = None
    max_ratings_per_user: int = 80
    n_components: int | None = None
    center: str = "user"
    task: str = "rate"

    # Learning the global half.

    def fit(self, R: Any, y: Any = None) -> Self:
        """Learn the global half from users x items.

        Parameters
        ----------
        R : CSR matrix or array of shape (n_users, n_items)
            One row per user. In sparse input every stored entry is a rating, zeros included; in
            dense input NaN says "not rated". Of an item stored twice in a row the last counts.
            CSR input in order is not copied. With a ``schema`` a long table of any kind, a line a
            rating, whose columns have the roles user, item and rating.
        y : None
            Ignored.
        """
        if self.schema is not None:
            schema = schema_of(self)
            refuse_lazy(R)
            coins = noise_source(self.random_state).coins("places")
            return self._fit_table(place_users(schema, R, coins), item_names(schema))
        return self._fit_table(as_ratings(R), None)

    def fit_triples(self, user: Any, item: Any, rating: Any = None, items: Any = None) -> Self:
        """Learn the global half from lists of users, items and ratings with any hashable ids.

        Parameters
        ----------
        user, item, rating : sequences of the same length
            Of two ratings of an item by a user the later counts. Ratings of items that are not
            listed are dropped; their users stay. Lists (``task="rank"``) need no ratings.
        items : sequence or "observed"
            The public list of items. ``"observed"`` takes the items that were rated: right only if
            that list is public knowledge.
        """
        refuse_lazy(user, item, rating)
        if self.schema is not None:
            raise ValueError("with a schema, fit takes the table as it is: fit(table).")
        if rating is None and not ranks(self):
            raise ValueError('rating is missing: only lists, task="rank", do without.')
        rating = np.ones(len(item)) if rating is None else rating
        return self._fit_table(*triples_to_ratings(user, item, rating, items))

    def fit_frame(
        self, frame: Any, columns: Sequence[str] = ("user", "item", "rating"), items: Any = None
    ) -> Self:
        """Learn from columns of a data frame, as :meth:`fit_triples`; lists may do with two."""
        refuse_lazy(frame)
        return self.fit_triples(*frame_columns(frame, columns, rated=not ranks(self)), items=items)

    def _fit_table(self, table: Any, item_ids: tuple[Any, ...] | None) -> Self:
        users, items = table.shape
        most = LONG_CATALOGUE if ranks(self) else TRANSPOSED
        if self.neighbors == "replace-one" and items > most * users > 0:
            warnings.warn(
                f"R has {users} rows (users) and {items} columns (items): is it transposed? Rows "
                "are protected. With so few users, little can be learned privately.",
                UserWarning,
                stacklevel=3,
            )
        earlier = getattr(self, "item_ids_", None)
        # Before the fit, so that a stored release is given out with the items it was learned for.
        self.item_ids_ = tuple(range(items)) if item_ids is None else item_ids
        try:
            return self._learn(validate_table(self, table, lazy=True, **self._input_options))
        except BaseException:  # what an earlier fit learned keeps its own names
            if earlier is None:
                del self.item_ids_
            else:
                self.item_ids_ = earlier
            raise

    def _width_of(self, schema: Any) -> int:
        """A column for each item: a long table has three columns, however many items."""
        return len(item_names(schema))

    def _prepare(
        self, budget: Budget, neighbors: Neighbors, n_rows: int | None, n_features: int
    ) -> Prepared[Any, Any]:
        if ranks(self):
            span = self._span_of_lists()
            return prepare_ranking(self, span, budget, neighbors, n_rows, n_features)
        problem = self._problem(n_rows, n_features)
        solver = completion_solver(self.solver)
        prepared = solver.prepare(problem, budget, neighbors)
        kept = {"ratings kept per user": problem.rule.max_ratings}
        return replace(prepared, decisions={**kept, **prepared.decisions})

    def _learned_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        if not isinstance(self.item_ids_, tuple) or len(self.item_ids_) != n_features:
            raise ValueError("its items do not fit its columns")
        if ranks(self):
            return ranking_shapes(self, n_features)
        check_learned_count(self.n_components_, 0, n_features)
        if not self.ridge_ >= 0:
            raise ValueError("ridge_ is negative or not a number")
        factors = (n_features, self.n_components_)
        shapes = {"item_bias_": (n_features,), "item_factors_": factors, "ridge_": ()}
        return {**shapes, "subspace_angle_": ()} if "subspace_angle_" in vars(self) else shapes

    def _summary_parts(self) -> Parts:
        return summarize_factors(vars(self).get("subspace_angle_"), self)

    def _keep(self, outcome: Outcome, plan: Plan) -> None:
        result = outcome.result
        self.__dict__.pop("subspace_angle_", None)
        if ranks(self):
            keep_ranking(self, result)
            return
        self.item_bias_ = result.item_bias
        self.item_factors_ = result.item_factors
        self.n_components_ = result.item_factors.shape[1]
        self.ridge_ = result.ridge
        if result.angle is not None and plan.budget.is_private:
            self.subspace_angle_ = result.angle

    def _find_loud_noise(self, outcome: Outcome, plan: Plan) -> tuple[str, ...]:
        if ranks(self):
            return find_loud_popularity(self.popularity_, self.popularity_noise_)
        return find_loud_items(outcome.result.kept)

    def _problem(self, n_rows: int | None, n_features: int) -> CompletionProblem:
        low, high = self._range_of_ratings()
        if self.center not in ("user", "middle"):
            raise ValueError(f'center must be "user" or "middle"; got {self.center!r}.')
        if n_features > MOST_ITEMS:
            raise ValueError(f"at most {MOST_ITEMS:,} items are supported; got {n_features:,}.")
        kept = check_count(self.max_ratings_per_user, "max_ratings_per_user", 2**19)
        count = self.n_components
        return CompletionProblem(
            n_users=n_rows,
            n_items=n_features,
            rule=RatingRule(low, high, min(kept, n_features), self.center),
            n_components=(
                None if count is None else check_count(count, "n_components", n_features)
            ),
        )

    def _range_of_ratings(self) -> tuple[float, float]:
        """Lowest and highest rating, as the user or the schema says."""
        if self.schema is None:
            return check_range(self.rating_range)
        refuse_said_twice(self, "rating_range")
        return check_range(rating_range_of(self.schema))

    # Using it: the local half.

    def local_predictor(self) -> LocalPredictor | LocalRanker:
        """Return the predictor to hand to users: the global half only, safe to publish."""
        check_is_fitted(self)
        if ranks(self):
            return make_ranker(self, self._span_of_lists())
        return LocalPredictor(
            item_bias=self.item_bias_.astype(np.float32).astype(np.float64),
            item_factors=self.item_factors_.astype(np.float32).astype(np.float64),
            item_ids=self.item_ids_,
            rating_range=self._range_of_ratings(),
            ridge=self.ridge_,
            privacy=self.privacy_.to_dict(),
        )

    @lazy_for_dask(lambda model: len(model.item_ids_))
    def predict(self, R: Any) -> np.ndarray:
        """Local predictions for rows of users' own ratings: row i is for user i's eyes only.

        Parameters
        ----------
        R : CSR matrix or array of shape (n_users, n_items)
            Any users' ratings, as in :meth:`fit`; they need not have been in the training table.
            Users of a long table come in the order in which they first appear.

        Returns
        -------
        array of shape (n_users, n_items)
            Predicted ratings, clipped to the range; with ``task="rank"`` scores, larger for what
            comes earlier in a list. Nothing is spent; without noise, row i depends on row i of
            ``R``.
        """
        check_is_fitted(self)
        if reads_by_schema(self):
            R = read_users(self.schema, R)[0]
        table = validate_table(
            self, as_ratings(R), reset=False, accept_sparse="csr", dtype="numeric"
        )
        return self._predict_rows(table)

    def _predict_rows(self, table: Any) -> np.ndarray:
        ratings = table.data.astype(np.float64)
        return self.local_predictor().predict_rows(table.indptr, table.indices, ratings)

    def score(self, R: Any, R_test: Any) -> float:
        """Minus the root mean squared error on held-out ratings: larger is better.

        With ``task="rank"`` the recall of lists of 20: hits / min(20, held out), mean over users.

        Parameters
        ----------
        R : CSR matrix or array of shape (n_users, n_items)
            The users' own ratings that predictions may use.
        R_test : CSR matrix or array of the same shape
            Held-out ratings of the same users.
        """
        refuse_lazy(R, R_test)
        if self.schema is not None:
            R, ids = read_users(self.schema, R)
            R_test = read_users(self.schema, R_test, ids)[0][: R.shape[0]]
            if ranks(self):
                return recall_of(self._ranker(), R, R_test)
            return -rmse(self._predict_rows(R), R_test)
        if ranks(self):
            return recall_of(self._ranker(), as_ratings(R), as_ratings(R_test))
        return -rmse(self.predict(R), as_ratings(R_test))
