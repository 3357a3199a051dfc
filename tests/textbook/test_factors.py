"""Non-negative matrix factorization in the Machine Learning Cookbook: chapter 9 and appendix B.5.

Cases are columns there, X (D x N) close to W H; rows are cases here, so that X, W and H are transposed.
"""

import warnings

import numpy as np
import pytest

import tenfold


@pytest.fixture
def figure_9_1():
    """A matrix of 5 x 10 independent uniform numbers."""
    return np.random.default_rng(0).uniform(size=(10, 5))


def multiply_by_hand(X, W, H, steps):
    """(9.3) and (9.4): H <- H * (W'X) / (W'W H), then W <- W * (X H') / (W H H'), entry by entry; and the errors."""
    errors = []
    for _ in range(steps):
        W = W * (X @ H.T) / (W @ H @ H.T)
        H = H * (W.T @ X) / (W.T @ W @ H)
        errors.append(np.sum((X - W @ H) ** 2))
    return W, H, errors


def test_9_multiplicative_updates_are_those_of_the_text(figure_9_1):
    """Algorithm 5, from the same start."""
    X, rng = figure_9_1, np.random.default_rng(1)
    W, H = rng.uniform(size=(10, 2)), rng.uniform(size=(2, 5))
    _, own, _ = multiply_by_hand(X, W, H, 50)
    model = tenfold.NMF(2, init="custom", solver="mu", tol=0, max_iter=50).fit(X, W=W, H=H)
    np.testing.assert_allclose(model.components_, own, rtol=1e-9)


def test_9_the_error_never_rises_and_stays_above_that_of_the_singular_vectors(figure_9_1):
    """ "Local optima": 2000 steps end near one, not below the sum of the squares of the other singular values."""
    X, rng = figure_9_1, np.random.default_rng(1)
    _, _, errors = multiply_by_hand(X, rng.uniform(size=(10, 2)), rng.uniform(size=(2, 5)), 2000)
    bound = np.sum(np.linalg.svd(X, compute_uv=False)[2:] ** 2)
    assert np.all(np.diff(errors) <= 1e-12)
    assert errors[-1] >= bound * (1.0 - 1e-12)
    model = tenfold.NMF(2, tol=1e-8, max_iter=5000).fit(X)
    certificate = tenfold.certify(model, X)
    np.testing.assert_allclose(2.0 * certificate.lower_bound, bound, rtol=1e-9)
    assert certificate.ok
    assert 2.0 * certificate.objective <= errors[-1] * (1.0 + 1e-6)


def test_B_5_the_multiplicative_step_is_a_gradient_step_with_a_rate_for_each_entry(figure_9_1):
    """With rate H / (W'W H) the additive step (9.2) is the multiplicative one; factors 2 are part of the rate."""
    X, rng = figure_9_1, np.random.default_rng(1)
    W, H = rng.uniform(size=(10, 2)), rng.uniform(size=(2, 5))
    gradient = W.T @ W @ H - W.T @ X
    np.testing.assert_allclose(H - H / (W.T @ W @ H) * gradient, H * (W.T @ X) / (W.T @ W @ H))


def test_B_5_the_gradient_of_the_trace_has_a_factor_of_two(figure_9_1):
    """The last trace of (B.19) has the wrong sign: ||X - W H||^2 = tr X'X - 2 tr X'W H + tr (W H)'W H."""
    X, rng = figure_9_1, np.random.default_rng(1)
    W, H = rng.uniform(size=(10, 2)), rng.uniform(size=(2, 5))
    Y = W @ H
    square = np.trace(X.T @ X) - 2.0 * np.trace(X.T @ Y) + np.trace(Y.T @ Y)
    np.testing.assert_allclose(np.sum((X - Y) ** 2), square)
    step = np.zeros_like(H)
    step[1, 2] = 1e-6
    slope = (np.sum((X - W @ (H + step)) ** 2) - np.sum((X - W @ (H - step)) ** 2)) / 2e-6
    np.testing.assert_allclose(slope, 2.0 * (W.T @ W @ H - W.T @ X)[1, 2], rtol=1e-6)


def test_9_gradient_steps_without_projection_leave_the_factors(figure_9_1):
    """Additive steps (9.2) do not keep factors at least zero, which the text does not say."""
    X, rng = figure_9_1, np.random.default_rng(1)
    W, H = rng.uniform(size=(10, 2)), 0.05 * rng.uniform(size=(2, 5))
    for _ in range(200):
        H = H - 0.05 * (W.T @ W @ H - W.T @ X)
    assert H.min() < 0.0


def test_9_epsilon_of_algorithm_5_vanishes():
    """1e-19 beside entries of the order of one is nothing in double precision; zeros in X need no protection."""
    assert 1.0 + 1e-19 == 1.0
    X = np.diag([1.0, 2.0, 3.0])
    model = tenfold.NMF(3, init="random", random_state=0, tol=1e-6, max_iter=5000).fit(X)
    assert model.certificate_.ok
    assert np.isfinite(model.components_).all()


def test_9_plsa_is_the_factorization_by_kullback_leibler():
    """A step of EM for pLSA, p(w|z) and p(z|d), leaves the factors of that loss where they are, not those of (9.1)."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3.0 * rng.uniform(size=(12, 8))).astype(np.float64) + 1.0
    W, H = rng.uniform(size=(12, 2)), rng.uniform(size=(2, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tenfold.NMF(2, init="custom", solver="mu", beta_loss="kullback-leibler", tol=1e-7, max_iter=20_000)
        model.fit(counts, W=W, H=H)
    joint = (model.transform(counts)[:, :, None] * model.components_).transpose(1, 0, 2)  # p(z, d, w), unnormalised
    topics = joint.sum(axis=1) / joint.sum(axis=(1, 2))[:, None]
    shares = joint.sum(axis=2).T / joint.sum(axis=(0, 2))[:, None]
    ratio = counts / (shares @ topics)
    again, mixed = topics * (shares.T @ ratio), shares * (ratio @ topics.T)
    np.testing.assert_allclose(again / again.sum(axis=1, keepdims=True), topics, atol=1e-6)
    np.testing.assert_allclose(mixed / mixed.sum(axis=1, keepdims=True), shares, atol=1e-6)


def test_9_topic_retrieval():
    """Documents of two topics with words of their own: each component has the words of one topic."""
    rng = np.random.default_rng(0)
    words = np.array([[5, 4, 3, 0, 0, 0, 1], [0, 0, 0, 4, 5, 3, 1]], dtype=np.float64)
    topic = np.arange(60) % 2
    X = rng.poisson(words[topic]).astype(np.float64)
    model = tenfold.NMF(2, max_iter=2000)
    W = model.fit_transform(X)
    assert model.certificate_.ok
    found = np.argmax(W * model.components_.sum(axis=1), axis=1)
    assert np.mean(found == topic) in (0.0, 1.0)
    first, second = model.components_[[found[0], found[1]]]
    assert set(np.argsort(first)[-3:]) == {0, 1, 2}
    assert set(np.argsort(second)[-3:]) == {3, 4, 5}


def test_B_5_projected_gradient_steps_descend(figure_9_1):
    """(9.2) with one rate for all entries, the inverse of the largest curvature, and projected, never rises; both rules
    end at stationary points.
    """
    X, rng = figure_9_1, np.random.default_rng(1)
    W, H = rng.uniform(size=(10, 2)), rng.uniform(size=(2, 5))
    errors = []
    for steps in (1, 2, 5, 20, 100):
        model = tenfold.NMF(2, init="custom", solver="pg", tol=0, max_iter=steps).fit(X, W=W, H=H)
        errors.append(model.reconstruction_err_)
    assert np.all(np.diff(errors) <= 1e-12)
    for solver in ("pg", "mu"):
        model = tenfold.NMF(2, init="custom", solver=solver, tol=1e-4, max_iter=20_000).fit(X, W=W, H=H)
        assert model.certificate_.ok
        assert model.certificate_.objective >= tenfold.certify(model, X).lower_bound
