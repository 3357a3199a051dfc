"""Non-negative factors: starts, losses, storage, bad input, and what the judge refuses."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn.utils import get_tags

import tenfold
from estimators import parts
from tenfold import _core
from tenfold.judge.factorization import eckart_young, stationary_factors
from tenfold.objectives.factorization import Divergence, Factors, penalty_value
from tenfold.plans.factorization import fit, revive_component
from tenfold.plans.factorization_start import double_svd, draw
from tenfold.problems import Factorization


def low_rank(n=60, p=20, k=4, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.uniform(size=(k, p)) * (rng.uniform(size=(k, p)) < 0.5)
    return rng.gamma(1.0, 1.0, (n, k)) @ H + noise * rng.uniform(size=(n, p))


@pytest.mark.parametrize("dependent", [False, True])
def test_nnls_of_rows_equals_lawson_and_hanson(dependent):
    rng = np.random.default_rng(0)
    H, X = rng.uniform(size=(7, 30)), rng.uniform(size=(40, 30))
    if dependent:
        H[6] = H[0] + H[1]
    W = _core.solve_nnls(H @ H.T, X @ H.T, np.zeros((40, 7)), 2, 1)
    best = np.array([nnls(H.T, x)[1] for x in X])
    assert W.min() >= 0.0
    np.testing.assert_allclose(np.linalg.norm(X - W @ H, axis=1), best, rtol=1e-9)


def test_nnls_has_the_same_bits_for_all_numbers_of_threads():
    rng = np.random.default_rng(0)
    H, X = rng.uniform(size=(5, 30)), rng.uniform(size=(1000, 30))
    A, C, W = H @ H.T, X @ H.T, rng.uniform(size=(1000, 5))
    for f, more in ((_core.solve_nnls, (3,)), (_core.sweep_nnls, (3, 0.1))):
        assert np.array_equal(f(A, C, W, *more, 1), f(A, C, W, *more, 3))


@pytest.mark.parametrize("beta", [2.0, 1.0, 0.0, 0.5, 1.5, 3.0])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_slopes_are_differences_of_the_divergence(beta, storage):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1.0, (8, 6)) * ((rng.uniform(size=(8, 6)) < 0.6) if beta > 0.0 else 1.0)
    W, H = rng.uniform(0.1, 1.0, (8, 3)), rng.uniform(0.1, 1.0, (3, 6))
    data = Divergence.of(sparse.csr_array(X) if storage == "sparse" else X, beta)
    for slopes, turn in ((data.slopes_W(W, H), 0), (data.slopes_H(W, H), 1)):
        gradient = slopes.positive - slopes.negative
        for index in ((0, 0), (2, 2)):
            step = np.zeros_like(gradient)
            step[index] = 1e-6
            moved = [data.value(W + s * step, H) if turn == 0 else data.value(W, H + s * step) for s in (1.0, -1.0)]
            np.testing.assert_allclose(gradient[index], (moved[0] - moved[1]) / 2e-6, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("storage", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("init", [None, "random", "nndsvd", "nndsvda", "nndsvdar"])
def test_certified_from_every_start(init, storage):
    X = low_rank()
    X = {"dense": X, "sparse": sparse.csr_array(X), "float32": X.astype(np.float32)}[storage]
    model = tenfold.NMF(4, init=init, random_state=0, max_iter=2000)
    W = model.fit_transform(X)
    assert model.certificate_.ok
    assert W.dtype == model.components_.dtype == X.dtype
    np.testing.assert_allclose(model.transform(X), W, rtol=1e-5, atol=1e-6)
    assert tenfold.certify(model, X).ok


def test_sparse_samples_have_the_codes_of_dense_ones():
    X = low_rank()
    X[X < 0.3] = 0.0
    model, other = (tenfold.NMF(4, random_state=0, max_iter=2000).fit(rows) for rows in (X, sparse.csr_array(X)))
    assert other.certificate_.ok
    np.testing.assert_allclose(model.transform(sparse.csr_array(X)), model.transform(X), rtol=1e-9, atol=1e-12)


def test_codes_of_sparse_samples_under_kullback_leibler():
    X = low_rank()
    X[X < 0.3] = 0.0
    settings = {"solver": "mu", "beta_loss": "kullback-leibler", "random_state": 0, "max_iter": 5000}
    model = tenfold.NMF(3, **settings).fit(sparse.csr_array(X))
    assert model.certificate_.ok
    np.testing.assert_allclose(model.transform(sparse.csr_array(X)), model.transform(X), rtol=1e-6, atol=1e-9)
    assert tenfold.certify(model, X).ok


@pytest.mark.parametrize("shuffle", [False, True])
def test_objective_never_rises(shuffle):
    values, X = [], low_rank()
    start = draw(X, 4, np.random.RandomState(0))
    random = np.random.RandomState(0) if shuffle else None
    problem = Factorization(2.0, 0.1, 0.1, 0.2, 0.2)
    fit(
        X, problem, start, solver="cd", tol=1e-8, max_iter=300, shuffle=random,
        callback=lambda record, _: values.append(record.objective) is not None,
    )  # fmt: skip
    assert len(values) > 5
    assert np.all(np.diff(values) <= 1e-12 * values[0])


@pytest.mark.parametrize("beta", [2.0, 1.0, 0.0, 0.5, 1.5, 3.0])
def test_multiplicative_updates_never_raise_the_divergence(beta):
    X = low_rank() + 0.01
    errors = []
    for steps in (1, 5, 20, 80):
        model = tenfold.NMF(3, solver="mu", beta_loss=beta, tol=0, max_iter=steps, random_state=0).fit(X)
        errors.append(model.reconstruction_err_)
    assert np.all(np.diff(errors) <= 1e-9 * errors[0])


def test_zero_components_are_refused():
    X = low_rank()
    model = tenfold.NMF(4, random_state=0, max_iter=2000).fit(X)
    model.components_ = np.zeros_like(model.components_)
    model.reconstruction_err_ = float(np.linalg.norm(X))
    certificate = tenfold.certify(model, X)
    assert not certificate.ok
    assert "components are zero" in certificate.note


def test_one_zero_component_is_refused():
    X = low_rank()
    model = tenfold.NMF(3, random_state=0, max_iter=2000, tol=1e-6).fit(X)
    model.components_ = np.vstack([model.components_, np.zeros(X.shape[1])])
    model.n_components_ = model.n_components = 4
    assert not tenfold.certify(model, X).ok


def test_more_components_than_the_rank_are_certified():
    X = low_rank(k=2, noise=0.0)
    model = tenfold.NMF(3, init="random", random_state=0, max_iter=5000, tol=1e-6).fit(X)
    assert model.certificate_.ok
    assert model.reconstruction_err_ < 1e-2 * np.linalg.norm(X)


def test_a_witness_that_is_not_stationary_is_refused():
    X = low_rank()
    model = tenfold.NMF(4, random_state=0, tol=1e-6, max_iter=5000)
    W = model.fit_transform(X)
    error = model.reconstruction_err_
    good = stationary_factors(X, W, model.components_, Factorization(), error=error, tol=1e-6)
    bad = stationary_factors(X, 1.01 * W, model.components_, Factorization(), error=error, tol=1e-6)
    assert good.ok
    assert not bad.ok


def test_lower_bound_is_that_of_eckart_and_young():
    X = low_rank()
    values = np.linalg.svd(X, compute_uv=False)
    for part in (X, X.T.copy(), sparse.csr_array(X)):
        bound = eckart_young(part, 4)
        np.testing.assert_allclose(bound, 0.5 * np.sum(values[4:] ** 2), rtol=1e-9)
        assert bound <= 0.5 * np.sum(values[4:] ** 2)
    model = tenfold.NMF(4, random_state=0, max_iter=2000).fit(X)
    assert tenfold.certify(model, X).lower_bound <= model.certificate_.objective


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scale_of_the_data_does_not_matter(scale):
    X = scale * low_rank()
    model = tenfold.NMF(4, init="random", random_state=0, max_iter=2000).fit(X)
    assert model.certificate_.ok
    assert model.reconstruction_err_ < 0.2 * np.linalg.norm(X)


def test_zero_rows_and_columns():
    X = low_rank()
    X[3], X[:, 5] = 0.0, 0.0
    model = tenfold.NMF(4, random_state=0, max_iter=2000)
    W = model.fit_transform(X)
    assert model.certificate_.ok
    assert np.all(W[3] == 0.0)
    assert np.all(model.components_[:, 5] < 1e-6)


def test_data_of_zeros():
    model = tenfold.NMF(2, init="random", random_state=0)
    assert np.all(model.fit_transform(np.zeros((5, 3))) == 0.0)
    assert model.reconstruction_err_ == 0.0


def test_more_components_than_features():
    X = low_rank(n=30, p=5)
    model = tenfold.NMF(8, random_state=0, max_iter=2000).fit(X)
    assert model.components_.shape == (8, 5)
    with pytest.raises(ValueError, match="can only be used when n_components <="):
        tenfold.NMF(8, init="nndsvd").fit(X)


@pytest.mark.parametrize("call", ["fit", "transform", "certify"])
def test_negative_entries_are_refused(call):
    X = low_rank()
    model = tenfold.NMF(2, random_state=0, max_iter=2000).fit(X)
    X[2, 3] = -1.0
    calls = {"fit": model.fit, "transform": model.transform, "certify": lambda X: tenfold.certify(model, X)}
    with pytest.raises(ValueError, match="Negative values in data"):
        calls[call](X)


def test_zeros_are_refused_where_the_loss_has_no_value():
    X = low_rank()
    X[0, 0] = 0.0
    with pytest.raises(ValueError, match="beta_loss <= 0"):
        tenfold.NMF(2, solver="mu", beta_loss="itakura-saito").fit(X)
    with pytest.raises(ValueError, match="does not handle"):
        tenfold.NMF(2, beta_loss="kullback-leibler").fit(X)


def test_custom_start():
    X = low_rank()
    W, H = double_svd(X, 3, "mean", np.random.RandomState(0))
    model = tenfold.NMF(3, init="custom", max_iter=2000).fit(X, W=W, H=H)
    assert model.certificate_.ok
    with pytest.raises(ValueError, match="full of zeros"):
        tenfold.NMF(3, init="custom").fit(X, W=0.0 * W, H=H)
    with pytest.raises(TypeError, match="same dtype"):
        tenfold.NMF(3, init="custom").fit(X, W=W.astype(np.float32), H=H)
    with pytest.raises(ValueError, match="wrong second dimension"):
        tenfold.NMF(3, init="custom").fit(X, W=W, H=H[:, 1:])
    with pytest.warns(RuntimeWarning, match="provided W or H are ignored"):
        tenfold.NMF(3, max_iter=2000).fit(X, W=W, H=H)


def test_steps_without_a_tolerance_are_all_taken():
    model = tenfold.NMF(2, tol=0, max_iter=7, random_state=0).fit(parts().X)
    assert model.n_iter_ == 7


def test_function_returns_the_factors_of_the_class():
    X = low_rank()
    model = tenfold.NMF(3, random_state=0, max_iter=2000)
    W = model.fit_transform(X)
    own = tenfold.non_negative_factorization(X, n_components=3, random_state=0, max_iter=2000)
    np.testing.assert_array_equal(own[0], W)
    np.testing.assert_array_equal(own[1], model.components_)
    assert own[2] == model.n_iter_


def test_function_with_a_given_factor():
    X = low_rank()
    model = tenfold.NMF(3, random_state=0, max_iter=2000)
    W = model.fit_transform(X)
    own, H, _ = tenfold.non_negative_factorization(X, H=model.components_, update_H=False)
    np.testing.assert_allclose(own, W, rtol=1e-9, atol=1e-12)
    assert H is model.components_
    with pytest.raises(ValueError, match="needs H"):
        tenfold.non_negative_factorization(X, update_H=False)


def test_batches_are_not_judged_and_come_near_to_the_fit():
    X = low_rank(n=400)
    settings = {"batch_size": 50, "random_state": 0, "tol": 0, "max_iter": 200, "max_no_improvement": None}
    model = tenfold.MiniBatchNMF(4, **settings).fit(X)
    assert model.certificate_.status == "not judged"
    certificate = tenfold.certify(model, X)
    assert np.isfinite(certificate.value)
    assert not certificate.ok
    assert model.reconstruction_err_ <= 0.05 * np.linalg.norm(X)
    np.testing.assert_allclose(np.linalg.norm(X - model.transform(X) @ model.components_), model.reconstruction_err_)


def test_parts_go_on_after_a_file(tmp_path):
    X = low_rank(n=90)
    model = tenfold.MiniBatchNMF(3, init="random", random_state=0).partial_fit(X[:30])
    tenfold.save(model, tmp_path / "model.tenfold")
    again = tenfold.load(tmp_path / "model.tenfold")
    for one in (model, again):
        one.partial_fit(X[30:60]).partial_fit(sparse.csr_array(X[60:]))
    np.testing.assert_allclose(again.components_, model.components_, rtol=1e-12)
    assert model.n_steps_ == again.n_steps_ == 3
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, 1:])


@pytest.mark.parametrize("call", ["fit", "partial_fit", "transform"])
def test_batches_refuse_negative_entries(call):
    X = low_rank()
    model = tenfold.MiniBatchNMF(2, random_state=0, tol=0, max_iter=3).fit(X)
    X[2, 3] = -1.0
    with pytest.raises(ValueError, match="Negative values in data"):
        getattr(model, call)(X)


@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.01])
def test_components_that_coordinate_descent_left_at_zero_are_set_off_again(alpha):
    X = 1e4 + low_rank()
    start = np.zeros((60, 3)), np.zeros((3, 20))
    start[0][:, 0], start[1][0] = 1.0, X.mean(axis=0)
    model = tenfold.NMF(3, init="custom", alpha_W=alpha, max_iter=5000, tol=1e-6).fit(X, W=start[0], H=start[1])
    assert model.certificate_.ok
    assert tenfold.certify(model, X).ok


def test_a_revived_component_lowers_the_objective():
    X = low_rank()
    problem = Factorization(2.0, 0.0, 0.0, 0.2, 0.7)
    W, H = np.zeros((60, 2)), np.zeros((2, 20))
    W[:, 0], H[0] = 0.3, X.mean(axis=0)
    data, again = Divergence.of(X, 2.0), revive_component(X, problem, Factors(W, H))
    before, after = (data.value(*pair) + penalty_value(problem, *pair) for pair in ((W, H), again))
    assert after < before
    assert revive_component(X, problem, Factors(W + 0.1, H + 0.1)) is None
    assert revive_component(X, Factorization(2.0, 0.0, 0.0, 1e9, 1e9), Factors(W, H)) is None


def with_holes(share=0.2, seed=1):
    X = low_rank()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


@pytest.mark.parametrize(
    ("solver", "alpha"),
    [("cd", 0.0), ("cd", 0.01), ("pg", 0.0), ("mu", 0.01), pytest.param("mu", 0.0, marks=pytest.mark.slow)],
)
def test_missing_entries_have_no_term(solver, alpha):
    """The gradient is that of the known entries, and what is missing does not matter."""
    X = with_holes()
    settings = {"random_state": 0, "max_iter": 20_000, "tol": 1e-4, "alpha_W": alpha, "missing": "ignore"}
    model = tenfold.NMF(3, solver=solver, **settings)
    W = model.fit_transform(X)
    assert model.certificate_.ok
    assert model.certificate_.lower_bound is None
    assert tenfold.certify(model, X).ok
    H, known = model.components_, ~np.isnan(X)
    residual = np.where(known, W @ H - np.nan_to_num(X), 0.0)
    np.testing.assert_allclose(model.reconstruction_err_, np.linalg.norm(residual), rtol=1e-6)
    gradient = W.T @ residual + len(X) * alpha * H
    assert np.linalg.norm(gradient[1e-3 * H.max() < H]) <= 1e-2 * np.linalg.norm(W.T @ np.nan_to_num(X))
    np.testing.assert_allclose(model.transform(X), W, rtol=1e-2, atol=1e-2 * W.max())


@pytest.mark.parametrize("beta", [2.0, 1.0, 0.5])
def test_slopes_and_values_of_known_entries(beta):
    X, rng = np.ascontiguousarray(with_holes()[:8, :6]) + 0.1, np.random.default_rng(0)
    W, H = rng.uniform(0.1, 1.0, (8, 3)), rng.uniform(0.1, 1.0, (3, 6))
    data, known = Divergence.of(X, beta), ~np.isnan(X)
    rows = [Divergence.of(x[None, k], beta).value(w[None], H[:, k].copy()) for x, k, w in zip(X, known, W, strict=True)]
    np.testing.assert_allclose(data.value(W, H), sum(rows))
    slopes = data.slopes_W(W, H)
    step = np.zeros_like(W)
    step[2, 1] = 1e-6
    rise = (data.value(W + step, H) - data.value(W - step, H)) / 2e-6
    np.testing.assert_allclose((slopes.positive - slopes.negative)[2, 1], rise, rtol=1e-6)


def test_samples_and_features_of_which_nothing_is_known():
    X = with_holes()
    X[3], X[:, 5] = np.nan, np.nan
    model = tenfold.NMF(3, random_state=0, max_iter=20_000, tol=1e-4, missing="ignore")
    W = model.fit_transform(X)
    assert model.certificate_.ok
    assert np.all(W[3] == 0.0)
    assert np.all(model.components_[:, 5] == 0.0)
    assert np.all(model.transform(X)[3] == 0.0)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((4, 3), np.nan))


def test_missing_entries_are_an_error_unless_they_are_ignored():
    X = with_holes()
    with pytest.raises(ValueError, match="NaN"):
        tenfold.NMF(2).fit(X)
    model = tenfold.NMF(2, missing="ignore", random_state=0, max_iter=20_000, tol=1e-3).fit(X)
    assert get_tags(model).input_tags.allow_nan
    assert not get_tags(tenfold.NMF()).input_tags.allow_nan
    X[0, 0] = -1.0
    with pytest.raises(ValueError, match="Negative values in data"):
        model.transform(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X < 0.0, np.inf, X))


def test_projected_gradient_steps_never_raise_the_objective():
    values, X = [], low_rank()
    model = tenfold.NMF(3, solver="pg", random_state=0, max_iter=5000, tol=1e-3, alpha_W=0.001, l1_ratio=0.5).fit(X)
    assert model.certificate_.ok
    fit(
        X, Factorization(2.0, 0.1, 0.1, 0.2, 0.2), draw(X, 4, np.random.RandomState(0)), solver="pg", tol=0.0,
        max_iter=200, callback=lambda record, _: values.append(record.objective) is not None,
    )  # fmt: skip
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    with pytest.raises(ValueError, match="does not handle"):
        tenfold.NMF(2, solver="pg", beta_loss=1.0).fit(X)


@pytest.mark.parametrize("solver", ["cd", "mu"])
def test_a_component_that_no_sample_uses_is_zero_under_an_l1_penalty(solver):
    """Its projected gradient has no weight, as the curvature is zero: the judge looks at the penalty."""
    X = low_rank()
    settings = {"alpha_W": 0.3, "l1_ratio": 1.0, "random_state": 0, "max_iter": 20_000, "tol": 1e-4}
    model = tenfold.NMF(4, init="random", solver=solver, **settings).fit(X)
    assert model.certificate_.ok
    assert tenfold.certify(model, X).ok
    codes = model.transform(X)
    assert np.array_equal(codes.any(axis=0), model.components_.any(axis=1))
    model.components_ = np.vstack([model.components_, 1e-3 * np.ones((1, 20))])
    model.n_components_ = model.n_components = 5
    certificate = tenfold.certify(model, X)
    assert not certificate.ok
    assert "no sample uses" in certificate.note
