"""Feature maps of scikit-learn on the same data with the same seeds: the same numbers."""

import numpy as np
import pytest
import sklearn.kernel_approximation as theirs
from scipy import sparse

import tenfold

H = np.abs(np.random.default_rng(0).standard_normal((120, 6)))
H[H < 0.3] = 0.0

SETTINGS = [
    ("RBFSampler", {"n_components": 50, "random_state": 0, "gamma": 0.3}),
    ("RBFSampler", {"n_components": 7, "random_state": 1, "gamma": "scale"}),
    ("SkewedChi2Sampler", {"n_components": 50, "random_state": 0, "skewedness": 0.5}),
    ("AdditiveChi2Sampler", {}),
    ("AdditiveChi2Sampler", {"sample_steps": 4, "sample_interval": 0.3}),
    ("PolynomialCountSketch", {"n_components": 64, "random_state": 0}),
    ("PolynomialCountSketch", {"n_components": 65, "random_state": 0, "degree": 3, "coef0": 2.0, "gamma": 0.1}),
    ("Nystroem", {"n_components": 40, "random_state": 0, "gamma": 2.0}),
    ("Nystroem", {"n_components": 5, "random_state": 0, "kernel": "poly", "degree": 2, "coef0": 0.5}),
    ("Nystroem", {"n_components": 20, "random_state": 0, "kernel": "laplacian"}),
    ("Nystroem", {"n_components": 10, "random_state": 0, "kernel": "sigmoid", "gamma": 0.2, "coef0": -0.5}),
    ("Nystroem", {"n_components": 20, "random_state": 0, "kernel": "chi2"}),
    ("Nystroem", {"n_components": 10, "random_state": 0, "kernel": lambda x, z: float(np.exp(-np.sum((x - z) ** 2)))}),
]


def identify(value):
    return value if isinstance(value, str) else None


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=identify)
@pytest.mark.parametrize("single", [False, True])
def test_the_same_features(name, settings, single):
    X = H.astype(np.float32) if single else H
    ours, model = getattr(tenfold, name)(**settings), getattr(theirs, name)(**settings)
    Z, expected = ours.fit_transform(X), model.fit_transform(X)
    np.testing.assert_allclose(Z, expected, atol=(2e-4 if single else 1e-9) * np.abs(expected).max())
    np.testing.assert_array_equal(ours.get_feature_names_out(), model.get_feature_names_out())
    assert tenfold.certify(ours, X).ok
    if not single:
        assert tenfold.certify(model, X).ok
    if ours._registration.where != ("arrays", "files", "Dask", "devices") and name != "Nystroem":
        Z, expected = ours.fit_transform(sparse.csr_array(X)), model.fit_transform(sparse.csr_array(X))
        assert sparse.issparse(Z) == sparse.issparse(expected)
        difference = abs(Z - expected)
        assert difference.max() <= (2e-4 if single else 1e-9) * abs(expected).max()
