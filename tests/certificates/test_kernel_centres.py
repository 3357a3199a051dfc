"""Kernel least squares on centres: the bound is above the true excess, and what was changed is not certified."""

import copy
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from test_tamper import judge, survivors

import tenfold
from tenfold.data import MemoryRows
from tenfold.judge import kernel_centres
from tenfold.kernels import Gaussian, Laplacian, Polynomial
from tenfold.plans import kernel_centres as plan
from tenfold.stats.derivatives import Params


def make(n=300, p=3, seed=0, offset=0.0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, offset + scale * (np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(n)), rng


def minimum(K, Kmm, y, s, penalty, intercept):
    """The least objective, by least squares on the stacked system in the coordinates of an eigendecomposition."""
    values, vectors = np.linalg.eigh(Kmm)
    inside = values > 1e-13 * values[-1]
    T = vectors[:, inside] / np.sqrt(values[inside])
    A, b = np.sqrt(s)[:, None] * (K @ T), np.sqrt(s) * y
    if intercept:
        one = np.sqrt(s)
        A, b = A - np.outer(one, one @ A), b - one * (one @ b)
    stacked = np.vstack([A, np.sqrt(penalty) * np.eye(A.shape[1])])
    right = np.concatenate([b, np.zeros(A.shape[1])])
    u = np.linalg.lstsq(stacked, right, rcond=None)[0]
    return 0.5 * np.sum((right - stacked @ u) ** 2)


def objective(K, Kmm, y, s, penalty, c, b):
    r = y - K @ c - b
    return 0.5 * s @ r**2 + 0.5 * penalty * c @ Kmm @ c


KERNELS = [Gaussian(1.0), Gaussian(5.0), Laplacian(2.0), Polynomial(3, 0.5, 1.0), 1e6 * Gaussian(1.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [1e-8, 1e-4, 1.0])
def test_bound_is_above_the_excess_of_any_coefficients(kernel, intercept, penalty):
    X, y, rng = make(offset=3.0)
    Z, weight = X[:25], rng.uniform(0.0, 2.0, len(X))
    K, Kmm, s = kernel(X, Z), kernel(Z), weight / weight.sum()
    best = minimum(K, Kmm, y, s, penalty, intercept)
    model = tenfold.Falkon(penalty, kernel=kernel, centres=Z, fit_intercept=intercept).fit(X, y, weight)
    own = np.zeros(len(Z))
    for z, c in zip(model.centres_, model.dual_coef_, strict=True):
        own[np.flatnonzero((z == Z).all(axis=1))[0]] = c
    rows = MemoryRows(X, y[:, None], weight)
    assert model.certificate_.ok
    for size in (0.0, 1e-10, 1e-6, 1e-2, 1.0):
        c = own + size * np.abs(own).max() * rng.standard_normal(len(own))
        b = model.intercept_ + (size if intercept else 0.0)
        given = Params(c[:, None], np.array([b]))
        certificate = kernel_centres.certify(rows, kernel, Z, given, penalty, intercept)
        excess = objective(K, Kmm, y, s, penalty, c, b) - best
        assert certificate.value >= excess - 1e-12 * max(abs(best), 1.0)
        assert certificate.lower_bound <= best + 1e-12 * max(abs(best), 1.0)
        assert_allclose(certificate.objective, objective(K, Kmm, y, s, penalty, c, b), rtol=1e-9)
        assert not certificate.ok or excess <= certificate.allowed


def test_bound_is_the_formula_of_the_gradient():
    X, y, rng = make()
    kernel, Z, penalty = Laplacian(1.0), X[:20], 0.1
    K, Kmm, n = kernel(X, Z), kernel(Z), len(X)
    c, b = rng.standard_normal(20), 0.3
    r = y - K @ c - b
    g = -K.T @ r / n + penalty * Kmm @ c
    g_b = -r.mean()
    h = g - g_b * K.mean(axis=0)
    expected = h @ np.linalg.solve(Kmm, h) / (2.0 * penalty) + 0.5 * g_b**2
    rows = MemoryRows(X, y[:, None], None)
    certificate = kernel_centres.certify(rows, kernel, Z, Params(c[:, None], np.array([b])), penalty, True)
    assert_allclose(certificate.value, expected, rtol=1e-6)
    assert_allclose(certificate.scale, 0.5 * y.var(), rtol=1e-12)


@pytest.mark.parametrize("distance", [0.0, 1e-9, 1e-6])
def test_dependent_centres_are_judged_in_their_span(distance):
    """Coefficients of twins that cancel, or share what one would have, give the function of one."""
    X, y, _ = make()
    kernel, penalty = Gaussian(1.0), 1e-3
    model = tenfold.Falkon(penalty, kernel=kernel, centres=X[:20]).fit(X, y)
    one = model.dual_coef_
    Z = np.vstack([model.centres_, model.centres_ + distance])
    rows = MemoryRows(X, y[:, None], None)
    b = np.array([model.intercept_])
    for c in (np.concatenate([one, 0.0 * one]), np.concatenate([0.3 * one, 0.7 * one])):
        certificate = kernel_centres.certify(rows, kernel, Z, Params(c[:, None], b), penalty, True)
        assert certificate.ok or distance == 1e-6
        wrong = kernel_centres.certify(rows, kernel, Z, Params(1.01 * c[:, None], b), penalty, True)
        assert not wrong.ok
        assert wrong.value >= objective(
            kernel(X, Z), kernel(Z), y, np.full(len(y), 1 / len(y)), penalty, 1.01 * c, b[0]
        ) - minimum(kernel(X, Z), kernel(Z), y, np.full(len(y), 1 / len(y)), penalty, True)
    opposite = np.concatenate([one + 1e5, 0.0 * one - 1e5])
    certificate = kernel_centres.certify(rows, kernel, Z, Params(opposite[:, None], b), penalty, True)
    assert not certificate.ok or distance == 0.0
    assert "in whose span the others are" in certificate.note or distance == 1e-6


@pytest.mark.parametrize(
    ("coef", "penalty"), [(np.full((20, 1), np.nan), 0.1), (np.zeros((20, 1)), 0.0), (np.full((20, 1), 1e200), 0.1)]
)
def test_what_cannot_be_judged_is_not_ok(coef, penalty):
    X, y, _ = make()
    rows = MemoryRows(X, y[:, None], None)
    certificate = kernel_centres.certify(rows, Gaussian(), X[:20], Params(coef, np.zeros(1)), penalty, True)
    assert not certificate.ok
    assert certificate.value == np.inf


def test_targets_of_no_variance_and_of_any_size():
    X, y, _ = make()
    for target in (np.zeros(300), np.full(300, 5.0), 1e-150 * y, 1e100 * y, y + 1e6):
        model = tenfold.Falkon(centres=20, random_state=0).fit(X, target)
        assert model.certificate_.ok
        assert tenfold.certify(model, X, target).ok


def test_worst_target_decides():
    X, y, _ = make()
    Y = np.column_stack([y, X[:, 1] ** 2])
    model = tenfold.Falkon(centres=20, random_state=0).fit(X, Y)
    assert len(model.certificate_.parts) == 2
    worse = copy.deepcopy(model)
    worse.dual_coef_[:, 1] *= 1.001
    certificate = tenfold.certify(worse, X, Y)
    assert not certificate.ok
    assert certificate.value == certificate.parts[1] > certificate.parts[0]


def fits():
    X, y, rng = make()
    labels = np.array(["ant", "bee", "cat"])[np.digitize(y, [-0.5, 0.5])]
    weight, thin = rng.uniform(0.0, 2.0, len(X)), sparse.csr_array(np.where(X > 0.5, X, 0.0))
    yield "regression", tenfold.Falkon(centres=15, random_state=0, tol=1e-12), X, y
    yield "choice", tenfold.Falkon([1e-6, 1e-3], gamma=[0.1, 1.0], centres=15, random_state=0, tol=1e-12), X, y
    yield "several targets", tenfold.Falkon(centres=15, random_state=0, tol=1e-12), X, np.column_stack([y, weight])
    yield "no intercept", tenfold.Falkon(centres=15, fit_intercept=False, random_state=0, tol=1e-12), X, y
    yield (
        "sparse",
        tenfold.Falkon(centres=15, random_state=0, tol=1e-12),
        thin,
        y,
    )
    yield "float32", tenfold.Falkon(centres=15, random_state=0, tol=1e-12), X.astype(np.float32), y
    yield "classes", tenfold.FalkonClassifier(centres=15, random_state=0, tol=1e-12), X, labels
    yield "two classes", tenfold.FalkonClassifier(centres=15, random_state=0, tol=1e-12), X, labels == "ant"


@pytest.mark.parametrize(("model", "X", "y"), [pytest.param(*rest, id=name) for name, *rest in fits()])
def test_tampered_model_is_not_certified(model, X, y):
    model = model.fit(X, y)
    assert judge(model, X, y).ok
    assert survivors(model, X, y) == []


def test_wrong_penalty_kernel_and_samples_are_not_certified():
    X, y, rng = make()
    model = tenfold.Falkon(1e-4, gamma=0.5, centres=15, random_state=0).fit(X, y)
    for change in ({"alpha": 1e-3}, {"gamma": 0.6}, {"kernel": "laplacian"}):
        other = copy.deepcopy(model).set_params(**change)
        assert not tenfold.certify(other, X, y).ok
    assert not tenfold.certify(model, X, rng.permutation(y)).ok
    assert not tenfold.certify(model, X, y, np.linspace(0.0, 1.0, len(y))).ok
    other = copy.deepcopy(model)
    other.kernel_ = Gaussian(1.1)
    assert not tenfold.certify(other, X, y).ok


def test_budget_of_steps_is_not_ok(monkeypatch):
    monkeypatch.setattr(plan, "STEPS_SPENT", 0.0)
    X, y, _ = make(4000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tenfold.Falkon(1e-9, gamma=1.0, centres=200, max_iter=1, random_state=0).fit(X, y)
    assert not model.certificate_.ok
    assert model.certificate_.status == "iteration limit"


def test_kernel_error_is_that_of_the_projection():
    """Of all samples, as there are few: one minus the squares of the projections on the centres."""
    X, y, _ = make(200)
    model = tenfold.Falkon(centres=15, random_state=0).fit(X, y)
    K, Kmm = model.kernel_(X, model.centres_), model.kernel_(model.centres_)
    missed = np.mean(1.0 - np.einsum("ij,ij->i", K, np.linalg.solve(Kmm, K.T).T))
    assert f"Over all 200 samples the centres miss {missed:.2g} of k(x, x) on average." in model.certificate_.note


def test_kernel_error_of_a_sample_has_hoeffdings_bound():
    X, y, _ = make(3000)
    model = tenfold.Falkon(centres=50, random_state=0).fit(X, y)
    K, Kmm = model.kernel_(X, model.centres_), model.kernel_(model.centres_)
    missed = np.mean(1.0 - np.einsum("ij,ij->i", K, np.linalg.solve(Kmm, K.T).T))
    words = model.certificate_.note.split()
    most = float(words[words.index("most") + 1])
    measured = float(words[words.index("miss") + 1])
    assert_allclose(most, measured + np.sqrt(np.log(20.0) / 800.0), atol=0.01)
    assert measured < 3.0 * missed
    assert missed <= most


def hard_problem(rng):
    """Samples and targets of any scale and offset, repeated samples and centres, weights of zero, and a penalty."""
    n, p = int(rng.integers(5, 200)), int(rng.integers(1, 6))
    X = rng.standard_normal((n, p)) * 10.0 ** rng.uniform(-3.0, 3.0) + rng.choice([0.0, 0.0, 1e3, 1e6])
    X = np.round(X) if rng.random() < 0.3 else X
    y = np.sin(X[:, 0] / (X[:, 0].std() or 1.0)) + rng.uniform() * rng.standard_normal(n)
    y = 10.0 ** rng.uniform(-6.0, 6.0) * y + rng.choice([0.0, 0.0, 1e3])
    weight = rng.exponential(size=n) * (rng.random(n) < 0.8) + 1e-300 if rng.random() < 0.5 else np.ones(n)
    size = float(np.median(np.linalg.norm(X - X.mean(axis=0), axis=1))) + 1e-9
    width = size * 10.0 ** rng.uniform(-1.0, 1.0)
    kernels = [
        Gaussian(width),
        Laplacian(width),
        10.0 ** rng.uniform(-6, 6) * Gaussian(size),
        Polynomial(2, size**-2.0, 1.0),
    ]
    Z = X[rng.choice(n, int(rng.integers(1, min(n, 30) + 1)), replace=rng.random() < 0.3)]
    return (
        X,
        y,
        weight,
        kernels[rng.integers(len(kernels))],
        Z,
        10.0 ** rng.uniform(-10.0, 2.0),
        bool(rng.random() < 0.5),
    )


@pytest.mark.parametrize("block", range(5))
def test_random_attack(block):
    """On hard data no bound is below the excess of a reference, whether coefficients are those of a fit or not."""
    certified = 0
    for seed in range(40 * block, 40 * block + 40):
        rng = np.random.default_rng(seed)
        X, y, weight, kernel, Z, penalty, intercept = hard_problem(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = tenfold.Falkon(penalty, kernel=kernel, centres=Z, fit_intercept=intercept).fit(X, y, weight)
            except ValueError:  # all of the kernel is zero, or overflows
                continue
        certified += model.certificate_.ok
        s, K, Kmm = weight / weight.sum(), kernel(X, model.centres_), kernel(model.centres_)
        best = minimum(K, Kmm, y - s @ y if intercept else y, s, penalty, intercept)
        rows = MemoryRows(X, y[:, None], weight)
        for change in (0.0, 1e-8, 1e-4, 0.1):
            c = model.dual_coef_ * (1.0 + change * rng.standard_normal(len(K.T)))
            b = model.intercept_ * (1.0 + change * rng.standard_normal())
            given = Params(c[:, None], np.array([b]))
            certificate = kernel_centres.certify(rows, kernel, model.centres_, given, penalty, intercept)
            excess = objective(K, Kmm, y, s, penalty, c, b) - best
            rounding = certificate.floor + 1e-12 * (abs(best) + certificate.scale)
            assert excess <= certificate.value + rounding
            assert not certificate.ok or excess <= certificate.allowed + rounding
    assert certified >= 32
