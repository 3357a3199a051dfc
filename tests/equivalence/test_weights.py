"""Integer weights are repeated rows, zero weight is a removed row, a common factor is a matter of the penalty."""

import numpy as np
import pytest
from scipy import sparse

import tenfold
from design import only_if
from estimators import SHAPES, SOLVED, chosen, has_maximum, parameters, row_of, zero_weights

# a splitter sees rows, not weights, and balanced ridge classes are counted, not weighted
PLAIN = [row for row in SOLVED if not row.chooses and "balanced" not in str(row.settings)]
REMOVED = [row for row in SOLVED if not row.splits and not (row.chooses and "balanced" in str(row.settings))]
SHAPE_NAMES = ["tall", "wide", "square", "one column", "collinear", "constant column"]
plain_rows = pytest.mark.parametrize("row", PLAIN, ids=lambda row: row.id)
every_shape = pytest.mark.parametrize("shape", SHAPE_NAMES)
every_kind = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def assert_same_fit(row, X, a, b):
    """Equal weights where they are unique; else equal predictions."""
    assert a.certificate_.ok
    assert b.certificate_.ok
    if row.separates:
        # both separate the classes
        np.testing.assert_array_equal(a.predict(X), b.predict(X))
    elif row.kind == "gap" and not row.unique:
        raw = [m.decision_function(X) if row.classifier else m.predict(X) for m in (a, b)]
        np.testing.assert_allclose(*raw, rtol=2e-3, atol=2e-3)
    elif row.kind == "gap":
        np.testing.assert_allclose(parameters(a), parameters(b), rtol=2e-3, atol=2e-4)
    elif (row.positive or row.name == "BestSubset") and not row.unique:  # of equal columns one is taken
        np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-6, atol=1e-8)
    elif row.name == "ARDRegression" and np.linalg.matrix_rank(X) < min(X.shape):
        # along dependent features the evidence is flat: it does not say how they share their weights
        np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-7, atol=1e-9)
    else:
        np.testing.assert_allclose(parameters(a), parameters(b), rtol=1e-7, atol=1e-9)


@plain_rows
@every_shape
@every_kind
@only_if(has_maximum)
def test_integer_weights_are_repeated_rows(row, shape, kind):
    X, y, _ = SHAPES[shape](row)
    times = np.random.default_rng(2).integers(0, 4, len(X))
    again = np.repeat(np.arange(len(X)), times)
    weighted = row.make().fit(kind(X), y, sample_weight=times)
    repeated = row.make().fit(kind(X[again]), y[again])
    assert_same_fit(row, X[again], weighted, repeated)
    np.testing.assert_allclose(weighted.certificate_.objective, repeated.certificate_.objective, rtol=1e-6, atol=1e-20)


@pytest.mark.parametrize("row", REMOVED, ids=lambda row: row.id)
@every_shape
@every_kind
@only_if(has_maximum)
# classes are counted with their samples of weight zero, as in scikit-learn
@only_if(lambda row: not (row.classifier and "balanced" in str(row.settings) and row.kind == "residual"))
def test_zero_weight_is_a_removed_row(row, shape, kind):
    X, y, _ = SHAPES[shape](row)
    weight = zero_weights(len(X))
    keep = weight > 0
    X[~keep] = 1e3  # whatever these rows hold
    weighted = row.make().fit(kind(X), y, sample_weight=weight)
    removed = row.make().fit(kind(X[keep]), y[keep], sample_weight=weight[keep])
    if row.chooses:
        np.testing.assert_allclose(chosen(weighted), chosen(removed), rtol=1e-9)
    if hasattr(weighted, "best_score_"):
        # scikit-learn's score is a mean over all rows, those without weight included
        np.testing.assert_allclose(weighted.best_score_ * len(X), removed.best_score_ * keep.sum(), rtol=1e-6)
    assert_same_fit(row, X[keep], weighted, removed)


@pytest.mark.parametrize(
    "row",
    [row for row in PLAIN if not (row.unique or row.repeats) and row.settings.get("C", np.inf) == np.inf],
    ids=lambda row: row.id,
)
def test_without_a_penalty_only_ratios_of_weights_matter(row):
    X, y, _ = SHAPES["tall"](row)
    weight = zero_weights(60)
    a, b = row.make().fit(X, y, sample_weight=weight), row.make().fit(X, y, sample_weight=1e3 * weight)
    assert_same_fit(row, X, a, b)


@pytest.mark.parametrize("factor", [0.25, 7.0])
@every_kind
def test_a_factor_of_the_weights_is_a_factor_of_the_penalty(factor, kind):
    row = row_of("Ridge")
    X, y, _ = SHAPES["tall"](row)
    weight = zero_weights(60)
    a = tenfold.Ridge(2.0).fit(kind(X), y, sample_weight=factor * weight)
    b = tenfold.Ridge(2.0 / factor).fit(kind(X), y, sample_weight=weight)
    np.testing.assert_allclose(parameters(a), parameters(b), rtol=1e-10)
    row = row_of("LogisticRegression")
    X, y, _ = SHAPES["tall"](row)
    a = tenfold.LogisticRegression(C=2.0, tol=1e-10).fit(kind(X), y, sample_weight=factor * weight)
    b = tenfold.LogisticRegression(C=2.0 * factor, tol=1e-10).fit(kind(X), y, sample_weight=weight)
    np.testing.assert_allclose(parameters(a), parameters(b), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_a_number_as_weight_is_that_weight_for_all(row):
    """Where scikit-learn takes one."""
    X, y, _ = SHAPES["tall"](row)
    a = row.make().fit(X, y, sample_weight=2.0)
    b = row.make().fit(X, y, sample_weight=np.full(60, 2.0))
    np.testing.assert_array_equal(parameters(a), parameters(b))


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_ones_are_no_weights(row):
    X, y, _ = SHAPES["tall"](row)
    a, b = row.make().fit(X, y, sample_weight=np.ones(60)), row.make().fit(X, y)
    np.testing.assert_allclose(parameters(a), parameters(b), rtol=1e-10, atol=1e-12)


# a scorer of folds is given weights of rows, and none of classes, as in scikit-learn
@pytest.mark.parametrize(
    "row", [row for row in SOLVED if hasattr(row.make(), "class_weight") and not row.splits], ids=lambda row: row.id
)
def test_class_weights_are_sample_weights(row):
    X, y, _ = SHAPES["tall"](row)
    a = row.make(class_weight={"ant": 3.0, "bee": 0.5}).fit(X, y, sample_weight=zero_weights(60))
    b = row.make(class_weight=None).fit(X, y, sample_weight=zero_weights(60) * np.where(y == "ant", 3.0, 0.5))
    np.testing.assert_allclose(parameters(a), parameters(b), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["RidgeClassifier", "RidgeClassifierCV", "LogisticRegression"])
def test_balanced_classes(name):
    row = row_of(name)
    X, y, _ = SHAPES["tall"](row)
    y = np.where(np.arange(60) < 12, "ant", y)
    counts = {c: np.sum(y == c) for c in ("ant", "bee")}
    a = row.make(class_weight="balanced").fit(X, y)
    b = row.make(class_weight={c: 60 / (2 * count) for c, count in counts.items()}).fit(X, y)
    np.testing.assert_allclose(parameters(a), parameters(b), rtol=1e-9)
