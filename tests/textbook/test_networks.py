"""Multi-layer perceptrons in the texts: Seeger, chapters 3, 7.2.1 and 8; Welling, chapter 7."""

import warnings

import numpy as np
import pytest

import tenfold
from tenfold.data import MemoryRows
from tenfold.objectives.network import Layer, Network
from tenfold.objectives.network_loss import NetworkLoss
from tenfold.solvers.mlp_epochs import draw_start

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
ODD = np.array([0, 1, 1, 0])


def test_number_of_parameters():
    """Seeger 3.2: a two-layer network for two classes has (d + 1) h + h + 1."""
    for d, h in ((2, 3), (10, 7)):
        assert Network((d, h, 1), "tanh", "logistic").size == (d + 1) * h + h + 1


def test_backpropagation_by_hand():
    """Seeger 3.3: one sample, two inputs, two tanh units, one linear output, half the squared error.

    x = (1, 2); a = (1 + 2 * .5 - 1, -1 + 2 + 0) = (1, 1); z = 2 tanh 1 - tanh 1 + .5; r = z - 3; then
    r_q = (1 - tanh^2 1) v_q r, and the gradient in W is x r', in b it is r.
    """
    x, t = np.array([[1.0, 2.0]]), np.array([[3.0]])
    network = Network((2, 2, 1), "tanh", "identity")
    layers = [
        Layer(np.array([[1.0, -1.0], [0.5, 1.0]]), np.array([-1.0, 0.0])),
        Layer(np.array([[2.0], [-1.0]]), np.array([0.5])),
    ]
    g = np.tanh(1.0)
    residual = g + 0.5 - 3.0
    slope = 1.0 - g * g
    back = np.array([2.0 * slope * residual, -slope * residual])
    expected = np.concatenate([back, 2.0 * back, back, [g * residual, g * residual, residual]])
    reading = NetworkLoss(network, MemoryRows(x, t), 0.0).read(network.join(layers))
    assert reading.value == pytest.approx(0.5 * residual**2)
    np.testing.assert_allclose(reading.gradient, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("output", "target", "residual"),
    [
        ("identity", 0.3, 0.8 - 0.3),
        ("logistic", 1.0, 1.0 / (1.0 + np.exp(-0.8)) - 1.0),
        ("exp", 2.0, np.exp(0.8) - 2.0),
    ],
)
def test_losses_differ_in_the_residual_alone(output, target, residual):
    """Seeger 8.2: with the logistic error r = sigma(a) - t, and nothing else changes."""
    network = Network((1, 1), "tanh", output)
    reading = NetworkLoss(network, MemoryRows(np.array([[2.0]]), np.array([[target]])), 0.0).read(np.array([0.3, 0.2]))
    np.testing.assert_allclose(reading.gradient, [2.0 * residual, residual])


def test_residual_of_several_classes():
    """Seeger 8.3: r = sigma(a) - t for the softmax of K outputs."""
    network, t = Network((1, 3), "tanh", "softmax"), np.array([[0.0, 1.0, 0.0]])
    b = np.array([0.1, 0.7, -0.4])
    reading = NetworkLoss(network, MemoryRows(np.zeros((1, 1)), t), 0.0).read(np.concatenate([np.zeros(3), b]))
    np.testing.assert_allclose(reading.gradient[3:], np.exp(b) / np.exp(b).sum() - t[0])


def test_transfer_functions():
    """Seeger 3.2 and 8.2: tanh(a) = 2 sigma(2 a) - 1, so that a tanh network is a logistic one with other weights."""
    rng = np.random.default_rng(0)
    X, W, b, v, c = (rng.standard_normal(shape) for shape in ((9, 3), (3, 4), 4, (4, 1), 1))
    one = Network((3, 4, 1), "tanh", "identity").forward(X, [Layer(W, b), Layer(v, c)]).raw
    layers = [Layer(2.0 * W, 2.0 * b), Layer(2.0 * v, c - v.sum())]
    np.testing.assert_allclose(Network((3, 4, 1), "logistic", "identity").forward(X, layers).raw, one, rtol=1e-12)


def test_products_with_the_hessian():
    """Seeger 3.4.2: the derivative of backpropagation along a vector, column by column the whole Hessian."""
    rng = np.random.default_rng(0)
    network = Network((2, 3, 1), "tanh", "logistic")
    objective = NetworkLoss(network, MemoryRows(XOR, ODD[:, None].astype(float)), 0.01)
    x = rng.standard_normal(network.size)
    hessian = np.stack([objective.hessian_product(x, e) for e in np.eye(len(x))])
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-15)
    each = [objective.read(x + 1e-5 * e).gradient - objective.read(x - 1e-5 * e).gradient for e in np.eye(len(x))]
    np.testing.assert_allclose(hessian, np.array(each) / 2e-5, atol=1e-8)


def test_exclusive_or():
    """Seeger 3.1: no linear model tells these four points apart, and two hidden units do."""
    linear = tenfold.LogisticRegression().fit(XOR, ODD)
    assert linear.score(XOR, ODD) <= 0.75
    assert tenfold.separability(XOR, ODD).separable is False
    settings = {"activation": "tanh", "solver": "lbfgs", "alpha": 1e-4, "max_iter": 2000, "tol": 1e-8}
    fits = [tenfold.MLPClassifier((2,), random_state=seed, **settings).fit(XOR, ODD) for seed in range(5)]
    best = min(fits, key=lambda model: model.loss_)  # several starts, the lowest error is kept (3.4)
    assert best.score(XOR, ODD) == 1.0
    assert best.certificate_.ok


def test_linear_units_collapse():
    """Seeger 3.2: with linear hidden units the network is a linear model, and cannot tell XOR apart."""
    settings = {"activation": "identity", "solver": "lbfgs", "max_iter": 2000, "random_state": 0}
    assert tenfold.MLPClassifier((5, 5), **settings).fit(XOR, ODD).score(XOR, ODD) <= 0.75


def test_symmetries_of_tanh_units():
    """Seeger 3.4: h! 2^h forms of a network are the same function."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    model = tenfold.MLPRegressor(hidden_layer_sizes=(2,), activation="tanh", random_state=0).partial_fit(X, X[:, 0])
    forms = set()
    for order in ([0, 1], [1, 0]):
        for signs in ([1, 1], [1, -1], [-1, 1], [-1, -1]):
            other = tenfold.MLPRegressor(hidden_layer_sizes=(2,), activation="tanh", random_state=0)
            other.partial_fit(X, X[:, 0])
            other.coefs_[0] = model.coefs_[0][:, order] * signs
            other.intercepts_[0] = model.intercepts_[0][order] * signs
            other.coefs_[1] = (model.coefs_[1][order].T * signs).T
            np.testing.assert_allclose(other.predict(X), model.predict(X), rtol=1e-12, atol=1e-14)
            assert tenfold.same_network(model, other)
            forms.add(tuple(np.round(other.coefs_[0].ravel(), 12)))
    assert len(forms) == 2 * 4


def test_first_activations_of_white_samples():
    """Seeger 3.4.1: with variance 1 / (d + 1) the activations of the first layer have mean 0 and variance 1."""
    rng = np.random.default_rng(0)
    network = Network((8, 4000, 1), "tanh", "identity")
    first = network.split(draw_start(network, np.random.RandomState(0), "fan_in"))[0]
    Q = np.linalg.qr(rng.standard_normal((200, 9)))[0]
    Q = np.linalg.qr(np.column_stack([np.ones(200), Q]))[0][:, 1:9]
    a = np.sqrt(200.0) * Q @ first.weights + first.biases
    assert a.mean() == pytest.approx(0.0, abs=0.03)
    assert a.var() == pytest.approx(1.0, abs=0.03)


def test_early_stopping_keeps_the_best_weights():
    """Seeger 7.2.1: the training error falls, that of the validation samples turns; the best weights are kept."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, 60)
    y = np.sin(3.0 * x) + 0.4 * rng.standard_normal(60)
    X = x[:, None] ** np.arange(1, 8)
    settings = {
        "hidden_layer_sizes": (60,),
        "activation": "tanh",
        "alpha": 0.0,
        "learning_rate_init": 0.02,
        "max_iter": 600,
        "n_iter_no_change": np.inf,
        "random_state": 0,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tenfold.MLPRegressor(**settings).fit(X[:30], y[:30], X_val=X[30:], y_val=y[30:])
    scores = model.validation_scores_
    assert model.loss_curve_[-1] < 0.5 * model.loss_curve_[20]
    assert scores[-1] < max(scores) - 0.01
    assert model.score(X[30:], y[30:]) == pytest.approx(max(scores))


def test_a_single_unit_is_the_linear_model_of_welling():
    """Welling 7.1: the cost 1/2 1/n sum (y - w'x + alpha)^2 is least squares, here without hidden units."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(50))
    model = tenfold.MLPRegressor(hidden_layer_sizes=(), solver="lbfgs", alpha=0.0, tol=1e-10, random_state=0).fit(X, y)
    linear = tenfold.LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coefs_[0][:, 0], linear.coef_, atol=1e-7)
    assert model.intercepts_[0][0] == pytest.approx(linear.intercept_, abs=1e-7)
    assert model.certificate_.ok
