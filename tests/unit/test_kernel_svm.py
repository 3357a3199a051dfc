"""Support vector machines with kernels: weights and messages as in libsvm and scikit-learn."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from tenfold import SVC, SVR, NuSVC, OneClassSVM, certify


def test_negative_weights_remove_samples_as_in_libsvm():
    X, y = make_blobs(40, centers=2, random_state=0, cluster_std=2.0)
    weight = np.ones(40)
    weight[::4] = -1.0
    kept = weight > 0
    models = ((SVC(gamma=0.1), y), (NuSVC(nu=0.2, gamma=0.1), y), (SVR(gamma=0.1), y.astype(float)))
    for model, target in (*models, (OneClassSVM(nu=0.2, gamma=0.1), None)):
        fitted = clone(model).fit(X, target, sample_weight=weight)
        plain = clone(model).fit(X[kept], None if target is None else target[kept])
        read = "decision_function" if hasattr(model, "decision_function") else "predict"
        np.testing.assert_allclose(getattr(fitted, read)(X), getattr(plain, read)(X), rtol=1e-6, atol=1e-8)
        assert certify(fitted, X, target, sample_weight=weight).ok
        with pytest.raises(ValueError, match="all samples have zero or negative weights"):
            clone(model).fit(X, target, sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match="belong to the same class"):
        SVC().fit(X, y, sample_weight=np.where(y == 1, 1.0, -1.0))
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        NuSVC().fit(X, y, sample_weight=np.where(y == 1, 1.0, -1.0))


def test_limits_and_functions_speak_as_scikit_learn_does():
    X, y = make_blobs(40, centers=2, random_state=0, cluster_std=2.0)
    with pytest.warns(ConvergenceWarning, match=r"^Solver terminated early \(max_iter=1\).  Consider pre-processing"):
        SVC(max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match=r"returned one of shape \(1, 1\)"):
        SVR(kernel=lambda X, Z: np.ones((1, 1))).fit(X, y)
