"""GaussianMixture against scikit-learn's: the same parameters after the same steps."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture as His

from tenfold import GaussianMixture, certify

X = load_iris().data
LEARNED = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")


def both(X, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GaussianMixture(**settings).fit(X), His(**settings).fit(X)


def check_same(ours, sklearn_model, tol=1e-8):
    assert ours.n_iter_ == sklearn_model.n_iter_
    assert ours.converged_ == sklearn_model.converged_
    for name in LEARNED:
        np.testing.assert_allclose(getattr(ours, name), getattr(sklearn_model, name), rtol=tol, atol=tol, err_msg=name)
    # the weights of scikit-learn's start from rows do not sum to one
    np.testing.assert_allclose(ours.lower_bounds_[1:], sklearn_model.lower_bounds_[1:], rtol=1e-10)
    assert ours.lower_bound_ == pytest.approx(sklearn_model.lower_bound_, rel=1e-10)


def start(kind, k, p):
    full, tied, diag = np.tile(np.eye(p), (k, 1, 1)), np.eye(p), np.ones((k, p))
    precisions = {"full": full, "tied": tied, "diag": diag, "spherical": np.ones(k)}[kind]
    return {"weights_init": np.full(k, 1.0 / k), "means_init": X[:: len(X) // k][:k], "precisions_init": precisions}


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("steps", [1, 5, 40])
@pytest.mark.parametrize("reg_covar", [0.0, 1e-6, 0.05])
def test_the_same_start_gives_the_same_steps(kind, steps, reg_covar):
    ours, sklearn_model = both(
        X, n_components=3, covariance_type=kind, max_iter=steps, tol=0.0, reg_covar=reg_covar, **start(kind, 3, 4)
    )
    check_same(ours, sklearn_model)
    for method in ("predict_proba", "score_samples"):
        np.testing.assert_allclose(getattr(ours, method)(X), getattr(sklearn_model, method)(X), rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), sklearn_model.predict(X))
    for method in ("score", "aic", "bic"):
        assert getattr(ours, method)(X) == pytest.approx(getattr(sklearn_model, method)(X), rel=1e-9)
    assert ours._n_parameters() == sklearn_model._n_parameters()


@pytest.mark.parametrize("init", ["random", "random_from_data"])
def test_the_same_random_numbers_give_the_same_start(init):
    ours, sklearn_model = both(X, n_components=3, init_params=init, random_state=3, max_iter=30, tol=1e-10)
    check_same(ours, sklearn_model, 1e-6)


@pytest.mark.parametrize("init", ["kmeans", "k-means++"])
def test_starts_from_clusters_end_as_well(init):
    ours, sklearn_model = both(X, n_components=3, init_params=init, random_state=0, n_init=3, tol=1e-6, max_iter=500)
    assert ours.lower_bound_ >= sklearn_model.lower_bound_ - 1e-4
    assert ours.certificate_.ok


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_his_model_is_judged(kind):
    sklearn_model = His(3, covariance_type=kind, random_state=0, tol=1e-6, max_iter=500).fit(X)
    result = certify(sklearn_model, X)
    assert result.ok
    assert -result.objective == pytest.approx(sklearn_model.score(X), rel=1e-12)
    sklearn_model.tol = 1e-12
    assert not certify(sklearn_model, X).ok


def test_float32():
    ours, sklearn_model = both(X.astype(np.float32), n_components=2, random_state=0)
    assert {getattr(ours, name).dtype for name in LEARNED} == {np.dtype(np.float32)}
    assert ours.predict_proba(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(np.sort(ours.means_, axis=0), np.sort(sklearn_model.means_, axis=0), rtol=1e-3)
    assert ours.certificate_.ok


def test_no_steps_store_the_start():
    ours, sklearn_model = both(X, n_components=3, init_params="random_from_data", random_state=1, max_iter=0)
    np.testing.assert_allclose(ours.means_, sklearn_model.means_)
    assert ours.n_iter_ == sklearn_model.n_iter_ == 0


def test_samples():
    ours, sklearn_model = both(X, n_components=3, random_state=0)
    rows, numbers = ours.sample(4000)
    assert rows.shape == (4000, 4)
    assert np.all(np.diff(numbers) >= 0)
    np.testing.assert_allclose(np.bincount(numbers) / 4000, ours.weights_, atol=0.03)
    np.testing.assert_allclose(rows.mean(axis=0), X.mean(axis=0), atol=0.15)
    np.testing.assert_allclose(np.cov(rows.T), np.cov(X.T), atol=0.3)
    for model in (ours, sklearn_model):
        with pytest.raises(ValueError, match="at least one sample"):
            model.sample(0)
