"""Whatever small data come, a fit is certified or refused in words: never a warning, never a number that is not finite.

Entries are few different numbers, so that columns repeat, vanish, are constant or depend on each other, rows repeat,
targets are exact, and weights are zero.
"""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

from estimators import SOLVED, parameters, targets_for

few = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 0.1, 3.0])

KINDS = {"dense": np.asarray, "sparse": sparse.csr_array, "single": lambda X: X.astype(np.float32)}


@st.composite
def small(draw):
    n, p = draw(st.integers(2, 12)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float64, (n, p), elements=few))
    y = draw(hnp.arrays(np.float64, n, elements=few))
    unit = np.array(draw(st.lists(st.sampled_from([1.0, 1.0, 1e-3, 1e4]), min_size=p, max_size=p)))
    X = X * unit + draw(st.sampled_from([0.0, 0.0, 0.0, 100.0]))
    weight = None
    if draw(st.booleans()):
        weight = draw(hnp.arrays(np.float64, n, elements=st.sampled_from([0.0, 1.0, 2.0, 0.3])))
    return X, draw(st.sampled_from(sorted(KINDS))), y, weight


def fit(row, X, y, weight):
    """The model, or None where it was refused."""
    try:
        return row.make().fit(X, y, sample_weight=weight)
    except ValueError as error:
        if len(str(error)) <= 20:
            raise
        return None


@pytest.mark.once_a_class
@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
@given(data=small())
# products of sparse features about their means with more rounding than the ridge of a factor
@example(data=(np.array([[99.0, 100.0], [98.0, 98.0]]), "sparse", np.array([-2.0, -2.0]), np.array([1.0, 2.0])))
# an intercept of -1e5 in float32
@example(data=(np.array([[99.998], [99.999], [99.999]]), "single", np.array([-2.0, -1.0, -1.0]), None))
# a subset whose weights exceed float32: its features nearly depend on each other, more than their products can say
@example(
    data=(
        np.array([[0.1, 1e3, 1e3, 1e3, 1.0], [0, 0, 3e4, 0, 1], [0] * 5, [3, 3e4, 1e4, 3e4, 0.1]]) + 100.0,
        "single",
        np.array([-2.0, 0.1, 0.0, 0.0]),
        None,
    )
)
# a training set without weight
@example(data=(np.full((5, 1), -2.0), "dense", np.full(5, -2.0), np.array([1.0, 0.0, 0.0, 0.0, 0.0])))
# a dual point of an elastic net that needs scaling
@example(data=(np.array([[-2.0], [-2.0]]), "dense", np.array([-2.0, -2.0]), None))
def test_certified_or_raises(row, data):
    X, kind, y, weight = data
    X = KINDS[kind](X)
    counted = np.ones(len(y)) if weight is None else weight
    if row.classifier:
        y = np.where(y > 0, "yes", "no")
    if row.counts:
        y = np.abs(y) + 0.1
    y = targets_for(row, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if row.settings.get("C") == np.inf:
            # separable classes, in part or in whole: the warning is right
            warnings.simplefilter("ignore", ConvergenceWarning)
        if row.name == "HuberRegressor":
            # targets that are fitted exactly, but for a few, have no scale: the warning is right
            warnings.simplefilter("ignore", ConvergenceWarning)
        if row.kind == "count":
            # a margin so thin that passes do not suffice: the warning is right
            warnings.simplefilter("ignore", ConvergenceWarning)
        if row.splits:
            # folds of one row, or of one class: scikit-learn's splitters and scorers say so
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            warnings.simplefilter("ignore", UndefinedMetricWarning)
        if row.warns:
            warnings.filterwarnings("ignore", row.warns)
        if kind == "single":
            # errors so small that those of weights in float32 are not small beside them: the warning is right
            warnings.filterwarnings("ignore", ".*Not judged in this precision", ConvergenceWarning)
        model = fit(row, X, y, weight)
    enough = np.count_nonzero(counted) >= 2 and (not row.classifier or len(np.unique(y[counted > 0])) == 2)
    if model is None:
        # only what chooses, or needs two classes, may refuse data with weight
        assert row.chooses or row.kind in ("gap", "count") or not counted.any()
        assert row.chooses or not (enough and row.kind in ("gap", "count"))
        return
    assert np.isfinite(parameters(model)).all()
    assert np.isfinite(model.certificate_.value)
    if getattr(model, "scale_", 1.0) < 1e-6:
        return
    if row.settings.get("C") == np.inf or row.separates:
        # without a maximum, or with classes that overlap
        assert model.certificate_.ok or model.certificate_.status != "converged"
    else:
        said = model.certificate_.explain()
        assert model.certificate_.ok or (kind == "single" and said.startswith("Not judged in this precision")), said
    if row.positive:
        assert np.all(np.asarray(model.coef_) >= 0)
    assert len(model.predict(X)) == len(y)
