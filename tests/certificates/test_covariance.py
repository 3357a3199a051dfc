"""Covariances: scikit-learn's numbers, the amounts of shrinkage by their definitions, singular and hard data."""

import numpy as np
import pytest
import sklearn.covariance
from tampering import tamper

import tenfold
from tenfold import (
    OAS,
    EmpiricalCovariance,
    LedoitWolf,
    ShrunkCovariance,
    certify,
    empirical_covariance,
    ledoit_wolf,
    ledoit_wolf_shrinkage,
    log_likelihood,
    oas,
    shrunk_covariance,
)

NAMES = ("EmpiricalCovariance", "ShrunkCovariance", "LedoitWolf", "OAS")
every_class = pytest.mark.parametrize("name", NAMES)


def draw(n=40, p=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + rng.standard_normal(p)


HARD = {
    "offset": draw() + 1e6,
    "units": draw() * 10.0 ** np.array([-6.0, -2.0, 0.0, 3.0, 6.0]),
    "small": draw() * 1e-6,
    "constant feature": np.where(np.arange(5) == 2, 3.0, draw()),
    "equal features": draw()[:, [0, 1, 2, 0, 1]],
    "few samples": draw(3),
    "two samples": draw(2),
    "single precision": draw().astype(np.float32),
    "one feature": draw(p=1),
    "equal samples": np.repeat(draw(1), 6, axis=0),
}


@pytest.mark.parametrize("centred", [False, True])
@every_class
def test_the_numbers_of_scikit_learn(name, centred):
    X = draw()
    ours = getattr(tenfold, name)(assume_centered=centred).fit(X)
    peer = getattr(sklearn.covariance, name)(assume_centered=centred).fit(X)
    for attribute in ("location_", "covariance_", "precision_", "shrinkage_"):
        if hasattr(peer, attribute):
            np.testing.assert_allclose(getattr(ours, attribute), getattr(peer, attribute), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.mahalanobis(X), peer.mahalanobis(X), rtol=1e-9)
    assert ours.score(X + 0.1) == pytest.approx(peer.score(X + 0.1))
    for norm in ("frobenius", "spectral"):
        for scaling in (True, False):
            assert ours.error_norm(np.eye(5), norm, scaling) == pytest.approx(peer.error_norm(np.eye(5), norm, scaling))
    assert ours.error_norm(np.eye(5), squared=False) == pytest.approx(peer.error_norm(np.eye(5), squared=False))
    assert certify(peer, X).ok
    assert certify(ours, X).ok


def test_functions():
    X = draw()
    S = sklearn.covariance.empirical_covariance(X)
    for centred in (False, True):
        given = {"assume_centered": centred}
        np.testing.assert_allclose(
            empirical_covariance(X, **given), sklearn.covariance.empirical_covariance(X, **given), rtol=1e-12
        )
        for ours, peer in ((ledoit_wolf, sklearn.covariance.ledoit_wolf), (oas, sklearn.covariance.oas)):
            (C, amount), (expected, expected_amount) = ours(X, **given), peer(X, **given)
            np.testing.assert_allclose(C, expected, rtol=1e-10)
            assert amount == pytest.approx(expected_amount)
    assert ledoit_wolf_shrinkage(X) == pytest.approx(sklearn.covariance.ledoit_wolf_shrinkage(X))
    stack = np.array([S, 2.0 * S])
    np.testing.assert_allclose(shrunk_covariance(stack, 0.3), sklearn.covariance.shrunk_covariance(stack, 0.3))
    P = np.linalg.inv(S)
    assert log_likelihood(S, P) == pytest.approx(sklearn.covariance.log_likelihood(S, P))
    assert log_likelihood(S, -P) == -np.inf


def test_ledoit_wolf_by_its_definition():
    """The mean squared distance of z z' from S, relative to that of S from the multiple of the identity."""
    X = draw(15, 4)
    Z = X - X.mean(axis=0)
    S = Z.T @ Z / len(Z)
    spread = np.sum((S - np.trace(S) / 4 * np.eye(4)) ** 2)
    error = np.mean([np.sum((np.outer(z, z) - S) ** 2) for z in Z]) / len(Z)
    assert LedoitWolf().fit(X).shrinkage_ == pytest.approx(min(error, spread) / spread)


@pytest.mark.parametrize("case", HARD)
@every_class
def test_hard_data(name, case):
    X = HARD[case]
    model = getattr(tenfold, name)().fit(X)
    assert model.certificate_.ok, model.certificate_.explain()
    again = certify(model, X)
    assert again.ok, again.explain()
    assert model.covariance_.dtype == X.dtype


@pytest.mark.parametrize("case", ["constant feature", "equal features", "few samples"])
def test_a_singular_covariance_is_said(case):
    model = EmpiricalCovariance().fit(HARD[case])
    assert "singular: rank" in model.certificate_.note
    np.testing.assert_allclose(model.precision_, np.linalg.pinv(model.covariance_, hermitian=True), rtol=1e-6)


@pytest.mark.parametrize("module", [tenfold, sklearn.covariance], ids=["tenfold", "scikit-learn"])
@every_class
def test_tampered_models_are_not_certified(name, module):
    X = draw()
    model = getattr(module, name)().fit(X)
    for attribute, change, worse in tamper(model):
        try:
            certificate = certify(worse, X)
        except ValueError:
            continue
        assert not certificate.ok, (attribute, change)


def test_one_entry_of_a_wide_covariance_is_seen():
    X = draw(300, 60)
    model = EmpiricalCovariance().fit(X)
    model.covariance_[3, 40] += 1e-4
    assert not certify(model, X).ok


def test_the_precision_of_another_matrix_is_seen():
    X = draw()
    model = EmpiricalCovariance().fit(X)
    model.precision_ = np.linalg.inv(model.covariance_ + 1e-5 * np.eye(5))
    assert "precision" in certify(model, X).explain()
    model.precision_ = None
    assert not certify(model, X).ok


@pytest.mark.parametrize("estimator", [LedoitWolf(), OAS(), ShrunkCovariance(shrinkage=0.3)], ids=str)
def test_discriminants_use_these_estimators(estimator):
    """With weights, too: they are repeated samples."""
    X = np.vstack([draw(), draw(seed=1) + 2.0])
    y, weight = np.repeat([0, 1], 40), np.tile([1, 2, 0, 1], 20)
    lda = tenfold.LinearDiscriminantAnalysis("lsqr", covariance_estimator=estimator)
    weighted = lda.fit(X, y, sample_weight=weight)
    assert weighted.certificate_.ok
    coef = weighted.coef_.copy()
    repeated = lda.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(coef, repeated.coef_, rtol=1e-9)
    peer = tenfold.LinearDiscriminantAnalysis("lsqr", covariance_estimator=sklearn.covariance.LedoitWolf())
    with pytest.raises(ValueError, match="unless its fit takes them"):
        peer.fit(X, y, sample_weight=weight)


def test_one_sample_warns():
    with pytest.warns(UserWarning, match="Only one sample"):
        EmpiricalCovariance().fit(np.ones((1, 2)))
    with pytest.warns(UserWarning, match="Only one sample"):
        empirical_covariance(np.ones(3))


def test_errors():
    X = draw()
    with pytest.raises(NotImplementedError, match="Only spectral"):
        OAS().fit(X).error_norm(np.eye(5), norm="nuclear")
    with pytest.raises(ValueError, match="shrinkage"):
        ShrunkCovariance(shrinkage=2.0).fit(X)
    with pytest.raises(ValueError, match="expecting 5 features"):
        OAS().fit(X).score(X[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        OAS().fit(np.where(np.arange(5) == 1, np.nan, X))
