"""Data that estimators are tried on, and what is asked of them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse


class Data(NamedTuple):
    """Rows, targets (or None) and weights."""

    X: Any
    y: Any
    weight: Any = None


def regression(n: int = 60, p: int = 4, seed: int = 0) -> Data:
    """A noisy linear relation with an offset, columns of different scale."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(0.5, 2.0, p) + 0.3
    return Data(X, X @ rng.standard_normal(p) + 1.5 + 0.5 * rng.standard_normal(n))


def classes(n: int = 60, p: int = 4, seed: int = 0, count: int = 2) -> Data:
    """Two (or `count`) classes that overlap, named by words."""
    X, z, _ = regression(n, p, seed)
    z = z - z.mean()
    noise = np.random.default_rng(seed + 1).logistic(size=n) * max(z.std(), 0.1)
    cuts = np.quantile(z + noise, np.arange(1, count) / count)
    return Data(X, np.array(["ant", "bee", "cat", "dog"])[np.searchsorted(cuts, z + noise)])


def apart(n: int = 60, p: int = 4, seed: int = 0, count: int = 2) -> Data:
    """Two (or `count`) classes with room between them: two on the sides of a plane, more in a corner each."""
    X, _, _ = regression(n, p, seed)
    if count > 2:
        which = np.arange(n) % count
        X[np.arange(n), which] += 15.0
    else:
        w = np.random.default_rng(seed + 2).standard_normal(p)
        w /= np.linalg.norm(w)
        z = (X - X.mean(axis=0)) @ w
        which = (z > np.median(z)).astype(int)
        X += np.outer(2.0 * which - 1.0, w)
    return Data(X, np.array(["ant", "bee", "cat", "dog"])[which])


def clusters(n: int = 90, p: int = 4, seed: int = 0, count: int = 3) -> Data:
    """Classes of correlated numbers around means of their own, named by words."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, count, n)
    which[:count] = np.arange(count)
    means = 2.0 * rng.standard_normal((count, p)) + 0.5
    mix = rng.standard_normal((p, p)) * 0.4 + np.eye(p)
    X = rng.standard_normal((n, p)) @ mix * (1.0 + 0.3 * which[:, None]) + means[which]
    return Data(X, np.array(["ant", "bee", "cat", "dog"])[which])


def counts(n: int = 90, p: int = 4, seed: int = 0, count: int = 3) -> Data:
    """Classes of counts, named by words."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, count, n)
    which[:count] = np.arange(count)
    rates = rng.gamma(1.0, 2.0, (count, p)) + 0.2
    return Data(rng.poisson(rates[which]).astype(np.float64), np.array(["ant", "bee", "cat", "dog"])[which])


def categories(n: int = 90, p: int = 4, seed: int = 0, count: int = 3) -> Data:
    """Classes of categories, all of which come in the first rows, named by words."""
    X, y, _ = counts(n, p, seed, count)
    X = np.minimum(X, 3.0)
    X[:4] = np.arange(4.0)[: min(4, n), None]
    return Data(X, y)


def make_mixed(n: int = 90, p: int = 4, seed: int = 0, count: int = 3) -> Data:
    """Numbers, marks, categories and numbers, of which some are missing."""
    X, y, _ = categories(n, 4, seed, count)
    X[:, [0, 3]] = clusters(n, 2, seed, count).X
    X[:, 1] = X[:, 1] > 1
    X[np.random.default_rng(seed + 9).uniform(size=X.shape) < 0.1] = np.nan
    X[:4, 2] = np.arange(4.0)
    return Data(X, y)


def weights(n: int, seed: int = 7) -> Any:
    """Whole numbers from 0 to 3: rows that are left out, and rows that come several times."""
    result = np.random.default_rng(seed).integers(0, 4, n).astype(np.float64)
    result[:4] = 1.0
    return result


def cloud(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    """Numbers that vary most along some directions, without a target."""
    X = clusters(n, p, seed).X
    return Data(X * np.linspace(1.0, 3.0, p), None)


def pairs(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    """Two blocks of numbers that have something in common: rows of the second are the targets."""
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, 3))
    X = hidden @ rng.standard_normal((3, p)) + rng.standard_normal((n, p)) + 0.5
    return Data(X, hidden @ rng.standard_normal((3, 3)) * [1.0, 2.0, 3.0] + rng.standard_normal((n, 3)) - 1.0)


def blobs(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    """Three clouds that are well apart, without a target; the first row of each comes first."""
    rng = np.random.default_rng(seed)
    which = np.arange(n) % 3
    return Data(rng.standard_normal((n, p)) + 9.0 * np.eye(3, max(p, 3))[:, :p][which] + 3.0 * which[:, None], None)


def parts(n: int = 90, p: int = 4, seed: int = 0) -> Data:
    """Sums of three non-negative parts that overlap, and some noise, without a target."""
    rng = np.random.default_rng(seed)
    shapes = rng.uniform(size=(3, p)) * (rng.uniform(size=(3, p)) < 0.6) + 0.5 * np.eye(3, p)
    return Data(rng.gamma(0.5, 2.0, (n, 3)) @ shapes + 0.1 * rng.uniform(size=(n, p)), None)


def tasks(n: int = 60, p: int = 4, seed: int = 0) -> Data:
    """Two targets of the same rows."""
    X, y, _ = regression(n, p, seed)
    return Data(X, np.column_stack([y, y**2]))


def sequences(n: int = 3, p: int = 4, seed: int = 0) -> Data:
    """Three short sentences and the kinds of their words."""
    X = [[{"the": 1}, {"dog": 1}, {"barks": 1}], [{"dogs": 1}, {"bark": 1}], [{"the": 1}, {"bark": 1}]]
    return Data(X, [["D", "N", "V"], ["N", "V"], ["D", "N"]])


def frame(n: int = 60, p: int = 4, seed: int = 0) -> Data:
    """A table of numbers, some missing, words and sentences, and targets."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((n, p))
    table = pd.DataFrame(numbers, columns=["a", "b", "c", "d"])
    table.loc[::7, "b"] = np.nan
    table["kind"] = rng.choice(["red", "green", "blue", "rare"], n, p=[0.4, 0.3, 0.25, 0.05])
    table["size"] = rng.choice(["small", "large"], n)
    table["words"] = [" ".join(rng.choice(["cat", "dog", "sat", "mat", "hat"], 4)) for _ in range(n)]
    return Data(table, numbers[:, 0] + 0.1 * rng.standard_normal(n))


def _collinear(row: Any) -> Data:
    X, y, _ = row.data()
    return Data(np.column_stack([X, X[:, 0] - X[:, 1], 2.0 * X[:, 2]]), y)


def _constant(row: Any) -> Data:
    X, y, _ = row.data()
    X[:, 2] = 3.0
    return Data(X, y)


def _single(row: Any) -> Data:
    X, y, _ = row.data()
    return Data(X.astype(np.float32), y if row.classifier else y.astype(np.float32))


def _sparse(row: Any) -> Data:
    X, y, _ = row.data(80, 6)
    X[np.abs(X) < 0.6] = 0.0
    return Data(sparse.csr_array(X), y)


def _sparse_constant(row: Any) -> Data:
    X, y, _ = row.data()
    X[:, 2] = 0.1
    X[np.abs(X) < 0.09] = 0.0
    return Data(sparse.csr_array(X), y)


def zero_weights(n: int, seed: int = 5) -> Any:
    """Weights between 0.1 and 3, every seventh zero."""
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, n)
    weight[::7] = 0.0
    return weight


def _weights(row: Any) -> Data:
    X, y, _ = row.data()
    weight = zero_weights(60)
    if row.separates:
        y = np.where((weight == 0.0) & (np.arange(60) % 2 == 0), np.where(y == "ant", "bee", "ant"), y)
    return Data(X, y, weight)


def _offset(row: Any) -> Data:
    X, y, _ = row.data()
    return Data(X + 1e6, y)


SHAPES: dict[str, Callable[[Any], Data]] = {
    "tall": lambda row: row.data(),
    "wide": lambda row: row.data(20, 50),
    "square": lambda row: row.data(30, 30),
    "one column": lambda row: row.data(40, 1),
    "collinear": _collinear,
    "constant column": _constant,
    "float32": _single,
    "sparse": _sparse,
    "sparse constant column": _sparse_constant,
    "zero weights": _weights,
    "offset 1e6": _offset,
}


def fits(row: Any, shape: str) -> bool:
    """Whether data of this shape can be fitted at all."""
    return not ((row.tall and shape in ("wide", "square")) or (row.most_columns < 50 and shape == "wide"))


def has_maximum(row: Any, shape: str) -> bool:
    """Whether data of this shape can be fitted, and are not separable classes without a penalty."""
    return fits(row, shape) and not (row.settings.get("C") == np.inf and shape in ("wide", "square"))


def is_comparable(row: Any, shape: str) -> bool:
    """Whether two ways to fit must agree: nearly equal features, far from zero, differ below their rounding."""
    return has_maximum(row, shape) and (row.intercept or shape != "offset 1e6")


def targets_for(row: Any, y: Any) -> Any:
    """Targets (n,) as a row of the table takes them: as they are, or side by side with themselves backwards."""
    return np.column_stack([y, y[::-1]]) if row.matrix else y


def columns_of(row: Any, count: int, n: int = 60, p: int = 4) -> Any:
    """Targets (n, count) for a row that takes several."""
    assert row.multi_output
    return np.column_stack([regression(n, p, seed).y for seed in range(count)])


def kind_of(row: Any, model: Any) -> str:
    """The kind of the certificate: a path without a penalty at its end is least squares."""
    free = row.lasso and not row.iterative and getattr(model, "alpha_", getattr(model, "alpha", 1.0)) == 0.0
    return "residual" if free else row.kind


def chosen(model: Any) -> Any:
    """What a model chose from the data: a penalty, or a number of columns."""
    names = ("alpha_", "C_", "n_nonzero_coefs_")
    return next(getattr(model, name) for name in names if hasattr(model, name))


def parameters(model: Any) -> Any:
    """Weights and intercepts of a fitted linear model, as (t, p + 1) in float64."""
    coef = np.atleast_2d(model.coef_).astype(np.float64)
    return np.column_stack([coef, np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), coef.shape[:1])])
