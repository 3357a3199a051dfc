"""Rosasco, sections 4.3 and 8.1, and Seeger, section 7.2.1: the number of steps is a regularisation parameter."""

import numpy as np

from tenfold import Ridge, SpectralFilter


def _curve(n=30, degree=19, seed=0):
    """Seeger, figure 7.3: sin(2 pi x) with noise of variance 1/16, 20 powers."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    X = np.polynomial.legendre.legvander(2.0 * x - 1.0, degree)[:, 1:]
    return X, np.sin(2.0 * np.pi * x) + 0.25 * rng.standard_normal(n), x


def test_training_error_falls_and_validation_error_is_u_shaped():
    """Seeger, figure 7.4."""
    X, y, _ = _curve()
    test, _, where = _curve(500, seed=1)
    model = SpectralFilter("pcr", n_steps=19).fit(X, y)
    truth = np.sin(2.0 * np.pi * where)
    training = [np.mean((fit - y) ** 2) for fit in model.predict_path(X)]
    validation = [np.mean((fit - truth) ** 2) for fit in model.predict_path(test)]
    assert np.all(np.diff(training) <= 1e-12)
    best = int(np.argmin(validation))
    assert 0 < best < len(validation) - 1
    assert validation[-1] > 2.0 * validation[best]
    assert validation[model.step_] < 0.5 * validation[-1]


def test_gradient_descent_decreases_the_error_at_every_step():
    """Rosasco, 8.1: G(w_t) >= G(w_(t+1)) with step 1 / L."""
    X, y, _ = _curve()
    errors = [np.mean((fit - y) ** 2) for fit in SpectralFilter(stop=300).fit(X, y).predict_path(X)]
    assert np.all(np.diff(errors) <= 1e-12)


def test_steps_take_the_place_of_the_penalty():
    """1 - (1 - s / s_1)^t and s / (s + s_1 / t) are within a factor of two: t steps are a penalty s_1 / t."""
    X, y, _ = _curve()
    first = np.linalg.norm(X - X.mean(axis=0), 2) ** 2
    for t in (3, 30, 300):
        stopped = SpectralFilter(stop=t).fit(X, y)
        ridge = Ridge(first / t).fit(X, y)
        A = X - X.mean(axis=0)
        s, V = np.linalg.eigh(A.T @ A)
        kept = s > 1e-10 * first
        ratio = (V.T @ stopped.coef_)[kept] / (V.T @ ridge.coef_)[kept]
        assert np.all((ratio > 0.99) & (ratio < 2.0))


def test_filters_of_section_4_3():
    """(M + lambda I)^-1 = V diag(1 / (s + lambda)) V' is one step of iterated Tikhonov; many approach the inverse."""
    X, y, _ = _curve(40, 5)
    exact = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]
    path = SpectralFilter("iterated_tikhonov", stop=60, alpha=1.0).fit(X, y).coef_path_[:, 0]
    sizes = np.linalg.norm(path - exact, axis=1)
    assert np.all(np.diff(sizes) <= 1e-12)
    assert sizes[-1] < 1e-6 * sizes[0]


def test_too_many_features_of_the_wrong_kind_need_early_stopping():
    """The curse of the number of features: columns of noise, of which gradient descent learns the last."""
    rng = np.random.default_rng(0)
    X = np.hstack([3.0 * rng.standard_normal((60, 2)), rng.standard_normal((60, 50))])
    test = np.hstack([3.0 * rng.standard_normal((500, 2)), rng.standard_normal((500, 50))])
    y, truth = X[:, 0] - X[:, 1] + rng.standard_normal(60), test[:, 0] - test[:, 1]
    model = SpectralFilter(n_steps=3000).fit(X, y)
    errors = [np.mean((fit - truth) ** 2) for fit in model.predict_path(test)]
    assert 0 < model.step_ < 3000
    assert errors[model.step_] < 0.9 * errors[-1]
