"""Bits of whole fits do not depend on the number of threads, nor on the run."""

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from design import only_if
from estimators import SOLVED
from tenfold.machine import threads

# unpenalised classes that are separated say so; their bits are asked for all the same
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.once_a_class,
]


def results(model, X):
    """Every number that a fit leaves behind, as bytes."""
    certificate = model.certificate_
    numbers = [
        model.coef_,
        model.intercept_,
        certificate.value,
        certificate.objective,
        certificate.floor,
        model.predict(X[:50]),
    ]
    numbers += [getattr(model, name) for name in ("alpha_", "best_score_", "cv_errors_") if hasattr(model, name)]
    return [np.asarray(number).tobytes() for number in numbers]


def fits(row, X, y, weight):
    result = []
    for count in (1, 2, 1, 2):
        with threadpool_limits(count):
            assert threads() == count
            result.append(results(row.make().fit(X, y, sample_weight=weight), X))
    return result


def assert_one(result):
    assert all(other == result[0] for other in result[1:])


def data(row, n, p):
    X, y, _ = row.data(n, p)
    return X, y, np.random.default_rng(3).integers(0, 4, n).astype(float)


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_tall(row):
    """More rows than a tile, enough that two threads share them."""
    assert_one(fits(row, *data(row, 3000, 20)))


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_sparse(row):
    X, y, weight = data(row, 3000, 20)
    X[np.abs(X) < 1.0] = 0.0
    assert_one(fits(row, sparse.csr_array(X), y, weight))


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
@only_if(lambda row: not row.tall and row.most_columns >= 150)
def test_wide(row):
    assert_one(fits(row, *data(row, 40, 150)))


@pytest.mark.slow
@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_several_blocks(row):
    """More rows than a block of 32 MiB, in two layouts: the cuts are the same, so the bits are."""
    X, y, weight = data(row, 150_000, 32)
    result = fits(row, X, y, weight)
    assert_one(result)
    assert results(row.make().fit(np.asfortranarray(X), y, sample_weight=weight), X) == result[0]


@pytest.mark.slow
@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_many_columns(row):
    assert_one(fits(row, *data(row, 2500, 400)))
