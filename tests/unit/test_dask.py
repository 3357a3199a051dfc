"""Rows in Dask arrays: what a pass asks of Dask, the tree by which it merges, and every layout of chunks the same."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from tenfold.data import MemoryRows, block_length
from tenfold.stats.column_moments import Columns
from tenfold.stats.min_max import of_columns
from tenfold.stats.moments import GroupedMoments, Moments
from tenfold.stats.rfactor import RFactor

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
from tenfold.data.dask import (  # noqa: E402
    Carried,
    ClusterError,
    DaskRows,
    align,
    distinct,
    matrix,
    place_of,
)


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def numbers(n=60, p=4, t=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) + 0.3
    return X, X @ rng.standard_normal((p, t)) + rng.standard_normal((n, t)), rng.uniform(0.1, 2.0, n)


def on_dask(X, y, weight=None, chunks=17):
    return DaskRows.of(matrix(da.from_array(X, chunks=(chunks, -1))), y, weight)


LAYOUTS = {
    "one": (60,),
    "even": (20, 20, 20),
    "odd": (7, 19, 1, 33),
    "empty": (0, 25, 0, 0, 35, 0),
    "single rows": (1,) * 60,
}
layouts = pytest.mark.parametrize("chunks", LAYOUTS.values(), ids=LAYOUTS.keys())


@dataclass(frozen=True)
class Tree:
    """A statistic that remembers how it was merged."""

    shape: object

    def merge(self, other):
        return Tree((self.shape, other.shape))


def first_of(block):
    return Tree(int(block.X[0, 0]))


def test_the_tree_is_binary_and_by_position():
    X = np.arange(7.0)[:, None]
    rows = on_dask(X, X, chunks=1)
    assert rows.fold(first_of).shape == (((0, 1), (2, 3)), ((4, 5), 6))


def test_a_pass_is_one_computation_of_one_key(monkeypatch):
    calls = []
    compute = dask.compute

    def counting(*args, **kwargs):
        calls.append(args)
        return compute(*args, **kwargs)

    rows = on_dask(*numbers(), chunks=5)
    monkeypatch.setattr(dask, "compute", counting)
    rows.fold(Moments.lift)
    ((value,),) = calls
    assert len(value.__dask_keys__()) == 1
    # a lift a chunk and a merge less, and what they do
    assert sum("tenfold" in str(key) for key in value.__dask_graph__()) == 12 + 11 + 2


STATISTICS = {
    "moments": Moments.lift,
    "columns": Columns.lift,
    "groups": GroupedMoments.lifter(3),
    "triangular factor": RFactor.lifter(np.zeros(6), np.ones(6)),
}


def close(result, expected):
    if isinstance(expected, GroupedMoments):
        return all(close(a, b) for a, b in zip(result.groups, expected.groups, strict=True))
    if isinstance(expected, RFactor):
        return np.allclose(result.R.T @ result.R, expected.R.T @ expected.R, rtol=1e-12)
    names = ("weight", "mean", "XX") if isinstance(expected, Moments) else ("weight", "mean", "spread")
    return all(np.allclose(getattr(result, name), getattr(expected, name), rtol=1e-12) for name in names)


@layouts
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_statistics_are_those_of_memory(chunks, weighted, statistic):
    X, y, weight = numbers(t=2)
    weight = weight if weighted else None
    group = (np.arange(60) % 3).astype(np.int32)
    lift = STATISTICS[statistic]
    rows = on_dask(X, y, weight, chunks=(chunks,)[0]).regroup(group)
    assert rows.X.chunks[0] == chunks
    assert close(rows.fold(lift), MemoryRows(X, y, weight, group).fold(lift))


def test_extremes_of_empty_chunks():
    X, y, _ = numbers()
    result = on_dask(X, y, chunks=LAYOUTS["empty"]).fold(of_columns)
    np.testing.assert_array_equal(result.low, X.min(axis=0))
    np.testing.assert_array_equal(result.high, X.max(axis=0))


def count(block):
    return Tree(block.X.shape[0])


def test_a_large_chunk_is_read_in_blocks():
    p = 1 << 12
    length = block_length(p, sparse=False)
    X = np.zeros((2 * length + 3, p), np.float32)
    rows = on_dask(X, X[:, :1], chunks=len(X))
    assert rows.fold(count).shape == ((length, length), 3)


def test_threads_do_not_change_a_bit():
    X, y, weight = numbers(n=5000, p=30)
    rows = on_dask(X, y, weight, chunks=300)
    plain = rows.fold(Moments.lift)
    for workers in (1, 3, 8):
        with dask.config.set(scheduler="threads", num_workers=workers):
            result = rows.fold(Moments.lift)
        assert result.XX.tobytes() == plain.XX.tobytes()
        assert result.offset.tobytes() == plain.offset.tobytes()


@layouts
@pytest.mark.parametrize("step", [1, 3, 9, 81])
def test_subsample_takes_every_kth_sample(chunks, step):
    X, y, weight = numbers()
    group = np.arange(60, dtype=np.int32)
    every_kth = on_dask(X, y, weight, chunks=chunks).regroup(group).subsample(step)
    for result, expected in ((every_kth.X, X), (every_kth.y, y), (every_kth.weight, weight), (every_kth.group, group)):
        np.testing.assert_array_equal(result.compute(), expected[::step])
    assert every_kth.X.chunks[0] == every_kth.y.chunks[0] == every_kth.weight.chunks[0] == every_kth.group.chunks[0]
    every_kth.fold(Moments.lift)


def test_a_sample_is_read_once():
    read = []

    def reading(x):
        read.append(len(x))
        return x

    X, y, _ = numbers()
    lazy = da.from_array(X, chunks=(20, -1)).map_blocks(reading, meta=np.zeros((0, 0)))
    rows = DaskRows.of(matrix(lazy), y)
    dense = rows.subsample(3)
    assert len(read) == 3
    sparser = rows.subsample(9)
    assert rows.subsample(3) is dense
    sparser.fold(Moments.lift)
    assert len(read) == 3
    np.testing.assert_array_equal(sparser.X.compute(), X[::9])
    assert len(sparser.X.chunks[0]) == 1


def test_other_targets_have_other_samples():
    X, y, _ = numbers()
    rows = on_dask(X, y)
    rows.subsample(3)
    np.testing.assert_array_equal(rows.retarget(2 * y).subsample(3).y.compute(), 2 * y[::3])


def predictions(block):
    return block.X @ np.ones(4) + block.y[:, 0]


def two_columns(block):
    return block.X[:, :2] * block.weight[:, None]


def test_map_is_lazy_and_gives_one_result_a_row():
    X, y, weight = numbers()
    rows = on_dask(X, y, weight)
    flat, wide = rows.map(predictions), rows.map(two_columns)
    assert isinstance(flat, da.Array)
    assert (flat.shape, wide.shape) == ((60,), (60, 2))
    assert flat.chunks[0] == wide.chunks[0] == rows.X.chunks[0]
    np.testing.assert_allclose(flat.compute(), X.sum(axis=1) + y[:, 0])
    np.testing.assert_allclose(wide.compute(), X[:, :2] * weight[:, None])


def test_scan_carries_a_state_in_order():
    X = np.arange(40.0)[:, None]
    rows = on_dask(X, X, chunks=15)
    assert rows.scan(lambda state, block: [*state, float(block.X[0, 0])], []) == [0.0, 15.0, 30.0]


def test_whole_array_raises():
    rows = on_dask(*numbers())
    with pytest.raises(ValueError, match=r"60 x 4 entries of X in one memory, 1,920 bytes.*X\.compute\(\)"):
        rows.whole()


def test_what_they_are():
    X, y, _ = numbers(t=3)
    rows = on_dask(X.astype(np.float32), y)
    assert (rows.shape, rows.targets, rows.entries) == ((60, 4), 3, 240)
    assert rows.dtype == np.float32
    assert rows.y.dtype == np.float64
    assert rows.on_device
    assert rows.distributed
    assert not rows.sparse


def test_columns_are_put_together():
    X, y, _ = numbers()
    rows = DaskRows.of(matrix(da.from_array(X, chunks=(20, 2))), y)
    assert rows.X.numblocks == (3, 1)
    assert close(rows.fold(Moments.lift), Moments.of(X, y))


def test_integers_become_numbers():
    X = np.arange(12).reshape(6, 2)
    assert matrix(da.from_array(X, chunks=3)).dtype == np.float64


def test_targets_are_cut_where_the_rows_are():
    X, y, weight = numbers()
    rows = DaskRows.of(
        matrix(da.from_array(X, chunks=(17, -1))), da.from_array(y, chunks=11), da.from_array(weight, chunks=60)
    )
    assert rows.y.chunks[0] == rows.weight.chunks[0] == rows.X.chunks[0]
    assert close(rows.fold(Moments.lift), Moments.of(X, y, weight))


def unknown(X):
    """The rows with a positive first entry, in chunks of lengths that nobody knows."""
    lazy = da.from_array(X, chunks=(17, -1))
    return lazy[lazy[:, 0] > 0]


def test_unknown_lengths_are_counted():
    X, y, _ = numbers()
    kept = X[:, 0] > 0
    lazy = unknown(X)
    rows = DaskRows.of(matrix(lazy), y[kept])
    assert rows.shape == (kept.sum(), 4)
    assert np.isnan(lazy.shape[0])  # the user's array is as it was
    assert close(rows.fold(Moments.lift), Moments.of(X[kept], y[kept]))


def test_different_values():
    y = np.array(["bee", "ant", "bee", "cat", "ant"])
    np.testing.assert_array_equal(distinct(da.from_array(y, chunks=2)), ["ant", "bee", "cat"])


def not_finite(chunk):
    return ~np.isfinite(chunk)


def test_the_place_of_a_bad_entry():
    X = np.zeros((20, 3))
    assert place_of(da.from_array(X, chunks=(6, 3)), not_finite) is None
    X[13, 2] = X[19, 0] = np.nan
    assert place_of(da.from_array(X, chunks=(6, 3)), not_finite) == "chunk 2 (rows 12 to 17), row 13, column 2"
    assert place_of(da.from_array(X[:, 2], chunks=6), not_finite) == "chunk 2 (rows 12 to 17), row 13"


def test_sparse_chunks_raise():
    lazy = da.from_array(np.eye(4), chunks=2).map_blocks(sparse.csr_array)
    with pytest.raises(TypeError, match="toarray"):
        matrix(lazy)


@pytest.mark.parametrize(("X", "error"), [(np.zeros(3), "2D"), (np.array([["a"]]), "numbers")])
def test_input_that_is_no_matrix_of_numbers_raises(X, error):
    with pytest.raises(ValueError, match=error):
        matrix(da.from_array(X))


def test_numbers_of_the_client_are_sent_once():
    X, y, _ = numbers()
    sent = align(y, matrix(da.from_array(X, chunks=(17, -1))))
    assert sent.chunks == ((17, 17, 17, 9), (1,))
    np.testing.assert_array_equal(sent.compute(), y)


def failing(block):
    raise ZeroDivisionError("of my own")


def test_errors_of_a_task_are_raised_as_they_are():
    with pytest.raises(ZeroDivisionError, match="of my own"):
        on_dask(*numbers()).fold(failing)


def cluster_error(name, **attributes):
    """An error as `distributed` raises it."""
    return type(name, (Exception,), {"__module__": "distributed.scheduler", **attributes})("its words")


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (cluster_error("KilledWorker"), "more memory"),
        (cluster_error("FutureCancelledError", reason="lost dependencies"), "only copy"),
        (cluster_error("FutureCancelledError", reason="scheduler-connection-lost"), "scheduler is lost"),
        (cluster_error("CommClosedError"), "scheduler is lost"),
    ],
    ids=["killed", "lost", "disconnected", "closed"],
)
def test_errors_of_a_cluster_say_what_to_do(error, advice):
    def raising(block):
        raise error

    with pytest.raises(ClusterError, match=rf"{advice}.*Dask says: its words") as result:
        on_dask(*numbers()).fold(raising)
    assert isinstance(result.value, RuntimeError)
    assert result.value.__cause__ is error


def test_the_size_of_what_is_carried():
    import sys

    X, y, _ = numbers(p=50)
    assert 8 * 50**2 <= sys.getsizeof(Carried(Moments.of(X, y))) <= 8 * 60**2
    lift = partial(predictions, np.zeros(100))
    assert 800 <= sys.getsizeof(Carried(lift)) <= 1000
    assert sys.getsizeof(Carried(len)) <= 200


def running(tasks, block):
    from tenfold.machine import sharing, threads

    tasks.append((sharing.users, threads()))
    return Tree(0)


def test_tasks_share_the_threads():
    from threadpoolctl import threadpool_limits

    from tenfold.machine import sharing, threads

    seen = []
    with threadpool_limits(4):
        on_dask(*numbers(), chunks=60).fold(partial(running, seen))
        with sharing, sharing:
            assert threads() == 2
        assert threads() == 4
    assert seen == [(1, 4)]
    assert sharing.users == 0
