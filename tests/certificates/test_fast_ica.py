"""Independent components: sources are found, scikit-learn's agree, and what is not stationary is not certified."""

import numpy as np
import pytest
import sklearn.decomposition
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from tampering import tamper

import tenfold
from tenfold import FastICA, certify, fastica


def draw(n=600, p=4, seed=0):
    rng = np.random.default_rng(seed)
    sources = np.column_stack(
        [rng.laplace(size=n), rng.uniform(-1.0, 1.0, n), rng.choice([-1.0, 1.0], n), rng.standard_t(5, n)][:p]
    )
    return sources, sources @ rng.standard_normal((p, p)) + rng.standard_normal(p)


def agree(S, sources):
    """Whether each source is one of S, but for order, sign and scale."""
    match = np.abs(np.corrcoef(S.T, sources.T)[: S.shape[1], S.shape[1] :])
    return bool((match.max(axis=0) > 0.97).all())


@pytest.mark.parametrize("algorithm", ["parallel", "deflation"])
@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
def test_sources_are_found(algorithm, fun, whiten):
    sources, X = draw(3000, 3)
    settings = {"algorithm": algorithm, "fun": fun, "whiten": whiten, "random_state": 0, "max_iter": 1000}
    model = FastICA(**settings).fit(X)
    assert model.certificate_.ok
    assert certify(model, X).ok
    S = model.transform(X)
    assert agree(S, sources)
    np.testing.assert_allclose(np.var(S, axis=0), 1.0 if whiten == "unit-variance" else 1.0 / len(X))
    np.testing.assert_allclose(model.inverse_transform(S), X, atol=1e-9)
    np.testing.assert_allclose(model.components_ @ model.mixing_, np.eye(3), atol=1e-12)
    peer = sklearn.decomposition.FastICA(**settings, tol=1e-12).fit(X)
    assert certify(peer, X).ok
    np.testing.assert_allclose(model.whitening_, peer.whitening_, atol=1e-9)
    np.testing.assert_allclose(model.mean_, peer.mean_)


def test_white_samples():
    _, X = draw()
    Z = tenfold.PCA(whiten=True).fit_transform(X)
    model = FastICA(whiten=False, random_state=0).fit(Z)
    assert model.certificate_.ok
    assert certify(model, Z).ok
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-12)
    assert not hasattr(model, "mean_")
    with pytest.warns(UserWarning, match="Ignoring n_components"):
        FastICA(2, whiten=False, random_state=0).fit(Z)


def test_few_components_span_the_leading_principal_subspace():
    _, X = draw()
    model = FastICA(2, random_state=0, max_iter=1000).fit(X)
    assert model.certificate_.ok
    axes = tenfold.PCA(2).fit(X).components_
    outside = model.components_ - model.components_ @ axes.T @ axes
    np.testing.assert_allclose(outside, 0.0, atol=1e-9)


def test_a_function_of_the_users():
    _, X = draw()

    def cubes(s):
        return s**3, (3.0 * s**2).mean(axis=-1)

    settings = {"random_state": 0, "max_iter": 1000, "tol": 1e-8}
    given, named = FastICA(fun=cubes, **settings).fit(X), FastICA(fun="cube", **settings).fit(X)
    np.testing.assert_allclose(given.components_, named.components_, atol=1e-6)
    assert certify(given, X).ok
    with pytest.raises(ValueError, match="leave the weights out"):
        FastICA(fun=cubes).fit(X, sample_weight=np.ones(len(X)))


def test_weights_are_repeated_samples():
    _, X = draw()
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    settings = {"w_init": np.eye(4), "tol": 1e-10, "max_iter": 2000}
    weighted = FastICA(**settings).fit(X, sample_weight=weight)
    repeated = FastICA(**settings).fit(np.repeat(X, weight, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)
    assert certify(weighted, X, sample_weight=weight).ok


def test_sparse_samples():
    _, X = draw()
    X[np.abs(X) < 0.5] = 0.0
    settings = {"w_init": np.eye(4), "tol": 1e-10, "max_iter": 2000}
    dense, few = FastICA(**settings).fit(X), FastICA(**settings).fit(sparse.csr_array(X))
    np.testing.assert_allclose(dense.components_, few.components_, atol=1e-6)


@pytest.mark.parametrize("module", [tenfold, sklearn.decomposition], ids=["tenfold", "scikit-learn"])
@pytest.mark.parametrize("settings", [{}, {"algorithm": "deflation"}, {"whiten": False}])
def test_tampered_models_are_not_certified(module, settings):
    _, X = draw()
    X = tenfold.PCA(whiten=True).fit_transform(X) if settings.get("whiten") is False else X
    model = module.FastICA(random_state=0, max_iter=5000, tol=1e-10, **settings).fit(X)
    assert certify(model, X).ok
    for name, change, worse in tamper(model):
        if name == "n_iter_":  # report only
            continue
        try:
            certificate = certify(worse, X)
        except ValueError:
            continue
        assert not certificate.ok, (name, change)


def test_another_rotation_is_not_certified():
    _, X = draw()
    model = FastICA(random_state=0).fit(X)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    model.components_ = turn @ model.components_
    model.mixing_ = model.mixing_ @ turn.T
    certificate = certify(model, X)
    assert certificate.value > 0.01
    assert not certificate.ok


def test_too_few_steps_warn():
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        FastICA(random_state=0, max_iter=1).fit(draw()[1])


HARD = {
    "offset": draw()[1] + 1e5,
    "units": draw()[1] * 10.0 ** np.array([-3.0, 0.0, 1.0, 3.0]),
    "small": 1e-6 * draw()[1],
    "constant feature": np.where(np.arange(4) == 1, 2.0, draw()[1]),
    "equal features": draw()[1][:, [0, 1, 2, 0]],
    "single precision": draw()[1].astype(np.float32),
}


@pytest.mark.parametrize("case", HARD)
def test_hard_data(case):
    X = HARD[case]
    model = FastICA(random_state=0, max_iter=2000).fit(X)
    assert model.certificate_.ok, model.certificate_.explain()
    assert certify(model, X).ok
    assert model.components_.dtype == X.dtype
    assert len(model.components_) == (3 if case in ("constant feature", "equal features") else 4)


def test_the_function():
    sources, X = draw(3000, 3)
    K, W, S, mean, n_iter = fastica(X, random_state=0, return_X_mean=True, return_n_iter=True)
    np.testing.assert_allclose((X - mean) @ (W @ K).T, S, atol=1e-9)
    assert agree(S, sources)
    assert n_iter >= 1
    assert fastica(X, random_state=0, compute_sources=False)[2] is None


def test_errors():
    _, X = draw()
    with pytest.raises(ValueError, match=r"alpha must be in \[1,2\]"):
        FastICA(fun_args={"alpha": 3.0}).fit(X)
    with pytest.raises(ValueError, match="w_init has invalid shape"):
        FastICA(w_init=np.eye(2)).fit(X)
    with pytest.raises(ValueError, match="whiten"):
        FastICA(whiten=True).fit(X)
    with pytest.raises(ValueError, match="minimum of 2"):
        FastICA().fit(X[:1])
    with pytest.warns(UserWarning, match="too large"):
        FastICA(9, random_state=0, max_iter=1000).fit(X)
