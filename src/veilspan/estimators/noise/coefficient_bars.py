"""Error bars of linear models: of their coefficients and of their predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan.estimators.noise.coefficient_noise import NOT_TOLD, find_coefficient_noise
from veilspan.estimators.noise.summary import NOISE_ONLY, Z95, Line, Parts
from veilspan.estimators.schema_input import encode_own, reads_by_schema
from veilspan.estimators.validation import validate_table

CURVES = "This model adds up curves of its columns: the report draws them, with their bands."


class CoefficientBars:
    """What a linear model tells of the noise in it: post-processing of released values.

    ``coef_noise_`` is the covariance of the noise in ``coef_`` and, last, ``intercept_``;
    ``coef_noise_told_`` says how it is known, or why it is not.
    """

    def _keep_noise(self, row_map: Any, result: Any, private: bool) -> None:
        """Keep the covariance of the noise in the coefficients, in the user's units."""
        self._forget_noise()
        if not private:
            return
        found = find_coefficient_noise(row_map, result)
        self.coef_noise_told_ = found.reason
        unit: float | None = self._score_unit()  # type: ignore[attr-defined]
        if found.covariance is not None and np.isfinite(found.covariance).all():
            self.coef_noise_ = (1.0 if unit is None else unit) ** 2 * found.covariance

    def _forget_noise(self) -> None:
        for name in ("coef_noise_", "coef_noise_told_"):
            self.__dict__.pop(name, None)

    def _noise_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shape that a saved release is held to."""
        size = n_features + 1
        return {"coef_noise_": (size, size)} if "coef_noise_" in vars(self) else {}

    def coef_bars(self) -> np.ndarray:
        """Noise has moved each coefficient by no more than this, with 95 %; intercept last.

        From public noise levels and released numbers; what other people would have given
        (sampling) and the bias of clipping are not in it.
        """
        return Z95 * np.sqrt(np.maximum(np.diag(self._covariance()), 0.0))

    def predict_bars(self, X: Any) -> np.ndarray:
        """Noise has moved each prediction by no more than this, with 95 %; nothing is spent.

        Of a classifier, each value of ``decision_function``. The rows are the caller's own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any rows.
        """
        covariance = self._covariance()
        if reads_by_schema(self):
            table = encode_own(self, X).x
        else:
            table = validate_table(self, X, reset=False, dtype="numeric")
        ends = vars(self).get("feature_range_")
        rows = np.asarray(table, dtype=float)
        rows = rows if ends is None else np.clip(rows, *ends)
        rows = np.hstack([rows, np.ones((len(rows), 1))])
        return Z95 * np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", rows, covariance, rows), 0.0))

    def _covariance(self) -> np.ndarray:
        check_is_fitted(self)
        found = vars(self).get("coef_noise_")
        if found is None:
            raise AttributeError(self._why_not())
        return np.asarray(found)

    def _why_not(self) -> str:
        if "feature_map_" in vars(self):
            return CURVES
        return str(vars(self).get("coef_noise_told_", NOT_TOLD))

    def _summary_parts(self) -> Parts:
        told: Any = self
        if "feature_map_" in vars(self):
            return Parts("", (), (CURVES,))
        weights = np.atleast_2d(told.coef_)
        constants = np.atleast_1d(told.intercept_)
        names = [*map(str, vars(self).get("feature_names_in_", range(weights.shape[1])))]
        names = [n if not n.isdigit() else f"column {n}" for n in names] + ["intercept"]
        known = "coef_noise_" in vars(self)
        bars: Any = self.coef_bars() if known else [None] * len(names)
        lines = [
            Line(name if len(weights) == 1 else f"{name}, score {k + 1}", float(value), bar)
            for k, (row, constant) in enumerate(zip(weights, constants, strict=True))
            for name, value, bar in zip(names, [*row, constant], bars, strict=True)
        ]
        notes = (f"Bars: {told.coef_noise_told_}.", NOISE_ONLY) if known else (self._why_not(),)
        return Parts("coefficient", tuple(lines), notes, marks=True)
