"""Search over pipelines: against GridSearchCV, races, limits, the one-standard-error rule, scikit-learn's contract."""

import time

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.neighbors import KernelDensity
from sklearn.neighbors import KNeighborsClassifier as TheirNeighbours
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tenfold import ElasticNet, Lasso, LogisticRegression, Ridge, RidgeClassifier
from tenfold.selection import Search, one_standard_error, search
from tenfold.selection.racing import is_worse


@pytest.fixture(scope="module")
def numbers():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def classes():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:200], y[:200]


PIPE = Pipeline([("scale", StandardScaler()), ("pca", PCA(random_state=0)), ("ridge", TheirRidge())])
GRIDS = [
    {"pca__n_components": [2, 5], "ridge__alpha": [1.0, 10.0], "scale__with_mean": [True, False]},
    [{"scale": ["passthrough", StandardScaler()], "ridge__alpha": [0.1]}, {"pca__n_components": [3]}],
]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_agrees_with_grid_search_cv(numbers, grid, scoring):
    X, y = numbers
    cv = KFold(4)
    ours = Search(PIPE, grid, cv=cv, scoring=scoring, race=False).fit(X, y)
    theirs = GridSearchCV(PIPE, grid, cv=cv, scoring=scoring).fit(X, y)
    assert set(theirs.cv_results_) <= set(ours.cv_results_)
    for name, values in theirs.cv_results_.items():
        if "time" not in name:
            assert str(values) == str(ours.cv_results_[name]), name
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == theirs.best_score_
    assert ours.score(X, y) == theirs.score(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.n_features_in_ == theirs.n_features_in_
    assert ours.n_splits_ == 4
    assert ours.refit_time_ > 0


def test_agrees_with_randomized_search_cv(numbers):
    X, y = numbers
    space = {"ridge__alpha": stats.loguniform(1e-3, 1e3), "pca__n_components": [1, 2, 5]}
    ours = Search(PIPE, space, method="random", n_iter=6, cv=KFold(3), race=False, random_state=5).fit(X, y)
    theirs = RandomizedSearchCV(PIPE, space, n_iter=6, cv=KFold(3), random_state=5).fit(X, y)
    assert ours.best_params_ == theirs.best_params_
    assert ours.cv_results_["mean_test_score"].tolist() == theirs.cv_results_["mean_test_score"].tolist()


@pytest.mark.parametrize(
    ("model", "name", "scoring", "close"),
    [
        (Ridge(), "alpha", "r2", 1e-10),
        (Ridge(fit_intercept=False), "alpha", "neg_mean_squared_error", 1e-10),
        (Lasso(tol=1e-10), "alpha", "neg_mean_squared_error", 1e-6),
        (ElasticNet(l1_ratio=0.3, tol=1e-10), "alpha", "neg_mean_squared_error", 1e-6),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_path_scores_equal_single_fits(numbers, model, name, scoring, close, weighted):
    X, y = numbers
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y)) if weighted else None
    pipe = make_pipeline(StandardScaler(), model)
    last = pipe.steps[-1][0]
    grid = {f"{last}__{name}": [10.0, 0.1, 1.0, 0.01], "standardscaler__with_std": [True, False]}
    variants = (
        Search(pipe, grid, scoring=scoring, race=False, together=together).fit(X, y, sample_weight=weight)
        for together in (True, False)
    )
    scores = [np.stack([how.cv_results_[f"split{i}_test_score"] for i in range(5)]) for how in variants]
    assert not np.array_equal(*scores)
    np.testing.assert_allclose(*scores, rtol=close)


SPARSE = LogisticRegression(l1_ratio=1.0, solver="saga", tol=1e-8, max_iter=1000)


@pytest.mark.parametrize("model", [RidgeClassifier(), LogisticRegression(tol=1e-10), SPARSE])
@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_path_scores_of_classifiers(classes, model, scoring):
    X, y = classes
    name = "alpha" if isinstance(model, RidgeClassifier) else "C"
    variants = [
        Search(model, {name: [0.01, 0.1, 1.0]}, scoring=scoring, race=False, together=together, cv=3).fit(X, y)
        for together in (True, False)
    ]
    one, other = (how.cv_results_["mean_test_score"] for how in variants)
    np.testing.assert_allclose(one, other, atol=2e-3)


def test_fallback_to_single_fits(numbers):
    X, y = numbers
    for grid in ({"alpha": [1.0, np.inf]}, {"alpha": [1.0, 0.0]}, {"alpha": [1.0, 1.0]}, {"solver": ["svd", "lsqr"]}):
        result = Search(Ridge(), grid, scoring="r2", cv=3, race=False).fit(X, y)
        assert np.isfinite(result.best_score_)
    frame = pytest.importorskip("pandas").DataFrame(X)
    assert Search(Ridge(), {"alpha": [1.0, 2.0]}, scoring="r2", cv=3).fit(frame, y).best_params_ == {"alpha": 1.0}
    assert Search(Ridge(), {"alpha": [1.0, 2.0]}, scoring="r2", cv=3).fit(sparse.csr_array(X), y).best_score_ > 0.3


class Counting(FunctionTransformer):
    """Counts fits."""

    count = 0

    def fit(self, X, y=None):
        type(self).count += 1
        return super().fit(X, y)


def test_equal_steps_are_fitted_once(numbers):
    X, y = numbers
    Counting.count = 0
    model = Pipeline([("count", Counting()), ("scale", StandardScaler()), ("ridge", TheirRidge())])
    Search(model, {"ridge__alpha": [1, 2, 3], "scale__with_std": [True, False]}, cv=3, refit=False).fit(X, y)
    assert Counting.count == 3


class Timed(RegressorMixin, BaseEstimator):
    """A constant, after some time; counts fits of each."""

    fits = {}  # noqa: RUF012

    def __init__(self, value=0.0, seconds=0.0):
        self.value = value
        self.seconds = seconds

    def fit(self, X, y):
        time.sleep(self.seconds)
        type(self).fits[self.value] = type(self).fits.get(self.value, 0) + 1
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


def test_racing_gives_up_worse_settings():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 1)), rng.standard_normal(400)
    Timed.fits = {}
    result = Search(Timed(), {"value": [0.0, 0.01, 50.0]}, cv=10, scoring="neg_mean_squared_error", refit=False)
    result.fit(X, y)
    assert Timed.fits == {0.0: 10, 0.01: 10, 50.0: 3}
    assert result.cv_results_["abandoned_after"].tolist() == [0, 0, 3]
    assert result.cv_results_["rank_test_score"][2] == 3
    assert "1 were given up" in result.words_
    assert np.isnan(result.cv_results_["split3_test_score"][2])
    assert result.best_params_["value"] in (0.0, 0.01)


def test_false_positive_rate_of_racing():
    """Equal settings are given up with the probability of three standard deviations, whatever the number of folds."""
    rng = np.random.default_rng(0)
    for folds in (3, 5, 10):
        rate = np.mean([is_worse(rng.standard_normal(folds)) for _ in range(1500)])
        assert rate < 0.00135 + 3 * np.sqrt(0.00135 / 1500)
    assert is_worse(np.array([1.0, 1.0, 1.0]))
    assert not is_worse(np.array([1.0, 1.0]))
    assert not is_worse(np.array([1.0, np.nan, 1.0]))


def test_time_limit_is_respected(numbers):
    X, y = numbers
    begin = time.perf_counter()
    grid = {"value": [150.0, 100.0, 50.0], "seconds": [0.05]}
    result = Search(Timed(), grid, cv=5, time_limit=0.4, race=False).fit(X, y)
    assert time.perf_counter() - begin < 1.5
    assert result.best_params_["value"] == 150.0
    assert "the time was over" in result.words_
    with pytest.raises(TimeoutError, match="No setting was scored within"):
        Search(Timed(seconds=0.2), {"value": [1.0]}, time_limit=0.05).fit(X, y)


def test_failed_fits_are_skipped_or_raised(numbers):
    X, y = numbers
    result = Search(Lasso(), {"alpha": [-1.0, 0.1]}, together=False).fit(X, y)
    assert result.best_params_ == {"alpha": 0.1}
    assert np.isnan(result.cv_results_["mean_test_score"][0])
    assert result.cv_results_["rank_test_score"].tolist() == [2, 1]
    with pytest.raises(ValueError, match="alpha"):
        Search(Lasso(), {"alpha": [-1.0, -2.0]}).fit(X, y)
    with pytest.raises(ValueError, match="Invalid parameter"):
        Search(Lasso(), {"nothing": [1.0, 2.0]}).fit(X, y)


# -- the one-standard-error rule


def test_one_standard_error_by_hand():
    """Seeger, section 10.2.1: the largest nu with CV(nu) <= CV(best) + standard error of the best."""
    scores = -np.array([[2.0, 2.2, 2.4], [1.0, 1.4, 1.2], [0.9, 1.3, 1.1]])
    error = np.std(scores[2], ddof=1) / np.sqrt(3)
    assert scores[1].mean() > scores[2].mean() - error
    assert one_standard_error(scores) == 1
    assert one_standard_error(scores[:, :1]) == 2
    assert one_standard_error(np.array([[np.nan, 1.0], [0.5, 0.6]])) == 1


def test_one_standard_error_selects_the_simplest(numbers):
    X, y = numbers
    grid = {"ridge__alpha": np.logspace(-2, 4, 13)}
    model = make_pipeline(StandardScaler(), Ridge())
    best, simple = (Search(model, grid, select=select, race=False).fit(X, y) for select in ("best", "one_se"))
    assert simple.best_params_["ridge__alpha"] > best.best_params_["ridge__alpha"]
    scores = np.stack([best.cv_results_[f"split{i}_test_score"] for i in range(5)], axis=1)
    limit = scores[best.best_index_].mean() - scores[best.best_index_].std(ddof=1) / np.sqrt(5)
    assert simple.best_index_ == np.flatnonzero(scores.mean(axis=1) >= limit).max()
    assert "one standard error" in simple.words_
    for simplicity in ("ridge__alpha", ["ridge__alpha"], lambda setting: setting["ridge__alpha"]):
        assert one_standard_error(best.cv_results_, simplicity) == simple.best_index_
    assert one_standard_error(best.cv_results_, "-ridge__alpha") == 0


def test_unknown_simplicity_raises(numbers):
    X, y = numbers
    with pytest.raises(ValueError, match="which values of scale__with_std are simpler"):
        search(PIPE, {"scale__with_std": [True, False]}, X, y, select="one_se")
    result = search(Ridge(), {"alpha": [1.0, 2.0]}, X, y)
    with pytest.raises(ValueError, match="names gamma, which no setting has"):
        one_standard_error(result.cv_results_, "gamma")
    with pytest.raises(ValueError, match="put its rows in order"):
        one_standard_error(np.ones((2, 2)), "alpha")
    with pytest.raises(ValueError, match="got shape"):
        one_standard_error(np.ones(2))
    with pytest.raises(ValueError, match="No setting has a score"):
        one_standard_error(np.full((2, 2), np.nan))


# -- the contract


@parametrize_with_checks(
    [Search(Ridge(), {"alpha": [0.1, 1.0]}, cv=2), Search(TheirNeighbours(3), {"n_neighbors": [1, 2]}, cv=2)]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_methods_of_the_best_model(classes, numbers):
    X, y = classes
    result = Search(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert result.predict_proba(X).shape == (200, 2)
    assert result.predict_log_proba(X).shape == (200, 2)
    assert result.decision_function(X).shape == (200,)
    assert result.classes_.tolist() == [0, 1]
    assert result.certificate_.ok
    assert not hasattr(result, "transform")
    components = Search(PCA(), {"n_components": [1, 3]}, cv=3).fit(X)
    assert components.inverse_transform(components.transform(X)).shape == X.shape
    assert Search(KernelDensity(), {"bandwidth": [0.1, 1.0]}).fit(X[:, :2]).best_params_ == {"bandwidth": 1.0}
    not_fitted = Search(Ridge(), {"alpha": [0.1, 1.0]}, refit=False).fit(*numbers)
    with pytest.raises(AttributeError, match="refit=False"):
        not_fitted.predict(X)
    assert not hasattr(Search(Ridge(), {}), "predict_proba")


def test_can_be_cloned_and_searched_itself(numbers):
    X, y = numbers
    inner = Search(Ridge(), {"alpha": [0.1, 1.0]}, cv=3)
    assert clone(inner).get_params()["estimator__alpha"] == 1.0
    outer = Search(inner, {"estimator__fit_intercept": [True, False]}, cv=3).fit(X, y)
    assert outer.best_params_ == {"estimator__fit_intercept": True}


def test_groups_and_time(numbers):
    X, y = numbers
    grouped = search(Ridge(), {"alpha": [1.0]}, X, y, groups=np.arange(len(y)) // 9)
    assert "whole groups" in grouped.words_
    assert "before it" in search(Ridge(), {"alpha": [1.0]}, X, y, time=np.arange(len(y))).words_


@pytest.mark.parametrize("more", [{"method": "best"}, {"select": "worst"}, {"cv": "none"}])
def test_invalid_input_messages(numbers, more):
    with pytest.raises(ValueError, match="got '"):
        Search(DummyRegressor(), {}, **more).fit(*numbers)
