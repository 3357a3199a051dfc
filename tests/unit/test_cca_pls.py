"""Two blocks of columns: every route, wrong pairs that are refused, ridges, views, bad input."""

import copy
import warnings

import numpy as np
import pytest
import scipy.linalg as la
from scipy import sparse
from sklearn import cross_decomposition

import tenfold
from estimators import pairs, weights
from tenfold import CCA, PLSSVD, MultiviewCCA, PLSCanonical, PLSRegression, principal_angles
from tenfold.certification.cca_pls import latent
from tenfold.estimators.validation import as_rows
from tenfold.judge.cca_pls import canonical
from tenfold.plans import cca_pls as plan

NAMES = ("x_weights_", "y_weights_", "x_loadings_", "y_loadings_", "x_rotations_", "y_rotations_", "coef_")


def check_same(ours, his, X, y, rtol=1e-8):
    for name in NAMES:
        b = getattr(his, name)
        np.testing.assert_allclose(getattr(ours, name), b, atol=rtol * np.abs(b).max(), rtol=rtol, err_msg=name)
    for a, b in zip(ours.transform(X, y), his.transform(X, y), strict=True):
        np.testing.assert_allclose(a, b, atol=rtol * np.abs(b).max())
    np.testing.assert_allclose(ours.predict(X), his.predict(X), rtol=rtol)
    scores = ours.transform(X, y)
    for a, b in zip(ours.inverse_transform(*scores), his.inverse_transform(*scores), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("scale", [True, False], ids=["scaled", "as they are"])
@pytest.mark.parametrize("name", ["CCA", "PLSRegression", "PLSCanonical"])
def test_all_components_of_scikit_learn(name, scale):
    X, y, _ = pairs(120, 6, seed=3)
    k = 5 if name == "PLSRegression" else 3
    ours = getattr(tenfold, name)(k, scale=scale).fit(X, y)
    his = getattr(cross_decomposition, name)(k, scale=scale, tol=1e-26, max_iter=100_000).fit(X, y)
    check_same(ours, his, X, y)
    assert ours.certificate_.ok
    if name == "PLSRegression":
        np.testing.assert_allclose(ours.x_scores_, his.x_scores_, atol=1e-10)
        np.testing.assert_allclose(ours.y_scores_, his.y_scores_, atol=1e-9)
    assert not tenfold.certify(getattr(cross_decomposition, name)(k, scale=scale).fit(X, y), X, y).ok


def test_singular_vectors_of_scikit_learn():
    X, y, _ = pairs(120, 6, seed=3)
    ours, his = PLSSVD(3).fit(X, y), cross_decomposition.PLSSVD(3).fit(X, y)
    np.testing.assert_allclose(ours.x_weights_, his.x_weights_, atol=1e-12)
    for a, b in zip(ours.fit_transform(X, y), his.transform(X, y), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_one_target_that_is_flat():
    X, y, _ = pairs()
    ours, his = (module.PLSRegression(3).fit(X, y[:, 0]) for module in (tenfold, cross_decomposition))
    assert ours.predict(X).shape == (90,)
    np.testing.assert_allclose(ours.predict(X), his.predict(X), rtol=1e-10)
    np.testing.assert_allclose(ours.transform(X, y[:, 0])[1], his.transform(X, y[:, 0])[1], rtol=1e-7)


@pytest.mark.parametrize("away", [1e-5, 1e-8, 1e-10, 0.0], ids=str)
def test_collinear_columns(away):
    """Where moments lose the digits a triangular factor keeps them, and what is rounding is left out."""
    X, y, _ = pairs(200, 5)
    X = np.hstack([X, X[:, :1] + X[:, 1:2] + away * np.random.default_rng(1).standard_normal((200, 1))])
    ours = CCA(3).fit(X, y)
    assert ours.certificate_.ok
    assert ("collinear" in ours.certificate_.explain()) == (away < 1e-5)
    if away in (1e-5, 0.0):  # between them scikit-learn's deflation ends in rounding
        his = cross_decomposition.CCA(3, tol=1e-26, max_iter=100_000).fit(X, y)
        for a, b in zip(ours.transform(X, y), his.transform(X, y), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5 * np.abs(b).max())


def test_columns_that_are_constant():
    X, y, _ = pairs()
    X[:, 1], y = 3.0, np.hstack([y, np.full((90, 1), -2.0)])
    less = CCA(2).fit(X[:, [0, 2, 3]], y[:, :3])
    model = CCA(2).fit(X, y)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.x_rotations_[[0, 2, 3]], less.x_rotations_, rtol=1e-10)
    assert not model.x_rotations_[1].any()
    np.testing.assert_allclose(model.predict(X)[:, 3], -2.0)


def remade(model, first):
    """A fitted model of partial least squares from which all but the pair `first` of singular vectors was left out."""
    X, y, _ = pairs(seed=2)
    A, B = ((part - part.mean(axis=0)) / part.std(axis=0, ddof=1) for part in (X, y))
    u, _, v = la.svd(A.T @ B)
    w, v = u[:, first : first + 1], v[first : first + 1].T
    scores = A @ w
    own = scores if type(model) is PLSRegression else B @ v
    P, Q = (part.T @ score / (score.T @ score) for part, score in ((A, scores), (B, own)))
    v = Q if type(model) is PLSRegression else v
    model.x_weights_, model.y_weights_, model.x_loadings_, model.y_loadings_ = w, v, P, Q
    model.x_rotations_, model.y_rotations_ = w / (P.T @ w), v / (Q.T @ v)
    model.coef_ = Q @ model.x_rotations_.T * model._y_std[:, None] / model._x_std
    if hasattr(model, "x_scores_"):
        model.x_scores_, model.y_scores_ = A @ model.x_rotations_, B @ model.y_rotations_
    return model


@pytest.mark.parametrize("name", ["PLSCanonical", "PLSRegression"])
def test_a_pair_that_is_not_the_leading_one_is_not_certified(name):
    """The second pair of singular vectors solves all equations: only what was left out tells."""
    X, y, _ = pairs(seed=2)
    model = getattr(tenfold, name)(1).fit(X, y)
    assert tenfold.certify(remade(model, 0), X, y).ok
    result = tenfold.certify(remade(model, 1), X, y)
    assert not result.ok
    assert max(result.parts) < 1e-8
    assert "left out" in result.explain()


@pytest.mark.parametrize("name", ["CCA", "PLSSVD"])
def test_pairs_that_are_not_the_leading_ones_are_not_certified(name):
    X, y, _ = pairs(seed=2)
    worse = getattr(tenfold, name)(3).fit(X, y)
    assert worse.certificate_.ok
    for part in [name for name in vars(worse) if name[:2] in ("x_", "y_")]:
        setattr(worse, part, getattr(worse, part)[:, 1:])
    worse.set_params(n_components=2)
    if name == "CCA":
        worse.correlations_ = worse.correlations_[1:]
        for side in "xy":  # from the rotations that are left the others follow
            Q, T = la.qr(getattr(worse, f"{side}_rotations_"), mode="economic")
            size = np.diag(T)
            setattr(worse, f"{side}_weights_", Q * np.sign(size))
            setattr(worse, f"{side}_rotations_", getattr(worse, f"{side}_rotations_") / np.abs(size))
            setattr(worse, f"{side}_loadings_", getattr(worse, f"{side}_loadings_") * np.abs(size))
        worse.coef_ = worse.y_loadings_ @ worse.x_rotations_.T * worse._y_std[:, None] / worse._x_std
    result = tenfold.certify(worse, X, y)
    assert not result.ok
    assert max(result.parts) < 1e-8
    assert "left out" in result.explain()


def test_a_scatter_of_other_rows_is_not_believed():
    X, y, _ = pairs()
    other = plan.fold_blocks(as_rows(*pairs(seed=4)[:2], None), True)
    model = CCA(2).fit(X, y)
    assert canonical(as_rows(X, y, None), latent(model), scale=True, scatter=other.scatter).ok


@pytest.mark.parametrize("scale", [True, False], ids=["scaled", "as they are"])
def test_a_ridge_is_added_to_the_variances(scale):
    X, y, _ = pairs()
    w = weights(len(X))
    model = CCA(2, ridge=(0.3, 0.7), scale=scale).fit(X, y, sample_weight=w)
    Z = np.repeat(np.hstack([X, y]), w.astype(int), axis=0)
    S = np.corrcoef(Z.T) if scale else np.cov(Z.T)
    O, D = S.copy(), np.zeros_like(S)  # noqa: E741
    for cut, more in ((np.s_[:4], 0.3), (np.s_[4:], 0.7)):
        O[cut, cut], D[cut, cut] = 0.0, S[cut, cut] + more * np.eye(len(S[cut, cut]))
    values, vectors = la.eigh(O, D)
    np.testing.assert_allclose(model.correlations_, values[::-1][:2], rtol=1e-10)
    assert max(principal_angles(model.x_rotations_[:, :1].T, vectors[:4, -1:].T)) < 1e-7
    assert model.certificate_.ok


def test_more_columns_than_rows():
    """Are correlated perfectly, whatever they are; with a ridge they are not."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 30)), rng.standard_normal((20, 25))
    np.testing.assert_allclose(CCA(2).fit(X, y).correlations_, 1.0, atol=1e-10)
    model = CCA(2, ridge=1.0).fit(X, y)
    assert np.all(model.correlations_ < 0.95)
    assert model.certificate_.ok
    assert PLSRegression(4).fit(X, y).certificate_.ok


def test_targets_that_are_explained():
    """Components end where nothing of y is left, as in scikit-learn."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    X = la.qr(X - X.mean(axis=0), mode="economic")[0]
    y = X[:, :1] * 2.0
    with pytest.warns(UserWarning, match="y residual is constant at iteration"):
        model = PLSRegression(3).fit(X, y)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(PLSCanonical(1).fit(X, np.zeros((50, 1))).n_iter_) == 0


def test_views_are_a_generalised_eigenproblem():
    X = pairs(150, 7, seed=1).X
    widths, ridge = [2, 3, 2], [0.0, 0.1, 0.2]
    model = MultiviewCCA(2, views=widths, ridge=ridge).fit(X)
    S, D = np.corrcoef(X.T), np.zeros((7, 7))
    O = S.copy()  # noqa: E741
    start = 0
    for width, more in zip(widths, ridge, strict=True):
        cut = slice(start, start + width)
        O[cut, cut], D[cut, cut] = 0.0, S[cut, cut] + more * np.eye(width)
        start += width
    values, vectors = la.eigh(O, D)
    np.testing.assert_allclose(model.values_, values[::-1][:2], rtol=1e-10)
    ours = model.weights_ * np.sign(np.sum(model.weights_ * vectors[:, ::-1][:, :2], axis=0))
    np.testing.assert_allclose(ours, vectors[:, ::-1][:, :2] * np.sqrt(3.0), atol=1e-9)
    Z = model.transform(X)
    assert Z.shape == (150, 6)
    np.testing.assert_allclose(model.correlations_[1, 0, 2], np.corrcoef(Z[:, 1], Z[:, 5])[0, 1], rtol=1e-9)


def test_two_views_are_canonical_correlations():
    X, y, _ = pairs()
    model, two = MultiviewCCA(2, views=[4, 3]).fit(np.hstack([X, y])), CCA(2).fit(X, y)
    np.testing.assert_allclose(model.values_, two.correlations_, rtol=1e-10)
    scores = model.transform(np.hstack([X, y]))
    np.testing.assert_allclose(scores.std(axis=0, ddof=1), 1.0, rtol=1e-10)
    correlation = np.corrcoef(scores[:, 0], two.transform(X)[:, 0])[0, 1]
    np.testing.assert_allclose(abs(correlation), 1.0, rtol=1e-12)


def test_views_that_are_not_the_leading_ones_are_not_certified():
    X = pairs(150, 7, seed=1).X
    model = MultiviewCCA(2, views=[2, 3, 2]).fit(X)
    worse = copy.deepcopy(model)
    worse.weights_, worse.values_ = model.weights_[:, 1:], model.values_[1:]
    worse.correlations_ = model.correlations_[1:]
    worse.set_params(n_components=1)
    result = tenfold.certify(worse, X)
    assert not result.ok
    assert max(result.parts) < 1e-8
    assert "left out" in result.explain()


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (CCA(4), "upper bound is 3"),
        (PLSRegression(5), "upper bound is 4"),
        (CCA(0), "n_components"),
        (CCA(1, ridge=-1.0), "ridge"),
        (CCA(1, ridge=[1.0, 2.0, 3.0]), "one for each of 2"),
        (CCA(1, scale=3), "scale"),
        (MultiviewCCA(1, views=[1, 2]), "4 together"),
        (MultiviewCCA(1, views=5), "too few for 5 views"),
        (MultiviewCCA(3), "smallest view, 2"),
        (PLSCanonical(1, algorithm="power"), "algorithm"),
    ],
    ids=str,
)
def test_bad_parameters(model, words):
    X, y, _ = pairs()
    with pytest.raises(ValueError, match=words):
        model.fit(X, y)


def test_bad_targets():
    X, y, _ = pairs()
    model = CCA(1).fit(X, y)
    with pytest.raises(ValueError, match="y has 2 columns, and the model was fitted with 3"):
        model.transform(X, y[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.where(y > 1.0, np.nan, y))
    with pytest.raises(ValueError, match="columns, and the model"):
        tenfold.certify(model, X, y[:, :2])
    with pytest.raises(ValueError, match="minimum of 2"):
        model.fit(X[:1], y[:1])


def test_sparse_rows_and_both_scores():
    X, y, _ = pairs()
    X[X < 0.5] = 0.0
    here, there = CCA(2).fit(X, y), CCA(2).fit(sparse.csr_array(X), y)
    for a, b in zip(here.transform(X, y), there.transform(sparse.csr_array(X), y), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


def test_scores_of_targets_on_device_or_dask():
    da = pytest.importorskip("dask.array")
    strict = pytest.importorskip("array_api_strict")
    X, y, _ = pairs()
    model = CCA(2).fit(X, y)
    expected = model.transform(X, y)
    lazy = model.transform(da.from_array(X, chunks=(30, 4)), da.from_array(y, chunks=(30, 3)))
    there = model.transform(strict.asarray(X), strict.asarray(y))
    for i in range(2):
        np.testing.assert_allclose(lazy[i].compute(), expected[i], rtol=1e-12)
        np.testing.assert_allclose(np.asarray(there[i]), expected[i], rtol=1e-12)
    back = model.inverse_transform(*there)
    np.testing.assert_allclose(np.asarray(back[1]), model.inverse_transform(*expected)[1], rtol=1e-12)
