"""Perceptrons: the scan beside the recursion written out, ties, means, votes, cycles, exact counts, parts."""

import copy

import numpy as np
import pytest
from scipy import sparse

import tenfold
from estimators import apart, classes
from tenfold import AveragedPerceptron, Perceptron, VotedPerceptron, _core
from tenfold.data import MemoryRows
from tenfold.judge.mistakes import count, exact_sign
from tenfold.problems import Separation
from tenfold.stats.derivatives import Params

XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])


def written_out(X, label, passes, *, classes=2, joint=False, positive=False, normalise=False, batch=False, weight=None):
    """Weights after every row, in the order of the rows: last, mean, and the vectors with the rows they survived."""
    n, p = X.shape
    A = np.column_stack([X, np.ones(n)])
    t = classes if classes > 2 else 1
    W = np.zeros((t, p + 1))
    total, saved = np.zeros_like(W), [(W.copy(), 0)]
    for _ in range(passes):
        before = W.copy()
        for i in range(n):
            x, c = A[i], label[i]
            a = (1.0 if weight is None else weight[i]) / (np.linalg.norm(x) if normalise else 1.0)
            z = (before if batch else W) @ x
            changed = False
            if joint:
                others = np.where(np.arange(t) == c, -np.inf, z)
                rival = t - 1 - np.argmax(others[::-1])
                wrong = z[c] < z[rival] or (z[c] == z[rival] and not (positive and c > rival))
                if wrong:
                    W[c] += a * x
                    W[rival] -= a * x
                    changed = True
            else:
                for k in range(t):
                    own = c == (1 if t == 1 else k)
                    y = 1.0 if own else -1.0
                    if y * z[k] < 0 or (z[k] == 0 and not (positive and own)):
                        W[k] += a * y * x
                        changed = True
            if changed:
                saved.append((W.copy(), 0))
            total += W
            saved[-1] = (saved[-1][0], saved[-1][1] + 1)
    return W, total / (passes * n), saved


VARIANTS = {
    "plain": {},
    "positive": {"positive": True},
    "normalised": {"normalise": True},
    "batch": {"batch": True},
    "weights": {"weight": np.linspace(0.2, 3.0, 40)},
    "joint": {"classes": 3, "joint": True},
    "joint, positive": {"classes": 3, "joint": True, "positive": True},
    "each against the rest": {"classes": 3},
}


def model_of(cls, how, passes):
    settings = {"tie": "positive" if how.get("positive") else "mistake", "normalize": bool(how.get("normalise"))}
    if cls is Perceptron:
        settings |= {"mode": "batch" if how.get("batch") else "online"}
        settings |= {"multi_class": "joint" if how.get("joint") else "ovr"}
    return cls(max_iter=passes, tol=None, shuffle=False, **settings)


@pytest.mark.parametrize("how", VARIANTS)
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.asfortranarray], ids=["dense", "sparse", "fortran"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_scan_is_the_recursion(how, kind, dtype):
    settings = VARIANTS[how]
    # few different numbers: ties are common
    X = np.random.default_rng(0).integers(-2, 3, (40, 3)).astype(dtype)
    label = np.random.default_rng(1).integers(0, settings.get("classes", 2), 40)
    last, _, _ = written_out(X.astype(float), label, 4, **settings)
    model = model_of(Perceptron, settings, 4).fit(kind(X), label, sample_weight=settings.get("weight"))
    result = np.column_stack([model.coef_, model.intercept_])
    np.testing.assert_allclose(result, last, rtol=1e-12 if dtype == np.float64 else 1e-6, atol=1e-12)


@pytest.mark.parametrize("how", ["plain", "positive", "normalised", "weights", "joint", "joint, positive"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_mean_and_the_votes_are_those_of_all_weights(how, kind):
    settings = VARIANTS[how]
    X = np.random.default_rng(0).integers(-2, 3, (40, 3)).astype(float)
    label = np.random.default_rng(1).integers(0, settings.get("classes", 2), 40)
    _, mean, saved = written_out(X, label, 3, **settings)
    weight = settings.get("weight")
    averaged = model_of(AveragedPerceptron, settings, 3).fit(kind(X), label, sample_weight=weight)
    np.testing.assert_allclose(np.column_stack([averaged.coef_, averaged.intercept_]), mean, rtol=1e-12, atol=1e-12)
    voted = model_of(VotedPerceptron, settings, 3).fit(kind(X), label, sample_weight=weight)
    assert voted.votes_.tolist() == [count for _, count in saved[1:]]
    probes = np.random.default_rng(2).standard_normal((30, 3))
    A = np.column_stack([probes, np.ones(30)])
    if settings.get("classes", 2) == 2:
        expected = sum(count * np.sign(A @ W[0]) for W, count in saved[1:]) / voted.votes_.sum()
    else:
        expected = np.zeros((30, 3))
        for W, count in saved[1:]:
            expected[np.arange(30), np.argmax(A @ W.T, axis=1)] += count / voted.votes_.sum()
    np.testing.assert_allclose(voted.decision_function(kind(probes)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("cls", [AveragedPerceptron, VotedPerceptron])
def test_parts_go_on_with_the_mean_and_the_votes(cls):
    X, y, _ = classes(60, 3)
    whole = cls(max_iter=1, shuffle=False).fit(X, y)
    parts = cls(shuffle=False)
    for part in (slice(0, 7), slice(7, 40), slice(40, 60)):
        parts.partial_fit(X[part], y[part], classes=np.unique(y))
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), rtol=1e-12, atol=1e-12)
    assert parts.n_mistakes_ == whole.n_mistakes_
    assert parts.t_ == whole.t_ == 61.0


def test_a_pass_without_mistakes_ends_the_fit_and_the_mean_follows():
    """Two rows between which the weights swing for long: the mean of the first passes is wrong."""
    X, y = np.array([[1.0, -200.0], [-2.0, -200.0]]), np.array([1, 0])
    for cls in (Perceptron, AveragedPerceptron, VotedPerceptron):
        model = cls(shuffle=False, max_iter=100_000, tol=None).fit(X, y)
        assert model.status_ == "converged", cls
        assert model.certificate_.ok, cls
        assert model.score(X, y) == 1.0


@pytest.mark.parametrize("cls", [Perceptron, AveragedPerceptron])
def test_weights_that_come_back_prove_that_classes_cannot_be_separated(cls):
    X, y = XOR
    model = cls(shuffle=False, tol=None).fit(X, y)
    assert model.status_ == "cycling"
    assert model.n_iter_ < 20
    assert not model.certificate_.ok
    assert "no weights separate these classes" in model.certificate_.explain()


def test_a_cycle_by_rounding_proves_nothing():
    """Steps that are lost beside huge weights: the weights stay, but the classes can be separated."""
    X, y = np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([0, 1])
    model = Perceptron(shuffle=False, tol=None, fit_intercept=False).fit(X, y, coef_init=[[1e300, 1e300]])
    assert model.status_ == "cycling"
    assert "no weights separate" not in model.certificate_.explain()
    assert Perceptron(shuffle=False, tol=None, fit_intercept=False).fit(X, y).certificate_.ok


def test_a_cycle_of_one_class_against_the_rest_lets_the_others_learn():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [9.0, 9.0], [9.0, 8.0]])
    y = np.array([0, 0, 1, 1, 2, 2])
    model = Perceptron(shuffle=False, tol=None).fit(X, y)
    assert model.status_ == "cycling"
    z = model.decision_function(X)
    assert np.array_equal(z[:, 2] > 0, y == 2)


def test_exact_signs():
    """Sums that float64 gets wrong."""
    big = np.array([1e16, 1.0, -1e16])
    assert exact_sign([(big, np.ones(3))], [-1.0]) == 0
    assert exact_sign([(big, np.ones(3))], [-1.0 + 1e-16]) == 1
    assert exact_sign([(np.array([1 / 3]), np.array([3.0]))], [-1.0]) == -1
    assert exact_sign([], []) == 0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_mistake_that_rounding_hides_is_counted(kind):
    """float64 says 1/3 * 3 - 1 is 0 or more; it is less than zero."""
    X = np.array([[3.0, 1.0], [3.0, -1.0]])
    params = Params(np.array([[1 / 3, -1.0 + 2.0**-53]]), np.zeros(1))
    rows = MemoryRows(kind(X), np.array([[1.0], [1.0]]))
    z = X @ params.coef[0]
    assert z[0] > 0
    exact = 3 * int((1 / 3) * 2**54) + int((-1.0 + 2.0**-53) * 2**54)
    assert (exact > 0) == (count(Separation(2, False, True), rows, params, status="").value == 0)
    tie = Params(np.array([[1.0, -3.0]]), np.zeros(1))
    assert count(Separation(2, False, True), rows, tie, status="").value == 1
    assert count(Separation(2, False, True, positive=True), rows, tie, status="").value == 0


def test_margins_of_the_certificate():
    X, y, _ = apart(40, 3)
    model = Perceptron(max_iter=5000, tol=None).fit(X, y)
    sign = np.where(y == "bee", 1.0, -1.0)
    margin = np.min(sign * model.decision_function(X)) / np.linalg.norm(model.coef_)
    assert f"The smallest margin is {margin:.3g}" in model.certificate_.note


def test_the_trace_of_parts_is_not_copied():
    X, y, _ = classes(60, 3)
    model = Perceptron().partial_fit(X[:20], y[:20], classes=np.unique(y))
    trace = model.trace_
    model.partial_fit(X[20:40], y[20:40]).partial_fit(X[40:], y[40:])
    assert model.trace_ is trace
    assert sum(line.mistakes for line in trace) == model.n_mistakes_
    model.trace_ = tuple(trace)  # as an older file has it
    assert len(model.partial_fit(X[:20], y[:20]).trace_) == 4


def test_the_rows_that_were_mistakes_are_kept():
    X, y, _ = classes(60, 3)
    model = Perceptron(max_iter=3, tol=None, record=True).fit(X, y)
    assert len(model.mistakes_) == model.n_mistakes_ == sum(line.mistakes for line in model.trace_)
    sign = np.where(y == "bee", 1.0, -1.0)
    w = np.sum(sign[model.mistakes_, None] * X[model.mistakes_], axis=0)
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12)
    assert not hasattr(model.set_params(record=False).fit(X, y), "mistakes_")


def test_orders_are_permutations_and_differ():
    for n in (0, 1, 2, 1000):
        assert np.array_equal(np.sort(_core.permutation(n, 3)), np.arange(n))
    assert not np.array_equal(_core.permutation(1000, 3), _core.permutation(1000, 4))
    counts = np.zeros((4, 4))
    for seed in range(4000):
        counts[np.arange(4), _core.permutation(4, seed)] += 1
    assert np.all(np.abs(counts - 1000) < 130)


def test_random_orders_depend_on_the_seed_alone():
    X, y, _ = classes(200, 4)
    a, b, c = (Perceptron(random_state=seed).fit(X, y).coef_ for seed in (0, 0, 1))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


def test_files_are_learned_from_block_by_block(monkeypatch):
    from tenfold.data import blocks

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 10)
    X, y, _ = apart(700, 3)
    result = tenfold.rows([(X[:100], y[:100]), (X[100:], y[100:])])
    for cls in (Perceptron, AveragedPerceptron, VotedPerceptron):
        model = cls(max_iter=3000, tol=None).fit(result)
        assert model.certificate_.ok
        assert model.score(result) == 1.0
        assert np.array_equal(model.predict(result), model.predict(X))


def test_held_back_rows_are_not_learned_from():
    X, y, _ = apart(60, 3)
    X[0] = 1e9  # would dominate the weights
    chosen = [k for k in range(40) if _is_held_out(X, y, k)]
    model = Perceptron(early_stopping=True, random_state=chosen[0], shuffle=False).fit(X, y)
    assert np.abs(model.coef_).max() < 1e6


def _is_held_out(X, y, seed):
    from sklearn.model_selection import StratifiedShuffleSplit

    return 0 in next(StratifiedShuffleSplit(test_size=0.1, random_state=seed).split(X, y))[1]


@pytest.mark.parametrize("cls", [Perceptron, AveragedPerceptron, VotedPerceptron])
def test_bad_parts(cls):
    X, y, _ = classes(60, 3)
    with pytest.raises(ValueError, match="classes must be passed"):
        cls().partial_fit(X, y)
    model = cls().partial_fit(X, y, classes=["ant", "bee"])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(X, y, classes=["ant", "cow"])
    with pytest.raises(ValueError, match="not named"):
        model.partial_fit(X, np.full(60, "cow"))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)
    with pytest.raises(ValueError, match="balanced"):
        cls(class_weight="balanced").partial_fit(X, y, classes=["ant", "bee"])
    before = model.decision_function(X)
    bad = X.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(bad, y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_bad_starts():
    X, y, _ = classes(60, 3)
    with pytest.raises(ValueError, match="coef_init has shape"):
        Perceptron().fit(X, y, coef_init=np.ones((2, 3)))
    with pytest.raises(ValueError, match="intercept_init has shape"):
        Perceptron().fit(X, y, intercept_init=np.ones(2))
    model = Perceptron(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="warm_start=False"):
        model.fit(X[:, :2], y)


def test_compiled_scan_raises_for_shapes_that_do_not_fit():
    one = np.ones(1)
    state = _core.Perceptron(np.zeros((1, 2)), np.zeros(1), 1.0, "intercept")
    X, order, label = np.zeros((3, 2)), np.arange(3), np.zeros(3, np.int32)
    for change in ({"X": np.zeros((3, 1))}, {"order": np.array([0, 3])}, {"label": label + 2}, {"weight": one}):
        given = {"X": X, "order": order, "label": label, "weight": None, "counts": False, "keep": False, "threads": 1}
        given |= change
        with pytest.raises(ValueError, match="must"):
            state.scan(**given)
    for index in (2, -1):
        compressed = {"data": one, "indices": np.array([index], np.int32), "indptr": np.array([0, 1], np.int32), "p": 2}
        rest = {"order": order[:1], "label": label[:1], "weight": None, "counts": False, "keep": False, "threads": 1}
        with pytest.raises(ValueError, match="not a column"):
            state.scan_csr(**compressed, **rest)
    with pytest.raises(ValueError, match="two targets"):
        _core.Perceptron(np.zeros((1, 2)), np.zeros(1), 1.0, "joint")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_in_turn_find_the_bits_of_one(dtype, monkeypatch):
    """Enough rows for several threads to take turns."""
    X, y, _ = apart(70_000, 20)
    X = np.asarray(X, dtype=dtype)
    result = []
    for number in (1, 2, 3):
        monkeypatch.setattr("tenfold.solvers.perceptron.threads", lambda entries, number=number: number)
        result.append(Perceptron(max_iter=2, tol=None).fit(X, y))
    for other in result[1:]:
        np.testing.assert_array_equal(other.coef_, result[0].coef_)
        assert other.n_mistakes_ == result[0].n_mistakes_ > 0


@pytest.mark.parametrize("several", [2, 3])
def test_votes_other_than_those_of_predict_are_not_certified(several):
    rng = np.random.default_rng(several)
    y = np.arange(60) % several
    X = 4.0 * rng.standard_normal((several, 4))[y] + 0.1 * rng.standard_normal((60, 4))
    model = VotedPerceptron().fit(X, y)
    assert tenfold.certify(model, X, y).ok
    for name in ("votes_", "support_vectors_", "coef_", "intercept_"):
        other = copy.deepcopy(model)
        setattr(other, name, 1.001 * getattr(model, name))
        assert not tenfold.certify(other, X, y).ok, name
