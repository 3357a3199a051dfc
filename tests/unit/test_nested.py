"""Nested cross-validation: honesty, limits, interruption, failures."""

import signal
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, TargetEncoder

from tenfold import (
    PCA,
    ElasticNetCV,
    KNeighborsClassifierCV,
    KNeighborsCV,
    LarsCV,
    Lasso,
    LassoCV,
    LassoLarsIC,
    LogisticRegressionCV,
    OrthogonalMatchingPursuitCV,
    ParzenRegressor,
    Ridge,
    RidgeClassifierCV,
    RidgeCV,
    TableEncoder,
)
from tenfold.selection import Candidate, nested, nested_events, shortcut
from tenfold.selection.fitting import in_order
from tenfold.selection.results import rank


@pytest.fixture(scope="module")
def numbers():
    return load_diabetes(return_X_y=True)


class Broken(RegressorMixin, BaseEstimator):
    """Fits nothing."""

    def fit(self, X, y):
        raise RuntimeError("no luck today\nand more")


class Endless(RegressorMixin, BaseEstimator):
    """A fit in Python that never ends."""

    def fit(self, X, y):
        while True:
            time.sleep(0.001)


class CtrlC(DummyRegressor):
    """Somebody presses Ctrl-C in the second fit."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        if type(self).fits == 2:
            signal.raise_signal(signal.SIGINT)
        return super().fit(X, y)


class Counting(FunctionTransformer):
    """Counts fits."""

    count = 0

    def fit(self, X, y=None):
        type(self).count += 1
        return super().fit(X, y)


def test_out_of_fold_outputs_cover_every_sample(numbers):
    X, y = numbers
    result = nested({"mean": DummyRegressor(), "ridge": RidgeCV()}, X, y)
    ridge = result["ridge"]
    assert ridge.predictions.shape == y.shape
    assert ridge.tested.all()
    assert result.best is ridge
    assert [one.name for one in result.ranking] == ["ridge", "mean"]
    assert ridge.certificate.ok
    assert ridge.interval().low < ridge.score < ridge.interval().high
    assert "Nadeau" in ridge.interval().method
    assert ridge.standard_error == pytest.approx(np.std(ridge.scores, ddof=1) / np.sqrt(5))
    assert ridge.fit_seconds > 0
    assert ridge.predict_microseconds > 0
    assert ridge.peak_bytes is None or ridge.peak_bytes >= 0
    assert "r2" in result.words
    assert "5 random folds" in result.words
    with pytest.raises(KeyError, match="there are mean, ridge"):
        result["lasso"]


# -- honesty


def noise(n=400, levels=200, seed=0):
    """A category of many levels, and a target that has nothing to do with it."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, levels, (n, 1)).astype(str), rng.integers(0, 2, n)


def test_a_target_encoder_leaks_nothing():
    """Means of the target for 200 categories of 400 rows say everything about the rows that they are made of, and
    nothing about others: honest scores are at chance.
    """
    scores = []
    for seed in range(2):
        X, y = noise(seed=seed)
        means = TargetEncoder(target_type="binary", smooth=1e-9, cv=2, random_state=0)
        model = make_pipeline(means, RidgeClassifierCV([1e-3, 1.0]))
        result = nested({"model": model}, X, y, random_state=seed)["model"]
        assert "refits the whole pipeline" in result.words
        scores += result.scores.tolist()
    assert abs(np.mean(scores) - 0.5) < 3 * np.std(scores, ddof=1) / np.sqrt(len(scores))


class MeansOfTarget(BaseEstimator):
    """The mean of the target of each category, of the training rows themselves: the classic leak."""

    supervised = True

    def fit(self, X, y):
        self.means_ = {value: y[X[:, 0] == value].mean() for value in set(X[:, 0])}
        self.mean_ = y.mean()
        return self

    def transform(self, X):
        return np.array([[self.means_.get(value, self.mean_)] for value in X[:, 0]])


def test_target_encoder_does_not_bias_selection():
    """Leave-one-out after the leak believes the column and takes the smallest penalty; inner folds that refit the
    encoder see that it is noise and take the largest.
    """
    X, y = noise()
    alphas = [1e-3, 1e6]
    leak = make_pipeline(MeansOfTarget(), RidgeCV(alphas))
    assert leak.fit(X, y * 1.0)[-1].alpha_ == 1e-3
    result = nested({"model": leak}, X, y * 1.0)["model"]
    assert result.params == {"ridgecv__alpha": 1e6}
    assert {one for params in result.chosen for one in params.values()} == {1e6}
    assert result.score < 0.02


def test_an_encoder_of_tables_leaks_nothing():
    """It takes means of the target for categories of many levels: at chance on noise, and no shortcut. Where there are
    no such categories it looks at no target, which it knows when it has seen them: a shortcut.
    """
    polars = pytest.importorskip("polars")
    model = make_pipeline(TableEncoder(), RidgeClassifierCV([1e-3, 1.0]))
    right = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 400)
        many, few = ([f"p{k}" for k in rng.integers(0, levels, 400)] for levels in (150, 3))
        result = nested({"model": model}, polars.DataFrame({"place": many}), y, refit=False)["model"]
        assert result.words.endswith("TableEncoder looks at the target, so every inner fold refits the whole pipeline.")
        right.append(np.mean(result.predictions == y))
    assert abs(np.mean(right) - 0.5) < 3 * 0.5 / np.sqrt(800)
    result = nested({"model": model}, polars.DataFrame({"place": few}), y, refit=False)["model"]
    assert result.words == "RidgeClassifierCV chooses by exact leave-one-out."


def test_no_score_beats_the_baseline_on_a_shuffled_target():
    X, y = make_classification(200, 8, random_state=0)
    y = np.random.default_rng(1).permutation(y)
    logistic = LogisticRegressionCV(l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False)
    returned = nested(
        {
            "baseline": DummyClassifier(),
            "ridge": RidgeClassifierCV(),
            "neighbours": KNeighborsClassifierCV(),
            "logistic": make_pipeline(StandardScaler(), logistic),
            "selected": make_pipeline(SelectKBest(k=2), RidgeClassifierCV()),
        },
        X,
        y,
        abandon=False,
    )
    for result in returned.results:
        interval = result.interval()
        assert interval.low <= returned["baseline"].score <= interval.high


def unit(X):
    return X


@pytest.mark.parametrize(
    ("model", "how"),
    [
        (RidgeCV(), "leave-one-out"),
        (make_pipeline(StandardScaler(), RidgeCV()), "leave-one-out"),
        (make_pipeline(StandardScaler(), PCA(2), KNeighborsCV()), "leave-one-out"),
        (make_pipeline(FunctionTransformer(unit), KNeighborsClassifierCV()), "leave-one-out"),
        (make_pipeline(FeatureUnion([("a", PCA(2)), ("b", "passthrough")]), RidgeCV()), "leave-one-out"),
        (make_pipeline(ColumnTransformer([("a", OneHotEncoder(), [0])], remainder=PCA(2)), RidgeCV()), "leave-one-out"),
        (make_pipeline(make_pipeline(StandardScaler(), PCA(2)), RidgeCV()), "leave-one-out"),
        (make_pipeline(StandardScaler(), make_pipeline(PCA(2), RidgeCV())), "leave-one-out"),
        (Pipeline([("a", "passthrough"), ("b", RidgeCV())]), "leave-one-out"),
        (RidgeCV(cv=5), "folds"),
        (LassoCV(), "folds"),
        (LogisticRegressionCV(), "folds"),
        (Ridge(), None),
        (make_pipeline(SelectKBest(), RidgeCV()), None),
        (make_pipeline(ColumnTransformer([("a", TargetEncoder(), [0])], remainder="drop"), RidgeCV()), None),
        (make_pipeline(FeatureUnion([("a", SelectKBest()), ("b", PCA())]), LassoCV()), None),
        (make_pipeline(make_pipeline(StandardScaler(), SelectKBest()), RidgeCV()), None),
        (make_pipeline(Counting(), RidgeCV()), None),  # nobody knows what it looks at
        (make_pipeline(SelectKBest(), LarsCV()), "folds"),
    ],
)
def test_shortcut_by_estimator_and_steps(model, how):
    result, reason = shortcut(model)
    assert result == how
    assert reason.endswith(".")


def test_shortcut_reads_supervised_and_row_wise():
    step = MeansOfTarget()
    assert shortcut(make_pipeline(step, RidgeCV()))[0] is None
    step.supervised = False
    assert shortcut(make_pipeline(step, RidgeCV())) == (
        "leave-one-out",
        "RidgeCV chooses by exact leave-one-out; MeansOfTarget never sees the target and is refitted in every outer "
        "fold.",
    )
    step.row_wise = True
    assert shortcut(make_pipeline(step, RidgeCV())) == ("leave-one-out", "RidgeCV chooses by exact leave-one-out.")


def test_groups_are_left_out_together(numbers):
    X, y = numbers
    groups = np.arange(len(y)) // 10
    result = nested({"ridge": RidgeCV(), "neighbours": KNeighborsCV([5, 9])}, X, y, groups=groups, abandon=False)
    assert result["ridge"].words.startswith("RidgeCV chooses by the inner folds")
    assert "Groups or time tie rows together" in result["neighbours"].words
    for fold in result["ridge"].folds:
        assert not set(groups[fold.rows]) & set(np.delete(groups, fold.rows))
    assert shortcut(KNeighborsCV(), exchangeable=False)[0] is None


def test_inner_folds_only_for_selection(numbers):
    X, y = numbers
    result = nested({"ridge": Ridge(), "grid": RidgeCV()}, X, y, groups=np.arange(len(y)) % 2, abandon=False)
    assert result["ridge"].state == "ok"
    assert result["grid"].state == "failed"
    assert "two groups at least" in result["grid"].reason
    ties = np.repeat([0, 1, 2], [150, 150, 142])  # the first period has a single time
    assert nested({"grid": RidgeCV()}, X, y, time=ties)["grid"].state == "ok"


@pytest.mark.parametrize(
    "model",
    [
        ElasticNetCV(l1_ratio=[0.2, 0.9], alphas=4),
        LassoCV(alphas=5),
        LarsCV(max_iter=4),
        OrthogonalMatchingPursuitCV(),
        RidgeCV(cv=3),
    ],
)
def test_cv_estimators_get_the_inner_folds(numbers, model):
    X, y = (part[:150] for part in numbers)
    result = nested({"model": model}, X, y, outer=3)["model"]
    assert result.state == "ok"
    assert "inner folds" in result.words
    assert result.tried > 1
    assert result.free == result.tried - 1
    assert all(np.isfinite(list(one.values())).all() for one in result.chosen)
    after = nested({"model": make_pipeline(SelectKBest(k=4), model)}, X, y, outer=3)["model"]
    assert after.state == "ok"
    assert ("refits" in after.words) or ("can mislead the choice" in after.words)


def test_grid_over_a_cv_estimator(numbers):
    X, y = numbers
    model = make_pipeline(PCA(), LassoCV(alphas=5))
    result = nested([("model", model, {"pca__n_components": [1, 5]})], X, y, outer=3)["model"]
    assert (result.state, result.tried, result.params) == ("ok", 2, {"pca__n_components": 5})
    model = make_pipeline(SelectKBest(), RidgeCV([1e-3, 1e3]))
    result = nested([("model", model, {"selectkbest__k": [1, 5]})], X, y, outer=3)["model"]
    assert (result.tried, result.params) == (4, {"selectkbest__k": 5, "ridgecv__alpha": 1e-3})


def test_selection_by_an_information_criterion(numbers):
    X, y = numbers
    models = {"parzen": ParzenRegressor("loo"), "fixed": ParzenRegressor(1.0), "bic": LassoLarsIC("bic")}
    result = nested(models, X[:100], y[:100], outer=3, abandon=False)
    assert result["parzen"].words == "ParzenRegressor chooses by exact leave-one-out."
    assert result["parzen"].params["bandwidth"] > 0
    assert result["fixed"].words == "Nothing to choose."
    assert "BIC" in result["bic"].words


# -- what goes wrong


def test_failed_candidate_does_not_end_the_others(numbers):
    X, y = numbers
    result = nested({"broken": Broken(), "mean": DummyRegressor()}, X, y)
    assert result["broken"].state == "failed"
    assert result["broken"].reason == "RuntimeError in fold 1: no luck today"
    assert np.isnan(result["broken"].score)
    assert result["mean"].state == "ok"
    grid = nested([("broken", Broken(), {}), ("some", Lasso(), {"alpha": [-1.0, 1.0]})], X, y, outer=3)
    assert grid["broken"].state == "failed"
    assert grid["some"].params == {"alpha": 1.0}


def test_worse_candidate_is_given_up(numbers):
    X, y = numbers
    events = []
    far = DummyRegressor(strategy="constant", constant=10_000.0)
    result = nested(
        [("ridge", RidgeCV()), ("far", far), Candidate("kept", far, keep=True)], X, y, callback=events.append
    )
    assert result["far"].state == "abandoned"
    assert len(result["far"].folds) == 1
    assert result["far"].reason.startswith("Given up after 1 of 5 folds: worse than ridge by")
    assert result["kept"].state == "ok"
    assert [one.name for one in result.ranking] == ["ridge", "kept", "far"]
    assert nested([("ridge", RidgeCV()), ("far", far)], X, y, abandon=False)["far"].state == "ok"
    assert [event.kind for event in events if event.name == "far"] == ["started", "fold", "finished"]
    assert np.isnan(result["far"].predictions).sum() == (~result["far"].tested).sum() > 0


def test_racing_by_folds():
    X, y = make_classification(300, 5, random_state=0)
    result = nested({"ridge": RidgeClassifierCV(), "guess": DummyClassifier()}, X, y, scoring="roc_auc")
    assert result["guess"].state == "abandoned"
    assert len(result["guess"].folds) == 3
    assert "of 3 folds" in result["guess"].reason


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "neg_brier_score"])
def test_losses_of_classes(scoring):
    X, y = make_classification(300, 5, random_state=0)
    result = nested({"neighbours": KNeighborsClassifierCV(), "guess": DummyClassifier()}, X, y, scoring=scoring)
    assert len(result["guess"].folds) < 5
    assert "rows" in result["guess"].reason


def test_time_limit_interrupts_a_fit(numbers):
    X, y = numbers
    begin = time.perf_counter()
    result = nested({"endless": Endless(), "ridge": RidgeCV()}, X, y, per_model_limit=0.3)
    assert time.perf_counter() - begin < 3.0
    assert result["endless"].state == "timed out"
    assert result["endless"].reason == "The time for a candidate was over after 0 folds."
    assert result["ridge"].state == "ok"
    result = nested({"ridge": RidgeCV(), "endless": Endless(), "mean": DummyRegressor()}, X, y, time_limit=1.0)
    assert result["endless"].state == "timed out"
    assert result["endless"].reason.startswith("Fold 1 was ended after")
    assert result["ridge"].state == "ok"
    assert result["ridge"].model is not None
    assert result["mean"].state == "abandoned"
    nothing = nested({"ridge": RidgeCV()}, X, y, time_limit=0.0)["ridge"]
    assert (nothing.state, nothing.folds) == ("not started", ())
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_time_limit_in_other_threads(numbers):
    """No signal reaches them: the time is looked at between fits, and estimators with a limit are given one."""
    X, y = numbers
    result = []

    class Slow(DummyRegressor):
        def fit(self, X, y):
            time.sleep(0.1)
            return super().fit(X, y)

    thread = threading.Thread(target=lambda: result.append(nested({"slow": Slow()}, X, y, time_limit=0.25)))
    thread.start()
    thread.join()
    assert result[0]["slow"].state == "timed out"
    assert 1 <= len(result[0]["slow"].folds) <= 2


def test_ctrl_c_keeps_results_so_far(numbers):
    """The best so far is fitted to all samples."""
    X, y = numbers
    CtrlC.fits = 0
    result = nested({"ridge": RidgeCV(), "pressed": CtrlC(), "later": DummyRegressor()}, X, y)
    assert result.interrupted
    assert result["ridge"].state == "interrupted"
    assert len(result["ridge"].folds) == 2
    assert result["ridge"].certificate.ok
    assert result["ridge"].reason == "Interrupted after 2 of 5 folds."
    assert result["pressed"].state == "interrupted"
    assert len(result["pressed"].folds) == 1
    assert len(result["later"].folds) <= 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_callback_can_end_everything(numbers):
    X, y = numbers
    result = nested(
        {"ridge": RidgeCV(), "neighbours": KNeighborsCV()}, X, y, callback=lambda event: event.name == "neighbours"
    )
    assert result.interrupted
    assert [one.state for one in result.results] == ["interrupted", "interrupted"]
    assert [len(one.folds) for one in result.results] == [1, 0]
    assert result["ridge"].model is not None


def test_all_candidates_run_on_a_fold_before_the_next(numbers):
    X, y = numbers
    events = list(nested_events({"mean": DummyRegressor(), "ridge": RidgeCV()}, X, y, outer=3, abandon=False))
    active = [(event.name, event.fold) for event in events if event.kind == "fold"]
    assert active == [(name, fold) for fold in (1, 2, 3) for name in ("mean", "ridge")]
    assert [event.name for event in events if event.kind == "started"] == ["mean", "ridge"]
    assert [event.name for event in events if event.kind == "finished"] == ["ridge", "mean"]  # the best first
    assert events[-1].best.name == "ridge"
    assert {(event.count, event.folds) for event in events} == {(2, 3)}
    assert np.all(np.diff([event.seconds for event in events]) >= 0)


class Sleeping(DummyRegressor):
    """Takes a time that grows with the number of samples."""

    def __init__(self, seconds=1e-5, constant=0.0):
        super().__init__(strategy="constant", constant=constant)
        self.seconds = seconds

    def fit(self, X, y, sample_weight=None):
        time.sleep(self.seconds * len(X))
        return super().fit(X, y)


def test_candidates_too_slow_for_the_limit_run_last():
    """Costs are known from small samples: the cheapest run first, and nobody starts who cannot finish before."""
    X, y = np.zeros((4000, 1)), np.arange(4000.0)
    models = {"slow": Sleeping(10.0, 2000.0), "mean": Sleeping(5e-5, 2000.0), "quick": Sleeping(1e-7, 1999.0)}
    events = []
    result = nested(models, X, y, time_limit=6.0, abandon=False, callback=events.append)
    assert [result[name].state for name in models] == ["not started", "ok", "ok"]
    assert "A fold takes about" in result["slow"].reason
    assert [event.name for event in events if event.kind == "started"] == ["quick", "mean"]


def test_partial_candidates_are_ranked_on_common_folds(numbers):
    X, y = numbers
    result = nested({"ridge": RidgeCV(), "mean": DummyRegressor()}, X, y, abandon=False)
    ridge = result["ridge"]
    hard = int(np.argmin(ridge.scores))
    order = [hard, *(i for i in range(5) if i != hard)]
    ridge = replace(ridge, folds=tuple(ridge.folds[i] for i in order))
    slightly = replace(ridge, name="cut", folds=(replace(ridge.folds[0], score=ridge.folds[0].score + 1e-3),))
    assert slightly.score < ridge.score
    assert [one.name for one in rank([ridge, slightly, result["mean"]])][:2] == ["cut", "ridge"]


def test_warnings_are_kept_with_the_candidate(numbers):
    X, y = numbers

    class Warning_(DummyRegressor):
        def fit(self, X, y):
            warnings.warn("not there yet", ConvergenceWarning, stacklevel=2)
            return super().fit(X, y)

    assert nested({"model": Warning_()}, X, y)["model"].warned == ("ConvergenceWarning: not there yet",)


# -- sameness


def comparable(result):
    return [
        (one.name, one.state, one.scores.tolist(), str(one.chosen), one.predictions.tolist()) for one in result.results
    ]


def test_the_seed_decides():
    X, y = load_iris(return_X_y=True)
    candidates = {"forest": RandomForestClassifier(5), "ridge": RidgeClassifierCV(), "guess": DummyClassifier()}
    one = nested(candidates, X, y, random_state=1)
    assert comparable(one) == comparable(nested(candidates, X, y, random_state=1))
    assert comparable(one) != comparable(nested(candidates, X, y, random_state=2))
    assert one["guess"].state == "abandoned"


@pytest.mark.slow
def test_result_is_independent_of_n_jobs():
    X, y = load_iris(return_X_y=True)
    candidates = {"ridge": RidgeClassifierCV(), "guess": DummyClassifier()}
    one, two = (nested(candidates, X, y, n_jobs=jobs) for jobs in (1, 2))
    assert comparable(one) == comparable(two)
    assert one["guess"].state == "abandoned"
    endless = nested({"endless": Endless()}, X, y * 1.0, n_jobs=2, per_model_limit=1.0)["endless"]
    assert endless.state == "timed out"


def test_other_containers_give_the_same(numbers):
    pandas = pytest.importorskip("pandas")
    X, y = numbers
    plain = nested({"ridge": RidgeCV()}, X, y)["ridge"].scores
    frame = pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    assert nested({"ridge": RidgeCV()}, frame, pandas.Series(y))["ridge"].scores.tolist() == plain.tolist()
    rows = nested({"ridge": RidgeCV()}, sparse.csr_array(X), y)["ridge"].scores
    np.testing.assert_allclose(rows, plain, rtol=1e-9)
    assert nested({"ridge": RidgeCV()}, X.tolist(), y.tolist())["ridge"].scores.tolist() == plain.tolist()


def test_equal_steps_are_fitted_once(numbers):
    X, y = numbers
    Counting.count = 0
    model = Pipeline([("count", Counting()), ("scale", StandardScaler()), ("ridge", Ridge())])
    grid = {"ridge__alpha": [1.0, 2.0, 3.0], "scale__with_std": [True, False]}
    nested([("model", model, grid)], X, y, outer=4, refit=False)
    assert Counting.count == 4 * (3 + 1)  # once in each inner fold and once for the outer one, for six settings


def test_in_order_groups_equal_first_steps():
    assert in_order([("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("a", "x")]) == [0, 4, 2, 1, 3]
    assert in_order([(), ()]) == [0, 1]


def test_labels_of_any_kind_and_rare_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.array(["yes", "no", "rare"])[np.r_[np.arange(57) % 2, [2, 2, 2]]]
    for scoring in ("neg_log_loss", "neg_brier_score", "accuracy"):
        result = nested({"guess": DummyClassifier()}, X, y, scoring=scoring)["guess"]
        assert result.state == "ok", result.reason
        assert result.probabilities.shape == (60, 3)
        np.testing.assert_allclose(result.probabilities.sum(axis=1), 1.0)
        assert np.isfinite(result.scores).all()
    assert result.predictions.dtype.kind == "U"
    alone = nested({"ridge": RidgeClassifierCV()}, X, np.r_[np.zeros(59), 1.0], scoring="neg_mean_squared_error")
    assert alone["ridge"].state in ("ok", "failed")


def test_periods_leave_rows_untested(numbers):
    X, y = numbers
    result = nested({"ridge": RidgeCV()}, X, y, time=np.arange(len(y)))["ridge"]
    assert result.words.startswith("RidgeCV chooses by the inner folds")
    assert not result.tested[: len(y) // 6].any()
    assert np.isnan(result.predictions[~result.tested]).all()
    labels = nested({"guess": DummyClassifier()}, X, y > 100, time=np.arange(len(y)))["guess"]
    assert labels.predictions[0] is None


def test_a_single_split(numbers):
    X, y = numbers
    result = nested([("ridge", Ridge(), {"alpha": [0.1, 1.0]})], X, y, outer="hold-out")["ridge"]
    assert len(result.folds) == 1
    assert np.isnan(result.standard_error)
    assert np.isnan(result.interval().low)


def test_callable_scoring(numbers):
    X, y = numbers

    def worst(model, X, y):
        return -np.max(np.abs(model.predict(X) - y))

    result = nested(
        [("ridge", make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [1, 9]})], X, y, scoring=worst
    )
    assert result.scoring == "worst"
    assert result["ridge"].score < -100
    weighted = nested({"ridge": Ridge()}, X, y, scoring=worst, sample_weight=np.ones(len(y)))
    assert np.isfinite(weighted["ridge"].score)


@pytest.mark.parametrize(
    ("candidates", "more", "message"),
    [
        ({}, {}, "no candidates"),
        ([("a", Ridge()), ("a", RidgeCV())], {}, "a is there twice"),
        ({"a": Ridge(), "b": DummyClassifier()}, {}, "some numbers"),
        ({"a": Ridge()}, {"sample_weight": [1.0]}, "inconsistent numbers"),
        ({"a": Ridge()}, {"outer": "many"}, "got 'many'"),
    ],
)
def test_invalid_input_messages(numbers, candidates, more, message):
    X, y = numbers
    with pytest.raises(ValueError, match=message):
        nested(candidates, X, y, **more)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        nested({"a": Ridge()}, X, y[:-1])
