"""Penalties: the proximal map minimises, the conjugate is a supremum, the distance is zero at minimisers only.

A new penalty joins `PENALTIES`.
"""

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tenfold.penalties import L2, L21, ElasticNet, Groups

QUADRATIC = {
    "none": L2(0.0),
    "l2": L2(0.7),
    "strong": L2(50.0),
    "positive": L2(0.0, positive=True),
    "l2 positive": L2(0.7, positive=True),
}
SEPARABLE = QUADRATIC | {
    "l1": ElasticNet(0.8),
    "elastic net": ElasticNet(0.8, 0.7),
    "l1 positive": ElasticNet(0.8, positive=True),
    "elastic net positive": ElasticNet(0.8, 0.7, positive=True),
}
MEMBER = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
PENALTIES = SEPARABLE | {
    "groups": Groups(MEMBER, np.array([1.1, 0.6])),
    "multi-task": L21(0.8),
    "multi-task elastic net": L21(0.8, 0.7),
    "multi-task ridge": L21(0.0, 0.7),
}


def over(penalties):
    return pytest.mark.parametrize("penalty", penalties.values(), ids=list(penalties))


every_penalty = over(PENALTIES)

vectors = hnp.arrays(np.float64, (1, 6), elements=st.floats(-4.0, 4.0))
GRID = np.linspace(-5.0, 5.0, 401)


def shape_weights(penalty, *vectors):
    """Weights of one target and three features, or of two targets and three features that the penalty couples."""
    coupled = getattr(penalty, "couples_targets", False)
    return [v.reshape(1, 2, 3) if coupled else v[:, :3] for v in vectors]


def total(v):
    """Sums over the weights, one for each of the first axis."""
    return np.sum(v, axis=tuple(range(1, v.ndim)))


def neighbours(v):
    """v with one entry replaced by each number of a grid, and by numbers close to it; along the first axis."""
    replaced = []
    for j in range(v.size):
        entries = np.concatenate([GRID, v.flat[j] + np.array([-1e-3, -1e-6, 1e-6, 1e-3])])
        others = np.repeat(v.reshape(1, -1), len(entries), axis=0)
        others[:, j] = entries
        replaced.append(others)
    return np.concatenate(replaced).reshape(-1, *v.shape[1:])


@every_penalty
@given(w=vectors, step=st.floats(0.01, 10.0))
def test_prox_minimises(penalty, w, step):
    (w,) = shape_weights(penalty, w)

    def objective(v):
        return penalty.value(v) + total((v - w) ** 2) / (2 * step)

    minimiser = penalty.prox(w, step)
    best = objective(minimiser)[0]
    assert np.isfinite(best)
    assert np.all(objective(neighbours(minimiser)) >= best - 1e-12 * (1.0 + abs(best)))


@every_penalty
@given(a=vectors, b=vectors, step=st.floats(0.01, 10.0))
def test_prox_is_firmly_non_expansive(penalty, a, b, step):
    a, b = shape_weights(penalty, a, b)
    move = penalty.prox(a, step) - penalty.prox(b, step)
    assert np.sum(move * move) <= np.sum(move * (a - b)) + 1e-12


@every_penalty
@given(w=vectors, v=vectors)
def test_fenchel_young(penalty, w, v):
    w, v = shape_weights(penalty, w, v)
    value, conjugate, product = penalty.value(w)[0], penalty.conjugate(v)[0], np.sum(w * v)
    assert value + conjugate >= product - 1e-12 * (1.0 + abs(product))


@over(SEPARABLE)
@given(v=vectors)
def test_conjugate_is_the_supremum(penalty, v):
    """Each coordinate has its supremum over a grid; with a finite conjugate the grid nearly reaches it."""
    (v,) = shape_weights(penalty, v)
    w = np.linspace(-60.0, 60.0, 24_001)
    values = np.array([np.max(v[0, j] * w - penalty.value(w[:, None])) for j in range(3)])
    conjugate = penalty.conjugate(v)[0]
    assert conjugate >= values.sum() - 1e-9
    if np.isfinite(conjugate):
        assert conjugate <= values.sum() + 3 * 0.5 * max(penalty.strength, 1e-9) * 0.005**2 + 1e-9
    else:
        size = np.maximum(v, 0.0) if penalty.positive else np.abs(v)
        assert penalty.strength == 0.0
        assert size.max() > getattr(penalty, "l1", 0.0)


@every_penalty
@given(v=vectors)
def test_dual_scaling_is_the_largest_inside_the_domain(penalty, v):
    (v,) = shape_weights(penalty, v)
    scaling = penalty.dual_scaling(v)[0]
    assert 0.0 <= scaling <= 1.0
    assert np.isfinite(penalty.conjugate(scaling * v)[0])
    if scaling < 1.0:
        assert penalty.conjugate((scaling + 1e-9) * v)[0] == np.inf or np.abs(v).max() < 1e-300


@every_penalty
@given(a=vectors, w=vectors)
def test_subgradient_distance_is_zero_at_the_minimiser_only(penalty, a, w):
    """With the smooth part ||w - a||^2 / 2 the one minimiser is prox(a, 1)."""
    a, w = shape_weights(penalty, a, w)
    best = penalty.prox(a, 1.0)
    size = 1.0 + np.abs(a).max()
    assert np.max(penalty.subgradient_distance(best, best - a)) <= 1e-13 * size
    if np.isfinite(penalty.value(w)[0]):
        far = np.max(np.abs(w - best))
        # strong convexity 1: a point at distance d has a subgradient of at least d
        assert np.linalg.norm(penalty.subgradient_distance(w, w - a)) >= far * (1.0 - 1e-9) - 1e-12


@over(QUADRATIC)
@given(w=vectors, gradient=vectors)
def test_subgradient_distance_is_the_distance_to_the_set(penalty, w, gradient):
    """Minus the gradient to strength * w + normal cone, the cone {<= 0} where a constrained weight is zero."""
    w, gradient = shape_weights(penalty, w, gradient)
    w = np.maximum(w, 0.0) if penalty.positive else w.copy()
    w[0, 0] = 0.0
    g = -gradient - penalty.strength * w
    expected = np.abs(g)
    if penalty.positive:
        cone = np.linspace(-10.0 - np.abs(g).max(), 0.0, 200_001)
        expected[0, 0] = np.min(np.abs(g[0, 0] - cone))
        for j in (1, 2):
            if w[0, j] == 0.0:
                expected[0, j] = np.min(np.abs(g[0, j] - cone))
    # the set is a grid of 1e-4 or less here
    assert np.all(np.abs(penalty.subgradient_distance(w, gradient) - expected) <= 2e-3)


def test_one_strength_for_each_target():
    w = np.array([[1.0, -2.0], [3.0, 4.0]])
    together = L2(np.array([0.5, 2.0]))
    for t, strength in enumerate((0.5, 2.0)):
        alone = L2(strength)
        row = w[t : t + 1]
        assert together.value(w)[t] == alone.value(row)[0]
        assert together.conjugate(w)[t] == alone.conjugate(row)[0]
        np.testing.assert_array_equal(together.prox(w, 0.3)[t], alone.prox(row, 0.3)[0])
        np.testing.assert_array_equal(together.subgradient_distance(w, -w)[t], alone.subgradient_distance(row, -row)[0])


def test_a_mixture_of_penalised_and_free_targets():
    together = L2(np.array([0.0, 2.0]))
    np.testing.assert_array_equal(together.conjugate(np.array([[1.0], [1.0]])), [np.inf, 0.25])
    np.testing.assert_array_equal(together.conjugate(np.array([[0.0], [0.0]])), [0.0, 0.0])


def test_negative_weights_are_outside():
    np.testing.assert_array_equal(L2(1.0, positive=True).value(np.array([[1.0, -1e-300], [1.0, 0.0]])), [np.inf, 0.5])


@every_penalty
@given(w=vectors, v=vectors)
def test_another_namespace(penalty, w, v):
    w, v = shape_weights(penalty, w, v)
    W, V = strict.asarray(w), strict.asarray(v)
    np.testing.assert_array_equal(np.asarray(penalty.value(W)), penalty.value(w))
    np.testing.assert_array_equal(np.asarray(penalty.conjugate(V)), penalty.conjugate(v))
    np.testing.assert_array_equal(np.asarray(penalty.prox(W, 0.5)), penalty.prox(w, 0.5))
    np.testing.assert_array_equal(np.asarray(penalty.subgradient_distance(W, V)), penalty.subgradient_distance(w, v))


def test_groups_shrink_together():
    """A group whose norm is below its limit becomes zero as a whole; else all of its features stay."""
    penalty = Groups(MEMBER, np.array([1.1, 0.6]))
    np.testing.assert_array_equal(penalty.prox(np.array([[0.6, 0.8, 2.0]]), 1.0), [[0.0, 0.0, 1.4]])
    np.testing.assert_allclose(penalty.prox(np.array([[3.0, 4.0, -0.5]]), 1.0), [[3.0 * 0.78, 4.0 * 0.78, 0.0]])


def test_targets_shrink_together():
    """A feature whose norm over the targets is below l1 becomes zero for all of them; else it shrinks by one factor."""
    W = np.array([[0.3, 3.0], [0.4, 4.0]])
    np.testing.assert_allclose(L21(1.0, 0.5).prox(W, 1.0), [[0.0, 3.0 * 0.8 / 1.5], [0.0, 4.0 * 0.8 / 1.5]])
    assert L21(1.0, 0.5).value(W) == pytest.approx(5.5 + 0.25 * 25.25)
    assert L21(1.0).conjugate(W) == np.inf
    assert L21(5.0).conjugate(W) == 0.0


def test_multi_task_penalty_of_one_target_is_the_elastic_net():
    w, v = np.array([[0.3, -3.0, 0.0]]), np.array([[1.0, 2.0, -0.5]])
    coupled, plain = L21(0.8, 0.7), ElasticNet(0.8, 0.7)
    for name, of in (("value", w), ("conjugate", v), ("dual_scaling", 3.0 * v)):
        np.testing.assert_allclose(getattr(coupled, name)(of), getattr(plain, name)(of)[0])
    np.testing.assert_allclose(coupled.prox(w, 0.5), plain.prox(w, 0.5))
    np.testing.assert_allclose(coupled.subgradient_distance(w, v), plain.subgradient_distance(w, v))
