"""The graphical lasso: the gap against an independent solver, components, bad input, and cross-validation."""

import numpy as np
import pytest
import sklearn.covariance
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit
from tampering import tamper

from tenfold import GraphicalLasso, GraphicalLassoCV, certify, graphical_lasso
from tenfold.judge import gap_graphical_lasso as judge


def draw(n=60, p=6, seed=0):
    rng = np.random.default_rng(seed)
    mixing = np.eye(p) + np.where(rng.random((p, p)) < 0.3, rng.standard_normal((p, p)), 0.0)
    return rng.standard_normal((n, p)) @ mixing


def covariance_of(X):
    return np.cov(X.T, bias=True)


def objective(S, P, alpha):
    off = np.abs(P).sum() - np.abs(np.diag(P)).sum()
    sign, size = np.linalg.slogdet(P)
    return -size + np.sum(S * P) + alpha * off if sign > 0 else np.inf


def best_objective(S, alpha):
    """The maximum of the dual, log|S + U| + p over |U_ij| <= alpha, U_ii = 0, by L-BFGS within bounds."""
    p = len(S)
    upper = np.triu_indices(p, 1)

    def negative(u):
        W = S.copy()
        W[upper] += u
        W.T[upper] = W[upper]
        sign, size = np.linalg.slogdet(W)
        if sign <= 0:
            return 1e10, np.zeros_like(u)
        return -size, -2.0 * np.linalg.inv(W)[upper]

    start = -0.5 * np.clip(S[upper], -alpha, alpha)
    bounds = [(-alpha, alpha)] * len(start)
    solved = minimize(negative, start, jac=True, bounds=bounds, options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10})
    return -solved.fun + p


@pytest.mark.parametrize("alpha", [0.02, 0.2, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_the_gap_bounds_the_excess(alpha, seed):
    X = draw(seed=seed)
    S = covariance_of(X)
    best = best_objective(S, alpha)
    model = GraphicalLasso(alpha=alpha, tol=1e-9).fit(X)
    assert model.certificate_.ok
    assert objective(S, model.precision_, alpha) - best < 1e-6
    assert model.certificate_.lower_bound <= best + 1e-7
    rng = np.random.default_rng(seed)
    for size in (1e-4, 1e-2, 0.1, 1.0):
        noise = size * rng.standard_normal(S.shape)
        worse = model.precision_ + 0.5 * (noise + noise.T)
        worse += max(0.0, 0.05 - np.linalg.eigvalsh(worse)[0]) * np.eye(len(S))
        certificate = judge.graphical_lasso(S, np.linalg.inv(worse), worse, alpha, tol=1e-9)
        assert certificate.value >= objective(S, worse, alpha) - best - 1e-7
        assert certificate.lower_bound <= best + 1e-7
        assert not certificate.ok


def test_a_precision_that_scikit_learns_gap_accepts_is_not_certified():
    """trace(S P) - p + alpha |P| is no duality gap: it can be negative far from the optimum."""
    S = covariance_of(draw())
    P = 0.7 * np.linalg.inv(S + 0.3 * np.eye(6))
    formula = np.sum(S * P) - 6 + 0.1 * (np.abs(P).sum() - np.trace(P))
    assert formula < 0.0
    certificate = judge.graphical_lasso(S, np.linalg.inv(P), P, 0.1, tol=1e-4)
    assert certificate.value > objective(S, P, 0.1) - best_objective(S, 0.1) > 0.1
    assert not certificate.ok


@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_scikit_learn_agrees_where_it_converges(alpha):
    X = draw()
    X /= X.std(axis=0)
    ours = GraphicalLasso(alpha=alpha, tol=1e-8).fit(X)
    peer = sklearn.covariance.GraphicalLasso(alpha=alpha, tol=1e-8, enet_tol=1e-10, max_iter=1000).fit(X)
    np.testing.assert_allclose(ours.precision_, peer.precision_, atol=1e-4)
    np.testing.assert_allclose(ours.covariance_, peer.covariance_, atol=1e-4)
    assert certify(peer, X).value < 1e-5
    S = covariance_of(X)
    given = GraphicalLasso(alpha=alpha, covariance="precomputed", tol=1e-8).fit(S)
    np.testing.assert_allclose(given.precision_, ours.precision_, atol=1e-6)
    assert certify(given, S).ok
    covariance, precision, costs, n_iter = graphical_lasso(S, alpha, tol=1e-8, return_costs=True, return_n_iter=True)
    np.testing.assert_allclose(covariance @ precision, np.eye(6), atol=1e-8)
    assert len(costs) == n_iter
    assert costs[-1][0] == pytest.approx(objective(S, precision, alpha))


def test_components_are_solved_apart():
    rng = np.random.default_rng(0)
    X = np.hstack([draw(200, 4, seed) for seed in range(3)] + [rng.standard_normal((200, 2))])
    alpha = 1.2 * np.max(np.abs(covariance_of(X)) * (np.kron(np.eye(4), np.ones((4, 4)))[:14, :14] == 0.0))
    model = GraphicalLasso(alpha=alpha, tol=1e-8).fit(X)
    assert model.certificate_.ok
    assert np.count_nonzero(model.precision_[:4, 4:]) == 0
    alone = GraphicalLasso(alpha=alpha, tol=1e-8).fit(X[:, :4])
    np.testing.assert_allclose(model.precision_[:4, :4], alone.precision_, atol=1e-6)
    assert GraphicalLasso(alpha=1e6).fit(X).n_iter_ == 0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("n", [4, 60])
def test_units_and_few_samples(scale, n):
    X = scale * draw(n)
    alpha = 0.3 * np.max(np.abs(covariance_of(X) - np.diag(np.var(X, axis=0))))
    model = GraphicalLasso(alpha=alpha, tol=1e-6, max_iter=500).fit(X)
    assert model.certificate_.ok, model.certificate_.explain()
    X = draw(n) * 10.0 ** np.linspace(-3.0, 3.0, 6)
    model = GraphicalLasso(alpha=1e-3, tol=1e-6, max_iter=500).fit(X)
    assert model.certificate_.ok, model.certificate_.explain()


def test_single_precision():
    X = draw().astype(np.float32)
    model = GraphicalLasso(alpha=0.1).fit(X)
    assert model.precision_.dtype == np.float32
    assert model.certificate_.ok


def test_no_penalty():
    X = draw()
    model = GraphicalLasso(alpha=0.0).fit(X)
    np.testing.assert_allclose(model.precision_, np.linalg.inv(covariance_of(X)))
    assert model.certificate_.ok
    with pytest.raises(np.linalg.LinAlgError, match="alpha > 0"):
        GraphicalLasso(alpha=0.0).fit(draw(3))


def test_constant_features_have_the_floor_of_a_variance():
    X = draw()
    X[:, 2] = 3.0
    model = GraphicalLasso(alpha=0.1).fit(X)
    assert model.certificate_.ok
    assert "constant features count" in model.certificate_.note
    assert certify(model, X).ok


@pytest.mark.parametrize(
    ("S", "reason"),
    [
        (np.ones((2, 3)), "shape"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "eigenvalue"),
        (np.diag([1.0, -1.0]), "eigenvalue"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
    ],
)
def test_a_matrix_that_is_no_covariance(S, reason):
    with pytest.raises(ValueError, match=reason):
        GraphicalLasso(covariance="precomputed").fit(S)
    with pytest.raises(ValueError, match=reason):
        graphical_lasso(S, 0.1)


def test_too_few_steps_are_not_certified():
    with pytest.warns(ConvergenceWarning, match="gap"):
        GraphicalLasso(alpha=0.01, max_iter=0).fit(draw())


@pytest.mark.parametrize("settings", [{}, {"covariance": "precomputed"}])
def test_tampered_models_are_not_certified(settings):
    X = draw()
    given = covariance_of(X) if settings else X
    model = GraphicalLasso(alpha=0.1, tol=1e-8, **settings).fit(given)
    for name, change, worse in tamper(model):
        if name in ("costs_", "n_iter_"):  # report only
            continue
        try:
            certificate = certify(worse, given)
        except ValueError:
            continue
        assert not certificate.ok, (name, change)


@pytest.mark.parametrize("settings", [{"alphas": [0.05, 0.2, 0.5]}, {"alphas": 3, "n_refinements": 2, "cv": 3}])
def test_cross_validation_is_that_of_scikit_learn(settings):
    X = draw(80, 5)
    X /= X.std(axis=0)
    ours = GraphicalLassoCV(tol=1e-7, **settings).fit(X)
    peer = sklearn.covariance.GraphicalLassoCV(tol=1e-7, enet_tol=1e-9, max_iter=1000, **settings).fit(X)
    assert ours.alpha_ == pytest.approx(peer.alpha_)
    assert ours.cv_results_.keys() == peer.cv_results_.keys()
    for name, values in peer.cv_results_.items():
        np.testing.assert_allclose(ours.cv_results_[name], values, rtol=1e-3, atol=1e-3, err_msg=name)
    assert ours.certificate_.ok
    assert certify(ours, X).ok
    ours.alpha_ = float(ours.alphas_[np.argmin(ours.cv_results_["mean_test_score"][:-1])])
    assert not certify(ours, X).ok


def test_splits_that_overlap():
    X = draw(80, 4)
    settings = {"alphas": [0.1, 0.4], "cv": ShuffleSplit(3, random_state=0)}
    ours = GraphicalLassoCV(**settings).fit(X)
    peer = sklearn.covariance.GraphicalLassoCV(**settings).fit(X)
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], peer.cv_results_["mean_test_score"], rtol=1e-2)


def test_errors():
    X = draw()
    with pytest.raises(ValueError, match="minimum of 2"):
        GraphicalLasso().fit(X[:, :1])
    with pytest.raises(ValueError, match="positive numbers"):
        GraphicalLassoCV(alphas=[0.0, 1.0]).fit(X)
    with pytest.raises(ValueError, match="no samples"):
        GraphicalLasso(covariance="precomputed").fit(covariance_of(X), sample_weight=np.ones(6))
    model = GraphicalLassoCV(alphas=[0.1, 0.5]).fit(X)
    model.cv_results_["mean_test_score"] += 1.0
    assert "mean scores" in certify(model, X).explain()
