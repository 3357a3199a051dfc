"""Components by every route, and a judge that refuses a basis that is not the leading one."""

import numpy as np
import pytest
import scipy.linalg as la
import sklearn.decomposition
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import PCA, TruncatedSVD, principal_angles
from tenfold.estimators.validation import as_rows_without_target
from tenfold.judge.pca import PROBABLE, spectral
from tenfold.plans import pca as plan
from tenfold.stats.scatter import scatter_about


def rows_of(n=300, p=40, rank=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ (rng.standard_normal((rank, p)) * 0.7 ** np.arange(rank)[:, None])
    return X + rng.standard_normal(p)


def decompose(X, about_mean=True):
    A = X - X.mean(axis=0) if about_mean else X
    _, sizes, vectors = la.svd(A, full_matrices=False)
    return sizes**2, vectors


METHODS = {
    "columns": lambda rows, k, mean: plan.of_moments(plan.fold_moments(rows), k, mean),
    "triangle": lambda rows, k, mean: plan._by_qr(rows, mean),
    "rows": lambda rows, k, mean: plan._by_products_of_rows(rows, mean),
    "Lanczos": lambda rows, k, mean: plan._by_krylov(rows, k, mean, 1e-11, 300, None),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("about_mean", [True, False], ids=["centred", "as they are"])
@pytest.mark.parametrize("shape", [(300, 40), (40, 300)], ids=["tall", "wide"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_every_method_returns_the_components(method, about_mean, shape, kind):
    X = rows_of(*shape)
    result = METHODS[method](as_rows_without_target(kind(X), None), 5, about_mean)
    values, vectors = decompose(X, about_mean)
    np.testing.assert_allclose(result.values[:5], values[:5], rtol=1e-9)
    assert np.max(principal_angles(result.vectors[:5], vectors[:5])) < 1e-7
    np.testing.assert_allclose(result.total, values.sum(), rtol=1e-12)


@pytest.mark.parametrize("shown", ["nothing", "what comes next", "the one left out", "noise"])
@pytest.mark.parametrize("kind", ["scatter", "dense", "sparse", "wide sparse"])
@pytest.mark.parametrize("about_mean", [True, False], ids=["centred", "as they are"])
def test_a_basis_that_is_not_the_leading_one_is_not_certified(about_mean, kind, shown, monkeypatch):
    """Its vectors are eigenvectors to rounding: only what was left out tells, whatever the judge is shown besides."""
    X = rows_of(*((60, 300, 60) if kind == "wide sparse" else (300, 40)))
    X += np.random.default_rng(1).standard_normal(X.shape)
    if kind != "scatter":
        monkeypatch.setattr("tenfold.judge.pca.FORMED_FEATURES", 0)
    rows = as_rows_without_target(sparse.csr_array(X) if "sparse" in kind else X, None)
    values, vectors = decompose(X, about_mean)
    mean = X.mean(axis=0) if about_mean else np.zeros(X.shape[1])
    A = X - mean
    others = {
        "nothing": None,
        "what comes next": vectors[3:9],
        "the one left out": vectors[1:2],
        "noise": np.random.default_rng(0).standard_normal((6, X.shape[1])),
    }[shown]
    if kind == "wide sparse" and others is not None:
        others = others @ A.T

    def judge_vectors(which):
        return spectral(
            rows, mean=mean, components=vectors[which], values=values[which], about_mean=about_mean, beside=others
        )

    right = judge_vectors([0, 1, 2])
    assert right.ok
    assert right.note == ("" if kind == "scatter" else PROBABLE)
    wrong = judge_vectors([0, 2, 3])
    assert not wrong.ok
    assert "larger variance" in wrong.note
    assert "probability" not in wrong.note
    assert judge_vectors(range(min(X.shape) - about_mean * (len(X) < X.shape[1]))).ok


def test_a_chance_is_stated_where_there_is_one():
    """Every route of an estimator: what is said with certainty, and what with a probability."""
    X = rows_of(1500, 1100, 60) + 0.3 * np.random.default_rng(1).standard_normal((1500, 1100))
    for model in (PCA(12, random_state=0), TruncatedSVD(12, algorithm="arpack", random_state=0)):
        for kind in (np.asarray, sparse.csr_array, lambda X: sparse.csr_array(X[:1000])):
            certificate = model.fit(kind(X)).certificate_
            assert certificate.ok
            assert certificate.note == PROBABLE
            assert "probability 1 - 1e-09" in certificate.explain()
            assert tenfold.certify(model, kind(X)).note == PROBABLE


def test_a_scatter_of_other_rows_proves_nothing():
    X, other = rows_of(), rows_of(seed=1)
    values, vectors = decompose(X)
    some = [1, 2, 3]
    S = (vectors[some].T * values[some]) @ vectors[some]  # in which they are the leading ones
    result = spectral(
        as_rows_without_target(X, None), mean=X.mean(axis=0), components=vectors[some], values=values[some], scatter=S
    )
    assert not result.ok
    assert not tenfold.certify(PCA(3).fit(X), other).ok


def test_the_trace_proves_what_nothing_else_can():
    """Where what is left over sums to less than the smallest kept value, nothing else need be known."""
    X = rows_of(50, 2000, rank=3)
    model = PCA(2, random_state=0).fit(X)
    assert model.certificate_.ok
    assert "not proved" not in model.certificate_.note


def test_small_values_keep_their_digits_with_full():
    rng = np.random.default_rng(0)
    Q = la.qr(rng.standard_normal((200, 3)), mode="economic")[0]
    Q = la.qr(Q - Q.mean(axis=0), mode="economic")[0]
    X = Q * [1.0, 1e-4, 1e-9] @ la.qr(rng.standard_normal((3, 3)))[0]
    np.testing.assert_allclose(PCA(svd_solver="full").fit(X).singular_values_, [1.0, 1e-4, 1e-9], rtol=1e-6)


def test_components_to_keep():
    X = rows_of()
    everything, some = PCA().fit(X), PCA(keep=[1, 3]).fit(X)
    np.testing.assert_allclose(some.components_, everything.components_[[1, 3]], atol=1e-9)
    np.testing.assert_allclose(some.transform(X), everything.transform(X)[:, [1, 3]], atol=1e-9)
    assert some.certificate_.ok
    with pytest.raises(ValueError, match="keep must hold numbers of components"):
        PCA(keep=[40]).fit(X)
    with pytest.raises(ValueError, match="not both"):
        PCA(2, keep=[1]).fit(X)


@pytest.mark.parametrize("whiten", [False, True])
def test_there_and_back(whiten):
    X = rows_of(p=6, rank=6)
    model = PCA(whiten=whiten).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)
    if whiten:
        np.testing.assert_allclose(model.transform(X).std(axis=0, ddof=1), 1.0)


@pytest.mark.parametrize("k", [0.8, "mle", 3, None])
def test_the_model_of_scikit_learn(k):
    from sklearn.decomposition import PCA as Theirs

    X = rows_of(p=7, rank=7)
    ours, his = PCA(k).fit(X), Theirs(k).fit(X)
    assert ours.n_components_ == his.n_components_
    np.testing.assert_allclose(ours.noise_variance_, his.noise_variance_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.get_covariance(), his.get_covariance(), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.get_precision(), his.get_precision(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.score_samples(X), his.score_samples(X), rtol=1e-8)
    assert ours.score(X) == pytest.approx(his.score(X))


def test_large_sparse_counts_by_lanczos():
    X = sparse.random_array((400, 3000), density=0.01, rng=np.random.default_rng(0), format="csr")
    model = TruncatedSVD(4, algorithm="arpack", random_state=0).fit(X)
    sizes = la.svdvals(X.toarray())[:4]
    np.testing.assert_allclose(model.singular_values_, sizes, rtol=1e-9)
    assert model.certificate_.ok


@pytest.mark.parametrize("shape", [(400, 3000), (3000, 1100), (1200, 1200)], ids=["wide", "tall", "dense"])
def test_randomized_takes_the_requested_steps(shape):
    """They capture more of the samples than as many power iterations, and the certificate says that it is not all."""
    X = sparse.random_array(shape, density=0.01, rng=np.random.default_rng(0), format="csr")
    X = X.toarray() if shape[0] == shape[1] else X
    twin = sklearn.decomposition.TruncatedSVD(4, n_iter=3, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="requested steps.*algorithm='arpack'"):
        model = TruncatedSVD(4, n_iter=3, random_state=0).fit(X)
    assert not model.certificate_.ok
    assert not tenfold.certify(twin, X).ok
    captured, theirs = (float(np.sum((X @ V.T) ** 2)) for V in (model.components_, twin.components_))
    best = float(np.sum(la.svdvals(X.toarray() if sparse.issparse(X) else X)[:4] ** 2))
    assert theirs < captured < best
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-9)
    with pytest.warns(ConvergenceWarning):
        fewer = TruncatedSVD(4, n_iter=1, random_state=0).fit(X)
    assert fewer.certificate_.value > model.certificate_.value


def test_randomized_is_certified_where_the_steps_suffice():
    X = sparse.csr_array(rows_of(1500, 1100, 12))
    model = TruncatedSVD(3, random_state=0).fit(X)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.singular_values_, la.svdvals(X.toarray())[:3], rtol=1e-9)


def test_angles():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 8))
    np.testing.assert_allclose(principal_angles(A, rng.standard_normal((3, 3)) @ A), 0.0, atol=1e-14)
    B = rng.standard_normal((4, 8))
    np.testing.assert_allclose(principal_angles(A, B), np.sort(la.subspace_angles(A.T, B.T)), rtol=1e-12)
    tiny = 1e-10
    assert principal_angles([[1.0, 0.0]], [[np.cos(tiny), np.sin(tiny)]])[0] == pytest.approx(tiny, rel=1e-6)
    with pytest.raises(ValueError, match="as many columns"):
        principal_angles(A, np.ones((1, 3)))


def test_more_components_than_there_are():
    with pytest.raises(ValueError, match="n_components=9 must be between 0 and min"):
        PCA(9).fit(rows_of(p=6, rank=6))
    with pytest.raises(ValueError, match="only supported if n_samples >= n_features"):
        PCA("mle").fit(rows_of(5, 9))


def test_rows_that_are_all_equal():
    model = PCA(1).fit(np.ones((5, 3)))
    assert model.explained_variance_[0] == 0.0
    np.testing.assert_allclose(np.linalg.norm(model.components_), 1.0)


def test_a_value_that_more_directions_have_than_a_block_has_vectors():
    """Thirty equal values, and blocks of 24: what a narrow block misses is found by a wide one."""
    rng = np.random.default_rng(0)
    U, V = (la.qr(rng.standard_normal((size, 60)), mode="economic")[0] for size in (300, 1200))
    X = (U * np.append(np.full(30, 5.0), np.linspace(2.0, 1.0, 30))) @ V.T
    assert plan._by_krylov(as_rows_without_target(X, None), 30, False, 1e-9, 300, None).is_approximate
    model = TruncatedSVD(30, algorithm="arpack", random_state=0).fit(X)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.singular_values_, 5.0, rtol=1e-9)


def test_single_precision_is_refined():
    """Products in float32 leave residuals of 1e-8; one product in float64 makes them smaller than it could tell."""
    X = 1e3 * rows_of(1500, 1200, 60) + np.random.default_rng(1).standard_normal((1500, 1200))
    hasty = plan._by_krylov(as_rows_without_target(X, None), 12, True, 1e-9, 300, np.random.RandomState(0))
    slow = plan._by_krylov(as_rows_without_target(X, None), 12, True, 1e-9, 300, np.random.RandomState(0), widest=1200)
    assert hasty.is_approximate
    assert not slow.is_approximate
    S = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    for result in (hasty, slow):
        left = result.vectors @ S - result.values[:, None] * result.vectors
        assert np.max(np.linalg.norm(left, axis=1)) < 1e-9 * result.values[0]
    np.testing.assert_allclose(hasty.values, slow.values, rtol=0, atol=1e-12 * slow.values[0])


def test_a_space_that_does_not_grow_is_filled_up():
    """Every vector is an eigenvector: the products of a block add nothing to it."""
    X = np.eye(1100)[:400]
    model = TruncatedSVD(40, algorithm="arpack", random_state=0).fit(X)
    np.testing.assert_allclose(model.singular_values_, 1.0, rtol=1e-9)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(40), atol=1e-12)
    assert model.certificate_.ok


@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
@pytest.mark.parametrize("kind", ["dense", "sparse", "another namespace"])
def test_products_about_any_place_become_those_about_the_mean(kind, weighted):
    X = rows_of(60, 7, 7)
    w = np.random.default_rng(2).uniform(0.0, 2.0, 60) if weighted else None
    v = np.random.default_rng(3).standard_normal((3, 7))
    if kind == "another namespace":
        strict = pytest.importorskip("array_api_strict")
        rows = as_rows_without_target(strict.asarray(X), None if w is None else strict.asarray(w))
    else:
        rows = as_rows_without_target(sparse.csr_array(X) if kind == "sparse" else X, w)
    result = rows.fold(scatter_about(X[0], v))
    step, products = result.about_mean(v)
    weight = np.ones(60) if w is None else w
    mean = np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(result.weight, weight.sum())
    np.testing.assert_allclose(X[0] + step, mean, rtol=1e-12)
    np.testing.assert_allclose(products, (v @ (X - mean).T * weight) @ (X - mean), rtol=1e-9, atol=1e-9)


def test_a_mean_that_is_wrong_is_seen_in_the_same_pass():
    X = rows_of()
    model = PCA(3).fit(X)
    S = (X - X.mean(axis=0)).T @ (X - X.mean(axis=0))
    calls = {"components": model.components_, "values": model.singular_values_**2, "scatter": S}
    rows = as_rows_without_target(X, None)
    assert spectral(rows, mean=model.mean_, **calls).ok
    result = spectral(rows, mean=model.mean_ + 1e-5, **calls)
    assert not result.ok
    assert result.parts[0] < 1e-9  # the components are right all the same


def test_the_density_of_dependent_columns():
    """Without noise, variances are not below the rounding of the largest: densities are numbers."""
    rows = np.random.default_rng(0).standard_normal((40, 3))
    rows[:, 2] = rows[:, 0] - 2.0 * rows[:, 1]
    model = tenfold.PCA().fit(rows)
    assert np.isfinite(model.score_samples(rows)).all()
    away = rows + np.array([0.0, 0.0, 1.0])
    assert model.score(away) < model.score(rows) - 1e10
    assert np.isfinite(model.get_precision()).all()
