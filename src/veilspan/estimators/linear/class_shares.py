r"""What a classifier tells of rare classes and of labels that nobody could read, by paid counts.

Of 2 % positives, whoever is right as often as possible predicts none. That is what accuracy asks
for, and what scikit-learn's models do as well; a user who wants the rare ones has to say so. Nobody
can say so who does not know: so a fit that says nothing of classes counts them, with noise and for
0.5 % of the budget (of mu^2), and a warning names the ways out where one of them is rare.

The same counts tell where a schema does not know the words of its target: a file says "yes" and
"no", the schema "true" and "false", every label counts as missing, and a model learned from nobody.
Rows without a label count as rows of the table, so that the number of labels beside the public
number of rows shows it. They also tell where one word of several is written in another way: its
class looks rare, and what helps against rare classes would be paid for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from veilspan.estimators.linear.unread_cells import (
    MOST,
    UnreadLabelsWarning,
    say_places,
    unread_share,
)
from veilspan.privacy.errors import RareClassWarning
from veilspan.privacy.plan import Plan
from veilspan.solvers.base import Outcome

#: A class is rare below this part of an equal share: 5 % of two classes, 1 % of ten.
RARE = 0.1
#: Stds of the noise by which it must be below that.
SURELY = 2.0
#: Rare classes that a warning names.
NAMED = 3

LABELS_UNREAD = (
    "the rows have a label that could be read (by a noisy count that was paid for). The others "
    "count as missing and taught the model nothing. If the table has labels in them, its words are "
    'not those of the schema: say how the table writes them, true = ["yes"] and false = ["no"], or '
    "all categories of the target, and fit again. A new fit is a new charge."
)
LABELS_PARTLY_UNREAD = (
    "the rows have a label that could be read (by a noisy count that was paid for){unseen}. The "
    "others count as missing{places}. If they have labels, the table writes them in another way "
    'than the schema (" yes." for "yes", say): change the schema, or the table, and fit again. A '
    "new fit is a new charge."
)


class ReleasedShares:
    """What gives a classifier the shares of its classes.

    Attributes
    ----------
    class_shares_, class_shares_std_ : array of shape (n_classes,), float
        Shares of the classes by noisy counts, and the std of the noise in each; only where nothing
        is done for a rare class.
    """

    classes_: np.ndarray
    class_shares_: np.ndarray
    class_shares_std_: float
    schema: Any
    threshold: str | None
    _says_odds: ClassVar[bool]
    _keep_caution: Callable[[type[Warning], str], None]

    def _keep_shares(self, outcome: Outcome, plan: Plan) -> None:
        for name in ("class_shares_", "class_shares_std_"):
            self.__dict__.pop(name, None)
        counts = outcome.result.class_counts
        if counts is None:
            return
        found = np.maximum(np.asarray(counts.value), 0.0)
        total = max(float(found.sum()), 1.0)
        self.class_shares_ = found / total
        self.class_shares_std_ = float(counts.noise_std / total)
        unread = self._find_unread(np.asarray(counts.value), counts.noise_std, plan)
        if unread is not None:
            text, alone = unread
            self._keep_caution(UnreadLabelsWarning, text)
            if alone:  # a class that nobody could read is not a rare one
                return
        rare = None if self.threshold is not None else self._find_rare()
        if rare is not None:
            self._keep_caution(RareClassWarning, rare)

    def _find_unread(
        self, counts: np.ndarray, noise_std: float, plan: Plan
    ) -> tuple[str, bool] | None:
        """What to say if many rows surely have no label, and whether shares then mean nothing.

        By released counts and public numbers.
        """
        found, noise = float(counts.sum()), float(noise_std * np.sqrt(len(counts)))
        told = unread_share(found, noise, plan, self.schema)
        if told is not None:
            return f"{told} {LABELS_UNREAD}", True
        told = None
        if self.schema is not None:  # arrays have no labels that cannot be read
            told = unread_share(found, noise, plan, self.schema, MOST)
        if told is None:
            return None
        places = np.flatnonzero(_is_unseen(self.class_shares_, self.class_shares_std_))
        named = [repr(label.item()) for label in self.classes_[places[:NAMED]]]
        unseen = f", and hardly any of them is {' or '.join(named)}" if named else ""
        text = LABELS_PARTLY_UNREAD.format(unseen=unseen, places=say_places(self.schema))
        return f"{told} {text}", bool(named)

    def _find_rare(self) -> str | None:
        """Which class is rare, which the released shares tell, and what to do."""
        shares = self.class_shares_
        sure = shares + SURELY * self.class_shares_std_ < RARE / len(shares)
        if not sure.any():
            return None
        rare = [int(place) for place in np.argsort(shares, kind="stable") if sure[place]]
        unseen = _is_unseen(shares, self.class_shares_std_)
        told = _words(self.classes_, shares, rare, unseen, self.schema is not None)
        return f"{told} {_name_ways(len(shares), rare, self._says_odds)}"


def _is_unseen(shares: np.ndarray, std: float) -> np.ndarray:
    """Classes of which nothing stands above the noise of their counts."""
    return np.asarray(shares <= SURELY * std)


def _words(
    classes: np.ndarray, shares: np.ndarray, rare: list[int], unseen: np.ndarray, by_schema: bool
) -> str:
    """What is rare, and what a plain model does with it."""
    named: list[str] = []
    for place in rare[:NAMED]:
        said = "hardly any" if unseen[place] else f"about {100 * float(shares[place]):.2g} %"
        said = f"{said} {'' if named else 'of the rows '}are {classes[place].item()!r}"
        if unseen[place] and by_schema:
            said += ", or the table writes it in another way"
        named.append(said)
    more = len(rare) - len(named)
    if more:
        named.append(f"{more} more {'class is' if more == 1 else 'classes are'} as rare")
    told = ", ".join(named)
    return (
        f"{told[0].upper()}{told[1:]} (by a noisy count that was paid for). A model that is right "
        f"as often as possible predicts {'it' if len(rare) == 1 else 'them'} hardly ever."
    )


def _name_ways(n_classes: int, rare: list[int], says_odds: bool) -> str:
    """How rare classes are found."""
    weights = 'class_weight="balanced", which weighs all classes alike'
    if n_classes == 2:
        # The F1 score is that of the second class, which need not be the rare one.
        aim = "f1" if rare[0] == 1 else "balanced"
        ways = f'threshold="{aim}", the better one where noise counts, or {weights}'
    elif says_odds:
        return (
            "To find such rows take the class of the largest predict_proba(X) / "
            "np.maximum(class_shares_, 2 * class_shares_std_), which costs nothing; fits with "
            'threshold="balanced" predict so. A new fit is a new charge.'
        )
    else:
        ways = weights
    return f"To find such rows fit with {ways}. A new fit is a new charge."
