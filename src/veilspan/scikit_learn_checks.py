"""Which checks of scikit-learn our estimators are expected to fail, and why.

``sklearn.utils.estimator_checks.check_estimator`` runs about fifty checks on an estimator with its
default settings. All pass but those listed here. Most of them ask for accuracy on a few dozen rows,
which no default budget may give. The page of the documentation for users of scikit-learn shows this
table, and a test runs every check that is not in it.
"""

from __future__ import annotations

from typing import Any

_NOISE = "asks for accuracy on a few dozen rows, which noise at epsilon = 1 does not allow"
_RATINGS = "X is a table of ratings, users by items, in which NaN is a rating that is not there"
_BLOCKS = "releases come with whole blocks, and the check has fewer rows than one"

#: Reasons by the class of an estimator and the name of a check.
EXPECTED: dict[str, dict[str, str]] = {
    "LogisticRegression": {"check_classifiers_train": _NOISE},
    "LinearSVC": {"check_classifiers_train": _NOISE},
    **{
        name: {"check_regressors_train": _NOISE}
        for name in ("LinearRegression", "Ridge", "Lasso", "ElasticNet", "HuberRegressor")
    },
    "MatrixCompletion": {
        "check_fit_score_takes_y": "score(R) compares with ratings of its own and takes no y",
        "check_pipeline_consistency": "score(R) compares with ratings of its own and takes no y",
        "check_n_features_in_after_fitting": _RATINGS,
        "check_complex_data": "the refusal speaks of ratings, in other words",
        "check_dtype_object": _RATINGS,
        "check_estimators_nan_inf": _RATINGS,
        "check_estimator_sparse_array": _RATINGS,
        "check_estimator_sparse_matrix": _RATINGS,
        "check_fit2d_predict1d": "the refusal speaks of users and items, in other words",
    },
}
#: What the estimators that have no default settings are checked with.
SETTINGS: dict[str, dict[str, Any]] = {
    "MatrixCompletion": {"rating_range": (1, 5)},
    "SubspaceTracker": {"n_components": 1},
}
#: Why some are not checked: what they read is no table of numbers.
NOT_CHECKED = {
    "FrechetMean": "reads points of a manifold inside of a public ball",
    "Profile": "reads cells of any kind by a schema",
}


#: Of a private stream: those that look at what was learned from a handful of rows.
_OF_A_STREAM = (
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
    "check_estimators_dtypes",
    "check_dtype_object",
    "check_pipeline_consistency",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_fit2d_predict1d",
)


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Checks that this estimator is expected to fail, with the reasons.

    For ``check_estimator(estimator, expected_failed_checks=expected_failed_checks(estimator))``,
    and as a callable for ``parametrize_with_checks``.

    Parameters
    ----------
    estimator : object
        An estimator of veilspan.

    Returns
    -------
    dict of str to str
        Reasons by the name of a check.
    """
    name = type(estimator).__name__
    private_stream = name == "SubspaceTracker" and estimator.epsilon is not None
    return dict.fromkeys(_OF_A_STREAM, _BLOCKS) if private_stream else dict(EXPECTED.get(name, {}))
