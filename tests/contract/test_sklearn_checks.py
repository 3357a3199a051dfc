"""scikit-learn's own checks on every row of the table, with no expected failures but those of its own class."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import tenfold
from design import only_if
from estimators import DEFAULTS, LEARNERS, TABLE

REPEATED = {"check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"}
"""Integer weights are repeated rows: not to a method that looks at one row after the other."""

DIRECT = ("Ridge", "RidgeClassifier")
"""Whose n_iter_ is None after a direct solve, as scikit-learn's own is."""


def fails_of_scikit_learn(estimator):
    """Checks that scikit-learn expects to fail for its own class, and the reason."""
    direct = type(estimator).__name__ in DIRECT and not estimator.positive and estimator.solver == "auto"
    return {"check_non_transformer_estimators_n_iter": "a direct solve takes no iterations"} if direct else {}


SEQUENTIAL = {row.name for row in TABLE if row.sequential}


CHECKED = [row for row in TABLE if not row.outside]
ONCE = {row.name: row for row in reversed(CHECKED)}
"""The first row of each class."""

counts_repetitions = only_if(
    lambda estimator, check: type(estimator).__name__ not in SEQUENTIAL or check.func.__name__ not in REPEATED
)


@parametrize_with_checks(
    [
        *(row.make(**row.checked) for row in ONCE.values()),
        *(getattr(tenfold, name)(**settings) for name, settings in DEFAULTS.items() if name not in ONCE),
    ],
    expected_failed_checks=fails_of_scikit_learn,
)
@counts_repetitions
def test_check(estimator, check):
    run_check(estimator, check)


@pytest.mark.product
@parametrize_with_checks(
    [
        *(row.make(**row.checked) for row in CHECKED if row is not ONCE[row.name]),
        *(getattr(tenfold, name)(**settings) for name, settings in DEFAULTS.items() if name in ONCE),
    ],
    expected_failed_checks=fails_of_scikit_learn,
)
@counts_repetitions
def test_check_with_other_settings(estimator, check):
    run_check(estimator, check)


def run_check(estimator, check):
    with warnings.catch_warnings():
        if type(estimator).__name__ == "Perceptron" and check.func.__name__ == "check_class_weight_classifiers":
            # weights of 1000 beside 0.0001 keep the loss falling: scikit-learn's own class warns, too
            warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)


def checks_of(row, model):
    """The name of each check, and the model and the check."""
    return {check.func.__name__: (one, check) for one, check in estimator_checks_generator(model)}


@pytest.mark.parametrize(
    ("row", "name"),
    [
        pytest.param(row, name, id=f"{row.id}-{name}")
        for row in LEARNERS
        for name in checks_of(row, row.make())
        if name not in row.exempt
    ],
)
def test_check_of_a_learner(row, name):
    model, check = checks_of(row, row.make())[name]
    with warnings.catch_warnings():
        # some checks have so few epochs, or such weights, that scikit-learn's own class warns
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(model)


@pytest.mark.parametrize(
    ("row", "name"), [pytest.param(row, name, id=f"{row.id}-{name}") for row in LEARNERS for name in row.exempt]
)
def test_an_exempt_check_fails_for_the_class_of_scikit_learn_too(row, name):
    his = checks_of(row, row.his())
    if name not in his:
        assert "sample_weight" not in row.peer.fit.__code__.co_varnames
        return
    model, check = his[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(AssertionError):
            check(model)
