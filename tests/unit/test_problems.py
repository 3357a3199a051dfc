"""The objective of a problem and its derivatives."""

import array_api_strict as strict
import numpy as np
import pytest
from scipy import sparse

from tenfold.data import MemoryRows
from tenfold.losses import Logistic, Square
from tenfold.penalties import L2
from tenfold.problems import Glm, evaluate, evaluate_ahead, objectives
from tenfold.stats.derivatives import Params


def data(targets=1):
    rng = np.random.default_rng(0)
    return (
        rng.standard_normal((30, 3)) + 0.5,
        np.where(rng.random((30, targets)) < 0.4, 1.0, -1.0),
        rng.uniform(0, 2, 30),
    )


@pytest.mark.parametrize("loss", [Square(), Logistic()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_value_gradient_and_hessian(loss, intercept, shifted, kind):
    X, y, weight = data()
    rng = np.random.default_rng(1)
    shift = rng.standard_normal(3) if shifted else None
    problem = Glm(loss, L2(0.3), intercept)
    point = np.append(rng.standard_normal(3), 0.7 if intercept else 0.0)

    def objective(v):
        z = (X - (0 if shift is None else shift)) @ v[:3] + v[3]
        return weight @ loss.value(y[:, 0], z) / weight.sum() + 0.15 * v[:3] @ v[:3]

    result = evaluate(
        problem, MemoryRows(kind(X), y, weight), Params(point[None, :3].copy(), point[3:].copy()), 2, shift
    )
    np.testing.assert_allclose(result.value, [objective(point)], rtol=1e-13)
    h = 1e-5
    free = 4 if intercept else 3
    steps = h * np.eye(4)[:free]
    slopes = np.array([(objective(point + s) - objective(point - s)) / (2 * h) for s in steps])
    np.testing.assert_allclose(result.gradient[0, :free], slopes, atol=1e-8)
    curves = np.array(
        [
            [
                (
                    objective(point + s + r)
                    - objective(point + s - r)
                    - objective(point - s + r)
                    + objective(point - s - r)
                )
                / (4 * h * h)
                for r in steps
            ]
            for s in steps
        ]
    )
    np.testing.assert_allclose(result.hessian[:free, :free], curves, atol=1e-4)
    if not intercept:
        # the intercept stays where it is: no slope, and a Hessian that can be factored
        assert result.gradient[0, 3] == 0.0
        np.testing.assert_array_equal(result.hessian[3], [0, 0, 0, 1])


def test_one_strength_for_each_target():
    X, y, weight = data(2)
    params = Params(np.ones((2, 3)), np.zeros(2))
    joint = evaluate(Glm(Square(), L2(np.array([0.1, 3.0])), True), MemoryRows(X, y, weight), params)
    for t, strength in enumerate((0.1, 3.0)):
        rows = MemoryRows(X, y[:, t : t + 1].copy(), weight)
        alone = evaluate(Glm(Square(), L2(strength), True), rows, Params(np.ones((1, 3)), np.zeros(1)))
        np.testing.assert_allclose(joint.value[t], alone.value[0], rtol=1e-14)
        np.testing.assert_allclose(joint.gradient[t], alone.gradient[0], rtol=1e-13)


def test_problems_are_values():
    assert Glm(Square(), L2(1.0), True) == Glm(Square(), L2(1.0), True)
    with pytest.raises(AttributeError):
        Glm(Square(), L2(1.0), True).intercept = False


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_looking_ahead_reads_the_same_objectives(kind):
    X, y, weight = data()
    rng = np.random.default_rng(2)
    problem, rows = Glm(Logistic(), L2(0.3), True), MemoryRows(kind(X), y, weight)
    points = [Params(rng.standard_normal((1, 3)), rng.standard_normal(1)) for _ in range(4)]
    shift = rng.standard_normal(3)
    first, values = evaluate_ahead(problem, rows, points[0], 2, shift, points[1:])
    alone = evaluate(problem, rows, points[0], 2, shift)
    for result, expected in zip(first, alone, strict=True):
        np.testing.assert_array_equal(result, expected)
    assert values == [float(evaluate(problem, rows, point, 2, shift).value[0]) for point in points[1:]]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, strict.asarray])
def test_objectives_of_several_parameters_from_one_pass(kind):
    X, y, weight = data()
    rng = np.random.default_rng(3)
    here = np.asarray if kind is sparse.csr_array else kind
    problem, rows = Glm(Logistic(), L2(0.3), True), MemoryRows(kind(X), here(y), here(weight))
    points = [Params(rng.standard_normal((1, 3)), rng.standard_normal(1)) for _ in range(4)]
    shift = rng.standard_normal(3)
    alone = [float(evaluate(problem, rows, point, 1, shift).value[0]) for point in points]
    np.testing.assert_allclose(objectives(problem, rows, points, shift), alone, rtol=1e-13)
