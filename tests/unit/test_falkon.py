"""Falkon: the solution, candidates by hold-out, centres, sources, weights and bad input."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

import tenfold
from tenfold.kernels import Gaussian, Matern


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(500)


def test_all_samples_as_centres_are_kernel_ridge(data):
    X, y = data
    sklearn_model = KernelRidge(alpha=0.5, kernel="laplacian", gamma=0.3).fit(X, y)
    model = tenfold.Falkon(0.5 / 500, kernel="laplacian", gamma=0.3, centres=X, fit_intercept=False, tol=1e-12)
    assert_allclose(model.fit(X, y).predict(X), sklearn_model.predict(X), atol=1e-6)


def test_coefficients_solve_the_normal_equations(data):
    X, y = data
    weight = np.linspace(0.0, 2.0, 500)
    model = tenfold.Falkon(1e-3, gamma=0.5, centres=30, random_state=0, tol=1e-12).fit(X, y, weight)
    s, K = weight / weight.sum(), model.kernel_(X, model.centres_)
    assert_array_equal(np.sort(model.centres_[:, 0]), np.sort([x for x in X[:, 0] if x in model.centres_[:, 0]]))
    centred = K - s @ K
    A = K.T @ (s[:, None] * centred) + 1e-3 * model.kernel_(model.centres_)
    c = np.linalg.solve(A, K.T @ (s * (y - s @ y)))
    assert_allclose(K @ model.dual_coef_, K @ c, atol=1e-6)
    assert_allclose(model.intercept_, s @ y - s @ K @ model.dual_coef_, rtol=1e-9)


@pytest.mark.parametrize("penalty", [1e-1, 1e-5, 1e-9])
def test_steps_do_not_depend_on_the_penalty_where_centres_are_few(penalty):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 4))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(3000)
    model = tenfold.Falkon(penalty, centres=100, random_state=0).fit(X, y)
    assert model.certificate_.ok
    assert model.n_iter_ <= 5


def test_more_steps_where_the_preconditioner_sees_a_part_of_the_samples(data, monkeypatch):
    from tenfold.plans import kernel_centres

    monkeypatch.setattr(kernel_centres, "STEPS_SPENT", 0.0)
    X, y = data
    model = tenfold.Falkon(1e-4, gamma=0.5, centres=60, random_state=0).fit(X, y)
    full = clone(model).set_params(tol=1e-12).fit(X, y)
    assert model.certificate_.ok
    assert model.n_iter_ > 3
    assert_allclose(model.predict(X), full.predict(X), atol=1e-2)
    objectives = [record.objective for record in model.trace_]
    assert all(after <= before * (1.0 + 1e-12) for before, after in pairwise(objectives))


def test_hold_out_takes_the_least_error(data):
    X, y = data
    alphas, gammas = np.array([1e-8, 1e-3, 10.0]), [0.01, 0.5, 50.0]
    model = tenfold.Falkon(alphas, gamma=gammas, centres=60, random_state=0).fit(X, y)
    errors = model.hold_out_errors_
    assert errors.shape == (3, 3)
    i, j = np.unravel_index(np.argmin(errors), errors.shape)
    assert (model.alpha_, model.kernel_) == (alphas[j], Gaussian(np.sqrt(0.5 / gammas[i])))
    alone = tenfold.Falkon(alphas[j], gamma=gammas[i], centres=model.centres_, tol=1e-12).fit(X, y)
    assert_allclose(model.predict(X), alone.predict(X), atol=1e-2)


def test_hold_out_errors_are_those_of_a_fit_to_the_others(data):
    """All candidates of the penalty share the passes, and each gets what a fit of its own would."""
    X, y = data
    Z = X[:40]
    model = tenfold.Falkon([1e-6, 1e-2], gamma=0.5, centres=Z, validation_fraction=0.2, random_state=3).fit(X, y)
    random = np.random.RandomState(3)
    random.randint(np.iinfo(np.int32).max)
    held = random.permutation(500)[:100]
    train = np.setdiff1d(np.arange(500), held)
    for alpha, error in zip(model.alphas_, model.hold_out_errors_[0], strict=True):
        alone = tenfold.Falkon(alpha, gamma=0.5, centres=Z).fit(X[train], y[train])
        assert_allclose(np.mean((y[held] - alone.predict(X[held])) ** 2), error, rtol=1e-3)


def test_grids_of_candidates(data):
    X, y = data
    model = tenfold.Falkon("hold-out", gamma="hold-out", random_state=0).fit(X, y)
    assert model.hold_out_errors_.shape == (6, 10)
    assert model.score(X, y) > 0.7
    assert model.certificate_.ok


def test_weights_of_zero_are_removed_samples_and_may_not_be_centres(data):
    X, y = data
    weight = np.repeat([1.0, 0.0], 250)
    y = np.where(weight > 0.0, y, 1e6)
    model = tenfold.Falkon("hold-out", centres=20, random_state=0).fit(X, y, weight)
    assert np.isin(model.centres_[:, 0], X[:250, 0]).all()
    assert model.score(X[:250], y[:250]) > 0.5


def test_integer_weights_are_repeated_samples(data):
    X, y = data
    repeats = np.arange(500) % 3
    weighted = tenfold.Falkon(1e-3, centres=X[:20], tol=1e-12).fit(X, y, repeats)
    repeated = tenfold.Falkon(1e-3, centres=X[:20], tol=1e-12).fit(np.repeat(X, repeats, 0), np.repeat(y, repeats))
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


@pytest.mark.parametrize("centres", [10, ("uniform", 10), ("kmeans", 10), ("leverage", 10), "given", "sparse"])
def test_centres(data, centres):
    X, y = data
    given = {"given": X[:10], "sparse": sparse.csr_array(X[:10])}
    model = tenfold.Falkon(centres=given[centres] if isinstance(centres, str) else centres, random_state=0).fit(X, y)
    assert model.centres_.shape == (10, 3)
    assert model.certificate_.ok
    words = {10: "drawn at random", "given": "the given centres", "sparse": "the given centres"}
    method = words[centres] if not isinstance(centres, tuple) else {"kmeans": "k-means", "leverage": "leverage"}
    assert (method if isinstance(method, str) else method.get(centres[0], "at random")) in model.certificate_.note


def test_default_number_of_centres(data):
    X, y = data
    model = tenfold.Falkon(kernel="laplacian", random_state=0).fit(X, y)
    assert len(model.centres_) == 224  # ceil(10 sqrt(500))
    assert len(tenfold.Falkon(kernel="laplacian").fit(X[:50], y[:50]).centres_) == 50


def test_duplicated_centres_are_left_out(data):
    X, y = data
    model = tenfold.Falkon(centres=np.vstack([X[:20]] * 3)).fit(X, y)
    single = tenfold.Falkon(centres=X[:20]).fit(X, y)
    assert len(model.centres_) == 20
    assert_allclose(model.predict(X), single.predict(X), atol=1e-6)


def test_constant_samples(data):
    y = data[1]
    model = tenfold.Falkon().fit(np.ones((500, 2)), y)
    assert len(model.centres_) == 1
    assert_allclose(model.predict(np.ones((1, 2))), y.mean())


def test_storage_agrees(data):
    X, y = data
    settings = {"centres": X[:30], "gamma": 0.5, "tol": 1e-12}
    expected = tenfold.Falkon(1e-4, **settings).fit(X, y).predict(X)
    for samples in (sparse.csr_array(X), np.asfortranarray(X)):
        model = tenfold.Falkon(1e-4, **settings).fit(samples, y)
        assert_allclose(model.predict(samples), expected, atol=1e-6)
        assert_allclose(model.predict(X), expected, atol=1e-6)
    single = tenfold.Falkon(1e-4, **settings).fit(X.astype(np.float32), y)
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    assert single.dual_coef_.dtype == np.float64
    assert_allclose(single.predict(X), expected, atol=1e-3)


def test_other_namespaces_keep_arrays_where_they_are(data):
    xp = pytest.importorskip("array_api_strict")
    X, y = data
    here = tenfold.Falkon([1e-6, 1e-3], gamma="scale", centres=30, random_state=0).fit(X, y)
    model = tenfold.Falkon([1e-6, 1e-3], gamma="scale", centres=30, random_state=0).fit(xp.asarray(X), xp.asarray(y))
    for array in (model.dual_coef_, model.centres_, model.predict(xp.asarray(X))):
        assert type(array) is type(xp.asarray(X))
    assert_allclose(np.asarray(model.predict(xp.asarray(X))), here.predict(X), atol=1e-3)
    assert_allclose(model.predict(X), here.predict(X), atol=1e-3)
    assert tenfold.certify(model, xp.asarray(X), xp.asarray(y)).ok


def test_dask_and_files_choose_as_arrays_do(data, tmp_path):
    da, frame = pytest.importorskip("dask.array"), pytest.importorskip("pandas")
    X, y = data
    settings = {"alpha": "hold-out", "gamma": "scale", "centres": X[:30], "random_state": 0}
    here = tenfold.Falkon(**settings).fit(X, y)
    remote = tenfold.Falkon(**settings).fit(da.from_array(X, chunks=(128, 3)), da.from_array(y, chunks=128))
    frame.DataFrame(X, columns=["a", "b", "c"]).assign(y=y).to_parquet(tmp_path / "samples.parquet")
    table = tenfold.rows(tmp_path / "samples.parquet", target="y")
    filed = tenfold.Falkon(**settings).fit(table)
    for model, samples in ((remote, X), (filed, table)):
        assert model.alpha_ == here.alpha_
        assert_allclose(model.kernel_.length_scale, here.kernel_.length_scale)
        assert_allclose(model.predict(samples), here.predict(X), atol=1e-3)
    assert tenfold.certify(filed, table).ok


def test_bits_do_not_depend_on_threads():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 5))
    y = np.sin(X[:, 0])
    fits = []
    for count in (1, 2):
        with threadpoolctl.threadpool_limits(count):
            fits.append(tenfold.Falkon(1e-4, centres=100, random_state=0).fit(X, y).dual_coef_)
    assert_array_equal(*fits)


def test_classes_and_class_weights():
    X, y = make_moons(400, noise=0.2, random_state=0)
    model = tenfold.FalkonClassifier(gamma=1.0, centres=50, random_state=0).fit(X, y)
    assert model.dual_coef_.ndim == 1
    assert_array_equal(model.predict(X), model.classes_[(model.decision_function(X) > 0).astype(int)])
    labels = np.array(["a", "b", "c"])[y + (X[:, 0] > 1.0)]
    several = tenfold.FalkonClassifier(gamma=1.0, centres=50, class_weight="balanced", random_state=0).fit(X, labels)
    assert several.dual_coef_.shape == (len(several.centres_), 3)
    assert several.decision_function(X).shape == (400, 3)
    assert several.score(X, labels) > 0.9
    assert tenfold.certify(several, X, labels).ok
    both = np.column_stack([y, X[:, 0] > 0.0]).astype(int)
    assert tenfold.FalkonClassifier(gamma=1.0, random_state=0).fit(X, both).predict(X).shape == (400, 2)


def test_kernel_objects_and_functions(data):
    X, y = data
    for kernel in (Matern(2.0, nu=1.5), Gaussian(1.0) + 1.0, lambda x, z: float(np.exp(-np.sum(np.abs(x - z))))):
        model = tenfold.Falkon(1e-4, kernel=kernel, centres=20, random_state=0).fit(X[:150], y[:150])
        assert model.certificate_.ok
        assert tenfold.certify(model, X[:150], y[:150]).ok


def test_real_data_beside_kernel_ridge_with_all_samples():
    X, y = load_diabetes(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    full = KernelRidge(alpha=0.01 * 442, kernel="rbf", gamma=0.02).fit(X, y - y.mean())
    few = tenfold.Falkon(0.01, gamma=0.02, centres=("kmeans", 80), random_state=0).fit(X, y)
    assert abs(few.score(X, y) - full.score(X, y - y.mean())) < 0.02


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"alpha": 0.0}, "must be a float in the range"),
        ({"alpha": [0.0, 1.0]}, "above zero"),
        ({"alpha": []}, "above zero"),
        ({"centres": 501}, "501 centres need as many samples, and there are 500"),
        ({"centres": ("best", 5)}, "'uniform', 'kmeans', 'leverage'"),
        ({"centres": ("uniform", 0)}, "at least 1"),
        ({"centres": np.ones((3, 2))}, "2 features, and the samples 3"),
        ({"centres": np.full((3, 3), np.nan)}, "NaN"),
        ({"kernel": "precomputed"}, "no samples among which centres are"),
        ({"kernel": "poly", "gamma": 1e200}, "overflow"),
        ({"kernel": "linear", "gamma": "hold-out"}, "is for the kernels"),
        ({"kernel": "poly", "gamma": "hold-out"}, "give a list"),
        ({"gamma": [0.1, -1.0]}, "above zero"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
    ],
)
def test_bad_input(data, settings, words):
    with pytest.raises(ValueError, match=words):
        tenfold.Falkon(**settings).fit(*data)


def test_features_that_overflow_or_are_not_finite(data):
    X, y = data
    with pytest.raises(ValueError, match="overflow"):
        tenfold.Falkon(kernel="linear", centres=5, random_state=0).fit(1e200 * X, y)
    X = X.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tenfold.Falkon().fit(X, y)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
def test_targets_that_vary_little_about_an_offset(data, offset):
    X, y = data
    plain = tenfold.Falkon(1e-4, centres=X[:20]).fit(X, y)
    model = tenfold.Falkon(1e-4, centres=X[:20]).fit(X, 1e-4 * y + offset)
    assert model.certificate_.ok
    assert_allclose(model.certificate_.scale, 1e-8 * plain.certificate_.scale, rtol=1e-3)
    assert_allclose(1e4 * (model.predict(X) - offset), plain.predict(X), atol=1e-2)


def test_too_few_steps_are_said(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        tenfold.Falkon(1e-7, kernel="laplacian", centres=X, max_iter=1).fit(np.vstack([X] * 8), np.tile(y, 8))


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_ridge_with_all_samples_as_centres_is_kernel_ridge(data, weighted):
    X, y = data
    Y, weight = np.column_stack([y, X[:, 1] ** 2]), np.linspace(0.1, 2.0, 500) if weighted else None
    settings = {"alpha": [0.1, 10.0], "kernel": "laplacian"}
    full = tenfold.KernelRidge(**settings).fit(X, Y, weight)
    model = tenfold.KernelRidge(**settings, centres=X).fit(X, Y, weight)
    assert_allclose(model.predict(X), full.predict(X), atol=1e-5)
    assert "the given centres, 500" in model.certificate_.note
    assert tenfold.certify(model, X, Y, weight).ok
    model.dual_coef_[0] += 1e-2
    assert not tenfold.certify(model, X, Y, weight).ok


@pytest.mark.parametrize("centres", [20, ("kmeans", 20), ("leverage", 20)])
def test_kernel_ridge_on_centres(data, centres):
    X, y = data
    for samples in (X, X.astype(np.float32), sparse.csr_array(X)):
        model = tenfold.KernelRidge(0.1, kernel="rbf", centres=centres, random_state=0).fit(samples, y)
        assert model.X_fit_.shape == (20, 3)
        assert model.certificate_.ok
        assert tenfold.certify(model, samples, y).ok
    labels = tenfold.KernelRidgeClassifier(0.1, centres=centres, random_state=0).fit(X, y > 0.0)
    assert labels.score(X, y > 0.0) > 0.7
    assert tenfold.certify(labels, X, y > 0.0).ok


def test_bad_input_of_kernel_ridge_on_centres(data):
    X, y = data
    for settings, words in (
        ({"alpha": 0.0}, "alpha must be above zero where there are centres"),
        ({"kernel": "precomputed"}, "no samples among which centres are"),
        ({"centres": 501}, "501 centres need as many samples"),
    ):
        with pytest.raises(ValueError, match=words):
            tenfold.KernelRidge(**{"centres": 5, **settings}).fit(X, y)
    model = tenfold.KernelRidge(centres=5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="without centres"):
        model.predict_interval(X)
