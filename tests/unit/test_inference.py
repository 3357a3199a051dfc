"""What is asked of inference and refused, with the reason; and what its table says."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import infer


def counts(n=80, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, rng.poisson(np.exp(0.3 * X[:, 0] + 0.5)).astype(float)


def classes(n=80):
    X, y = counts(n)
    return X, (y > 1).astype(int)


UNFIT = {
    "penalised counts": (lambda X, y: tenfold.PoissonRegressor().fit(X, y), "penalised, and so biased"),
    "penalised classes": (lambda X, y: tenfold.LogisticRegression().fit(X, y > 1), "penalised, and so biased"),
    "an L1 penalty": (lambda X, y: tenfold.GeneralizedLinear("poisson", "l1").fit(X, y), "penalised, and so biased"),
    "no likelihood": (lambda X, y: tenfold.GeneralizedLinear("huber", None).fit(X, y), "'huber' is not a likelihood"),
    "chosen": (
        lambda X, y: tenfold.LogisticRegressionCV(
            Cs=2, cv=2, l1_ratios=(0.0,), use_legacy_attributes=False, scoring="accuracy"
        ).fit(X, y > 1),
        "chosen from the data",
    ),
    "class weights": (
        lambda X, y: tenfold.LogisticRegression(C=np.inf, class_weight="balanced").fit(X, y > 1),
        "no likelihood of the rows",
    ),
    "moved": (
        lambda X, y: tenfold.LogisticRegression(C=np.inf).fit(X, y > 1).with_priors([0.5, 0.5]),
        "intercepts were moved",
    ),
    "collinear": (
        lambda X, y: tenfold.PoissonRegressor(alpha=0).fit(np.column_stack([X, X[:, 0] + X[:, 1]]), y),
        "columns are collinear",
    ),
    "few rows": (
        lambda X, y: tenfold.GammaRegressor(alpha=0).fit(X[:4], y[:4] + 1.0),
        "not more rows, counted by their weights",
    ),
}


@pytest.mark.parametrize(("make", "reason"), UNFIT.values(), ids=UNFIT)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_raises_with_the_reason(make, reason):
    model = make(*counts())
    for ask in (lambda: model.inference_, model.summary):
        with pytest.raises(ValueError, match=reason):
            ask()


def test_separable_classes_raise():
    X, _ = counts()
    y = X[:, 0] > 0
    with pytest.warns(UserWarning, match="no maximum"):
        model = tenfold.LogisticRegression(C=np.inf).fit(X, y)
    for ask in (lambda: model.inference_, lambda: infer(model, X, y)):
        with pytest.raises(ValueError, match="it has no maximum"):
            ask()


def test_a_fit_that_was_cut_short_raises():
    X, y = counts()
    with pytest.warns(UserWarning, match="iteration limit"):
        model = tenfold.PoissonRegressor(alpha=0, max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="not at the maximum of the likelihood"):
        model.summary()


def test_other_rows_raise():
    model = tenfold.PoissonRegressor(alpha=0).fit(*counts())
    with pytest.raises(ValueError, match="not at the maximum of the likelihood"):
        infer(model, *counts(seed=1))


def test_what_does_not_go_together():
    X, y = counts()
    model = tenfold.PoissonRegressor(alpha=0).fit(X, y)
    with pytest.raises(ValueError, match="covariance must be one of nonrobust, HC0"):
        infer(model, X, y, covariance="HC4")
    for given in ({"covariance": "cluster"}, {"groups": np.arange(80)}):
        with pytest.raises(ValueError, match="go with covariance='cluster'"):
            infer(model, X, y, **given)
    with pytest.raises(ValueError, match="one label a row"):
        infer(model, X, y, covariance="cluster", groups=[1, 2])
    with pytest.raises(ValueError, match="at least two groups"):
        infer(model, X, y, covariance="cluster", groups=np.zeros(80))
    with pytest.raises(TypeError, match="it is for models of maximum likelihood"):
        infer(tenfold.Ridge().fit(X, y), X, y)


def test_covariances_that_least_squares_does_not_have():
    X, y = counts()
    model = tenfold.LinearRegression().fit(X, y)
    with pytest.raises(ValueError, match=r"model\.inference_"):
        infer(model, X, y, covariance="nonrobust")
    with pytest.raises(ValueError, match="say how exact a row is"):
        infer(model, X, y, np.ones(80))
    with pytest.raises(ValueError, match="one target"):
        infer(tenfold.LinearRegression().fit(X, np.column_stack([y, y])), X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="constrained"):
        infer(tenfold.LinearRegression(positive=True).fit(X, y), X, y)


def test_a_row_that_is_fitted_exactly_has_no_error():
    X, y = counts()
    X[:, 2] = 0.0
    X[5, 2], y[5] = 1.0, 3.0
    model = tenfold.PoissonRegressor(alpha=0, tol=1e-12).fit(X, y)
    assert np.isfinite(infer(model, X, y, covariance="HC1").standard_errors).all()
    with pytest.raises(ValueError, match="leverage of one"):
        infer(model, X, y, covariance="HC3")


def test_through_a_pipeline():
    X, y = counts()
    pipeline = make_pipeline(StandardScaler(), tenfold.PoissonRegressor(alpha=0)).fit(X, y)
    alone = tenfold.PoissonRegressor(alpha=0).fit(X, y)
    np.testing.assert_allclose(infer(pipeline, X, y).statistics[1:], infer(alone, X, y).statistics[1:], rtol=1e-5)


def test_an_offset_is_judged_and_inferred_with():
    X, y = counts()
    offset = np.linspace(-1.0, 1.0, 80)
    model = tenfold.PoissonRegressor(alpha=0).fit(X, y, offset=offset)
    assert tenfold.certify(model, X, y, offset=offset).ok
    assert not tenfold.certify(model, X, y).ok
    assert infer(model, X, y, offset=offset, covariance="nonrobust").aic == pytest.approx(model.inference_.aic)
    penalised = tenfold.GammaRegressor(alpha=0.3).fit(X, y + 1.0, offset=offset)
    result = tenfold.certify(penalised, X, y + 1.0, offset=offset)
    assert result.ok
    assert result.objective == pytest.approx(penalised.certificate_.objective)
    with pytest.raises(ValueError, match="LinearRegression has no offset"):
        tenfold.certify(tenfold.LinearRegression().fit(X, y), X, y, offset=offset)


def test_the_table_names_the_columns_and_the_covariance():
    pandas = pytest.importorskip("pandas")
    X, y = classes()
    frame = pandas.DataFrame(X, columns=["dose", "age", "weight"])
    model = tenfold.LogisticRegression(C=np.inf).fit(frame, y)
    text = model.summary()
    assert text.splitlines()[0] == (
        "Maximum likelihood (logistic): 80 rows, 4 coefficients, 76 degrees of freedom, covariance nonrobust"
    )
    assert [line.split()[0] for line in text.splitlines()[-4:]] == ["intercept", "dose", "age", "weight"]
    result = infer(model, frame, y, covariance="cluster", groups=np.arange(80) // 8)
    assert "covariance cluster by 10 groups" in str(result)


def test_float32_rows_have_inference():
    X, y = counts()
    single = tenfold.PoissonRegressor(alpha=0).fit(X.astype(np.float32), y).inference_
    double = tenfold.PoissonRegressor(alpha=0).fit(X, y).inference_
    np.testing.assert_allclose(single.standard_errors, double.standard_errors, rtol=1e-4)


def test_expensive_covariance_is_computed_on_request(monkeypatch):
    from tenfold.estimators import inference_mixin

    monkeypatch.setattr(inference_mixin, "MAX_CHEAP_COEFFICIENTS", 3)
    monkeypatch.setattr(inference_mixin, "MAX_CHEAP_PRODUCTS", 100.0)
    X, y = counts()
    model = tenfold.PoissonRegressor(alpha=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Ask for it: tenfold\.infer"):
        model.summary()
    assert infer(model, X, y, covariance="nonrobust").count == 80


def test_coefficients_near_the_maximum_say_how_near():
    X, y = counts()
    model = tenfold.PoissonRegressor(alpha=0, tol=1e-12).fit(X, y)
    at = infer(model, X, y, covariance="nonrobust")
    assert at.distance < 1e-6
    model.coef_[0] += 0.005 * at.standard_errors[1]
    moved = infer(model, X, y, covariance="nonrobust")
    assert 0.0 < moved.distance < 0.05
    # a step along one coefficient is as long as its share of the information says
    alone = 0.005 * at.standard_errors[1] * np.sqrt(np.linalg.inv(at.covariance)[1, 1])
    assert moved.distance == pytest.approx(alone, rel=0.02)


def test_a_certified_fit_of_very_many_rows_may_be_too_far():
    """A certificate bounds the mean loss: the more rows there are, the less that says in standard errors."""
    X, y = counts()
    weight = np.full(80, 1e9)
    model = tenfold.PoissonRegressor(alpha=0, tol=1e-12).fit(X, y, sample_weight=weight)
    model.coef_ = model.coef_ * (1 + 1e-4)
    assert tenfold.certify(model, X, y, weight).ok
    with pytest.raises(ValueError, match=r"still about .* standard errors from the maximum"):
        infer(model, X, y, weight)


def test_rows_that_are_fitted_exactly():
    X, _ = counts()
    model = tenfold.GeneralizedLinear("square", None).fit(X, np.zeros(80))
    with pytest.raises(ValueError, match="fitted exactly"):
        model.summary()
