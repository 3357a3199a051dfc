"""Displays: their numbers are those of the models, need no matplotlib, and are drawn as they are."""

import json
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold.plots import (
    CertificateDisplay,
    DecisionBoundaryDisplay,
    DescentDisplay,
    GradientCheckDisplay,
    LeaveOneOutDisplay,
    PathDisplay,
    ReliabilityDisplay,
    ResidualDisplay,
    SpectrumDisplay,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 4)) * [1.0, 2.0, 0.5, 1.0]
y = X @ [1.0, -0.5, 0.0, 2.0] + 0.5 * rng.standard_normal(80)
labels = np.array(["ant", "bee", "cat"])[np.digitize(y, [-1.0, 1.0])]
two = y > 0.0


@pytest.fixture(autouse=True)
def pictures():
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def check_drawn(display):
    """A display that was drawn, and whose picture can be made."""
    assert display.figure_ is display.ax_.figure
    display.figure_.canvas.draw()
    json.dumps(display.to_dict(), default=str)
    return display


def test_data_need_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np; from tenfold import Ridge; from tenfold.plots import *\n"
        "X = np.eye(5); model = Ridge().fit(X, X[:, 0])\n"
        "assert PathDisplay.of(model, X, X[:, 0]).coefs.shape == (60, 5)\n"
        "try: ResidualDisplay.from_estimator(model, X, X[:, 0])\n"
        "except ImportError as reason: assert 'tenfold[plots]' in str(reason)\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_displays_imports_no_matplotlib():
    code = "import tenfold.plots, sys; assert not any(name.startswith('matplotlib') for name in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "model",
    [
        tenfold.Ridge(alpha=2.0),
        tenfold.RidgeCV(alphas=[0.1, 1.0, 10.0]),
        tenfold.Lasso(alpha=0.1),
        tenfold.LassoCV(alphas=20, cv=3),
        tenfold.ElasticNetCV(l1_ratio=[0.5, 0.9], alphas=10, cv=3),
        tenfold.Lars(),
        tenfold.LassoLars(alpha=0.01),
        tenfold.LassoLarsCV(cv=3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_path_passes_through_the_model(model):
    fitted = model.fit(X, y)
    path = check_drawn(PathDisplay.from_estimator(fitted, X, y))
    assert path.coefs.shape == (len(path.x), 4)
    assert len(path.ax_.lines) == 4 + (path.chosen is not None)
    if path.chosen is not None and not isinstance(model, tenfold.Lars):
        order = np.argsort(path.x)
        for j in range(4):
            between = np.interp(path.chosen, path.x[order], path.coefs[order, j])
            assert between == pytest.approx(fitted.coef_[j], abs=0.02 * np.abs(path.coefs).max())


def test_paths_of_targets_classes_and_frames():
    several = tenfold.ridge_path(X, np.column_stack([y, -y]), alphas=[0.1, 1.0])
    assert np.allclose(PathDisplay.of(several, target=1).coefs, -PathDisplay.of(several).coefs)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    lars = tenfold.Lars().fit(frame, np.column_stack([y, -y]))
    assert PathDisplay.of(lars, target=1).names == ("a", "b", "c", "d")
    for legacy in (True, False):
        logistic = tenfold.LogisticRegressionCV(
            Cs=[0.1, 1.0, 10.0], cv=3, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=legacy
        ).fit(X, labels)
        path = check_drawn(PathDisplay.from_estimator(logistic, target=2))
        assert path.coefs.shape == (3, 4)
        assert path.x_name == "C"
        assert np.all(np.diff(np.linalg.norm(path.coefs, axis=1)) > 0.0)
    with pytest.raises(ValueError, match="keeps no path: give the X and y"):
        PathDisplay.of(tenfold.Ridge().fit(X, y))
    with pytest.raises(ValueError, match="no penalty"):
        PathDisplay.of(tenfold.LinearRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="on classes is not drawn"):
        PathDisplay.of(tenfold.RidgeClassifier().fit(X, labels), X, labels)


CHOOSING = [
    (tenfold.RidgeCV(alphas=np.logspace(-3, 3, 9)), y, "alpha_", "alpha"),
    (tenfold.RidgeCV(alphas=np.logspace(-3, 3, 9), cv=4, scoring="neg_mean_squared_error"), y, "alpha_", "alpha"),
    (tenfold.RidgeClassifierCV(alphas=[0.1, 1.0]), labels, "alpha_", "alpha"),
    (tenfold.LassoCV(alphas=20, cv=4), y, "alpha_", "alpha"),
    (tenfold.ElasticNetCV(l1_ratio=[0.5, 0.9], alphas=10, cv=3), y, "alpha_", "alpha"),
    (tenfold.LassoLarsCV(cv=4), y, "alpha_", "alpha"),
    (tenfold.OrthogonalMatchingPursuitCV(cv=4), y, "n_nonzero_coefs_", "number of columns"),
    (tenfold.KNeighborsCV(n_neighbors=12), y, "n_neighbors_", "number of neighbours"),
    (tenfold.KNeighborsClassifierCV(n_neighbors=12), labels, "n_neighbors_", "number of neighbours"),
    (tenfold.ParzenRegressor("loo"), y, "bandwidth_", "bandwidth"),
    (tenfold.KernelDensity(bandwidth="likelihood"), None, "bandwidth_", "bandwidth"),
    (tenfold.LassoLarsIC(), y, "alpha_", "alpha"),
    (tenfold.BestSubset(), y, "n_nonzero_coefs_", "number of columns"),
    (
        tenfold.LogisticRegressionCV(
            Cs=[0.01, 1.0, 100.0], cv=3, l1_ratios=(0.0,), scoring="neg_log_loss", use_legacy_attributes=False
        ),
        labels,
        "C_",
        "C",
    ),
]


@pytest.mark.parametrize(("model", "target", "chosen", "name"), CHOOSING, ids=lambda one: type(one).__name__)
def test_smallest_error_is_at_the_chosen_value(model, target, chosen, name):
    fitted = model.fit(X, target)
    tried = check_drawn(LeaveOneOutDisplay.from_estimator(fitted))
    assert tried.chosen == float(getattr(fitted, chosen))
    assert tried.x[np.argmin(tried.error)] == pytest.approx(tried.chosen)
    assert tried.x_name == name
    assert tried.x.shape == tried.error.shape
    assert (tried.spread is None) == (tried.one_standard_error is None)


def test_histograms_show_the_risk_of_every_number_of_bins():
    model = tenfold.Histogram().fit(X[:, :1])
    tried = check_drawn(LeaveOneOutDisplay.from_estimator(model))
    assert tried.x[np.argmin(tried.error)] == tried.chosen == len(model.counts_)


def test_one_standard_error_takes_the_simpler_model():
    model = tenfold.LassoCV(alphas=30, cv=5).fit(X, y)
    tried = LeaveOneOutDisplay.of(model)
    best = np.argmin(tried.error)
    assert tried.spread == pytest.approx(model.mse_path_.std(axis=1, ddof=1) / np.sqrt(5))
    assert tried.one_standard_error >= tried.chosen
    at = tried.error[tried.x == tried.one_standard_error][0]
    assert at <= tried.error[best] + tried.spread[best]
    columns = LeaveOneOutDisplay.of(tenfold.OrthogonalMatchingPursuitCV(cv=4).fit(X, y))
    assert columns.one_standard_error <= columns.chosen
    rows = LeaveOneOutDisplay.of(tenfold.RidgeCV(alphas=[0.1, 1.0, 10.0], store_cv_results=True).fit(X, y))
    assert rows.spread.shape == (3,)
    with pytest.raises(ValueError, match="Ridge tried no candidates"):
        LeaveOneOutDisplay.of(tenfold.Ridge().fit(X, y))


def test_spectra():
    pca = tenfold.PCA(3).fit(X)
    shown = check_drawn(SpectrumDisplay.from_estimator(make_pipeline(StandardScaler(), pca).fit(X)))
    assert np.array_equal(shown.values, pca.explained_variance_)
    assert shown.cumulative[-1] == pytest.approx(pca.explained_variance_ratio_.sum())
    assert len(shown.ax_.patches) == 3
    for model in (
        tenfold.TruncatedSVD(2).fit(X),
        tenfold.IncrementalPCA(2).fit(X),
        tenfold.CCA(2).fit(X, np.column_stack([y, X[:, 0]])),
        tenfold.MultiviewCCA(1).fit(X),
        tenfold.LinearDiscriminantAnalysis().fit(X, labels),
        tenfold.LinearRegression().fit(X, y),
    ):
        values = check_drawn(SpectrumDisplay.from_estimator(model)).values
        assert values.ndim == 1
        assert np.all(np.diff(values) <= 1e-12)
    with pytest.raises(ValueError, match="has no spectrum"):
        SpectrumDisplay.of(tenfold.Ridge().fit(X, y))


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (tenfold.LogisticRegression(), labels),
        (tenfold.LinearSVC(random_state=0), two),
        (tenfold.Perceptron(), X[:, 0] > 0),
        (tenfold.KMeans(3, random_state=0), None),
        (tenfold.GaussianMixture(2, random_state=0, tol=1e-6), None),
    ],
    ids=lambda one: type(one).__name__,
)
def test_traces_decrease_and_certificate_is_the_judges(model, target):
    fitted = model.fit(X, target)
    trace = check_drawn(CertificateDisplay.from_estimator(fitted))
    assert trace.objective[-1] <= trace.objective[0]
    assert (trace.value, trace.ok) == (fitted.certificate_.value, fitted.certificate_.ok)
    assert trace.excess[0] in (0.0, 1.0)
    assert trace.kind in trace.ax_.get_title()
    if trace.seconds is None:
        with pytest.raises(ValueError, match="by must be"):
            trace.plot(by="seconds")
    else:
        assert check_drawn(trace.plot(by="seconds")).ax_.get_xlabel() == "seconds"


def test_a_model_without_steps_has_no_trace():
    with pytest.raises(ValueError, match="one step"):
        CertificateDisplay.of(tenfold.Ridge().fit(X, y))


@pytest.mark.parametrize(
    ("model", "target", "count"),
    [
        (tenfold.LinearDiscriminantAnalysis(), labels, 3),
        (tenfold.LogisticRegression(), two, None),
        (tenfold.RidgeClassifier(), labels, 3),
        (tenfold.Ridge(), y, None),
        (tenfold.KMeans(3, random_state=0), None, 3),
    ],
    ids=lambda one: type(one).__name__,
)
def test_decision_boundary_equals_predictions(model, target, count):
    fitted = model.fit(X, target)
    plane = check_drawn(
        DecisionBoundaryDisplay.from_estimator(fitted, X, target, columns=(0, 3), grid_resolution=15, at=np.ones(4))
    )
    assert (None if plane.classes is None else len(plane.classes)) == count
    query = np.ones((1, 4))
    query[0, 0], query[0, 3] = plane.xx0[4, 7], plane.xx1[4, 7]
    if count:
        assert plane.classes[int(plane.response[4, 7])] == fitted.predict(query)[0]
    elif target is two:
        assert plane.response[4, 7] == pytest.approx(fitted.decision_function(query)[0])
    else:
        assert plane.response[4, 7] == pytest.approx(fitted.predict(query)[0])


def test_planes_of_frames_and_probabilities():
    frame = pd.DataFrame(X[:, :2], columns=["long", "wide"])
    model = tenfold.GaussianNB().fit(frame, two)
    plane = check_drawn(DecisionBoundaryDisplay.from_estimator(model, frame, two, response_method="predict_proba"))
    assert (plane.xlabel, plane.ylabel) == ("long", "wide")
    assert 0.0 <= plane.response.min() <= plane.response.max() <= 1.0
    with pytest.raises(ValueError, match="two of 2 columns"):
        DecisionBoundaryDisplay.of(model, frame, columns=(0, 2))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_reliability_agrees_with_sklearn(strategy):
    model = tenfold.LogisticRegression().fit(X, two)
    said = model.predict_proba(X)[:, 1]
    shown = check_drawn(ReliabilityDisplay.from_estimator(model, X, two, n_bins=5, strategy=strategy))
    true, predicted = calibration_curve(two, said, n_bins=5, strategy=strategy)
    assert shown.prob_true == pytest.approx(true)
    assert shown.prob_pred == pytest.approx(predicted)
    assert shown.count.sum() == len(X)
    assert np.all((shown.low <= shown.prob_true) & (shown.prob_true <= shown.high))
    again = check_drawn(ReliabilityDisplay.from_predictions(two, said, n_bins=5, strategy=strategy))
    assert np.array_equal(again.prob_true, shown.prob_true)


def test_reliability_of_one_class_of_several_and_bad_input():
    model = tenfold.GaussianNB().fit(X, labels)
    shown = ReliabilityDisplay.from_estimator(model, X, labels, pos_label="bee")
    assert shown.count @ shown.prob_true == pytest.approx(np.sum(labels == "bee"))
    with pytest.raises(ValueError, match="pos_label must name"):
        ReliabilityDisplay.from_estimator(model, X, labels)
    with pytest.raises(ValueError, match="no predict_proba"):
        ReliabilityDisplay.from_estimator(tenfold.RidgeClassifier().fit(X, two), X, two)
    with pytest.raises(ValueError, match="between 0 and 1"):
        ReliabilityDisplay.of(two, y)
    with pytest.raises(ValueError, match="has 3"):
        ReliabilityDisplay.of(labels, np.full(80, 0.5))
    with pytest.raises(ValueError, match="strategy"):
        ReliabilityDisplay.of(two, np.full(80, 0.5), strategy="other")


def test_residuals():
    model = tenfold.Ridge().fit(X, y)
    shown = check_drawn(ResidualDisplay.from_estimator(model, X, y, subsample=30))
    assert np.array_equal(shown.residuals, y - model.predict(X))
    assert len(shown.ax_.collections[0].get_offsets()) == 30
    assert shown.ax_.get_title() == "Ridge"
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    both = check_drawn(ResidualDisplay.from_predictions(y, model.predict(X), ax=ax, kind="actual_vs_predicted"))
    assert both.ax_ is ax
    with pytest.raises(ValueError, match="kind must be"):
        shown.plot(kind="other")
    with pytest.raises(ValueError, match="one column each"):
        ResidualDisplay.of(np.zeros((3, 2)), np.zeros((3, 2)))


def test_support_vectors_by_type():
    from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

    from tenfold.plots import SupportVectorDisplay

    plane = X[:, [0, 3]]
    machine = SVC(C=0.5, gamma=0.3, tol=1e-8, class_weight={False: 1.0, True: 2.0}).fit(plane, two)
    shown = check_drawn(SupportVectorDisplay.from_estimator(machine, plane, two, grid_resolution=20))
    f = np.where(two, 1.0, -1.0) * machine.decision_function(plane)
    assert np.all(np.abs(f[shown.types == "free"] - 1.0) < 1e-4)
    assert np.all((f[shown.types == "bound"] < 1.0 + 1e-4) & (f[shown.types == "bound"] > 0.0))
    assert np.all(f[shown.types == "outlier"] <= 0.0)
    assert np.all(f[shown.types == ""] > 1.0 - 1e-4)
    assert np.flatnonzero(shown.types != "").tolist() == sorted(machine.support_)
    assert shown.margins == (-1.0, 1.0)
    texts = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert any(text.startswith("free: on the margin") for text in texts)

    nu = NuSVC(nu=0.4, gamma=0.3, tol=1e-8).fit(plane, two)
    types = SupportVectorDisplay.of(nu, plane, two, grid_resolution=5).types
    f = np.where(two, 1.0, -1.0) * nu.decision_function(plane)
    assert np.all(np.abs(f[types == "free"] - 1.0) < 1e-4)

    for chosen in (
        tenfold.SVCCV([0.5, 5.0], gammas=0.3, cv=3).fit(plane, two),
        tenfold.SVCPath([0.5, 5.0], gamma=0.3).fit(plane, two),
        tenfold.SVC(loss="squared_hinge", gamma=0.3).fit(plane, two),
    ):
        types = SupportVectorDisplay.of(chosen, plane, two, grid_resolution=5).types
        counts = [np.sum(types == kind) for kind in ("free", "bound", "outlier")]
        np.testing.assert_array_equal(counts, chosen.support_counts_)

    three = SVC(gamma=0.3).fit(plane, labels)
    shown = check_drawn(SupportVectorDisplay.from_estimator(three, plane, labels, grid_resolution=10))
    assert shown.margins == ()
    assert set(np.flatnonzero(shown.types != "")) == set(three.support_)

    one = OneClassSVM(nu=0.2, gamma=0.3).fit(plane)
    shown = check_drawn(SupportVectorDisplay.from_estimator(one, plane, grid_resolution=10))
    assert shown.between == 0.0
    assert np.mean(shown.types == "outlier") <= 0.2

    linear = tenfold.LinearSVC(loss="hinge", C=0.5).fit(plane, two)
    shown = check_drawn(SupportVectorDisplay.from_estimator(linear, plane, two, grid_resolution=10))
    assert shown.margins == (-1.0, 1.0)
    f = np.where(two, 1.0, -1.0) * linear.decision_function(plane)
    np.testing.assert_array_equal(shown.types != "", f < 1.0 + 1e-4)
    with pytest.raises(ValueError, match="classes y"):
        SupportVectorDisplay.of(linear, plane, grid_resolution=5)

    with pytest.raises(TypeError, match="OneClassSVM"):
        SupportVectorDisplay.of(SVR().fit(plane, y), plane, y)
    with pytest.raises(ValueError, match="classes y"):
        SupportVectorDisplay.of(machine, plane, grid_resolution=5)
    with pytest.raises(ValueError, match="samples of the fit"):
        SupportVectorDisplay.of(machine, plane[:5], two[:5], grid_resolution=5)


def test_contour_is_where_the_response_has_the_value():
    from tenfold.plots import SupportVectorDisplay

    xx0, xx1 = np.meshgrid(np.linspace(-2.0, 2.0, 41), np.linspace(-2.0, 2.0, 37))
    ring = SupportVectorDisplay(xx0, xx1, xx0**2 + xx1**2)
    ends = np.array(ring.contour(1.0))
    np.testing.assert_allclose(np.hypot(*ends.T), 1.0, atol=0.01)
    pieces = np.linalg.norm(ends[1::2] - ends[::2], axis=1)
    assert pieces.sum() == pytest.approx(2.0 * np.pi, rel=0.01)
    assert ring.contour(100.0) == []


def test_report_shows_the_plane_of_a_machine_of_two_features():
    from sklearn.svm import SVC

    from tenfold.cli.plot_data import plane_of
    from tenfold.report.charts import pictures as charts

    names = np.where(two, "yes", "no")
    frame = pd.DataFrame(X[:, [0, 3]], columns=["height", "width"])
    model = make_pipeline(StandardScaler(), SVC(gamma=0.5)).fit(frame, names)
    plane = json.loads(json.dumps(plane_of(model, frame, names)))
    assert (plane["x_name"], plane["y_name"]) == ("height", "width")
    assert sum(len(x) for _, x, _ in plane["classes"]) == 80
    assert sum(len(x) for _, x, _ in plane["support"]) == model[-1].n_support_.sum()
    boundary = np.column_stack(plane["lines"][0])
    assert np.abs(model[-1].decision_function(boundary)).max() < 0.05
    (chart,) = charts({"pictures": {"plane": plane}})
    assert chart["title"] == "Boundary and support vectors"
    assert chart["svg"].count('class="ring') == model[-1].n_support_.sum()
    assert "free (" in chart["svg"]
    assert plane_of(make_pipeline(StandardScaler(), SVC()).fit(X, names), X, names) is None
    assert plane_of(make_pipeline(StandardScaler(), tenfold.LogisticRegression()).fit(X, names), X, names) is None


def valley(x):
    return 0.5 * (x[0] ** 2 + 25.0 * x[1] ** 2)


def test_path_of_an_optimiser_on_contours():
    result = tenfold.minimize(valley, [25.0, 1.0], method="gradient-descent", max_iter=10)
    display = check_drawn(DescentDisplay.from_result(valley, result))
    assert np.array_equal(display.path, result.path)
    assert display.values[3, 5] == valley(np.array([display.first[5], display.second[3]]))
    assert display.first[0] < result.path[:, 0].min()
    assert display.second[-1] > result.path[:, 1].max()
    with pytest.raises(ValueError, match="two coordinates"):
        DescentDisplay.of(valley, tenfold.minimize(valley, [25.0, 1.0], keep_path=False))
    still = tenfold.minimize(valley, [0.0, 0.0], grad=lambda x: np.array([1.0, 25.0]) * x)
    check_drawn(DescentDisplay.from_result(valley, still))


def test_errors_of_differences():
    check = tenfold.check_gradient(valley, lambda x: np.array([1.0, 25.0]) * x, np.array([0.4, -0.3]))
    display = check_drawn(GradientCheckDisplay.from_check(check))
    assert display.ok
    assert len(display.lengths) == len(display.forward) == len(display.symmetric)
