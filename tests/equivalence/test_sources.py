"""The same rows from files, tables, frames, memory maps and iterables give the bits that they give from memory."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit

from design import only_if
from estimators import SOLVED, classes, columns_of, regression, zero_weights
from tenfold import LogisticRegression, Ridge, RidgeCV, certify, rows
from tenfold.data import blocks, text

# unpenalised classes that are separated say so; their bits are asked for all the same
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

every_row = pytest.mark.parametrize("row", [row for row in SOLVED if "files" in row.where], ids=lambda row: row.id)


def names_of(y):
    return "y" if y.ndim == 1 else [f"y{k}" for k in range(y.shape[1])]


def frame(X, y, weight=None):
    columns = {f"column {j}": X[:, j] for j in range(X.shape[1])}
    targets = {"y": y} if y.ndim == 1 else dict(zip(names_of(y), y.T, strict=True))
    result = pd.DataFrame(columns | targets)
    return result if weight is None else result.assign(w=weight)


def in_memory(kind):
    def make(folder, X, y, weight):
        return rows(kind(frame(X, y, weight)), target=names_of(y), weight=None if weight is None else "w"), ()

    return make


def in_files(suffix, write):
    """Three files, cut at rows that have nothing to do with blocks."""

    def make(folder, X, y, weight):
        whole = frame(X, y, weight)
        for number, part in enumerate((whole[:17], whole[17:400], whole[400:])):
            write(part, folder / f"part{number}{suffix}")
        return rows(folder / f"*{suffix}", target=names_of(y), weight=None if weight is None else "w"), ()

    return make


def write_parquet(part, path):
    pa.parquet.write_table(pa.Table.from_pandas(part, preserve_index=False), path, row_group_size=131)


def write_feather(part, path):
    pa.feather.write_feather(pa.Table.from_pandas(part, preserve_index=False), str(path), chunksize=97)


def write_csv(part, path):
    part.to_csv(path, index=False)


def arrays(open_rows):
    """Sources that have no target of their own."""

    def make(folder, X, y, weight):
        return open_rows(folder, X), (y, weight)

    return make


def npy(order):
    def open_rows(folder, X):
        for number, part in enumerate((X[:100], X[100:])):
            np.save(folder / f"{number}.npy", np.asarray(part, order=order))
        return rows([folder / "0.npy", folder / "1.npy"])

    return open_rows


def memory_map(folder, X):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def iterable(folder, X, y, weight):
    cuts = (0, 5, 5, 300, len(X))
    parts = list(pairwise(cuts))
    if weight is None:
        return rows([(X[a:b], y[a:b]) for a, b in parts]), ()
    return rows(lambda: ((X[a:b], y[a:b], weight[a:b]) for a, b in parts)), ()


def batches(result):
    return pa.Table.from_pandas(result, preserve_index=False).to_batches(70)


SOURCES = {
    "parquet": in_files(".parquet", write_parquet),
    "csv": in_files(".csv", write_csv),
    "csv.gz": in_files(".csv.gz", write_csv),
    "feather": in_files(".feather", write_feather),
    "arrow table": in_memory(lambda result: pa.Table.from_batches(batches(result))),
    "record batches": in_memory(batches),
    "pandas": in_memory(lambda result: result.set_index(np.arange(5, 5 + len(result)))),
    "polars": in_memory(pl.from_pandas),
    "npy": arrays(npy("C")),
    "npy by columns": arrays(npy("F")),
    "rows of a memory map": arrays(lambda folder, X: rows(memory_map(folder, X))),
    "memory map": arrays(memory_map),
    "iterable": iterable,
}
every_source = pytest.mark.parametrize("source", SOURCES)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 256 rows and CSV in pieces of 3000 bytes, so that small data are many of them."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(text, "CHUNK_BYTES", 3000)


def results(model, X, y, weight):
    """Every number that a fit leaves behind, as bytes."""
    certificate = model.certificate_
    numbers = [model.coef_, model.intercept_, certificate.value, certificate.objective, certificate.floor]
    numbers += [
        getattr(model, name) for name in ("alpha_", "best_score_", "cv_errors_", "n_iter_") if hasattr(model, name)
    ]
    again = certify(model, X, y, weight)
    numbers += [model.predict(X).astype(str), model.score(X, y, weight), again.value, again.objective]
    return [np.asarray(number).tobytes() for number in numbers]


def assert_same_bits(row, folder, source, X, y, weight=None):
    row = row.in_order()
    expected = row.make().fit(X, y, sample_weight=weight)
    result, given = SOURCES[source](folder, X, y, weight)
    y_given, weight_given = given or (None, None)
    model = row.make().fit(result, y_given, sample_weight=weight_given)
    assert results(model, result, y_given, weight_given) == results(expected, X, y, weight)
    if row.classifier:
        assert model.classes_.tolist() == expected.classes_.tolist()


@every_row
@every_source
def test_tall(row, source, small_blocks, tmp_path):
    X, y, _ = row.data(1000, 5)
    assert_same_bits(row, tmp_path, source, X, y)


@every_row
@every_source
def test_weights(row, source, small_blocks, tmp_path):
    X, y, _ = row.data(600, 3)
    # fits by Newton's method leave out rows of weight zero in memory, and read them in files: other blocks
    weight = zero_weights(600) + (0.5 if row.kind == "gap" else 0.0)
    assert_same_bits(row, tmp_path, source, X, y, weight)


@every_row
@every_source
@only_if(lambda row: not row.tall and row.most_columns > 40)
def test_more_columns_than_rows(row, source, tmp_path):
    X, y, _ = row.data(30, 40)
    assert_same_bits(row, tmp_path, source, X, y)


@pytest.mark.parametrize("row", [row for row in SOLVED if row.multi_output], ids=lambda row: row.id)
def test_several_targets(row, small_blocks, tmp_path):
    X, Y = regression(700, 4).X, columns_of(row, 3, 700)
    table = pa.table({f"x{j}": X[:, j] for j in range(4)} | {f"y{k}": Y[:, k] for k in range(3)})
    pa.parquet.write_table(table, tmp_path / "data.parquet", row_group_size=300)
    result = rows(tmp_path / "data.parquet", target=["y0", "y1", "y2"])
    assert results(row.make().fit(result), result, None, None) == results(row.make().fit(X, Y), X, Y, None)


@every_row
def test_sparse_blocks(row, small_blocks, monkeypatch, tmp_path):
    monkeypatch.setattr(blocks, "SPARSE_ROWS", 256)
    X, y, _ = row.data(700, 6)
    X = sparse.csr_array(np.where(np.abs(X) < 0.6, 0.0, X))
    result = rows([(X[:10], y[:10]), (X[10:], y[10:])])
    row = row.in_order()
    assert results(row.make().fit(result), result, None, None) == results(row.make().fit(X, y), X, y, None)


@every_row
@pytest.mark.parametrize("source", ["parquet", "arrow table", "polars", "npy", "memory map", "iterable"])
def test_float32(row, source, small_blocks, tmp_path):
    X, y, _ = row.data(600, 4)
    X = X.astype(np.float32)
    assert_same_bits(row, tmp_path, source, X, y)
    result, given = SOURCES[source](tmp_path, X, y, None)
    assert row.make().fit(result, *(given[:1] or [None])).coef_.dtype == np.float32


@pytest.mark.parametrize(
    "cv", [None, 5, KFold(4, shuffle=True, random_state=0), ShuffleSplit(3, random_state=0)], ids=str
)
def test_every_setting_of_cv(cv, small_blocks, tmp_path):
    X, y, _ = regression(900, 5)
    result, _ = SOURCES["parquet"](tmp_path, X, y, None)
    model, expected = (RidgeCV([0.1, 1.0, 10.0], cv=cv) for _ in range(2))
    assert results(model.fit(result), result, None, None) == results(expected.fit(X, y), X, y, None)


@pytest.mark.parametrize("kind", ["float64", "int8", "int64", "uint16", "bool", "float16", "decimal", "dictionary"])
def test_kinds_of_numbers_become_floats(kind, tmp_path):
    values = np.random.default_rng(0).integers(0, 2 if kind == "bool" else 50, (200, 3)).astype(float)
    y = values @ [1.0, 2.0, 3.0] + np.random.default_rng(1).standard_normal(200)
    arrow = {
        "decimal": lambda column: pa.array(column.astype(int)).cast(pa.decimal128(20)),
        "dictionary": lambda column: pa.array(column).dictionary_encode(),
    }.get(kind, lambda column: pa.array(column.astype(kind)))
    table = pa.table([arrow(column) for column in values.T] + [y], names=["a", "b", "c", "y"])
    pa.parquet.write_table(table, tmp_path / "data.parquet")
    expected = Ridge().fit(values, y).coef_.tobytes()
    assert Ridge().fit(rows(tmp_path / "data.parquet", target="y")).coef_.tobytes() == expected
    assert Ridge().fit(rows(table, target="y")).coef_.tobytes() == expected
    if kind in ("int8", "bool"):
        write_csv(table.to_pandas(), tmp_path / "data.csv")
        assert Ridge().fit(rows(tmp_path / "data.csv", target="y")).coef_.tobytes() == expected


def test_whole_numbers_in_csv_may_be_followed_by_others(monkeypatch, tmp_path):
    monkeypatch.setattr(text, "CHUNK_BYTES", 500)
    X, _, _ = regression(400, 3)
    X[:150] = np.round(X[:150])
    y = X.sum(axis=1)
    with open(tmp_path / "data.csv", "w") as file:
        file.write("a,b,c,y\n")
        file.writelines(
            ",".join(f"{v:g}" if v == round(v) else repr(float(v)) for v in line) + "\n" for line in np.c_[X, y]
        )
    result = rows(tmp_path / "data.csv", target="y")
    assert Ridge().fit(result).coef_.tobytes() == Ridge().fit(X, y).coef_.tobytes()


@pytest.mark.parametrize("kind", [np.int64, np.bool_, np.str_])
def test_classes_keep_their_type(kind, small_blocks, tmp_path):
    X, y, _ = classes(600, 4)
    y = y if kind is np.str_ else np.where(y == "ant", 0, 1).astype(kind)
    expected = LogisticRegression().fit(X, y)
    for source in SOURCES:
        result, given = SOURCES[source](tmp_path, X, y, None)
        model = LogisticRegression().fit(result, *given[:1])
        assert model.classes_.dtype == expected.classes_.dtype
        assert model.predict(result).tolist() == expected.predict(X).tolist()
