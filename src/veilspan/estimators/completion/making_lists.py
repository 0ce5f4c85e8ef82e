"""What users get of a fitted recommender: lists, reasons, and what lists cover."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from sklearn.utils.validation import check_is_fitted

from veilspan.estimators.completion.local_ranker import LocalRanker, Reason
from veilspan.estimators.completion.own_history import History
from veilspan.estimators.completion.ranking import ranks
from veilspan.estimators.completion.ratings_input import check_range
from veilspan.estimators.completion.ratings_with_schema import has_ratings

if TYPE_CHECKING:
    from veilspan.estimators.completion.list_statistics import ListStatistics


#: Predictors of fitted models that were asked for lists; beside them, not a part of them.
_MADE: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


class MakesLists:
    """Methods of a recommender that run on a user's own history: local, nothing is spent."""

    task: str
    schema: Any
    rating_range: tuple[float, float] | None
    privacy_: Any
    local_predictor: Any
    _range_of_ratings: Any

    def recommend(self, history: History = None, k: int = 10) -> list[Any]:
        """Local: the ``k`` items that a user will like best, from her own history.

        Parameters
        ----------
        history : mapping of items to ratings, (items, ratings), list of items, or None
            What the user has. Whether she was in the training table makes no difference: the
            model keeps nobody's ratings. Lists (``task="rank"``) take items without ratings and,
            of users without any history, none at all; ratings need a mapping or a pair.
        k : int
            Number of items.

        Returns
        -------
        list
            Ids of items, best first; for her eyes. Nothing is spent.
        """
        return self._local().recommend(history, k)

    def explain(self, history: History, item: Any, most: int = 5) -> list[Reason]:
        """Local: which of a user's own items speak for ``item`` (``task="rank"``); free.

        See :meth:`~veilspan.estimators.completion.local_ranker.LocalRanker.explain`.
        """
        return self._ranker().explain(history, item, most)

    def list_statistics(self, k: int = 20) -> ListStatistics:
        """Coverage and popularity bias of lists of simulated users (``task="rank"``); free.

        See :mod:`veilspan.estimators.completion.list_statistics`.
        """
        from veilspan.estimators.completion.list_statistics import list_statistics

        return list_statistics(self._ranker(), k)

    def _local(self) -> Any:
        """The predictor, made once for each fit."""
        check_is_fitted(self)
        made = _MADE.get(self)
        if made is None or made[0] is not self.privacy_:
            made = _MADE[self] = (self.privacy_, self.local_predictor())
        return made[1]

    def _ranker(self) -> LocalRanker:
        if not ranks(self):
            raise ValueError('this is for lists: fit with task="rank".')
        ranker: LocalRanker = self._local()
        return ranker

    def _span_of_lists(self) -> tuple[float, float] | None:
        """The same for lists, which may be of what has no ratings."""
        if self.schema is None:
            return None if self.rating_range is None else check_range(self.rating_range)
        if not has_ratings(self.schema):
            return None
        return self._range_of_ratings()
