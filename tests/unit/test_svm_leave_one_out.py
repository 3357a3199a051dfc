"""Bounds on the leave-one-out error of support vector machines against refits without each sample."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from tenfold.bounds import svm_leave_one_out


def fitted(seed, C, kernel):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((36, 2))
    y = np.where(X[:, 0] + 0.6 * rng.standard_normal(36) > 0.0, 1.0, -1.0)
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.5)
    model = SVC(C=C, kernel="precomputed", tol=1e-9, max_iter=200_000).fit(K, y)
    alpha = np.zeros(36)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    return K, y, alpha, float(model.intercept_[0])


def refitted(K, y, C):
    """y f of each sample, by the machine of the others."""
    values = np.zeros(len(y))
    for i in range(len(y)):
        others = np.delete(np.arange(len(y)), i)
        model = SVC(C=C, kernel="precomputed", tol=1e-9, max_iter=200_000).fit(K[np.ix_(others, others)], y[others])
        values[i] = y[i] * model.decision_function(K[[i]][:, others])[0]
    return values


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_bounds_hold(seed, C, kernel):
    K, y, alpha, b = fitted(seed, C, kernel)
    found = svm_leave_one_out(K, y, alpha, b, C)
    error = np.mean(refitted(K, y, C) <= 0.0)
    assert error <= found.xi_alpha <= found.support_vectors
    if kernel == "rbf" and C == 30.0:  # where most support vectors are free
        assert abs(found.span - error) <= 4.0 / 36.0


def test_span_is_exact_where_no_support_vector_changes_its_type():
    """Of samples that remain of the same types as one is left out, the value falls by a S^2."""
    K, y, alpha, b = fitted(0, 30.0, "rbf")
    found, values = svm_leave_one_out(K, y, alpha, b, 30.0), y * (K @ (alpha * y) + b)
    refits = refitted(K, y, 30.0)
    close = np.isclose(values - refits, alpha * found.spans**2, rtol=1e-3, atol=1e-5)
    assert close[alpha == 0.0].all()
    assert close[alpha > 0.0].any()


def test_arguments_are_checked():
    K, y = np.eye(2), np.array([-1.0, 1.0])
    with pytest.raises(ValueError, match="between 0 and C"):
        svm_leave_one_out(K, y, [2.0, 2.0], 0.0, 1.0)
    with pytest.raises(ValueError, match="-1 and 1"):
        svm_leave_one_out(K, [0.0, 1.0], [0.5, 0.5], 0.0, 1.0)
    with pytest.raises(ValueError, match="positive"):
        svm_leave_one_out(K, y, [0.5, 0.5], 0.0, 0.0)
    alone = svm_leave_one_out(K, y, [1.0, 1.0], 0.0, np.inf, fit_intercept=False)
    assert alone.support_vectors == 1.0
