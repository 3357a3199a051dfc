"""Lookup tables and straight lines between samples."""

import numpy as np
import pytest

import tenfold
from tenfold import LookupTable, PiecewiseLinear


def test_zero_training_error_and_no_generalisation():
    """Seeger, section 2.1: in many dimensions hardly a new sample was seen before."""
    rng = np.random.default_rng(0)
    for p, known in ((4, 0.95), (40, 0.0)):
        X, new = (rng.integers(0, 2, (200, p)).astype(float) for _ in range(2))
        y = X[:, 0].astype(int)
        model = LookupTable(default=-1).fit(X, y)
        assert model.score(X, y) == 1.0
        assert np.mean(model.predict(new) != -1) >= known if known else np.all(model.predict(new) == -1)
        assert tenfold.certify(model, X, y).ok


def test_the_heaviest_class_of_equal_samples():
    X, y = np.zeros((3, 2)), ["ant", "bee", "bee"]
    assert LookupTable().fit(X, y).predict([[0.0, -0.0]]) == ["bee"]
    model = LookupTable().fit(X, y, [3.0, 1.0, 1.0])
    assert model.predict(X[:1]) == ["ant"]
    assert tenfold.certify(model, X, y, [3.0, 1.0, 1.0]).ok
    assert not tenfold.certify(model, X, y).ok


def test_a_tampered_table_is_refused():
    X, y = np.random.default_rng(0).standard_normal((30, 2)), np.arange(30) % 3
    for name, value in (("samples_", 1.0), ("numbers_", 1), ("default_", 1)):
        model = LookupTable().fit(X, y)
        setattr(model, name, (getattr(model, name) + value) % 3 if name == "numbers_" else getattr(model, name) + value)
        assert not tenfold.certify(model, X, y).ok


def test_lines_between_samples():
    """Seeger, section 4.1."""
    x, y = np.array([3.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 2.0, 4.0])
    model = PiecewiseLinear().fit(x[:, None], y)
    np.testing.assert_allclose(
        model.predict([[0.0], [0.5], [1.0], [2.0], [3.0], [-5.0], [9.0]]), [1, 2, 3, 1.5, 0, 1, 0]
    )
    assert tenfold.certify(model, x[:, None], y).ok
    for name in ("x_", "y_"):
        tampered = PiecewiseLinear().fit(x[:, None], y)
        setattr(tampered, name, getattr(tampered, name) + 1e-3)
        assert not tenfold.certify(tampered, x[:, None], y).ok
    with pytest.raises(ValueError, match="feature=3"):
        PiecewiseLinear(feature=3).fit(np.zeros((2, 2)), [0.0, 1.0])
