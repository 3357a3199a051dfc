"""The compiled steps are the recursion written out, for every loss, penalty, schedule, batch, average and storage."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from delta_recursion import EPSILON, LOSSES, recursion
from tenfold.data import MemoryRows
from tenfold.plans.sgd import Rule, Target, fit, start_at


@st.composite
def rules(draw):
    penalised = draw(st.booleans())
    return Rule(
        draw(st.sampled_from(sorted(LOSSES))),
        EPSILON,
        penalised=penalised,
        alpha=draw(st.sampled_from([0.05, 0.5, 2.0])),
        l1_ratio=draw(st.sampled_from([0.0, 0.3, 1.0])) if penalised else 0.0,
        schedule=draw(st.sampled_from(["constant", "optimal", "invscaling"])),
        eta0=draw(st.sampled_from([0.01, 0.1])),
        power_t=draw(st.sampled_from([0.25, 0.5, 0.7, 1.0])),
        intercept=draw(st.booleans()),
        average=draw(st.sampled_from([0, 1, 7])),
        batch=draw(st.sampled_from([1, 1, 2, 5])),
    )


@given(rules(), st.integers(1, 25), st.integers(1, 20), st.integers(0, 2**31), st.booleans(), st.booleans())
def test_the_recursion(rule, n, p, seed, compressed, weighted):
    rng = np.random.default_rng(seed)
    # rows so short that no step overshoots
    X = rng.standard_normal((n, p)) / (2.0 * np.sqrt(p))
    if compressed:
        X[rng.uniform(size=X.shape) < 0.6] = 0.0
    y = np.where(rng.uniform(size=n) < 0.5, -1.0, 1.0)
    weight = rng.uniform(0.1, 1.0, n) if weighted else None
    rows = MemoryRows(sparse.csr_array(X) if compressed else X, y[:, None], weight)
    fitted = fit(rows, rule, [Target()], start_at(np.zeros((1, p)), np.zeros(1)), max_iter=2)
    w, b, average, objective = recursion(X, y, rule, 2, weight, decay=0.01 if compressed else 1.0)
    np.testing.assert_allclose(fitted.state.last.coef[0], w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fitted.state.last.intercept, b, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fitted.trace[-1].objective, objective, rtol=1e-8, atol=1e-10)
    if average is not None:
        np.testing.assert_allclose(fitted.params.coef[0], average[0], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(fitted.params.intercept, average[1], rtol=1e-8, atol=1e-10)
