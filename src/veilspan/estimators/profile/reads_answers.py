"""What a fitted profile says: every number is read from its two answers when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan.privacy.plan import Plan
from veilspan.privacy.statement import PrivacyStatement
from veilspan.solvers.profile.column_profile import ColumnProfile
from veilspan.solvers.profile.correlations import Correlations
from veilspan.solvers.profile.estimates import Estimate
from veilspan.solvers.profile.read_answers import Answers, Crosstab
from veilspan.tables.profiling.layout import Layout


class ReadsAnswers:
    """The face of a fitted profile. All of it is post-processing, and costs nothing."""

    quantiles: Any
    counts_: np.ndarray
    count_std_: float
    moments_: np.ndarray
    moment_std_: float
    plan_: Plan
    privacy_: PrivacyStatement

    def _read_parameters(self) -> tuple[Any, Layout]:
        raise NotImplementedError

    @property
    def _answers(self) -> Answers:
        check_is_fitted(self)
        return Answers(
            self._read_parameters()[1],
            self.counts_,
            self.count_std_,
            self.moments_,
            self.moment_std_,
            self.plan_.n_rows,
        )

    @property
    def people(self) -> Estimate:
        """How many people there are: noisy under add-remove, the public count otherwise."""
        return self._answers.people.estimate()

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that were counted."""
        return tuple(column.name for column in self._answers.layout.columns)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns with a mean that the matrix of moments had no room for."""
        return self._answers.layout.left_out

    def __getitem__(self, name: str) -> ColumnProfile:
        """Everything that is known about one column."""
        answers = self._answers
        if name not in answers.layout.by_name:
            known = ", ".join(self.column_names)
            raise KeyError(f"{name!r} is no column of this profile; those are {known}.")
        return answers.column(name, [float(level) for level in np.ravel(self.quantiles)])

    @property
    def correlations(self) -> Correlations | None:
        """Correlations of all numbers; None if there are fewer than two."""
        return self._answers.correlations()

    def crosstab(self, one: str, other: str) -> Crosstab:
        """The cross-table of two columns that ``crosstabs`` named."""
        pairs = self._answers.layout.crosstabs
        if (one, other) not in pairs:
            raise KeyError(
                f"there is no cross-table of {one!r} and {other!r}: name it in crosstabs."
            )
        return self._answers.crosstab(pairs.index((one, other)))

    def means_within(self, number: str, group: str) -> dict[str, Estimate]:
        """Means of a number in the groups of a column, as ``means_by`` named them."""
        if (number, group) not in self._answers.layout.means_by:
            raise KeyError(f"there are no means of {number!r} by {group!r}: name them in means_by.")
        return self._answers.means_within(number, group)

    def to_dict(self) -> dict[str, Any]:
        """All of the profile, for JSON; what is not measurable has no value."""
        correlations, layout = self.correlations, self._answers.layout
        return {
            "people": self.people.to_dict(),
            "columns": [self[name].to_dict() for name in self.column_names],
            "correlations": [] if correlations is None else correlations.to_dict(),
            "crosstabs": [
                {"columns": list(pair), "shares": _crossed(self.crosstab(*pair))}
                for pair in layout.crosstabs
            ],
            "means_by": [
                {
                    "number": number,
                    "by": group,
                    "means": [
                        {"group": label, **each.to_dict()}
                        for label, each in self.means_within(number, group).items()
                    ],
                }
                for number, group in layout.means_by
            ],
            "left_out": list(self.left_out),
            "privacy": self.privacy_.to_dict(),
        }

    def summary(self) -> str:
        """The profile as a text of a few lines a column, for a terminal."""
        from veilspan.estimators.profile.summary import summarize

        check_is_fitted(self)
        return summarize(self)

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "counts_") else repr(self)

    def _repr_html_(self) -> str:
        """In a notebook: the summary of a fitted profile."""
        if not hasattr(self, "counts_"):
            return str(super()._repr_html_())  # type: ignore[misc]
        return str(import_module("veilspan.reports.profile.fragment").profile_fragment(self))


def _crossed(table: Crosstab) -> list[dict[str, Any]]:
    return [
        {"cells": [row, column], **table.of(row, column).to_dict()}
        for row in table.rows.labels
        for column in table.columns.labels
    ]
