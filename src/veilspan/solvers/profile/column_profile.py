"""What a profile says of one column: shares, borders, quantiles and mean, each with its bar."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from veilspan.solvers.profile.estimates import Estimate
from veilspan.solvers.profile.shares import Shares
from veilspan.tables.profiling.column_cells import ColumnCells, show_day


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """One column of a profile. Everything is post-processing of released numbers.

    Attributes
    ----------
    cells : ColumnCells
        The public cells of the column.
    all_shares : Shares
        Of all cells, those at the borders and the missing included: they sum to one.
    quantiles : mapping of float to Estimate
        By level; empty for categories. Days are counted from 1970-01-01.
    mean : Estimate or None
        Of the values that are not missing, those beyond a border moved to it. On a log scale the
        geometric mean; of a boolean the share of true ones.
    """

    cells: ColumnCells
    all_shares: Shares
    quantiles: Mapping[float, Estimate]
    mean: Estimate | None

    @property
    def name(self) -> str:
        """Name of the column, as in the schema."""
        return self.cells.name

    @property
    def type(self) -> str:
        """Its type as the schema writes it."""
        return self.cells.column.type

    @property
    def missing(self) -> Estimate:
        """Share of people whose cell is missing or cannot be read (or is another category)."""
        return self.all_shares[self.cells.missing]

    @property
    def shares(self) -> dict[str, Estimate]:
        """Share of all people in every cell, by its label, as numbers from 0 to 1."""
        return {label: self.all_shares[i] for i, label in enumerate(self.cells.labels)}

    @property
    def edges(self) -> np.ndarray | None:
        """Where the bins begin and end, for columns with a range."""
        return self.cells.edges

    @property
    def at_low(self) -> Estimate | None:
        """Share of people at the lower border of the range, those moved to it included."""
        return self.all_shares[0] if self.cells.has_range else None

    @property
    def at_high(self) -> Estimate | None:
        """Share of people at the upper border of the range, those moved to it included."""
        return self.all_shares[self.cells.size - 2] if self.cells.has_range else None

    @property
    def mean_kind(self) -> str:
        """What the mean is: of numbers, of their logarithms, or of a share."""
        if self.type == "boolean":
            return "share of true"
        return "geometric mean" if self.cells.is_log else "mean"

    def to_dict(self) -> dict[str, Any]:
        """For JSON; days as dates."""
        found: dict[str, Any] = {
            "name": self.name,
            "type": self.type,
            "missing": self.missing.to_dict(),
            "shares": [{"cell": k, **share.to_dict()} for k, share in self.shares.items()],
        }
        if self.cells.has_range:
            low, high = self.at_low, self.at_high
            assert low is not None
            assert high is not None
            found["at_borders"] = {"low": low.to_dict(), "high": high.to_dict()}
            found["quantiles"] = [
                {"level": level, **self._written(each)} for level, each in self.quantiles.items()
            ]
        if self.mean is not None:
            found[self.mean_kind.replace(" ", "_")] = self._written(self.mean)
        return found

    def _written(self, estimate: Estimate) -> dict[str, Any]:
        said = estimate.to_dict()
        if self.type == "date":
            days = ("value", "low", "high")
            said |= {k: show_day(said[k]) for k in days if said[k] is not None}
        return said
