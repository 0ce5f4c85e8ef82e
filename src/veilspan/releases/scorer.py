r"""A linear model as one JSON document: all that is needed to score a row, and nothing of veilspan.

Everything in it was released or is public (the schema's rules for cells). Its parts are those that
``docs/howto/scorer.md`` reads back in plain Python:

* ``file`` and ``columns``: what a cell means (:mod:`veilspan.tables.cell_rules`) and the entries of
  an encoded row that it becomes; ``columns`` is null for plain arrays;
* ``straight``: coefficients and constants of the encoded row, or
* ``curves``: a *stage* of features (:mod:`veilspan.queries.linear.table_features`), each with its
  coefficients, and the straight stage of a first fit if there was one;
* ``output``: what becomes of scores.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from veilspan._version import __version__
from veilspan.queries.linear.learned_features import LearnedFeatures
from veilspan.queries.linear.residual_features import ResidualFeatures
from veilspan.queries.linear.table_features import TableFeatures, TableLine, wave_weights
from veilspan.queries.linear.table_layout import NONE, TableLayout
from veilspan.releases.cell_rules_json import column_rules, file_rules

FORMAT, VERSION = "veilspan scorer", 1
SHARES_LOST = (
    'threshold="balanced" of several classes has no place in a scorer, nor in scikit-learn\'s '
    "models: fit without it, and divide probabilities by np.maximum(class_shares_, "
    "2 * class_shares_std_), which decides alike."
)


def scorer_json(model: Any) -> str:
    """A fitted linear model as a JSON text."""
    return json.dumps(scorer_document(model), allow_nan=False, ensure_ascii=False) + "\n"


def scorer_document(model: Any) -> dict[str, Any]:
    """The same as numbers, texts, lists and mappings.

    Parameters
    ----------
    model : fitted linear estimator
        Of this package.
    """
    schema = model.schema
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "model": type(model).__name__,
        "veilspan": __version__,
        "privacy": _privacy(model),
        "schema": None if schema is None else {"name": schema.name, "digest": schema.digest},
        "width": int(model.n_features_in_ if schema is None else len(schema.columns_out)),
        "file": None if schema is None else file_rules(schema),
        "columns": None if schema is None else column_rules(schema),
    }
    if "feature_map_" in vars(model):
        document["curves"] = _curves(model.feature_map_)
    else:
        document["straight"] = _straight(model)
    return {**document, "output": _output(model)}


def _privacy(model: Any) -> dict[str, Any] | None:
    said = vars(model).get("privacy_")
    if said is None:
        return None
    return {
        "release_id": said.release_id, "private": said.private,
        "epsilon": said.epsilon if np.isfinite(said.epsilon) else None, "delta": said.delta,
        "neighbors": said.neighbors,
    }  # fmt: skip


def _straight(model: Any) -> dict[str, Any]:
    ends = model._ends_of_rows()  # ranges that rows are clipped to, in a fit and afterwards
    return {
        "coefficients": np.atleast_2d(model.coef_).tolist(),
        "constants": np.atleast_1d(model.intercept_).tolist(),
        "low": None if ends is None else ends[0].tolist(),
        "high": None if ends is None else ends[1].tolist(),
    }


def _output(model: Any) -> dict[str, Any]:
    classes = vars(model).get("classes_")
    if classes is None:
        return _numbers_output(model)
    if len(classes) > 2 and "threshold_" in vars(model):
        raise ValueError(SHARES_LOST)
    zeros = np.zeros((1, 1 if len(classes) == 2 else len(classes)))
    offset, slope = zeros[0], zeros[0] + 1.0
    if hasattr(model, "_log_odds"):  # calibration and class weights are affine in the scores
        offset = model._log_odds(zeros)[0]
        slope = model._log_odds(zeros + 1.0)[0] - offset
    return {
        "kind": "classes",
        "classes": classes.tolist(),
        "threshold": float(vars(model).get("threshold_", 0.0)),
        "probabilities": hasattr(model, "predict_proba"),
        "slope": slope.tolist(),
        "offset": offset.tolist(),
    }


def _numbers_output(model: Any) -> dict[str, Any]:
    shift, scale = (0.0, 1.0)
    if "feature_map_" in vars(model):
        shift, scale = model._target_scale()
    low, high = model._range_of_targets()
    return {"kind": "numbers", "shift": shift, "scale": scale, "low": low, "high": high}


def _curves(learned: LearnedFeatures) -> dict[str, Any]:
    features, row_map = learned.features, learned.row_map
    stage = _stage(features, learned.theta)
    if isinstance(row_map, ResidualFeatures):
        first = _line_stage(row_map.line, row_map.theta)
        return {"stage": stage, "first": first, "width_of_rest": float(row_map.width_of_rest)}
    return {"stage": stage, "first": None, "width_of_rest": 1.0}


def _line_stage(line: TableLine, theta: np.ndarray) -> dict[str, Any]:
    """A first fit: features that are lines alone."""
    return _stage(
        TableFeatures(
            line.layout, line.row_norm, line.intercept, line_weight=1.0, line_center=line.center,
            line_spread=line.spread,
        ),
        theta,
    )  # fmt: skip


def _stage(features: TableFeatures, theta: np.ndarray) -> dict[str, Any]:
    layout, first, random = features.layout, None, None
    if features.score_line is not None and features.score_theta is not None:
        size = np.sqrt(features.score_weight * layout.groups / features.n_scores)
        first = _line_stage(features.score_line, features.score_theta)
        first |= {"size": float(size), "reach": float(features.score_reach)}
    if features.frequencies is not None and features.phases is not None:
        size = np.sqrt(features.fourier_weight * layout.groups / len(features.phases))
        random = {
            "size": float(size),
            "phases": features.phases.tolist(),
            "frequencies": features.frequencies.T.tolist(),
        }
    waves: list[float] = []
    if features.waves:
        square = 1.0 - features.bins_weight - features.line_weight
        waves = wave_weights(features.waves, square).tolist()
    return {
        "numbers": _numbers(features),
        "flags": [[int(at), _place(gap)] for at, gap in zip(layout.flags, layout.flag_missing)],
        "line": float(np.sqrt(features.line_weight)),
        "waves": waves,
        "bins": features.bins,
        "bin": float(np.sqrt(features.bins_weight)),
        "first": first,
        "random": random,
        "constant": float(features.intercept),
        "row_norm": float(features.row_norm),
        "theta": theta.reshape(len(theta), -1)[_order(features)].T.tolist(),
    }


def _numbers(features: TableFeatures) -> list[dict[str, Any]]:
    layout = features.layout
    m = layout.n_numbers
    center = np.broadcast_to(features.line_center, m)
    spread = np.broadcast_to(features.line_spread, m)
    return [
        {
            "at": int(layout.numbers[j]),
            "missing": _place(layout.number_missing[j]),
            "low": float(layout.low[j]),
            "high": float(layout.high[j]),
            "zero": None if np.isnan(layout.zero[j]) else float(layout.zero[j]),
            "center": float(center[j]),
            "spread": float(spread[j]),
            "mass": _mass(features, j),
        }
        for j in range(m)
    ]


def _mass(features: TableFeatures, j: int) -> list[float] | None:
    if features.mass is None or features.shown is None or not features.shown[j]:
        return None
    return list(features.mass[j].tolist())


def _place(place: Any) -> int | None:
    return None if place == NONE else int(place)


def _order(features: TableFeatures) -> np.ndarray:
    """Places of the coefficients as the document has them: number by number, then the rest."""
    layout: TableLayout = features.layout
    m, lines = layout.n_numbers, features.waves + (features.line_weight > 0)
    own = [
        np.concatenate(
            [j + m * np.arange(lines), m * lines + features.bins * j + np.arange(features.bins)]
        )
        for j in range(m)
    ]
    rest = np.arange(m * (lines + features.bins), features.width)
    return np.concatenate([*own, rest]).astype(np.int64)
