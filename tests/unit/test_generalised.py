"""The matrix of losses and penalties: a cell fits with its certificate, or refuses and names the nearest that do."""

import numpy as np
import pytest

import tenfold
from tenfold import GeneralizedLinear, GeneralizedLinearClassifier
from tenfold.losses import Logistic, Quantile
from tenfold.penalties import L2
from tenfold.plans.generalised import LOSSES, PENALTIES

GROUPS = [0, 0, 1, 1, 2, 2]


def made(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6)) + 0.5
    z = X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.0]
    if LOSSES[loss]().signs:
        return X, np.where(z + rng.logistic(size=120) > 0, "yes", "no")
    if LOSSES[loss]().link == "log":
        return X, rng.poisson(np.exp(0.3 * z)) + 0.5
    return X, z + 0.5 * rng.standard_t(3, 120)


def model_of(loss, penalty, **settings):
    cls = GeneralizedLinearClassifier if LOSSES[loss]().signs else GeneralizedLinear
    return cls(loss, penalty, **{"alpha": 0.05, "groups": GROUPS, **settings})


@pytest.mark.parametrize("penalty", [None, *PENALTIES])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_cell_of_the_matrix(loss, penalty):
    X, y = made(loss)
    model = model_of(loss, penalty)
    if LOSSES[loss]().kinked and penalty == "group":
        with pytest.raises(ValueError, match=r"The nearest that do: loss='huber'"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.certificate_.ok, model.certificate_.explain()
    assert model.certificate_.kind == ("gap" if LOSSES[loss]().convex else "stationarity")
    assert tenfold.certify(model, X, y).ok
    assert model.predict(X).shape == (120,)
    model.coef_ = model.coef_ * 1.1
    assert not tenfold.certify(model, X, y).ok


def test_the_perceptron_is_refused_with_the_reason():
    X, y = made("hinge")
    with pytest.raises(ValueError, match="least, zero, at no weights"):
        GeneralizedLinearClassifier("perceptron").fit(X, y)


def test_equal_to_the_classes_that_have_a_name():
    X, y = made("square")
    assert GeneralizedLinear("quantile", "l1", alpha=0.05).fit(X, y).coef_ == pytest.approx(
        tenfold.QuantileRegressor(alpha=0.05).fit(X, y).coef_, abs=1e-7
    )
    assert GeneralizedLinear(Quantile(0.8), None).fit(X, y).coef_ == pytest.approx(
        tenfold.QuantileRegressor(quantile=0.8, alpha=0.0).fit(X, y).coef_, abs=1e-6
    )
    assert GeneralizedLinear("square", L2(0.5)).fit(X, y).coef_ == pytest.approx(
        tenfold.Ridge(alpha=60.0).fit(X, y).coef_, rel=1e-6
    )
    X, y = made("logistic")
    assert GeneralizedLinearClassifier(Logistic(), "l2", alpha=1 / 120).fit(X, y).coef_ == pytest.approx(
        tenfold.LogisticRegression().fit(X, y).coef_, rel=1e-3
    )


def test_losses_of_the_other_kind():
    X, y = made("square")
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
