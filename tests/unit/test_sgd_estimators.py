"""The classes of the delta rule: bad input, warnings, starts, files, callbacks."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import tenfold
from design import only_if
from estimators import LEARNERS, SHAPES, classes, parameters, regression, zero_weights
from tenfold import (
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    SGDClassifier,
    SGDOneClassSVM,
    SGDRegressor,
)

every_learner = pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.id)
CLASSIFIERS = [row for row in LEARNERS if row.classifier]
every_classifier = pytest.mark.parametrize("row", CLASSIFIERS, ids=lambda row: row.id)


def tall(row):
    return SHAPES["tall"](row)


def first_call(row, y):
    return {"classes": np.unique(y)} if row.classifier else {}


# -- what is refused -------------------------------------------------------------------------------------------------


@every_learner
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array, lambda X: X.tolist()])
def test_values_that_are_not_finite(row, bad, kind):
    X, y, _ = tall(row)
    X[40, 2] = bad
    model = row.make()
    with pytest.raises(ValueError, match=r"(?s)Input X contains (NaN|infinity)"):
        model.fit(kind(X), y)
    assert not hasattr(model, "coef_")
    with pytest.raises(ValueError, match=r"(?s)Input X contains (NaN|infinity)"):
        model.partial_fit(kind(X), y, **first_call(row, y))
    assert not hasattr(model, "n_features_in_")


@every_learner
def test_overflow_raises_with_advice(row):
    X, y, _ = tall(row)
    with pytest.raises(ValueError, match=r"overflow occurred at epoch #1\. Scaling input data with StandardScaler"):
        row.make().fit(1e200 * X, y)


@every_learner
def test_empty_and_wrong_shapes(row):
    X, y, _ = tall(row)
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        row.make().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match="0 feature"):
        row.make().fit(X[:, :0], y)
    with pytest.raises(ValueError, match="Expected 2D array"):
        row.make().fit(X[:, 0], y)
    if not row.outliers:
        with pytest.raises(ValueError, match="inconsistent"):
            row.make().fit(X, y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        row.make().fit(X, y, sample_weight=np.ones(5))
    with pytest.raises(ValueError, match="Negative values"):
        row.make().fit(X, y, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="at least one non-zero"):
        row.make().fit(X, y, sample_weight=np.zeros(60))
    with pytest.raises(NotFittedError):
        row.make().predict(X)
    model = row.make().fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        model.partial_fit(X[:, :3], y, **first_call(row, y))
    assert model.n_features_in_ == 4


@pytest.mark.parametrize(
    ("cls", "settings", "message"),
    [
        (SGDClassifier, {"loss": "nonsense"}, "'loss' parameter of SGDClassifier must be a str among"),
        (SGDClassifier, {"penalty": "l3"}, "'penalty' parameter"),
        (SGDClassifier, {"alpha": -1.0}, "'alpha' parameter"),
        (SGDClassifier, {"alpha": 0.0}, "alpha must be > 0 since learning_rate is 'optimal'"),
        (SGDClassifier, {"l1_ratio": 1.1}, "'l1_ratio' parameter"),
        (SGDClassifier, {"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set when penalty"),
        (SGDClassifier, {"max_iter": 0}, "'max_iter' parameter"),
        (SGDClassifier, {"tol": -1e-3}, "'tol' parameter"),
        (SGDClassifier, {"learning_rate": "nonsense"}, "'learning_rate' parameter"),
        (SGDClassifier, {"learning_rate": "pa1", "loss": "log_loss"}, "only works with loss 'hinge'"),
        (SGDClassifier, {"eta0": 0.0}, "'eta0' parameter"),
        (SGDClassifier, {"average": -1}, "'average' parameter"),
        (SGDClassifier, {"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        (SGDClassifier, {"class_weight": "nonsense"}, "'class_weight' parameter"),
        (SGDClassifier, {"batch_size": 0}, "'batch_size' parameter"),
        (SGDClassifier, {"n_jobs": 1.5}, "'n_jobs' parameter"),
        (SGDRegressor, {"loss": "hinge"}, "'loss' parameter of SGDRegressor"),
        (SGDRegressor, {"learning_rate": "pa2"}, "only works with loss 'epsilon_insensitive'"),
        (SGDRegressor, {"epsilon": -0.1}, "'epsilon' parameter"),
        (SGDOneClassSVM, {"nu": 0.0}, "'nu' parameter"),
        (SGDOneClassSVM, {"nu": 1.5}, "'nu' parameter"),
        (PassiveAggressiveClassifier, {"C": 0.0}, "'C' parameter"),
        (PassiveAggressiveClassifier, {"loss": "log_loss"}, "'loss' parameter"),
        (PassiveAggressiveRegressor, {"loss": "hinge"}, "'loss' parameter"),
    ],
)
def test_parameters(cls, settings, message):
    X, y, _ = classes() if "Classifier" in cls.__name__ else regression()
    with pytest.raises(ValueError, match=message):
        cls(**settings).fit(X, y)


@every_classifier
def test_labels(row):
    X, _, _ = tall(row)
    two = np.arange(60) % 2
    expected = None
    for y in (two, two.astype(float), two.astype(bool), np.array(["no", "yes"])[two], 7 + 3 * two,
              two.astype(np.uint8), 10**12 * two):  # fmt: skip
        model = row.make().fit(X, y)
        np.testing.assert_array_equal(model.classes_, np.unique(y))
        assert model.classes_.dtype == np.unique(y).dtype
        assert set(model.predict(X)) <= set(y)
        expected = model.coef_ if expected is None else expected
        np.testing.assert_array_equal(model.coef_, expected)
    with pytest.raises(ValueError, match="Unknown label type"):
        row.make().fit(X, np.linspace(0.0, 1.0, 60))
    with pytest.raises((ValueError, TypeError)):
        row.make().fit(X, np.array([1, "a"] * 30, dtype=object))
    for y in (np.zeros(60), np.array(["only"] * 60)):
        with pytest.raises(ValueError, match="has to be greater than one; got 1 class"):
            row.make().fit(X, y)
    with pytest.raises(ValueError, match="all rows of the others have weight zero"):
        row.make().fit(X, two, sample_weight=1.0 - two)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        row.make().partial_fit(X, two)
    model = row.make().partial_fit(X[:10], two[:10], classes=[0, 1, 2])
    assert model.coef_.shape == (3, 4)
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, two, classes=[0, 1])
    with pytest.raises(ValueError, match=r"classes that were not named: \[3, 4\]"):
        model.partial_fit(X, 3 + two)
    with pytest.raises(ValueError, match="greater than one"):
        row.make().partial_fit(X, np.zeros(60), classes=[0])
    with pytest.raises(ValueError, match="'balanced' is not supported for partial_fit"):
        row.make(class_weight="balanced").partial_fit(X, two, classes=[0, 1])


@every_learner
@only_if(lambda row: not row.outliers)
def test_what_partial_fit_cannot_do(row):
    X, y, _ = tall(row)
    with pytest.raises(ValueError, match="early_stopping should be False with partial_fit"):
        row.make(early_stopping=True).partial_fit(X, y, **first_call(row, y))


def test_starts_of_a_wrong_shape():
    X, y, _ = regression()
    with pytest.raises(ValueError, match=r"coef_init does not match dataset.*\(3,\).*\(1, 4\)"):
        SGDRegressor().fit(X, y, coef_init=np.zeros(3))
    with pytest.raises(ValueError, match=r"intercept_init does not match dataset.*\(2,\).*\(1,\)"):
        SGDRegressor().fit(X, y, intercept_init=np.zeros(2))
    X, y, _ = classes(count=3)
    with pytest.raises(ValueError, match=r"coef_init does not match dataset.*\(3, 4\)"):
        SGDClassifier().fit(X, y, coef_init=np.zeros((2, 4)))
    with pytest.raises(ValueError, match=r"intercept_init does not match"):
        SGDClassifier().fit(X, y, intercept_init=np.zeros(2))


def test_probabilities_are_there_with_two_losses_only():
    X, y, _ = classes()
    for loss in ("hinge", "tanh", "perceptron"):
        model = SGDClassifier(loss=loss, random_state=0).fit(X, y)
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "predict_log_proba")
    model = SGDClassifier(loss="log_loss", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-14)
    far = SGDClassifier(loss="log_loss", random_state=0).fit(X, y)
    far.coef_ = 1e3 * far.coef_
    assert np.isfinite(far.predict_log_proba(X)).all()
    # nobody's row: all classes are equally probable
    three = SGDClassifier(loss="modified_huber", random_state=0).fit(*classes(count=3)[:2])
    three.intercept_ = np.full(3, -1e6)
    np.testing.assert_allclose(three.predict_proba(X), 1.0 / 3.0)


# -- warnings and ends -----------------------------------------------------------------------------------------------


@every_learner
def test_iteration_limit_is_reported(row):
    X, y, _ = tall(row)
    with pytest.warns(ConvergenceWarning, match=f"{row.name} .iteration limit.: Maximum number of iteration reached"):
        model = row.make(max_iter=2).fit(X, y)
    assert model.n_iter_ == len(model.trace_) == 2
    assert model.t_ == 121.0
    assert model.status_ == "iteration limit"
    model = row.make(max_iter=2, tol=None).fit(X, y)
    assert model.status_ == "iteration limit"
    assert row.make().fit(X, y).status_ == "converged"


@every_learner
def test_time_limit_is_reported(row):
    X, y, _ = tall(row)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = row.make(max_iter=10**7, tol=None, time_limit=0.02).fit(X, y)
    assert model.status_ == "time limit"
    assert np.isfinite(parameters(model)).all()


@pytest.mark.parametrize("cls", [SGDClassifier, SGDRegressor, SGDOneClassSVM])
def test_negative_powers_are_deprecated(cls):
    X, y, _ = classes() if cls is SGDClassifier else regression()
    with pytest.warns(FutureWarning, match="Negative values for `power_t`"):
        cls(power_t=-0.1, learning_rate="constant", random_state=0).fit(X, y)


class Count:
    def __init__(self, stop=None):
        self.stop, self.ended, self.models = stop, 0, []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.parent is None:
            return False
        self.ended += 1
        self.models.append(fitted_estimator)
        return self.ended == self.stop


@every_learner
def test_callbacks_hear_every_epoch_and_can_stop(row):
    X, y, _ = tall(row)
    count = Count()
    model = row.make().set_callbacks(count).fit(X, y)
    assert count.ended == model.n_iter_
    assert all(one.predict(X).shape == (60,) for one in count.models)
    np.testing.assert_array_equal(parameters(count.models[-1]), parameters(model))
    with pytest.warns(ConvergenceWarning, match="stopped by a callback"):
        model = row.make().set_callbacks(Count(stop=3)).fit(X, y)
    assert model.n_iter_ == 3
    assert model.status_ == "stopped by a callback"


@every_learner
def test_fit_is_not_judged_and_its_certificate_has_a_note(row):
    X, y, _ = tall(row)
    certificate = row.make().fit(X, y).certificate_
    assert certificate.status == "not judged"
    assert not certificate.ok


# -- the same rows in other places -----------------------------------------------------------------------------------


@every_learner
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array], ids=lambda k: k.__name__)
def test_sparse_rows_are_the_dense_ones_without_an_intercept(row, kind):
    X, y, _ = tall(row)
    X[np.abs(X) < 0.5] = 0.0
    a, b = row.make(fit_intercept=False).fit(X, y), row.make(fit_intercept=False).fit(kind(X), y)
    if row.outliers:
        assert a.offset_ == b.offset_ == 0.0
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(a.predict(X) if row.classifier else 0, b.predict(kind(X)) if row.classifier else 0)


@every_learner
def test_files_are_read_in_order_and_shuffled_in_blocks(row):
    X, y, _ = tall(row)
    weight = zero_weights(60)
    table = tenfold.rows([(X[:25], y[:25], weight[:25]), (X[25:], y[25:], weight[25:])])
    one = row.make(shuffle=False, max_iter=5, tol=None).fit(table)
    two = row.make(shuffle=False, max_iter=5, tol=None).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(parameters(one), parameters(two))
    shuffled = row.make().fit(table)
    assert np.isfinite(parameters(shuffled)).all()
    np.testing.assert_array_equal(parameters(shuffled), parameters(row.make().fit(table)))
    part = row.make(shuffle=False).partial_fit(table, **first_call(row, y))
    again = row.make(shuffle=False).partial_fit(X, y, sample_weight=weight, **first_call(row, y))
    np.testing.assert_array_equal(parameters(part), parameters(again))


def test_files_cannot_be_kept_apart():
    X, y, _ = classes()
    table = tenfold.rows([(X, y)])
    with pytest.raises(ValueError, match="give X_val and y_val"):
        SGDClassifier(early_stopping=True).fit(table)
    model = SGDClassifier(random_state=0).fit(table, X_val=tenfold.rows([(X[:20], y[:20])]))
    assert model.status_ == "converged"


@every_learner
def test_zero_weight_is_a_removed_row(row):
    X, y, _ = tall(row)
    weight = zero_weights(60)
    keep = weight > 0
    X[~keep] = 1e3
    a = row.make().fit(X, y, sample_weight=weight)
    b = row.make().fit(X[keep], y[keep], sample_weight=weight[keep])
    np.testing.assert_array_equal(parameters(a), parameters(b))
    assert a.t_ == b.t_


@every_classifier
def test_class_weights_are_sample_weights_of_two_classes(row):
    X, y, _ = tall(row)
    a = row.make(class_weight={"ant": 3.0, "bee": 0.5}).fit(X, y, sample_weight=zero_weights(60))
    b = row.make().fit(X, y, sample_weight=zero_weights(60) * np.where(y == "ant", 3.0, 0.5))
    np.testing.assert_allclose(parameters(a), parameters(b), rtol=1e-10)


@pytest.mark.parametrize("cls", [SGDClassifier, SGDRegressor])
def test_rows_to_stop_on_can_be_given(cls):
    X, y, _ = classes(300) if cls is SGDClassifier else regression(300)
    model = cls(random_state=0, tol=1e-4).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    plain = cls(random_state=0, tol=None, max_iter=model.n_iter_).fit(X[:200], y[:200])
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    # the last epochs brought nothing
    scores = []
    for epochs in range(1, model.n_iter_ + 1):
        one = cls(random_state=0, tol=None, max_iter=epochs).fit(X[:200], y[:200])
        scores.append(one.score(X[200:], y[200:]))
    assert all(scores[k] < max(scores[:k]) + 1e-4 for k in range(model.n_iter_ - 5, model.n_iter_))
    with pytest.raises(ValueError, match="X_val was given without y_val"):
        cls().fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="features"):
        cls().fit(X, y, X_val=X[:, :2], y_val=y)


def test_early_stopping_with_few_rows_or_none_that_count():
    X, y, _ = classes()
    weight = np.ones(60)
    from sklearn.model_selection import StratifiedShuffleSplit

    held = next(StratifiedShuffleSplit(test_size=0.1, random_state=0).split(X, y))[1]
    weight[held] = 0.0
    with pytest.raises(ValueError, match="sample weights for validation set are all zero"):
        SGDClassifier(early_stopping=True, random_state=0).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="test_size"):
        SGDClassifier(early_stopping=True, random_state=0).fit(X[:4], [0, 1, 0, 1])


# -- what is learned -------------------------------------------------------------------------------------------------


def test_an_l1_penalty_leaves_zeros_and_a_huge_one_nothing_else():
    X, y, _ = classes(200, 20)
    some = SGDClassifier(penalty="l1", alpha=0.02, random_state=0).fit(X, y)
    assert 0 < np.sum(some.coef_ == 0.0) < 20
    none = SGDClassifier(penalty="l1", alpha=10.0, random_state=0).fit(X, y)
    assert not none.coef_.any()
    sparse_model = SGDClassifier(penalty="l1", alpha=10.0, random_state=0).fit(sparse.csr_array(X), y)
    assert not sparse_model.coef_.any()


def test_batches_and_averages_come_nearer_to_the_optimum():
    """With steps of constant length one row at a time walks about the optimum; batches and averages do so less."""
    X, y, _ = regression(400, 5)
    best = tenfold.Ridge(alpha=400 * 1e-4).fit(X, y)
    away = {}
    for name, settings in {"rows": {}, "batches": {"batch_size": 50}, "average": {"average": 200}}.items():
        model = SGDRegressor(learning_rate="constant", eta0=0.02, max_iter=60, tol=None, random_state=0, **settings)
        away[name] = np.linalg.norm(model.fit(X, y).coef_ - best.coef_)
    assert away["batches"] < 0.5 * away["rows"]
    assert away["average"] < 0.5 * away["rows"]


def test_the_one_class_svm_leaves_a_share_nu_outside():
    rng = np.random.default_rng(0)
    X = 1.0 + 0.3 * rng.standard_normal((4000, 3))
    for nu in (0.2, 0.5):
        model = SGDOneClassSVM(nu=nu, random_state=0, average=50_000, tol=None, max_iter=25).fit(X)
        assert np.mean(model.predict(X) < 0) == pytest.approx(nu, abs=0.03)
        np.testing.assert_allclose(model.score_samples(X) - model.offset_, model.decision_function(X))


@every_learner
def test_single_precision_stays(row):
    X, y, _ = SHAPES["float32"](row)
    model = row.make().fit(X, y)
    assert model.coef_.dtype == np.float32
    assert model.intercept_.dtype == np.float32
    scores = model.decision_function(X) if row.classifier or row.outliers else model.predict(X)
    assert scores.dtype == np.float32
    model.partial_fit(X, y)
    assert model.coef_.dtype == np.float32


@every_learner
def test_read_only_and_strided_rows(row):
    X, y, _ = tall(row)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    frozen = X.copy()
    frozen.setflags(write=False)
    expected = parameters(row.make().fit(X, y))
    for given in (wide, frozen, np.asfortranarray(X)):
        np.testing.assert_array_equal(parameters(row.make().fit(given, y)), expected)


@every_learner
def test_a_failed_fit_leaves_the_model_as_it_was(row):
    X, y, _ = tall(row)
    model = row.make().fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((60, 2), np.nan), y)
    assert vars(model) == before


@every_learner
def test_partial_fit_goes_on_after_sparsify(row):
    X, y, _ = tall(row)
    a, b = row.make().fit(X, y).sparsify(), row.make().fit(X, y)
    np.testing.assert_allclose(parameters(a.partial_fit(X, y)), parameters(b.partial_fit(X, y)), rtol=1e-12)


@every_learner
@pytest.mark.parametrize("average", [False, 3])
@only_if(lambda row: "average" in row.make().get_params())
def test_partial_fit_keeps_the_arrays(row, average):
    X, y, _ = tall(row)
    model = row.make(average=average).partial_fit(X[:20], y[:20], **first_call(row, y))
    before, values = model.coef_, model.coef_.copy()
    bias = vars(model).get("intercept_", vars(model).get("offset_"))
    apart = copy.deepcopy(model)
    assert model.partial_fit(X[20:], y[20:]).coef_ is before
    assert vars(model).get("intercept_", vars(model).get("offset_")) is bias
    assert np.any(before != values)
    again = apart.partial_fit(X[20:], y[20:])
    np.testing.assert_array_equal(parameters(again), parameters(model))
    again.coef_.flags.writeable = False
    assert again.partial_fit(X, y).coef_.flags.writeable


# -- weights that are too small to keep ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threshold_leaves_no_weight_below_it(dtype):
    X, y, _ = regression(300, 8, 0)
    X, y = X.astype(dtype), y.astype(dtype)
    plain = SGDRegressor(random_state=0, alpha=1e-3, max_iter=200).fit(X, y)
    theta = float(np.median(np.abs(plain.coef_)))
    model = SGDRegressor(random_state=0, alpha=1e-3, max_iter=200, threshold=theta)
    for fitted in (model.fit(X, y), model.partial_fit(X, y), model.partial_fit(X, y)):
        kept = fitted.coef_[fitted.coef_ != 0.0]
        assert 0 < len(kept) < 8
        assert np.all(np.abs(kept) >= theta * (1.0 - np.finfo(dtype).eps))
        assert fitted.intercept_[0] != 0.0
    average = SGDRegressor(random_state=0, alpha=1e-3, average=True, threshold=1e6).fit(X, y)
    assert not average.coef_.any()
    np.testing.assert_allclose(average.predict(X), average.intercept_[0], rtol=1e-6)


def test_certify_refuses_a_weight_below_the_threshold():
    X, y, _ = regression(300, 4, 0)
    best, model = tenfold.Ridge(3.0).fit(X, y), SGDRegressor(random_state=0, alpha=0.01).fit(X, y)
    model.coef_, model.intercept_ = best.coef_, np.atleast_1d(best.intercept_)
    smallest = float(np.min(np.abs(model.coef_)))
    assert tenfold.certify(model.set_params(threshold=0.5 * smallest), X, y).ok
    assert tenfold.certify(model.sparsify(), X, y).ok
    refused = tenfold.certify(model.set_params(threshold=2.0 * smallest), X, y)
    assert not refused.ok
    assert "threshold" in refused.note


def test_bad_thresholds():
    X, y, _ = regression(30, 4, 0)
    with pytest.raises(ValueError, match="threshold"):
        SGDRegressor(threshold=-0.1).fit(X, y)
    with pytest.raises(ValueError, match="threshold"):
        SGDRegressor(threshold="small").fit(X, y)
