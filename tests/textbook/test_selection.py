"""Worked facts on model selection: Seeger, chapter 10; the Cookbook, chapter 6; Rosasco, section 3.3."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from tenfold import KNeighborsCV, KNeighborsRegressor, LinearRegression, Ridge, RidgeCV
from tenfold.selection import k_fold, leave_one_out, nested, search, split_stability, three_way, wrong_cross_validation


def sine(n, rng):
    """Seeger, section 10.1.4: sin(2 pi x) and noise of standard deviation 1/4, both ends always there."""
    x = np.r_[0.0, 1.0, rng.random(n - 2)]
    return x[:, None], np.sin(2 * np.pi * x) + 0.25 * rng.standard_normal(n)


def test_seeger_10_1_1_three_parts():
    """A half, a quarter and a quarter, after a random permutation."""
    parts = three_way(range(200))
    assert [len(part) for part in (parts.train, parts.validation, parts.test)] == [100, 50, 50]
    assert parts.train.tolist() != list(range(100))


def test_seeger_10_2_1_every_case_is_validated_once():
    for k in (5, 7):
        tests = np.concatenate([test for _, test in k_fold(range(50), k)])
        assert sorted(tests) == list(range(50))


def test_seeger_10_2_1_the_classic_mistake():
    """n = 50, 5000 columns of noise, the 100 best by correlation: error 0 by wrong folds, a half by right ones."""
    result = wrong_cross_validation(50, 5000, 100, times=3)
    assert result.wrong.mean() < 0.02
    assert abs(result.right.mean() - 0.5) < 0.15


def test_seeger_10_2_1_the_one_standard_error_rule_takes_more_regularisation():
    X, y = sine(50, np.random.default_rng(0))
    model = make_pipeline(PolynomialFeatures(9), Ridge())
    grid = {"ridge__alpha": np.logspace(-8, 2, 11)}
    best, simple = (search(model, grid, X, y, select=select, race=False) for select in ("best", "one_se"))
    assert simple.best_params_["ridge__alpha"] >= best.best_params_["ridge__alpha"]
    limit = best.best_score_ - best.cv_results_["std_test_score"][best.best_index_] / np.sqrt(4)
    kept = best.cv_results_["mean_test_score"] >= limit
    assert simple.best_params_["ridge__alpha"] == max(grid["ridge__alpha"][kept])


def test_seeger_10_1_2_high_degrees_are_unstable_under_splits():
    """Halves of the rows agree on a line and not on degree 7."""
    rng = np.random.default_rng(1)
    x = rng.random((40, 1))
    y = 2 * x[:, 0] + 0.1 * rng.standard_normal(40)
    low, high = (
        split_stability(
            make_pipeline(PolynomialFeatures(d), LinearRegression()), x, y, test=0.5, scoring="neg_mean_squared_error"
        )
        for d in (1, 7)
    )
    assert high.spread > 2 * low.spread


def test_seeger_10_2_2_leaving_out_by_refits_is_the_closed_form():
    X, y = sine(30, np.random.default_rng(2))
    X = PolynomialFeatures(5, include_bias=False).fit_transform(X)
    result = nested({"ridge": Ridge(1e-3)}, X, y, outer=leave_one_out(X), scoring="neg_mean_squared_error", refit=False)
    closed = RidgeCV([1e-3]).fit(X, y)
    assert -result["ridge"].score == pytest.approx(closed.cv_errors_[0], rel=1e-9)


def test_rosasco_3_3_the_number_of_neighbours_by_leave_one_out():
    X, y = sine(25, np.random.default_rng(3))
    ks = [1, 3, 5, 9, 15]
    errors = [
        -nested({"k": KNeighborsRegressor(k)}, X, y, outer="loo", scoring="neg_mean_squared_error", refit=False)[
            "k"
        ].score
        for k in ks
    ]
    np.testing.assert_allclose(KNeighborsCV(ks).fit(X, y).cv_errors_, errors, rtol=1e-12)


def test_cookbook_6_2_inner_folds_are_the_other_outer_folds():
    """Figure 6.3: k folds outside, k - 1 inside, and every fold is the same rows wherever it is met."""
    folds = k_fold(range(40), 4)
    parts = {tuple(test) for _, test in folds}
    for split, (train, test) in enumerate(folds):
        inner = folds.inner(split)
        assert len(inner) == 3
        assert {tuple(train[inside]) for _, inside in inner} == parts - {tuple(test)}
