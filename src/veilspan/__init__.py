"""Veilspan: low-dimensional structure from sensitive rows, under differential privacy.

Public names are loaded when first used (PEP 562), so that ``import veilspan`` costs
next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from veilspan._version import __version__
from veilspan.catalogue import ESTIMATORS

if TYPE_CHECKING:
    from veilspan import (
        audit,
        datasets,
        features,
        geometry,
        metrics,
        nonprivate,
        planning,
        releases,
        reports,
    )
    from veilspan.catalogue import *  # noqa: F403 (the estimators)
    from veilspan.curator.check_query import check_query
    from veilspan.curator.query import RowQuery
    from veilspan.estimators.completion.local_predictor import LocalPredictor
    from veilspan.estimators.linear.unread_cells import UnreadCellsWarning, UnreadLabelsWarning
    from veilspan.estimators.manifold.minimize import minimize
    from veilspan.estimators.profile.simple_answers import (
        count,
        crosstab,
        histogram,
        mean,
        quantiles,
    )
    from veilspan.estimators.search.private_search import PrivateSearch
    from veilspan.geometry.ball import Ball
    from veilspan.geometry.checks import check_manifold
    from veilspan.ledger import Ledger
    from veilspan.losses.manifold import FrechetLoss, LeadingSubspace
    from veilspan.losses.own import Loss
    from veilspan.privacy.accounting import delta_spent, epsilon_spent, privacy_curve
    from veilspan.privacy.budget import Budget
    from veilspan.privacy.calibration import calibrate_noise
    from veilspan.privacy.errors import (
        BudgetExceededError,
        LoudNoiseWarning,
        NotPrivateWarning,
        PrivacyError,
        PublicLabelsWarning,
        RareClassWarning,
        RepeatedFitsWarning,
        RowCountWarning,
        TemporaryFolderError,
        WeakGuaranteeError,
        WeakGuaranteeWarning,
        WithheldError,
    )
    from veilspan.privacy.events import (
        GaussianEvent,
        ObjectiveEvent,
        SampledGaussianEvent,
        SearchEvent,
    )
    from veilspan.privacy.plan import Plan
    from veilspan.privacy.statement import PrivacyStatement
    from veilspan.releases import load
    from veilspan.scikit_learn_checks import expected_failed_checks
    from veilspan.solvers.manifold.calibrated_descent import CalibratedDescent
    from veilspan.solvers.manifold.rgd import RGD, RSGD
    from veilspan.solvers.manifold.rsvrg import RSVRG
    from veilspan.tables.problems import SchemaError
    from veilspan.tables.schema import Schema
    from veilspan.tables.sources.open_table import open_table

_HOME = {
    "minimize": "estimators.manifold.minimize",
    "count": "estimators.profile.simple_answers",
    "crosstab": "estimators.profile.simple_answers",
    "histogram": "estimators.profile.simple_answers",
    "mean": "estimators.profile.simple_answers",
    "quantiles": "estimators.profile.simple_answers",
    "FrechetLoss": "losses.manifold",
    "LeadingSubspace": "losses.manifold",
    "Loss": "losses.own",
    "RGD": "solvers.manifold.rgd",
    "RSGD": "solvers.manifold.rgd",
    "RSVRG": "solvers.manifold.rsvrg",
    "CalibratedDescent": "solvers.manifold.calibrated_descent",
    "Ball": "geometry.ball",
    "PrivateSearch": "estimators.search.private_search",
    "LocalPredictor": "estimators.completion.local_predictor",
    "Budget": "privacy.budget",
    "GaussianEvent": "privacy.events",
    "SampledGaussianEvent": "privacy.events",
    "ObjectiveEvent": "privacy.events",
    "SearchEvent": "privacy.events",
    "epsilon_spent": "privacy.accounting",
    "delta_spent": "privacy.accounting",
    "privacy_curve": "privacy.accounting",
    "calibrate_noise": "privacy.calibration",
    "Plan": "privacy.plan",
    "PrivacyStatement": "privacy.statement",
    "PrivacyError": "privacy.errors",
    "BudgetExceededError": "privacy.errors",
    "NotPrivateWarning": "privacy.errors",
    "WeakGuaranteeError": "privacy.errors",
    "WeakGuaranteeWarning": "privacy.errors",
    "TemporaryFolderError": "privacy.errors",
    "WithheldError": "privacy.errors",
    "PublicLabelsWarning": "privacy.errors",
    "RareClassWarning": "privacy.errors",
    "RepeatedFitsWarning": "privacy.errors",
    "RowCountWarning": "privacy.errors",
    "UnreadCellsWarning": "estimators.linear.unread_cells",
    "UnreadLabelsWarning": "estimators.linear.unread_cells",
    "Ledger": "ledger",
    "LoudNoiseWarning": "privacy.errors",
    "RowQuery": "curator.query",
    "check_query": "curator.check_query",
    "check_manifold": "geometry.checks",
    "load": "releases",
    "expected_failed_checks": "scikit_learn_checks",
    "Schema": "tables.schema",
    "SchemaError": "tables.problems",
    "open_table": "tables.sources.open_table",
}
_PACKAGES = (
    "audit",
    "datasets",
    "features",
    "geometry",
    "metrics",
    "nonprivate",
    "planning",
    "releases",
    "reports",
)

__all__ = [
    "RGD",
    "RSGD",
    "RSVRG",
    "Ball",
    "Budget",
    "BudgetExceededError",
    "CalibratedDescent",
    "FrechetLoss",
    "GaussianEvent",
    "LeadingSubspace",
    "Ledger",
    "LocalPredictor",
    "Loss",
    "LoudNoiseWarning",
    "NotPrivateWarning",
    "ObjectiveEvent",
    "Plan",
    "PrivacyError",
    "PrivacyStatement",
    "PrivateSearch",
    "PublicLabelsWarning",
    "RareClassWarning",
    "RepeatedFitsWarning",
    "RowCountWarning",
    "RowQuery",
    "SampledGaussianEvent",
    "Schema",
    "SchemaError",
    "SearchEvent",
    "TemporaryFolderError",
    "UnreadCellsWarning",
    "UnreadLabelsWarning",
    "WeakGuaranteeError",
    "WeakGuaranteeWarning",
    "WithheldError",
    "__version__",
    "audit",
    "calibrate_noise",
    "check_manifold",
    "check_query",
    "count",
    "crosstab",
    "datasets",
    "delta_spent",
    "epsilon_spent",
    "expected_failed_checks",
    "features",
    "geometry",
    "histogram",
    "load",
    "mean",
    "metrics",
    "minimize",
    "nonprivate",
    "open_table",
    "planning",
    "privacy_curve",
    "quantiles",
    "releases",
    "reports",
    *ESTIMATORS,
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name in ESTIMATORS:
        globals()[name] = ESTIMATORS[name].load_class()
        return globals()[name]
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
