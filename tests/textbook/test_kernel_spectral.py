"""Worked numbers and claims of the texts on kernel components."""

import numpy as np
import pytest

from tenfold import PCA, KernelPCA


def rings(inner, outer, n=200, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    angle, second = 4.0 * np.pi * np.arange(n) / n, np.arange(n) >= n // 2
    X = np.where(second, outer, inner)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + noise * rng.standard_normal(X.shape), second


def separates(z, second):
    """Whether a threshold on z tells the rings apart."""
    return z[second].min() > z[~second].max() or z[second].max() < z[~second].min()


class TestCookbook8:
    """Two noisy rings, a Gaussian kernel of width 1: the first component tells them apart."""

    @pytest.mark.parametrize("radii", [(0.5, 1.5), (1.0, 2.0), (1.0, 3.0), (1.0, 4.0), (0.3, 3.0)])
    def test_first_component_without_centring(self, radii):
        X, second = rings(*radii)
        z = KernelPCA(1, kernel="rbf", gamma=0.5, center=False).fit_transform(X)[:, 0]
        assert separates(z, second)

    @pytest.mark.parametrize("radii", [(1.0, 4.0), (0.3, 3.0)])
    def test_first_component_with_centring_where_rings_are_far_apart(self, radii):
        X, second = rings(*radii)
        assert separates(KernelPCA(1, kernel="rbf", gamma=0.5).fit_transform(X)[:, 0], second)

    def test_first_component_with_centring_where_rings_are_close(self):
        X, second = rings(1.0, 2.0)
        assert not separates(KernelPCA(1, kernel="rbf", gamma=0.5).fit_transform(X)[:, 0], second)


class TestWelling12:
    def test_unit_directions_in_the_feature_space(self):
        """12.6-12.9: K a = N l a, and a direction has unit length where |a| = 1 / sqrt(N l)."""
        X, _ = rings(1.0, 2.0, n=60)
        model = KernelPCA(4, kernel="poly", degree=2).fit(X)
        a = model.eigenvectors_ / np.sqrt(model.eigenvalues_)
        K = model.kernel_(X)
        K = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
        np.testing.assert_allclose(a.T @ K @ a, np.eye(4), atol=1e-10)
        np.testing.assert_allclose(np.linalg.norm(a, axis=0), 1.0 / np.sqrt(model.eigenvalues_))

    def test_centring_of_new_samples(self):
        """12.18: k(t, x) - k(t) - k(x) + k, and for the linear kernel what centring the features gives."""
        X, T = rings(1.0, 2.0, n=40)[0] + 5.0, rings(1.0, 2.0, n=7, seed=1)[0] + 5.0
        model = KernelPCA(2).fit(X)
        K, new = X @ X.T, T @ X.T
        centred = new - new.mean(1)[:, None] - K.mean(0) + K.mean()
        expected = centred @ model.eigenvectors_ / np.sqrt(model.eigenvalues_)
        np.testing.assert_allclose(model.transform(T), expected, atol=1e-10)
        linear = PCA(2).fit(X)
        np.testing.assert_allclose(np.abs(model.transform(T)), np.abs(linear.transform(T)), atol=1e-10)

    def test_reconstruction_error_is_what_is_left(self):
        """12.5: the squared error of k components is the sum of the eigenvalues after them."""
        X, _ = rings(1.0, 2.0, n=60)
        every = KernelPCA(kernel="rbf", gamma=0.5).fit(X)
        K = every.kernel_(X)
        K = K - K.mean(0) - K.mean(1)[:, None] + K.mean()
        kept = np.sum(every.transform(X)[:, :3] ** 2)
        assert np.trace(K) - kept == pytest.approx(np.sum(every.eigenvalues_[3:]))


def test_rosasco_10_6_projection_of_a_sample():
    """M(x)_j = (1 / sqrt(l_j)) sum_i k(x, x_i) u_j^i, for a kernel that is not centred."""
    X, _ = rings(1.0, 2.0, n=30)
    model = KernelPCA(3, kernel="rbf", gamma=0.5, center=False).fit(X)
    x = np.array([[0.3, 0.7]])
    expected = [
        sum(np.exp(-0.5 * np.sum((x[0] - X[i]) ** 2)) * model.eigenvectors_[i, j] for i in range(30))
        / np.sqrt(model.eigenvalues_[j])
        for j in range(3)
    ]
    np.testing.assert_allclose(model.transform(x)[0], expected)
