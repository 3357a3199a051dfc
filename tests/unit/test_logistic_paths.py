"""Cross-validated paths of logistic models: every model is that of its fold, however they are found."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

from logistic_paths import SETTINGS, problem, rows_of
from tenfold import LogisticRegression, hessians
from tenfold.cross_validation import classifier_scores as score_module
from tenfold.cross_validation import logistic_batched, logistic_paths, logistic_per_fold
from tenfold.cross_validation.classifier_scores import SCORES, scores
from tenfold.cross_validation.logistic_paths import paths
from tenfold.cross_validation.logistic_per_fold import follow_newton
from tenfold.losses.classification import loss_of_classes
from tenfold.machine import counting_work
from tenfold.penalties import L2
from tenfold.plans.glm import fit
from tenfold.solvers import quasi_newton_batched

METHODS = ["loop", "cells", "blocks"]


def take(method, monkeypatch):
    """The compiled loop fold by fold, or all models in batches on Hessians of cells, or on blocks of the mean one."""
    monkeypatch.setattr(logistic_per_fold, "LOOP_PRODUCTS", np.inf if method == "loop" else 0)
    if method == "blocks":
        monkeypatch.setattr(logistic_batched, "MAX_COEFFICIENTS", 0)


def objective(X, number, weight, params, strength):
    z = X @ params[:, :-1].T + params[:, -1]
    z = np.column_stack([np.zeros(len(z)), z]) if z.shape[1] == 1 else z
    top = z.max(axis=1)
    loss = np.log(np.sum(np.exp(z - top[:, None]), axis=1)) + top - z[np.arange(len(z)), number]
    return np.average(loss, weights=weight) + 0.5 * strength * np.sum(params[:, :-1] ** 2)


@pytest.mark.parametrize(("classes", "method"), [(2, "loop"), (2, "cells"), (2, "blocks"), (3, "cells"), (3, "blocks")])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("splitter", [KFold(4), ShuffleSplit(3, random_state=0)], ids=["folds", "overlapping"])
def test_each_model_is_the_optimum_of_its_fold(classes, intercept, splitter, method, monkeypatch):
    take(method, monkeypatch)
    X, number = problem(classes=classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    folds = [train for train, _ in splitter.split(X)]
    strengths = np.tile(np.logspace(0, -6, 7), (len(folds), 1)) * np.arange(1, len(folds) + 1)[:, None]
    result = paths(rows_of(X, number, classes, weight), folds, strengths, 0.0, intercept, classes=classes, **SETTINGS)
    assert result.params.shape == (len(folds), 7, 1 if classes == 2 else classes, 6)
    for f, fold in enumerate(folds):
        part = rows_of(X[fold], number[fold], classes, weight[fold])
        for a in (0, 3, 6):
            outputs = 1 if classes == 2 else classes
            alone = fit(part, loss_of_classes(classes), L2(strengths[f, a]), intercept, outputs=outputs, **SETTINGS)
            assert alone.certificate.ok
            here = objective(X[fold], number[fold], weight[fold], result.params[f, a], strengths[f, a])
            assert here <= alone.certificate.objective + 1e-6
            assert intercept or not result.params[f, a, :, -1].any()


@pytest.mark.parametrize("classes", [2, 3])
def test_models_of_a_dense_grid_meet_the_rule_everywhere(classes):
    """Most of them are interpolated, and no pass is spent on them."""
    X, number = problem(n=600, classes=classes)
    folds = [train for train, _ in KFold(3).split(X)]
    strengths = np.tile(np.logspace(0, -7, 60), (3, 1))
    result = paths(rows_of(X, number, classes), folds, strengths, 0.0, True, classes=classes, **SETTINGS)
    assert result.passes < 40
    for f, fold in enumerate(folds):
        for strength, params in zip(strengths[f], result.params[f], strict=True):
            z = X[fold] @ params[:, :-1].T + params[:, -1]
            z = np.column_stack([np.zeros(len(z)), z]) if classes == 2 else z
            q = np.exp(z - z.max(axis=1)[:, None])
            u = q / q.sum(axis=1)[:, None] - np.eye(classes)[number[fold]]
            gradient = u.T @ np.column_stack([X[fold] - X.mean(axis=0), np.ones(len(fold))]) / len(fold)
            gradient = gradient[-len(params) :]
            gradient[:, :-1] += strength * params[:, :-1]
            assert np.abs(gradient).max() <= SETTINGS["tol"]


def slopes_of_classes(X, number, weight, params, strength, intercept):
    """The gradient of the mean loss and the penalty, about the mean of the rows."""
    z = X @ params[:, :-1].T + params[:, -1]
    q = np.exp(z - z.max(axis=1)[:, None])
    u = weight[:, None] * (q / q.sum(axis=1)[:, None] - np.eye(len(params))[number]) / weight.sum()
    gradient = u.T @ (X - X.mean(axis=0) if intercept else X) + strength * params[:, :-1]
    return np.column_stack([gradient, u.sum(axis=0)]) if intercept else gradient


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "kind", [np.ascontiguousarray, sparse.csr_array, np.float32], ids=["dense", "sparse", "single"]
)
@pytest.mark.parametrize("splitter", [KFold(4), ShuffleSplit(3, random_state=0)], ids=["folds", "overlapping"])
def test_every_model_on_blocks_meets_the_criterion(kind, intercept, splitter, monkeypatch):
    """Those that no pass was spent on as well, and those of folds that are alone in their batch."""
    monkeypatch.setattr(logistic_paths, "MULTICLASS_HESSIAN_MAX_COEFFICIENTS", 0)
    monkeypatch.setattr(logistic_batched, "MAX_FOLDS", 2)
    X, number = problem(n=240, p=8, classes=5)
    X = np.ascontiguousarray(kind(X), dtype=np.float64) if kind is np.float32 else X
    X[np.abs(X) < 2.0] = 0.0
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    folds = [train for train, _ in splitter.split(X)]
    strengths = np.tile(np.logspace(0.5, -7, 100), (len(folds), 1)) * np.arange(1, len(folds) + 1)[:, None]
    usual = {**SETTINGS, "tol": 1e-4}
    rows = rows_of(kind(X), number, 5, weight)
    result = paths(rows, folds, strengths, 0.0, intercept, classes=5, **usual)
    assert result.params.shape == (len(folds), 100, 5, 9)
    assert np.count_nonzero(result.iterations) < 0.5 * result.iterations.size
    for f, fold in enumerate(folds):
        for strength, params in zip(strengths[f], result.params[f], strict=True):
            here = slopes_of_classes(X[fold], number[fold], weight[fold], params, strength, intercept)
            assert np.abs(here).max() <= usual["tol"]
            # what may be gained is less than a millionth of what there is to gain
            assert np.sum(here[:, :8] ** 2) / (2.0 * strength) <= 1e-6 * np.log(5)
            assert intercept or not params[:, -1].any()


def test_few_blocks_are_kept(monkeypatch):
    """Factors of blocks that are dropped make no difference to the solutions."""
    monkeypatch.setattr(logistic_paths, "MULTICLASS_HESSIAN_MAX_COEFFICIENTS", 0)
    X, number = problem(n=240, p=8, classes=5)
    folds = [train for train, _ in KFold(3).split(X)]
    strengths = np.tile(np.logspace(0, -5, 30), (3, 1))
    many = paths(rows_of(X, number, 5), folds, strengths, 0.0, True, classes=5, **SETTINGS)
    monkeypatch.setattr(logistic_batched, "BLOCK_NUMBERS", 0)
    few = paths(rows_of(X, number, 5), folds, strengths, 0.0, True, classes=5, **SETTINGS)
    np.testing.assert_allclose(few.params, many.params, atol=1e-3)


def test_one_penalty_and_penalties_that_come_twice_on_blocks(monkeypatch):
    monkeypatch.setattr(logistic_paths, "MULTICLASS_HESSIAN_MAX_COEFFICIENTS", 0)
    X, number = problem(classes=4)
    folds = [np.arange(0, 300, 2), np.arange(1, 300, 2)]
    for grid in (np.repeat(np.logspace(0, -3, 5), 2), np.array([0.1])):
        result = paths(rows_of(X, number, 4), folds, np.tile(grid, (2, 1)), 0.0, True, classes=4, **SETTINGS)
        alone = fit(
            rows_of(X[folds[1]], number[folds[1]], 4), loss_of_classes(4), L2(grid[-1]), True, outputs=4, **SETTINGS
        )
        np.testing.assert_allclose(result.params[1, -1, :, :-1], alone.params.coef, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_penalties_that_come_twice_and_one_alone(method, monkeypatch):
    take(method, monkeypatch)
    X, number = problem()
    folds = [np.arange(0, 300, 2), np.arange(1, 300, 2)]
    for grid in (np.repeat(np.logspace(0, -3, 5), 2), np.array([0.1])):
        result = paths(rows_of(X, number, 2), folds, np.tile(grid, (2, 1)), 0.0, True, classes=2, **SETTINGS)
        alone = fit(
            rows_of(X[folds[1]], number[folds[1]], 2), loss_of_classes(2), L2(grid[-1]), True, outputs=1, **SETTINGS
        )
        np.testing.assert_allclose(result.params[1, -1, 0, :-1], alone.params.coef[0], atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_classes_that_can_be_separated(method, monkeypatch):
    """Weak penalties let the weights grow, folds differ, and a Hessian of all rows is not enough."""
    take(method, monkeypatch)
    X, number = load_breast_cancer(return_X_y=True)
    X = scale(X)
    folds = [train for train, _ in KFold(3, shuffle=True, random_state=0).split(X)]
    strengths = np.tile(np.logspace(0, -8, 9), (3, 1))
    result = paths(rows_of(X, number, 2), folds, strengths, 0.0, True, classes=2, **SETTINGS)
    assert method == "loop" or result.iterations.max() >= quasi_newton_batched.PATIENCE
    for f, fold in enumerate(folds):
        alone = fit(rows_of(X[fold], number[fold], 2), loss_of_classes(2), L2(1e-8), True, outputs=1, **SETTINGS)
        here = objective(X[fold], number[fold], None, result.params[f, -1], 1e-8)
        assert here <= alone.certificate.objective + 1e-6


def test_rows_that_come_twice_and_few_rows_go_alone():
    X, number = problem()
    twice = [np.repeat(np.arange(0, 300, 2), 2), np.arange(150)]
    few = [np.arange(0, 300, 75), np.arange(150)]
    for folds in (twice, few):
        result = paths(rows_of(X, number, 2), folds, np.full((2, 2), 0.1), 0.0, True, classes=2, **SETTINGS)
        for f, fold in enumerate(folds):
            alone = fit(rows_of(X[fold], number[fold], 2), loss_of_classes(2), L2(0.1), True, outputs=1, **SETTINGS)
            np.testing.assert_allclose(result.params[f, 0, 0, :-1], alone.params.coef[0], atol=1e-3)


def test_sparse_rows_and_many_folds():
    X, number = problem(n=80)
    X[np.abs(X) < 3.0] = 0.0
    folds = [np.delete(np.arange(80), k) for k in range(40)]
    strengths = np.full((40, 2), [0.1, 0.01])
    dense, compressed = (
        paths(rows_of(kind(X), number, 2), folds, strengths, 0.0, True, classes=2, **SETTINGS)
        for kind in (np.ascontiguousarray, sparse.csr_array)
    )
    np.testing.assert_allclose(compressed.params, dense.params, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("weighted", [True, False])
def test_scores_are_scikit_learns(classes, name, weighted, monkeypatch):
    monkeypatch.setattr(score_module, "CHUNK_NUMBERS", 500)  # in pieces of rows
    X, number = problem(classes=classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    model = LogisticRegression().fit(X, number)
    # weights so large that probabilities are 0 and 1 in float64
    params = np.column_stack([model.coef_, model.intercept_]) * np.array([0.1, 1.0, 30.0])[:, None, None]
    chosen = np.arange(0, len(X), 3)
    X, all_rows, number = X[chosen], X, number[chosen]
    weight = None if weight is None else weight[chosen]
    result = scores(name, all_rows, chosen, number, weight, params)
    for one, here in zip(params, result, strict=True):
        model.coef_, model.intercept_ = one[:, :-1], one[:, -1]
        assert here == pytest.approx(get_scorer(name)(model, X, number, sample_weight=weight), rel=1e-10)
    with pytest.raises(ZeroDivisionError, match="nothing to score"):
        scores(name, all_rows, chosen, number, np.zeros(len(chosen)), params)


def test_factors_side_by_side_are_the_same():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3, 12, 4))
    each = [hessians.factor_linear(np.einsum("nk,nl->kl", one, one), np.zeros(3)) for one in A]
    singular = hessians.factor_linear(np.diag([1.0, 0.0, 2.0, 1.0]), np.zeros(3))
    mixed = [each[0], each[0], singular, each[1], each[2], singular]
    together_ = hessians.stack_factors(mixed)
    assert isinstance(together_[0], hessians.StackedFactor)
    assert together_[2] is singular
    g = rng.standard_normal((6, 4))
    np.testing.assert_allclose(hessians.solve_each(together_, g), hessians.solve_each(mixed, g), rtol=1e-12)
    np.testing.assert_allclose([one.least for one in together_], [one.least for one in mixed], rtol=1e-12)
    assert hessians.stack_factors([each[0], each[0]]) == [each[0], each[0]]


def test_few_rows_take_few_passes(monkeypatch):
    """A pass takes as long for one model as for all, so that all go at once."""
    take("cells", monkeypatch)
    X, number = problem(n=200)
    folds = [train for train, _ in KFold(5).split(X)]
    strengths = np.tile(np.logspace(0, -6, 20), (5, 1))
    result = paths(rows_of(X, number, 2), folds, strengths, 0.0, True, classes=2, **{**SETTINGS, "tol": 1e-4})
    assert result.passes <= 15
    assert (result.iterations > 0).any()


def slopes(X, number, weight, params, strength, intercept):
    """The largest entries of the gradients of models (A, p + 1) of two classes with penalties (A,)."""
    weight = np.ones(len(X)) if weight is None else weight
    u = (expit(X @ params[:, :-1].T + params[:, -1]) - number[:, None]) * weight[:, None] / weight.sum()
    coefficients = np.abs(u.T @ X + strength[:, None] * params[:, :-1]).max(axis=1)
    return np.maximum(coefficients, np.abs(u.sum(axis=0)) if intercept else 0.0)


def badly_scaled(X):
    return X * np.logspace(-4, 4, X.shape[1])


def with_a_constant(X):
    return np.column_stack([X[:, :2], np.full(len(X), 7.0), X[:, 2:]])


@pytest.mark.parametrize("change", [np.asarray, np.float32, badly_scaled, with_a_constant, lambda X: 1e3 + X])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_models_of_the_compiled_loop_meet_the_criterion(change, intercept, weighted):
    X, number = problem(n=90, p=6)
    X = np.ascontiguousarray(change(X))
    rows = rows_of(X, number, 2, np.random.default_rng(1).uniform(0.0, 2.0, len(X)) if weighted else None)
    folds = [train for train, _ in KFold(4, shuffle=True, random_state=0).split(X)]
    strengths = np.tile(np.logspace(2, -7, 20), (4, 1)) * np.arange(1, 5)[:, None]
    shift = X.mean(axis=0, dtype=np.float64) if intercept else np.zeros(X.shape[1])
    settings = {"shift": shift, "tol": 1e-6, "max_iter": 100}
    with counting_work() as work:
        result = follow_newton(rows, folds, strengths, intercept, **settings)
    reads = work.products / X.size
    assert result.passes * 2 <= reads <= result.passes * (2 + X.shape[1] / 2)
    assert result.iterations.max() < 100
    for f, fold in enumerate(folds):
        weight = None if rows.weight is None else rows.weight[fold]
        away = X[fold].astype(np.float64) - shift
        assert slopes(away, number[fold], weight, result.params[f, :, 0], strengths[f], intercept).max() <= 1e-6
    assert intercept or not result.params[..., -1].any()
    with threadpool_limits(1):
        alone = follow_newton(rows, folds, strengths, intercept, **settings)
    np.testing.assert_array_equal(alone.params, result.params)


def test_compiled_loop_leaves_singular_hessians_to_others():
    """A column twice, under a penalty that is rounding beside its squares."""
    X, number = problem(n=120)
    X = np.column_stack([X, X[:, 0]])
    folds = [train for train, _ in KFold(3).split(X)]
    strengths = np.full((3, 1), 1e-18)
    shift = X.mean(axis=0)
    assert follow_newton(rows_of(X, number, 2), folds, strengths, True, shift=shift, tol=1e-6, max_iter=100) is None
    result = paths(rows_of(X, number, 2), folds, strengths, 0.0, True, classes=2, **SETTINGS)
    lost = X.copy()
    lost[50, 2] = np.nan
    none = np.zeros(X.shape[1])
    assert (
        follow_newton(rows_of(lost, number, 2), folds, strengths + 1.0, True, shift=none, tol=1e-6, max_iter=100)
        is None
    )
    for f, fold in enumerate(folds):
        assert slopes(X[fold], number[fold], None, result.params[f, :, 0], strengths[f], True).max() <= 1e-5
