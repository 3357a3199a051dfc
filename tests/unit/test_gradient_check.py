"""Gradients, Hessians and convexity: what is right passes, what is wrong is named."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess

from tenfold import check_convexity, check_gradient, check_hessian


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("q", [1, 2, 20])
def test_right_gradients_and_hessians_agree(q, scale):
    x = np.random.default_rng(q).standard_normal(max(q, 2))
    assert check_gradient(lambda x: scale * rosen(x), lambda x: scale * rosen_der(x), x).ok
    assert check_hessian(lambda x: scale * rosen_der(x), lambda x: scale * rosen_hess(x), x).ok


@pytest.mark.parametrize("j", [0, 3, 7])
def test_the_wrong_coordinate_is_named(j):
    def wrong(x):
        g = rosen_der(x)
        g[j] += 1e-4 * abs(g[j])
        return g

    result = check_gradient(rosen, wrong, np.random.default_rng(5).standard_normal(8))
    assert not result.ok
    assert list(result.worst) == [j]
    assert f"x[{j}]" in result.explain()
    assert "weight" in result.explain(["bias"] * j + ["weight"] + ["bias"] * (7 - j))


def test_errors_fall_by_the_orders_of_the_differences():
    result = check_gradient(lambda x: np.sum(np.exp(x)), np.exp, np.array([0.3, -0.2, 0.1]))
    smooth = (result.lengths < 0.05) & (result.lengths > 1e-3)
    for errors, order in ((result.forward, 1.0), (result.symmetric, 2.0)):
        slope = np.polyfit(np.log(result.lengths[smooth]), np.log(errors[smooth]), 1)[0]
        assert slope == pytest.approx(order, abs=0.05)


def test_a_wrong_hessian_and_one_that_is_not_symmetric():
    x = np.array([0.5, -1.0, 0.2])
    wrong = rosen_hess(x)
    wrong[0, 1] = wrong[1, 0] = 0.0
    assert not check_hessian(rosen_der, lambda _: wrong, x).ok
    wrong = rosen_hess(x)
    wrong[0, 2] = 5.0
    assert not check_hessian(rosen_der, lambda _: wrong, x).ok


def test_kinks_noise_and_flat_places():
    kink = check_gradient(lambda x: np.abs(x).sum(), np.sign, np.array([0.0, 1.0]))
    assert not kink.ok
    assert kink.kinks
    assert "kink" in kink.explain()
    assert check_gradient(lambda x: np.abs(x).sum(), np.sign, np.array([0.3, 1.0])).ok
    assert check_gradient(lambda x: x @ x, lambda x: 2.0 * x, np.zeros(3)).ok
    assert not check_gradient(lambda x: x @ x, lambda x: 2.0 * x + 1e-3, np.zeros(3)).ok
    assert check_gradient(lambda x: 7.0, np.zeros_like, np.zeros(3)).ok
    assert not check_gradient(lambda x: 7.0, np.ones_like, np.zeros(3)).ok
    rough = np.random.default_rng(0)
    noisy = check_gradient(lambda x: x @ x + 1e-3 * rough.standard_normal(), lambda x: 2.0 * x, np.ones(3))
    assert not noisy.ok
    assert noisy.undecided
    single = check_gradient(lambda x: float(np.sum(np.float32(x) ** 2)), lambda x: 2.0 * x, np.array([0.3, 1.0]))
    assert single.ok or single.undecided
    near = check_gradient(lambda x: np.log(x[0]), lambda x: 1.0 / x, np.array([1e-3]))
    assert near.ok


def test_many_coordinates_are_compared_one_by_one_only_where_needed():
    x = np.random.default_rng(3).standard_normal(250)
    assert check_gradient(rosen, rosen_der, x).numerical is None
    wrong = check_gradient(rosen, lambda x: rosen_der(x) + 10.0 * (np.arange(250) == 17), x)
    assert list(wrong.worst) == [17]


def test_convexity():
    assert check_convexity(lambda x: np.sum(np.abs(x)), [-1.0, -1.0], [1.0, 1.0]).convex
    saddle = check_convexity(lambda x: x[0] ** 2 - 1e-3 * x[1] ** 2, [-1.0, -1.0], [1.0, 1.0])
    assert not saddle.convex
    a, b, t = saddle.counterexample
    assert (t * a + (1 - t) * b).shape == (2,)
    assert saddle.excess > 0.0
    by_hessian = check_convexity(
        lambda x: x[0] ** 2 - 1e-3 * x[1] ** 2,
        [-1.0, -1.0],
        [1.0, 1.0],
        grad=lambda x: np.array([2.0, -2e-3]) * x,
        chords=0,
    )
    assert not by_hessian.convex
    assert "negative eigenvalue" in by_hessian.explain()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_gradient(rosen, rosen_der, [np.nan]), "finite"),
        (lambda: check_gradient(rosen, rosen_der, [1.0, 2.0], directions=0), "directions"),
        (lambda: check_gradient(rosen, lambda x: x[:1], [1.0, 2.0]), "shape"),
        (lambda: check_convexity(rosen, [0.0, 0.0], [0.0, 1.0]), "low"),
    ],
)
def test_wrong_input_is_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()
