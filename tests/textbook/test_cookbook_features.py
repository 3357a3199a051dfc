"""Cookbook, ch. 21 and 24: random features and subsets of samples in the place of all samples."""

import numpy as np
import pytest

from tenfold import Nystroem, RandomKitchenSinksClassifier, RBFSampler, Ridge
from tenfold.kernels import Gaussian


def _xor(n, seed):
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 2, (n, 2))
    return 2.0 * corners - 1.0 + 0.3 * rng.standard_normal((n, 2)), corners[:, 0] ^ corners[:, 1]


@pytest.mark.parametrize("seed", range(3))
def test_xor_by_100_random_features(seed):
    """Figure 24.1: K = 100, w ~ N(0, 1), lambda = 1."""
    X, y = _xor(300, seed)
    model = RandomKitchenSinksClassifier(gamma=0.5, n_components=100, alpha=1.0, random_state=seed).fit(X, y)
    test, labels = _xor(1000, seed + 100)
    assert model.score(test, labels) > 0.99
    assert model.certificate_.ok


def test_the_kernel_error_falls_with_the_number_of_features():
    X = np.random.default_rng(0).standard_normal((40, 3))
    K, errors = Gaussian()(X), []
    for count in (100, 1600, 25600):
        each = [RBFSampler(gamma=0.5, n_components=count, random_state=s).fit_transform(X) for s in range(5)]
        errors.append(np.mean([np.sqrt(np.mean((Z @ Z.T - K) ** 2)) for Z in each]))
    np.testing.assert_allclose(errors[0] / errors[1], 4.0, rtol=0.3)  # as 1 / sqrt(K)
    np.testing.assert_allclose(errors[1] / errors[2], 4.0, rtol=0.3)


def test_cosine_and_sine_give_the_same_kernel():
    """Equation 24.1 with a real map: the mean of cos(w.x + b) cos(w.y + b) over b is cos(w.(x - y)) / 2."""
    X = np.random.default_rng(0).standard_normal((30, 2))
    W = np.random.default_rng(1).standard_normal((2, 20_000))
    both = np.hstack([np.cos(X @ W), np.sin(X @ W)]) / np.sqrt(20_000.0)
    assert np.abs(both @ both.T - Gaussian()(X)).max() < 0.03


def test_the_ridge_of_equation_24_3():
    """a = (Z Z' + lambda I)^-1 Z y."""
    X, y = _xor(100, 0)
    sampler = RBFSampler(gamma=0.5, n_components=30, random_state=0)
    Z = sampler.fit_transform(X).T
    a = np.linalg.solve(Z @ Z.T + np.eye(30), Z @ (2.0 * y - 1.0))
    np.testing.assert_allclose(Ridge(1.0, fit_intercept=False).fit(Z.T, 2.0 * y - 1.0).coef_, a, rtol=1e-8)


def test_a_subset_of_the_samples_is_enough():
    """Ch. 21: random subsets, or cluster centres, instead of all samples."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3.0, 3.0, (800, 1))
    y = np.sin(2.0 * X[:, 0]) + 0.2 * rng.standard_normal(800)
    errors = {}
    for centres in ("uniform", "kmeans"):
        features = Nystroem(gamma=1.0, n_components=20, centres=centres, random_state=0).fit(X)
        fits = Ridge(0.1).fit(features.transform(X), y).predict(features.transform(X))
        errors[centres] = np.sqrt(np.mean((fits - np.sin(2.0 * X[:, 0])) ** 2))
    assert max(errors.values()) < 0.1
