"""SVCPath: each C is the machine of SVC, judged on its own."""

import numpy as np
import pytest

from tenfold import SVC, SVCPath, certify

RNG = np.random.default_rng(5)
X = RNG.standard_normal((90, 3))
THREE = np.digitize(X[:, 0] + 0.4 * RNG.standard_normal(90), [-0.5, 0.5])
CS = [0.1, 1.0, 30.0]


@pytest.mark.parametrize("y", [THREE == 1, THREE], ids=["two classes", "three"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_each_value_is_the_machine_of_one_fit(y, loss):
    model = SVCPath(CS, C=1.0, loss=loss, tol=1e-6).fit(X, y)
    assert certify(model, X, y).ok
    values, labels = model.decision_path(X), model.predict_path(X)
    for a, C in enumerate(CS):
        alone = SVC(C=C, loss=loss, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(values[a], alone.decision_function(X), atol=1e-3)
        np.testing.assert_array_equal(labels[a], alone.predict(X))
        if C == 1.0:
            np.testing.assert_allclose(model.decision_function(X), values[a])
            np.testing.assert_array_equal(model.support_counts_, model.support_counts_path_[a])
    assert np.all(model.gap_path_ <= 1e-6)


def test_support_vectors_are_those_of_any_value():
    model = SVCPath(CS).fit(X, THREE)
    used = model.dual_coef_path_.any(axis=(0, 1))
    assert used.all()
    assert len(model.support_) == model.n_support_.sum()
    assert model.C_ == 30.0
    assert np.all(np.abs(model.dual_coef_path_[0]) <= 0.1)


def test_a_value_in_the_middle_that_is_wrong_is_refused():
    model = SVCPath(CS).fit(X, THREE)
    model.dual_coef_path_[1] *= 0.9
    assert not certify(model, X, THREE).ok


def test_values_are_checked():
    with pytest.raises(ValueError, match="positive"):
        SVCPath([1.0, -1.0]).fit(X, THREE)
    with pytest.raises(ValueError, match="C"):
        SVCPath(CS, C=0.0).fit(X, THREE)
