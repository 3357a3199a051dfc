"""Plans of least squares: which solver sparse samples get, and how interpolating fits are judged."""

import numpy as np
import pytest
from scipy import sparse

from tenfold import LinearRegression, certify
from tenfold.data import MemoryRows
from tenfold.inference import NoInferenceError
from tenfold.judge.least_squares import residual
from tenfold.plans.least_squares import ridge_problem, select_solver
from tenfold.stats.column_moments import Columns
from tenfold.stats.derivatives import Params


def draw(n, p, density=0.02):
    rng = np.random.default_rng(3)
    X = sparse.random_array((n, p), density=density, format="csr", rng=rng, data_sampler=rng.standard_normal)
    return X, X @ rng.standard_normal(p) + rng.standard_normal(n)


@pytest.mark.parametrize(("n", "p"), [(300, 2500), (1500, 1200)])
def test_sparse_samples_with_a_dear_gram_matrix_are_iterated_on_and_certified(n, p):
    X, y = draw(n, p)
    assert select_solver(MemoryRows(X, y[:, None]), iterate=True) == "conjugate"
    model = LinearRegression().fit(X, y)
    assert model.certificate_.ok
    assert model.certificate_.status == "converged"
    assert certify(model, X, y).ok


def test_few_sparse_features_keep_their_covariance():
    X, y = draw(2000, 12, 0.3)
    assert select_solver(MemoryRows(X, y[:, None]), iterate=True) == "gram"
    assert np.isfinite(LinearRegression().fit(X, y).inference_.standard_errors).all()


def test_inference_after_iterations_raises_with_the_reason():
    X, y = draw(1500, 1200)
    with pytest.raises(NoInferenceError, match="leave no covariance"):
        _ = LinearRegression().fit(X, y).inference_


def test_interpolating_fit_with_other_weights_is_not_certified():
    X, y = draw(300, 2500)
    model = LinearRegression().fit(X, y)
    model.coef_ = model.coef_ * (1.0 + 1e-5)
    certificate = certify(model, X, y)
    assert not certificate.ok
    assert certificate.value == pytest.approx(1e-5, rel=0.2)  # the residual by the spread of the targets


def test_residual_of_more_samples_than_features_needs_a_direction():
    """A residual that is small beside the targets says nothing where the best could be smaller still."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = (X @ np.array([[1.0], [2.0], [3.0]])) + 1e-9 * rng.standard_normal((50, 1))
    rows = MemoryRows(X, y)
    verdict = residual(
        ridge_problem(np.zeros(1), 50.0, False),
        rows,
        Params(np.array([[1.0, 2.0, 3.0 + 1e-8]]), np.zeros(1)),
        rows.fold(Columns.lift),
    )
    assert not verdict.certificate.ok
    assert not verdict.orthogonal
