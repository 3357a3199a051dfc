"""Slopes that sum to zero: margins that are kept give what passes over the rows give."""

import numpy as np
import pytest
from scipy import sparse

from tenfold.data import MemoryRows
from tenfold.judge.dual_feasibility import KeptMargins, _mix, _Side, balance_slopes, means_at
from tenfold.judge.linear_models import prepare
from tenfold.judge.objective_points import point_of
from tenfold.losses import Logistic, Poisson, Square, SquaredHinge
from tenfold.penalties import L2, ElasticNet
from tenfold.problems import Glm
from tenfold.stats.derivatives import Params


def rows_of(loss, weighted):
    rng = np.random.default_rng(4)
    X = sparse.csr_array(rng.standard_normal((300, 20)) * (rng.uniform(size=(300, 20)) < 0.2))
    y = X[:, [0]].toarray() + rng.standard_normal((300, 1))
    y = np.where(y > 0, 1.0, -1.0) if loss.signs else np.abs(y) if loss.link else y
    params = Params(0.3 * rng.standard_normal((1, 20)), np.array([0.4]))
    return MemoryRows(X, y, rng.integers(0, 3, 300).astype(float) if weighted else None), params


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), Poisson(), Square()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_kept_margins_prove_the_same(loss, intercept, weighted):
    rows, params = rows_of(loss, weighted)
    if not intercept:
        params = Params(params.coef, np.zeros(1))
    data = prepare(Glm(loss, ElasticNet(0.05, 0.01), intercept), rows)
    x = data.design.coefficients(params)
    means = means_at(data, x)
    kept = KeptMargins.of(data, x)
    point = kept.point()
    assert point.value == pytest.approx(point_of(data, x, means).value, rel=1e-13)
    assert point.weight == means.weight
    one, other = kept.balance_slopes(), balance_slopes(data, x, means)
    for a, b in zip(one, other, strict=True):
        # the second intercept comes from all rows here, from a sample there: both are the same few rows
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert (one.term > 0.0) == intercept


def test_a_penalty_without_a_kink_asks_for_gradients():
    rows, params = rows_of(Logistic(), False)
    data = prepare(Glm(Logistic(), L2(0.1), True), rows)
    assert KeptMargins.of(data, data.design.coefficients(params)) is None
    dense = MemoryRows(rows.X.toarray(), rows.y)
    data = prepare(Glm(Logistic(), ElasticNet(0.1, 0.0), True), dense)
    assert KeptMargins.of(data, data.design.coefficients(params)) is None


def test_slopes_whose_product_underflows_have_their_signs():
    """A tampered model with huge weights classifies all samples: what is left of its slopes is below 1e-162."""
    here = _Side(0.0, 1e-200, np.array([1e-200]))
    others = iter([_Side(0.0, 1e-200, np.array([1e-200])), _Side(0.0, -1e-200, np.array([-1e-200]))])
    result = _mix(here, -1.0, lambda step: next(others))
    assert result is not None
    np.testing.assert_allclose(result.correlation, 0.0, atol=1e-210)
