"""Conformal intervals and sets: coverage within its exact distribution, guarantees, exact leave-one-out, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import betabinom
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression as SklearnLinear
from sklearn.neighbors import KNeighborsRegressor as SklearnNeighbours
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold.decide import ConformalClassifier, ConformalRegressor
from tenfold.decide.conformal import quantile_of, rank_of


def numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, X @ [1.0, -2.0, 0.5] + rng.standard_normal(n) * (0.3 + np.abs(X[:, 0]))


def classes(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, np.argmax(X + 0.8 * rng.standard_normal((n, 3)), axis=1)


def check_split_coverage(covered, n, coverage):
    """The number of covered samples is beta-binomial, whatever the distribution of the scores."""
    k = rank_of(coverage, n)
    law = betabinom(len(covered), k, n + 1 - k)
    assert law.ppf(1e-5) <= np.count_nonzero(covered) <= law.ppf(1.0 - 1e-5)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_split_covers_within_the_beta_binomial_law(coverage):
    X, y = numbers(2600)
    model = ConformalRegressor(SklearnLinear(), method="split", coverage=coverage, random_state=0).fit(X[:600], y[:600])
    low, high = model.predict_interval(X[600:]).T
    check_split_coverage((low <= y[600:]) & (y[600:] <= high), len(model.errors_), coverage)
    assert model.guarantee_.proved == pytest.approx(coverage)


@pytest.mark.parametrize("conformity", ["adaptive", "threshold"])
def test_sets_of_split_cover_within_the_beta_binomial_law(conformity):
    X, y = classes(2600)
    model = ConformalClassifier(method="split", conformity=conformity, coverage=0.9, random_state=0).fit(
        X[:600], y[:600]
    )
    covered = model.predict_set(X[600:])[np.arange(2000), y[600:]]
    k = rank_of(0.9, len(model.scores_))
    assert np.count_nonzero(covered) >= betabinom(2000, k, len(model.scores_) + 1 - k).ppf(1e-5)


def test_folds_cover_about_as_asked_for():
    X, y = numbers(1300)
    for method in ("cv+", "jackknife+"):
        model = ConformalRegressor(SklearnLinear(), method=method, coverage=0.8).fit(X[:100], y[:100])
        low, high = model.predict_interval(X[100:]).T
        assert 0.7 < np.mean((low <= y[100:]) & (y[100:] <= high)) < 0.9
    X, y = classes(1300)
    model = ConformalClassifier(coverage=0.8, random_state=0).fit(X[:200], y[:200])
    assert 0.75 < np.mean(model.predict_set(X[200:])[np.arange(1100), y[200:]]) < 0.97
    assert model.guarantee_.proved == pytest.approx(1.0 - 0.4 - np.sqrt(2.0 / 200))


def test_jackknife_by_refits_is_the_exact_one():
    X, y = numbers(40)
    Z = numbers(7, seed=1)[0]
    for ours, refitted in (
        (tenfold.Ridge(alpha=2.0), make_pipeline(tenfold.Ridge(alpha=2.0))),
        (tenfold.KNeighborsRegressor(4), SklearnNeighbours(4)),
        (
            tenfold.KernelRidge(alpha=0.5, kernel="rbf", gamma=0.3),
            make_pipeline(tenfold.KernelRidge(0.5, kernel="rbf", gamma=0.3)),
        ),
    ):
        exact = ConformalRegressor(ours).fit(X, y)
        plain = ConformalRegressor(refitted, method="jackknife+").fit(X, y)
        assert exact.method_ == "jackknife+"
        assert exact.errors_ is None
        assert exact.guarantee_ == plain.guarantee_
        np.testing.assert_allclose(exact.predict_interval(Z), plain.predict_interval(Z), rtol=1e-8)


def test_exact_leave_one_out_of_a_gaussian_process():
    X, y = numbers(30)
    kernel = tenfold.kernels.Gaussian(length_scale=1.5)
    process = tenfold.GaussianProcessRegressor(kernel, alpha=0.3, optimizer=None)
    exact = ConformalRegressor(process).fit(X, y)
    plain = ConformalRegressor(make_pipeline(process), method="jackknife+").fit(X, y)
    np.testing.assert_allclose(exact.predict_interval(X[:5] + 0.1), plain.predict_interval(X[:5] + 0.1), rtol=1e-8)


def test_nothing_is_proved_where_the_same_errors_choose():
    X, y = numbers(60)
    assert ConformalRegressor(tenfold.RidgeCV(alphas=[0.1, 1.0])).fit(X, y).guarantee_.proved == 0.0
    assert ConformalRegressor(tenfold.RidgeCV(alphas=[0.1])).fit(X, y).guarantee_.proved == pytest.approx(0.8)
    inside = ConformalRegressor(tenfold.RidgeCV(alphas=[0.1, 1.0]), method="cv+").fit(X, y)
    assert inside.guarantee_.proved == pytest.approx(0.8 - np.sqrt(2.0 / 60))
    assert "nothing is proved" in ConformalRegressor().fit(X, y).guarantee_.statement


def test_too_few_errors_give_infinite_intervals():
    X, y = numbers(20)
    model = ConformalRegressor(SklearnLinear(), method="split", calibration_size=8, coverage=0.9).fit(X, y)
    assert np.isinf(model.predict_interval(X)).all()
    assert np.isfinite(model.predict_interval(X, coverage=0.8)).all()
    assert quantile_of(np.arange(9.0), 0.9) == 8.0
    assert quantile_of(np.arange(8.0), 0.9) == np.inf
    X, y = classes(20)
    model = ConformalClassifier(method="split", calibration_size=8, coverage=0.95).fit(X, y)
    assert model.predict_set(X).all()


def test_several_targets_sparse_samples_and_tables():
    X, y = numbers(50)
    Y = np.column_stack([y, -2.0 * y])
    for method in ("split", "cv+"):
        model = ConformalRegressor(tenfold.Ridge(), method=method, random_state=0).fit(sparse.csr_array(X), Y)
        ends = model.predict_interval(sparse.csr_array(X))
        assert ends.shape == (50, 2, 2)
        np.testing.assert_allclose(ends[:, 1, ::-1], -2.0 * ends[:, 0], rtol=1e-9)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = ConformalRegressor(tenfold.Ridge(), method="cv+", random_state=0).fit(table, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.predict_interval(table).shape == (50, 2)


def test_weights_of_zero_are_left_out():
    X, y = numbers(60)
    weight = np.repeat([1.0, 0.0], [50, 10])
    model = ConformalRegressor(tenfold.Ridge(), method="jackknife+", coverage=0.8).fit(X, y, weight)
    plain = ConformalRegressor(tenfold.Ridge(), method="jackknife+", coverage=0.8).fit(X[:50], y[:50])
    np.testing.assert_allclose(model.predict_interval(X), plain.predict_interval(X), rtol=1e-9)
    folds = [(np.delete(np.arange(60), part), part) for part in np.array_split(np.arange(60), 6)]
    few = [(np.delete(np.arange(50), part), part) for part in np.array_split(np.arange(60), 6)[:5]]
    model = ConformalRegressor(tenfold.Ridge(), method="cv+", cv=folds, coverage=0.8).fit(X, y, weight)
    plain = ConformalRegressor(tenfold.Ridge(), method="cv+", cv=few, coverage=0.8).fit(X[:50], y[:50])
    np.testing.assert_allclose(model.predict_interval(X), plain.predict_interval(X), rtol=1e-9)


def test_a_class_that_a_fold_has_not_seen():
    X, y = load_iris(return_X_y=True)
    model = ConformalClassifier(method="cv+", cv=3, random_state=0)
    rare = np.append(y, "rare")
    model.fit(np.vstack([X, X[:1] + 9.0]), rare)
    assert model.classes_.tolist() == ["0", "1", "2", "rare"]
    assert model.predict_proba(X).shape == (150, 4)
    assert model.predict_set(X).any(axis=1).all()


def test_smaller_coverage_gives_smaller_intervals_and_sets():
    X, y = numbers(80)
    model = ConformalRegressor(SklearnLinear(), random_state=0).fit(X, y)
    width = [np.ptp(model.predict_interval(X, coverage=c), axis=1).mean() for c in (0.5, 0.7, 0.9)]
    assert width[0] < width[1] < width[2]
    X, y = classes(80)
    model = ConformalClassifier(make_pipeline(StandardScaler(), tenfold.LogisticRegression()), random_state=0).fit(X, y)
    small, large = (model.predict_set(X, coverage=c) for c in (0.5, 0.9))
    assert (small <= large).all()
    assert small.sum() < large.sum()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ConformalRegressor(method="bootstrap"), "method must be one of"),
        (ConformalRegressor(coverage=1.0), "coverage must be between 0 and 1"),
        (ConformalRegressor(SklearnLinear(), method="cv+", cv=1), "two folds at least"),
        (ConformalClassifier(conformity="margin"), "conformity must be one of"),
    ],
)
def test_bad_parameters(model, message):
    X, y = classes(30)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_bad_input():
    X, y = classes(30)
    with pytest.raises(TypeError, match="LinearSVC has no probabilities"):
        ConformalClassifier(tenfold.LinearSVC()).fit(X, y)
    with pytest.raises(ValueError, match="Got 1 class"):
        ConformalClassifier().fit(X, np.zeros(30))
    with pytest.raises(ValueError, match="takes no sample_weight"):
        ConformalRegressor(SklearnNeighbours()).fit(X, y, np.ones(30))
    with pytest.raises(ValueError, match="leave every sample out once"):
        ConformalRegressor(SklearnLinear(), method="cv+", cv=[(np.arange(15), np.arange(15, 30))]).fit(X, y)
    with pytest.raises(ValueError, match="coverage must be between"):
        ConformalRegressor().fit(X, y).predict_interval(X, coverage=90)


@pytest.mark.parametrize("p", [3, 40])
def test_intervals_of_ridge_leave_out_samples_of_weight_zero(p):
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((30, p)), rng.standard_normal(30), rng.integers(0, 3, 30).astype(float)
    kept = weight > 0
    model = tenfold.RidgeCV(alphas=[1.0]).fit(X, y, weight)
    plain = tenfold.RidgeCV(alphas=[1.0]).fit(X[kept], y[kept], weight[kept])
    np.testing.assert_allclose(model.predict_interval(X), plain.predict_interval(X), rtol=1e-8)
