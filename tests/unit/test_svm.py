"""Linear support vector machines: parameters, the dual, the joint hinge loss and its judge."""

import copy

import numpy as np
import pytest
import sklearn.svm as theirs
from scipy import sparse
from scipy.optimize import lsq_linear
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from threadpoolctl import threadpool_limits

import tenfold
from estimators import classes, parameters, regression
from tenfold.data import MemoryRows, WithConstant, with_constant
from tenfold.estimators.svm.parameters import Fits, machine_of, rows_of, tasks
from tenfold.judge.gap_crammer_singer import crammer_singer_gap
from tenfold.losses import JointHinge, Softmax, SquaredHinge
from tenfold.penalties import L2
from tenfold.plans.svm import Limits, Machine
from tenfold.plans.svm import fit as fit_machine
from tenfold.problems import Glm
from tenfold.solvers.crammer_singer_cd import CrammerSingerCd
from tenfold.solvers.crammer_singer_ipm import CrammerSingerIpm
from tenfold.solvers.loop import Status, run
from tenfold.stats.derivatives import Params, derivatives, predictions
from tenfold.stats.softmax import class_hessian

X, Y, _ = classes(90, 4, count=3)
TWO = classes(90, 4)
NUMBERS = regression(90, 4)
NUMBERED = np.unique(Y, return_inverse=True)[1].astype(np.float64)[:, None]


def message(cls, X, y, **settings):
    with pytest.raises(ValueError, match="Unsupported set of arguments") as caught:
        cls(**settings).fit(X, y)
    return str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "hinge", "dual": False},
        {"loss": "hinge", "penalty": "l1"},
        {"loss": "hinge", "penalty": "l1", "dual": True},
        {"penalty": "l1", "dual": True},
    ],
    ids=str,
)
def test_incompatible_parameters_raise_with_the_message_of_scikit_learn(settings):
    for data in (TWO, classes(5, 9)):
        assert message(tenfold.LinearSVC, data.X, data.y, **settings) == message(
            theirs.LinearSVC, data.X, data.y, **settings
        )


def test_regression_without_its_dual_raises():
    assert message(tenfold.LinearSVR, *NUMBERS[:2], dual=False) == message(theirs.LinearSVR, *NUMBERS[:2], dual=False)


def test_a_tube_has_a_width():
    with pytest.raises(ValueError, match="epsilon"):
        tenfold.LinearSVR(epsilon=-0.1).fit(*NUMBERS[:2])


@pytest.mark.parametrize("free", [False, True])
def test_the_dual_and_the_primal_agree(free):
    given = {"penalize_intercept": not free, "random_state": 0}
    for cls, data, extra in (
        (tenfold.LinearSVC, TWO, {}),
        (tenfold.LinearSVR, NUMBERS, {"loss": "squared_epsilon_insensitive", "epsilon": 0.1}),
    ):
        models = [cls(dual=dual, C=0.5, **given, **extra).fit(*data[:2]) for dual in (False, True)]
        assert all(model.certificate_.ok for model in models)
        np.testing.assert_allclose(*(parameters(model) for model in models), atol=2e-3)


def sparse_classes(n, p, noise=1.0):
    rng = np.random.default_rng(0)
    Z = sparse.random_array((n, p), density=8.0 / p, format="csr", rng=rng, data_sampler=rng.standard_normal)
    return Z, (Z @ rng.standard_normal(p) + noise * rng.standard_normal(n) > 1.0).astype(int)


@pytest.mark.parametrize(
    ("shape", "noise", "method"),
    [
        ((1400, 1500), 100.0, "dual ascent"),
        ((3000, 1500), 0.0, "dual ascent"),
        ((3600, 1500), 100.0, "lbfgs"),
        ((10000, 1500), 1.0, "lbfgs"),
    ],
    ids=str,
)
def test_many_rows_on_margins_are_solved_by_passes_over_them(shape, noise, method):
    """Inner products of more rows than columns are singular: an ascent of the dual takes hundreds of epochs."""
    Z, y = sparse_classes(*shape, noise)
    rows = MemoryRows(Z, 2.0 * y[:, None] - 1.0)
    machine = Machine(SquaredHinge(), 0.1 / shape[0], True, 1.0)
    result = fit_machine(rows, machine, dual=None, tol=1e-4, limits=Limits(200, 60.0))
    assert result.method == method
    assert result.certificate.ok


@pytest.mark.parametrize(("loss", "most"), [("hinge", 30), ("squared_hinge", 10)])
def test_a_free_intercept_is_moved_before_the_ascent_is_exact(loss, most):
    Z, y = sparse_classes(1500, 4000)
    free = {"loss": loss, "penalize_intercept": False, "random_state": 0, "C": 0.1, "dual": True}
    model = tenfold.LinearSVC(**free).fit(Z, y)
    assert model.certificate_.ok
    assert model.n_iter_ <= most


@pytest.mark.parametrize("shape", [(900, 2000), (5000, 1200)], ids=str)
def test_classes_that_are_fitted_at_once_have_the_same_bits(shape):
    Z, _ = sparse_classes(*shape)
    y = np.argmax(Z @ np.random.default_rng(1).standard_normal((shape[1], 4)), axis=1)
    result = []
    for count in (1, 2):
        with threadpool_limits(count):
            result.append(tenfold.LinearSVC(C=0.5, random_state=0).fit(Z, y))
    assert result[0].certificate_.ok
    np.testing.assert_array_equal(*(parameters(model) for model in result))
    assert result[0].n_iter_ == result[1].n_iter_


def test_an_interruption_halts_the_fits_of_other_classes():
    fits = Fits(tenfold.LinearSVC(max_iter=50, tol=1e-12), True, None)
    task = tasks(tenfold.LinearSVC().fit(X, Y), NUMBERED[:, 0].astype(int), None)[0]
    rows, total = rows_of(X, task)
    machine = machine_of(fits.model, total)

    def callback(record, params):
        fits.halt()
        return fits.heed(record, params)

    fits.callback = callback
    assert fits(rows, machine).certificate.status == Status.INTERRUPTED.value
    fits.callback = fits.heed
    later = fits(rows, machine)
    assert (later.certificate.status, later.iterations) == (Status.MAX_ITER.value, 0)


def test_an_offset_moves_a_free_intercept_alone():
    for loss in ("hinge", "squared_hinge"):
        plain, moved = (
            tenfold.LinearSVC(loss=loss, penalize_intercept=False).fit(Z, TWO.y) for Z in (TWO.X, TWO.X + 1e6)
        )
        assert moved.certificate_.ok
        np.testing.assert_allclose(moved.coef_, plain.coef_, rtol=1e-4, atol=1e-6)
        tied = tenfold.LinearSVC(loss=loss).fit(TWO.X + 1e6, TWO.y)
        assert tied.certificate_.ok


def test_a_large_c_finds_the_largest_margin():
    """Seeger, section 9.1; Rosasco, section 9.3: the machine of classes that can be separated, without slack."""
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((40, 2))
    Z[np.arange(40) % 2 == 0] += 6.0
    y = np.arange(40) % 2
    model = tenfold.LinearSVC(loss="hinge", C=1e4, penalize_intercept=False).fit(Z, y)
    margin = 1.0 / np.linalg.norm(model.coef_)
    points, signs = Z, 2.0 * y - 1.0
    reached = np.min(signs * (points @ model.coef_[0] + model.intercept_)) / np.linalg.norm(model.coef_)
    assert reached == pytest.approx(margin, rel=1e-5)
    # no other direction has more room between the classes
    for angle in np.linspace(0.0, np.pi, 2001):
        z = points @ [np.cos(angle), np.sin(angle)]
        room = max(z[y == 1].min() - z[y == 0].max(), z[y == 0].min() - z[y == 1].max()) / 2.0
        assert room <= margin * (1 + 1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": "l1", "C": 0.5},
        {"loss": "hinge", "penalize_intercept": False},
        {"multi_class": "crammer_singer"},
        {"multi_class": "crammer_singer", "penalize_intercept": False, "C": 0.3},
    ],
    ids=str,
)
def test_worsened_copies_are_not_certified(settings):
    model = tenfold.LinearSVC(**settings, random_state=0).fit(X, Y)
    assert model.certificate_.ok
    again = tenfold.certify(model, X, Y)
    assert again.ok, again.explain()
    for name, factor in (("coef_", 1.05), ("intercept_", 1.2)):
        worse = copy.deepcopy(model)
        setattr(worse, name, getattr(model, name) * factor)
        if name == "intercept_":
            worse.intercept_ = worse.intercept_ + 0.02 * np.arange(3)
        certificate = tenfold.certify(worse, X, Y)
        assert not certificate.ok
        assert certificate.value > again.value


def test_the_joint_bound_is_below_every_objective():
    y = np.searchsorted(np.unique(Y), Y).astype(float)[:, None]
    rows = MemoryRows(X, y)
    rng = np.random.default_rng(0)

    def objective(problem, params):
        loss = JointHinge().value(y, rows.map(predictions(params)))
        return (
            loss.mean() + 0.05 * np.sum(params.coef**2) + 0.5 * problem.intercept_penalty * np.sum(params.intercept**2)
        )

    for tie in (0.0, 0.1):
        problem = Glm(JointHinge(), L2(0.1), True, tie)
        bounds = []
        for size in (0.0, 0.3, 2.0):
            params = Params(size * rng.standard_normal((3, 4)), size * rng.standard_normal(3))
            shares = rng.dirichlet(np.ones(3), len(y))
            for hint in (None, shares):
                result = crammer_singer_gap(problem, rows, params, shares=hint)
                assert result.objective == pytest.approx(objective(problem, params), rel=1e-12)
                bounds.append(result.lower_bound)
        setting = {} if tie else {"penalize_intercept": False}
        model = tenfold.LinearSVC(multi_class="crammer_singer", C=1.0 / (0.1 * 90), random_state=0, **setting)
        best = model.fit(X, Y).certificate_.objective
        assert max(bounds) <= best + 1e-12


def test_the_joint_hinge_loss_and_its_conjugate():
    """Fenchel and Young: equality at slopes, never less."""
    rng = np.random.default_rng(0)
    z, y = rng.standard_normal((50, 4)), rng.integers(0, 4, (50, 1)).astype(float)
    loss = JointHinge()
    u = loss.slope(y, z)
    np.testing.assert_allclose(
        loss.value(y, z) + loss.conjugate(y, u), np.sum(u * z, axis=1, keepdims=True), atol=1e-12
    )
    other = rng.dirichlet(np.ones(4), 50) - (y == np.arange(4))
    slack = loss.value(y, z) + loss.conjugate(y, other) - np.sum(other * z, axis=1, keepdims=True)
    assert np.all(slack >= -1e-12)
    assert np.all(np.isinf(loss.conjugate(y, 2.0 * other + 0.1)))
    moved = z.copy()
    moved[:, 0] += 1e-6
    np.testing.assert_allclose((loss.value(y, moved) - loss.value(y, z))[:, 0] / 1e-6, u[:, 0], atol=1e-6)


@pytest.mark.parametrize("settings", [{"penalty": "l1"}, {"multi_class": "crammer_singer"}, {"loss": "hinge"}], ids=str)
def test_files_and_weights(settings):
    weight = np.random.default_rng(0).integers(0, 3, 90)
    alone = tenfold.LinearSVC(**settings, random_state=0).fit(X, Y, sample_weight=weight)
    again = np.repeat(np.arange(90), weight)
    repeated = tenfold.LinearSVC(**settings, random_state=0).fit(X[again], Y[again])
    np.testing.assert_allclose(parameters(alone), parameters(repeated), atol=2e-3)
    table = tenfold.rows([(X[:40], Y[:40], weight[:40] + 1.0), (X[40:], Y[40:], weight[40:] + 1.0)])
    far = tenfold.LinearSVC(**settings, random_state=0).fit(table)
    near = tenfold.LinearSVC(**settings, random_state=0).fit(X, Y, sample_weight=weight + 1.0)
    np.testing.assert_allclose(parameters(far), parameters(near), atol=1e-6)
    assert tenfold.certify(far, table).ok


def test_single_precision_stays():
    for settings in ({"penalty": "l1"}, {"multi_class": "crammer_singer"}, {"dual": True}):
        model = tenfold.LinearSVC(**settings, random_state=0).fit(X.astype(np.float32), Y)
        assert model.coef_.dtype == model.intercept_.dtype == np.float32
        assert model.certificate_.ok, settings


def test_an_ascent_that_is_cut_short_warns():
    Z = sparse.csr_array(np.repeat(np.abs(X), 400, axis=1))
    for settings in ({"loss": "hinge"}, {"multi_class": "crammer_singer"}):
        with pytest.warns(ConvergenceWarning, match="iteration limit"):
            model = tenfold.LinearSVC(**settings, max_iter=1, C=10.0, random_state=0).fit(Z, Y)
        assert not model.certificate_.ok
        assert model.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="time limit"):
        tenfold.LinearSVC(loss="hinge", time_limit=1e-9, C=10.0, random_state=0).fit(Z, Y)


def test_callbacks_hear_of_every_class():
    class Count:
        steps, coef = 0, ()

        def setup(self, estimator, context): ...
        def teardown(self, estimator, context): ...
        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
            self.steps += context.parent is not None
            self.coef = fitted_estimator.coef_

    for settings in ({}, {"loss": "hinge"}, {"penalty": "l1"}, {"multi_class": "crammer_singer"}, {"dual": True}):
        count = Count()
        model = tenfold.LinearSVC(**settings, random_state=0).set_callbacks(count).fit(X, Y)
        assert count.steps >= model.n_iter_ > 0
        np.testing.assert_array_equal(count.coef, model.coef_)


def test_rows_with_a_constant_column():
    rows = MemoryRows(X, np.zeros((90, 1)))
    near, far = with_constant(rows, 3.0), WithConstant(rows, 3.0)
    params = Params(np.ones((1, 5)), np.zeros(1))
    expected = X.sum(axis=1) + 3.0
    for wider in (near, far, with_constant(MemoryRows(sparse.csr_array(X), rows.y), 3.0)):
        assert wider.shape == (90, 5)
        np.testing.assert_allclose(wider.map(predictions(params))[:, 0], expected, rtol=1e-12)
        assert wider.subsample(3).shape == (30, 5)
        assert wider.retarget(np.ones((90, 2))).targets == 2
        assert wider.entries >= 90


@pytest.mark.parametrize("settings", [{}, {"penalize_intercept": False, "C": 30.0}, {"fit_intercept": False}])
def test_joint_losses_of_many_rows_and_few_columns_are_solved_by_interior_points(settings):
    """Where an ascent of the dual takes thousands of epochs; columns of very different units, weights that are zero."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_500, 5)) * [1.0, 10.0, 0.1, 1.0, 100.0] + [0.0, 5.0, 0.0, 100.0, 0.0]
    y = np.argmax(X @ rng.standard_normal((5, 4)) / 3.0 + rng.gumbel(size=(1_500, 4)), axis=1)
    weight = rng.integers(0, 3, 1_500).astype(float)
    both = {"multi_class": "crammer_singer", **settings}
    dense = tenfold.LinearSVC(**both).fit(X, y, sample_weight=weight)
    sparse_model = tenfold.LinearSVC(**both).fit(sparse.csr_array(X), y, sample_weight=weight)
    assert dense.certificate_.ok
    assert dense.n_iter_ < 100
    np.testing.assert_allclose(sparse_model.certificate_.objective, dense.certificate_.objective, atol=1e-6)
    dense.coef_ = dense.coef_ * 1.1
    assert not tenfold.certify(dense, X, y, weight).ok


def test_both_solvers_of_crammer_singer_agree():
    rows = MemoryRows(X, NUMBERED)
    problem = Glm(JointHinge(), L2(0.05), True, 0.01)
    ends = []
    for solver in (CrammerSingerIpm(problem, rows, 3, np.zeros(4), 1e-9), CrammerSingerCd(problem, rows, 3, 0, 1e-9)):
        solution = run(solver.steps(), 100_000)
        assert solution.status is Status.CONVERGED
        np.testing.assert_allclose(solver.shares.sum(axis=1), 1.0)
        assert crammer_singer_gap(problem, rows, solution.params, shares=solver.shares).value < 1e-8
        ends.append(solution.params.coef)
    np.testing.assert_allclose(*ends, atol=1e-3)


def test_the_hessian_of_given_probabilities_is_that_of_their_softmax():
    rng = np.random.default_rng(0)
    params, weight = Params(rng.standard_normal((3, 4)), rng.standard_normal(3)), rng.uniform(0.0, 2.0, 90)
    q = Softmax().probabilities(MemoryRows(X, X[:, :1]).map(predictions(params)))
    result = MemoryRows(X, np.column_stack([weight, q])).fold(class_hessian()).sum
    expected = MemoryRows(X, NUMBERED, weight).fold(derivatives(Softmax(), params, 2)).hessian
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


# -- where the rows are


@pytest.mark.parametrize(
    ("settings", "other"),
    [({"loss": "hinge"}, "loss='squared_hinge'"), ({"multi_class": "crammer_singer"}, "multi_class='ovr'")],
)
def test_nonsmooth_losses_on_dask_raise_with_the_alternative(settings, other):
    da = pytest.importorskip("dask.array")
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    fitted = tenfold.LinearSVC(random_state=0, **settings).fit(X, y)
    for put in (da.from_array, strict.asarray) if "multi_class" in settings else (da.from_array,):
        for call in (tenfold.LinearSVC(**settings).fit, lambda X, y: tenfold.certify(fitted, X, y)):
            with pytest.raises(ValueError, match=f"keeps numbers for each sample.* or use {other}"):
                call(put(X), put(y))


@pytest.mark.parametrize("settings", [{"penalty": "l1", "dual": False}, {"dual": True}, {"class_weight": "balanced"}])
def test_settings_of_the_squared_loss_on_dask(settings):
    """An L1 penalty with its constant column, a dual that cannot be ascended there, and weights of classes."""
    da = pytest.importorskip("dask.array")
    strict = pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 4))
    y, weight = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(90), [-0.5, 0.5]), rng.uniform(0.1, 2.0, 90)
    here = tenfold.LinearSVC(tol=1e-8, random_state=0, **settings).fit(X, y, weight)
    for put in (lambda a: da.from_array(a, chunks=(25, *a.shape[1:])), strict.asarray):
        there = tenfold.LinearSVC(tol=1e-8, random_state=0, **settings).fit(put(X), put(y), put(weight))
        assert there.certificate_.ok
        np.testing.assert_allclose(np.asarray(there.coef_), here.coef_, atol=1e-4)
        np.testing.assert_array_equal(np.asarray(there.predict(put(X))), here.predict(X))


def test_joint_hinge_far_from_the_origin_is_certified():
    """The dual point must balance pulls that nearly cancel; of two classes the difference is judged as it is stored."""
    for K, dtype in ((2, np.float64), (3, np.float64), (2, np.float32)):
        rng = np.random.default_rng(K)
        X = (rng.standard_normal((20, 3)) + 2000.0).astype(dtype)
        y = np.argmax(X[:, :K] + rng.standard_normal((20, K)), axis=1)
        model = tenfold.LinearSVC(C=10.0, multi_class="crammer_singer", random_state=0).fit(X, y)
        again = tenfold.certify(model, X, y)
        assert model.certificate_.ok == again.ok
        assert again.objective == pytest.approx(model.certificate_.objective, rel=1e-9)
        assert again.ok or dtype == np.float32, again


def test_infeasible_dual_points_become_feasible():
    """A hint is not trusted: shares that do not sum to one would raise the bound."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 2)), rng.integers(0, 3, 15).astype(float)
    rows = MemoryRows(X, y[:, None])
    problem = Glm(JointHinge(), L2(0.1), False)
    params = Params(np.zeros((3, 2)), np.zeros(3))
    fair = crammer_singer_gap(problem, rows, params, shares=np.full((15, 3), 1.0 / 3.0))
    for factor in (0.5, 2.0):
        assert (
            crammer_singer_gap(problem, rows, params, shares=np.full((15, 3), factor / 3.0)).value >= 0.999 * fair.value
        )


def test_certify_of_few_samples_is_bounded_in_passes():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((23, 1)), rng.standard_normal(23)
    for epsilon, C in ((0.0, 1.0), (0.1, 1e3), (1.0, 1e-2)):
        model = tenfold.LinearSVR(C=C, epsilon=epsilon).fit(X, y)
        assert tenfold.certify(model, X, y).ok
    with pytest.warns(ConvergenceWarning):
        poor = theirs.LinearSVR(C=1e3, max_iter=3).fit(X, y)
    assert not tenfold.certify(poor, X, y, budget=400).ok


# -- support vectors of linear machines ------------------------------------------------------------------------------


def three_overlapping(n=150, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.standard_normal((n, 4)) + 1.5 * np.eye(3, 4)[y] + 3.0, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_are_sums_over_support_vectors(loss):
    """w = C sum_i s_i g_i y_i x_i: with the hinge loss between those inside the margin, and those and those on it."""
    X, y = three_overlapping()
    two, sign = y != "c", np.where(y == "b", 1.0, -1.0)
    X, y, sign = X[two], y[two], sign[two]
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(X)) * (np.arange(len(X)) % 7 > 0)
    model = tenfold.LinearSVC(loss=loss, C=0.3).fit(X, y, sample_weight=weight)
    found = tenfold.linear_support(model, X, y, weight)
    assert not found.types[weight == 0.0].astype(bool).any()
    np.testing.assert_array_equal(found.support, np.flatnonzero(found.types != ""))
    inside = np.isin(found.types, ("bound", "outlier"))
    slope = inside if loss == "hinge" else 2.0 * np.maximum(0.0, 1.0 - found.margins[:, 0])
    w = 0.3 * (weight * slope * sign) @ X
    if loss == "squared_hinge":
        np.testing.assert_allclose(w, model.coef_[0], atol=1e-4)
        return
    free = found.types == "free"
    rest = lsq_linear(0.3 * ((sign * weight)[free][:, None] * X[free]).T, model.coef_[0] - w, (0.0, 1.0))
    assert rest.cost < 1e-6


@pytest.mark.parametrize(
    "settings", [{}, {"intercept_scaling": 10.0}, {"fit_intercept": False}, {"class_weight": "balanced"}]
)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_sides_of_the_margin_that_are_sure_are_those_of_the_optimum(loss, settings):
    """Weights that are off: margins of the optimum are within what the certificate of the worse weights allows."""
    X, y = three_overlapping()
    best = tenfold.LinearSVC(loss=loss, C=0.1, tol=1e-8, **settings).fit(X, y)
    right = tenfold.linear_support(best, X, y)
    assert right.sure.mean() > 0.9
    rng = np.random.default_rng(2)
    for size in (1e-4, 1e-2):
        worse = copy.deepcopy(best)
        worse.coef_ = best.coef_ + size * rng.standard_normal(best.coef_.shape)
        worse.intercept_ = best.intercept_ + (size * rng.standard_normal(3) if worse.fit_intercept else 0.0)
        found = tenfold.linear_support(worse, X, y)
        assert found.sure.any()
        np.testing.assert_array_equal((found.margins < 1.0)[found.sure], (right.margins < 1.0)[found.sure])
    # a free intercept has no bound
    free = tenfold.LinearSVC(loss=loss, penalize_intercept=False).fit(X, y)
    assert not tenfold.linear_support(free, X, y).sure.any()


def test_support_of_other_models_and_inputs():
    X, y = three_overlapping()
    model = tenfold.LinearSVC().fit(X, y)
    other = theirs.LinearSVC(tol=1e-8, max_iter=10_000).fit(X, y)
    both = [tenfold.linear_support(one, X, y, tol=1e-3) for one in (model, other)]
    np.testing.assert_array_equal(both[0].types, both[1].types)
    assert both[0].margins.shape == both[0].sure.shape == (150, 3)
    dense = tenfold.linear_support(model, X, y)
    thin = tenfold.linear_support(model, sparse.csr_array(X), y)
    np.testing.assert_array_equal(thin.types, dense.types)
    single = X.astype(np.float32)
    assert tenfold.linear_support(tenfold.LinearSVC().fit(single, y), single, y, tol=1e-3).support.size > 0
    with pytest.raises(TypeError, match="LinearSVC"):
        tenfold.linear_support(tenfold.Ridge().fit(X, np.arange(150)), X, y)
    with pytest.raises(TypeError, match="one class against the others"):
        tenfold.linear_support(tenfold.LinearSVC(multi_class="crammer_singer").fit(X, y), X, y)
    with pytest.raises(ValueError, match="does not know"):
        tenfold.linear_support(model, X, np.where(y == "a", "d", y))
    with pytest.raises(ValueError, match="tol must be"):
        tenfold.linear_support(model, X, y, tol=-1.0)
    with pytest.raises(NotFittedError):
        tenfold.linear_support(tenfold.LinearSVC(), X, y)
