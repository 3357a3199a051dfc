"""Multi-layer perceptrons: derivatives, steps, stops, sources, and what the judge finds."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import sklearn.neural_network
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import tenfold
from tenfold.data import MemoryRows
from tenfold.judge.network import judge_network
from tenfold.objectives.network import HIDDEN, OUTPUTS, Network
from tenfold.objectives.network_loss import NetworkLoss
from tenfold.objectives.network_residuals import NetworkResiduals

CONVERGED = {"solver": "lbfgs", "activation": "tanh", "alpha": 1.0, "tol": 1e-6, "max_iter": 5000, "random_state": 0}


def problem(hidden, output, n=90, seed=0):
    """A network, rows with weights, and a point."""
    rng = np.random.default_rng(seed)
    network = Network((4, 6, 5, 3), hidden, output)
    y = {
        "identity": rng.standard_normal((n, 3)),
        "exp": rng.poisson(1.0, (n, 3)).astype(float),
        "logistic": rng.integers(0, 2, (n, 3)).astype(float),
        "softmax": np.eye(3)[rng.integers(0, 3, n)],
    }[output]
    rows = MemoryRows(rng.standard_normal((n, 4)), y, rng.uniform(0.5, 2.0, n))
    return network, rows, 0.5 * rng.standard_normal(network.size), rng.standard_normal(network.size)


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("output", OUTPUTS)
def test_derivatives(hidden, output):
    """The compiled gradient, that of the Array API and differences; products with the Hessian; the Jacobian."""
    network, rows, x, d = problem(hidden, output)
    objective, step = NetworkLoss(network, rows, 0.3), 1e-6
    here = objective.read(x)
    again = network.derivatives(rows.X, rows.y, rows.weight, network.split(x))
    gradient = (network.join(again.layers) + 0.3 * network.decay(x)) / rows.weight.sum()
    np.testing.assert_allclose(here.gradient, gradient, rtol=1e-11, atol=1e-13)
    ahead, behind = objective.read(x + step * d), objective.read(x - step * d)
    assert here.gradient @ d == pytest.approx((ahead.value - behind.value) / (2 * step), rel=1e-6, abs=1e-7)
    product = (ahead.gradient - behind.gradient) / (2 * step)
    np.testing.assert_allclose(objective.hessian_product(x, d), product, rtol=1e-5, atol=1e-6)
    jacobian = network.jacobian(rows.X, network.split(x))
    moved = [network.forward(rows.X, network.split(x + sign * step * d)).raw for sign in (1.0, -1.0)]
    np.testing.assert_allclose(jacobian @ d, (moved[0] - moved[1]) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["adam", "lbfgs"])
def test_bits_do_not_depend_on_threads(dtype, solver):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 60)).astype(dtype)
    y = rng.integers(0, 3, 700)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = tenfold.MLPClassifier((64,), solver=solver, max_iter=4, random_state=0, batch_size=300).fit(X, y)
        results.append([*model.coefs_, *model.intercepts_, model.predict_proba(X)])
    for one, other in zip(*results, strict=True):
        assert one.dtype == dtype
        np.testing.assert_array_equal(one, other)


def test_files_are_read_in_blocks():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    table = tenfold.rows([(X[:100], y[:100]), (X[100:], y[100:])])
    settings = {"hidden_layer_sizes": (8,), "random_state": 0, "shuffle": False, "max_iter": 5, "batch_size": 50}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tenfold.MLPClassifier(**settings).fit(table)
        memory = tenfold.MLPClassifier(**settings).fit(X, y)
    for one, other in zip(model.coefs_, memory.coefs_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    judged = tenfold.certify(model, table)
    assert judged.value == pytest.approx(tenfold.certify(memory, X, y).value, rel=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shuffled = tenfold.MLPClassifier((8,), random_state=0, max_iter=60, learning_rate_init=0.02).fit(table)
    assert shuffled.score(table) > 0.9
    with pytest.raises(ValueError, match="X_val"):
        tenfold.MLPClassifier(early_stopping=True).fit(table)


def test_devices_take_the_same_steps():
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    for settings in ({"max_iter": 4}, {"solver": "sgd", "max_iter": 4}, {"solver": "lbfgs", "max_iter": 30}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            here = tenfold.MLPClassifier((6,), random_state=0, **settings).fit(X, y)
            there = tenfold.MLPClassifier((6,), random_state=0, **settings).fit(strict.asarray(X), strict.asarray(y))
        assert type(there.coefs_[0]) is type(strict.asarray(X))
        for one, other in zip(here.coefs_, there.coefs_, strict=True):
            np.testing.assert_allclose(one, np.asarray(other), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(here.predict_proba(X), np.asarray(there.predict_proba(strict.asarray(X))), rtol=1e-6)


def test_a_loss_that_is_no_number_ends_the_fit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = 1e3 * X[:, 0] ** 2
    model = tenfold.MLPRegressor(activation="identity", solver="sgd", learning_rate_init=10.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Lower the learning rate"):
        model.fit(X, y)
    assert model.status_ == "diverged"
    assert all(np.isfinite(part).all() for part in (*model.coefs_, *model.intercepts_))
    assert np.isfinite(model.predict(X)).all()
    assert not tenfold.certify(model, X, y).ok


def test_a_loss_that_rises_is_told():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    model = tenfold.MLPClassifier((8,), solver="sgd", learning_rate_init=30.0, max_iter=12, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, X[:, 0] > 0.3 * rng.standard_normal(100))
    assert model.status_ in ("diverged", "iteration limit")
    assert (model.status_ == "diverged") == (model.loss_ > max(model.loss_curve_[0], 2.0 * min(model.loss_curve_)))


def test_momentum_in_the_form_of_a_mean():
    """(1 - mu) g is the step of mu u - eta g with the rate (1 - mu) eta (Seeger, section 3.4.1)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    y = np.sin(X[:, 0])
    settings = {"solver": "sgd", "max_iter": 5, "random_state": 0, "momentum": 0.8}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean = tenfold.MLPRegressor(learning_rate_init=0.1, momentum_form="mean", **settings).fit(X, y)
        plain = tenfold.MLPRegressor(learning_rate_init=0.1 * (1.0 - 0.8), **settings).fit(X, y)
    for one, other in zip(mean.coefs_, plain.coefs_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_first_weights_by_the_inputs_of_a_unit():
    """Variance 1 / (inputs + 1) (Seeger, section 3.4.1)."""
    from tenfold.solvers.mlp_epochs import draw_start

    network = Network((99, 400, 2), "tanh", "softmax")
    layers = network.split(draw_start(network, np.random.RandomState(0), "fan_in"))
    assert layers[0].weights.var() == pytest.approx(1.0 / 100.0, rel=0.05)
    assert layers[1].weights.var() == pytest.approx(1.0 / 401.0, rel=0.15)
    assert layers[0].biases.var() == pytest.approx(1.0 / 100.0, rel=0.3)


def test_validation_samples_of_the_caller():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = np.where(X[:, 0] > 0, "b", "a")
    settings = {"random_state": 0, "learning_rate_init": 0.05, "n_iter_no_change": 3}
    model = tenfold.MLPClassifier((8,), **settings).fit(X[:150], y[:150], X_val=X[150:], y_val=y[150:])
    assert model.score(X[150:], y[150:]) == pytest.approx(model.best_validation_score_)
    assert len(model.validation_scores_) == model.n_iter_
    with pytest.raises(ValueError, match="y_val"):
        model.fit(X, y, X_val=X)


def test_class_weight_is_a_factor_of_the_samples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = np.digitize(X[:, 0], [-1.0, 1.0])
    by_class = tenfold.MLPClassifier((4,), class_weight={0: 2.0, 1: 1.0, 2: 3.0}, **CONVERGED).fit(X, y)
    by_sample = tenfold.MLPClassifier((4,), **CONVERGED).fit(X, y, np.array([2.0, 1.0, 3.0])[y])
    np.testing.assert_allclose(by_class.coefs_[0], by_sample.coefs_[0], rtol=1e-9)
    assert tenfold.certify(by_class, X, y).ok
    with pytest.raises(ValueError, match="partial_fit"):
        tenfold.MLPClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])


def test_unknown_labels():
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = tenfold.MLPClassifier((3,), random_state=0).partial_fit(X, np.arange(30) % 2, classes=[0, 1])
    with pytest.raises(ValueError, match="has classes not in"):
        model.partial_fit(X, np.arange(30) % 3)
    with pytest.raises(ValueError, match="classes must be passed"):
        tenfold.MLPClassifier().partial_fit(X, np.arange(30) % 2)
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = tenfold.MLPClassifier(solver="lbfgs").partial_fit
    with pytest.raises(ValueError, match="at least zero"):
        tenfold.MLPRegressor(loss="poisson").fit(X, X[:, 0])


def test_a_pickled_model_goes_on():
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = X[:, 0] ** 2
    model = tenfold.MLPRegressor(hidden_layer_sizes=(5,), random_state=0).partial_fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    model.partial_fit(X, y)
    again.partial_fit(X, y)
    for one, other in zip(model.coefs_, again.coefs_, strict=True):
        np.testing.assert_array_equal(one, other)


def test_changed_weights_are_predicted_from():
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = tenfold.MLPRegressor(hidden_layer_sizes=(5,), random_state=0).partial_fit(X, X[:, 0])
    model.intercepts_[1] = model.intercepts_[1] + 1.0
    moved = model.predict(X)
    model.intercepts_[1] = model.intercepts_[1] - 1.0
    np.testing.assert_allclose(moved, model.predict(X) + 1.0)


def test_rows_of_weight_zero_are_removed():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3))
    weight = rng.integers(0, 2, 100).astype(float)
    settings = {"hidden_layer_sizes": (5,), "max_iter": 5, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weighted = tenfold.MLPRegressor(**settings, batch_size=10).fit(X, X[:, 0], weight)
        inside = weight > 0
        removed = tenfold.MLPRegressor(**settings, batch_size=10).fit(X[inside], X[inside, 0], weight[inside])
    for one, other in zip(weighted.coefs_, removed.coefs_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.mark.parametrize("solver", ["scaled-cg", "truncated-newton", "levenberg-marquardt"])
def test_solvers_of_all_samples(solver):
    """Each ends where no derivative exceeds tol, and the judge gains nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = np.tanh(X[:, 0] - X[:, 1]) + 0.1 * rng.standard_normal(80)
    settings = {**CONVERGED, "solver": solver, "hidden_layer_sizes": (3,)}
    weight = rng.uniform(0.5, 1.5, 80)
    model = tenfold.MLPRegressor(**settings).fit(X, y, weight)
    assert model.certificate_.ok
    assert model.certificate_.value < 1e-6
    assert model.loss_ == pytest.approx(model.certificate_.objective, rel=1e-9)
    network = Network((2, 3, 1), "tanh", "identity")
    objective = NetworkLoss(network, MemoryRows(X, y[:, None], weight), 1.0)
    x = np.concatenate([np.append(w.ravel(), b) for w, b in zip(model.coefs_, model.intercepts_, strict=True)])
    assert np.max(np.abs(objective.read(x).gradient)) < 1e-4
    if solver != "levenberg-marquardt":
        assert tenfold.MLPClassifier(**settings).fit(X, y > 0).certificate_.ok
    else:
        with pytest.raises(ValueError, match="sums of squares"):
            tenfold.MLPClassifier(solver=solver).fit(X, y > 0)


def test_residuals_are_the_loss():
    network, rows, x, _ = problem("tanh", "identity", n=20)
    squares, loss = NetworkResiduals(network, rows, 0.3), NetworkLoss(network, rows, 0.3)
    here, there = squares.read(x), loss.read(x)
    assert here.value == pytest.approx(there.value, rel=1e-12)
    np.testing.assert_allclose(here.gradient, there.gradient, rtol=1e-10, atol=1e-13)


def test_the_report_draws_the_learning_curve():
    from tenfold.cli.plot_data import _learning_curve
    from tenfold.report.charts import pictures

    X = np.random.default_rng(0).standard_normal((40, 2))
    model = tenfold.MLPRegressor(hidden_layer_sizes=(3,), **CONVERGED).fit(X, X[:, 0])
    data = _learning_curve(model)
    assert len(data["learning"]["x"]) <= 200
    assert [chart["title"] for chart in pictures({"pictures": data})] == ["Learning curve"]
    assert _learning_curve(tenfold.Ridge().fit(X, X[:, 0])) == {}


# -- symmetries


def move(model, activation, rng):
    """The same network in another form: the hidden units permuted, and flipped or scaled."""
    other = copy.deepcopy(model)
    for number in range(len(other.coefs_) - 1):
        w, v, b, c = (np.array(part[k]) for part in (other.coefs_, other.intercepts_) for k in (number, number + 1))
        order = rng.permutation(len(b))
        factor = rng.uniform(0.2, 5.0, len(b)) if activation == "relu" else rng.choice([-1.0, 1.0], len(b))
        w, b, v = w[:, order] * factor, b[order] * factor, v[order]
        if activation == "logistic":
            c = c + v[factor < 0].sum(axis=0)
            v = np.where((factor < 0)[:, None], -v, v)
        else:
            v = v / factor[:, None]
        other.coefs_[number], other.coefs_[number + 1] = w, v
        other.intercepts_[number], other.intercepts_[number + 1] = b, c
    return other


@pytest.mark.parametrize("activation", HIDDEN)
def test_symmetric_networks_are_recognised(activation):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    model = tenfold.MLPRegressor(hidden_layer_sizes=(6, 4), activation=activation, random_state=0)
    model.partial_fit(X, X[:, 0])
    other = move(model, activation, rng)
    np.testing.assert_allclose(other.predict(X), model.predict(X), rtol=1e-9, atol=1e-12)
    match = tenfold.same_network(model, other)
    assert match
    assert match.difference < 1e-12
    other.coefs_[0][0, 0] *= 1.01
    assert not tenfold.same_network(model, other)
    wide = tenfold.MLPRegressor(hidden_layer_sizes=(7,), activation=activation, random_state=0).partial_fit(X, X[:, 0])
    assert tenfold.same_network(model, wide).difference == np.inf


# -- the judge


def test_the_judge_sees_what_further_steps_gain():
    """The number of a fit that was cut short is near to what a long fit gains; the best is ok."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = np.tanh(X[:, 0]) - X[:, 1] ** 2 + 0.1 * rng.standard_normal(200)
    constant = 0.5 * np.var(y)
    long = tenfold.MLPRegressor(hidden_layer_sizes=(6,), **CONVERGED).fit(X, y)
    assert long.certificate_.ok
    assert long.certificate_.value < 1e-5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short = tenfold.MLPRegressor(hidden_layer_sizes=(6,), **{**CONVERGED, "max_iter": 3}).fit(X, y)
    gain = (short.certificate_.objective - long.certificate_.objective) / constant
    assert short.certificate_.value == pytest.approx(gain, rel=0.3)
    assert not short.certificate_.ok
    assert long.certificate_.objective == pytest.approx(long.loss_, rel=1e-12)


def test_no_better_than_a_constant_is_not_ok():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 3)), rng.standard_normal(100)
    model = tenfold.MLPRegressor(hidden_layer_sizes=(4,), **{**CONVERGED, "alpha": 1e4}).fit(X, y)
    judged = tenfold.certify(model, X, y)
    assert not judged.ok
    assert "no better than that of the best constant" in judged.explain()


def test_dead_units_are_counted():
    network, rows, x, _ = problem("relu", "identity")
    layers = network.split(x)
    layers[0].weights[:, 1], layers[0].biases[1] = 0.0, -1.0
    assert "1 of 11 hidden units are dead" in judge_network(network, rows, 0.1, network.join(layers)).note


def test_constant_targets():
    X = np.random.default_rng(0).standard_normal((50, 3))
    model = tenfold.MLPRegressor(hidden_layer_sizes=(3,), **{**CONVERGED, "alpha": 1e-6}).fit(X, np.full(50, 7.0))
    assert model.certificate_.ok
    np.testing.assert_allclose(model.predict(X), 7.0, rtol=1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scales_of_the_targets(scale):
    """The number is relative, so that the unit of the targets does not matter."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3))
    network, x = Network((3, 4, 1), "tanh", "identity"), 0.3 * rng.standard_normal(21)
    y = np.sin(X[:, :1])
    scaled = network.split(x.copy())
    scaled[1].weights[:], scaled[1].biases[:] = scale * scaled[1].weights, scale * scaled[1].biases
    one = judge_network(network, MemoryRows(X, y), 0.0, x)
    other = judge_network(network, MemoryRows(X, scale * y), 0.0, network.join(scaled))
    assert not one.ok
    assert not other.ok
    assert other.objective == pytest.approx(scale**2 * one.objective)


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_array])
def test_scikit_learns_networks_are_judged(rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4))
    y = np.digitize(X[:, 0] + X[:, 1], [-1.0, 1.0])
    settings = {key: value for key, value in CONVERGED.items() if key != "solver"}
    theirs = sklearn.neural_network.MLPClassifier((5,), solver="lbfgs", **settings).fit(rows(X), y)
    assert tenfold.certify(theirs, rows(X), y).ok
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        short = sklearn.neural_network.MLPClassifier((5,), max_iter=5, random_state=0).fit(rows(X), y)
    assert not tenfold.certify(short, rows(X), y).ok
