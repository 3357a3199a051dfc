"""k-means: the compiled loops, bounds that skip work, empty clusters, bad input, and the siblings."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import tenfold
from tenfold import BisectingKMeans, KMeans, MiniBatchKMeans, OnlineKMeans, _core
from tenfold.bounds import kmeans_energy
from tenfold.data import Block, MemoryRows
from tenfold.judge.bisection import bisection_sums
from tenfold.judge.kmeans_assignment import check_assignment
from tenfold.pairwise.centres import Farthest, assign_in_arrays, find_farthest


def brute(X, centres):
    """Squared distances by differences in float64."""
    return np.sum((np.asarray(X, dtype=np.float64)[:, None] - centres[None]) ** 2, axis=-1)


def blobs(n=600, p=5, k=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) + 6.0 * rng.standard_normal((k, p))[np.arange(n) % k]


@pytest.fixture(params=_core.available_isas())
def isa(request):
    before = _core.isa()
    _core.set_isa(request.param)
    yield request.param
    _core.set_isa(before)


@pytest.mark.parametrize(("n", "p", "k"), [(200, 1, 3), (333, 33, 100), (70, 130, 17), (50, 2, 1)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_are_those_of_float64(isa, n, p, k, dtype):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, p)) + 30.0).astype(dtype)
    centres = np.ascontiguousarray(X[:k] + rng.standard_normal((k, p)) * 1e-3, dtype=np.float64)
    number, square = _core.nearest_centres(X, centres, 2)
    expected = brute(X, centres)
    np.testing.assert_array_equal(number, expected.argmin(axis=1))
    np.testing.assert_allclose(square, expected.min(axis=1), rtol=1e-12)


def test_near_ties_are_decided_in_float64(isa):
    """Centres that differ by less than float32 can tell, and rows half way between two of them."""
    centres = np.array([[1.0, 0.0], [1.0 + 1e-12, 0.0], [3.0, 0.0], [3.0, 0.0]])
    X = np.array([[1.0, 5.0], [1.0 + 1e-12, 5.0], [2.0, 1.0], [2.0 + 1e-11, 1.0], [9.0, 0.0]])
    number, _ = _core.nearest_centres(X, centres, 1)
    np.testing.assert_array_equal(number, brute(X, centres).argmin(axis=1))


@pytest.mark.parametrize("storage", ["dense", "float32", "sparse"])
def test_the_judge_assigns_rows_by_products_of_its_own(isa, storage):
    """On a grid, where rows are half way between centres, the first of equals counts for the judge, too."""
    rng = np.random.default_rng(0)
    X = np.round(2.0 * rng.standard_normal((500, 4)))
    X = X.astype(np.float32) if storage == "float32" else X
    weight, centres, place = rng.integers(0, 3, 500).astype(np.float64), X[:60].astype(np.float64), np.full(4, 0.5)
    number, square = brute(X, centres).argmin(axis=1), brute(X, centres).min(axis=1)
    block = Block(sparse.csr_array(X) if storage == "sparse" else X, np.zeros((500, 0)), weight)
    result = check_assignment(centres, place)(block)
    np.testing.assert_array_equal(result.weight, np.bincount(number, weight, 60))
    np.testing.assert_allclose(result.energy, np.sum(weight * square), rtol=1e-12)
    expected = [np.sum((weight[:, None] * (X - place))[number == k], axis=0) for k in range(60)]
    np.testing.assert_allclose(result.sums, expected, rtol=1e-12, atol=1e-12)


def test_the_judge_does_not_believe_the_loop_of_the_fit(monkeypatch):
    """Rows that go to the second of two centres whatever their distance: the fit believes it, the certificate not."""
    X, right = blobs(), _core.LloydHamerly

    class Wrong:
        def __init__(self, X, weight):
            self.rows, self.right = X, right(X, weight)

        def step(self, centres, place, threads):
            return np.array([1e-3, float(len(self.rows))]), np.stack([np.zeros(5), np.sum(self.rows - place, axis=0)])

        def steps(self, centres, place, *rule):
            weight, sums = self.step(centres, place, 1)
            return (place + sums / weight[:, None])[None], weight[None], np.ones(1), np.zeros(1)

        def sum_again(self, place, threads):
            return self.step(None, place, threads)

    monkeypatch.setattr(_core, "LloydHamerly", Wrong)
    with pytest.warns(ConvergenceWarning):
        model = KMeans(2, random_state=0).fit(X)
    assert not model.certificate_.ok


def test_steps_in_one_call_are_steps_one_by_one():
    X = np.random.default_rng(7).standard_normal((900, 5))
    start, place = X[:6].copy(), X.mean(axis=0)
    scatter = float(np.sum((X - place) ** 2))
    together, alone = _core.LloydHamerly(X, None), _core.LloydHamerly(X, None)
    centres, weights, energies, measures = together.steps(start, place, scatter, 1e-9, 1e-9, 40, 1)
    assert 5 < len(centres) <= 40
    assert measures[:-1].min() > 1.0
    now = start
    for after, weight, energy in zip(centres, weights, energies, strict=True):
        count, sums = alone.step(now, place, 1)
        np.testing.assert_array_equal(count, weight)
        now = place + sums / count[:, None]
        np.testing.assert_allclose(after, now, rtol=1e-13, atol=1e-13)
        nearest = brute(X, now).argmin(axis=1)
        own = sum(np.sum((X[nearest == k] - now[k]) ** 2) for k in range(6))
        assert energy >= own * (1.0 - 1e-12)  # that of the assignment before
    empty = np.vstack([start[:5], np.full(5, 1e6)])
    assert len(together.steps(empty, place, scatter, 1e-9, 1e-9, 40, 1)[0]) == 0


@pytest.mark.parametrize("storage", ["dense", "float32", "sparse"])
def test_the_judge_of_a_bisection_reads_every_split(storage):
    rng = np.random.default_rng(3)
    X = np.round(2.0 * rng.standard_normal((300, 4)), 1)
    X = X.astype(np.float32) if storage == "float32" else X
    kept = sparse.csr_array(X) if storage == "sparse" else X
    weight = rng.integers(0, 3, 300).astype(np.float64)
    tree = [(1, 2), (3, 4), (-1, -1), (-1, -1), (-1, -1)]  # the leaves from left to right are 3, 4, 2
    nodes = rng.standard_normal((5, 4))
    labels = rng.integers(0, 3, 300).astype(np.int32)
    rows = MemoryRows(kept, np.zeros((300, 0)), weight)
    found = bisection_sums(rows, tree, nodes, labels, 2.0**-53)
    X, astray = X.astype(np.float64), np.zeros(300, dtype=bool)
    for node, below in ((0, np.ones(300, dtype=bool)), (1, labels < 2)):
        pair = nodes[list(tree[node])]
        squares, middle = brute(X, pair), pair.mean(axis=0)
        second = labels == 2 if node == 0 else labels == 1
        astray |= below & np.where(second, squares[:, 1] > squares[:, 0], squares[:, 0] > squares[:, 1])
        assert found.energy[node] == pytest.approx(np.sum((weight * squares.min(axis=1))[below]))
        for half, child in enumerate(tree[node]):
            own = below & (squares.argmin(axis=1) == half)
            assert found.weight[child] == np.sum(weight[own])
            sums = (weight[:, None] * (X - middle))[own].sum(axis=0)
            np.testing.assert_allclose(found.sums[child], sums, rtol=1e-12, atol=1e-12)
    leaf = np.array([3, 4, 2])[labels]
    assert found.leaves == pytest.approx(np.sum(weight * np.sum((X - nodes[leaf]) ** 2, axis=1)))
    assert found.astray == astray.sum() > 0
    wrong = np.array([1, 0, -1]), np.array([2, 2, -1]), np.full(300, 2)
    with pytest.raises(ValueError, match="children"):
        _core.bisection_sums(np.zeros((300, 4)), None, nodes[:3], *wrong, 1.0, 1)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_any_scale_of_the_columns(scale):
    X, centres = blobs() * scale, blobs(6, seed=1) * scale
    number, _ = _core.nearest_centres(X, centres, 1)
    np.testing.assert_array_equal(number, brute(X / scale, centres / scale).argmin(axis=1))


def test_a_row_far_beyond_float32_is_compared_in_float64():
    X = np.array([[1e60, 0.0], [0.0, 1e60], [1.0, 1.0]])
    centres = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert _core.nearest_centres(X, centres, 1)[0].tolist() == [0, 0, 0]  # their distances are equal in float64


@pytest.mark.parametrize("k", [3, 40, 700])
@pytest.mark.parametrize("storage", ["dense", "float32", "sparse"])
def test_bounds_change_nothing_but_the_work(k, storage):
    rng = np.random.default_rng(0)
    X = blobs(2100, 8, 12)
    weight = rng.integers(0, 3, len(X)).astype(np.float64)
    X = X.astype(np.float32) if storage == "float32" else X
    S = sparse.csr_array(X)
    ours = (
        _core.LloydHamerly(S.data, S.indices, S.indptr, 8, weight)
        if storage == "sparse"
        else _core.LloydHamerly(X, weight)
    )
    place, centres = X.mean(axis=0, dtype=np.float64), X[:k].astype(np.float64)
    work = []
    for step in range(30):
        now, sums = ours.step(centres, place, 1 + step % 2)
        again, sums_again = ours.sum_again(place, 2)
        if storage == "sparse":
            expected = _core.kmeans_assign_csr(S.data, S.indices, S.indptr, 8, weight, centres, place, 1)
        else:
            expected = _core.kmeans_assign(X, weight, centres, place, 1)
        np.testing.assert_array_equal(again, expected[0])
        np.testing.assert_array_equal(sums_again, expected[1])
        np.testing.assert_allclose(now, again, rtol=1e-12)
        np.testing.assert_allclose(sums, sums_again, rtol=1e-9, atol=1e-9)
        centres = np.where(now[:, None] > 0, place + sums / np.where(now > 0, now, 1.0)[:, None], centres)
        work.append(ours.compared)
    assert work[-1] < 0.5 * work[0]


def test_the_lift_in_the_array_api_is_the_compiled_one():
    rng = np.random.default_rng(0)
    X, weight = blobs(), rng.integers(0, 3, 600).astype(np.float64)
    centres, place = X[:7].copy(), X.mean(axis=0)
    slow = assign_in_arrays(centres, place, Block(X, np.zeros((600, 0)), weight)).result()
    fast = _core.kmeans_assign(X, weight, centres, place, 2)
    np.testing.assert_array_equal(slow.weight, fast[0])
    np.testing.assert_allclose(slow.sums, fast[1], atol=1e-10)
    assert slow.energy == pytest.approx(fast[2], rel=1e-12)


def test_wrong_arguments_of_the_loops_are_sentences():
    X = np.zeros((3, 2))
    with pytest.raises(ValueError, match="centres must be"):
        _core.nearest_centres(X, np.zeros((2, 3)), 1)
    with pytest.raises(ValueError, match="one entry a row"):
        _core.kmeans_assign(X, np.zeros(2), X, np.zeros(2), 1)
    with pytest.raises(ValueError, match="column index"):
        _core.nearest_centres_csr(np.ones(1), np.array([7]), np.array([0, 1]), 2, X, 1)
    with pytest.raises(ValueError, match="number of a row"):
        _core.kmeans_plusplus(X, None, 3, np.zeros((1, 1)), 1)
    with pytest.raises(ValueError, match="been a step"):
        _core.LloydHamerly(X, None).sum_again(np.zeros(2), 1)


def test_the_furthest_rows_are_different_ones_in_any_order():
    X = np.repeat([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0], [1.0, 0.0]], [1, 3, 2, 1], axis=0)
    centres = np.zeros((1, 2))
    lift = find_farthest(centres, 2)
    whole = lift(Block(X, np.zeros((7, 0))))
    assert whole.rows.tolist() == [[0.0, 5.0], [5.0, 0.0]]
    assert whole.weight.tolist() == [2.0, 3.0]
    parts = [lift(Block(part, np.zeros((len(part), 0)))) for part in (X[:2:-1].copy(), X[2::-1].copy())]
    merged: Farthest = parts[0].merge(parts[1])
    assert merged.rows.tolist() == whole.rows.tolist()
    assert merged.weight.tolist() == whole.weight.tolist()


def test_empty_clusters_are_relocated():
    X = np.concatenate([blobs(300, 2, 3, seed=4), [[60.0, 60.0], [-60.0, 60.0]]])
    start = np.concatenate([X[:3], np.full((2, 2), 1e3)])  # nothing is near the last two
    model = KMeans(5, init=start).fit(X)
    assert np.bincount(model.labels_, minlength=5).min() > 0
    assert any(np.allclose(centre, [60.0, 60.0]) for centre in model.cluster_centers_)
    assert np.all(np.diff(model.trace_) <= 1e-9 * model.trace_[0])


@pytest.mark.parametrize("X", [np.ones((5, 2)), np.repeat([[0.0, 1.0], [2.0, 3.0]], 3, axis=0)], ids=["equal", "two"])
def test_more_clusters_than_different_rows(X):
    with pytest.warns(
        ConvergenceWarning, match=r"Number of distinct clusters \(\d\) found smaller than n_clusters \(3\)"
    ):
        model = KMeans(3, random_state=0).fit(X)
    assert model.inertia_ == 0.0
    assert model.certificate_.ok
    assert "no rows" in model.certificate_.explain()


@pytest.mark.parametrize("cls", [KMeans, MiniBatchKMeans, OnlineKMeans, BisectingKMeans])
def test_bad_input(cls):
    X = blobs(20)
    with pytest.raises(ValueError, match="n_samples=20 should be >= n_clusters=21"):
        cls(21).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        cls(3).fit(np.where(X > 5.0, np.nan, X))
    with pytest.raises(ValueError, match="as many rows of positive weight, and there are 2"):
        cls(3).fit(X, sample_weight=np.arange(20) < 2)
    with pytest.raises(ValueError, match="at least one non-zero"):
        cls(3).fit(X, sample_weight=np.zeros(20))
    with pytest.raises(ValueError, match=r"(?i)negative values"):
        cls(3).fit(X, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="'n_clusters' parameter"):
        cls(0).fit(X)
    if cls is not BisectingKMeans:
        with pytest.raises(ValueError, match="does not match the number of clusters 3"):
            cls(3, init=X[:2]).fit(X)
        with pytest.raises(ValueError, match="does not match the number of features of the data 5"):
            cls(3, init=X[:3, :4]).fit(X)
    with pytest.raises(ValueError, match="does not match the number of clusters"):
        cls(3, init=lambda X, k, random_state: X[: k + 1]).fit(X)


def test_values_that_overflow_raise():
    with pytest.raises(ValueError, match="Divide the columns"):
        KMeans(2).fit(blobs(20) * 1e200)


def test_warnings_of_scikit_learn():
    X = blobs(30)
    with pytest.warns(RuntimeWarning, match="performing only one init in KMeans instead of n_init=4"):
        KMeans(2, init=X[:2], n_init=4).fit(X)
    with pytest.warns(RuntimeWarning, match="single cluster"):
        KMeans(1, algorithm="elkan").fit(X)
    with pytest.warns(RuntimeWarning, match="init_size=2 should be larger"):
        MiniBatchKMeans(3, init_size=2).fit(X)


def test_a_step_too_few_is_not_certified():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        model = KMeans(8, max_iter=1, random_state=0).fit(X)
    assert not model.certificate_.ok
    assert model.n_iter_ == 1


def test_decrease_equals_a_slow_formula():
    rng = np.random.default_rng(0)
    X, weight = blobs(), rng.uniform(0.0, 2.0, 600)
    model = KMeans(4, random_state=0).fit(X, sample_weight=weight)
    model.cluster_centers_ = model.cluster_centers_ + 0.3 * rng.standard_normal((4, 5))
    D = brute(X, model.cluster_centers_)
    label, before = D.argmin(axis=1), weight @ D.min(axis=1)
    means = np.array([np.average(X[label == k], axis=0, weights=weight[label == k]) for k in range(4)])
    assert np.isinf(tenfold.certify(model, X, sample_weight=weight).value)  # labels and inertia of other centres
    model.labels_, model.inertia_ = label, float(before)
    result = tenfold.certify(model, X, sample_weight=weight)
    assert not result.ok
    assert result.value == pytest.approx(before - weight @ brute(X, means).min(axis=1), rel=1e-9)
    assert result.objective == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_lower_bound_is_below_the_best_of_all_clusterings(k):
    """All assignments of seven points: none has an energy below the bound, which is exact for one cluster."""
    X = np.random.default_rng(k).standard_normal((7, 4))
    best = np.inf
    for code in range(k**7):
        label = np.array([code // k**i % k for i in range(7)])
        best = min(best, sum(np.sum((X[label == c] - X[label == c].mean(axis=0)) ** 2) for c in set(label)))
    model = KMeans(k, random_state=0, n_init=20).fit(X)
    bound = tenfold.certify(model, X).lower_bound
    assert 0.0 < bound <= best * (1 + 1e-12) <= model.inertia_ * (1 + 1e-9)
    if k == 1:
        assert bound == pytest.approx(best, rel=1e-12)


def test_online_is_the_running_mean_of_the_rows_of_each_centre():
    X, counts = np.random.default_rng(9).standard_normal((600, 5)), np.zeros(3)
    centres = X[:3].copy()
    slow = centres.copy()
    for row in X:
        k = int(np.argmin(np.sum((slow - row) ** 2, axis=1)))
        counts[k] += 1.0
        slow[k] += (row - slow[k]) / counts[k]
    whole = OnlineKMeans(3, init=centres).fit(X)
    np.testing.assert_allclose(whole.cluster_centers_, slow, rtol=1e-12)
    np.testing.assert_array_equal(whole.counts_, counts)
    parts = OnlineKMeans(3, init=centres)
    for some in (X[:7], X[7:8], X[8:]):
        parts.partial_fit(some)
    np.testing.assert_allclose(parts.cluster_centers_, slow, rtol=1e-12)
    files = OnlineKMeans(3, init=centres).fit(tenfold.rows([X[:100], X[100:]]))
    np.testing.assert_array_equal(files.cluster_centers_, whole.cluster_centers_)
    there = OnlineKMeans(3, init=centres).fit(sparse.csr_matrix(X))
    np.testing.assert_allclose(there.cluster_centers_, slow, rtol=1e-9)
    assert whole.certificate_.status == "not judged"
    assert not tenfold.certify(whole, X).ok


def test_partial_fit_wants_the_columns_of_the_first_part():
    for cls in (MiniBatchKMeans, OnlineKMeans):
        model = cls(3, random_state=0).partial_fit(blobs(50))
        with pytest.raises(ValueError, match="expecting 5 features"):
            model.partial_fit(blobs(50)[:, :4])


def test_threads_change_no_bits():
    rng = np.random.default_rng(0)
    from threadpoolctl import threadpool_limits

    X = rng.standard_normal((20_000, 6))
    result = []
    for count in (1, 2):
        with threadpool_limits(count), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result.append(KMeans(9, random_state=0, max_iter=6).fit(X))
    np.testing.assert_array_equal(result[0].cluster_centers_, result[1].cluster_centers_)
    assert result[0].inertia_ == result[1].inertia_


def test_verbose_prints_what_scikit_learn_prints(capsys):
    X = blobs()
    KMeans(3, random_state=0, verbose=1, n_init=2).fit(X)
    said = capsys.readouterr().out
    assert said.count("Initialization complete") == 2
    assert "Iteration 0, inertia " in said
    assert said.count("Converged at iteration") == 2
    assert "strict convergence." in said or " within tolerance " in said
    KMeans(3, init=X[:3], n_init=1, tol=0.3, verbose=1).fit(X)
    assert " within tolerance " in capsys.readouterr().out
    BisectingKMeans(3, random_state=0, verbose=1).fit(X)
    said = capsys.readouterr().out
    assert said.count("New centroids from bisection: [[") == 2
    assert said.count("Converged at iteration") == 2
    assert "Iteration 0, inertia" in said
    MiniBatchKMeans(3, random_state=0, verbose=1, n_init=2, batch_size=100).fit(X)
    said = capsys.readouterr().out
    assert "Inertia for init 2/2: " in said
    assert "Minibatch step 1/" in said
    assert ", ewa inertia: " in said
    assert "Converged (lack of improvement in inertia) at step" in said


def test_no_centres_are_below_the_bound():
    rng = np.random.default_rng(0)
    X = blobs(200, 4, 3)
    weight = rng.integers(1, 4, 200).astype(np.float64)
    for k in (1, 2, 3, 4):
        model = KMeans(k, random_state=0, n_init=3).fit(X, sample_weight=weight)
        assert kmeans_energy(X, k, weight) <= model.inertia_ * (1.0 + 1e-12)
        assert model.certificate_.lower_bound == pytest.approx(kmeans_energy(X, k, weight), rel=1e-9)
    assert kmeans_energy(X, 1, weight) == pytest.approx(KMeans(1).fit(X, sample_weight=weight).inertia_)
    assert kmeans_energy(X, 9) == 0.0
    with pytest.raises(ValueError, match="one number for each of 200 rows"):
        kmeans_energy(X, 2, weight[:3])
    with pytest.raises(ValueError, match="finite numbers"):
        kmeans_energy(X * np.nan, 2)
