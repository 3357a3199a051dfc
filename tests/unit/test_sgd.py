"""The delta rule against a recursion written out: every loss, penalty and schedule, averages, batches, storages."""

import numpy as np
import pytest
from scipy import sparse

from delta_recursion import EPSILON, LOSSES, recursion
from tenfold import _core
from tenfold.data import BatchRows, MemoryRows, NotFinite
from tenfold.data.open_rows import rows as table_of
from tenfold.plans.sgd import Held, Patience, Rule, State, Target, fit, start_at
from tenfold.solvers.loop import Status
from tenfold.stats.derivatives import Params


def data(n=60, p=11, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X @ rng.standard_normal(p) + rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, y


def learn(X, y, rule, epochs, weight=None, **options):
    start = start_at(np.zeros((1, X.shape[1])), np.zeros(1))
    return fit(MemoryRows(X, y[:, None], weight), rule, [Target()], start, max_iter=epochs, **options)


def check(X, y, rule, epochs=3, weight=None, decay=1.0):
    fitted = learn(X, y, rule, epochs, weight)
    dense = X.toarray() if sparse.issparse(X) else X
    w, b, average, objective = recursion(dense, y, rule, epochs, weight, decay=decay)
    np.testing.assert_allclose(fitted.state.last.coef[0], w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted.state.last.intercept, b, rtol=1e-9, atol=1e-12)
    if average is not None:
        np.testing.assert_allclose(fitted.params.coef[0], average[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(fitted.params.intercept, average[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fitted.trace[-1].objective, objective, rtol=1e-9)
    return fitted


every_loss = pytest.mark.parametrize("loss", LOSSES)
PENALTIES = {"none": {}, "l2": {"penalised": True}, "l1": {"penalised": True, "l1_ratio": 1.0}}
PENALTIES["elastic net"] = {"penalised": True, "l1_ratio": 0.3}


@every_loss
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("schedule", ["constant", "optimal", "invscaling"])
def test_dense_rows(loss, penalty, schedule):
    X, y = data()
    check(X, y, Rule(loss, EPSILON, alpha=0.3, schedule=schedule, eta0=0.02, power_t=0.7, **PENALTIES[penalty]))


@every_loss
@pytest.mark.parametrize("penalty", PENALTIES)
def test_sparse_rows(loss, penalty):
    X, y = data()
    X[np.abs(X) < 0.8] = 0.0
    rule = Rule(loss, EPSILON, alpha=0.3, schedule="optimal", average=5, **PENALTIES[penalty])
    check(sparse.csr_array(X), y, rule, decay=0.01)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("batch", [1, 7, 64])
@pytest.mark.parametrize("average", [0, 1, 30])
def test_batches_and_averages(penalty, batch, average):
    X, y = data()
    weight = np.random.default_rng(3).uniform(0.2, 2.0, 60)
    rule = Rule("log_loss", alpha=0.05, schedule="invscaling", eta0=0.5, **PENALTIES[penalty])
    rule = Rule(**{**rule.__dict__, "batch": batch, "average": average})
    fitted = check(X, y, rule, 4, weight)
    assert fitted.state.t == 1 + 4 * -(-60 // batch)


def test_powers_with_a_shortcut():
    X, y = data()
    for power in (0.25, 0.5, 1.0, 0.3):
        check(X, y, Rule("log_loss", schedule="invscaling", eta0=0.5, power_t=power))


def test_a_penalty_so_strong_that_weights_are_put_to_zero():
    X, y = data()
    for ratio in (0.0, 0.5, 1.0):
        check(X, y, Rule("hinge", penalised=True, alpha=20.0, l1_ratio=ratio, schedule="constant", eta0=0.1, average=1))


def test_small_scale_of_the_weights_is_applied():
    """A thousand decays by 0.9 would leave 1e-46 of the scale."""
    X, y = data(200)
    check(X, y, Rule("log_loss", penalised=True, alpha=1.0, schedule="constant", eta0=0.1, average=50), epochs=5)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("p", [1, 3, 8, 17, 64, 101])
def test_every_instruction_set(isa, p):
    best = _core.isa()
    X, y = data(40, p)
    rules = [Rule("log_loss", penalised=True, alpha=0.1, l1_ratio=ratio, average=3, eta0=0.1) for ratio in (0.0, 0.4)]
    try:
        _core.set_isa(isa)
        for rule in rules:
            check(X, y, rule)
            single = learn(X.astype(np.float32), y, rule, 3)
            double = learn(X.astype(np.float32).astype(np.float64), y, rule, 3)
            np.testing.assert_allclose(single.params.coef, double.params.coef, rtol=1e-12)
    finally:
        _core.set_isa(best)


def several(X, number, seeds=None, **options):
    count = int(number.max()) + 1
    targets = [Target(k, seed=None if seeds is None else seeds[k]) for k in range(count)]
    start = start_at(np.zeros((count, X.shape[1])), np.zeros(count))
    rule = Rule("hinge", penalised=True, alpha=0.01, schedule="optimal")
    return fit(MemoryRows(X, number[:, None].astype(float)), rule, targets, start, max_iter=6, **options)


def test_classes_are_learned_one_against_the_rest_whatever_the_threads():
    from threadpoolctl import threadpool_limits

    X, _ = data(3000, 20)
    number = np.random.default_rng(1).integers(0, 4, 3000)
    X += number[:, None]
    fits = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            fits.append(several(X, number, seeds=[5, 6, 7, 8], patience=Patience(1e-4, 2)))
    np.testing.assert_array_equal(fits[0].params.coef, fits[1].params.coef)
    for k in range(4):
        signs = np.where(number == k, 1.0, -1.0)
        start = start_at(np.zeros((1, 20)), np.zeros(1))
        rule = Rule("hinge", penalised=True, alpha=0.01, schedule="optimal")
        one = fit(
            MemoryRows(X, signs[:, None]),
            rule,
            [Target(seed=5 + k)],
            start,
            max_iter=6,
            patience=Patience(1e-4, 2),
        )
        np.testing.assert_array_equal(one.params.coef[0], fits[0].params.coef[k])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_that_are_brought_together_give_the_bits_of_rows_that_are_not(dtype):
    """Large enough that a second thread copies the rows in their order ahead of the learner."""
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 400)).astype(dtype)
    y = rng.integers(0, 2, 6000).astype(float)
    weight = rng.uniform(0.5, 2.0, 6000)
    weight[::9] = 0.0
    skip = (rng.uniform(size=6000) < 0.1).astype(np.uint8)
    rule = Rule("log_loss", penalised=True, alpha=0.01, l1_ratio=0.2, schedule="optimal", average=500)
    fits = []
    for limit in (1, 2, 4):
        with threadpool_limits(limit):
            start = start_at(np.zeros((1, 400)), np.zeros(1))
            rows = MemoryRows(X, y[:, None], weight)
            fits.append(fit(rows, rule, [Target(1, seed=3)], start, max_iter=2, skip=skip))
    for other in fits[1:]:
        np.testing.assert_array_equal(other.params.coef, fits[0].params.coef)
        np.testing.assert_array_equal(other.state.last.coef, fits[0].state.last.coef)
        assert other.trace[-1].objective == fits[0].trace[-1].objective


def test_a_shuffle_takes_every_row_once_and_another_order_each_epoch():
    n = 50
    X, y = np.eye(n), np.ones(n)
    start = start_at(np.zeros((1, n)), np.zeros(1))
    rule = Rule("squared_error", schedule="invscaling", eta0=1.0, power_t=1.0, intercept=False)
    one = fit(MemoryRows(X, y[:, None]), rule, [Target(seed=3)], start, max_iter=1).params.coef[0]
    # the weight of a row is the step size at its turn
    np.testing.assert_allclose(np.sort(1.0 / one), np.arange(1, n + 1), rtol=1e-12)
    assert not np.array_equal(one, np.sort(one)[::-1])
    again = fit(MemoryRows(X, y[:, None]), rule, [Target(seed=3)], start, max_iter=1).params.coef[0]
    np.testing.assert_array_equal(one, again)


def test_a_row_of_weight_zero_is_a_removed_row():
    X, y = data()
    weight = np.random.default_rng(5).uniform(0.5, 2.0, 60)
    weight[::4] = 0.0
    rule = Rule("log_loss", penalised=True, alpha=0.1, schedule="optimal")
    for seed in (None, 9):
        kept = weight > 0
        fits = []
        for rows in (MemoryRows(X, y[:, None], weight), MemoryRows(X[kept], y[kept][:, None], weight[kept])):
            start = start_at(np.zeros((1, 11)), np.zeros(1))
            fits.append(fit(rows, rule, [Target(seed=seed)], start, max_iter=3))
        np.testing.assert_array_equal(fits[0].params.coef, fits[1].params.coef)
        assert fits[0].state.t == fits[1].state.t == 1 + 3 * kept.sum()


def test_rows_in_blocks_are_the_rows_in_memory():
    X, y = data(1000, 5)
    blocks = table_of([(X[:300], y[:300]), (X[300:], y[300:])])
    rule = Rule("log_loss", penalised=True, alpha=0.1, schedule="optimal", average=10)
    start = start_at(np.zeros((1, 5)), np.zeros(1))
    one = fit(BatchRows(blocks, y[:, None]), rule, [Target()], start, max_iter=3)
    np.testing.assert_array_equal(one.params.coef, learn(X, y, rule, 3).params.coef)
    shuffled = fit(BatchRows(blocks, y[:, None]), rule, [Target(seed=2)], start, max_iter=3)
    assert not np.array_equal(one.params.coef, shuffled.params.coef)
    np.testing.assert_allclose(one.params.coef, shuffled.params.coef, atol=0.1)


def test_a_state_is_gone_on_from():
    X, y = data()
    rule = Rule("log_loss", penalised=True, alpha=0.1, schedule="optimal", average=10)
    start = start_at(np.zeros((1, 11)), np.zeros(1))
    rows = MemoryRows(X, y[:, None])
    whole = fit(rows, rule, [Target()], start, max_iter=4)
    for _ in range(4):
        start = fit(rows, rule, [Target()], start, max_iter=1).state
    np.testing.assert_allclose(start.last.coef, whole.state.last.coef, rtol=1e-12)
    np.testing.assert_allclose(start.average.coef, whole.params.coef, rtol=1e-12)
    assert start.t == whole.state.t


def test_patience_ends_a_fit_and_the_adaptive_rate_first_slows_down():
    X, y = data(300)
    constant = Rule("log_loss", penalised=True, alpha=0.01, schedule="constant", eta0=0.05)
    ended = learn(X, y, constant, 1000, patience=Patience(1e-3, 3))
    assert ended.status is Status.CONVERGED
    assert 4 <= ended.iterations < 100
    adaptive = learn(X, y, Rule(**{**constant.__dict__, "schedule": "adaptive"}), 1000, patience=Patience(1e-3, 3))
    assert adaptive.status is Status.CONVERGED
    assert adaptive.iterations > ended.iterations
    limit = learn(X, y, constant, 3, patience=Patience(1e-3, 3))
    assert limit.status is Status.MAX_ITER
    assert limit.iterations == len(limit.trace) == 3


def test_rows_kept_apart_end_a_fit():
    X, y = data(300)
    seen = []
    held = Held(X[200:], y[200:])

    def callback(record, params):
        seen.append(params)
        return False

    rule = Rule("squared_error", penalised=True, alpha=0.01, schedule="constant", eta0=0.01)
    skip = np.zeros(300, dtype=np.uint8)
    skip[200:] = 1
    fitted = learn(X, y, rule, 500, patience=Patience(1e-3, 3), held=held, skip=skip, callback=callback)
    assert fitted.status is Status.CONVERGED
    assert len(seen) == fitted.iterations
    only = learn(X[:200], y[:200], rule, fitted.iterations)
    np.testing.assert_array_equal(fitted.params.coef, only.params.coef)
    scores = []
    for params in seen:
        residual = y[200:] - X[200:] @ params.coef[0] - params.intercept[0]
        scores.append(1 - residual @ residual / np.sum((y[200:] - y[200:].mean()) ** 2))
    assert max(scores[:-3]) + 1e-3 > max(scores[-3:])


def test_overflow_and_values_that_are_not_finite_raise():
    X, y = data()
    rule = Rule("squared_error", schedule="constant", eta0=10.0)
    with pytest.raises(NotFinite, match=r"under-/overflow occurred at epoch #\d+"):
        learn(1e160 * X, y, rule, 1000)
    X[30, 2] = np.nan
    for loss in LOSSES:
        with pytest.raises(NotFinite):
            learn(X, y, Rule(loss, eta0=0.01), 1)
    with pytest.raises(NotFinite):
        learn(sparse.csr_array(np.where(X > 0.5, X, 0.0) + np.where(np.isnan(X), X, 0.0)), y, Rule("hinge"), 1)


def test_time_limit_and_callback_end_a_fit():
    X, y = data()
    rule = Rule("hinge", eta0=0.01)
    assert learn(X, y, rule, 10**6, time_limit=0.05).status is Status.TIME_LIMIT
    stopped = learn(X, y, rule, 100, callback=lambda record, params: True)
    assert stopped.status is Status.STOPPED
    assert stopped.iterations == 1


def test_an_interrupt_keeps_the_last_epoch():
    X, y = data()
    count = []

    def callback(record, params):
        count.append(params)
        if len(count) == 3:
            raise KeyboardInterrupt
        return False

    fitted = learn(X, y, Rule("log_loss", eta0=0.1), 100, callback=callback)
    assert fitted.status is Status.INTERRUPTED
    np.testing.assert_array_equal(fitted.params.coef, learn(X, y, Rule("log_loss", eta0=0.1), 3).params.coef)


def test_certificate_refers_to_certify():
    X, y = data()
    certificate = learn(X, y, Rule("hinge"), 1).certificate
    assert not certificate.ok
    assert certificate.status == "not judged"
    assert "tenfold.certify(model, X, y)" in certificate.explain()


def test_the_state_knows_which_weights_count():
    last, average = Params(np.ones((1, 2)), np.ones(1)), Params(np.zeros((1, 2)), np.zeros(1))
    assert State(last).params(0) is last
    assert State(last, average, 11.0).params(10) is average
    assert State(last, average, 10.0).params(10) is last


def learner(**changes):
    settings = {
        "loss": "hinge",
        "epsilon": 0.1,
        "penalised": True,
        "alpha": 0.1,
        "l1": 0.0,
        "schedule": "optimal",
        "eta0": 1.0,
        "power": 0.5,
        "intercept": True,
        "decay": 1.0,
        "one_class": False,
        "average": 0,
        "batch": 1,
        "own": -1,
        "positive": 1.0,
        "negative": 1.0,
        "coef": np.zeros(2),
        "start": 0.0,
        "t": 1.0,
    }
    return _core.SgdLearner(**{**settings, **changes})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "nonsense"}, "loss is not known"),
        ({"schedule": "nonsense"}, "schedule is not known"),
        ({"alpha": 0.0}, "needs alpha > 0"),
        ({"alpha": -1.0}, "alpha must be at least 0"),
        ({"l1": 1.5}, "l1 between 0 and 1"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"average": -1}, "average must not be negative"),
    ],
)
def test_compiled_loop_raises_for_invalid_rules(changes, message):
    with pytest.raises(ValueError, match=message):
        learner(**changes)


def test_compiled_loop_raises_for_indices_out_of_bounds():
    X, y, one = np.ones((3, 2)), np.ones(3), learner()
    good = (X, y, None, None, [one], 0, 3, 1)
    _core.sgd_scan(*good)
    for place, value, message in [
        (0, np.ones((3, 4)), "one a column"),
        (1, np.ones(2), "y must have one entry a row"),
        (2, np.ones(2), "weight must have one entry a row"),
        (3, np.ones(2, dtype=np.uint8), "skip must have one entry a row"),
        (5, -1, "positions must be within"),
        (6, 4, "positions must be within"),
        (7, 0, "threads must be at least 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.sgd_scan(*(value if k == place else part for k, part in enumerate(good)))
    one.set_order(np.array([0, 5, 1], dtype=np.int32))
    with pytest.raises(ValueError, match="order must be of rows"):
        _core.sgd_scan(*good)
    with pytest.raises(ValueError, match="must not be negative"):
        one.set_order(np.array([-1], dtype=np.int32))
    with pytest.raises(ValueError, match="nothing is averaged"):
        one.resume(np.zeros(2), 0.0, 1.0)
    indices, indptr = np.array([0, 7], dtype=np.int32), np.array([0, 2], dtype=np.int32)
    with pytest.raises(ValueError, match="not a column"):
        _core.sgd_scan_csr(np.ones(2), indices, indptr, 2, np.ones(1), None, None, [learner()], 0, 1, 1)
