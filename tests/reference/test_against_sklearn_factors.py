"""Non-negative factors against scikit-learn's."""

import warnings

import numpy as np
import pytest
import sklearn.decomposition
from scipy import sparse
from sklearn.decomposition._nmf import _beta_divergence, _initialize_nmf

import tenfold
from tenfold.objectives.factorization import Divergence
from tenfold.plans.factorization_start import double_svd, draw

RNG = np.random.default_rng(0)
X = RNG.gamma(1.0, 1.0, (80, 5)) @ (RNG.uniform(size=(5, 30)) * (RNG.uniform(size=(5, 30)) < 0.5))
X += 0.05 * RNG.uniform(size=X.shape)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("alpha", [0.001, 0.01])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.3])
def test_same_objective_with_a_penalty(alpha, l1_ratio):
    known = {"init": "random", "random_state": 0, "alpha_W": alpha, "l1_ratio": l1_ratio, "max_iter": 20_000}
    ours = tenfold.NMF(5, tol=1e-8, **known).fit(X)
    theirs = sklearn.decomposition.NMF(5, tol=1e-9, **known).fit(X)
    objectives = [tenfold.certify(model, X).objective for model in (ours, theirs)]
    assert ours.certificate_.ok
    assert objectives[0] <= objectives[1] * (1.0 + 1e-4)


@pytest.mark.parametrize("init", ["random", "nndsvda"])
def test_fit_is_as_good(init):
    known = {"init": init, "random_state": 0, "max_iter": 2000}
    ours = tenfold.NMF(5, **known).fit(X)
    theirs = sklearn.decomposition.NMF(5, **known).fit(X)
    assert ours.certificate_.ok
    assert ours.reconstruction_err_ <= theirs.reconstruction_err_ * 1.01


@pytest.mark.parametrize("beta", [2.0, 1.0, 0.0, 0.5, 1.5])
def test_same_divergence(beta):
    for rows in (X, sparse.csr_matrix(X)):
        W, H = RNG.uniform(size=(80, 5)), RNG.uniform(size=(5, 30))
        ours = Divergence.of(sparse.csr_array(rows) if sparse.issparse(rows) else rows, beta).value(W, H)
        np.testing.assert_allclose(ours, _beta_divergence(rows, W, H, beta), rtol=1e-9)


@pytest.mark.parametrize("beta", ["frobenius", "kullback-leibler", "itakura-saito", 0.5, 3.0])
def test_same_multiplicative_updates(beta):
    """From the same start, step by step; the W of the fit comes after further updates."""
    known = {"solver": "mu", "beta_loss": beta, "init": "random", "random_state": 0, "tol": 0, "max_iter": 10}
    ours, theirs = tenfold.NMF(5, **known).fit(X), sklearn.decomposition.NMF(5, **known).fit(X)
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-6, atol=1e-9)


def test_same_starts():
    W, H = _initialize_nmf(X, 5, "random", random_state=0)
    start = draw(X, 5, np.random.RandomState(0))
    np.testing.assert_allclose(start.W, W)
    np.testing.assert_allclose(start.H, H)
    for init, fill in (("nndsvd", "zeros"), ("nndsvda", "mean")):
        W, H = _initialize_nmf(X, 5, init, random_state=0)
        start = double_svd(X, 5, fill, np.random.RandomState(0))
        np.testing.assert_allclose(start.W @ start.H, W @ H, rtol=1e-2, atol=1e-2 * X.mean())


def test_transform_is_at_least_as_good():
    theirs = sklearn.decomposition.NMF(5, random_state=0, max_iter=2000).fit(X)
    ours = tenfold.NMF(5, random_state=0, max_iter=2000).fit(X)
    ours.components_ = theirs.components_
    new = X[::-1] + 0.1
    errors = [np.linalg.norm(new - model.transform(new) @ theirs.components_) for model in (ours, theirs)]
    assert errors[0] <= errors[1] * (1.0 + 1e-12)


def test_default_fit_of_scikit_learn_is_refused():
    """Its criterion is how small the moves are beside those of the first step, and it takes at most 200."""
    model = sklearn.decomposition.NMF(5, solver="mu", random_state=0).fit(X)
    assert not tenfold.certify(model, X).ok


@pytest.mark.parametrize("beta", ["frobenius", "kullback-leibler", "itakura-saito", 0.5])
@pytest.mark.parametrize("fresh", [False, True])
def test_same_batches(beta, fresh):
    known = {"beta_loss": beta, "init": "random", "random_state": 0, "batch_size": 24, "max_iter": 4, "tol": 1e-4}
    settings = {**known, "alpha_W": 0.001, "l1_ratio": 0.5, "fresh_restarts": fresh}
    ours = tenfold.MiniBatchNMF(5, **settings).fit(X)
    theirs = sklearn.decomposition.MiniBatchNMF(5, **settings).fit(X)
    assert (ours.n_steps_, ours.n_iter_) == (theirs.n_steps_, theirs.n_iter_)
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-6, atol=1e-9)


def test_same_batches_by_parts():
    settings = {"init": "random", "random_state": 0, "batch_size": 24}
    ours, theirs = tenfold.MiniBatchNMF(5, **settings), sklearn.decomposition.MiniBatchNMF(5, **settings)
    for model in (ours, theirs):
        for start in range(0, 72, 24):
            model.partial_fit(X[start : start + 24])
    assert ours.n_steps_ == theirs.n_steps_
    np.testing.assert_allclose(ours.components_, theirs.components_, rtol=1e-6, atol=1e-9)


def atoms(k, p=30):
    D = RNG.standard_normal((k, p))
    return D / np.linalg.norm(D, axis=1, keepdims=True)


@pytest.mark.parametrize("algorithm", ["lasso_lars", "lasso_cd", "lars", "omp", "threshold"])
@pytest.mark.parametrize("k", [10, 50])
def test_same_codes(algorithm, k):
    D = atoms(k)
    known = {"algorithm": algorithm, "alpha": 0.5, "n_nonzero_coefs": 4}
    theirs = sklearn.decomposition.sparse_encode(X, D, **known)
    atol = 1e-3 if algorithm == "lasso_cd" else 1e-8  # its coordinate descent ends by a tolerance
    np.testing.assert_allclose(tenfold.sparse_encode(X, D, **known), theirs, atol=atol)


@pytest.mark.parametrize("alpha", [pytest.param(0.3, marks=pytest.mark.slow), 3.0])
def test_dictionary_is_at_least_as_good(alpha):
    ours = tenfold.DictionaryLearning(5, alpha=alpha).fit(X)
    theirs = sklearn.decomposition.DictionaryLearning(5, alpha=alpha, fit_algorithm="lars").fit(X)
    certificate = tenfold.certify(theirs, X)
    assert ours.certificate_.ok
    assert not certificate.ok
    assert ours.certificate_.objective <= certificate.objective * (1.0 + 1e-3)


def test_sparse_components_are_at_least_as_good():
    ours, theirs = (module.SparsePCA(3, alpha=1.0).fit(X) for module in (tenfold, sklearn.decomposition))
    assert ours.certificate_.ok
    assert ours.certificate_.objective <= tenfold.certify(theirs, X).objective * (1.0 + 1e-6)
    theirs.components_, theirs.mean_ = ours.components_, ours.mean_
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.5, 60.0])
@pytest.mark.parametrize("positive", [False, True])
def test_same_dictionary_of_batches(alpha, positive):
    """Atoms that no sample of a batch uses are drawn from the same random numbers."""
    known = {"dict_init": np.abs(atoms(6)), "random_state": 0, "batch_size": 24, "max_iter": 4, "alpha": alpha}
    known |= {"positive_code": positive, "positive_dict": positive, "fit_algorithm": "cd" if positive else "lars"}
    ours = tenfold.MiniBatchDictionaryLearning(6, **known).fit(X)
    theirs = sklearn.decomposition.MiniBatchDictionaryLearning(6, **known).fit(X)
    assert (ours.n_steps_, ours.n_iter_) == (theirs.n_steps_, theirs.n_iter_)
    atol = 2e-3 if positive else 1e-9  # its coordinate descent ends by a tolerance
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=atol)


def test_same_dictionary_by_parts():
    known = {"dict_init": atoms(6), "random_state": 0, "alpha": 0.5}
    ours, theirs = (module.MiniBatchDictionaryLearning(6, **known) for module in (tenfold, sklearn.decomposition))
    for model in (ours, theirs):
        for start in range(0, 72, 24):
            model.partial_fit(X[start : start + 24])
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-9)
