"""The matrix of losses and penalties: a cell fits with its certificate, or refuses and names the nearest that do."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import sklearn.linear_model
from scipy import sparse

import tenfold
from tenfold import GeneralizedLinear, GeneralizedLinearClassifier
from tenfold.losses import Logistic, Quantile
from tenfold.penalties import L2, ElasticNet
from tenfold.plans.loss_penalty_table import LOSSES, PENALTIES, penalty_of, select_method

GROUPS = [0, 0, 1, 1, 2, 2]


def make_targets(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6)) + 0.5
    z = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0]
    if loss == "softmax":
        scores = np.column_stack([z, -z, X[:, 4]]) + rng.gumbel(size=(120, 3))
        return X, np.array(["ant", "bee", "cat"])[np.argmax(scores, axis=1)]
    if LOSSES[loss]().signs:
        return X, np.where(z + rng.logistic(size=120) > 0, "yes", "no")
    if LOSSES[loss]().link == "log":
        return X, rng.poisson(np.exp(0.3 * z)) + 0.5
    return X, z + 0.5 * rng.standard_t(3, 120)


def model_of(loss, penalty, **settings):
    classes = LOSSES[loss]().signs or LOSSES[loss]().multi_output
    cls = GeneralizedLinearClassifier if classes else GeneralizedLinear
    return cls(loss, penalty, **{"alpha": 0.05, "groups": GROUPS, **settings})


@pytest.mark.parametrize("penalty", [None, *PENALTIES])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_cell_of_the_matrix(loss, penalty):
    X, y = make_targets(loss)
    model = model_of(loss, penalty)
    known = select_method(LOSSES[loss](), penalty_of(penalty, 0.05, 0.5, GROUPS, 6))
    if known.rejected:
        assert (LOSSES[loss]().nonsmooth, penalty) == (True, "group")
        with pytest.raises(ValueError, match=r"The nearest that do: loss='huber'"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.certificate_.ok, model.certificate_.explain()
    assert model.certificate_.kind == known.kind == ("gap" if LOSSES[loss]().convex else "stationarity")
    assert tenfold.certify(model, X, y).ok
    assert model.predict(X).shape == (120,)
    model.coef_ = model.coef_ * 1.1
    assert not tenfold.certify(model, X, y).ok


@pytest.mark.parametrize(("loss", "penalty"), [("softmax", None), ("softmax", "l2"), ("softmax", "elasticnet")])
def test_a_softmax_is_logistic_regression_of_several_classes(loss, penalty):
    X, y = make_targets("softmax")
    ratio = 0.4 if penalty == "elasticnet" else 0.0
    C = np.inf if penalty is None else 1 / (120 * 0.05)
    solver = "saga" if penalty == "elasticnet" else "lbfgs"
    theirs = sklearn.linear_model.LogisticRegression(C=C, l1_ratio=ratio, solver=solver, tol=1e-11, max_iter=10**5)
    theirs.fit(X, y)
    ours = model_of(loss, penalty, l1_ratio=0.4, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=2e-5)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=2e-4)
    assert list(ours.predict(X)) == list(theirs.predict(X))


def test_priors_of_classes():
    """Seeger 8.3.2: sum_k beta_k / 2 ||w_k||^2; the optimum by a general minimiser."""
    X, y = make_targets("softmax")
    number, beta = np.searchsorted(["ant", "bee", "cat"], y), np.array([0.02, 0.1, 0.7])

    def objective(theta):
        W, b = theta[:18].reshape(3, 6), theta[18:]
        z = X @ W.T + b
        q = scipy.special.softmax(z, axis=1)
        value = np.mean(scipy.special.logsumexp(z, axis=1) - z[np.arange(120), number])
        u = (q - np.eye(3)[number]) / 120
        return value + 0.5 * beta @ np.sum(W * W, axis=1), np.append(
            (u.T @ X + beta[:, None] * W).ravel(), u.sum(axis=0)
        )

    best = scipy.optimize.minimize(objective, np.zeros(21), jac=True, method="BFGS", options={"gtol": 1e-10})
    model = GeneralizedLinearClassifier("softmax", "l2", alpha=beta, tol=1e-9).fit(X, y)
    assert model.certificate_.ok
    assert model.certificate_.objective == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(model.coef_, best.x[:18].reshape(3, 6), atol=1e-5)
    assert tenfold.certify(model, X, y).ok
    for k in range(3):
        worse = GeneralizedLinearClassifier("softmax", "l2", alpha=np.where(np.arange(3) == k, 2.0, 1.0) * beta)
        other = worse.fit(X, y)
        other.alpha = beta
        result = tenfold.certify(other, X, y)
        assert not result.ok
        assert result.value >= result.objective - best.fun


def test_priors_of_classes_with_many_columns():
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 1200), density=0.02, rng=rng, format="csr")
    y = rng.integers(0, 3, 300)
    model = GeneralizedLinearClassifier("softmax", "l2", alpha=[0.01, 0.02, 0.05]).fit(X, y)
    assert model.certificate_.ok, model.certificate_.explain()
    dense = GeneralizedLinearClassifier("softmax", "l2", alpha=[0.01, 0.02, 0.05]).fit(X.toarray(), y)
    assert dense.certificate_.objective == pytest.approx(model.certificate_.objective, rel=1e-5)


@pytest.mark.parametrize("penalty", [None, "l2", "l1", "elasticnet", "group", L2(np.array([0.1, 0.3]))])
def test_a_softmax_of_two_classes_is_logistic(penalty):
    """w = w_1 - w_0 of the problem in both: its objective, by splitting the difference, is the same."""
    X, y = make_targets("logistic")
    model = model_of("softmax", penalty).fit(X, y)
    assert model.certificate_.ok
    assert tenfold.certify(model, X, y).ok
    assert model.coef_.shape == (1, 6)
    w, shares = model.coef_[0], np.array([-0.5, 0.5])
    if isinstance(penalty, L2):
        shares = np.array([-0.3, 0.1]) / 0.4
    z = (X @ w + model.intercept_)[:, None] * shares
    number = (y == "yes").astype(int)
    loss = np.mean(scipy.special.logsumexp(z, axis=1) - z[np.arange(120), number])
    both = np.outer(shares, w)
    squares = 0.5 * np.array([0.1, 0.3]) @ np.sum(both**2, axis=1) if isinstance(penalty, L2) else 0.0
    value = squares if isinstance(penalty, L2) else np.sum(model._the_penalty(6).value(both))
    assert model.certificate_.objective == pytest.approx(loss + value, rel=1e-9)


def test_strengths_that_do_not_fit_raise():
    X, y = make_targets("softmax")
    with pytest.raises(ValueError, match="one for each of 3 classes and all positive"):
        GeneralizedLinearClassifier("softmax", "l2", alpha=[1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match="one for each of 3 classes and all positive"):
        GeneralizedLinearClassifier("softmax", "l2", alpha=[1.0, 0.0, 1.0]).fit(X, y)
    with pytest.raises(ValueError, match="has one strength alpha for all classes"):
        GeneralizedLinearClassifier("softmax", "l1", alpha=[1.0, 2.0, 3.0]).fit(X, y)
    with pytest.raises(ValueError, match="go with loss='softmax' alone"):
        GeneralizedLinearClassifier("logistic", "l2", alpha=[1.0, 2.0]).fit(X, y == "ant")
    with pytest.raises(ValueError, match=r"Only binary classification is supported.*Use loss='softmax'"):
        GeneralizedLinearClassifier("hinge").fit(X, y)
    with pytest.raises(ValueError, match="Several strengths of an L2 penalty"):
        GeneralizedLinear("square", L2(np.ones(3))).fit(X, np.arange(120.0))
    with pytest.raises(ValueError, match=r"positive\. Use a smooth loss"):
        GeneralizedLinearClassifier("hinge", ElasticNet(0.1, positive=True)).fit(X, y == "ant")


@pytest.mark.parametrize("loss", ["softmax", "logistic", "hinge"])
def test_weights_that_leave_one_class_with_rows_raise(loss):
    X, y = make_targets("softmax")
    y = y if loss == "softmax" else np.where(y == "ant", "ant", "bee")
    with pytest.raises(ValueError, match="weight zero"):
        GeneralizedLinearClassifier(loss).fit(X, y, sample_weight=np.where(y == "ant", 1.0, 0.0))
    with pytest.raises(ValueError, match="only one class"):
        GeneralizedLinearClassifier(loss).fit(X, np.full(120, "ant"))


def test_probabilities_belong_to_likelihoods():
    X, y = make_targets("logistic")
    model = GeneralizedLinearClassifier("logistic", alpha=0.05).fit(X, y)
    theirs = tenfold.LogisticRegression(C=1 / 6.0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X), atol=1e-3)
    hinge = GeneralizedLinearClassifier("hinge").fit(X, y)
    assert not hasattr(hinge, "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'") as raised:
        hinge.predict_proba(X)
    assert "is no likelihood" in str(raised.value.__cause__)


@pytest.mark.parametrize(("loss", "penalty"), [("student", "l2"), ("tanh", "l2"), ("student", "l1"), ("tanh", "group")])
def test_losses_that_are_not_convex_start_several_times(loss, penalty):
    """The result is at rest, not worse than from the first start alone, and depends on the seed alone."""
    X, y = make_targets("logistic" if loss == "tanh" else loss)
    model = model_of(loss, penalty, alpha=0.01, random_state=3).fit(X, y)
    assert (model.certificate_.kind, model.certificate_.ok) == ("stationarity", True)
    again = model_of(loss, penalty, alpha=0.01, random_state=3).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    drawn = model_of(loss, penalty, alpha=0.01, random_state=np.random.RandomState(0)).fit(X, y)
    assert drawn.certificate_.ok


def test_weights_of_one_sign():
    X, y = make_targets("square")
    model = GeneralizedLinear("huber", ElasticNet(0.01, positive=True)).fit(X, y)
    assert model.certificate_.ok
    assert np.all(model.coef_ >= 0.0)
    assert tenfold.certify(model, X, y).ok


def test_perceptron_loss_raises_with_the_reason():
    X, y = make_targets("hinge")
    with pytest.raises(ValueError, match="least, zero, at no weights"):
        GeneralizedLinearClassifier("perceptron").fit(X, y)


def test_equal_to_the_classes_that_have_a_name():
    X, y = make_targets("square")
    assert GeneralizedLinear("quantile", "l1", alpha=0.05).fit(X, y).coef_ == pytest.approx(
        tenfold.QuantileRegressor(alpha=0.05).fit(X, y).coef_, abs=1e-7
    )
    assert GeneralizedLinear(Quantile(0.8), None).fit(X, y).coef_ == pytest.approx(
        tenfold.QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y).coef_, abs=1e-6
    )
    assert GeneralizedLinear("square", L2(0.5)).fit(X, y).coef_ == pytest.approx(
        tenfold.Ridge(alpha=60.0).fit(X, y).coef_, rel=1e-6
    )
    X, y = make_targets("logistic")
    assert GeneralizedLinearClassifier(Logistic(), "l2", alpha=1 / 120).fit(X, y).coef_ == pytest.approx(
        tenfold.LogisticRegression().fit(X, y).coef_, rel=1e-3
    )


def test_losses_of_the_other_kind():
    X, y = make_targets("square")
    with pytest.raises(ValueError, match="use GeneralizedLinearClassifier"):
        GeneralizedLinear("hinge").fit(X, y)
    with pytest.raises(ValueError, match="use GeneralizedLinear"):
        GeneralizedLinearClassifier("huber").fit(X, y > 0)
    with pytest.raises(ValueError, match="loss must be one of square"):
        GeneralizedLinear("cubic").fit(X, y)
    with pytest.raises(ValueError, match="needs groups, one for each of the 6 columns"):
        GeneralizedLinear(penalty="group").fit(X, y)


def test_an_outlier_moves_the_square_loss_and_not_the_tanh_cost():
    """Welling 7.2: one gross outlier."""
    rng = np.random.default_rng(0)
    away = np.array([3.0, 0.0])
    X = np.vstack([rng.standard_normal((60, 2)) + away, rng.standard_normal((60, 2)) - away])
    y = np.repeat([1, 0], 60)
    far, label = np.vstack([X, [[-200.0, 0.0]]]), np.append(y, 1)
    clean = GeneralizedLinearClassifier("tanh", alpha=0.01).fit(X, y)
    robust = GeneralizedLinearClassifier("tanh", alpha=0.01).fit(far, label)
    assert robust.score(X, y) == clean.score(X, y)
    assert tenfold.RidgeClassifier().fit(far, label).score(X, y) < clean.score(X, y)


def test_huber_without_a_penalty_is_certified_on_gaussian_data():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((20 + 30 * seed, 1 + seed))
        y = X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(len(X))
        model = GeneralizedLinear(tenfold.losses.Huber(0.1), penalty=None).fit(X, y)
        assert model.certificate_.ok, model.certificate_
        assert tenfold.certify(model, X, y).ok


@pytest.mark.parametrize("loss", ["poisson", "gamma", "huber", "squared_epsilon_insensitive"])
def test_groups_with_a_weak_penalty_are_certified(loss):
    """Correlated features, where gradient steps alone take thousands."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 8)) + 3.0 * rng.standard_normal((40, 1))
    y = 0.5 + rng.poisson(np.exp(0.2 * X[:, 0]))
    groups = [0, 0, 0, 1, 1, 2, 2, 2]
    model = GeneralizedLinear(loss, penalty="group", alpha=1e-5, groups=groups).fit(X, y)
    assert model.certificate_.ok
    assert model.n_iter_ < 100


def test_groups_are_left_out_together():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 6))
    y = X[:, :2] @ [1.0, -2.0] + 0.1 * rng.standard_normal(200)
    model = GeneralizedLinear("square", penalty="group", alpha=0.2, groups=[0, 0, 1, 1, 2, 2]).fit(X, y)
    assert model.certificate_.ok
    assert np.all(model.coef_[:2] != 0.0)
    assert np.all(model.coef_[2:] == 0.0)


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 1.9, 2.0, 3.0, -1.0])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_targets_that_are_all_one_have_a_scale(power, alpha):
    X, y = np.random.default_rng(0).standard_normal((50, 3)), np.ones(50)
    model = tenfold.TweedieRegressor(power=power, alpha=alpha).fit(X, y)
    assert model.certificate_.scale > 0.0
    assert model.certificate_.ok
    assert tenfold.certify(model, X, y).ok


def test_a_feature_that_only_samples_of_no_slope_have():
    """Without a penalty its pull is rounding, beside nothing."""
    X = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    y = np.array([1, 0, 1, 1, 1])
    for loss in ("modified_huber", "squared_hinge"):
        model = GeneralizedLinearClassifier(loss, penalty=None, fit_intercept=False).fit(X, y)
        assert model.certificate_.ok, model.certificate_
