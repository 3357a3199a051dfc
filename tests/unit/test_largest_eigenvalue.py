"""Bounds on the largest value of a matrix that hold with a probability."""

import numpy as np
import pytest
import scipy.linalg as la
from hypothesis import given, settings
from hypothesis import strategies as st

from tenfold.judge import largest_eigenvalue


def matrix(values, seed=0):
    Q = la.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T, Q.T


def run_bound(B, limit, seed=0, beside=None):
    return largest_eigenvalue.below(lambda v: v @ B, len(B), limit, 1e-14, np.random.default_rng(seed), beside)


@given(st.integers(0, 1000), st.sampled_from([1.02, 1.3, 3.0]), st.sampled_from(["flat", "falling", "one"]))
@settings(max_examples=60, deadline=None)
def test_a_larger_value_is_never_denied(seed, above, kind):
    values = {"flat": np.full(80, 1.0), "falling": 0.8 ** np.arange(80.0), "one": np.zeros(80)}[kind].copy()
    values[0] = above
    B, vectors = matrix(values, seed)
    for beside in (None, vectors[1:9], vectors[:3], vectors[70:]):
        assert run_bound(B, 1.0, seed, beside) is not True


@pytest.mark.parametrize("gap", [0.5, 0.9])
def test_a_smaller_value_is_proved(gap):
    B, vectors = matrix(np.append(np.full(40, gap), np.linspace(0.0, gap, 160)))
    assert run_bound(B, 1.0) is True
    assert run_bound(B, 1.0, beside=vectors[:20]) is True


def test_vectors_that_come_next_save_steps():
    B, vectors = matrix(0.97 ** np.arange(400.0))
    count = []

    def apply(v):
        count.append(len(v))
        return v @ B

    def steps(beside):
        count.clear()
        assert largest_eigenvalue.below(apply, 400, 1.01, 1e-14, np.random.default_rng(0), beside) is not False
        return len(count)

    assert steps(vectors[:60]) < 0.5 * steps(None)
    rough = vectors[:60] + 0.003 * np.random.default_rng(1).standard_normal((60, 400))
    assert steps(rough) < 0.6 * steps(None)


def test_no_verdict_for_a_limit_that_is_too_close():
    B, _ = matrix(np.linspace(0.0, 1.0, 300))
    assert run_bound(B, 1.0 + 1e-6) is None


def test_the_chance_is_no_larger_than_stated(monkeypatch):
    """With one random vector and a chance of a fifth, a value just above the limit is denied in a fifth at most."""
    monkeypatch.setattr(largest_eigenvalue, "ERROR_PROBABILITY", 0.2)
    monkeypatch.setattr(largest_eigenvalue, "PROBES", 1)
    values = np.append(1.0001, np.linspace(0.0, 0.3, 60))
    B, _ = matrix(values)
    wrong = sum(run_bound(B, 1.0, seed) is True for seed in range(400))
    assert 20 < wrong < 400 * 0.2 + 3.0 * np.sqrt(400 * 0.2 * 0.8)


def test_a_matrix_of_zeros():
    assert run_bound(np.zeros((30, 30)), 1e-8) is True


def test_a_proof_goes_on_from_products_that_others_took():
    """What it asks for first may be multiplied in another's pass: the answer is the same."""
    for top, result in ((0.9, True), (1.1, False)):
        B, vectors = matrix(np.append(top, np.linspace(0.0, 0.8, 150)))
        for beside in (None, vectors[1:9]):
            begun = largest_eigenvalue.proof(len(B), lambda: 1.0, 1e-14, np.random.default_rng(0), beside)
            first = next(begun)
            assert len(first) == largest_eigenvalue.PROBES + (0 if beside is None else len(beside))
            assert largest_eigenvalue.finish(begun, lambda v, B=B: v @ B, first @ B) is result
            assert run_bound(B, 1.0, 0, beside) is result
