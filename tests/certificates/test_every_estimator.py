"""Every estimator on every shape of data is certified, and a slow separate formula finds its number again."""

import copy
import dataclasses
import json
import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from slow_formulas import (
    DEVIANCES,
    cosines,
    deviance_objective,
    deviance_optimum,
    dual_gap,
    huber_objective,
    l1_objective,
    l1_value,
    lasso_dual,
    lasso_objective,
    lasso_of,
    lasso_optimum,
    least_squares_objective,
    logistic_objective,
    logistic_optimum,
    machine_objective,
    machine_reference,
    problem_of,
    quantile_optimum,
    ridge,
    softmax_objective,
    softmax_optimum,
)

import tenfold
from design import only_if
from estimators import SHAPES, SOLVED, Data, columns_of, fits, kind_of, parameters, targets_for, zero_weights
from tenfold import Certificate

pytestmark = pytest.mark.covering
every_row = pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)

residual_rows = [row for row in SOLVED if row.kind == "residual"]
gap_rows = [row for row in SOLVED if row.kind == "gap"]


def separable(row, shape):
    """Unpenalised classes in as many dimensions as rows can always be separated: there is no maximum."""
    return row.name == "LogisticRegression" and row.settings.get("C") == np.inf and shape in ("wide", "square")


def beyond(row, shape):
    """A perceptron may need (R / gamma)^2 mistakes: too many passes where the rows are far from the origin."""
    return row.separates and shape == "offset 1e6"


ROWS_AND_SHAPES = [
    pytest.param(row, shape, id=f"{row.id}-{shape}")
    for row in SOLVED
    for shape in SHAPES
    if fits(row, shape) and not separable(row, shape) and not beyond(row, shape)
]


def fit(row, data):
    return row.make().fit(data.X, data.y, sample_weight=data.weight)


def check_residual(row, model, data, certificate, params=None):
    """The number is the largest cosine, known to its floor; the floor is small enough to mean something."""
    problem = problem_of(row, model, data)
    params = parameters(model) if params is None else params
    expected = cosines(problem, params)
    # an exact fit has a residual without direction, which is reported as the floor
    scale = np.sqrt(problem.weight @ problem.Y**2) + np.abs(params[:, :-1]) @ np.sqrt(problem.weight @ problem.X**2)
    sizes = np.sqrt(problem.weight @ (problem.Y - problem.X @ params[:, :-1].T - params[:, -1]) ** 2)
    sizes = np.hypot(sizes, np.sqrt(problem.alpha) * np.linalg.norm(params[:, :-1].astype(float), axis=1))
    exact = sizes <= 1e-14 * scale
    expected = np.where(exact, 0.0, expected)
    assert len(certificate.parts) == len(expected)
    for result, true in zip(certificate.parts, expected, strict=True):
        assert abs(result - max(true, 0.0)) <= certificate.floor + 1e-9 * true
    assert certificate.value == max(certificate.parts)
    assert certificate.value >= certificate.floor > 0.0
    np.testing.assert_allclose(
        certificate.objective,
        least_squares_objective(problem, params),
        rtol=1e-9,
        atol=1e-28 * float(np.max(scale)) ** 2,
    )


def check_gap(row, model, data, certificate, params=None):
    """The number is a gap: sound, at most that of the plain dual point, with objective and bound as they must be."""
    problem = problem_of(row, model, data)
    params = parameters(model) if params is None else params
    X, y, weight = problem.X, problem.Y[:, 0], problem.weight
    strength = problem.alpha[0] / weight.sum()
    w, b = params[0, :-1], params[0, -1]
    best = logistic_optimum(X, y, weight, strength, row.intercept)
    objective = logistic_objective(X, y, weight, strength, w.astype(np.longdouble), b)
    np.testing.assert_allclose(certificate.objective, float(objective), rtol=1e-12)
    assert certificate.value + certificate.floor >= float(objective - best.value)
    assert certificate.lower_bound <= float(best.value) + certificate.floor
    assert certificate.value == max(certificate.objective - certificate.lower_bound, certificate.floor)
    if strength > 0:
        plain = dual_gap(X, y, weight, strength, row.intercept, w, b)
        # far away, where all slopes are 0 or 1, there are several ways to make them sum to zero
        close = 1e-9 if plain <= 1.0 else 1e-3
        assert certificate.value <= max(plain, certificate.floor) * (1 + close) + 4 * certificate.floor
        if plain <= certificate.allowed:
            # good enough at once: this is the number
            assert abs(certificate.value - max(plain, certificate.floor)) <= 4 * certificate.floor + 1e-9 * plain
    np.testing.assert_allclose(certificate.scale, np.log(2.0), rtol=1e-12)


def check_gap_of_classes(row, model, data, certificate):
    """Three classes: sound, and close to the truth near the optimum."""
    problem = problem_of(row, model, data)
    number = np.searchsorted(np.unique(data.y), data.y)
    strength = problem.alpha[0] / problem.weight.sum()
    best = softmax_optimum(problem.X, number, problem.weight, strength, row.intercept, 3)
    params = parameters(model).astype(np.longdouble)
    objective = softmax_objective(problem.X, number, problem.weight, strength, params[:, :-1], params[:, -1])
    np.testing.assert_allclose(certificate.objective, float(objective), rtol=1e-12)
    excess = float(objective - best.value)
    assert certificate.value + certificate.floor >= excess
    assert certificate.ok or certificate.value <= 1.5 * excess + 4 * certificate.floor
    np.testing.assert_allclose(certificate.scale, np.log(3.0), rtol=1e-12)


def check_l1(row, model, data, certificate, params=None):
    """Two classes or more under an L1 penalty: the number is a gap, and sound."""
    problem = problem_of(row, model, data)
    number = np.searchsorted(np.unique(data.y), data.y)
    params = (parameters(model) if params is None else params).astype(np.longdouble)
    l1 = problem.alpha[0] / problem.weight.sum()
    best = l1_value(problem.X, number, problem.weight, float(l1), row.intercept, len(params))
    objective = float(l1_objective(problem.X, number, problem.weight, l1, params))
    np.testing.assert_allclose(certificate.objective, objective, rtol=1e-12)
    assert certificate.value + certificate.floor >= objective - best
    assert certificate.lower_bound <= best + certificate.floor
    expected = max(certificate.objective - certificate.lower_bound, certificate.floor)
    assert abs(certificate.value - expected) <= certificate.floor
    np.testing.assert_allclose(certificate.scale, np.log(len(model.classes_)), rtol=1e-12)


def check_count(row, model, data, certificate, params=None):
    """The number is that of rows with weight whose own score is not the best."""
    inside = np.ones(len(data.y), bool) if data.weight is None else data.weight > 0
    label = np.searchsorted(model.classes_, np.asarray(data.y)[inside])
    z = model.decision_function(data.X)[inside]
    if z.ndim == 1:
        wrong = np.where(label == 1, z, -z) <= 0
    else:
        wrong = np.sum(z >= z[np.arange(len(z)), label][:, None], axis=1) > 1
    assert certificate.value == wrong.sum()
    assert certificate.parts == tuple(float(np.sum(wrong & (label == k))) for k in range(len(model.classes_)))
    weight = np.ones(len(z)) if data.weight is None else data.weight[inside]
    np.testing.assert_allclose(certificate.objective, weight[wrong].sum() / weight.sum(), rtol=1e-12)
    assert "margin" in certificate.note


def check_deviance(row, model, data, certificate, params=None):
    """The number is a gap: sound, with objective and scale as they must be."""
    problem = problem_of(row, model, data)
    params = parameters(model) if params is None else params
    X, y, weight, strength = problem.X, problem.Y[:, 0], problem.weight, problem.alpha[0]
    loss, (w, b) = DEVIANCES[row.name], (params[0, :-1].astype(np.longdouble), params[0, -1])
    best = deviance_optimum(loss, X, y, weight, strength, row.intercept)
    objective = deviance_objective(loss, X, y, weight, strength, w, b)
    np.testing.assert_allclose(certificate.objective, float(objective), rtol=1e-10, atol=certificate.floor)
    assert certificate.value + certificate.floor >= float(objective - best.value)
    assert certificate.lower_bound <= float(best.value) + certificate.floor
    # far from the optimum the bound may be zero, which every loss has
    assert certificate.value <= max(certificate.objective - certificate.lower_bound, certificate.floor) * (1 + 1e-9)
    constant = np.zeros(X.shape[1], np.longdouble)
    mean = weight @ y / weight.sum()
    z = (np.log(mean) if row.counts else mean) if row.intercept else 0.0
    scale = deviance_objective(loss, X, y, weight, 0.0, constant, z)
    np.testing.assert_allclose(certificate.scale, float(scale), rtol=1e-9)


def check_lasso(row, model, data, certificate, params=None):
    """The number of each problem is a gap: sound, and at most that of the plain dual points."""
    problem = problem_of(row, model, data)
    params = parameters(model) if params is None else params
    whole = lasso_of(problem, model, joint=row.matrix)
    W, b = params[:, :-1].T.astype(np.longdouble), params[:, -1]
    mean = problem.weight @ problem.X / problem.weight.sum()
    off = b + W.T @ mean - problem.weight @ problem.Y / problem.weight.sum()
    off = off if problem.intercept else np.zeros_like(off)
    parts = [slice(None)] if whole.joint else [slice(k, k + 1) for k in range(W.shape[1])]
    assert len(certificate.parts) == len(parts)
    total = 0.0
    for value, part in zip(certificate.parts, parts, strict=True):
        lasso = whole._replace(Y=whole.Y[:, part])
        objective = lasso_objective(lasso, W[:, part]) + np.sum(off[part] ** 2) / 2
        plain = float(objective - lasso_dual(lasso, W[:, part]))
        assert value + certificate.floor >= float(objective - lasso_optimum(lasso, W[:, part]))
        assert value <= max(plain, certificate.floor) * (1 + 1e-9) + 4 * certificate.floor
        if plain <= certificate.allowed:
            assert abs(value - max(plain, certificate.floor)) <= 4 * certificate.floor + 1e-9 * plain
        total += float(objective)
    np.testing.assert_allclose(certificate.objective, total, rtol=1e-9, atol=certificate.floor)
    if len(parts) == 1:
        assert certificate.scale == pytest.approx(float(np.sum(whole.Y**2)) / 2, rel=1e-9)


def check_exact(row, model, data, certificate, params=None):
    """The number is by how much, as a share of the target's squares, these weights leave more than the best columns."""
    problem = problem_of(row, model, data)
    params = parameters(model) if params is None else params
    X, Y, weight = (np.asarray(part, dtype=float) for part in (problem.X, problem.Y, problem.weight))
    root = np.sqrt(weight)[:, None]
    centre = weight @ X / weight.sum() if row.intercept else np.zeros(X.shape[1])
    A, B = root * (X - centre), root * (Y - weight @ Y / weight.sum() if row.intercept else Y)

    def left(t, some):
        r = B[:, t] - A[:, some] @ np.linalg.lstsq(A[:, some], B[:, t], rcond=None)[0] if len(some) else B[:, t]
        return r @ r

    for t, part in enumerate(certificate.parts):
        some = np.flatnonzero(params[t, :-1])
        own = weight @ (Y[:, t] - X @ params[t, :-1].astype(float) - float(params[t, -1])) ** 2
        sets = combinations(range(X.shape[1]), len(some)) if X.shape[1] < 10 else [some]
        best = min(left(t, list(chosen)) for chosen in sets)
        expected = (own - best) / (B[:, t] @ B[:, t])
        assert abs(part - max(expected, 0.0)) <= 2 * certificate.floor + 1e-9 * max(1.0, expected)
    assert certificate.lower_bound <= certificate.objective + certificate.floor


def check_matching(row, model, data, certificate, params=None):
    """The number is how far these weights are from those of the steps of `path_`, taken on the rows themselves."""
    problem = problem_of(row, model, data)
    params = parameters(model) if params is None else params
    X, Y, weight = (np.asarray(part, dtype=float) for part in (problem.X, problem.Y, problem.weight))
    root = np.sqrt(weight)[:, None]
    mean, means = weight @ X / weight.sum(), weight @ Y / weight.sum()
    A, B = root * (X - mean), root * (Y - means)
    lengths = np.linalg.norm(A, axis=0)
    for t, (path, part) in enumerate(
        zip([model.path_] if len(params) == 1 else model.path_, certificate.parts, strict=True)
    ):
        w, r = np.zeros(X.shape[1]), B[:, t].copy()
        for j in path:
            v = A[:, j] @ r / lengths[j] ** 2
            w[j] += v
            r -= v * A[:, j]
        size = np.linalg.norm(B[:, t])
        away = abs(params[t, -1] + params[t, :-1] @ mean - means[t]) * np.sqrt(weight.sum()) / size
        expected = max(np.max(np.abs(params[t, :-1] - w) * lengths) / size, away)
        assert abs(part - expected) <= 2 * certificate.floor + 1e-9 * max(1.0, expected)


def check_huber(row, model, data, certificate, params=None):
    """The objective by a slow formula; the bound is below the objective of every other fit that is tried."""
    problem = problem_of(row, model, data)
    params = parameters(model) if params is None else params
    w, b = params[0, :-1].astype(np.longdouble), np.longdouble(params[0, -1])
    given = (problem.X, problem.Y[:, 0], problem.weight, problem.alpha[0], model.epsilon)
    objective = float(huber_objective(*given, w, b, np.longdouble(model.scale_)))
    np.testing.assert_allclose(certificate.objective, objective, rtol=1e-9)
    assert abs(certificate.value - objective + certificate.lower_bound) <= 1e-6 * certificate.value + certificate.floor
    best = row.make().fit(data.X, data.y, sample_weight=data.weight)
    rng = np.random.default_rng(0)
    for size in (0.0, 1e-3, 1e-2):
        w, b = (part[0] for part in np.split(parameters(best), [-1], axis=1))
        moved = w + size * rng.standard_normal(len(w))
        other = huber_objective(*given, moved.astype(np.longdouble), b[0], np.longdouble(best.scale_) * (1 + size))
        assert certificate.lower_bound <= float(other) + certificate.floor


def check_quantile(row, model, data, certificate, params=None):
    """The objective by a slow formula, and the optimum by linear programming."""
    problem = problem_of(row, model, data)
    params = parameters(model) if params is None else params
    X, y, weight = (np.asarray(part, dtype=float) for part in (problem.X, problem.Y[:, 0], problem.weight))
    r = y - X @ params[0, :-1] - params[0, -1]
    pinball = np.where(r > 0, model.quantile * r, (model.quantile - 1) * r)
    objective = weight @ pinball / weight.sum() + model.alpha * np.abs(params[0, :-1]).sum()
    best = quantile_optimum(X, y, weight, model.quantile, model.alpha)
    np.testing.assert_allclose(certificate.objective, objective, rtol=1e-9, atol=certificate.floor)
    assert certificate.lower_bound <= best + certificate.floor + 1e-9 * certificate.scale
    assert certificate.value + certificate.floor + 1e-9 * certificate.scale >= objective - best


def check_machine(row, model, data, certificate, params=None):
    """The objective by a slow formula; the bound is below what liblinear or libsvm reach, and below our best fit."""
    problem = problem_of(row, model, data)
    params = parameters(model) if params is None else params
    given = (model, problem.X, problem.Y[:, 0], problem.weight)
    objective = float(machine_objective(*given, params[0, :-1], params[0, -1]))
    np.testing.assert_allclose(certificate.objective, objective, rtol=1e-9, atol=certificate.floor)
    best = parameters(row.make().fit(data.X, data.y, sample_weight=data.weight))
    others = [(best[0, :-1], best[0, -1])]
    if np.abs(problem.X).max() < 1e5:  # beyond, neither of them comes to an end
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            others.append(machine_reference(*given))
    for w, b in others:
        reached = float(machine_objective(*given, w, b))
        assert certificate.lower_bound <= reached + certificate.floor
        assert certificate.value + certificate.floor >= objective - reached


def check_machines(row, model, data, certificate):
    """Three classes: each against the others, and the certificate is that of the worst."""
    assert len(certificate.parts) == len(model.classes_) == 3
    params, alone = parameters(model), []
    for k, name in enumerate(model.classes_):
        one = copy.deepcopy(model)
        one.classes_ = np.array([False, True])
        one.coef_, one.intercept_ = model.coef_[k : k + 1], model.intercept_[k : k + 1]
        mine = Data(data.X, data.y == name, data.weight)
        alone.append(tenfold.certify(one, *mine))
        check_machine(row, one, mine, alone[-1], params[k : k + 1])
    result = max(alone, key=lambda one: one.value / one.allowed)
    np.testing.assert_allclose(certificate.parts, [one.value for one in alone], rtol=1e-6, atol=certificate.floor)
    assert certificate.objective == pytest.approx(result.objective, rel=1e-12)


def check_evidence(row, model, data, certificate, params=None):
    """One update of the fixed point, or the gradient of the evidence, at the posterior of the precisions."""
    params = parameters(model) if params is None else params
    weight = np.ones(len(data.y)) if data.weight is None else np.asarray(data.weight, dtype=float)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    X, y, root = np.asarray(X, dtype=float), np.asarray(data.y, dtype=float), np.sqrt(weight)
    means, mean = (weight @ X / weight.sum(), weight @ y / weight.sum()) if row.intercept else (0.0 * X[0], 0.0)
    A, b, alpha = root[:, None] * (X - means), root * (y - mean), model.alpha_
    each = np.broadcast_to(np.asarray(model.lambda_, dtype=float), A.shape[1])
    kept = np.flatnonzero(each < getattr(model, "threshold_lambda", np.inf))
    A, precisions, w = A[:, kept], each[kept], params[0, kept].astype(float)
    # singular values do not square the condition of the samples
    _, s, V = np.linalg.svd(A / np.sqrt(precisions))
    turn = V.T / np.sqrt(precisions)[:, None]
    covariance = turn / (1.0 + alpha * np.append(s, np.zeros(len(V) - len(s))) ** 2) @ turn.T
    if certificate.value == np.inf:
        expected = alpha * covariance @ A.T @ b
        away = np.max(np.abs(w - expected) / np.sqrt(np.diag(covariance)))
        shift = np.sqrt(alpha * weight.sum()) * abs(params[0, -1] - mean + params[0, :-1].astype(float) @ means)
        assert max(away, shift) > 1e-5
        return
    errors, determined = np.sum((b - A @ w) ** 2), 1.0 - precisions * np.diag(covariance)
    a1, a2, l1, l2, count = model.alpha_1, model.alpha_2, model.lambda_1, model.lambda_2, weight.sum()
    if np.ndim(model.lambda_):
        weights = l1 - l2 * precisions + 0.5 * (determined - precisions * w * w)
        noise = a1 - a2 * alpha + 0.5 * (count - determined.sum() - alpha * errors)
        expected = np.max(np.abs(np.append(weights, noise))) / count
    else:
        new = (determined.sum() + 2 * l1) / (w @ w + 2 * l2)
        noise = (count - determined.sum() + 2 * a1) / (errors + 2 * a2)
        expected = max(abs(np.log(new / model.lambda_)), abs(np.log(noise / alpha)))
    assert abs(certificate.value - expected) <= 4 * certificate.floor + 1e-6 * expected + 1e-10


def check_number(row, model, data, certificate, params=None):
    gap = check_lasso if row.lasso else check_deviance if row.name in DEVIANCES else check_gap
    gap = {"HuberRegressor": check_huber, "QuantileRegressor": check_quantile}.get(row.name, gap)
    gap = check_l1 if "l1_ratio" in row.settings and row.classifier else gap
    gap = check_machine if row.name in ("LinearSVC", "LinearSVR") else gap
    exact = check_matching if row.name == "MatchingPursuit" else check_exact
    kinds = {
        "residual": check_residual,
        "gap": gap,
        "count": check_count,
        "exact": exact,
        "stationarity": check_evidence,
    }
    check = kinds[certificate.kind]
    check(row, model, data, certificate, params)


@pytest.mark.parametrize(("row", "shape"), ROWS_AND_SHAPES)
def test_is_certified(row, shape):
    data = SHAPES[shape](row)
    model = fit(row, data)
    certificate = model.certificate_
    assert isinstance(certificate, Certificate)
    assert certificate.kind == kind_of(row, model)
    assert certificate.ok, certificate.explain()
    assert certificate.value <= certificate.allowed == max(certificate.tol * certificate.scale, certificate.floor)
    # rounding must not excuse a bad fit: in float64 the floor stays below what is allowed anyway
    single = model.coef_.dtype == np.float32
    assert certificate.floor <= (1e-3 if single else 1e-6) * certificate.scale
    check_number(row, model, data, certificate)


@pytest.mark.parametrize(("row", "shape"), ROWS_AND_SHAPES)
def test_certify_equals_certificate_of_fit(row, shape):
    """Judged again from outside, from the model and the data alone."""
    data = SHAPES[shape](row)
    model = fit(row, data)
    again = tenfold.certify(model, data.X, data.y, sample_weight=data.weight)
    assert again.kind == kind_of(row, model)
    assert again.ok, again.explain()
    assert abs(again.value - model.certificate_.value) <= 2 * max(again.floor, model.certificate_.floor)
    np.testing.assert_allclose(again.objective, model.certificate_.objective, rtol=1e-9, atol=1e-20)
    check_number(row, model, data, again)


@every_row
def test_a_fit_leaves_its_data_alone(row):
    data = SHAPES["zero weights"](row)
    before = [np.array(part, copy=True) for part in data]
    fit(row, data)
    for part, kept in zip(data, before, strict=True):
        np.testing.assert_array_equal(part, kept)


# -- worsened models -------------------------------------------------------------------------------------------------


def scale_weights(row, model, data):
    # a gap sees an error e of the weights as e^2: 1e-3 of them cost less than 1e-6 of the objective, which is allowed
    model.coef_ = model.coef_ * (1.001 if row.kind == "residual" else 1.03)


def one_weight_off(row, model, data):
    coef = np.array(model.coef_, copy=True)
    where = np.unravel_index(np.argmax(np.abs(coef)), coef.shape)
    coef[where] *= 1.001 if row.kind == "residual" else 1.05
    model.coef_ = coef


def intercept_off(row, model, data):
    spread = 1.0 if row.classifier else float(np.std(np.asarray(data.y, dtype=float)))
    model.intercept_ = model.intercept_ + (1e-3 if row.kind == "residual" else 0.02) * spread


def turn(row, model, data):
    """On the other side of everything, or with the votes of the beginning."""
    if row.linear:
        model.coef_, model.intercept_ = -model.coef_, -model.intercept_
    else:
        voters = model._voters
        model._voters = dataclasses.replace(voters, step=-voters.step, up=voters.down, down=voters.up)


def move_far(row, model, data):
    if row.linear:
        model.intercept_ = model.intercept_ + 10 * np.abs(model.decision_function(data.X)).max()
    else:
        model.votes_ = np.zeros_like(model.votes_)
        model._voters = dataclasses.replace(model._voters, votes=model.votes_)


WORSENINGS = [scale_weights, one_weight_off, intercept_off]
COUNTED = [turn, move_far]
"""What makes mistakes."""


@pytest.mark.parametrize("worsen", WORSENINGS + COUNTED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", ["tall", "zero weights", "sparse", "float32", "offset 1e6"])
@every_row
@only_if(lambda row, shape, worsen: (worsen in COUNTED) is row.separates and not beyond(row, shape))
# features that are nearly equal: what differs between them is far below their rounding
@only_if(lambda row, shape, worsen: row.intercept or (worsen is not intercept_off and shape != "offset 1e6"))
def test_a_worsened_copy_is_not_certified(row, shape, worsen):
    data = SHAPES[shape](row)
    model = fit(row, data)
    worse = copy.deepcopy(model)
    worsen(row, worse, data)
    certificate = tenfold.certify(worse, data.X, data.y, sample_weight=data.weight)
    assert not certificate.ok
    assert "do not rely" in certificate.explain()
    assert "NOT OK" in repr(certificate)
    check_number(row, worse, data, certificate)
    # the model itself is as good as before
    assert tenfold.certify(model, data.X, data.y, sample_weight=data.weight).ok


@every_row
def test_a_model_of_other_data_is_not_certified(row):
    data, other = SHAPES["tall"](row), row.data(60, 4, seed=9)
    assert not tenfold.certify(fit(row, data), other.X, other.y).ok


@every_row
def test_left_out_weights_are_noticed(row):
    data = SHAPES["zero weights"](row)
    assert not tenfold.certify(fit(row, data), data.X, data.y).ok


@pytest.mark.parametrize("row", [row for row in SOLVED if row.iterative], ids=lambda row: row.id)
def test_one_iteration_is_not_enough(row):
    """A fit that is cut short warns with the certificate's sentence, and is not ok."""
    X, y, _ = SHAPES["tall"](row)
    if row.classifier:
        # nearly separated classes: the first step falls short; a pass of a perceptron, where they overlap
        z = X @ np.arange(1.0, 5.0)
        noise = 6.0 if row.kind == "count" else 0.3
        y = np.where(z + noise * np.random.default_rng(0).standard_normal(60) > np.median(z), "bee", "ant")
    else:
        y = X @ np.arange(1.0, 5.0)
        y = targets_for(row, np.exp(0.3 * y) if row.counts else y)
    with pytest.warns(ConvergenceWarning, match=row.name) as caught:
        model = row.make(max_iter=1).fit(X, y)
    assert not model.certificate_.ok
    assert any(model.certificate_.explain() in str(warning.message) for warning in caught)
    assert not tenfold.certify(model, X, y).ok
    check_number(row, model, Data(X, y), model.certificate_)


def test_conjugate_gradients_cut_short():
    """Both dimensions beyond the square matrices: the iterative ridge, judged apart from its stopping rule."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((2300, 2200), density=0.002, rng=rng, format="csr")
    X = sparse.csr_array(X + sparse.diags_array(np.linspace(0.1, 3.0, 2300)[:2200], shape=(2300, 2200)))
    y = X @ rng.standard_normal(2200) + 0.1 * rng.standard_normal(2300)
    with pytest.warns(ConvergenceWarning, match="Ridge"):
        cut = tenfold.Ridge(alpha=1e-3, max_iter=2).fit(X, y)
    assert cut.solver_ == "sparse_cg"
    assert not cut.certificate_.ok
    assert cut.certificate_.status == "iteration limit"
    full = tenfold.Ridge(alpha=1e-3).fit(X, y)
    assert full.certificate_.ok
    assert full.n_iter_[0] > 2
    mean = np.asarray(X.mean(axis=0)).ravel()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=0)).ravel() - len(y) * mean**2 + 1e-3)
    for model in (cut, full):
        r = y - model.predict(X)
        gradient = X.T @ r - mean * r.sum() - 1e-3 * model.coef_
        size = np.sqrt(r @ r + 1e-3 * model.coef_ @ model.coef_)
        result = max(np.max(np.abs(gradient) / lengths), abs(r.sum()) / np.sqrt(len(y))) / size
        np.testing.assert_allclose(model.certificate_.value, result, rtol=1e-6, atol=2 * model.certificate_.floor)


# -- several targets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", [row for row in SOLVED if row.multi_output and not row.matrix], ids=lambda row: row.id)
def test_parts_list_every_target(row):
    X, _, _ = SHAPES["tall"](row)
    Y = columns_of(row, 3)
    model = row.make().fit(X, Y)
    assert len(model.certificate_.parts) == 3
    assert model.certificate_.ok
    check_number(row, model, Data(X, Y), model.certificate_)
    worse = copy.deepcopy(model)
    worse.coef_ = worse.coef_ * np.array([[1.0], [1.01], [1.0]])
    certificate = tenfold.certify(worse, X, Y)
    assert not certificate.ok
    assert np.argmax(certificate.parts) == 1
    assert certificate.parts[0] <= 1e-6 >= certificate.parts[2]


@pytest.mark.parametrize("row", [row for row in SOLVED if row.classes > 2], ids=lambda row: row.id)
def test_several_classes(row):
    X, y, _ = row.data(90, 4, count=3)
    model = row.make().fit(X, y)
    assert model.certificate_.ok
    check = {"LinearSVC": check_machines}.get(row.name, check_gap_of_classes)
    if row.kind != "gap":
        assert len(model.certificate_.parts) == 3
        check_number(row, model, Data(X, y), model.certificate_)
        return
    check = check_l1 if "l1_ratio" in row.settings else check
    check(row, model, Data(X, y), model.certificate_)
    again = tenfold.certify(model, X, y)
    assert again.ok
    assert abs(again.value - model.certificate_.value) <= 2 * again.floor
    for worsen in (scale_weights, one_weight_off, intercept_off):
        if worsen is intercept_off:
            model.intercept_ = model.intercept_ + np.array([0.04, 0.0, 0.0]) * row.intercept
            if not row.intercept:
                continue
        worse = copy.deepcopy(model)
        if worsen is not intercept_off:
            worsen(row, worse, Data(X, y))
        certificate = tenfold.certify(worse, X, y)
        assert not certificate.ok
        check(row, worse, Data(X, y), certificate)


# -- radius and decided for least squares ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0.0, 1e-8, 1e-4, 1e-1])
@pytest.mark.parametrize(
    "row", [row for row in residual_rows if row.unique and not row.positive], ids=lambda row: row.id
)
def test_the_radius_of_a_ridge_contains_the_optimum(row, size):
    data = SHAPES["zero weights"](row)
    model = fit(row, data)
    best = ridge(problem_of(row, model, data)).astype(float)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = copy.deepcopy(model)
        moved.coef_ = model.coef_ + size * rng.standard_normal(np.shape(model.coef_))
        certificate = tenfold.certify(moved, data.X, data.y, sample_weight=data.weight)
        params = parameters(moved)
        away = np.linalg.norm(params[:, :-1] - best[:, :-1], axis=1).max()
        assert away <= certificate.radius * (1 + 1e-12) + 1e-15
        if size >= 1e-4:
            assert certificate.radius <= 1e6 * away
        probes = np.vstack([data.X, 3.0 * rng.standard_normal((10, data.X.shape[1]))])
        sure = np.asarray(certificate.decided(probes)).reshape(len(probes), -1)
        here = probes @ params[:, :-1].T + params[:, -1]
        there = probes @ best[:, :-1].T + best[:, -1]
        assert np.all(np.sign(here)[sure] == np.sign(there)[sure])


@pytest.mark.parametrize("row", [row for row in SOLVED if not row.unique], ids=lambda row: row.id)
def test_decided_needs_a_penalty(row):
    data = SHAPES["tall"](row)
    model = fit(row, data)
    assert model.certificate_.radius is None
    with pytest.raises(ValueError, match="penalty"):
        model.certificate_.decided(data.X)


@every_row
@only_if(lambda row: row.unique and not (row.positive or row.robust))
def test_decided_takes_what_predict_takes(row):
    data = SHAPES["sparse"](row)
    model = fit(row, data)
    dense = model.certificate_.decided(data.X.toarray())
    np.testing.assert_array_equal(model.certificate_.decided(data.X), dense)
    np.testing.assert_array_equal(model.certificate_.decided(data.X.toarray().tolist()), dense)
    assert dense.dtype == bool
    # a fit at the optimum decides all rows whose prediction is clear
    scores = model.decision_function(data.X) if row.classifier else model.predict(data.X)
    assert np.all(dense[np.abs(scores) > 1e-3 * np.abs(scores).max()])


# -- the certificate as an object ------------------------------------------------------------------------------------


@every_row
def test_words_and_plain_values(row):
    certificate = fit(row, SHAPES["tall"](row)).certificate_
    sentence = certificate.explain()
    assert f"{certificate.value:.2g}" in sentence
    assert f"{certificate.allowed:.2g}" in sentence
    assert sentence.rstrip().endswith(".")
    assert "do not rely" not in sentence
    assert repr(certificate).startswith("<Certificate ok:")
    assert len(repr(certificate)) < 100
    assert "\n" not in repr(certificate)
    plain = certificate.to_dict()
    again = json.loads(json.dumps(plain, allow_nan=False))
    assert again == plain
    assert again["ok"] is True
    for name in (
        "kind",
        "value",
        "scale",
        "tol",
        "floor",
        "objective",
        "lower_bound",
        "radius",
        "condition",
        "status",
        "parts",
    ):
        assert name in again


def test_a_certificate_cannot_be_changed():
    certificate = fit(SOLVED[0], SHAPES["tall"](SOLVED[0])).certificate_
    with pytest.raises(AttributeError):
        certificate.value = 0.0


@pytest.mark.parametrize("row", [row for row in SOLVED if row.kind == "residual"], ids=lambda row: row.id)
@only_if(lambda row: not (row.unique or row.positive or row.selects or row.units))
def test_singular_system_is_reported_with_its_condition(row):
    data = SHAPES["collinear"](row)
    certificate = fit(row, data).certificate_
    assert certificate.condition > 1e10
    assert "singular" in certificate.explain() or certificate.condition < 1e15


# -- unpenalised classification --------------------------------------------------------------------------------------


def free_logistic():
    return next(row for row in gap_rows if row.settings.get("C") == np.inf)


@pytest.mark.parametrize("shape", ["wide", "square"])
def test_separable_classes_have_no_maximum(shape):
    row = free_logistic()
    data = SHAPES[shape](row)
    with pytest.warns(ConvergenceWarning, match="no maximum"):
        model = fit(row, data)
    assert model.certificate_.status == "no maximum"
    assert not model.certificate_.ok
    assert "no maximum" in model.certificate_.explain()
    check_direction(model, data)


def check_direction(model, data):
    """The direction separates: every row strictly on its side."""
    direction = np.ravel(model.separating_direction_)
    sign = np.where(np.asarray(data.y) == model.classes_[1], 1.0, -1.0)
    keep = np.ones(len(sign), bool) if data.weight is None else data.weight > 0
    X = np.column_stack([data.X, np.ones(len(sign))]) if direction.size == data.X.shape[1] + 1 else data.X
    z = X @ direction
    if direction.size == data.X.shape[1]:
        assert np.min(z[keep & (sign > 0)]) > np.max(z[keep & (sign < 0)])
    else:
        assert np.all((sign * z)[keep] > 0)


@pytest.mark.parametrize("gap_between", [1e-6, 1e-2, 5.0])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cholesky"])
def test_separable_in_one_dimension(gap_between, solver):
    rng = np.random.default_rng(0)
    x = np.concatenate([-gap_between - rng.exponential(size=30), gap_between + rng.exponential(size=30)])
    data = Data(x[:, None], np.repeat(["ant", "bee"], 30))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = tenfold.LogisticRegression(C=np.inf, solver=solver).fit(data.X, data.y)
    assert any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    assert model.certificate_.status == "no maximum"
    assert not model.certificate_.ok
    check_direction(model, data)


def test_separable_but_for_rows_without_weight():
    """Rows of weight zero do not help: the rest is separable."""
    X = np.array([[-2.0], [-1.0], [1.0], [2.0], [5.0], [-5.0]])
    y = np.array(["ant", "ant", "bee", "bee", "ant", "bee"])
    weight = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    with pytest.warns(ConvergenceWarning):
        model = tenfold.LogisticRegression(C=np.inf).fit(X, y, sample_weight=weight)
    assert model.certificate_.status == "no maximum"


def test_quasi_separable_classes_are_not_certified():
    """A tie at the border: no finite maximum either, and no false certificate of one."""
    X = np.array([[-2.0], [-1.0], [0.0], [0.0], [1.0], [2.0]])
    y = np.array(["ant", "ant", "ant", "bee", "bee", "bee"])
    with pytest.warns(ConvergenceWarning):
        model = tenfold.LogisticRegression(C=np.inf).fit(X, y)
    assert not model.certificate_.ok or model.certificate_.value >= 2 * np.log(2.0) / 6 - model.certificate_.objective


@every_row
# a splitter sees rows of weight zero, and classes are counted with them
@only_if(lambda row: not (row.chooses or "balanced" in str(row.settings)))
def test_zero_weights_in_the_certificate_are_removed_rows(row):
    data = SHAPES["tall"](row)
    weight = zero_weights(60)
    keep = weight > 0
    model = row.make().fit(data.X, data.y, sample_weight=weight)
    fewer = tenfold.certify(model, data.X[keep], np.asarray(data.y)[keep], sample_weight=weight[keep])
    assert fewer.ok
    np.testing.assert_allclose(fewer.objective, model.certificate_.objective, rtol=1e-12)
