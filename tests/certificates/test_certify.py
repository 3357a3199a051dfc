"""certify judges models of scikit-learn as it judges ours; what it cannot judge it names."""

import copy
import pickle

import numpy as np
import pytest
import sklearn.linear_model as sklearn_module
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.validation import has_fit_parameter
from slow_formulas import cosines, logistic_objective, logistic_optimum, problem_of

import tenfold
from design import only_if
from estimators import SHAPES, SOLVED, Data, classes, columns_of, parameters, regression, row_of, zero_weights
from tenfold import certify

LEAST = [
    row
    for row in SOLVED
    if row.kind == "residual"
    and row.settings.get("solver") is None
    and row.peer
    and has_fit_parameter(row.peer, "sample_weight")
]


def fit_sklearn(row, **extra):
    return row.peer(**{**row.settings, **extra})


# -- scikit-learn's own models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["tall", "wide", "zero weights", "sparse", "collinear"])
@pytest.mark.parametrize("row", [row for row in LEAST if not row.positive], ids=lambda row: row.id)
# an exact fit has no residual to judge; scikit-learn's Ridge without a penalty warns of a singular system
@only_if(lambda row, shape: row.unique or not (shape == "wide" or (row.name == "Ridge" and shape == "collinear")))
def test_least_squares(row, shape):
    data = SHAPES[shape](row)
    model = fit_sklearn(row).fit(data.X, data.y, sample_weight=data.weight)
    certificate = certify(model, data.X, data.y, sample_weight=data.weight)
    assert certificate.kind == "residual"
    expected = cosines(problem_of(row, model, data), parameters(model)).max()
    assert abs(certificate.value - max(expected, certificate.floor)) <= 2 * certificate.floor + 1e-6 * expected
    if not sparse.issparse(data.X):
        assert certificate.ok, certificate.explain()


@pytest.mark.parametrize("row", [row for row in LEAST if row.positive], ids=lambda row: row.id)
def test_least_squares_with_signs(row):
    """The number is that of the model as it is: scikit-learn's solver for signs stops where its tolerance lets it."""
    data = SHAPES["tall"](row)
    model = fit_sklearn(row).fit(data.X, data.y)
    certificate = certify(model, data.X, data.y)
    expected = cosines(problem_of(row, model, data), parameters(model)).max()
    assert abs(certificate.value - max(expected, certificate.floor)) <= 2 * certificate.floor + 1e-6 * expected


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "saga"])
def test_logistic(C, fit_intercept, solver):
    """The gap of a scikit-learn model is at least its true suboptimality, and close to it where the judge searched."""
    X, y, _ = classes(80, 4)
    model = sklearn_module.LogisticRegression(
        C=C, fit_intercept=fit_intercept, solver=solver, tol=1e-4, max_iter=10_000
    ).fit(X, y)
    certificate = certify(model, X, y)
    sign = np.where(y == model.classes_[1], 1.0, -1.0)
    strength = 1 / (C * 80)
    best = logistic_optimum(X, sign, np.ones(80), strength, fit_intercept)
    w, b = model.coef_[0].astype(np.longdouble), model.intercept_[0]
    excess = float(logistic_objective(X, sign, np.ones(80), strength, w, b) - best.value)
    assert certificate.kind == "gap"
    assert certificate.value + certificate.floor >= excess
    if excess > certificate.allowed:
        assert not certificate.ok
    if excess <= 0.5 * certificate.allowed:
        assert certificate.ok


def test_a_tight_model_is_ok_and_a_loose_one_is_not():
    X, y, _ = classes(200, 4)
    assert certify(sklearn_module.LogisticRegression(tol=1e-10, max_iter=10_000).fit(X, y), X, y).ok
    loose = certify(sklearn_module.LogisticRegression(tol=0.5).fit(X, y), X, y)
    assert not loose.ok
    assert "do not rely" in loose.explain()


def test_stopped_early():
    X, y, _ = classes(200, 4)
    with pytest.warns(ConvergenceWarning):
        model = sklearn_module.LogisticRegression(max_iter=2).fit(X, y)
    assert not certify(model, X, y).ok


def test_liblinear_is_judged_by_what_it_minimises():
    """It penalises the intercept; its optimum is not that of the others, and is no worse for it."""
    X, y, _ = classes(200, 4)
    X = X + 2.0
    model = sklearn_module.LogisticRegression(solver="liblinear", tol=1e-10, max_iter=100_000).fit(X, y)
    assert certify(model, X, y).ok
    other = copy.deepcopy(model)
    other.solver = "lbfgs"
    assert not certify(other, X, y).ok


@pytest.mark.parametrize("class_weight", ["balanced", {"ant": 3.0, "bee": 0.5}])
@pytest.mark.parametrize("weighted", [False, True])
def test_class_weights(class_weight, weighted):
    X, y, _ = classes(120, 4)
    y[:40] = "ant"
    weight = zero_weights(120) if weighted else None
    for model in (
        sklearn_module.LogisticRegression(class_weight=class_weight, tol=1e-10, max_iter=10_000),
        sklearn_module.RidgeClassifier(class_weight=class_weight),
        sklearn_module.RidgeClassifierCV(class_weight=class_weight),
    ):
        model.fit(X, y, sample_weight=weight)
        assert certify(model, X, y, sample_weight=weight).ok
        model.class_weight = None
        assert not certify(model, X, y, sample_weight=weight).ok


def test_several_targets_and_alphas():
    row = row_of("Ridge")
    X, _, _ = SHAPES["tall"](row)
    Y = columns_of(row, 3)
    model = sklearn_module.Ridge([0.1, 1.0, 10.0]).fit(X, Y)
    certificate = certify(model, X, Y)
    assert certificate.ok
    assert len(certificate.parts) == 3
    model.alpha = [0.1, 1.0, 11.0]
    worse = certify(model, X, Y)
    assert not worse.ok
    assert worse.parts[2] > 1e-4 > 1e-6 > worse.parts[0]


def test_cross_validated_models_are_judged_at_their_choice():
    X, y, _ = regression()
    model = sklearn_module.RidgeCV([0.1, 1.0, 10.0]).fit(X, y)
    assert certify(model, X, y).ok
    model.alpha_ *= 2.0
    assert not certify(model, X, y).ok


@pytest.mark.parametrize("cls", [sklearn_module.RidgeClassifier, sklearn_module.RidgeClassifierCV])
def test_several_classes(cls):
    X, y, _ = classes(90, 4, count=3)
    model = cls().fit(X, y)
    assert certify(model, X, y).ok
    model.coef_ = model.coef_ * 1.001
    assert not certify(model, X, y).ok


# -- pipelines -------------------------------------------------------------------------------------------------------

ENDS = [
    tenfold.LinearRegression(),
    tenfold.Ridge(),
    sklearn_module.LinearRegression(),
    sklearn_module.Ridge(),
    sklearn_module.RidgeCV(),
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: f"{type(end).__module__.split('.')[0]}-{type(end).__name__}")
@pytest.mark.parametrize("steps", [[StandardScaler()], [PolynomialFeatures(2), StandardScaler(), PCA(3)], []])
def test_pipelines(end, steps):
    X, y, _ = regression()
    pipeline = make_pipeline(*copy.deepcopy(steps), copy.deepcopy(end)).fit(X, y)
    assert certify(pipeline, X, y).ok
    pipeline[-1].coef_ = pipeline[-1].coef_ * 1.01
    assert not certify(pipeline, X, y).ok


def test_a_pipeline_of_a_classifier():
    X, y, _ = classes()
    for end in (tenfold.LogisticRegression(), sklearn_module.LogisticRegression(tol=1e-10)):
        assert certify(make_pipeline(StandardScaler(), end).fit(X, y), X, y).ok


# -- what cannot be judged -------------------------------------------------------------------------------------------


class Ridge:
    """A stranger with a known name."""

    alpha = 1.0
    coef_ = np.zeros(4)
    intercept_ = 0.0


@pytest.mark.parametrize(
    "model",
    [
        sklearn_module.RANSACRegressor(),
        sklearn_module.TheilSenRegressor(),
        make_pipeline(StandardScaler(), sklearn_module.TheilSenRegressor()),
        Ridge(),
        3,
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_unknown_model_gets_a_list_of_what_can_be_judged(model):
    X, y, _ = regression()
    if hasattr(model, "fit"):
        model.fit(X, y)
    with pytest.raises(TypeError, match="certify") as caught:
        certify(model, X, y)
    for name in ("LinearRegression", "Ridge", "RidgeCV", "RidgeClassifier", "LogisticRegression", "Pipeline"):
        assert name in str(caught.value)


def test_logistic_models_of_several_classes():
    X, _, _ = classes()
    y = np.array(["ant", "bee", "cat"] * 20)
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 60)
    for solver in ("lbfgs", "newton-cholesky"):
        model = sklearn_module.LogisticRegression(tol=1e-10, max_iter=10_000, solver=solver, class_weight="balanced")
        assert certify(model.fit(X, y, sample_weight=weight), X, y, sample_weight=weight).ok
        model.coef_ = 1.1 * model.coef_
        assert not certify(model, X, y, sample_weight=weight).ok


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_not_fitted(row):
    data = SHAPES["tall"](row)
    for model in (row.make(), fit_sklearn(row)) if row.peer else (row.make(),):
        with pytest.raises(NotFittedError):
            certify(model, data.X, data.y)


# -- bad input, and no side effects ----------------------------------------------------------------------------------


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_bad_data(row):
    data = SHAPES["tall"](row)
    model = row.make().fit(data.X, data.y)
    bad = data.X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        certify(model, bad, data.y)
    with pytest.raises(ValueError, match="features"):
        certify(model, data.X[:, :3], data.y)
    with pytest.raises(ValueError, match="inconsistent"):
        certify(model, data.X, data.y[:-1])
    with pytest.raises(ValueError, match=r"(?i)negative"):
        certify(model, data.X, data.y, sample_weight=-np.ones(60))
    if row.classifier:
        with pytest.raises(ValueError, match="cow"):
            certify(model, data.X, np.where(np.arange(60) == 5, "cow", data.y))


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_judging_changes_nothing(row):
    data = SHAPES["tall"](row)
    model = row.make().fit(data.X, data.y)
    before = pickle.dumps(model)
    certify(model, data.X, data.y)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
@pytest.mark.parametrize("kind", [np.asfortranarray, sparse.csr_array, sparse.csc_matrix, np.ndarray.tolist])
def test_data_in_any_storage(row, kind):
    data = SHAPES["tall"](row)
    model = row.make().fit(data.X, data.y)
    a, b = certify(model, data.X, data.y), certify(model, kind(data.X), data.y)
    assert a.ok == b.ok
    assert abs(a.value - b.value) <= a.floor + b.floor
    np.testing.assert_allclose(a.objective, b.objective, rtol=1e-12)


@pytest.mark.parametrize("row", [row for row in SOLVED if row.kind == "residual"], ids=lambda row: row.id)
def test_weights_that_are_not_finite_are_never_ok(row):
    data = SHAPES["tall"](row)
    for value in (np.nan, np.inf, 1e300):
        model = row.make().fit(data.X, data.y)
        model.coef_ = np.full_like(model.coef_, value)
        with np.errstate(all="ignore"):
            assert not certify(model, data.X, data.y).ok


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_logistic_weights_that_are_not_finite_are_never_ok(value):
    X, y, _ = classes()
    for C in (1.0, np.inf):
        model = tenfold.LogisticRegression(C=C).fit(X, y)
        model.coef_ = np.full_like(model.coef_, value)
        with np.errstate(all="ignore"):
            assert not certify(model, X, y).ok


def test_a_model_that_predicts_perfectly_is_exact():
    """An exact relation leaves no residual with a direction: certified, and a tiny change is seen."""
    X, _, _ = regression()
    y = X @ np.arange(1.0, 5.0) + 2.0
    model = tenfold.LinearRegression().fit(X, y)
    assert certify(model, X, y).ok
    model.coef_ = model.coef_ * (1 + 1e-9)
    assert not certify(model, X, y).ok


def test_data_frames():
    pd = pytest.importorskip("pandas")
    X, y, _ = regression()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = tenfold.Ridge().fit(frame, y)
    assert certify(model, frame, pd.Series(y)).ok


def test_float32_models_are_judged_with_their_rounding():
    X, y, _ = regression()
    model = sklearn_module.Ridge().fit(X.astype(np.float32), y.astype(np.float32))
    certificate = certify(model, X.astype(np.float32), y.astype(np.float32))
    assert certificate.ok
    assert 1e-9 < certificate.floor < 1e-4
    assert Data(X, y).weight is None


@pytest.mark.parametrize(
    "name",
    ["Ridge", "Lasso", "HuberRegressor", "QuantileRegressor", "PoissonRegressor", "LogisticRegression", "LinearSVR"],
)
def test_an_intercept_that_is_not_fitted_is_not_certified(name):
    X = np.random.default_rng(0).standard_normal((40, 3))
    y = (X[:, 0] > 0.3).astype(float)
    model = getattr(tenfold, name)(fit_intercept=False).fit(X, y)
    assert certify(model, X, y).ok
    model.intercept_ = model.intercept_ + 1e-12
    with pytest.raises(TypeError, match="intercept was given"):
        certify(model, X, y)


def _fit_logistic_cv(home, legacy, ratios, solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    y = np.digitize(X[:, 0] + rng.standard_normal(90), [-0.5, 0.5])
    settings = {"Cs": [0.01, 1.0, 10.0], "cv": 3, "scoring": "neg_log_loss", "solver": solver, "l1_ratios": ratios}
    model = home.LogisticRegressionCV(use_legacy_attributes=legacy, tol=1e-8, max_iter=10_000, **settings)
    return model.fit(X, y), X, y


@pytest.mark.parametrize("home", [tenfold, sklearn_module], ids=["ours", "scikit-learn"])
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize(("ratios", "solver"), [((0,), "lbfgs"), ((0.0, 0.5), "saga")])
def test_a_chosen_penalty_is_the_best_of_the_stored_scores(home, legacy, ratios, solver):
    model, X, y = _fit_logistic_cv(home, legacy, ratios, solver)
    assert certify(model, X, y).ok
    for name in ("Cs_", "C_", "l1_ratios_", "scores_"):
        worse = copy.deepcopy(model)
        value = getattr(model, name)
        # of the scores, those of the other candidates become better
        setattr(
            worse,
            name,
            {k: -v for k, v in value.items()}
            if isinstance(value, dict)
            else -value
            if name == "scores_"
            else value + 0.1,
        )
        assert not certify(worse, X, y).ok, name


def test_shares_of_classes_are_judged():
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = X[:, 0] > 0.5
    model = tenfold.LogisticRegression(class_weight={False: 1.0, True: 2.0}).fit(X, y)
    assert certify(model, X, y).ok
    model.class_prior_ = model.class_prior_[::-1]
    assert "class_prior_" in certify(model, X, y).note


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", [True, False])
def test_classes_without_a_penalty_beside_an_empty_feature(kind, intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    X[:, 1] = 0.0
    y = rng.integers(0, 3, 80)
    model = tenfold.LogisticRegression(C=np.inf, fit_intercept=intercept).fit(kind(X), y)
    assert model.certificate_.ok
    assert certify(model, kind(X), y).ok
