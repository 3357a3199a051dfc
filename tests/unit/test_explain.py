"""What a run says beyond scores: effects, importance, differences, learning curves, profiles, wrong samples."""

import time
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import Pipeline

from tenfold import KNeighborsClassifier, LinearRegression, LogisticRegression, TableEncoder
from tenfold.cli.explain.column_profiles import Target, bin_numbers, profile_columns
from tenfold.cli.explain.differences import _influence, compare_models
from tenfold.cli.explain.explanation import explain
from tenfold.cli.explain.groups import describe_groups
from tenfold.cli.explain.held_out import HeldOut
from tenfold.cli.explain.importance import permutation_importance
from tenfold.cli.explain.influence import _area, variance_of_mean
from tenfold.cli.explain.power_law import _extrapolate, fit_power_law
from tenfold.cli.explain.weights import LinearView, source_columns, sum_contributions, weights_of
from tenfold.cli.explain.wrong_samples import list_wrong_samples
from tenfold.cli.load_table import LoadedTable
from tenfold.cli.scoring import METRICS, score_of
from tenfold.features import infer_schema
from tenfold.selection import Candidate, nested
from tenfold.selection.fitting import Data
from tenfold.selection.scoring import Scoring

METRIC = {metric.name: metric for metrics in METRICS.values() for metric in metrics}


def prepare(columns, y, task, **more):
    frame = pl.DataFrame(columns)
    rows = np.arange(1, frame.height + 1)
    extra = {"groups": None, "weight": None, "time": None} | more
    return LoadedTable(
        frame, np.asarray(y), schema=infer_schema(frame), task=task, rows=rows, name="t", sha256="", **extra
    )


def make_table(n=300, task="regression", seed=0):
    """A target of one strong column, a category, and a column of noise."""
    rng = np.random.default_rng(seed)
    strong, noise = rng.normal(size=n), rng.normal(size=n)
    colour = rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2])
    level = np.select([colour == "red", colour == "green"], [1.0, -1.0], 0.0)
    score = 2.0 * strong + level + 0.5 * rng.normal(size=n)
    columns = {"strong": strong, "noise": noise, "colour": colour}
    if task == "regression":
        return prepare(columns, score, task)
    edges = [0.0] if task == "binary" else [-1.0, 1.0]
    return prepare(columns, np.array(["a", "b", "c"])[np.digitize(score, edges)], task)


def pipeline(model):
    return Pipeline([("table", TableEncoder(scale=True)), ("model", model)])


def stand(table, models, metric):
    """Models on the same folds, as a board has them."""
    candidates = [Candidate(name, pipeline(model)) for name, model in models.items()]
    returned = nested(candidates, table.frame, table.y, outer=5, scoring=metric.scorer, abandon=False)
    lines = [SimpleNamespace(name=name) for name in models]
    figures = [score_of(metric, result, table.y, table.weight, table.groups) for result in returned.results]
    standing = [
        SimpleNamespace(line=line, result=result, figure=figure)
        for line, result, figure in zip(lines, returned.results, figures, strict=True)
    ]
    return standing, candidates


class TestWeights:
    def test_effect_of_a_level_is_against_the_other_levels(self):
        rng = np.random.default_rng(1)
        colour = rng.choice(["red", "green", "blue"], 200, p=[0.6, 0.3, 0.1])
        y = np.select([colour == "red", colour == "green"], [1.0, 5.0], 9.0) + 0.1 * rng.normal(size=200)
        frame = pl.DataFrame({"colour": colour})
        view = LinearView.of(pipeline(LinearRegression()).fit(frame, y), frame)
        effects = dict(zip(view.names, view.effects()[0], strict=True))
        for name in ("red", "green", "blue"):
            own = colour == name
            expected = y[own].mean() - y[~own].mean()
            assert effects[f"colour={name}"] == pytest.approx(expected, abs=1e-9)

    def test_constant_on_all_levels_changes_no_effect(self):
        table = make_table()
        model = pipeline(LinearRegression()).fit(table.frame, table.y)
        before = LinearView.of(model, table.frame).effects()
        model.steps[-1][1].coef_ = model.steps[-1][1].coef_ + np.array(
            [7.0 * name.startswith("colour=") for name in model[:-1].get_feature_names_out()]
        )
        np.testing.assert_allclose(LinearView.of(model, table.frame).effects(), before, atol=1e-9)

    def test_only_numbers_have_standardised_effects(self):
        rng = np.random.default_rng(2)
        flag, size = rng.random(400) < 0.05, 3.0 * rng.normal(size=400)
        colour = rng.choice(["red", "blue"], 400)
        y = 40.0 * flag + 2.0 * size
        frame = pl.DataFrame({"flag": flag, "size": size, "colour": colour})
        view = LinearView.of(pipeline(LinearRegression()).fit(frame, y), frame)
        rows = {row["feature"]: row for row in weights_of(view, None, 1.0)["rows"]}
        assert rows["flag"]["change"] == "1 against 0"
        assert rows["flag"]["weights"] == [pytest.approx(40.0), None]
        assert rows["size"]["weights"] == [pytest.approx(2.0), pytest.approx(2.0 * size.std())]
        assert rows["colour=red"]["weights"][1] is None

    @pytest.mark.parametrize("condition", [np.inf, 1e13])
    def test_dependent_features_are_warned_of(self, condition):
        table = make_table()
        view = LinearView.of(pipeline(LinearRegression()).fit(table.frame, table.y), table.frame)
        assert "Single weights are not identified" in weights_of(view, None, condition)["warning"]
        assert weights_of(view, None, 1e6)["warning"] is None
        assert weights_of(view, None, None)["warning"] is None

    @pytest.mark.parametrize("sparse_output", [True, False])
    def test_undetermined_effects_are_marked(self, sparse_output):
        table = make_table()
        frame = table.frame.with_columns(twin=2.0 * pl.col("strong") + 1.0)
        encoder = TableEncoder(scale=True, sparse_output=sparse_output)
        model = Pipeline([("table", encoder), ("model", LinearRegression())]).fit(frame, table.y)
        view = LinearView.of(model, frame)
        rows = {row["feature"]: row["determined"] for row in weights_of(view, None, np.inf)["rows"]}
        assert {name for name, known in rows.items() if not known} == {"strong", "twin"}
        assert len(rows) == 6

    @pytest.mark.parametrize("sparse_output", [True, False])
    def test_contributions_sum_to_the_prediction(self, sparse_output):
        table = make_table()
        encoder = TableEncoder(scale=True, sparse_output=sparse_output)
        model = Pipeline([("table", encoder), ("model", LinearRegression())]).fit(table.frame, table.y)
        view = LinearView.of(model, table.frame)
        parts = sum_contributions(view)
        assert set(parts) == {"strong", "noise", "colour"}
        predicted = model.predict(table.frame)
        np.testing.assert_allclose(np.sum(list(parts.values()), axis=0), predicted - predicted.mean(), atol=1e-9)

    def test_models_without_weights_have_none(self):
        table = make_table(task="binary")
        model = pipeline(KNeighborsClassifier()).fit(table.frame, table.y)
        assert LinearView.of(model, table.frame) is None
        assert weights_of(None, None, None) is None

    def test_sources_are_the_longest_names(self):
        frame = pl.DataFrame(
            {"a": ["x", "y"] * 15, "a=b": ["u", "v", "w"] * 10, "n": [1.0, None, 3.0] * 10, "d": ["2020-01-31"] * 30}
        )
        encoder = TableEncoder().fit(frame)
        sources = dict(zip(encoder.get_feature_names_out(), source_columns(encoder), strict=True))
        assert sources["a=x"] == "a"
        assert sources["a=b=u"] == "a=b"
        assert sources["n"] == sources["n.missing"] == "n"


class TestDifferences:
    def test_area_is_that_of_scikit_learn(self):
        rng = np.random.default_rng(3)
        score, positive, weight = rng.integers(20, size=200) / 7, rng.random(200) < 0.4, rng.random(200) + 0.5
        for given in (np.ones(200), weight / weight.mean()):
            area, influence = _area(score, positive, given)
            assert area == pytest.approx(roc_auc_score(positive, score, sample_weight=given))
            assert np.sum(influence) == pytest.approx(0.0, abs=1e-9)

    @pytest.mark.parametrize(
        ("name", "task"),
        [
            ("rmse", "regression"),
            ("mae", "regression"),
            ("r2", "regression"),
            ("accuracy", "binary"),
            ("balanced_accuracy", "multiclass"),
            ("log_loss", "binary"),
            ("brier", "binary"),
            ("roc_auc", "binary"),
        ],
    )
    def test_influence_is_the_derivative_in_the_weights(self, name, task):
        table = make_table(120, task)
        model = LinearRegression() if task == "regression" else LogisticRegression()
        # scikit-learn's scorer of this name takes classes of text for an error
        (one,), _ = stand(table, {"model": model}, METRIC["accuracy" if name == "brier" else name])
        rows = np.arange(len(table.y))
        _, influence = _influence(one.result, rows, table, METRIC[name])
        for i in (0, 17, 63):
            values = []
            for step in (1e-4, -1e-4):
                weight = np.ones(len(rows))
                weight[i] += step
                shifted = prepare(table.frame.to_dict(as_series=False), table.y, task, weight=weight)
                values.append(_influence(one.result, rows, shifted, METRIC[name])[0])
            assert (values[0] - values[1]) / 2e-4 == pytest.approx(influence[i] / len(rows), rel=1e-3, abs=1e-9)

    @pytest.mark.parametrize(("name", "task"), [("rmse", "regression"), ("roc_auc", "binary"), ("f1", "binary")])
    def test_difference_is_that_of_the_board(self, name, task):
        table = make_table(300, task)
        models = {
            "regression": {"all": LinearRegression(), "same": LinearRegression()},
            "binary": {"all": LogisticRegression(), "near": KNeighborsClassifier(1)},
        }[task]
        standing, _ = stand(table, models, METRIC[name])
        (row,) = compare_models(standing[0], standing, table, METRIC[name])
        assert row["low"] <= row["difference"] <= row["high"]
        first, second = (one.figure.value for one in standing)
        if task == "regression":
            assert row["difference"] == 0.0
            assert row["low"] == row["high"] == 0.0
        elif name == "roc_auc":
            assert row["difference"] == pytest.approx(first - second)
            assert row["low"] > 0.0
        else:
            assert row["by"] == "folds"

    def test_groups_widen_the_interval(self):
        influence = np.repeat(np.random.default_rng(4).normal(size=50), 4)
        assert variance_of_mean(influence, np.repeat(np.arange(50), 4)) == pytest.approx(
            4.0 * variance_of_mean(influence)
        )


class TestImportance:
    @pytest.mark.parametrize("name", ["rmse", "median_absolute_error"])
    def test_strong_columns_come_first_and_noise_is_none(self, name):
        table = make_table(400)
        data = Data.of(table.frame, table.y)
        half = np.arange(200)
        model = pipeline(LinearRegression()).fit(table.frame[half], table.y[half])
        scoring = Scoring(METRIC[name].scorer, None)
        held_out = [HeldOut(model, np.arange(200, 400), 200)]
        metric = METRIC[name]
        columns = ["noise", "colour", "strong"]
        result = permutation_importance(held_out, data, metric, scoring, columns, seconds=60.0)
        rows = {row["name"]: row for row in result["rows"]}
        assert [row["name"] for row in result["rows"]][:2] == ["strong", "colour"]
        assert rows["strong"]["low"] > 0.5
        assert rows["noise"]["low"] < 0.0 < rows["noise"]["high"]
        assert (result["samples"], result["repeats"], result["columns"], result["trained"]) == (200, 5, 3, 200)
        if name == "rmse":  # shuffling adds the variance of twice the column's part
            expected = np.sqrt(2 * 4.0 + 0.25) - 0.5
            assert rows["strong"]["low"] < expected < rows["strong"]["high"]

    def test_short_time_takes_fewer_samples(self):
        table = make_table(400, "binary")
        data = Data.of(table.frame, table.y)
        model = pipeline(LogisticRegression()).fit(table.frame[:200], table.y[:200])
        held_out = [HeldOut(model, np.arange(200, 400), 200)]
        scoring = Scoring("roc_auc", np.array(["a", "b"]))
        columns = ["strong", "noise"]
        result = permutation_importance(held_out, data, METRIC["roc_auc"], scoring, columns, seconds=1e-9)
        assert result["samples"] == 100
        assert result["repeats"] == 1
        assert result["rows"] == []


class TestPowerLaw:
    def test_power_law_is_recovered(self):
        n = np.array([125.0, 250.0, 500.0, 1000.0])
        curve = fit_power_law(n, 0.1 + 2.0 * n**-0.5)
        assert (curve.a, curve.b, curve.c) == (pytest.approx(0.1), pytest.approx(2.0), pytest.approx(0.5))

    def test_gain_of_twice_the_samples(self):
        n = np.array([125.0, 250.0, 500.0, 1000.0])
        error = 0.1 + 2.0 * n**-0.5
        drops = np.tile(error[:-1] - error[-1], (5, 1))
        result = _extrapolate(n, drops, error[-1])
        expected = 2.0 * (1000.0**-0.5 - 2000.0**-0.5)
        assert result["gain"] == result["low"] == result["high"] == pytest.approx(expected)
        assert result["gains"][-1] == pytest.approx(expected)
        assert _extrapolate(n, drops[:2], error[-1])["low"] is None

    def test_flat_curve_has_no_gain(self):
        n = np.array([125.0, 250.0, 500.0, 1000.0])
        result = _extrapolate(n, np.zeros((3, 3)), 0.2)
        assert result["gain"] == pytest.approx(0.0, abs=1e-12)


class TestColumnProfiles:
    def profiles(self, table):
        result = profile_columns(table, deadline=time.perf_counter() + 60.0)
        return {one["name"]: one for one in result}, [one["name"] for one in result]

    def test_strength_orders_columns(self):
        profiles, order = self.profiles(make_table(500))
        assert order == ["strong", "colour", "noise"]
        assert profiles["strong"]["strength"] > 0.7
        assert profiles["noise"]["strength"] < 0.05
        assert sum(profiles["colour"]["counts"]) == 500
        assert profiles["colour"]["levels"] == ["red", "green", "blue"]

    def test_line_counts_where_bins_lose(self):
        x = np.append(np.random.default_rng(5).normal(size=200), [50.0, 80.0])
        profiles, _ = self.profiles(prepare({"x": x}, 3.0 * x, "regression"))
        assert profiles["x"]["strength"] == pytest.approx(1.0)

    def test_missing_values_and_classes(self):
        table = make_table(300, "multiclass")
        some = table.frame.with_columns(
            pl.when(pl.col("noise") > 1).then(None).otherwise(pl.col("noise")).alias("noise")
        )
        profiles, _ = self.profiles(prepare(some.to_dict(as_series=False), table.y, "multiclass"))
        missing = int((table.frame["noise"] > 1).sum())
        assert profiles["noise"]["missing"] == pytest.approx(missing / 300)
        assert np.sum(profiles["noise"]["stack"]) == sum(profiles["noise"]["counts"]) == 300 - missing
        assert profiles["noise"]["classes"] == ["a", "b", "c"]

    def test_shares_of_two_classes_have_intervals(self):
        profiles, _ = self.profiles(make_table(300, "binary"))
        one = profiles["strong"]
        for low, mean, high in zip(one["low"], one["mean"], one["high"], strict=True):
            assert low <= mean <= high
        assert one["of"] == "b"

    def test_bins_hold_everything(self):
        values = np.append(np.random.default_rng(6).normal(size=1000), [1e6, -1e6])
        bins, edges = bin_numbers(values)
        assert np.bincount(bins).sum() == 1002
        assert edges[-1] < 10.0
        bins, edges = bin_numbers(np.array([0.0, 1.0, 1.0, 3.0]))
        assert bins.tolist() == [0, 1, 1, 2]

    def test_rare_classes_are_taken_together(self):
        target = Target.of(np.arange(40) % 20, "multiclass")
        assert len(target.names) == 10
        assert target.names[-1] == "others"

    def test_table_without_a_target(self):
        table = make_table()
        bare = prepare(table.frame.to_dict(as_series=False), np.zeros(300), "structure")
        result = profile_columns(LoadedTable(**{**vars(bare), "y": None}), deadline=time.perf_counter() + 60.0)
        assert all(one["strength"] is None and sum(one["counts"]) == 300 for one in result)


class TestWrongSamples:
    def test_surest_mistakes_come_first(self):
        table = make_table(300, "binary")
        (one,), _ = stand(table, {"logistic": LogisticRegression()}, METRIC["roc_auc"])
        returned = list_wrong_samples(one.result, table, ["strong", "nothing"])
        sizes = [row["size"] for row in returned["rows"]]
        assert sizes == sorted(sizes, reverse=True)
        assert returned["columns"] == ["strong"]
        assert returned["wrong"] == np.sum(one.result.predictions != table.y)
        for row in returned["rows"]:
            assert row["true"] != row["predicted"]
            assert row["true"] == table.y[row["row"] - 1]
            assert row["values"] == [table.frame["strong"][row["row"] - 1]]

    def test_equal_samples_are_one(self):
        rng = np.random.default_rng(7)
        y = np.where(rng.random(200) < 0.2, "b", "a")
        table = prepare({"x": [0.0, 1.0] * 100}, y, "binary")
        (one,), _ = stand(table, {"logistic": LogisticRegression()}, METRIC["accuracy"])
        returned = list_wrong_samples(one.result, table, [])
        assert len(returned["rows"]) == 2
        assert sum(row["alike"] + 1 for row in returned["rows"]) == returned["wrong"]

    def test_largest_residuals(self):
        table = make_table()
        (one,), _ = stand(table, {"ols": LinearRegression()}, METRIC["rmse"])
        returned = list_wrong_samples(one.result, table, ["strong"])
        residual = table.y - one.result.predictions
        assert abs(returned["rows"][0]["size"]) == pytest.approx(np.abs(residual).max())


@pytest.mark.parametrize("task", ["regression", "binary", "multiclass"])
def test_explain_within_the_time_limit(task):
    table = make_table(200, task)
    metric = METRICS[task][0]
    model = LinearRegression() if task == "regression" else LogisticRegression()
    standing, (candidate,) = stand(table, {"model": model}, metric)
    result = explain(standing[0], standing, table, metric, candidate, seconds=60.0)
    assert result["notes"] == []
    assert result["importance"]["rows"][0]["name"] == "strong"
    assert result["curve"]["folds"] == 5
    assert result["curve"]["scores"][-1] == pytest.approx(standing[0].figure.value)
    assert result["curve"]["sizes"] == sorted(result["curve"]["sizes"])
    assert result["wrong"]["rows"]
    hurried = explain(standing[0], standing, table, metric, candidate, seconds=1e-6)
    assert hurried["importance"] is None
    assert hurried["curve"] is None
    assert len(hurried["notes"]) == 2
    assert hurried["wrong"]["rows"]


def test_failed_sections_leave_a_note(monkeypatch):
    table = make_table(100)
    metric = METRIC["rmse"]
    standing, (candidate,) = stand(table, {"ols": LinearRegression()}, metric)

    def fail(*args, **kwargs):
        raise ValueError("a reason of its own")

    monkeypatch.setattr("tenfold.cli.explain.explanation.permutation_importance", fail)
    result = explain(standing[0], standing, table, metric, candidate, seconds=60.0)
    assert result["notes"] == ["Permutation importance: a reason of its own"]
    assert result["curve"] is not None


def test_groups_are_described():
    from tenfold import PCA, KMeans

    rng = np.random.default_rng(8)
    Z = np.vstack([rng.normal(size=(60, 3)), rng.normal(size=(40, 3)) + np.array([9.0, 5.0, 0.0])])
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    models = [PCA().fit(Z), KMeans(n_clusters=2, random_state=0).fit(Z)]
    result = describe_groups(models, Z, ["a", "b", "c"], np.arange(1, 101))
    assert sorted(result["clusters"]["sizes"]) == [40, 60]
    assert result["clusters"]["features"][0] == "a"
    assert len(result["map"]["x"]) == 100
    assert result["loadings"][0]["share"] == pytest.approx(models[0].explained_variance_ratio_[0])
