"""Inference is the same wherever the rows are, and a weight is how often a row is there."""

import numpy as np
import pytest
from scipy import sparse

import tenfold
from tenfold import infer

N = 240
KINDS = ("nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster")


def make_model(name):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, 3)) + np.array([0.0, 1.0, -3.0])
    X[rng.random((N, 3)) < 0.3] = 0.0
    z = 0.3 * X @ [1.0, -1.0, 0.5]
    if name == "poisson":
        return X, rng.poisson(np.exp(z)).astype(float), tenfold.PoissonRegressor(alpha=0.0, tol=1e-12)
    if name == "gamma":
        return X, rng.gamma(2.0, np.exp(z)), tenfold.GammaRegressor(alpha=0.0, tol=1e-12)
    number = rng.integers(0, 2 if name == "two classes" else 3, N)
    return X + 0.2 * number[:, None], number, tenfold.LogisticRegression(C=np.inf, tol=1e-12)


NAMES = ("poisson", "gamma", "two classes", "three classes")


def infer_with(model, X, y, kind, groups, **given):
    return infer(model, X, y, covariance=kind, groups=groups if kind == "cluster" else None, **given)


def same(one, other, rtol=1e-7):
    np.testing.assert_allclose(one.covariance, other.covariance, rtol=rtol, atol=rtol * np.max(np.abs(one.covariance)))
    for field in ("count", "deviance", "null_deviance", "pearson", "log_likelihood", "groups", "dispersion"):
        assert getattr(one, field) == pytest.approx(getattr(other, field), rel=rtol, nan_ok=True), field


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_repeated_rows(name):
    X, y, model = make_model(name)
    count = np.random.default_rng(2).integers(0, 4, N)
    groups = np.arange(N) // 9
    again = np.repeat(np.arange(N), count)
    weight = count.astype(float)
    model.fit(X, y, sample_weight=weight)
    counted = {kind: infer_with(model, X, y, kind, groups, sample_weight=weight) for kind in KINDS}
    same(model.inference_, counted["nonrobust"])
    model.fit(X[again], y[again])
    for kind, result in counted.items():
        same(result, infer_with(model, X[again], y[again], kind, groups[again]))


@pytest.mark.parametrize("where", ["sparse", "files", "Fortran", "Dask", "torch"])
@pytest.mark.parametrize("name", NAMES)
def test_wherever_the_rows_are(name, where, tmp_path):
    X, y, model = make_model(name)
    groups = np.arange(N) % 17
    here = model.fit(X, y).inference_
    known = {kind: infer_with(model, X, y, kind, groups) for kind in KINDS}
    there, target = X, y
    if where == "sparse":
        there = sparse.csr_array(X)
    elif where == "Fortran":
        there = np.asfortranarray(X)
    elif where == "files":
        np.save(tmp_path / "X.npy", X)
        there = tenfold.rows(tmp_path / "X.npy")
    elif where == "Dask":
        da = pytest.importorskip("dask.array")
        there, target = da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100)
    else:
        torch = pytest.importorskip("torch")
        there, target = torch.asarray(X), torch.asarray(y)
    model.fit(there, target)
    same(model.inference_, here)
    for kind, result in known.items():
        same(infer_with(model, there, target, kind, groups), result)


@pytest.mark.parametrize("name", NAMES)
def test_units_of_the_columns_do_not_matter(name):
    X, y, model = make_model(name)
    units, offset = np.array([1e-6, 1.0, 1e5]), np.array([1e3, 0.0, -50.0])
    plain = {kind: infer_with(model.fit(X, y), X, y, kind, np.arange(N) % 7) for kind in KINDS}
    far = (X + offset) * units
    for kind, result in plain.items():
        moved = infer_with(model.fit(far, y), far, y, kind, np.arange(N) % 7)
        k = len(result.names) // 4
        keep = np.setdiff1d(np.arange(4 * k), 4 * np.arange(k))
        scaled = moved.standard_errors[keep] * np.tile(units, k)
        np.testing.assert_allclose(scaled, result.standard_errors[keep], rtol=1e-5)


def test_two_samples_of_groups_merge():
    """Groups of which each is in a block of its own, and groups that are in all blocks."""
    X, y, model = make_model("poisson")
    big, target = np.tile(X, (400, 1)), np.tile(y, 400)
    model.fit(big, target)
    for groups in (np.arange(len(big)) // 1000, np.arange(len(big)) % 1000):
        ours = infer(model, big, target, covariance="cluster", groups=groups)
        z = np.column_stack([np.ones(len(big)), big])
        mean = model.predict(big)
        scores = z * (target - mean)[:, None]
        sums = np.array([np.bincount(groups, column) for column in scores.T]).T
        bread, (n, k), G = np.linalg.inv((z.T * mean) @ z), z.shape, groups.max() + 1
        meat = G / (G - 1) * (n - 1) / (n - k) * sums.T @ sums
        np.testing.assert_allclose(ours.covariance, bread @ meat @ bread, rtol=1e-8, atol=1e-12)
