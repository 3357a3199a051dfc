"""Margins of rows, theorems about mistakes, and classes that are proved to be separable or not."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.optimize import linprog
from sklearn.svm import SVC

import tenfold
from estimators import apart, classes
from tenfold import bounds, margins, separability
from tenfold.judge.margin_bracket import bracket

few = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 0.5, 3.0])


def hulls_meet(X, sign, intercept):
    """By a linear program: whether a convex combination of the one class is one of the other."""
    sums = [sign > 0, sign < 0] if intercept else [np.ones(len(sign), bool)]
    A = np.vstack([(sign[:, None] * X).T, *[group[None, :].astype(float) for group in sums]])
    b = np.append(np.zeros(X.shape[1]), np.ones(len(sums)))
    return linprog(np.zeros(len(X)), A_eq=A, b_eq=b).status == 0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@example(X=np.array([[-1.0, -1.0], [-2.0, -1.0], [-2.0, -1.0], [-1.0, -1.0]]))  # four dependent columns
@given(X=hnp.arrays(np.float64, st.tuples(st.integers(3, 9), st.integers(1, 3)), elements=few))
def test_whatever_is_called_is_right(intercept, kind, X):
    y = np.arange(len(X)) % 2
    result = separability(kind(X), y, fit_intercept=intercept)
    assert result.separable is not None, "small whole numbers can always be decided"
    assert result.separable is not hulls_meet(X, np.where(y == 1, 1.0, -1.0), intercept)
    assert 0.0 <= result.lower <= result.upper * (1 + 1e-9) + 1e-12
    if result.separable:
        by = margins(X, y, result.coef, result.intercept if intercept else None)
        assert by.of_set >= result.lower > 0.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("p", [2, 5, 20])
def test_the_largest_margin_is_that_of_a_hard_margin_machine(seed, p):
    X, y, _ = apart(80, p, seed)
    machine = SVC(kernel="linear", C=1e9, tol=1e-8).fit(X, y)
    expected = 1.0 / np.linalg.norm(machine.coef_)
    result = separability(X, y)
    assert result.separable is True
    assert result.certificate.ok, result.certificate.explain()
    np.testing.assert_allclose([result.lower, result.upper], expected, rtol=1e-5)
    moved = separability(X + 1e4, y)
    np.testing.assert_allclose(moved.lower, expected, rtol=1e-4)


@pytest.mark.parametrize("p", [2, 6, 30])
def test_classes_that_overlap_are_proved_to(p):
    X, y, _ = classes(40 * p, p)
    result = separability(X, y)
    assert result.separable is False
    assert (result.lower, result.upper) == (0.0, 0.0)
    assert "hulls of the classes meet" in result.certificate.explain()


def test_one_row_in_both_classes():
    X = np.array([[0.1, 0.2], [0.3, 0.7], [0.1, 0.2], [0.9, 0.4]])
    assert separability(X, [0, 0, 1, 1]).separable is False
    X[2] += 1e-4
    assert separability(X, [0, 0, 1, 1]).separable is True


def test_invalid_proofs_are_rejected():
    """The judge believes neither a direction nor a combination."""
    X, y, _ = apart(40, 3)
    sign = np.where(y == "bee", 1.0, -1.0)
    good = separability(X, y)
    shares = np.ones(len(good.support))
    worse = bracket(X, sign, -good.coef, good.support, shares, True)
    assert worse.lower == 0.0
    assert worse.separable is None
    assert worse.upper >= good.upper
    assert bracket(X, sign, np.zeros(3), good.support[:1], np.ones(1), True).upper == np.inf


def test_seegers_margin_takes_rows_to_length_one():
    X, y, _ = apart(60, 4)
    scaled = X * np.linspace(0.1, 20.0, 60)[:, None]
    a, b = (separability(Z, y, fit_intercept=False, normalize=True) for Z in (X, scaled))
    assert a.separable
    np.testing.assert_allclose(a.lower, b.lower, rtol=1e-5)
    result = margins(X, y, a.coef)
    np.testing.assert_allclose(result.normalised_of_set, a.lower, rtol=1e-6)


def test_margins_distances_and_projections():
    rng = np.random.default_rng(0)
    X, w, b = rng.standard_normal((30, 3)), np.array([1.0, -2.0, 0.5]), 0.7
    y = rng.integers(0, 2, 30)
    for kind in (np.asarray, sparse.csr_array):
        result = margins(kind(X), y, w, b)
        sign = np.where(y == 1, 1.0, -1.0)
        np.testing.assert_allclose(result.functional, sign * (X @ w + b), rtol=1e-12)
        np.testing.assert_allclose(result.geometric, result.functional / np.linalg.norm(w), rtol=1e-12)
        A, v = np.column_stack([X, np.ones(30)]), np.append(w, b)
        cosine = sign * (A @ v) / np.linalg.norm(A, axis=1) / np.linalg.norm(v)
        np.testing.assert_allclose(np.cos(result.angles), cosine, rtol=1e-9, atol=1e-12)
        feet = result.projections(kind(X))
        np.testing.assert_allclose(feet @ w + b, 0.0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(X - feet, axis=1), np.abs(result.distances(kind(X))), rtol=1e-9)
        assert abs(result.origin @ w + b) < 1e-12
        assert result.mistakes == np.sum(result.functional <= 0)
        assert result.slab == 0.0
    twice = margins(X, y, 2 * w, 2 * b)
    np.testing.assert_allclose(twice.geometric, result.geometric, rtol=1e-12)


def test_bad_input():
    X, y = np.eye(3), [0, 1, 0]
    with pytest.raises(ValueError, match="not all zero"):
        margins(X, y, np.zeros(3))
    with pytest.raises(ValueError, match="one number a column"):
        margins(X, y, np.ones(2))
    with pytest.raises(ValueError, match="y holds 3"):
        separability(X, [0, 1, 2])
    with pytest.raises(ValueError, match="NaN"):
        separability(X * np.nan, y)
    with pytest.raises(ValueError, match="normalize needs rows"):
        separability(np.zeros((2, 2)), [0, 1], normalize=True)
    with pytest.raises(ValueError, match="margin must be positive"):
        bounds.mistake_bound(1.0, 0.0)
    with pytest.raises(ValueError, match="shortfalls"):
        bounds.mistake_bound_inseparable(1.0, 1.0, [-1.0])
    with pytest.raises(ValueError, match="direction"):
        bounds.mistake_trace(np.eye(2), np.zeros(2))


@pytest.mark.parametrize("seed", range(5))
def test_mistakes_stay_below_their_bounds(seed):
    """On separable rows over all passes, on others over one; and the inequalities of the proof at every mistake."""
    X, y, _ = apart(60, 3, seed)
    A = np.column_stack([X, np.ones(60)])
    model = tenfold.Perceptron(fit_intercept=False, max_iter=100_000, tol=None, record=True, random_state=seed)
    model.fit(A, y)
    best = separability(A, y, fit_intercept=False)
    radius = np.linalg.norm(A, axis=1).max()
    assert model.n_mistakes_ <= bounds.mistake_bound(radius, best.lower)
    sign = np.where(y == "bee", 1.0, -1.0)
    trace = bounds.mistake_trace(sign[model.mistakes_, None] * A[model.mistakes_], best.coef)
    assert trace.holds
    k = np.arange(1, len(trace.along) + 1)
    assert np.all(trace.along >= k * best.lower * (1 - 1e-9))
    assert np.all(trace.squares <= k * radius**2 * (1 + 1e-12))
    X, y, _ = classes(60, 3, seed)
    once = tenfold.Perceptron(fit_intercept=False, max_iter=1, tol=None).fit(X, y)
    w = np.random.default_rng(seed).standard_normal(3)
    w /= np.linalg.norm(w)
    for margin in (0.1, 1.0):
        short = np.maximum(0.0, margin - np.where(y == "bee", 1.0, -1.0) * (X @ w))
        assert once.n_mistakes_ <= bounds.mistake_bound_inseparable(np.linalg.norm(X, axis=1).max(), margin, short)
