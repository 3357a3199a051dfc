"""scikit-learn's own checks of what calibrates, decides, and gives intervals."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from tenfold import GaussianNB, LogisticRegression
from tenfold.decide import Calibrator, ConformalClassifier, ConformalRegressor, DecisionClassifier

ALL = [
    Calibrator(),
    Calibrator(GaussianNB(), method="isotonic"),
    DecisionClassifier(LogisticRegression()),
    ConformalClassifier(random_state=0),
    ConformalRegressor(random_state=0),
]


@pytest.mark.filterwarnings("ignore:Skipping check:sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@parametrize_with_checks(ALL)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", ALL, ids=str)
def test_clones(model):
    assert repr(clone(model)) == repr(model)
