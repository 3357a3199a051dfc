"""Random kitchen sinks: ridge on the drawn features, from every source, with the penalty of the least exact error."""

import copy

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse

import tenfold
from tenfold import RandomKitchenSinks, RandomKitchenSinksClassifier, RBFSampler

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * RNG.standard_normal(300)
GRID = np.logspace(-4.0, 1.0, 6)


def test_equals_ridge_on_the_features_of_the_sampler():
    model = RandomKitchenSinks(gamma=0.5, n_components=80, alphas=GRID, random_state=3).fit(X, Y)
    Z = RBFSampler(gamma=0.5, n_components=80, random_state=3).fit_transform(X)
    expected = sklearn.linear_model.RidgeCV(GRID).fit(Z, Y)
    assert model.alpha_ == expected.alpha_
    np.testing.assert_allclose(model.predict(X), expected.predict(Z), rtol=1e-7, atol=1e-8)
    assert model.certificate_.ok
    assert tenfold.certify(model, X, Y).ok


def test_leave_one_out_is_that_of_refits():
    few = slice(0, 40)
    model = RandomKitchenSinks(gamma=0.5, n_components=30, alphas=[0.1], random_state=0).fit(X[few], Y[few])
    errors = []
    for i in range(40):
        rest = np.arange(40) != i
        one = RandomKitchenSinks(gamma=0.5, n_components=30, alpha=0.1, random_state=0).fit(X[few][rest], Y[few][rest])
        errors.append(Y[i] - one.predict(X[i : i + 1])[0])
    assert model.cv_errors_[0] == pytest.approx(np.mean(np.square(errors)), rel=1e-7)


@pytest.mark.parametrize("alpha", ["loo", 0.1])
def test_sources(alpha, tmp_path):
    settings = {"gamma": "scale", "n_components": 60, "alpha": alpha, "alphas": GRID, "random_state": 0}
    expected = RandomKitchenSinks(**settings).fit(X, Y)
    np.save(tmp_path / "X.npy", X)
    table = tenfold.rows([(X[:100], Y[:100]), (X[100:], Y[100:])])
    for given, target in ((table, None), (sparse.csr_array(X), Y), (np.asfortranarray(X), Y)):
        model = RandomKitchenSinks(**settings).fit(given, target)
        assert model.alpha_ == expected.alpha_
        np.testing.assert_allclose(model.predict(X), expected.predict(X), rtol=1e-6, atol=1e-7)
        assert tenfold.certify(model, given, target).ok
    single = RandomKitchenSinks(**settings).fit(X.astype(np.float32), Y)
    assert single.coef_.dtype == np.float32
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    assert single.certificate_.ok
    np.testing.assert_allclose(single.predict(X), expected.predict(X), atol=0.05)


def test_dask_and_other_namespaces():
    array, strict = pytest.importorskip("dask.array"), pytest.importorskip("array_api_strict")
    settings = {"gamma": 0.5, "n_components": 60, "alphas": GRID, "random_state": 0}
    expected = RandomKitchenSinks(**settings).fit(X, Y)
    lazy = RandomKitchenSinks(**settings).fit(array.from_array(X, chunks=(80, 3)), array.from_array(Y, chunks=80))
    np.testing.assert_allclose(lazy.predict(X), expected.predict(X), rtol=1e-6, atol=1e-7)
    given = strict.asarray(X)
    model = RandomKitchenSinks(**settings).fit(given, strict.asarray(Y))
    np.testing.assert_allclose(np.asarray(model.predict(given)), expected.predict(X), rtol=1e-6, atol=1e-7)
    assert tenfold.certify(model, given, strict.asarray(Y)).ok


def test_more_features_than_samples_and_several_targets():
    targets = np.column_stack([Y, X[:, 0]])[:50]
    model = RandomKitchenSinks(n_components=200, random_state=0).fit(X[:50], targets)
    assert model.coef_.shape == (2, 200)
    assert model.certificate_.ok
    assert tenfold.certify(model, X[:50], targets).ok


def test_without_a_penalty():
    model = RandomKitchenSinks(n_components=50, alpha=0.0, random_state=0).fit(X, Y)
    assert model.certificate_.ok
    assert tenfold.certify(model, X, Y).ok


def test_weights_are_repetitions():
    weight = np.random.default_rng(1).integers(0, 3, 300)
    settings = {"gamma": "scale", "n_components": 40, "alpha": 0.1, "random_state": 0}
    one = RandomKitchenSinks(**settings).fit(X, Y, weight)
    other = RandomKitchenSinks(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["coef_", "intercept_", "random_weights_", "random_offset_", "alpha_", "cv_errors_"])
def test_a_tampered_model_is_refused(name):
    model = RandomKitchenSinks(n_components=60, alphas=GRID, random_state=0).fit(X, Y)
    value = np.asarray(getattr(model, name), dtype=np.float64)
    for change in (1e-3 * (1.0 + np.abs(value)), np.abs(value) + 1.0):
        tampered = copy.copy(model)
        setattr(tampered, name, value + change if value.ndim else float(value + change))
        assert not tenfold.certify(tampered, X, Y).ok


def test_bad_parameters():
    for alphas in ([], [0.0], [np.nan], "many", 3.0):
        with pytest.raises(ValueError, match="alphas"):
            RandomKitchenSinks(alphas=alphas).fit(X, Y)
    with pytest.raises(ValueError, match="'alpha' parameter"):
        RandomKitchenSinks(alpha="best").fit(X, Y)
    with pytest.raises(ValueError, match="at least 2 samples"):
        RandomKitchenSinks().fit(X[:1], Y[:1])


def test_classes():
    labels = np.array(["ant", "bee", "cat"])[np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])]
    model = RandomKitchenSinksClassifier(n_components=200, random_state=0).fit(X, labels)
    assert model.score(X, labels) > 0.9
    assert tenfold.certify(model, X, labels).ok
    balanced = RandomKitchenSinksClassifier(n_components=50, class_weight="balanced", random_state=0).fit(X, labels)
    assert tenfold.certify(balanced, X, labels).ok
