"""Parquet: our reader gives the numbers that Arrow gives, and leaves to Arrow what it does not claim."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenfold import _core, rows
from tenfold.data.arrow import parquet

KINDS = [pa.float64(), pa.float32(), pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.uint16(), pa.uint8()]


def column(random, kind, n, distinct):
    """Numbers of which some are equal, so that dictionaries are worth while; or all, or none."""
    if pa.types.is_floating(kind):
        values = random.standard_normal(distinct).astype(kind.to_pandas_dtype())
    else:
        bounds = np.iinfo(kind.to_pandas_dtype())
        values = random.integers(max(bounds.min, -(2**53)), min(bounds.max, 2**53), distinct, endpoint=True)
    found = values[random.integers(0, distinct, n)]
    return pa.array(np.sort(found) if random.random() < 0.3 else found, kind)


@pytest.fixture
def claimed(monkeypatch):
    """Whether our reader has read every piece: Arrow is not asked for one."""

    def refuse(self, *args):
        raise AssertionError("read by Arrow")

    monkeypatch.setattr(parquet._RowGroup, "_from", refuse)
    monkeypatch.setattr(parquet.ParquetPart, "_by_arrow", refuse)


@pytest.mark.usefixtures("claimed")
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=9),
    n=st.integers(1, 3000),
    distinct=st.sampled_from([1, 2, 3, 200, 5000]),
    compression=st.sampled_from(["none", "snappy"]),
    dictionary=st.booleans(),
    version=st.sampled_from(["1.0", "2.0"]),
    page=st.sampled_from([64, 1000, 1 << 20]),
    group=st.sampled_from([3000, 777]),
    nullable=st.booleans(),
)
def test_our_reader_gives_the_numbers_of_arrow(
    tmp_path_factory, seed, kinds, n, distinct, compression, dictionary, version, page, group, nullable
):
    random = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("rows") / "a.parquet"
    schema = pa.schema([pa.field(f"x{j}", kind, nullable=nullable) for j, kind in enumerate(kinds)])
    table = pa.table([column(random, kind, n, distinct) for kind in kinds], schema=schema)
    pa.parquet.write_table(
        table,
        path,
        compression=compression,
        use_dictionary=dictionary,
        data_page_version=version,
        data_page_size=page,
        dictionary_pagesize_limit=10_000,
        row_group_size=group,
        write_batch_size=16,
    )
    expected = np.column_stack([table.column(j).to_numpy() for j in range(len(kinds))])
    source = rows(path)
    narrow = all(kind == pa.float32() for kind in kinds)
    assert source.dtype == (np.float32 if narrow else np.float64)
    X = np.concatenate(list(source.cut(256)))
    assert X.tobytes() == np.ascontiguousarray(expected, source.dtype).tobytes()
    assert source.thin(3).tobytes() == X[::3].tobytes()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small files with all kinds of pages."""
    random, found = np.random.default_rng(0), []
    for compression in ("none", "snappy"):
        for version in ("1.0", "2.0"):
            path = tmp_path_factory.mktemp("rows") / "a.parquet"
            columns = [column(random, kind, 300, distinct) for kind in KINDS[:4] for distinct in (3, 300)]
            pa.parquet.write_table(
                pa.table(columns, names=[f"x{j}" for j in range(len(columns))]),
                path,
                compression=compression,
                data_page_version=version,
                data_page_size=300,
                dictionary_pagesize_limit=1000,
                write_batch_size=16,
            )
            found.append(path)
    return found


def outcome(path, way):
    """The bits of all rows, or that they are refused."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "Arrow":
            patch.setattr(parquet.ParquetPart, "_chunks", lambda self, name: None)
        try:
            return np.concatenate(list(rows(path).cut(64))).tobytes()
        except ValueError as error:
            return "refused, with a place" if "row group 0" in str(error) else error


@settings(max_examples=200)
@given(
    number=st.integers(0, 3),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4),
    shape=st.sampled_from(["changed", "zeros", "cut"]),
)
def test_broken_pages_are_what_arrow_makes_of_them(tmp_path_factory, files, number, changes, shape):
    broken = bytearray(files[number].read_bytes())
    end = len(broken) - 8 - int.from_bytes(broken[-8:-4], "little")  # where the footer begins
    for share, value in changes:
        at = 4 + int(share * (end - 4))
        if shape == "changed":
            broken[at] = value
        elif shape == "zeros":
            broken[at : min(end, at + 40)] = bytes(min(end, at + 40) - at)
        else:
            broken[at:end] = broken[at + 1 : end] + b"\0"
    path = tmp_path_factory.mktemp("rows") / "a.parquet"
    path.write_bytes(broken)
    assert outcome(path, "ours") == outcome(path, "Arrow")


def test_pieces_may_be_passed_over(tmp_path):
    X = np.random.default_rng(0).standard_normal((400_000, 3))
    pa.parquet.write_table(pa.table(list(X.T), names=["a", "b", "c"]), tmp_path / "a.parquet")
    start, seen = 0, 0
    for number, piece in enumerate(rows(tmp_path / "a.parquet").pieces()):
        if number % 2:
            assert piece.matrix().tobytes() == X[start : start + piece.X.shape[0]].tobytes()
            seen += 1
        start += piece.X.shape[0]
    assert seen > 0


def test_chunks_are_checked_before_anything_is_read():
    with pytest.raises(ValueError, match="must hold DOUBLE"):
        _core.ParquetDoubles(0, [(4, 10, 10, "BYTE_ARRAY", False, False)])
    with pytest.raises(ValueError, match="float32 is made of FLOAT only"):
        _core.ParquetFloats(0, [(4, 10, 10, "DOUBLE", False, False)])
    with pytest.raises(ValueError, match="must begin in the file"):
        _core.ParquetDoubles(0, [(-4, 10, 10, "DOUBLE", False, False)])
    reader = _core.ParquetDoubles(0, [(4, 10, 10, "DOUBLE", False, False)])
    with pytest.raises(ValueError, match="a column for each chunk"):
        reader.read(np.empty((3, 2)), 1)
    with pytest.raises(ValueError, match="threads"):
        reader.read(np.empty((3, 1)), 0)
    with pytest.raises(ValueError, match="contiguous"):
        _core.ParquetDoubles(0, [(4, 10, 10, "DOUBLE", False, False)] * 2).read(np.empty((2, 3)).T, 1)
