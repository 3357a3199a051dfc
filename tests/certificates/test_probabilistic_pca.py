"""Probabilistic principal components: closed form and EM, missing values, attacks on the certificate, floors."""

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
import sklearn.decomposition
from tampering import tamper

from tenfold import GaussianMixture, ProbabilisticPCA, certify, principal_angles
from tenfold.estimators.validation import as_rows_without_target
from tenfold.judge import probabilistic_pca as judge
from tenfold.judge.mixtures import component_sums
from tenfold.stats.gaussians import Mixture


def draw(n=150, p=6, k=2, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, p)) + noise * rng.standard_normal((n, p)) + 2.0


def lose(X, share=0.2, seed=1):
    X = X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def log_density(model, X):
    """Of the observed values, sample by sample."""
    C, result = model.get_covariance(), np.zeros(len(X))
    for i, x in enumerate(X):
        there = np.flatnonzero(~np.isnan(x))
        if there.size:
            density = scipy.stats.multivariate_normal(model.mean_[there], C[np.ix_(there, there)])
            result[i] = density.logpdf(x[there])
    return result


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_closed_form_is_that_of_scikit_learns_pca_but_for_the_divisor(k):
    X = draw()
    ours, peer = ProbabilisticPCA(k).fit(X), sklearn.decomposition.PCA(k).fit(X)
    share = (len(X) - 1) / len(X)
    np.testing.assert_allclose(ours.get_covariance(), peer.get_covariance() * share, atol=1e-12)
    np.testing.assert_allclose(ours.get_precision(), peer.get_precision() / share, atol=1e-10)
    assert ours.certificate_.kind == "spectral"
    assert ours.score(X) >= peer.score(X)
    np.testing.assert_allclose(ours.score_samples(X), log_density(ours, X), rtol=1e-10)
    assert ours.loglike_ == pytest.approx([ours.score(X) * len(X)])


@pytest.mark.parametrize("k", [0, 1, 2, 6])
def test_em_without_missing_values_is_the_closed_form(k):
    X = draw()
    closed, em = ProbabilisticPCA(k, solver="closed").fit(X), ProbabilisticPCA(k, solver="em").fit(X)
    for name in ("components_", "explained_variance_", "noise_variance_", "mean_"):
        np.testing.assert_allclose(getattr(em, name), getattr(closed, name), atol=1e-12)
    assert em.certificate_.ok
    assert certify(em, X).kind == "spectral"


def test_a_planted_subspace_is_recovered_with_a_fifth_missing():
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.standard_normal((10, 3)))[0].T
    X = rng.standard_normal((1000, 3)) * [4.0, 3.0, 2.0] @ axes + 0.1 * rng.standard_normal((1000, 10)) + 1.0
    gaps = lose(X)
    model = ProbabilisticPCA(3).fit(gaps)
    assert model.certificate_.ok
    assert model.certificate_.kind == "fixed point"
    assert np.max(principal_angles(model.components_.T, axes.T)) < 0.01
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.05)
    filled, hidden = model.impute(gaps), np.isnan(gaps)
    np.testing.assert_array_equal(filled[~hidden], X[~hidden])
    assert np.sqrt(np.mean((filled - X)[hidden] ** 2)) < 0.2  # as large as the noise, and not the spread


@pytest.mark.parametrize("k", [1, 2, 6])
def test_missing_values(k):
    X = lose(draw())
    X[0] = np.nan
    model = ProbabilisticPCA(k).fit(X)
    assert model.certificate_.ok
    assert np.all(np.diff(model.loglike_) >= -1e-9 * np.abs(model.loglike_[-1]))
    density = log_density(model, X)
    np.testing.assert_allclose(model.score_samples(X), density, rtol=1e-8, atol=1e-8)
    assert model.loglike_[-1] == pytest.approx(density.sum())
    assert np.all(model.transform(X)[0] == 0.0)
    np.testing.assert_allclose(model.impute(X)[0], model.mean_)
    np.testing.assert_allclose(model.transform(model.impute(X)), model.transform(X), atol=1e-10)
    # no neighbour is more likely
    rng = np.random.default_rng(0)
    for _ in range(10):
        other = ProbabilisticPCA(k).fit(X)
        other.mean_ = other.mean_ + 1e-3 * rng.standard_normal(6)
        other.components_ = np.linalg.qr((other.components_ + 1e-3 * rng.standard_normal((k, 6))).T)[0].T
        other.noise_variance_ *= 1.0 + 1e-3 * rng.standard_normal()
        assert log_density(other, X).sum() < density.sum() + 1e-6


def test_all_components_are_a_gaussian():
    X = lose(draw(), 0.1)
    ours = ProbabilisticPCA(6).fit(X)
    peer = GaussianMixture(1, reg_covar=0.0, tol=1e-10, max_iter=2000).fit(X)
    assert ours.noise_variance_ == 0.0
    np.testing.assert_allclose(ours.get_covariance(), peer.covariances_[0], atol=1e-3)
    assert ours.score(X) == pytest.approx(peer.score(X), abs=1e-7)


def test_weights_are_repetitions_and_empty_samples_say_nothing():
    X, weight = lose(draw(60)), np.arange(60) % 3
    model = ProbabilisticPCA(2).fit(X, sample_weight=weight)
    again = ProbabilisticPCA(2).fit(np.concatenate([np.repeat(X, weight, axis=0), np.full((5, 6), np.nan)]))
    np.testing.assert_allclose(model.get_covariance(), again.get_covariance(), atol=1e-3)
    assert certify(model, X, sample_weight=weight).ok
    assert not certify(model, X).ok


@pytest.mark.parametrize("share", [0.0, 0.2])
@pytest.mark.parametrize("k", [1, 2])
def test_tampered_models_are_not_certified(share, k):
    X = lose(draw(), share) if share else draw()
    model = ProbabilisticPCA(k, tol=1e-9).fit(X)
    assert certify(model, X).ok
    seen = set()
    for name, change, worse in tamper(model):
        if name in ("loglike_", "n_iter_"):  # report only
            continue
        seen.add(name)
        try:
            certificate = certify(worse, X)
        except ValueError:
            continue
        assert not certificate.ok, (name, change)
    assert seen == {"components_", "explained_variance_", "mean_", "n_features_in_", "noise_variance_"}


def test_a_fit_that_ends_early_is_not_certified():
    X = lose(draw(), 0.4)
    with pytest.warns(match=r"fixed point|iteration limit"):
        model = ProbabilisticPCA(2, max_iter=3).fit(X)
    assert not certify(model, X).ok


HARD = {
    "offset": draw() + 1e5,
    "units": draw() * 1e-6,
    "columns of all sizes": draw() * 10.0 ** np.linspace(-6.0, 6.0, 6),
    "constant feature": np.where(np.arange(6) == 2, 3.0, draw()),
    "equal features": draw()[:, [0, 1, 2, 3, 4, 0]],
    "few samples": draw(4),
    "single precision": draw().astype(np.float32),
}


@pytest.mark.parametrize("case", HARD)
def test_hard_data(case):
    X = HARD[case]
    for samples in (X, lose(X, 0.1), lose(X, 0.4)) if len(X) > 4 else (X, lose(X, 0.1)):
        model = ProbabilisticPCA(2).fit(samples)
        assert model.certificate_.ok, model.certificate_.explain()
        assert certify(model, samples).ok
        assert np.isfinite(model.score(samples))
        assert model.components_.dtype == X.dtype


def test_the_floor_is_said():
    """A plane without noise: the likelihood has no bound."""
    X = lose(draw(noise=0.0), 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ProbabilisticPCA(2).fit(X)
    assert "at its floor" in model.certificate_.note
    model.noise_variance_ *= 0.5
    assert not certify(model, X).ok


def test_samples_and_factors():
    X = draw(400)
    model = ProbabilisticPCA(2, random_state=0).fit(X)
    drawn = model.sample(20_000)
    np.testing.assert_allclose(np.cov(drawn.T), model.get_covariance(), atol=0.15)
    W = np.sqrt(model.explained_variance_ - model.noise_variance_)[:, None] * model.components_
    M = W @ W.T + model.noise_variance_ * np.eye(2)
    z = model.transform(X)
    np.testing.assert_allclose(z, np.linalg.solve(M, W @ (X - model.mean_).T).T, atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(z), model.mean_ + z @ W, atol=1e-10)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)


def test_errors():
    X = draw()
    with pytest.raises(ValueError, match="at most the number of features, 6"):
        ProbabilisticPCA(7).fit(X)
    with pytest.raises(ValueError, match="All samples are missing"):
        ProbabilisticPCA(2).fit(np.full((5, 3), np.nan))
    empty = X.copy()
    empty[:, 3] = np.nan
    with pytest.raises(ValueError, match=r"Features \[3\] have no value"):
        ProbabilisticPCA(2).fit(empty)
    with pytest.raises(ValueError, match="takes no missing values"):
        ProbabilisticPCA(2, solver="closed").fit(lose(X))
    gaps = scipy.sparse.csr_matrix(lose(X))
    with pytest.raises(ValueError, match="sparse arrays cannot have missing values"):
        ProbabilisticPCA(2).fit(gaps)
    model = ProbabilisticPCA(2).fit(scipy.sparse.csr_matrix(X))
    np.testing.assert_allclose(model.transform(gaps), model.transform(gaps.toarray()))
    empty[0, 0] = np.inf
    with pytest.raises(ValueError, match=r"infinity|NaN"):
        ProbabilisticPCA(2).fit(empty)


def test_the_step_of_the_judge_is_that_of_mixtures():
    """Moments and densities pattern by pattern, from the conditional covariances in place of their inverses."""
    X = lose(draw(80), 0.3)
    X[0] = np.nan
    model = ProbabilisticPCA(2).fit(X)
    rng = np.random.default_rng(0)
    mean, C = model.mean_ + 0.1 * rng.standard_normal(6), model.get_covariance() + np.diag(rng.uniform(size=6))
    mixture = Mixture("full", np.ones(1), mean[None], C[None])
    rows = as_rows_without_target(X, rng.uniform(size=80))
    ours = rows.fold(partial(judge.sum_completed, judge.Whole.of(mixture)))
    theirs = rows.fold(partial(component_sums, mixture, True))
    for name in ("weight", "value", "count", "mean", "scatter"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-10)
