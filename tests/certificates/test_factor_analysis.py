"""Factor analysis: the likelihood against scikit-learn's and differences, attacks on the certificate, floors."""

import numpy as np
import pytest
import sklearn.decomposition
from tampering import tamper

from tenfold import FactorAnalysis, certify
from tenfold.judge import factor_analysis as judge
from tenfold.plans.factor_analysis import rotate
from tenfold.solvers import factor_analysis as solver


def draw(n=150, p=6, k=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, p)) + rng.standard_normal((n, p)) * rng.uniform(
        0.5, 1.5, p
    )


@pytest.mark.parametrize("k", [0, 1, 2])
def test_the_likelihood_is_that_of_scikit_learn_or_better(k):
    X = draw()
    ours = FactorAnalysis(k).fit(X)
    peer = sklearn.decomposition.FactorAnalysis(k, tol=1e-9, max_iter=5000, svd_method="lapack").fit(X)
    assert ours.certificate_.ok
    assert ours.score(X) >= peer.score(X) - 1e-9
    assert ours.score(X) == pytest.approx(peer.score(X), abs=1e-4)
    np.testing.assert_allclose(ours.get_covariance(), peer.get_covariance(), atol=0.05)
    np.testing.assert_allclose(ours.get_precision() @ ours.get_covariance(), np.eye(6), atol=1e-9)
    assert ours.loglike_[-1] == pytest.approx(ours.score(X) * len(X))
    model = ours if k else peer
    np.testing.assert_allclose(model.transform(X), sklearn.decomposition.FactorAnalysis.transform(model, X), atol=1e-10)


def test_gradient_and_hessian_by_differences():
    S = np.cov(draw().T, bias=True)
    logs = np.log(np.diag(S)) - np.linspace(0.3, 1.5, 6)
    here = solver.profile(S, logs, 2)
    for j in range(6):
        moved = np.eye(6)[j] * 1e-5
        ahead, behind = solver.profile(S, logs + moved, 2), solver.profile(S, logs - moved, 2)
        assert (ahead.objective - behind.objective) / 2e-5 == pytest.approx(here.gradient[j], abs=1e-8)
        np.testing.assert_allclose((ahead.gradient - behind.gradient) / 2e-5, solver._hessian(here)[j], atol=1e-7)


def test_no_loadings_are_not_certified():
    """W = 0 with psi = variance has a partial gradient of zero, and a profile gradient that is not."""
    X = draw()
    model = FactorAnalysis(2).fit(X)
    model.components_ = np.zeros_like(model.components_)
    model.noise_variance_ = X.var(axis=0)
    certificate = certify(model, X)
    assert certificate.value > 0.1
    assert not certificate.ok


def test_a_fit_that_em_leaves_early_is_not_certified():
    X = draw()
    peer = sklearn.decomposition.FactorAnalysis(2).fit(X)
    assert not certify(peer, X).ok
    assert certify(sklearn.decomposition.FactorAnalysis(2, tol=1e-13, max_iter=9000, svd_method="lapack").fit(X), X).ok


@pytest.mark.parametrize("rotation", [None, "varimax", "quartimax"])
def test_tampered_models_are_not_certified(rotation):
    X = draw(p=8, k=3)
    model = FactorAnalysis(3, rotation=rotation).fit(X)
    assert certify(model, X).ok
    for name, change, worse in tamper(model):
        if name in ("loglike_", "n_iter_"):  # report only
            continue
        if name == "components_" and change in ("swap", "reverse first") and change == "reverse first":
            continue  # the order of the factors is free
        try:
            certificate = certify(worse, X)
        except ValueError:
            continue
        assert not certificate.ok, (name, change)


@pytest.mark.parametrize("kind", ["varimax", "quartimax"])
def test_rotations(kind):
    """The criterion is larger than at any of many rotations near by, and the likelihood is the same."""
    X = draw(p=8, k=3)
    plain, turned = FactorAnalysis(3).fit(X), FactorAnalysis(3, rotation=kind).fit(X)
    assert plain.score(X) == pytest.approx(turned.score(X))

    def criterion(W):
        squares = W**2
        return np.sum(squares**2) - (np.sum(squares.sum(axis=1) ** 2) / 8 if kind == "varimax" else 0.0)

    rng = np.random.default_rng(0)
    W = turned.components_
    np.testing.assert_allclose(rotate(W, kind), W, atol=1e-6)
    for _ in range(20):
        turn = np.linalg.qr(np.eye(3) + 0.05 * rng.standard_normal((3, 3)))[0]
        assert criterion(turn.T @ W) <= criterion(W) + 1e-9
    model = FactorAnalysis(3, rotation=kind).fit(X)
    model.components_ = plain.components_
    assert not certify(model, X).ok


HARD = {
    "offset": draw() + 1e6,
    "units": draw() * 10.0 ** np.linspace(-6.0, 6.0, 6),
    "constant feature": np.where(np.arange(6) == 2, 3.0, draw()),
    "equal features": draw()[:, [0, 1, 2, 3, 4, 0]],
    "few samples": draw(4),
    "single precision": draw().astype(np.float32),
}


@pytest.mark.parametrize("case", HARD)
def test_hard_data(case):
    X = HARD[case]
    model = FactorAnalysis(2).fit(X)
    assert model.certificate_.ok, model.certificate_.explain()
    assert certify(model, X).ok
    if case in ("constant feature", "equal features", "few samples"):
        assert "at their floor" in model.certificate_.note


def test_the_floor_of_a_noise_variance():
    least = judge.noise_floor(np.array([4.0, 0.0]))
    np.testing.assert_allclose(least, [4e-6, 1e-12])


def test_errors():
    X = draw()
    with pytest.raises(ValueError, match="noise_variance_init dimension"):
        FactorAnalysis(2, noise_variance_init=np.ones(3)).fit(X)
    with pytest.raises(ValueError, match="positive"):
        FactorAnalysis(2, noise_variance_init=-np.ones(6)).fit(X)
    assert FactorAnalysis(2, noise_variance_init=np.ones(6)).fit(X).certificate_.ok
    assert FactorAnalysis(9).fit(X).components_.shape == (6, 6)
