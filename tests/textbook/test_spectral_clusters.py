"""Kernel k-means and spectral clustering: Welling, ch. 11; Cookbook, ch. 8 and 12."""

import numpy as np
import pytest
import scipy.linalg as la
from sklearn.metrics import adjusted_rand_score

import tenfold
from tenfold.judge.kernel_kmeans import lowest_energy

RNG = np.random.default_rng(5)


def rings(n=120, radii=(1.0, 4.0)):
    angle = RNG.uniform(0.0, 2.0 * np.pi, n)
    ring = np.arange(n) % 2
    places = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.array(radii)[ring][:, None] * places + 0.1 * RNG.standard_normal((n, 2)), ring


def gaussian(X, gamma):
    return np.exp(-gamma * np.sum((X[:, None] - X) ** 2, axis=2))


def indicators(labels, k):
    return (labels[:, None] == np.arange(k)).astype(float)


class TestWelling11:
    def test_trace_form_of_the_energy(self):
        """(11.5) to (11.10): with L = diag(1 / N_k), Z'Z = L^-1, Z L Z' is idempotent, C = tr K - tr L^.5 Z'KZ L^.5,
        which is the energy by distances in feature space.
        """
        X, _ = rings()
        K = gaussian(X, 0.5)
        model = tenfold.KernelKMeans(3, gamma=0.5, random_state=0).fit(X)
        Z = indicators(model.labels_, 3)
        L = np.diag(1.0 / Z.sum(axis=0))
        np.testing.assert_allclose(Z.T @ Z, la.inv(L))
        np.testing.assert_allclose(Z @ L @ Z.T @ Z @ L @ Z.T, Z @ L @ Z.T, atol=1e-12)
        H = Z @ np.sqrt(L)
        np.testing.assert_allclose(H.T @ H, np.eye(3), atol=1e-12)
        assert model.inertia_ == pytest.approx(np.trace(K) - np.trace(H.T @ K @ H), rel=1e-10)

    def test_spectral_relaxation_bounds_the_energy_of_all_labels(self):
        """(11.13) to (11.16): tr K - sum of the k largest eigenvalues is at most the energy of any labels; that of the
        centred matrix with k - 1 is no smaller.
        """
        X, ring = rings(60)
        K = gaussian(X, 0.3)
        for k in (2, 3, 5):
            relaxed = np.trace(K) - la.eigvalsh(K)[-k:].sum()
            bound = lowest_energy(K, np.ones(60), k)
            assert relaxed <= bound + 1e-9
            for labels in (ring % k, RNG.integers(0, k, 60), np.arange(60) % k):
                H = indicators(labels, k)
                H = H[:, H.any(axis=0)] / np.sqrt(H.sum(axis=0)[H.any(axis=0)])
                assert bound <= np.trace(K) - np.trace(H.T @ K @ H) + 1e-9

    def test_rings_by_kernel_k_means(self):
        """Two rings, which k-means cuts in halves: with kernel and weights of the normalised cut, W / (d d') and
        d, labels of the spectral relaxation are a fixed point, and they are the rings.
        """
        X, ring = rings()
        assert adjusted_rand_score(tenfold.KMeans(2, random_state=0).fit_predict(X), ring) < 0.2
        W = gaussian(X, 1.0)
        np.fill_diagonal(W, 0.0)
        d = W.sum(axis=1)
        relaxed = tenfold.SpectralClustering(2, affinity="precomputed", random_state=0).fit(W)
        K = W / np.outer(d, d) + np.diag(1.0 / d)
        model = tenfold.KernelKMeans(2, kernel="precomputed", init=relaxed.labels_).fit(K, sample_weight=d)
        assert adjusted_rand_score(model.labels_, ring) == 1.0
        assert model.certificate_.ok

    def test_rows_of_length_one(self):
        """(11.17): rows of the relaxed solution are scaled to length one before k-means."""
        X, ring = rings()
        model = tenfold.SpectralClustering(2, gamma=1.0, normalize_rows=True, random_state=0).fit(X)
        assert adjusted_rand_score(model.labels_, ring) == 1.0
        rows = model.embedding_ / np.linalg.norm(model.embedding_, axis=1, keepdims=True)
        again = tenfold.KMeans(2, n_init=10, random_state=0, tol=0.0).fit(rows)
        assert adjusted_rand_score(again.labels_, model.labels_) == 1.0


class TestCookbook8:
    def test_laplacian_eigenmap_of_a_path(self):
        """The Laplacian D - W of a path of n has the eigenvectors cos(pi j (i + 1/2) / n), which order its samples."""
        n = 12
        path = np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)
        columns = tenfold.spectral_embedding(path, n_components=2, norm_laplacian=False)
        for j in (1, 2):
            wave = np.cos(np.pi * j * (np.arange(n) + 0.5) / n)
            np.testing.assert_allclose(np.abs(columns[:, j - 1] @ wave) / la.norm(wave), 1.0, rtol=1e-10)
        order = np.argsort(columns[:, 0])
        assert order.tolist() in (list(range(n)), list(range(n))[::-1])


class TestCookbook12:
    def test_clusters_that_are_not_convex(self):
        """Spectral clustering follows the graph of neighbours where k-means asks for convex clusters."""
        angle = np.linspace(0.0, np.pi, 80)
        moons = np.vstack(
            [
                np.column_stack([np.cos(angle), np.sin(angle)]),
                np.column_stack([1.0 - np.cos(angle), 0.4 - np.sin(angle)]),
            ]
        )
        moon = np.repeat([0, 1], 80)
        model = tenfold.SpectralClustering(2, gamma=20.0, random_state=0).fit(moons)
        assert adjusted_rand_score(model.labels_, moon) == 1.0
        assert adjusted_rand_score(tenfold.KMeans(2, random_state=0).fit_predict(moons), moon) < 0.6
