"""CMU 10-601, lecture 11: the perceptron. The worked trace (slide 14), ties, margins, the bound and its proof."""

from itertools import pairwise, product

import numpy as np
import pytest

from tenfold import (
    AveragedPerceptron,
    Perceptron,
    StructuredPerceptron,
    VotedPerceptron,
    bounds,
    margins,
    separability,
)

X = np.array([[-1.0, 2.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, -2.0], [1.0, -1.0]])
Y = np.array([-1, 1, 1, -1, -1, 1])


def perceptron(**settings):
    return Perceptron(fit_intercept=False, shuffle=False, record=True, **settings)


@pytest.mark.parametrize("tie", ["mistake", "positive"])
def test_the_worked_trace(tie):
    """Mistakes at examples 1, 3 and 5; weights (1, -2), (2, -1), (3, 1); the second pass is clean."""
    weights = []
    for rows in range(1, 7):
        model = perceptron(tie=tie, max_iter=1, tol=None)
        for i in range(rows):
            model.partial_fit(X[i : i + 1], Y[i : i + 1], classes=[-1, 1])
        weights.append(model.coef_[0].tolist())
    assert weights == [[1, -2], [1, -2], [2, -1], [2, -1], [3, 1], [3, 1]]
    model = perceptron(tie=tie).fit(X, Y)
    assert model.mistakes_.tolist() == [0, 2, 4]
    assert model.coef_.tolist() == [[3.0, 1.0]]
    assert model.n_iter_ == 2
    assert model.certificate_.ok


def test_a_tie_matters_where_a_positive_comes_first():
    """(1, 0) first: three mistakes if zero predicts +, one if zero is a mistake."""
    order = [1, 0, 2, 3, 4, 5]
    first = perceptron(tie="mistake").fit(X[order], Y[order])
    assert (first.n_mistakes_, first.coef_.tolist()) == (1, [[1.0, 0.0]])
    second = perceptron(tie="positive").fit(X[order], Y[order])
    assert (second.n_mistakes_, second.coef_.tolist()) == (3, [[3.0, 1.0]])


def test_margins_and_the_bound():
    """R^2 = 5, the best margin through the origin is 1, so at most 5 mistakes; that of (3, 1) is 1 / sqrt(10)."""
    best = separability(X, Y, fit_intercept=False)
    np.testing.assert_allclose([best.lower, best.upper], 1.0, rtol=1e-9)
    np.testing.assert_allclose(best.coef, [1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(margins(X, Y, [3.0, 1.0]).of_set, 1 / np.sqrt(10))
    bound = bounds.mistake_bound(np.linalg.norm(X, axis=1).max(), best.lower)
    np.testing.assert_allclose(bound, 5.0)
    model = perceptron().fit(X, Y)
    assert model.n_mistakes_ == 3 <= bound
    trace = bounds.mistake_trace(Y[model.mistakes_, None] * X[model.mistakes_], [1.0, 0.0])
    assert trace.along.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(np.sqrt(trace.squares), [2.236, 2.236, 3.162], atol=5e-4)
    assert trace.holds


@pytest.mark.parametrize("cls", [Perceptron, AveragedPerceptron, VotedPerceptron])
@pytest.mark.parametrize("factor", [100.0, 0.01])
def test_scale_does_not_change_the_mistakes(cls, factor):
    """Slide 18."""
    a, b = (cls(fit_intercept=False, shuffle=False).fit(Z, Y) for Z in (X, factor * X))
    assert a.n_mistakes_ == b.n_mistakes_
    assert np.array_equal(a.predict(X), b.predict(factor * X))


def test_the_step_size_changes_nothing_but_the_length():
    """Rosasco 9.1 has a step size; from zero only directions matter."""
    a, b = (perceptron(eta0=eta).fit(X, Y) for eta in (1.0, 0.25))
    np.testing.assert_array_equal(a.coef_, 4.0 * b.coef_)
    assert a.n_mistakes_ == b.n_mistakes_


def test_inseparable_data_cycle():
    """Slide 26 needs a cap on the passes: exclusive or cycles, and that is noticed and proved."""
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    model = Perceptron(shuffle=False, tol=None, max_iter=10_000).fit(corners, [0, 0, 1, 1])
    assert model.status_ == "cycling"
    assert model.n_iter_ < 50
    assert separability(corners, [0, 0, 1, 1]).separable is False


def test_seegers_normalisation():
    """Seeger 2.3.2: rows of length one have the better bound, and fewer updates where some rows are long."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal(5)
    w /= np.linalg.norm(w)
    updates = {"normalised": [], "as they are": []}
    for seed in range(20):
        draws = np.random.default_rng(seed).standard_normal((2000, 5))
        draws /= np.linalg.norm(draws, axis=1)[:, None]
        rows = draws[np.abs(draws @ w) >= 0.1][:200]
        label = (rows @ w > 0).astype(int)
        long = rows * np.where(np.arange(200) % 10 == 0, 20.0, 1.0)[:, None]
        for name, normalize in (("normalised", True), ("as they are", False)):
            model = Perceptron(fit_intercept=False, normalize=normalize, tol=None, max_iter=10_000, random_state=seed)
            updates[name].append(model.fit(long, label).n_mistakes_)
            assert model.certificate_.ok
        gamma = separability(rows, label, fit_intercept=False).lower
        raw = separability(long, label, fit_intercept=False).lower
        assert updates["normalised"][-1] <= bounds.mistake_bound(1.0, gamma)
        assert bounds.mistake_bound(1.0, gamma) <= bounds.mistake_bound(20.0, raw) * (1 + 1e-6)
    assert np.mean(updates["normalised"]) < np.mean(updates["as they are"])


def features_of(x, path, tags):
    """phi(x, y) of slide 28, as one vector: tokens of each tag, pairs of tags, and the two ends."""
    tokens, pairs, ends = np.zeros((tags, x.shape[1])), np.zeros((tags, tags)), np.zeros((2, tags))
    np.add.at(tokens, np.array(path), x)
    for a, b in pairwise(path):
        pairs[a, b] += 1.0
    ends[0, path[0]] = ends[1, path[-1]] = 1.0
    return np.concatenate([tokens.ravel(), pairs.ravel(), ends.ravel()])


def test_the_bound_of_the_structured_perceptron():
    """Slide 28: updates are at most (R / gamma)^2, whatever the number of paths, and the smallest case is a row."""
    rng = np.random.default_rng(3)
    for length, tags in ((4, 3), (1, 3)):
        rows = [rng.standard_normal((length, 5)) for _ in range(8)]
        y = [np.argmax(x[:, :tags], axis=1) for x in rows]
        model = StructuredPerceptron(max_iter=1000, average=False).fit(rows, y)
        assert model.certificate_.ok
        w = np.concatenate([model.coef_.ravel(), model.transition_.ravel(), model.start_, model.end_])
        differences = np.array([
            features_of(x, gold, tags) - features_of(x, path, tags)
            for x, gold in zip(rows, y, strict=True)
            for path in product(range(tags), repeat=length)
            if list(path) != gold.tolist()
        ])  # fmt: skip
        gamma, radius = np.min(differences @ w) / np.linalg.norm(w), np.linalg.norm(differences, axis=1).max()
        assert f"The smallest margin is {gamma:.3g}" in model.certificate_.note
        assert sum(line.sequences for line in model.trace_) <= bounds.mistake_bound(radius, gamma)
