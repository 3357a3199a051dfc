"""Other shares of the classes after training, by the rule of Bayes; the least C that leaves a weight."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import l1_min_c as sklearn_l1_min_c

import tenfold
from estimators import classes


@pytest.mark.parametrize("count", [2, 3])
def test_probabilities_follow_the_rule_of_bayes(count):
    """Seeger, section 6.4.2: posteriors change by new prior over old, and sum to one again."""
    X, y, _ = classes(90, 4, count=count)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 90)
    model = tenfold.LogisticRegression().fit(X, y, sample_weight=weight)
    old = np.array([weight[y == name].sum() for name in model.classes_]) / weight.sum()
    np.testing.assert_allclose(model.class_prior_, old)
    new = np.arange(1.0, count + 1.0) / np.arange(1.0, count + 1.0).sum()
    other = model.with_priors(new)
    expected = model.predict_proba(X) * new / old
    np.testing.assert_allclose(other.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-10)
    np.testing.assert_array_equal(other.coef_, model.coef_)
    assert not other.certificate_.ok
    assert model.certificate_.ok
    np.testing.assert_allclose(other.with_priors(old).intercept_, model.intercept_, rtol=1e-12)
    for bad in ([1.0], np.zeros(count), np.ones(count)):
        with pytest.raises(ValueError, match="positive shares that sum to one"):
            model.with_priors(bad)


@pytest.mark.parametrize("loss", ["log", "squared_hinge"])
@pytest.mark.parametrize("count", [2, 3])
def test_the_least_c(loss, count):
    X, y, _ = classes(60, 4, count=count)
    for settings in ({}, {"fit_intercept": False}, {"intercept_scaling": 10.0}):
        for rows in (X, sparse.csr_array(X)):
            assert tenfold.l1_min_c(rows, y, loss=loss, **settings) == pytest.approx(
                sklearn_l1_min_c(X, y, loss=loss, **settings)
            )
    with pytest.raises(ValueError, match="Ill-posed"):
        tenfold.l1_min_c(np.zeros((4, 2)), [0, 1, 0, 1], fit_intercept=False)
