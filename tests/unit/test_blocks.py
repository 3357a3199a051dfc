"""Rows in memory: the one rule by which they are cut, and every layout the same."""

from dataclasses import dataclass

import array_api_strict as strict
import numpy as np
import pytest
from scipy import sparse

from tenfold.data import Block, Deferred, MemoryRows, block_length, blocks, fold_together, memory
from tenfold.data.blocks import BLOCK_BYTES, SPARSE_ROWS
from tenfold.stats.derivatives import Total


@dataclass(frozen=True)
class Names:
    """A statistic that remembers the order in which it was merged."""

    parts: tuple

    def merge(self, other):
        return Names(self.parts + other.parts)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 32, 33, 100, 1000, 10_000, 1 << 20, 1 << 26])
def test_block_length_is_a_power_of_two_from_the_width_alone(width):
    length = block_length(width, sparse=False)
    assert length & (length - 1) == 0
    assert 256 <= length <= 1 << 20
    if 256 < length < 1 << 20:
        assert length * width * 8 <= BLOCK_BYTES < 2 * length * width * 8
    assert block_length(width, sparse=True) == SPARSE_ROWS


def test_wider_rows_never_have_longer_blocks():
    lengths = [block_length(width, sparse=False) for width in range(1, 3000)]
    assert lengths == sorted(lengths, reverse=True)


def cuts(rows):
    return [block.X.shape[0] for block in rows.blocks()]


@pytest.mark.parametrize("extra", [0, 1, 100])
def test_blocks_are_cut_at_multiples_of_their_length(extra):
    p = 1 << 12
    length = block_length(p, sparse=False)
    X = np.zeros((2 * length + extra, p), dtype=np.float32)
    rows = MemoryRows(X, np.zeros((len(X), 1)))
    assert cuts(rows) == [length, length] + [extra] * (extra > 0)


def test_dtype_and_layout_do_not_move_a_cut():
    p = 1 << 12
    n = 2 * block_length(p, sparse=False) + 3
    base = np.zeros((n, p), dtype=np.float32)
    y = np.zeros((n, 1))
    plain = cuts(MemoryRows(base, y))
    assert cuts(MemoryRows(np.asfortranarray(base), y)) == plain
    assert cuts(MemoryRows(base.astype(np.float64), y)) == plain


def test_sparse_rows_are_cut_by_their_own_rule():
    n = SPARSE_ROWS + 5
    X = sparse.csr_array((n, 3))
    assert cuts(MemoryRows(X, np.zeros((n, 1)))) == [SPARSE_ROWS, 5]


def layouts(X):
    """The same numbers stored in many ways."""
    strided = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    strided[::2, ::3] = X
    frozen = X.copy()
    frozen.setflags(write=False)
    swapped = X.astype(X.dtype.newbyteorder(">"))
    raw = np.zeros(X.nbytes + 1, np.uint8)
    unaligned = np.frombuffer(raw.data, dtype=X.dtype, count=X.size, offset=1).reshape(X.shape)
    unaligned[...] = X
    assert not unaligned.flags.aligned
    return {
        "c": X,
        "fortran": np.asfortranarray(X),
        "strided": strided[::2, ::3],
        "reversed": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "read-only": frozen,
        "other byte order": swapped,
        "unaligned": unaligned,
    }


@pytest.mark.parametrize("layout", list(layouts(np.ones((2, 2)))))
def test_every_block_is_what_a_compiled_loop_reads(layout):
    X = np.random.default_rng(0).standard_normal((600, 3))
    stored = layouts(X)[layout]
    rows = MemoryRows(stored, np.zeros((600, 1))[:, ::-1], np.ones(600))
    (block,) = rows.blocks()
    assert block.X.flags.c_contiguous
    assert block.X.flags.aligned
    assert block.X.dtype.isnative
    np.testing.assert_array_equal(block.X, X)
    assert block.y.flags.c_contiguous


def test_a_c_array_is_not_copied():
    X, y = np.ones((600, 3)), np.ones((600, 1))
    (block,) = MemoryRows(X, y).blocks()
    assert np.shares_memory(block.X, X)
    assert np.shares_memory(block.y, y)


def many_blocks():
    p = 1 << 12
    length = block_length(p, sparse=False)
    n = 2 * length + 7
    X = np.zeros((n, p), np.float32)
    X[:, 0] = np.arange(n)
    return MemoryRows(
        X, np.arange(n, dtype=float)[:, None], np.arange(n) * 0.5, (np.arange(n) % 3).astype(np.int32)
    ), length


def test_fold_merges_in_the_order_of_the_rows():
    rows, length = many_blocks()
    assert rows.fold(lambda block: Names((float(block.X[0, 0]),))).parts == (0.0, float(length), float(2 * length))


def test_scan_carries_a_state_in_order():
    rows, length = many_blocks()
    assert rows.scan(lambda state, block: [*state, len(block.X)], []) == [length, length, 7]


def test_map_gives_one_result_a_row_in_order():
    rows, _ = many_blocks()
    np.testing.assert_array_equal(rows.map(lambda block: block.X[:, 0]), np.arange(rows.shape[0]))


def test_blocks_carry_targets_weights_and_groups():
    rows, length = many_blocks()
    second = list(rows.blocks())[1]
    assert second.y[0, 0] == length
    assert second.weight[0] == 0.5 * length
    assert second.group[0] == length % 3


def test_empty_rows_are_one_empty_block():
    (block,) = MemoryRows(np.zeros((0, 3)), np.zeros((0, 1))).blocks()
    assert block.X.shape == (0, 3)


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_subsample_takes_every_kth_sample(kind):
    X = np.arange(30.0).reshape(10, 3) + 1
    rows = MemoryRows(kind(X), np.arange(10.0)[:, None], np.arange(10.0), np.arange(10, dtype=np.int32))
    every_kth = rows.subsample(4)
    result = every_kth.X.toarray() if sparse.issparse(every_kth.X) else every_kth.X
    np.testing.assert_array_equal(result, X[::4])
    np.testing.assert_array_equal(every_kth.y[:, 0], [0, 4, 8])
    np.testing.assert_array_equal(every_kth.weight, [0, 4, 8])
    np.testing.assert_array_equal(every_kth.group, [0, 4, 8])


def test_other_targets_and_groups_leave_the_rows():
    rows = MemoryRows(np.ones((4, 2)), np.zeros((4, 1)), np.ones(4))
    other = rows.retarget(np.ones((4, 3))).regroup(np.zeros(4, np.int32))
    assert other.targets == 3
    assert rows.targets == 1
    assert rows.group is None
    assert other.X is rows.X
    assert other.whole() == Block(other.X, other.y, other.weight, other.group) or other.whole().X is rows.X


def test_what_they_are():
    dense = MemoryRows(np.ones((4, 2)), np.zeros((4, 1)))
    assert (dense.shape, dense.sparse) == ((4, 2), False)
    assert MemoryRows(sparse.csr_array((4, 2)), np.zeros((4, 1))).sparse


# -- rows on a device, of which array-api-strict is the model here


def on_device(n=3000, p=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) + [0.0, 5.0, 0.0][:p]
    X[:, 2] = 7.0
    return X, MemoryRows(strict.asarray(X), strict.asarray(X[:, :1]))


def test_the_place_of_rows_on_a_device(monkeypatch):
    """From rows equally far apart, so that sorted rows have the same."""
    monkeypatch.setattr(blocks, "DEVICE_BYTES", 1 << 13)
    X, _ = on_device()
    X = X[np.argsort(X[:, 1])]
    centre, squares = MemoryRows(strict.asarray(X), strict.asarray(X[:, :1])).place()
    np.testing.assert_allclose(centre, X.mean(axis=0), atol=0.05)
    assert centre[2] == 7.0
    np.testing.assert_allclose(squares, X.var(axis=0), rtol=0.1)
    assert MemoryRows(X, X[:, :1]).place() is None


def test_a_sample_of_rows_on_a_device_stays_there(monkeypatch):
    calls = []
    column_summaries = memory.column_summaries
    monkeypatch.setattr(memory, "column_summaries", lambda *parts: calls.append(parts) or column_summaries(*parts))
    X, rows = on_device()
    sample = rows.subsample(9)
    assert type(sample.X) is type(rows.X)
    np.testing.assert_array_equal(np.asarray(sample.X), X[::9])
    np.testing.assert_array_equal(np.asarray(sample.subsample(3).y), X[::27, :1])
    # rows that agree have one head, and their samples the same
    assert sample.subsample(3).blocks().__next__().column_summary() is rows.blocks().__next__().column_summary()
    assert len(calls) == 1
    other = sample.retarget(np.ones((sample.shape[0], 1)))
    assert other.blocks().__next__().column_summary().mean[-1] == 1.0


def test_several_folds_are_enqueued_before_one_is_read(monkeypatch):
    order = []

    def lift(block):
        order.append("told")
        total = strict.reshape(strict.sum(block.X), (1,))
        return Deferred.of((total,), lambda _, part: order.append("asked") or Total(part))

    X, rows = on_device()
    both, part = fold_together((rows, lift), (rows.subsample(3), lift))
    assert order == ["told", "told", "asked", "asked"]
    np.testing.assert_allclose([both.sum[0], part.sum[0]], [X.sum(), X[::3].sum()])
    plain = fold_together((MemoryRows(X, X[:, :1]), lambda block: Total(block.X.sum())))
    np.testing.assert_allclose(plain[0].sum, X.sum())
