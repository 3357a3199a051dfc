"""Centres of kernel methods: which samples are chosen, and how well they stand for all samples."""

import numpy as np
import pytest
from scipy import sparse

import tenfold
from tenfold.data import BatchRows
from tenfold.kernels import Gaussian, Linear, Precomputed
from tenfold.plans.centres import NAMES, choose_among, choose_centres, choose_shift, leverage_scores, permute


def _two_scales(n=600, seed=0):
    """Many samples in a heap, and a few far apart: uniform draws miss these."""
    rng = np.random.default_rng(seed)
    return np.vstack([0.02 * rng.standard_normal((n - 30, 2)), 6.0 * rng.standard_normal((30, 2))])


def _nystroem_error(X, C, kernel):
    K = kernel(X)
    cross = kernel(X, C)
    return np.linalg.norm(K - cross @ np.linalg.pinv(kernel(C), rcond=1e-12) @ cross.T) / np.linalg.norm(K)


@pytest.mark.parametrize("method", NAMES)
def test_centres_of_every_storage(method):
    X = _two_scales()
    for samples in (X, X.astype(np.float32), sparse.csr_array(X)):
        chosen = choose_among(samples, None, 25, method, random=np.random.RandomState(0), kernel=Gaussian())
        assert chosen.samples.shape == (25, 2)
        if chosen.index is not None:
            assert len(set(chosen.index.tolist())) == 25
            picked = samples[chosen.index]
            assert abs(picked - chosen.samples).max() == 0.0


def test_uniform_is_the_permutation_of_scikit_learn():
    X = _two_scales()
    chosen = choose_among(X, None, 10, "uniform", random=np.random.RandomState(3))
    assert chosen.index.tolist() == np.random.RandomState(3).permutation(len(X))[:10].tolist()


def test_leverage_scores_and_means_find_rare_samples():
    X, kernel = _two_scales(), Gaussian(0.5)
    errors = {}
    for method in NAMES:
        each = [
            _nystroem_error(
                X, choose_among(X, None, 40, method, random=np.random.RandomState(s), kernel=kernel).samples, kernel
            )
            for s in range(5)
        ]
        errors[method] = np.median(each)
    assert errors["leverage"] < 0.7 * errors["uniform"]
    assert errors["kmeans"] < 0.7 * errors["uniform"]


def test_leverage_scores_with_all_landmarks_are_exact():
    X, kernel = _two_scales(80), Gaussian(0.7)
    K, ridge = kernel(X), 0.01
    exact = np.diag(K @ np.linalg.inv(K + ridge * 80 * np.eye(80)))
    scores = leverage_scores(kernel, X, np.arange(80), np.arange(80), ridge, 10.0)
    np.testing.assert_allclose(scores / (ridge * 80), exact, rtol=1e-9)
    again = leverage_scores(Precomputed(), K, np.arange(80), np.arange(80), ridge, 10.0)
    np.testing.assert_allclose(again, scores, rtol=1e-9)


def test_shift_gives_the_dimension():
    values = np.array([4.0, 2.0, 1.0, 0.5])
    shift = choose_shift(values, 1.5)
    assert np.sum(values / (values + shift)) == pytest.approx(1.5)
    assert choose_shift(values, 4.0) == 0.0
    assert choose_shift(np.zeros(3), 1.0) == 0.0


def test_weights_are_repetitions_and_zero_is_absent():
    X, weight = np.arange(6.0)[:, None], np.array([0.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    for method in NAMES:
        chosen = choose_among(X, weight, 9, method, random=np.random.RandomState(0), kernel=Gaussian())
        assert sorted(chosen.samples.ravel().tolist()) == [1.0, 2.0, 3.0, 4.0]
    first = [permute(3, np.array([1.0, 3.0, 0.0]), np.random.RandomState(s))[0] for s in range(2000)]
    assert np.mean(first) == pytest.approx(0.75, abs=0.04)


def test_samples_of_low_rank_and_duplicates():
    X = np.repeat(np.arange(4.0)[:, None], 30, axis=0)
    for kernel in (Gaussian(), Linear()):
        chosen = choose_among(X, None, 10, "leverage", random=np.random.RandomState(0), kernel=kernel)
        assert chosen.samples.shape == (10, 1)


def test_centres_of_a_source_of_blocks(tmp_path):
    X = _two_scales(300)
    np.save(tmp_path / "X.npy", X)
    table = tenfold.rows(tmp_path / "X.npy")
    rows = BatchRows(table, np.zeros((300, 0)))
    for method in NAMES:
        chosen = choose_centres(rows, 7, method, random=np.random.RandomState(0), kernel=Gaussian())
        assert chosen.samples.shape == (7, 2)
        assert chosen.index is None


def test_bad_choices_raise():
    X = _two_scales(50)
    with pytest.raises(ValueError, match="one of 'uniform', 'kmeans', 'leverage', got 'best'"):
        choose_among(X, None, 3, "best", random=np.random.RandomState(0))
    with pytest.raises(ValueError, match="no samples whose means"):
        choose_among(X @ X.T, None, 3, "kmeans", random=np.random.RandomState(0), kernel=Precomputed())
