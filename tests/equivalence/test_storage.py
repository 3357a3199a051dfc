"""The same numbers stored in another way give the same fit: C, Fortran, strided, read-only, lists, frames, CSR, CSC."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from design import only_if
from estimators import (
    SHAPES,
    SOLVED,
    chosen,
    classes,
    columns_of,
    fits,
    has_maximum,
    parameters,
    regression,
    row_of,
    zero_weights,
)

every_row = pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)


def stride(X):
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def read_only(X):
    X = X.copy()
    X.setflags(write=False)
    return X


def frame(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])


def reverse_indices(X):
    """CSR whose indices run backwards in each row."""
    X = sparse.csr_array(X)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)]).astype(
        int
    )
    return sparse.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def with_zeros(X):
    """CSR in which zeros are stored."""
    full = sparse.csr_array(np.ones_like(X))
    full.data = X.ravel().copy()
    return full


def long_indices(X):
    X = sparse.csr_array(X)
    return sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


DENSE = {
    "fortran": np.asfortranarray,
    "strided": stride,
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "read-only": read_only,
    "list": lambda X: X.tolist(),
    "other byte order": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "frame": frame,
    "memory map": lambda X: X,
}
SPARSE = {
    "csr array": sparse.csr_array,
    "csr matrix": sparse.csr_matrix,
    "csc array": sparse.csc_array,
    "csc matrix": sparse.csc_matrix,
    "coo array": sparse.coo_array,
    "unsorted": reverse_indices,
    "stored zeros": with_zeros,
    "long indices": long_indices,
}


def data(row):
    X, y, _ = SHAPES["tall"](row)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    return X, y, zero_weights(60)


@every_row
@pytest.mark.parametrize("kind", [kind for kind in DENSE if kind != "memory map"])
def test_dense_layouts(row, kind):
    """Blocks are put in C order before they are read, so even the bits are the same."""
    X, y, weight = data(row)
    plain = row.make().fit(X, y, sample_weight=weight)
    other = row.make().fit(DENSE[kind](X), y, sample_weight=weight)
    np.testing.assert_allclose(parameters(other), parameters(plain), rtol=1e-12, atol=1e-13)
    assert other.certificate_.ok
    for part in ("predict", "decision_function", "predict_proba"):
        if hasattr(plain, part):
            a, b = getattr(other, part)(DENSE[kind](X)), getattr(plain, part)(X)
            if a.dtype.kind in "OU":
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


@every_row
def test_memory_map(row, tmp_path):
    X, y, weight = data(row)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    plain = row.make().fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(parameters(row.make().fit(mapped, y, sample_weight=weight)), parameters(plain))


@every_row
@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weights"])
def test_sparse_is_dense(row, kind, weighted):
    X, y, weight = data(row)
    weight = weight if weighted else None
    plain = row.make().fit(X, y, sample_weight=weight)
    stored = SPARSE[kind](X)
    before = stored.copy()
    sparse_model = row.make().fit(stored, y, sample_weight=weight)
    assert sparse_model.certificate_.ok
    # each is certified: iterative ones agree as far as their gaps say, direct ones to rounding
    close = {"rtol": 1e-9, "atol": 1e-11} if row.kind == "residual" else {"rtol": 1e-3, "atol": 1e-4}
    np.testing.assert_allclose(parameters(sparse_model), parameters(plain), **close)
    assert (stored != before).nnz == 0
    a, b = sparse_model.predict(stored), sparse_model.predict(X)
    if row.classifier:
        np.testing.assert_array_equal(a, b)
    else:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@every_row
@pytest.mark.parametrize("shape", ["wide", "square", "one column"])
@only_if(has_maximum)
def test_sparse_is_dense_in_other_shapes(row, shape):
    X, y, _ = SHAPES[shape](row)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    plain, sparse_model = row.make().fit(X, y), row.make().fit(sparse.csr_array(X), y)
    assert sparse_model.certificate_.ok
    close = {"rtol": 1e-7, "atol": 1e-8} if row.kind == "residual" else {"rtol": 1e-3, "atol": 1e-4}
    if row.positive and not row.unique:
        np.testing.assert_allclose(sparse_model.predict(X), plain.predict(X), rtol=1e-6, atol=1e-8)
    else:
        np.testing.assert_allclose(parameters(sparse_model), parameters(plain), **close)


@every_row
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array], ids=["c", "fortran", "sparse"])
def test_single_precision_stays_and_is_close(row, kind):
    X, y, weight = data(row)
    X32 = X.astype(np.float32)
    single = row.make().fit(kind(X32), y, sample_weight=weight)
    double = row.make().fit(X32.astype(np.float64), y, sample_weight=weight)
    assert single.coef_.dtype == np.float32
    assert np.asarray(single.intercept_).dtype == np.float32 or not row.intercept
    assert single.certificate_.ok
    if row.chooses:
        np.testing.assert_allclose(chosen(single), chosen(double), rtol=1e-12)
    # sums are in double precision, so only the storing of the result rounds
    close = {"rtol": 2e-6, "atol": 1e-6} if row.kind == "residual" else {"rtol": 1e-3, "atol": 1e-4}
    np.testing.assert_allclose(parameters(single), parameters(double), **close)
    if not row.classifier:
        assert single.predict(kind(X32)).dtype == np.float32
        np.testing.assert_allclose(single.predict(kind(X32)), double.predict(X32.astype(float)), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@every_row
def test_sparse_is_dense_over_several_blocks(row):
    """Blocks of sparse rows are cut elsewhere than those of dense ones."""
    X, y, _ = (classes if row.classifier else regression)(150_000, 32)
    X[np.abs(X) < 1.5] = 0.0
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    plain = row.make().fit(X, y, sample_weight=weight)
    sparse_model = row.make().fit(sparse.csr_array(X), y, sample_weight=weight)
    close = {"rtol": 1e-9, "atol": 1e-11} if row.kind == "residual" else {"rtol": 1e-2, "atol": 1e-3}
    np.testing.assert_allclose(parameters(sparse_model), parameters(plain), **close)
    assert sparse_model.certificate_.ok


@every_row
@pytest.mark.parametrize("seed", range(3))
@only_if(lambda row: not (row.splits or row.sequential))
def test_permuted_rows(row, seed):
    """The order of samples does not matter, but to a splitter without a shuffle and to who learns one by one."""
    X, y, weight = data(row)
    order = np.random.default_rng(seed).permutation(60)
    plain = row.make().fit(X, y, sample_weight=weight)
    other = row.make().fit(X[order], y[order], sample_weight=weight[order])
    close = {"rtol": 1e-10, "atol": 1e-12} if row.kind == "residual" else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(parameters(other), parameters(plain), **close)


@every_row
@pytest.mark.parametrize("seed", range(2))
def test_permuted_columns(row, seed):
    X, y, weight = data(row)
    order = np.random.default_rng(seed).permutation(4)
    plain = parameters(row.make().fit(X, y, sample_weight=weight))
    other = parameters(row.make().fit(X[:, order], y, sample_weight=weight))
    close = {"rtol": 1e-9, "atol": 1e-11} if row.kind == "residual" else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(other[:, :-1], plain[:, order], **close)
    np.testing.assert_allclose(other[:, -1], plain[:, -1], **close)


@pytest.mark.parametrize("row", [row for row in SOLVED if row.multi_output and not row.matrix], ids=lambda row: row.id)
@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@only_if(fits)
def test_several_targets_are_their_columns(row, shape, kind):
    """Where the penalty is not chosen for all targets together."""
    X, _, _ = SHAPES[shape](row)
    Y = columns_of(row, 3, *X.shape)
    joint = row.make().fit(kind(X), Y)
    assert joint.certificate_.ok
    if row.chooses and not row.settings.get("alpha_per_target"):
        alone = [_make_ridge(row, joint.alpha_).fit(kind(X), Y[:, k]) for k in range(3)]
    else:
        alone = [row.make().fit(kind(X), Y[:, k]) for k in range(3)]
        if row.chooses:
            np.testing.assert_array_equal(joint.alpha_, [model.alpha_ for model in alone])
            np.testing.assert_allclose(joint.best_score_, [model.best_score_ for model in alone], rtol=1e-9)
    for k, model in enumerate(alone):
        if row.positive and not row.unique and shape == "wide":
            np.testing.assert_allclose(joint.predict(X)[:, k], model.predict(X), rtol=1e-6, atol=1e-8)
        else:
            np.testing.assert_allclose(parameters(joint)[k], parameters(model)[0], rtol=1e-8, atol=1e-9)


def _make_ridge(row, alpha):
    import tenfold

    return tenfold.Ridge(alpha, fit_intercept=row.intercept)


@pytest.mark.parametrize("name", ["Ridge"])
def test_one_alpha_for_each_target(name):
    import tenfold

    row = row_of(name)
    X, _, _ = SHAPES["tall"](row)
    Y = columns_of(row, 3)
    alphas = np.array([0.0, 1.0, 50.0])
    for kind in (np.asarray, sparse.csr_array):
        joint = tenfold.Ridge(alphas).fit(kind(X), Y)
        for k, alpha in enumerate(alphas):
            alone = tenfold.Ridge(alpha).fit(kind(X), Y[:, k])
            np.testing.assert_allclose(parameters(joint)[k], parameters(alone)[0], rtol=1e-10)
    wide, _, _ = SHAPES["wide"](row)
    Y = columns_of(row, 3, 20, 50)
    joint = tenfold.Ridge(alphas).fit(wide, Y)
    for k, alpha in enumerate(alphas):
        np.testing.assert_allclose(
            parameters(joint)[k], parameters(tenfold.Ridge(alpha).fit(wide, Y[:, k]))[0], rtol=1e-8, atol=1e-10
        )


@every_row
@only_if(lambda row: row.classifier)
def test_names_of_classes_do_not_matter(row):
    X, y, weight = data(row)
    plain = row.make().fit(X, y, sample_weight=weight)
    for code in ([0, 1], [False, True], [-3.0, 7.0], ["", "z"]):
        coded = np.array(code)[(y == "bee").astype(int)]
        other = row.make().fit(X, coded, sample_weight=weight)
        np.testing.assert_array_equal(parameters(other), parameters(plain))
        np.testing.assert_array_equal(other.predict(X) == np.array(code)[1], plain.predict(X) == "bee")
        np.testing.assert_array_equal(other.classes_, np.unique(code))


@pytest.mark.parametrize("row", [row for row in SOLVED if not row.separates], ids=lambda row: row.id)
@pytest.mark.parametrize("offset", [1e3, 1e5])
def test_single_precision_far_from_zero_is_certified_or_not_judged(row, offset):
    """Features of a spread of one: in float32 a thousand from zero are certified, further ones perhaps not judged."""
    X, y, _ = row.data()
    X, y = (X + offset).astype(np.float32), y if row.classifier else np.asarray(y, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        certificate = row.make().fit(X, y).certificate_
    named = certificate.explain().startswith("Not judged in this precision")
    assert certificate.ok or (offset > 1e3 and (named or row.selects))
