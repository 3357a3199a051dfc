"""Kernel k-means: certificates beside plain formulas, and models that were changed."""

import warnings
from itertools import product

import numpy as np
import pytest
import scipy.linalg as la
from scipy import sparse
from tampering import tamper

import tenfold
from tenfold.judge.kernel_kmeans import lowest_energy
from tenfold.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 3)) + 4.0 * np.eye(3)[np.arange(90) % 3]
WEIGHT = RNG.integers(0, 4, 90).astype(float)
WEIGHT[:3] = 1.0


def kernel_of(X, gamma=0.1):
    return np.exp(-gamma * np.sum((X[:, None] - X) ** 2, axis=2))


def energy_of(K, weight, labels):
    """By pairs: sum_k (1 / 2 W_k) sum_ij w_i w_j ||phi_i - phi_j||^2."""
    squares, total = np.diag(K)[:, None] - 2.0 * K + np.diag(K), 0.0
    for k in np.unique(labels):
        w = np.where(labels == k, weight, 0.0)
        total += w @ squares @ w / (2.0 * w.sum()) if w.sum() else 0.0
    return total


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_energy_and_bound(weight, init):
    model = tenfold.KernelKMeans(3, gamma=0.1, init=init, random_state=0).fit(X, sample_weight=weight)
    w = np.ones(90) if weight is None else weight
    assert model.certificate_.ok
    assert model.inertia_ == pytest.approx(energy_of(kernel_of(X), w, model.labels_), rel=1e-10)
    certificate = tenfold.certify(model, X, sample_weight=weight)
    assert certificate.ok
    root = np.sqrt(w)
    K = root[:, None] * kernel_of(X) * root
    P = np.eye(90) - np.outer(root, root) / w.sum()
    expected = np.trace(P @ K @ P) - la.eigvalsh(P @ K @ P)[-2:].sum()
    assert certificate.lower_bound == pytest.approx(expected, rel=1e-8)
    # the bound of Welling, ch. 11, without centring is no better
    assert np.trace(K) - la.eigvalsh(K)[-3:].sum() <= expected + 1e-12
    energies = [record.objective for record in model.trace_]
    assert energies == sorted(energies, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_bound_is_below_the_energy_of_all_labels(seed):
    rng = np.random.default_rng(seed)
    K, weight = kernel_of(rng.standard_normal((7, 2)), 0.5), rng.integers(1, 4, 7).astype(float)
    for k in (2, 3):
        least = min(energy_of(K, weight, np.array(labels)) for labels in product(range(k), repeat=7))
        assert 0.0 < lowest_energy(K, weight, k) <= least + 1e-12


def test_weights_are_repetitions():
    whole = np.repeat(X, WEIGHT.astype(int), axis=0)
    start = np.arange(90) % 3
    one = tenfold.KernelKMeans(3, gamma=0.1, init=start).fit(X, sample_weight=WEIGHT)
    other = tenfold.KernelKMeans(3, gamma=0.1, init=np.repeat(start, WEIGHT.astype(int))).fit(whole)
    assert one.inertia_ == pytest.approx(other.inertia_, rel=1e-12)
    assert np.repeat(one.labels_, WEIGHT.astype(int)).tolist() == other.labels_.tolist()


def test_linear_kernel_is_k_means():
    centres = tenfold.KMeans(3, random_state=0, tol=0.0).fit(X)
    for given in (X, sparse.csr_array(X)):
        model = tenfold.KernelKMeans(3, kernel="linear", init=centres.labels_).fit(given)
        assert model.inertia_ == pytest.approx(centres.inertia_, rel=1e-10)
        assert model.labels_.tolist() == centres.labels_.tolist()
        assert model.predict(given[:20]).tolist() == centres.predict(X[:20]).tolist()
        assert tenfold.certify(model, given).ok


@pytest.mark.parametrize("kernel", [Gaussian(2.0), "precomputed", "laplacian", lambda x, z: float(x @ z) ** 2])
def test_tampered_models_are_refused(kernel):
    given = kernel_of(X) if kernel == "precomputed" else X
    model = tenfold.KernelKMeans(3, kernel=kernel, gamma=0.1, random_state=0).fit(given, sample_weight=WEIGHT)
    assert tenfold.certify(model, given, sample_weight=WEIGHT).ok
    assert not tenfold.certify(model, given).ok  # of other weights
    kept = []
    for name, change, worse in tamper(model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                refused = not tenfold.certify(worse, given, sample_weight=WEIGHT).ok
            except ValueError:
                refused = True
        if not refused and name != "n_iter_":
            kept.append(f"{name}: {change}")
    assert kept == []


def test_another_kernel_and_other_samples_are_refused():
    model = tenfold.KernelKMeans(3, gamma=0.1, random_state=0).fit(X)
    model.kernel_ = Gaussian(1.0)
    assert "kernel_" in tenfold.certify(model, X).note
    model = tenfold.KernelKMeans(3, gamma=0.1, random_state=0).fit(X)
    assert not tenfold.certify(model, X + np.arange(90)[:, None]).ok


def test_worse_labels_are_refused():
    """A sample in another cluster, with all else that follows from the labels."""
    model = tenfold.KernelKMeans(3, gamma=0.1, random_state=0).fit(X)
    labels = model.labels_.copy()
    labels[4] = (labels[4] + 1) % 3
    K, member = kernel_of(X), labels[:, None] == np.arange(3)
    model.labels_, model.dual_coef_ = labels, member / member.sum(axis=0)
    model.squared_norms_ = np.sum(model.dual_coef_ * (K @ model.dual_coef_), axis=0)
    model.inertia_ = energy_of(K, np.ones(90), labels)
    certificate = tenfold.certify(model, X)
    assert np.isfinite(certificate.value)
    assert not certificate.ok


def test_normalised_cut_is_the_energy_of_a_kernel():
    """With K = W / (d d') and the degrees as weights, E = trace - k + cut (Dhillon, Guan and Kulis 2004)."""
    W = kernel_of(X)
    np.fill_diagonal(W, 0.0)
    d = W.sum(axis=1)
    spectral = tenfold.SpectralClustering(3, affinity="precomputed", random_state=0).fit(W)
    K = W / np.outer(d, d) + np.diag(2.0 / d)  # the diagonal makes it definite, and adds a constant
    model = tenfold.KernelKMeans(3, kernel="precomputed", init=spectral.labels_).fit(K, sample_weight=d)
    cut = model.inertia_ - (2.0 * 90 - 3 * 2.0) + 3.0
    assert cut <= spectral.certificate_.objective + 1e-9
    assert spectral.certificate_.lower_bound <= cut + 1e-9


def test_duplicated_samples_and_few_places():
    places = np.repeat([[0.0, 0.0], [1.0, 0.0]], 5, axis=0)
    model = tenfold.KernelKMeans(3, random_state=0).fit(places)
    assert model.certificate_.ok
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
    assert tenfold.certify(model, places).ok


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 91}, "n_samples=90 should be >= n_clusters=91"),
        ({"init": [0, 1]}, "init must be labels from 0 to 7"),
        ({"kernel": "nonsense"}, "'kernel' parameter"),
        ({"kernel": "precomputed"}, "must be square"),
    ],
)
def test_bad_input(settings, message):
    with pytest.raises(ValueError, match=message):
        tenfold.KernelKMeans(**settings).fit(X)
