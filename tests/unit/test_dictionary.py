"""Dictionaries, sparse components and sparse codes: solvers, starts, hard samples, bad input, and what is refused."""

import warnings

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import _core
from tenfold.judge.dictionary import stationary_atoms
from tenfold.judge.sparse_codes import codes_certificate
from tenfold.objectives.dictionary import Coded
from tenfold.plans.dictionary import fit, start_of
from tenfold.plans.sparse_components import best_scores
from tenfold.problems import SparseDictionary
from tenfold.solvers.dictionary_alternation import revive_atoms, solve_codes


def coded(n=80, p=12, k=5, seed=0):
    """Samples of few atoms, and noise."""
    rng = np.random.default_rng(seed)
    atoms = rng.standard_normal((k, p))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    W = rng.standard_normal((n, k)) * (rng.random((n, k)) < 0.4) * 3.0
    return W @ atoms + 0.05 * rng.standard_normal((n, p))


def gaps(X, W, D, alpha, positive=False):
    """Relative duality gaps of the Lasso for each sample."""
    R = X - W @ D
    c = R @ D.T
    t = np.minimum(1.0, alpha / np.maximum(np.max(c if positive else np.abs(c), axis=1), 1e-300))[:, None] * R
    primal = 0.5 * np.sum(R**2, axis=1) + alpha * np.sum(np.abs(W), axis=1)
    return (primal - np.sum(t * X, axis=1) + 0.5 * np.sum(t**2, axis=1)) / np.sum(X**2, axis=1)


@pytest.mark.parametrize(("k", "p"), [(5, 12), (40, 12)])
@pytest.mark.parametrize("alpha", [3.0, 0.1, 1e-6])
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("dependent", [False, True])
def test_lasso_of_rows_is_exact_from_any_start(k, p, alpha, positive, dependent):
    rng = np.random.default_rng(0)
    X, D = coded(p=p), rng.standard_normal((k, p))
    if dependent:
        D = np.vstack([D, D[:2], D[:1] + D[1:2], np.zeros((1, p))])
    C = X @ D.T
    for start in (np.zeros_like(C), rng.standard_normal(C.shape)):
        for sweeps in (0, 8):
            W = _core.lasso_codes(D @ D.T, C, start, alpha, positive, sweeps, 1)
            assert not (positive and W.min() < 0.0)
            assert np.max(np.abs(gaps(X, W, D, alpha, positive))) <= 1e-12


def test_lasso_without_a_penalty_is_non_negative_least_squares():
    rng = np.random.default_rng(0)
    D, X = rng.uniform(size=(6, 20)), rng.uniform(size=(15, 20))
    W = _core.lasso_codes(D @ D.T, X @ D.T, np.zeros((15, 6)), 0.0, True, 4, 1)
    np.testing.assert_allclose(W, [nnls(D.T, x)[0] for x in X], atol=1e-12)


def test_codes_have_the_same_bits_for_all_numbers_of_threads():
    rng = np.random.default_rng(0)
    D, X = rng.standard_normal((30, 12)), rng.standard_normal((500, 12))
    A, C, squares = D @ D.T, X @ D.T, np.sum(X**2, axis=1)
    calls = (
        lambda threads: _core.lasso_codes(A, C, np.zeros_like(C), 0.3, False, 8, threads),
        lambda threads: _core.pursuit_codes(A, C, 4, threads),
        lambda threads: _core.angle_codes(A, C, squares, 4, threads),
    )
    for call in calls:
        assert np.array_equal(call(1), call(3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("settings", [{}, {"positive_dict": True}, {"positive_code": True, "fit_algorithm": "cd"}])
def test_certified(dtype, settings):
    X = coded().astype(dtype)
    model = tenfold.DictionaryLearning(5, alpha=0.2, transform_algorithm="lasso_cd", **settings)
    W = model.fit_transform(X)
    assert model.certificate_.ok
    assert W.dtype == model.components_.dtype == model.transform(X).dtype == dtype
    np.testing.assert_allclose(model.transform(X), W, rtol=1e-3, atol=1e-4)
    certificate = tenfold.certify(model, X)
    assert certificate.ok
    np.testing.assert_allclose(certificate.objective, model.error_[-1], rtol=1e-5)
    assert np.all(np.diff(model.error_) <= 1e-9 * model.error_[0])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scale_of_the_data_does_not_matter(scale):
    model = tenfold.DictionaryLearning(5, alpha=0.2 * scale).fit(scale * coded())
    assert model.certificate_.ok


def test_hard_samples():
    """Constant, empty and dependent columns, an offset, samples of zeros, and more atoms than samples."""
    X = coded() + 100.0
    X[:, 2], X[:, 3], X[:, 4] = 7.0, 0.0, X[:, 0] + X[:, 1]
    X[5] = 0.0
    for count, rows in ((4, X), (12, X[:6])):
        model = tenfold.DictionaryLearning(count, alpha=1.0, max_iter=3000).fit(rows)
        assert model.certificate_.ok
        assert tenfold.certify(model, rows).ok


def test_a_large_penalty_leaves_no_codes():
    X = coded()
    model = tenfold.DictionaryLearning(3, alpha=1e3)
    assert np.all(model.fit_transform(X) == 0.0)
    assert model.certificate_.ok
    assert model.certificate_.objective == pytest.approx(0.5 * np.sum(X**2))


def test_without_a_penalty():
    X = coded(k=3)
    model = tenfold.DictionaryLearning(3, alpha=0.0).fit(X)
    values = np.linalg.svd(X, compute_uv=False)
    assert model.certificate_.ok
    assert model.certificate_.objective == pytest.approx(0.5 * np.sum(values[3:] ** 2), rel=1e-4)


def test_unused_atoms_are_refused_while_a_residual_is_longer_than_the_penalty():
    X, problem = coded(), SparseDictionary(0.2)
    model = tenfold.DictionaryLearning(3, alpha=0.2).fit(X)
    for atom in (np.zeros((1, 12)), 1e-9 * np.ones((1, 12))):
        D = np.vstack([model.components_, atom])
        certificate = stationary_atoms(X, solve_codes(X, D, problem), D, problem)
        assert not certificate.ok
        assert "not used" in certificate.note
    model.components_, model.n_components = D, 4
    assert not tenfold.certify(model, X).ok


def test_unused_atoms_are_put_along_the_longest_residuals():
    X, problem = coded(), SparseDictionary(0.2)
    D = np.zeros((5, 12))
    D[0] = X[0] / np.linalg.norm(X[0])
    W = solve_codes(X, D, problem)
    D2 = revive_atoms(X, W, D, problem)
    np.testing.assert_allclose(np.linalg.norm(D2, axis=1), 1.0)
    lengths = np.linalg.norm(X - W @ D, axis=1)
    np.testing.assert_allclose(np.max(D2[1:] @ (X - W @ D).T, axis=1), np.sort(lengths)[-4:][::-1])
    assert revive_atoms(X, W, D, SparseDictionary(1e3)) is None
    result = fit(X, problem, Coded(np.zeros((80, 5)), D), tol=1e-8, max_iter=1000)
    assert result.certificate.ok


def test_atoms_that_moved_are_refused():
    X = coded()
    model = tenfold.DictionaryLearning(5, alpha=0.2).fit(X)
    rng = np.random.default_rng(0)
    D = model.components_ + 1e-4 * rng.standard_normal(model.components_.shape)
    problem = SparseDictionary(0.2)
    for atoms in (D / np.linalg.norm(D, axis=1, keepdims=True), 1.001 * model.components_, 0.999 * model.components_):
        assert not stationary_atoms(X, solve_codes(X, atoms, problem), atoms, problem).ok
    W = solve_codes(X, model.components_, problem)
    assert not stationary_atoms(X, 1.001 * W, model.components_, problem).ok


def test_a_custom_start():
    X, start = coded(), start_of(coded(), 4)
    model = tenfold.DictionaryLearning(4, alpha=0.2, code_init=start.W, dict_init=start.D).fit(X)
    other = tenfold.DictionaryLearning(4, alpha=0.2).fit(X)
    np.testing.assert_array_equal(model.components_, other.components_)
    with pytest.raises(ValueError, match="dict_init has shape"):
        tenfold.DictionaryLearning(4, code_init=start.W, dict_init=start.D[:, 1:]).fit(X)


def test_callback_and_printing(capsys):
    steps = []
    model = tenfold.DictionaryLearning(4, alpha=0.2, callback=lambda known: steps.append(known["ii"]), verbose=True)
    model.fit(coded())
    assert steps[:3] == [0, 5, 10]
    assert "objective" in capsys.readouterr().out


def test_split_signs_and_the_inverse():
    X = coded()
    model = tenfold.DictionaryLearning(5, alpha=0.2, transform_algorithm="lasso_cd", split_sign=True).fit(X)
    W = model.transform(X)
    assert W.shape == (80, 10) == (80, len(model.get_feature_names_out()))
    assert W.min() >= 0.0
    np.testing.assert_allclose(model.inverse_transform(W), (W[:, :5] - W[:, 5:]) @ model.components_)
    with pytest.raises(ValueError, match="Expected 10, got 5"):
        model.inverse_transform(W[:, :5])


@pytest.mark.parametrize("algorithm", ["lasso_lars", "lasso_cd", "lars", "omp", "threshold"])
def test_codes_are_judged(algorithm):
    X = coded()
    D = np.random.default_rng(1).standard_normal((20, 12)) / 3.0
    settings = {"transform_algorithm": algorithm, "transform_alpha": 0.3, "transform_n_nonzero_coefs": 3}
    model = tenfold.SparseCoder(D, **settings).fit(X)
    assert model.certificate_.status == "not judged"
    W = model.transform(X)
    assert tenfold.certify(model, X).ok
    np.testing.assert_array_equal(tenfold.SparseCoder(D, **settings).transform(X), W)
    how = (algorithm, 0.3, 3, False)
    moved = W + 0.05 * np.random.default_rng(0).standard_normal(W.shape) * (W != 0.0)
    other = np.roll(W, 1, axis=1)
    for wrong in (moved, other, 0.0 * W, 1.01 * W):
        assert not codes_certificate(X, wrong, D, *how).ok


def test_a_pursuit_of_other_atoms_is_refused():
    """Least squares on atoms that a pursuit does not take."""
    X = coded()
    D = np.random.default_rng(1).standard_normal((20, 12))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    W = np.zeros((80, 20))
    W[:, :3] = np.linalg.lstsq(D[:3].T, X.T, rcond=None)[0].T
    assert not codes_certificate(X, W, D, "omp", 1.0, 3, False).ok


def test_bad_input():
    X = coded()
    for name in ("omp", "lars"):
        model = tenfold.SparseCoder(np.eye(12), transform_algorithm=name, positive_code=True).fit(X)
        with pytest.raises(ValueError, match="Positive constraint not supported"):
            model.transform(X)
    with pytest.raises(ValueError, match="Positive constraint not supported for 'lars'"):
        tenfold.DictionaryLearning(3, positive_code=True).fit(X)
    with pytest.raises(ValueError, match="different numbers of features"):
        tenfold.SparseCoder(np.eye(3)).fit(X)
    with pytest.raises(ValueError, match="different numbers of features"):
        tenfold.sparse_encode(X, np.eye(3))
    with pytest.raises(ValueError, match="cannot be more than"):
        tenfold.sparse_encode(X, np.eye(12)[:2], algorithm="omp", n_nonzero_coefs=3)
    X[3, 4] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tenfold.DictionaryLearning(3).fit(X)
    with pytest.raises(ValueError, match="so large"):
        tenfold.DictionaryLearning(3).fit(1e200 * coded())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("alpha", [0.3, 3.0])
def test_sparse_components_are_certified(dtype, alpha):
    X = (coded() + 5.0).astype(dtype)
    model = tenfold.SparsePCA(3, alpha=alpha).fit(X)
    assert model.certificate_.ok
    assert tenfold.certify(model, X).ok
    assert model.components_.dtype == model.transform(X).dtype == dtype
    np.testing.assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0, rtol=1e-6)
    model.components_ = model.components_ + np.asarray(1e-3, dtype=dtype)
    assert not tenfold.certify(model, X).ok


def test_scores_of_components_are_a_group_lasso():
    """The proximal gradient of the scores vanishes, and lengths are those of the groups."""
    rng = np.random.default_rng(0)
    X, C, alpha = rng.standard_normal((30, 8)), rng.standard_normal((3, 8)), 2.0
    D, s = best_scores(X, C, alpha)
    Z = (s[:, None] * D).T
    gradient = (Z @ C - X) @ C.T
    for k in range(3):
        if s[k] > 0.0:
            np.testing.assert_allclose(gradient[:, k], -alpha * np.abs(C[k]).sum() * D[k], atol=1e-9)
        else:
            assert np.linalg.norm(gradient[:, k]) <= alpha * np.abs(C[k]).sum() + 1e-9


def test_all_components_are_zero_with_a_large_penalty():
    X = coded()
    model = tenfold.SparsePCA(2, alpha=1e3).fit(X)
    assert model.certificate_.ok
    assert np.all(model.components_ == 0.0)
    assert np.all(model.transform(X) == 0.0)
    model.components_ = np.eye(12)[:2]
    assert not tenfold.certify(model, X).ok


def test_batches_are_not_judged_and_come_nearer():
    X = coded(n=400)
    settings = {"batch_size": 50, "random_state": 0, "tol": 0.0, "max_no_improvement": None}
    first, model = (
        tenfold.MiniBatchDictionaryLearning(5, alpha=0.2, max_iter=passes, **settings).fit(X) for passes in (1, 60)
    )
    assert model.certificate_.status == "not judged"
    certificate, before = tenfold.certify(model, X), tenfold.certify(first, X)
    assert not certificate.ok
    assert certificate.value < 0.5 * before.value
    assert certificate.objective < before.objective


def test_parts_go_on_after_a_file(tmp_path):
    X = coded(n=90)
    model = tenfold.MiniBatchDictionaryLearning(7, alpha=0.2, random_state=0).partial_fit(X[:30])
    tenfold.save(model, tmp_path / "model.tenfold")
    again = tenfold.load(tmp_path / "model.tenfold")
    for one in (model, again):
        one.partial_fit(X[30:60]).partial_fit(X[60:])
    np.testing.assert_allclose(again.components_, model.components_, rtol=1e-12)
    assert model.n_steps_ == again.n_steps_ == 3
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, 1:])


def test_functions_return_what_the_classes_learn():
    X = coded()
    W, D, errors, steps = tenfold.dict_learning(X, 5, alpha=0.2, max_iter=1000, return_n_iter=True)
    model = tenfold.DictionaryLearning(5, alpha=0.2).fit(X)
    np.testing.assert_array_equal(D, model.components_)
    assert (len(errors), steps) == (model.n_iter_, model.n_iter_)
    np.testing.assert_allclose(tenfold.sparse_encode(X, D, alpha=0.2), W, atol=1e-9)
    A, C = D @ D.T, D @ X.T
    np.testing.assert_allclose(tenfold.sparse_encode(X, D, alpha=0.2, gram=A, cov=C), W, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        W, D = tenfold.dict_learning_online(X, 5, alpha=0.2, random_state=0, max_iter=5)
    np.testing.assert_allclose(tenfold.sparse_encode(X, D, alpha=0.2), W, atol=1e-12)
    assert tenfold.dict_learning_online(X, 5, random_state=0, max_iter=2, return_code=False).shape == (5, 12)


@pytest.mark.parametrize("name", ["DictionaryLearning", "SparsePCA"])
def test_a_larger_tolerance_ends_earlier_and_is_that_of_the_certificate(name):
    X = coded()
    model, closer = (getattr(tenfold, name)(4, alpha=0.3, tol=tol).fit(X) for tol in (1e-2, 1e-8))
    assert model.n_iter_ < closer.n_iter_
    assert model.certificate_.tol == tenfold.certify(model, X).tol == 1e-2
    assert model.certificate_.ok
    assert closer.certificate_.tol == 1e-6
    few = getattr(tenfold, name)(4, alpha=0.3, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        few.fit(X)
    assert not few.certificate_.ok


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_gaps_bound_how_far_codes_are_from_the_best(scale):
    """The true excess of the objective, from exact codes, is at most the gap."""
    X, D = scale * coded(), np.random.default_rng(1).standard_normal((20, 12))
    alpha = 0.3 * scale
    best = codes_certificate(X, tenfold.sparse_encode(X, D, alpha=alpha), D, "lasso_cd", alpha, 0, False)
    assert best.ok
    for size in (1e-8, 1e-4, 1e-2):
        W = tenfold.sparse_encode(X, D, alpha=alpha)
        W += size * scale * np.random.default_rng(0).standard_normal(W.shape) * (W != 0.0)
        worse = codes_certificate(X, W, D, "lasso_cd", alpha, 0, False)
        assert worse.value >= worse.objective - best.objective - 1e-12 * worse.scale
