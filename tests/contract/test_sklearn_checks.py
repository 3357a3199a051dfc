"""scikit-learn's own checks on every row of the table, with no expected failures but those of its own class."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import tenfold
from design import only_if
from estimators import LEARNERS, LINEAR, TABLE, one_a_class

DIRECT = ("Ridge", "RidgeClassifier")
"""Whose n_iter_ is None after a direct solve, as scikit-learn's own is."""

ROWS = [row for row in TABLE if not row.outside]
FIRST = one_a_class(ROWS)

CLOSER = {"tol": 1e-13}
SETTINGS = {
    "ElasticNetCV": CLOSER,
    "LassoCV": CLOSER,
    "LogisticRegressionCV": {
        "cv": 3,
        "scoring": "accuracy",
        "tol": 1e-8,
        "l1_ratios": (0.0,),
        "use_legacy_attributes": False,
    },
}
"""What must be said beside the defaults for the checks to hold, for its own class as for ours."""

PLAIN = {row.name for row in ROWS if not row.settings}
DEFAULTS = sorted({row.name for row in LINEAR} - PLAIN)
"""Classes of models of weights that no row has with their defaults."""

EXEMPT = {row.name: row.exempt for row in FIRST}


def fails_of_scikit_learn(estimator):
    """Checks that scikit-learn expects to fail for its own class, and the reason."""
    direct = type(estimator).__name__ in DIRECT and not estimator.positive and estimator.solver == "auto"
    return {"check_non_transformer_estimators_n_iter": "a direct solve takes no iterations"} if direct else {}


def with_defaults(names):
    return [getattr(tenfold, name)(**SETTINGS.get(name, {})) for name in names]


not_exempt = only_if(lambda estimator, check: check.func.__name__ not in EXEMPT.get(type(estimator).__name__, ()))


@parametrize_with_checks(
    [
        *(row.make(**row.checked) for row in FIRST),
        *with_defaults(name for name in DEFAULTS if name not in EXEMPT),
    ],
    expected_failed_checks=fails_of_scikit_learn,
)
@not_exempt
def test_check(estimator, check):
    run_check(estimator, check)


@pytest.mark.product
@parametrize_with_checks(
    [
        *(row.make(**row.checked) for row in ROWS if row not in FIRST),
        *with_defaults(name for name in DEFAULTS if name in EXEMPT),
    ],
    expected_failed_checks=fails_of_scikit_learn,
)
@not_exempt
def test_check_with_other_settings(estimator, check):
    run_check(estimator, check)


WARNINGS = {
    **dict.fromkeys(("MiniBatchKMeans", "OnlineKMeans", "BisectingKMeans"), "Number of distinct clusters"),
    **dict.fromkeys(("SpectralEmbedding", "SpectralClustering"), "Graph is not fully connected"),
    "NearestCentroid": "self.within_class_std_dev_ has at least 1 zero",
}
"""How a warning begins that scikit-learn's own class gives, too."""


LEARNED = {row.name for row in LEARNERS}


def run_check(estimator, check):
    name = type(estimator).__name__
    with warnings.catch_warnings():
        if name in LEARNED or (name == "Perceptron" and check.func.__name__ == "check_class_weight_classifiers"):
            # few epochs; or weights of 1000 beside 0.0001, which keep the loss falling
            warnings.simplefilter("ignore", ConvergenceWarning)
        if name in WARNINGS:
            warnings.filterwarnings("ignore", WARNINGS[name])
        check(estimator)


@pytest.mark.parametrize(
    ("row", "name"),
    [pytest.param(row, name, id=f"{row.id}-{name}") for row in FIRST if row.peer for name in row.exempt],
)
def test_an_exempt_check_fails_for_the_class_of_scikit_learn_too(row, name):
    """Or is not asked of it, as it takes no weights."""
    sklearn_result = {
        check.func.__name__: (one, check) for one, check in estimator_checks_generator(row.make_sklearn())
    }
    if name not in sklearn_result:
        assert "sample_weight" not in row.peer.fit.__code__.co_varnames
        return
    model, check = sklearn_result[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(AssertionError):
            check(model)
