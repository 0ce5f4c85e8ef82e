"""Error bars of linear models: of their coefficients and of their predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from veilspan.estimators.noise.coefficient_noise import NOT_TOLD, find_coefficient_noise
from veilspan.estimators.noise.coefficient_sampling import NO_SAMPLING
from veilspan.estimators.noise.summary import (
    BEST_OF_SEVERAL,
    NOISE,
    NOISE_ONLY,
    Z95,
    Line,
    Parts,
    name_columns,
)
from veilspan.estimators.schema_input import encode_own, reads_by_schema
from veilspan.estimators.validation import validate_table

MATRICES = ("coef_noise_", "coef_sampling_")
CURVES = "This model adds up curves of its columns: the report draws them, with their bands."
BARE_CURVES = (
    "This model adds up curves of its columns: the report draws them, without bands. How far noise "
    "may have moved them does not follow from what this fit released."
)


class CoefficientBars:
    """What a linear model tells of the noise in it: post-processing of released values.

    ``coef_noise_`` is the covariance of the noise in ``coef_`` and, last, ``intercept_`` (of each
    class, where there are several); ``coef_noise_told_`` says how it is known, or why it is not.
    ``coef_sampling_`` and ``coef_sampling_told_`` say the same of other people who might have come.
    """

    def _keep_noise(self, row_map: Any, result: Any, private: bool) -> None:
        """Keep the covariance of the noise in the coefficients, in the user's units."""
        self._forget_noise()
        if not private:
            return
        found = find_coefficient_noise(row_map, result)
        self.coef_noise_told_ = found.reason
        unit: float | None = self._score_unit()  # type: ignore[attr-defined]
        square = (result.confidence * (1.0 if unit is None else unit)) ** 2
        if found.covariance is None or not np.isfinite(found.covariance).all():
            return
        self.coef_noise_ = square * found.covariance
        if result.confidence_std:  # of the factor of all coefficients
            constant: Any = self.intercept_  # type: ignore[attr-defined]
            both = np.concatenate([self.coef_.ravel(), constant])  # type: ignore[attr-defined]
            self.coef_noise_ += result.confidence_std**2 * (both[:, None] * both)
        self.coef_sampling_told_ = found.sampling_told
        if found.sampling is not None and np.isfinite(found.sampling).all():
            self.coef_sampling_ = square * found.sampling

    def _forget_noise(self) -> None:
        for name in (*MATRICES, "coef_noise_told_", "coef_sampling_told_"):
            self.__dict__.pop(name, None)

    def _forget_bars(self) -> None:
        if "coef_noise_told_" in vars(self):
            self._forget_noise()
            self.coef_noise_told_ = BEST_OF_SEVERAL

    def _noise_shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        """The shape that a saved release is held to."""
        size = n_features + 1
        return {name: (size, size) for name in MATRICES if name in vars(self)}

    def coef_bars(self, *, sampling: bool = False) -> np.ndarray:
        """Noise has moved each coefficient by no more than this, with 95 %; intercept last.

        From public noise levels and released numbers; the bias of clipping is not in it. Of several
        classes, the same for each.

        Parameters
        ----------
        sampling : bool
            Whether what other people would have given is in it, where released numbers tell:
            for independent rows whose residuals are spread alike.
        """
        return Z95 * np.sqrt(np.maximum(np.diag(self._covariance(sampling)), 0.0))

    def predict_bars(self, X: Any, *, sampling: bool = False) -> np.ndarray:
        """Noise has moved each prediction by no more than this, with 95 %; nothing is spent.

        Of a classifier, each value of ``decision_function``. The rows are the caller's own.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Any rows.
        sampling : bool
            As in :meth:`coef_bars`: of the mean of targets at each row, not of single targets.
        """
        covariance = self._covariance(sampling)
        if reads_by_schema(self):
            table = encode_own(self, X).x
        else:
            table = validate_table(self, X, reset=False, dtype="numeric")
        ends = self._ends_of_rows()  # type: ignore[attr-defined]
        rows = np.asarray(table, dtype=float)
        rows = rows if ends is None else np.clip(rows, *ends)
        rows = np.hstack([rows, np.ones((len(rows), 1))])
        bars = Z95 * np.sqrt(np.maximum(np.sum((rows @ covariance) * rows, axis=1), 0.0))
        scores = np.shape(vars(self)["intercept_"]) or (1,)
        return bars if scores == (1,) else np.repeat(bars[:, None], scores[0], axis=1)

    def _covariance(self, sampling: bool = False) -> np.ndarray:
        check_is_fitted(self)
        found = vars(self).get("coef_noise_")
        if found is None:
            raise AttributeError(self._why_not())
        if not sampling:
            return np.asarray(found)
        added = vars(self).get("coef_sampling_")
        if added is None:
            raise AttributeError(str(vars(self).get("coef_sampling_told_", NO_SAMPLING)))
        return np.asarray(found + added)

    def _why_not(self) -> str:
        if "feature_map_" in vars(self):
            return self._about_curves()
        return str(vars(self).get("coef_noise_told_", NOT_TOLD))

    def _about_curves(self) -> str:
        return CURVES if vars(self)["feature_map_"].has_noise else BARE_CURVES

    def _summary_parts(self) -> Parts:
        told: Any = self
        if "feature_map_" in vars(self):
            return Parts("", (), (self._about_curves(),))
        weights = np.atleast_2d(told.coef_)
        constants = np.atleast_1d(told.intercept_)
        names = [*name_columns(self, weights.shape[1]), "intercept"]
        known, sampled = "coef_noise_" in vars(self), "coef_sampling_" in vars(self)
        bars: Any = self.coef_bars() if known else [None] * len(names)
        wide: Any = self.coef_bars(sampling=True) if sampled else [None] * len(names)
        lines = [
            Line(name if len(weights) == 1 else f"{name}, score {k + 1}", float(value), bar, more)
            for k, (row, constant) in enumerate(zip(weights, constants, strict=True))
            for name, value, bar, more in zip(names, [*row, constant], bars, wide, strict=True)
        ]
        notes: tuple[str, ...] = (self._why_not(),)
        if known:
            rest = (NOISE, told.coef_sampling_told_) if sampled else (NOISE_ONLY,)
            notes = (f"Bars: {told.coef_noise_told_}.", *rest)
        return Parts("coefficient", tuple(lines), notes, marks=True)
