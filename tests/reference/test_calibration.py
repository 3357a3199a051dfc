"""Calibration beside scikit-learn's."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.preprocessing import StandardScaler

from tenfold import GaussianNB, LinearSVC, LogisticRegression
from tenfold.decide import Calibrator, DecisionClassifier, Isotonic, screening_loss


@pytest.fixture(scope="module", params=["two classes", "three classes"])
def data(request) -> tuple[np.ndarray, np.ndarray]:
    X, y = (load_breast_cancer if request.param == "two classes" else load_iris)(return_X_y=True)
    return StandardScaler().fit_transform(X[:, :4]), y


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_folds_give_scikit_learns_probabilities(data, method):
    X, y = data
    ours = Calibrator(LogisticRegression(), method=method, cv=4).fit(X, y)
    reference = CalibratedClassifierCV(LogisticRegression(), method=method, cv=4, ensemble=False).fit(X, y)
    # scikit-learn's ends its search early; ours is certified
    tolerance = 2e-4 if method == "sigmoid" else 1e-9
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(X), atol=tolerance)
    assert ours.certificate_.ok


def test_isotonic_is_scikit_learns():
    rng = np.random.default_rng(0)
    score = np.round(rng.standard_normal(300), 1)
    y = rng.random(300) < 1.0 / (1.0 + np.exp(-2.0 * score))
    w = rng.uniform(0.5, 2.0, 300)
    ours = Isotonic.fit(score, y, w)
    reference = IsotonicRegression(out_of_bounds="clip").fit(score, y, sample_weight=w)
    at = np.linspace(-4, 4, 333)
    np.testing.assert_allclose(ours(at), reference.predict(at), atol=1e-12)
    assert ours.certificate.ok


def test_a_frozen_model_gives_scikit_learns_sigmoid():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = FrozenEstimator(LinearSVC(C=0.01).fit(X[:300], y[:300]))
    ours = Calibrator(model).fit(X[300:], y[300:])
    reference = CalibratedClassifierCV(model).fit(X[300:], y[300:])
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(X), atol=2e-4)


def test_a_threshold_is_scikit_learns_fixed_one():
    X, y = load_breast_cancer(return_X_y=True)
    ours = DecisionClassifier(GaussianNB(), loss=screening_loss(9.0)).fit(X, y)
    reference = FixedThresholdClassifier(GaussianNB(), threshold=0.1, response_method="predict_proba").fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), reference.predict(X))
