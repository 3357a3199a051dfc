"""Cross-validated paths of logistic models with L1 penalties: every model is that of its fold."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import scale

from logistic_paths import SETTINGS, problem, rows_of
from tenfold import _core
from tenfold.cross_validation import logistic_batched
from tenfold.cross_validation.logistic_paths import paths
from tenfold.losses.classification import loss_of_classes
from tenfold.penalties import mixture
from tenfold.plans.glm import fit
from tenfold.solvers.quasi_newton_batched import least_subgradients


def scores(X, params):
    z = X @ params[:, :-1].T + params[:, -1]
    return np.column_stack([np.zeros(len(z)), z]) if z.shape[1] == 1 else z


def objective(X, number, weight, params, strength, ratio):
    loss = -log_softmax(scores(X, params), axis=1)[np.arange(len(X)), number]
    w = params[:, :-1]
    return np.average(loss, weights=weight) + strength * np.sum(ratio * np.abs(w) + 0.5 * (1.0 - ratio) * w**2)


@pytest.mark.parametrize("ratio", [1.0, 0.3])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("splitter", [KFold(4), ShuffleSplit(3, random_state=0)], ids=["folds", "overlapping"])
def test_each_model_is_the_optimum_of_its_fold(classes, intercept, splitter, ratio):
    X, number = problem(classes=classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    folds = [train for train, _ in splitter.split(X)]
    strengths = np.tile(np.logspace(0, -6, 19), (len(folds), 1)) * np.arange(1, len(folds) + 1)[:, None]
    rows = rows_of(X, number, classes, weight)
    result = paths(rows, folds, strengths, ratio, intercept, classes=classes, **SETTINGS)
    assert result.params.shape == (len(folds), 19, 1 if classes == 2 else classes, 6)
    for f, fold in enumerate(folds):
        part = rows_of(X[fold], number[fold], classes, weight[fold])
        for a in (0, 5, 8, 18):
            outputs = 1 if classes == 2 else classes
            alone = fit(
                part, loss_of_classes(classes), mixture(strengths[f, a], ratio), intercept, outputs=outputs, **SETTINGS
            )
            assert alone.certificate.ok
            here = objective(X[fold], number[fold], weight[fold], result.params[f, a], strengths[f, a], ratio)
            assert here <= alone.certificate.objective + 1e-6
            assert intercept or not result.params[f, a, :, -1].any()


@pytest.mark.parametrize("classes", [2, 3])
def test_models_of_a_dense_grid_meet_the_rule_everywhere(classes):
    """Most of them are minima of quadratic models between their neighbours, and no pass is spent on them."""
    X, number = problem(n=600, classes=classes)
    folds = [train for train, _ in KFold(3).split(X)]
    strengths = np.tile(np.logspace(0, -7, 120), (3, 1))
    settings = {**SETTINGS, "tol": 1e-4}
    result = paths(rows_of(X, number, classes), folds, strengths, 1.0, True, classes=classes, **settings)
    assert result.passes < 60
    assert np.mean(result.iterations == 0) > 0.5
    for f, fold in enumerate(folds):
        for l1, params in zip(strengths[f], result.params[f], strict=True):
            u = softmax(scores(X[fold], params), axis=1) - np.eye(classes)[number[fold]]
            gradient = u.T @ np.column_stack([X[fold] - X.mean(axis=0), np.ones(len(fold))]) / len(fold)
            gradient = gradient[-len(params) :]
            limits = np.append(np.full(X.shape[1], l1), 0.0)
            least = least_subgradients(params * (limits > 0), gradient, limits)
            assert np.abs(least).max() <= settings["tol"]


def test_strong_penalties_leave_no_weights_and_penalties_may_come_twice():
    X, number = problem()
    folds = [np.arange(0, 300, 2), np.arange(1, 300, 2)]
    for grid in (np.repeat(np.logspace(1, -2, 5), 2), np.array([5.0]), np.full(7, 0.01)):
        result = paths(rows_of(X, number, 2), folds, np.tile(grid, (2, 1)), 1.0, True, classes=2, **SETTINGS)
        assert grid[0] < 1.0 or not result.params[:, 0, :, :-1].any()
        alone = fit(
            rows_of(X[folds[1]], number[folds[1]], 2),
            loss_of_classes(2),
            mixture(grid[-1], 1.0),
            True,
            outputs=1,
            **SETTINGS,
        )
        np.testing.assert_allclose(result.params[1, -1, 0, :-1], alone.params.coef[0], atol=1e-4)


def test_classes_that_can_be_separated():
    """Weak penalties let the weights grow, and folds go their own ways."""
    X, number = load_breast_cancer(return_X_y=True)
    X = scale(X)
    folds = [train for train, _ in KFold(3, shuffle=True, random_state=0).split(X)]
    strengths = np.tile(np.logspace(0, -7, 15), (3, 1))
    result = paths(rows_of(X, number, 2), folds, strengths, 1.0, True, classes=2, **SETTINGS)
    for f, fold in enumerate(folds):
        for a in (7, 11):
            alone = fit(
                rows_of(X[fold], number[fold], 2),
                loss_of_classes(2),
                mixture(strengths[f, a], 1.0),
                True,
                outputs=1,
                **SETTINGS,
            )
            here = objective(X[fold], number[fold], None, result.params[f, a], strengths[f, a], 1.0)
            assert here <= alone.certificate.objective + 1e-6


def test_sparse_rows_and_parts_of_stages_change_nothing(monkeypatch):
    X, number = problem(n=200)
    X[np.random.default_rng(3).random(X.shape) < 0.6] = 0.0
    folds = [train for train, _ in KFold(3).split(X)]
    strengths = np.tile(np.logspace(0, -3, 30), (3, 1))
    dense = paths(rows_of(X, number, 2), folds, strengths, 1.0, True, classes=2, **SETTINGS)
    monkeypatch.setattr(logistic_batched, "BATCH_NUMBERS", 500)
    for rows in (rows_of(X, number, 2), rows_of(sparse.csr_array(X), number, 2)):
        other = paths(rows, folds, strengths, 1.0, True, classes=2, **SETTINGS)
        np.testing.assert_allclose(other.params, dense.params, atol=1e-5)


def test_too_many_coefficients_or_cells_go_alone():
    X, number = problem(n=400, p=130)
    wide = logistic_batched.solve_batched(
        rows_of(X, number, 2),
        [np.arange(200), np.arange(200, 400)],
        *np.ones((2, 2, 1)),
        True,
        cell_hessians=True,
        outputs=1,
        shift=X.mean(axis=0),
        tol=1e-4,
        max_iter=10,
    )
    assert wide is None


@pytest.mark.parametrize("q", [1, 4, 30])
def test_signs_of_the_solution(q):
    """The least subgradient is zero, from any start, and threads change no bit."""
    rng = np.random.default_rng(q)
    m = 20
    A = rng.standard_normal((m, 2 * q, q)) * np.logspace(0, -2, q)
    H = np.ascontiguousarray(np.einsum("mnp,mnq->mpq", A, A))
    g, x = rng.standard_normal((2, m, q))
    x *= rng.random((m, q)) < 0.5
    limits = np.repeat(10.0 ** rng.uniform(-4, 0.5, (m, 1)), q, axis=1)
    limits[:, -1] = 0.0
    u = _core.feature_sign(H, g, limits, x, 1)
    slopes = g + np.einsum("mpq,mq->mp", H, u - x)
    assert np.abs(least_subgradients(u, slopes, limits)[:, :-1]).max(initial=0.0) < 1e-9
    assert np.abs(slopes[:, -1]).max() < 1e-9
    np.testing.assert_array_equal(_core.feature_sign(H, g, limits, x, 3), u)
    np.testing.assert_allclose(_core.feature_sign(H, slopes, limits, u, 1), u, atol=1e-9)


def test_signs_without_curvature():
    """A direction without curvature is followed to where a weight is zero; what pulls at nothing stays."""
    H = np.ones((1, 2, 2))
    u = _core.feature_sign(H, np.array([[-2.0, -2.0]]), np.array([[0.5, 0.25]]), np.array([[3.0, 1.0]]), 1)
    # g.(u - x) + (sum of u - 4)^2 / 2: the cheaper weight does it all
    np.testing.assert_allclose(u, [[0.0, 5.75]], atol=1e-9)
    nothing = np.zeros((1, 2))
    np.testing.assert_array_equal(
        _core.feature_sign(np.zeros((1, 2, 2)), nothing, nothing, nothing + 2.0, 1), [[2.0, 2.0]]
    )
    with pytest.raises(ValueError, match="models, size"):
        _core.feature_sign(H, np.zeros((1, 3)), np.zeros((1, 2)), np.zeros((1, 2)), 1)
