"""Arrays of other libraries: the same fits as on NumPy arrays, and everything stays where X lives.

array-api-strict knows only what the standard says, so that what runs on it runs on every conforming library; torch on
the CPU belongs to the slow tests, torch and CuPy on a GPU run where there is one.
"""

import copy
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import tenfold
from design import only_if
from estimators import SHAPES, SOLVED, chosen, columns_of, is_comparable, row_of, zero_weights
from namespaces import every_namespace, host, strict
from tenfold import arrays
from tenfold.data import blocks

every_row = pytest.mark.parametrize("row", [row for row in SOLVED if "devices" in row.where], ids=lambda row: row.id)


def numbers(row, y):
    """Classes as numbers: other libraries have no words."""
    return np.unique(y, return_inverse=True)[1] if row.classifier else y


def same_place(result, X):
    assert type(result) is type(X)
    if hasattr(X, "device"):
        assert result.device == X.device


def parameters(model):
    coef = np.atleast_2d(host(model.coef_)).astype(np.float64)
    return np.column_stack([coef, np.broadcast_to(np.asarray(host(model.intercept_), float), coef.shape[:1])])


DENSE = [name for name in SHAPES if not name.startswith("sparse")]


@every_namespace
@every_row
@pytest.mark.parametrize("shape", DENSE)
@only_if(is_comparable)
def test_equal_to_numpy(start, row, shape):
    put = start()
    X, y, weight = SHAPES[shape](row)
    y = numbers(row, y)
    here, there = row.make().fit(X, y, sample_weight=weight), row.make()
    X_there = put(X)
    there.fit(X_there, put(y), sample_weight=None if weight is None else put(weight))
    assert there.certificate_.ok == here.certificate_.ok
    for name in ("coef_", "intercept_") if row.intercept else ("coef_",):
        result = getattr(there, name)
        same_place(result, X_there)
        assert result.dtype == X_there.dtype
        assert tuple(result.shape) == np.shape(getattr(here, name))
    if row.chooses:
        np.testing.assert_allclose(chosen(there), chosen(here))
    z = there.predict(X_there)
    same_place(z, X_there)
    single = X.dtype == np.float32
    close = {"rtol": 1e-4, "atol": 1e-5} if single else {"rtol": 1e-7, "atol": 1e-7}
    if row.kind == "gap":
        close = {"rtol": 2e-3, "atol": 2e-3}  # both are certified, by different routes
    if row.unique:
        np.testing.assert_allclose(parameters(there), parameters(here), **close)
    if row.classifier:
        assert np.mean(host(z) == here.predict(X)) >= 0.98
    else:
        np.testing.assert_allclose(host(z), here.predict(X), **close)
    weights = None if weight is None else put(weight)
    np.testing.assert_allclose(there.score(X_there, put(y), weights), here.score(X, y, weight), atol=0.02)
    again = tenfold.certify(there, X_there, put(y), weights)
    assert again.ok == there.certificate_.ok


@every_namespace
def test_probabilities(start):
    put = start()
    X, y, _ = SHAPES["tall"](row_of("LogisticRegression"))
    y = (y == "bee").astype(np.int64)
    here, there = tenfold.LogisticRegression().fit(X, y), tenfold.LogisticRegression().fit(put(X), put(y))
    for name in ("predict_proba", "predict_log_proba", "decision_function"):
        result = getattr(there, name)(put(X))
        same_place(result, put(X))
        np.testing.assert_allclose(host(result), getattr(here, name)(X), rtol=1e-3, atol=1e-3)
    same_place(there.classes_, put(y))


@every_namespace
@pytest.mark.parametrize("row", [row for row in SOLVED if row.multi_output], ids=lambda row: row.id)
def test_several_targets(start, row):
    put = start()
    X, Y = SHAPES["tall"](row).X, columns_of(row, 3)
    here, there = row.make().fit(X, Y), row.make().fit(put(X), put(Y))
    np.testing.assert_allclose(parameters(there), parameters(here), rtol=1e-8, atol=1e-9)
    assert tuple(there.predict(put(X)).shape) == Y.shape


@every_namespace
def test_three_classes_and_words_from_the_host(start):
    put = start()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    y = np.array(["ant", "bee", "cat"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    here, there = tenfold.RidgeClassifier().fit(X, y), tenfold.RidgeClassifier().fit(put(X), y)
    same_place(there.coef_, put(X))
    # the answer lives where the words can
    np.testing.assert_array_equal(there.predict(put(X)), here.predict(X))
    assert there.score(put(X), y) == pytest.approx(here.score(X, y))


@every_namespace
def test_exact_choice(start):
    put = start()
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 5))
    y = X @ rng.standard_normal(5) + rng.standard_normal(300)
    weight = zero_weights(300)
    for cv in (None, 4):
        settings = {"alphas": [0.1, 1.0, 10.0, 100.0], "cv": cv}
        here = tenfold.RidgeCV(**settings).fit(X, y, sample_weight=weight)
        there = tenfold.RidgeCV(**settings).fit(put(X), put(y), sample_weight=put(weight))
        assert there.alpha_ == here.alpha_
        np.testing.assert_allclose(there.cv_errors_, here.cv_errors_, rtol=1e-9)


def rows_of_kinds(kind, n=1500, p=6):
    """Rows whose blocks agree, or differ in what a block is measured from."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n, p))
    if kind == "far from zero":
        X += 1e4
    elif kind == "sorted":
        X += 50.0 * np.repeat(np.arange(-(-n // 300)), 300)[:n, None]
    elif kind == "a column that begins constant":
        X[:700, 2] = 3.0
    elif kind == "columns beyond squares":
        X[:, 1] *= 1e200
        X[:, 2] *= 1e-200
    unit = np.max(np.abs(X), axis=0)
    y = X / unit @ rng.standard_normal(p) + 0.1 * rng.standard_normal(n)
    return X, y, rng.integers(0, 3, n).astype(float)


KINDS = ("near zero", "far from zero", "sorted", "a column that begins constant", "columns beyond squares")

many_blocks = pytest.mark.parametrize(
    "waiting", [1, blocks.MAX_PENDING_NUMBERS], ids=["a block waits", "all blocks wait"]
)


def cut_small(monkeypatch, waiting):
    """Blocks of 256 rows, whose sums wait for the end of the pass or for the next block."""
    monkeypatch.setattr(blocks, "DEVICE_BYTES", 1 << 13)
    monkeypatch.setattr(blocks, "MAX_PENDING_NUMBERS", waiting)


@every_namespace
@many_blocks
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_many_blocks(start, kind, weighted, waiting, monkeypatch):
    cut_small(monkeypatch, waiting)
    put = start()
    X, y, weight = rows_of_kinds(kind)
    weight = weight if weighted else None
    here, there = tenfold.Moments.of(X, y, weight), tenfold.Moments.of(put(X), put(y), weight)
    assert (there.count, there.weight) == (here.count, here.weight)
    unit = np.max(np.abs(X), axis=0)
    np.testing.assert_allclose(there.mean / unit, here.mean / unit, atol=1e-13)
    lengths, d = np.sqrt(np.diag(here.XX)), (there.exponent - here.exponent)[: X.shape[1]]
    there_XX = np.ldexp(there.XX, d[:, None] + d)
    np.testing.assert_allclose(there_XX / lengths / lengths[:, None], here.XX / lengths / lengths[:, None], atol=1e-12)


@every_namespace
@many_blocks
@pytest.mark.parametrize("kind", KINDS[:-1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        tenfold.Ridge(),
        tenfold.RidgeCV(alphas=[0.1, 10.0, 1e3]),
        tenfold.LogisticRegression(),
        tenfold.LogisticRegression(solver="newton-cholesky"),
    ],
    ids=["Ridge", "RidgeCV", "LogisticRegression", "Newton"],
)
def test_fits_of_many_blocks(start, model, kind, weighted, waiting, monkeypatch):
    cut_small(monkeypatch, waiting)
    put = start()
    X, y, weight = rows_of_kinds(kind)
    classes = isinstance(model, tenfold.LogisticRegression)
    y = (y > np.median(y)).astype(np.int64) if classes else y
    here = clone(model).fit(X, y, sample_weight=weight if weighted else None)
    there = clone(model).fit(put(X), put(y), sample_weight=put(weight) if weighted else None)
    assert here.certificate_.ok
    assert there.certificate_.ok
    close = {"rtol": 2e-3, "atol": 2e-3} if classes else {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(parameters(there)[:, :-1], parameters(here)[:, :-1], **close)
    if hasattr(model, "alphas"):
        np.testing.assert_allclose(there.cv_errors_, here.cv_errors_, rtol=1e-9)


@every_namespace
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fit_that_begins_on_a_sample(start, dtype):
    put = start()
    rng = np.random.default_rng(5)
    X = rng.standard_normal((25_000, 100)).astype(dtype)
    y = (X[:, 0] + rng.standard_normal(len(X)) > 0).astype(np.int64)
    here, there = (tenfold.LogisticRegression().fit(kind(X), kind(y)) for kind in (np.asarray, put))
    assert there.certificate_.ok
    same_place(there.coef_, put(X))
    np.testing.assert_allclose(parameters(there), parameters(here), atol=2e-3)


def test_one_transfer_from_the_device_per_pass(monkeypatch):
    """Every question is a wait: where a block is measured from, once for all passes; then once a pass, of however many
    blocks.
    """
    calls = []
    for module in (arrays, blocks):
        monkeypatch.setattr(module, "on_host", lambda array: calls.append(array.shape) or host(array))
    put = strict()
    X, y, _ = rows_of_kinds("near zero")
    counts = {}
    for size in (1 << 13, 1 << 30):
        monkeypatch.setattr(blocks, "DEVICE_BYTES", size)
        for model in (tenfold.Ridge(), tenfold.RidgeCV()):
            calls.clear()
            model.fit(put(X), put(y))
            counts.setdefault(type(model).__name__, []).append(len(calls))
    assert counts == {"Ridge": [3, 3], "RidgeCV": [4, 4]}


@every_row
@pytest.mark.parametrize("columns", [4, 40])
# folds that follow the classes are scikit-learn's, which looks at all of them
@only_if(lambda row: not (row.classifier and row.settings.get("cv")))
def test_what_leaves_a_device_are_statistics(row, columns, monkeypatch):
    """However many rows: no sample of them, and no number a row but where the loss has kinks."""
    left = []
    taken = np.from_dlpack  # how arrays of this library come to the host
    monkeypatch.setattr(np, "from_dlpack", lambda array: left.append(math.prod(array.shape)) or taken(array))
    put = strict()
    X, y, _ = row.data(12_000, columns)
    row.make().fit(put(X), put(numbers(row, y)))
    assert 0 < max(left) <= (12_000 if row.kinks else 3 * (columns + 2) ** 2)


@every_namespace
def test_integers_and_bool_become_float64(start):
    put = start()
    X = np.arange(30).reshape(10, 3) % 7
    y = X[:, 0] - 2.0 * X[:, 1]
    model = tenfold.Ridge().fit(put(X), put(y))
    np.testing.assert_allclose(host(model.coef_), tenfold.Ridge().fit(X, y).coef_)


@every_namespace
def test_bad_input(start):
    put = start()
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    bad = X.copy()
    bad[3, 1] = np.nan
    for model in (tenfold.Ridge(), tenfold.LogisticRegression()):
        with pytest.raises(ValueError, match="X contains NaN or infinity"):
            model.fit(put(bad), put(y))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            model.fit(put(X), put(y[:-1]))
        with pytest.raises(ValueError, match="Expected 2D array"):
            model.fit(put(X[0]), put(y))
        with pytest.raises(ValueError, match="0 sample"):
            model.fit(put(X[:0]), put(y[:0]))
        with pytest.raises(ValueError, match="requires y"):
            model.fit(put(X))
        model.fit(put(X), put(y))
        with pytest.raises(ValueError, match="4 features"):
            model.predict(put(np.ones((2, 4))))
        with pytest.raises(ValueError, match="X contains NaN or infinity"):
            model.predict(put(bad))
        with pytest.raises(ValueError, match="Negative values"):
            model.fit(put(X), put(y), sample_weight=put(-np.ones(20)))
    with pytest.raises(ValueError, match="one class"):
        tenfold.LogisticRegression().fit(put(X), put(np.ones(20)))
    three = tenfold.LogisticRegression().fit(put(X), put(np.arange(20) % 3))
    alone = tenfold.LogisticRegression().fit(X, np.arange(20) % 3)
    np.testing.assert_allclose(host(three.coef_), alone.coef_, atol=1e-9)
    np.testing.assert_allclose(host(three.predict_proba(put(X))), alone.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(host(three.predict(put(X))), alone.predict(X))
    with pytest.raises(ValueError, match="y contains NaN"):
        tenfold.Ridge().fit(put(X), put(np.full(20, np.nan)))


@every_namespace
def test_a_fitted_model_predicts_on_numpy_too(start):
    put = start()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    model = tenfold.Ridge().fit(put(X), put(X[:, 0]))
    assert isinstance(model.predict(X), np.ndarray)
    np.testing.assert_allclose(model.predict(X), host(model.predict(put(X))), rtol=1e-12, atol=1e-14)


def test_a_target_of_another_library_raises():
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match="copy nothing between devices"):
        tenfold.Ridge().fit(strict()(X), torch.asarray(X[:, 0]))


@every_namespace
def test_copies_of_models(start):
    put = start()
    X = np.random.default_rng(0).standard_normal((20, 3))
    model = tenfold.Ridge().fit(put(X), put(X[:, 0]))
    same_place(copy.deepcopy(model).coef_, put(X))
    if start is not strict:
        same_place(pickle.loads(pickle.dumps(model)).coef_, put(X))
