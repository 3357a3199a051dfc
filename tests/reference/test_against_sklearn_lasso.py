"""The Lasso and its siblings beside scikit-learn's, on the same data and at a small gap."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

import tenfold
from tenfold import certify

TIGHT = {"tol": 1e-11, "max_iter": 100_000}


def data(n=80, p=12, t=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(0.5, 2.0, p) + 1.0
    W = rng.standard_normal((p, t or 1)) * (np.arange(p) % 3 == 0)[:, None]
    Y = X @ W + 0.5 * rng.standard_normal((n, t or 1)) + 2.0
    return X, Y if t else Y[:, 0], rng.uniform(0.2, 2.0, n)


def both(name, **settings):
    settings = {**TIGHT, **settings}
    return getattr(tenfold, name)(**settings), getattr(sklearn_module, name)(**settings)


def same(ours, sklearn_model, *names, rtol=1e-6):
    for name in names:
        np.testing.assert_allclose(
            getattr(ours, name), getattr(sklearn_model, name), rtol=rtol, atol=1e-8, err_msg=name
        )
    assert np.shape(ours.dual_gap_) == np.shape(sklearn_model.dual_gap_)


SINGLE = [
    {"alpha": 0.1},
    {"alpha": 0.1, "fit_intercept": False},
    {"alpha": 0.05, "positive": True},
    {"alpha": 0.05, "selection": "random", "random_state": 0},
    {"alpha": 0.1, "precompute": True},
]


@pytest.mark.parametrize("settings", SINGLE, ids=str)
@pytest.mark.parametrize("name", ["Lasso", "ElasticNet"])
@pytest.mark.parametrize("weighted", [False, True])
def test_one_target(name, settings, weighted):
    X, y, weight = data()
    ours, sklearn_model = both(name, **settings)
    weight = weight if weighted else None
    same(ours.fit(X, y, sample_weight=weight), sklearn_model.fit(X, y, sample_weight=weight), "coef_", "intercept_")
    assert ours.certificate_.ok
    assert certify(sklearn_model, X, y, sample_weight=weight).ok
    assert ours.dual_gap_ <= TIGHT["tol"] * np.average((y - np.average(y, weights=weight)) ** 2, weights=weight) * 3
    np.testing.assert_array_equal(ours.sparse_coef_.toarray(), sklearn_model.sparse_coef_.toarray() * 0 + ours.coef_)
    assert type(ours.sparse_coef_) is type(sklearn_model.sparse_coef_)


@pytest.mark.parametrize("name", ["Lasso", "ElasticNet"])
def test_several_targets_and_sparse_rows(name):
    X, Y, weight = data(t=3)
    X[np.abs(X) < 0.8] = 0.0
    ours, sklearn_model = both(name, alpha=0.1)
    same(ours.fit(X, Y), sklearn_model.fit(X, Y), "coef_", "intercept_")
    assert len(ours.n_iter_) == 3
    S = sparse.csc_array(X)
    same(
        ours.fit(S, Y[:, 0], sample_weight=weight),
        sklearn_model.fit(S, Y[:, 0], sample_weight=weight),
        "coef_",
        "intercept_",
    )


def test_a_warm_start_continues():
    X, y, _ = data()
    model = tenfold.Lasso(alpha=0.1, warm_start=True, tol=1e-10).fit(X, y)
    before = model.n_iter_
    assert before > 0
    model.fit(X, y)
    assert model.n_iter_ == 0  # nothing moves: the gap is looked at before the first sweep
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X[:, :5], y)


def test_no_penalty_warns_as_scikit_learn_does():
    X, y, _ = data()
    with pytest.warns(UserWarning, match="With alpha=0, this algorithm does not converge well"):
        model = tenfold.Lasso(alpha=0.0, tol=1e-10).fit(X, y)
    assert model.certificate_.ok
    np.testing.assert_allclose(model.coef_, sklearn_module.LinearRegression().fit(X, y).coef_, rtol=1e-5)


@pytest.mark.parametrize("alpha", [1e-14, 1e-9, 1e-4, 1e9])
@pytest.mark.parametrize("positive", [False, True])
def test_tiny_and_huge_penalties(alpha, positive):
    X, y, _ = data()
    model = tenfold.Lasso(alpha=alpha, positive=positive).fit(X, y)
    assert model.certificate_.ok, model.certificate_.explain()
    assert model.certificate_.floor < 1e-6 * model.certificate_.scale
    assert ("All weights are zero" in model.certificate_.explain()) == (alpha == 1e9)


def test_zero_and_repeated_columns():
    """Weights of repeated columns are not unique; the certificate holds, and a zero column has no weight."""
    X, y, _ = data()
    X = np.column_stack([X, X[:, :4], np.zeros(len(y)), np.full(len(y), 3.0)])
    ours, sklearn_model = both("Lasso", alpha=0.1)
    ours.fit(X, y)
    assert ours.certificate_.ok
    assert ours.coef_[-2] == ours.coef_[-1] == 0.0
    np.testing.assert_allclose(ours.predict(X), sklearn_model.fit(X, y).predict(X), rtol=1e-5)


def test_warning_after_one_sweep_has_the_gap():
    X, y, _ = data(p=30, n=40)
    with pytest.warns(
        ConvergenceWarning, match=r"duality gap .* allowed .* increase the number of iterations, max_iter"
    ):
        model = tenfold.Lasso(alpha=1e-3, max_iter=1).fit(X, y)
    assert model.n_iter_ == 1
    assert model.status_ == "iteration limit"
    assert model.dual_gap_ == pytest.approx(model.certificate_.value)


@pytest.mark.parametrize("cv", [3, KFold(4, shuffle=True, random_state=1), ShuffleSplit(3, random_state=0)], ids=str)
@pytest.mark.parametrize("settings", [{}, {"positive": True}, {"alphas": [0.01, 1.0, 0.1]}], ids=str)
def test_cross_validated_lasso(cv, settings):
    X, y, weight = data()
    ours, sklearn_model = both("LassoCV", cv=cv, **settings)
    ours, sklearn_model = ours.fit(X, y, sample_weight=weight), sklearn_model.fit(X, y, sample_weight=weight)
    same(ours, sklearn_model, "alpha_", "alphas_", "mse_path_", "coef_", "intercept_", rtol=1e-5)
    assert not hasattr(ours, "l1_ratio_")


def test_cross_validated_elastic_net():
    X, y, _ = data()
    ours, sklearn_model = both("ElasticNetCV", l1_ratio=[0.1, 0.7, 1.0], alphas=20, fit_intercept=False)
    same(ours.fit(X, y), sklearn_model.fit(X, y), "alpha_", "alphas_", "l1_ratio_", "mse_path_", "coef_", rtol=1e-5)
    assert ours.certificate_.ok
    assert certify(sklearn_model, X, y).ok
    with pytest.raises(ValueError, match="not supported for l1_ratio=0"):
        tenfold.ElasticNetCV(l1_ratio=0.0).fit(X, y)
    with pytest.raises(ValueError, match="use MultiTaskElasticNetCV"):
        tenfold.ElasticNetCV().fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("name", ["MultiTaskLasso", "MultiTaskElasticNet"])
def test_tasks_that_share_columns(name):
    X, Y, weight = data(t=3)
    ours, sklearn_model = both(name, alpha=0.3)
    same(ours.fit(X, Y, sample_weight=weight), sklearn_model.fit(X, Y, sample_weight=weight), "coef_", "intercept_")
    assert ours.certificate_.ok
    assert len(ours.certificate_.parts) == 1
    np.testing.assert_allclose(ours.eps_, sklearn_model.eps_, rtol=1e-6)
    used = ours.coef_ != 0
    np.testing.assert_array_equal(used, used[:1].repeat(3, axis=0))
    judged = certify(sklearn_model, X, Y, sample_weight=weight)
    assert judged.ok
    sklearn_model.coef_ = sklearn_model.coef_ * 1.01
    assert not certify(sklearn_model, X, Y, sample_weight=weight).ok
    with pytest.raises(ValueError, match="For mono-task outputs, use"):
        ours.fit(X, Y[:, 0])


@pytest.mark.parametrize("name", ["MultiTaskLassoCV", "MultiTaskElasticNetCV"])
def test_cross_validated_tasks(name):
    X, Y, _ = data(t=2)
    ours, sklearn_model = both(name, alphas=20, cv=3, tol=1e-9)
    same(ours.fit(X, Y), sklearn_model.fit(X, Y), "alpha_", "alphas_", "mse_path_", "coef_", "intercept_", rtol=1e-4)
    assert ours.certificate_.ok


@parametrize_with_checks(
    [
        tenfold.MultiTaskLasso(alpha=0.1, tol=1e-14),
        tenfold.MultiTaskElasticNetCV(alphas=5, eps=0.1, cv=3, tol=1e-14),
        tenfold.ElasticNetCV(alphas=5, eps=0.1, cv=3, tol=1e-14),
    ]
)
def test_contract_of_siblings(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["lasso_path", "enet_path"])
@pytest.mark.parametrize("settings", [{}, {"positive": True}, {"alphas": [0.01, 1.0, 0.1]}, {"alphas": 7}], ids=str)
def test_paths(name, settings):
    X, y, _ = data()
    ours = getattr(tenfold, name)(X, y, return_n_iter=True, **TIGHT, **settings)
    sklearn_model = getattr(sklearn_module, name)(X, y, return_n_iter=True, **TIGHT, **settings)
    for a, b in zip(ours[:2], sklearn_model[:2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    assert ours[2].shape == sklearn_model[2].shape
    assert np.all(ours[2] <= TIGHT["tol"] * np.mean(y**2) * 3)
    assert len(ours[3]) == len(sklearn_model[3])


def test_paths_of_tasks_and_of_sparse_rows():
    X, Y, _ = data(t=2)
    for a, b in zip(
        tenfold.enet_path(X, Y, alphas=10, **TIGHT), sklearn_module.enet_path(X, Y, alphas=10, **TIGHT), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    S = sparse.csr_array(np.where(np.abs(X) < 1.0, 0.0, X))
    ours, sklearn_model = (module.lasso_path(S, Y[:, 0], alphas=10, **TIGHT) for module in (tenfold, sklearn_module))
    np.testing.assert_allclose(ours[1], sklearn_model[1], rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="not allowed for multi-output"):
        tenfold.lasso_path(X, Y, positive=True)


def test_deprecated_parameters_of_a_grid():
    X, y, _ = data()
    with pytest.warns(FutureWarning, match="'n_alphas' was deprecated in 1.9"):
        assert len(tenfold.lasso_path(X, y, n_alphas=5)[0]) == 5
    with pytest.warns(FutureWarning, match="'alphas=None' is deprecated"):
        assert len(tenfold.enet_path(X, y, alphas=None)[0]) == 100
    with pytest.raises(ValueError, match="Unexpected parameters"):
        tenfold.lasso_path(X, y, nonsense=1)
    with pytest.warns(ConvergenceWarning, match=r"did not converge for \d+ of 100 alphas"):
        tenfold.lasso_path(X, y, max_iter=1, tol=1e-12)


def test_folds_without_weight_are_named():
    X, y, weight = data(30)
    weight[:6] = 0.0
    with pytest.raises(ValueError, match="The test rows of split 0 have no weight"):
        tenfold.LassoCV(cv=5).fit(X, y, sample_weight=weight)


def test_bits_do_not_depend_on_threads():
    from threadpoolctl import threadpool_limits

    X, y, _ = data(2000, 40)
    result = []
    for count in (1, 2):
        with threadpool_limits(count), warnings.catch_warnings():
            warnings.simplefilter("error")
            model = tenfold.LassoCV(cv=4).fit(X, y)
            result.append((model.coef_.tobytes(), model.mse_path_.tobytes()))
    assert result[0] == result[1]


def test_products_that_are_given():
    X, y, weight = data()
    centred = X - X.mean(axis=0)
    for fit_intercept in (True, False):
        ours, sklearn_model = both("Lasso", alpha=0.1, precompute=centred.T @ centred, fit_intercept=fit_intercept)
        same(ours.fit(centred, y), sklearn_model.fit(centred, y), "coef_", "intercept_")
        assert ours.method_ == "gram"
        assert ours.certificate_.ok
    share = np.sqrt(weight * len(y) / weight.sum())[:, None] * X
    ours, sklearn_model = both("ElasticNet", alpha=0.1, precompute=share.T @ share, fit_intercept=False)
    same(ours.fit(X, y, sample_weight=weight), sklearn_model.fit(X, y, sample_weight=weight), "coef_")
    with pytest.warns(UserWarning, match="Gram matrix was provided but X was centered"):
        ours = tenfold.Lasso(alpha=0.1, precompute=X.T @ X).fit(X, y)
    assert ours.certificate_.ok
    with pytest.raises(ValueError, match="did not pass validation when a single element was checked"):
        tenfold.Lasso(precompute=2.0 * X.T @ X, fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="precompute must have shape"):
        tenfold.Lasso(precompute=np.eye(3), fit_intercept=False).fit(X, y)


@pytest.mark.parametrize("solver", ["ista", "fista"])
@pytest.mark.parametrize(
    "model",
    [
        tenfold.Lasso(alpha=0.1),
        tenfold.Lasso(alpha=0.1, positive=True, fit_intercept=False),
        tenfold.ElasticNet(alpha=0.1),
        tenfold.MultiTaskLasso(alpha=0.2),
    ],
    ids=str,
)
def test_proximal_solvers_by_name(model, solver):
    X, Y, weight = data(t=2)
    joint = type(model).__name__.startswith("Multi")
    y = Y if joint else Y[:, 0]
    params = {**model.get_params(), "tol": 1e-8, "max_iter": 20_000}
    best = type(model)(**{**params, "tol": 1e-13}).fit(X, y, sample_weight=weight)
    for rows in (X, sparse.csr_array(X)):
        result = type(model)(**{**params, "solver": solver}).fit(rows, y, sample_weight=weight)
        assert result.method_ == solver
        assert result.certificate_.ok, result.certificate_.explain()
        assert result.status_ == "converged"
        np.testing.assert_allclose(result.coef_, best.coef_, atol=1e-3)
        objectives = [record.objective for record in result.trace_]
        if solver == "ista":
            assert all(a >= b - 1e-12 for a, b in pairwise(objectives))
    if not joint:
        table = tenfold.rows([(X[:30], y[:30], weight[:30]), (X[30:], y[30:], weight[30:])])
        again = type(model)(**{**params, "solver": solver}).fit(table)
        np.testing.assert_allclose(again.coef_, result.coef_, atol=1e-7)


def test_momentum_takes_fewer_steps():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8)) @ np.diag(np.linspace(0.3, 3.0, 8))
    y = X @ rng.standard_normal(8) + rng.standard_normal(60)
    tight = {"alpha": 0.01, "tol": 1e-7, "max_iter": 2_000}
    counts = [tenfold.Lasso(solver=solver, **tight).fit(X, y).n_iter_ for solver in ("ista", "fista")]
    assert counts[1] < 0.5 * counts[0]


def test_the_online_halves_need_one_target_and_no_groups():
    with pytest.raises(ValueError, match="solver"):
        tenfold.MultiTaskLasso(solver="uv").fit(*data(t=2)[:2])
    X, y, _ = data(200, 5)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        model = tenfold.Lasso(alpha=0.1, solver="uv", max_iter=2, tol=1e-8).fit(X, y)
    assert model.status_ == "iteration limit"
