"""Worked numbers and claims of the texts on kernel components and on kernels of strings."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from tenfold import PCA, SVC, KernelCCA, KernelFisherDiscriminant, KernelPCA
from tenfold.kernels import Normalised, Spectrum, Subsequence


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


class TestKernelCCA:
    """Cookbook 11 and Welling 14."""

    def views(self, n=100, seed=0):
        z = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, n)
        return np.sin(z)[:, None], np.cos(z)[:, None]

    def test_sine_and_cosine(self):
        """Linear correlation near zero; with a Gaussian kernel of width 1 and a ridge of 0.1 about .98, and about .2
        where the pairs are shuffled.
        """
        X, Y = self.views()
        assert abs(np.corrcoef(X[:, 0], Y[:, 0])[0, 1]) < 0.2
        model = KernelCCA(kernel="rbf", gamma=0.5, ridge=0.1).fit(X, Y)
        assert model.values_[0] == pytest.approx(0.98, abs=0.01)
        shuffled = KernelCCA(kernel="rbf", gamma=0.5, ridge=0.1).fit(X, np.random.default_rng(1).permutation(Y))
        assert shuffled.values_[0] < 0.45

    def test_correlation_of_one_on_unrelated_views(self):
        """A narrow kernel of full rank: 1.0000 on independent data; the fit says that it means nothing."""
        rng = np.random.default_rng(0)
        X, Y = rng.standard_normal((2, 60, 1))
        with pytest.warns(UserWarning, match="no maximum"):
            false = KernelCCA(kernel="rbf", gamma=5e3, ridge=0.0).fit(X, Y)
        assert false.correlations_[0] > 0.9999
        assert false.certificate_.status == "no maximum"
        assert not false.certificate_.ok
        nearly = KernelCCA(kernel="rbf", gamma=5e3, ridge=1e-8).fit(X, Y)
        assert nearly.values_[0] > 0.99999
        new = rng.standard_normal((2, 500, 1))
        assert abs(nearly.score(*new)) < 0.2

    def test_ridge_by_cross_validation(self):
        X, Y = self.views()
        model = KernelCCA(kernel="rbf", gamma=0.5, random_state=0).fit(X, Y)
        assert model.score(*self.views(seed=1)) > 0.95
        rng = np.random.default_rng(0)
        chosen = KernelCCA(kernel="rbf", gamma=0.5, random_state=0).fit(*rng.standard_normal((2, 80, 1)))
        assert chosen.cv_results_["mean_test_score"].max() < 0.5

    def test_linear_kernels_are_linear_cca(self):
        """Dual directions with a small ridge: the canonical correlations of the features."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((80, 3))
        Y = X[:, :2] + rng.standard_normal((80, 2))
        model = KernelCCA(2, kernel="linear", ridge=1e-6).fit(X, Y)
        Qx, Qy = (np.linalg.qr(part - part.mean(0))[0] for part in (X, Y))
        np.testing.assert_allclose(model.correlations_, np.linalg.svd(Qx.T @ Qy)[1], rtol=1e-7)

    def test_dual_eigenproblem(self):
        """Welling 14.15: K_x K_y b = l (K_x^2 + eta) a, and the eigenvalues come in pairs of both signs."""
        X, Y = self.views(n=40)
        eta = 0.5
        model = KernelCCA(2, kernel="rbf", gamma=0.5, ridge=eta).fit(X, Y)
        H = np.eye(40) - 1.0 / 40
        Kx, Ky = (H @ kernel(part) @ H for kernel, part in zip(model.kernels_, (X, Y), strict=True))
        a, b = model.dual_coefs_
        np.testing.assert_allclose(Kx @ Ky @ b, (Kx @ Kx + eta * np.eye(40)) @ a * model.values_, atol=1e-10)
        np.testing.assert_allclose(Ky @ Kx @ a, (Ky @ Ky + eta * np.eye(40)) @ b * model.values_, atol=1e-10)


class TestWelling13:
    """Kernel Fisher discriminant."""

    def cigars(self, n=120, seed=0):
        rng = np.random.default_rng(seed)
        y = np.arange(n) % 2
        return np.column_stack([5.0 * rng.standard_normal(n), 0.2 * rng.standard_normal(n) + y]), y

    def test_parallel_cigars(self):
        """PCA takes the long axis and mixes the classes; the discriminant takes the other."""
        X, y = self.cigars()
        along = KernelPCA(1).fit_transform(X)[:, 0]
        assert abs(along[y == 1].mean() - along[y == 0].mean()) < 0.5 * along.std()
        linear = KernelFisherDiscriminant(kernel="linear", beta=1e-3).fit(X, y)
        assert linear.score(*self.cigars(seed=1)) > 0.97
        assert KernelFisherDiscriminant(beta=1.0).fit(X, y).score(*self.cigars(seed=1)) > 0.95

    def test_scatters_are_those_of_explicit_features(self):
        """13.15-13.18 and 13.12: the ratio that a direction reaches is its eigenvalue."""
        X, y = self.cigars(40)
        model = KernelFisherDiscriminant(kernel="poly", degree=2, beta=0.5).fit(X, y)
        K, a = model.kernel_(X), model.dual_coef_[:, 0]
        kappa = [K[:, y == c].mean(axis=1) for c in (0, 1)]
        between = sum(20 * np.outer(k - K.mean(1), k - K.mean(1)) for k in kappa)
        within = K @ K - sum(20 * np.outer(k, k) for k in kappa)
        ratio = (a @ between @ a) / (a @ within @ a + 0.5 * a @ a)
        assert ratio == pytest.approx(model.values_[0], rel=1e-6)
        z = K @ a
        centred = z - np.where(y == 1, z[y == 1].mean(), z[y == 0].mean())
        assert centred @ centred == pytest.approx(a @ within @ a, rel=1e-5)
        difference = kappa[1] - kappa[0]
        np.testing.assert_allclose(between, 20 * 20 / 40 * np.outer(difference, difference), atol=1e-6)

    def test_nearest_class_in_units_of_its_deviation(self):
        X, y = self.cigars()
        model = KernelFisherDiscriminant(beta=1.0).fit(X, y)
        z = model.transform(X)[:, 0]
        far = [(z - z[y == c].mean()) ** 2 / z[y == c].var() for c in (0, 1)]
        np.testing.assert_array_equal(model.predict(X), np.argmin(far, axis=0))

    def test_without_regularisation_it_overfits(self):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((80, 2)), np.arange(80) % 2
        tight = KernelFisherDiscriminant(gamma=50.0, beta=1e-6).fit(X, y)
        assert tight.score(X, y) == 1.0
        assert tight.score(rng.standard_normal((400, 2)), np.arange(400) % 2) < 0.6


class TestStringKernels:
    """CMU 34 and 58, Seeger 9.2.3: kernels of strings, on the words of Lodhi et al. 2002."""

    def test_subsequences_of_two_letters(self):
        """Over c-a, c-t, a-t, b-a, b-t, c-r, a-r, b-r: k(car, cat) = l^4, k(car, car) = 2 l^4 + l^6."""
        decay = 0.7
        kernel = Subsequence(2, decay)
        assert kernel("car", "cat") == pytest.approx(decay**4)
        assert kernel("car", "car") == pytest.approx(2 * decay**4 + decay**6)
        assert Normalised(kernel)("car", "cat") == pytest.approx(1 / (2 + decay**2))
        np.testing.assert_allclose(kernel(["cat", "bat", "bar"], ["car"])[:, 0], [decay**4, 0.0, decay**4])

    def test_spectrum_is_an_inner_product_of_counts(self):
        """Of substrings of three characters, as scikit-learn counts them."""
        words = ["statistics", "statistical", "computation", "computational"]
        counts = CountVectorizer(analyzer="char", ngram_range=(3, 3)).fit_transform(words)
        np.testing.assert_array_equal(Spectrum(3)(words), (counts @ counts.T).toarray())

    def test_letters_separate_what_no_letter_does(self):
        """A kernel perceptron's question, whether phi(x) is linearly separable: order is seen from two letters on."""
        words, classes = ["ab" * i + "a" for i in range(1, 6)] + ["a" * (i + 1) + "b" * i for i in range(1, 6)], [1, 0]
        y = np.repeat(classes, 5)
        assert SVC(kernel=Normalised(Spectrum(1)), C=1e6).fit(words, y).score(words, y) < 1.0
        assert SVC(kernel=Normalised(Spectrum(2)), C=1e6).fit(words, y).score(words, y) == 1.0
