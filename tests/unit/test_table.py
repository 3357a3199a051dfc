"""Rows outside memory: what a source stands for, what is refused and how the place is named, and the reader thread."""

import gzip
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import tenfold
from estimators import SOLVED, regression, zero_weights
from tenfold import LogisticRegression, Ridge, RidgeCV, certify, rows
from tenfold.data import BatchRows, blocks, targets_of, text, weights_of
from tenfold.data.arrow import batches
from tenfold.data.prefetch import in_order, read_ahead

SRC = Path(tenfold.__file__).parents[1]


def table(n=60, p=3, seed=0):
    X, y, _ = regression(n, p, seed)
    return pa.table([*X.T, y], names=[f"x{j}" for j in range(p)] + ["y"])


def write(kind, path, result, size=25):
    """A table in a file of a kind, in groups of `size` rows."""
    if kind == "parquet":
        pa.parquet.write_table(result, path, row_group_size=size)
    elif kind == "feather":
        pa.feather.write_feather(result, str(path), chunksize=size)
    else:
        result.to_pandas().to_csv(path, index=False)
    return path


def text_file(path, contents):
    path.write_text(textwrap.dedent(contents))
    return path


def state(model):
    return {name: np.asarray(value).tobytes() for name, value in vars(model).items() if name.endswith("_")}


def live_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("tenfold")]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert live_threads() == []


KINDS = pytest.mark.parametrize("kind", ["parquet", "csv", "feather"])

# -- what a source stands for


@KINDS
def test_a_path_a_folder_a_pattern_and_a_list_of_them(kind, tmp_path):
    result = table()
    # written in another order than that of their names
    for number in (2, 0, 1):
        write(kind, tmp_path / f"part{number}.{kind}", result[20 * number : 20 * (number + 1)])
    write(kind, tmp_path / f".hidden.{kind}", result)
    (tmp_path / "_SUCCESS").touch()
    expected = result["y"].to_pylist()
    names = [tmp_path / f"part{number}.{kind}" for number in range(3)]
    for source in (
        tmp_path,
        str(tmp_path),
        tmp_path / f"part*.{kind}",
        names,
        [names[0], f"{tmp_path}/part[12].{kind}"],
    ):
        assert rows(source, target="y").y.tolist() == expected
    assert rows([names[1], names[0]], target="y").y.tolist() == expected[20:40] + expected[:20]
    assert rows(names[0], target="y").shape == (20, 3)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*nothing\.parquet'"):
        rows(tmp_path / "nothing.parquet")
    with pytest.raises(FileNotFoundError, match=r"No file matches '.*\*\.csv'"):
        rows(tmp_path / "*.csv")
    with pytest.raises(FileNotFoundError, match=r"holds no file whose name ends in one of \.parquet"):
        rows(tmp_path)


def test_files_of_no_format_and_of_two(tmp_path):
    write("csv", tmp_path / "a.csv", table())
    (tmp_path / "b.xlsx").touch()
    with pytest.raises(ValueError, match=r"b\.xlsx: expected a name that ends in"):
        rows(tmp_path / "b.xlsx")
    write("parquet", tmp_path / "c.parquet", table())
    with pytest.raises(ValueError, match=r"a\.csv and .*c\.parquet are of two formats"):
        rows(tmp_path)


def test_what_is_no_source():
    with pytest.raises(TypeError, match=r"Expected paths of files, a NumPy array, a data frame.*got int"):
        rows(5)
    with pytest.raises(ValueError, match=r"Expected a matrix of rows, got an array with 1 dimension"):
        rows(np.zeros(5))
    with pytest.raises(ValueError, match="The iterable of blocks is empty"):
        rows([])


@KINDS
def test_columns_are_chosen_in_the_order_given(kind, tmp_path):
    result = table()
    write(kind, tmp_path / f"a.{kind}", result)
    chosen = rows(tmp_path / f"a.{kind}", target="y", weight=None, columns=["x2", "x0"])
    assert chosen.names == ("x2", "x0")
    np.testing.assert_array_equal(chosen.load(), np.column_stack([result["x2"], result["x0"]]))
    model = Ridge().fit(chosen)
    assert model.feature_names_in_.tolist() == ["x2", "x0"]
    other = rows(tmp_path / f"a.{kind}", target="y", columns=["x0", "x2"])
    with pytest.raises(ValueError, match=r"name the columns of the table in this order.*\['x2', 'x0'\]"):
        model.predict(other)
    with pytest.raises(ValueError, match=r"There is no column 'z'; there are 'x0', 'x1', 'x2', 'y'"):
        rows(tmp_path / f"a.{kind}", target="z")
    with pytest.raises(ValueError, match="named twice"):
        rows(tmp_path / f"a.{kind}", target="y", columns=["x0", "y"])
    every = Ridge().fit(rows(tmp_path / f"a.{kind}", target="y"))
    with pytest.raises(ValueError, match="X has 2 features, but Ridge is expecting 3"):
        every.predict(chosen)


def test_csv_with_quotes_line_breaks_a_mark_of_byte_order_and_other_line_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "CHUNK_BYTES", 64)
    lines = ['"a ""quoted"" name",note,"b\nc",y']
    for k in range(200):
        note = f'"line one, of {k}\nline ""two"""' if k % 3 else "plain"
        lines.append(f'{k},{note}," {k / 8}",{"yes" if k % 2 else "no"}')
    for end in ("\n", "\r\n"):
        contents = "\ufeff" + end.join(lines) + (end if end == "\n" else "")
        (tmp_path / "a.csv").write_bytes(contents.encode())
        columns = ['a "quoted" name', "b\nc"]
        result = rows(tmp_path / "a.csv", target="y", columns=columns)
        assert result.shape == (200, 2)
        np.testing.assert_array_equal(result.load(), np.column_stack([np.arange(200), np.arange(200) / 8]))
        assert result.y.tolist() == ["no", "yes"] * 100
        assert LogisticRegression().fit(result).classes_.tolist() == ["no", "yes"]


def test_files_separated_by_tabs(tmp_path):
    for name in ("a.tsv", "a.txt"):
        text_file(tmp_path / name, "a\tb\n1\t2\n3\t4\n")
        np.testing.assert_array_equal(rows(tmp_path / name).load(), [[1, 2], [3, 4]])
    with gzip.open(tmp_path / "a.tsv.gz", "wt") as file:
        file.write("a\tb\n1\t2\n")
    assert rows(tmp_path / "a.tsv.gz").shape == (1, 2)


def test_labels_in_categories_and_numbers_in_categories():
    frame = pd.DataFrame({"a": pd.Categorical([3.0, 1.0, 3.0, 2.0]), "y": pd.Categorical(["u", "v", "u", "v"])})
    for source in (frame, pl.from_pandas(frame.assign(a=frame["a"].astype(float))), pa.Table.from_pandas(frame)):
        result = rows(source, target="y")
        assert result.y.tolist() == ["u", "v", "u", "v"]
        np.testing.assert_array_equal(result.load(), [[3.0], [1.0], [3.0], [2.0]])


def test_a_target_of_whole_numbers_stays_whole_until_it_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "CHUNK_BYTES", 100)
    text_file(tmp_path / "a.csv", "x,y\n" + "".join(f"{k},{k % 2}\n" for k in range(100)))
    assert rows(tmp_path / "a.csv", target="y").y.dtype == np.int64
    text_file(tmp_path / "a.csv", "x,y\n" + "".join(f"{k},{k if k < 90 else k + 0.5}\n" for k in range(100)))
    result = rows(tmp_path / "a.csv", target="y").y
    assert result.dtype == np.float64
    assert result[-1] == 99.5


# -- what is refused


def raises(make, match):
    """A fit that is refused with a sentence leaves a new estimator unfitted and an old one as it was."""
    X, y, _ = regression(40, 2)
    for model in (Ridge(), RidgeCV(), Ridge().fit(X, y), RidgeCV().fit(X, y)):
        before = state(model)
        with pytest.raises(ValueError, match=match):
            model.fit(make())
        assert state(model) == before


def test_text_in_a_column_of_numbers_names_file_line_and_column(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "CHUNK_BYTES", 200)
    lines = [f"{k},{k / 4},{k % 7}" for k in range(300)]
    lines[217] = "217,oops,1"
    path = text_file(tmp_path / "a.csv", "a,b,y\n" + "\n".join(lines) + "\n")
    raises(lambda: rows(path, target="y"), r"a\.csv, line 219, column 'b': 'oops' is not a number")
    raises(lambda: rows(path, target="b", columns=["a"]), r"a\.csv, line 219, column 'b': 'oops' is not a number")
    lines[3] = "3,no number,1"
    text_file(path, "a,b,y\n" + "\n".join(lines) + "\n")
    raises(lambda: rows(path, target="y"), r"a\.csv, column 'b' is text \('no number' in line 5\)")
    raises(lambda: rows(path, target="b", columns=["a"]), r"target is text, not numbers: .*a\.csv, line 5 has 'no n")
    assert rows(path, target="y", columns=["a"]).shape == (300, 1)


def test_line_number_of_text_after_quoted_line_breaks(tmp_path):
    contents = 'a,note\n1,"two\nlines"\n\n2,"and\nthree\nlines"\n3,-\n' + "4,x\n" * 10 + "five,x\n"
    path = text_file(tmp_path / "a.csv", contents)
    with pytest.raises(ValueError, match=r"column 'a' is text \('five' in line 19\)"):
        rows(path, columns=["a"])


def test_a_missing_value_names_its_place(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "CHUNK_BYTES", 200)
    frame = table(80).to_pandas()
    frame.loc[50, "x1"] = np.nan
    place = {
        "csv": r"a\.csv, line 52",
        "parquet": r"a\.parquet, row group 2, row 1",
        "feather": "record batch 2, row 1",
    }
    for kind, where in place.items():
        path = write(kind, tmp_path / f"a.{kind}", pa.Table.from_pandas(frame, preserve_index=False))
        raises(lambda path=path: rows(path, target="y"), rf"Input X contains NaN: .*{where}, column 'x1' has no value")
        raises(lambda path=path: rows(path, target="x1", columns=["x0"]), rf"'x1' contains NaN: .*{where}")
        raises(lambda path=path: rows(path, target="y", weight="x1", columns=["x0"]), rf"'x1' contains NaN: .*{where}")
    for source in (frame, pl.from_pandas(frame), pl.from_pandas(frame, nan_to_null=False)):
        raises(lambda source=source: rows(source, target="y"), r"Input X contains NaN.*row 51, column 'x1'")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_name_their_place(value, tmp_path):
    X, y, _ = regression(80, 3)
    X[50, 1] = value
    columns = {f"x{j}": pa.array(X[:, j], from_pandas=False) for j in range(3)} | {"y": y}
    path = write("parquet", tmp_path / "a.parquet", pa.table(columns))
    where = r"Input X contains NaN or infinity: .*a\.parquet, row group 2, row 1, column 'x1'"
    raises(lambda: rows(path, target="y"), where)
    model = Ridge().fit(np.nan_to_num(X, posinf=0.0), y)
    with pytest.raises(ValueError, match=where):
        model.predict(rows(path, columns=["x0", "x1", "x2"]))
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match=r"X\.npy, row 51, column 'x1'"):
        Ridge().fit(rows(tmp_path / "X.npy"), y)
    raises(lambda: rows([(X[:30], y[:30]), (X[30:], y[30:])]), r"block 2, row 21, column 'x1'")
    columns["y"] = pa.array(X[:, 1], from_pandas=False)
    path = write("parquet", tmp_path / "b.parquet", pa.table(columns))
    raises(lambda: rows(path, target="y", columns=["x0"]), r"'y' contains NaN or infinity: .*row group 2, row 1")


def test_another_file_with_other_columns_or_types(tmp_path):
    result = table()
    write("parquet", tmp_path / "a.parquet", result)
    second = tmp_path / "b.parquet"
    write("parquet", second, result.drop_columns("x1"))
    raises(lambda: rows(tmp_path, target="y"), r"b\.parquet, there is no column 'x1', which .*a\.parquet has")
    write("parquet", second, result.set_column(1, "x1", pa.array(["u"] * 60)))
    raises(lambda: rows(tmp_path, target="y"), r"b\.parquet, column 'x1' is text.*OneHotEncoder.*columns=")
    write("parquet", second, result.set_column(3, "y", pa.array(["u"] * 60)))
    raises(lambda: rows(tmp_path, target="y"), r"b\.parquet, column 'y' holds text, but numbers in the first part")
    # columns in another order and of another width of numbers are the same columns
    backwards = ["y", "x2", "x1", "x0"]
    narrow = pa.schema([(name, pa.float32()) for name in backwards])
    write("parquet", second, result.select(backwards).cast(narrow))
    assert rows(tmp_path, target="y").dtype == np.float64


def test_another_csv_file_with_other_columns_or_text(tmp_path):
    text_file(tmp_path / "a.csv", "a,b,y\n1,2,3\n4,5,6\n")
    second = text_file(tmp_path / "b.csv", "a,y\n1,2\n")
    raises(lambda: rows(tmp_path, target="y"), r"b\.csv, there is no column 'b', which .*a\.csv has")
    text_file(second, "y,b,a\n1,2,3\n1,2,three\n")
    raises(lambda: rows(tmp_path, target="y"), r"b\.csv, line 3, column 'a': 'three' is not a number")
    text_file(second, "y,b,a\n1,2,3\n")
    np.testing.assert_array_equal(rows(tmp_path, target="y").load(), [[1, 2], [4, 5], [3, 2]])


def test_frames_with_other_columns_or_types():
    first = pl.DataFrame({"a": [1.0, 2.0], "y": [1.0, 2.0]})
    raises(
        lambda: rows([first, pl.DataFrame({"b": [1.0], "y": [1.0]})], target="y"), r"there is no column 'a', which the"
    )
    raises(lambda: rows([first, pl.DataFrame({"a": ["u"], "y": [1.0]})], target="y"), r"column 'a' is text")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.array(["u", "v"]), "is text, and columns of X are numbers. Encode it"),
        (pa.array(["u", "v"]).dictionary_encode(), "is text"),
        (pa.array([0, 1], pa.timestamp("ms")), r"holds times \(timestamp\[ms\]\).*days"),
        (pa.array([[1.0], [2.0]]), r"has the type list<.*>"),
        (pa.array([b"u", b"v"]), "has the type binary"),
    ],
    ids=["text", "categories", "times", "lists", "bytes"],
)
def test_column_that_is_no_number_raises(values, words, tmp_path):
    path = write("parquet", tmp_path / "a.parquet", pa.table({"a": values, "y": [1.0, 2.0]}))
    raises(
        lambda: rows(path, target="y"), rf"a\.parquet, column 'a' {words}.*or leave it out: tenfold.rows\(\.\.\., col"
    )


def test_text_that_is_not_utf_8_is_no_target(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_bytes("x,y\n1,caf\xe9\n2,bar\n".encode("latin-1"))
    raises(
        lambda: rows(tmp_path / "a.csv", target="y", encoding="utf-8"),
        r"a\.csv, column 'y' holds bytes that are not text in UTF-8",
    )
    assert rows(tmp_path / "a.csv", target="y").y.tolist() == ["café", "bar"]
    # what comes after the beginning does not change what was decided there
    monkeypatch.setattr(text, "BEGINNING_BYTES", 64)
    monkeypatch.setattr(text, "CHUNK_BYTES", 64)
    (tmp_path / "a.csv").write_bytes(b"x,y\n" + b"1,bar\n" * 30 + b"2,caf\xe9\n")
    raises(lambda: rows(tmp_path / "a.csv", target="y"), r"a\.csv, line 32, column 'y' holds bytes that are not text")


def test_pandas_frames_with_odd_names_and_odd_columns():
    numbered = pd.DataFrame(np.arange(6.0).reshape(3, 2), index=["u", "v", "w"])
    np.testing.assert_array_equal(rows(numbered).load(), numbered.to_numpy())
    np.testing.assert_array_equal(rows(numbered, target="0").load(), [[1.0], [3.0], [5.0]])
    with pytest.raises(ValueError, match="'a' 2 times"):
        rows(pd.DataFrame(np.ones((2, 2)), columns=["a", "a"]))
    with pytest.raises(ValueError, match=r"this frame: .*column a"):
        rows(pd.DataFrame({"a": [1.0, "x"]}))
    raises(
        lambda: rows(pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "y": [1.0, 2.0]}), target="y"),
        "Input X contains NaN: row 2, column 'a' has no value",
    )


def test_times_are_no_target(tmp_path):
    path = text_file(tmp_path / "a.csv", "x,y\n1,2020-01-01\n2,2020-01-02\n")
    raises(
        lambda: rows(path, target="y"), r"a\.csv, column 'y' has the type date32\[day\]: targets are numbers or text"
    )


def test_whole_numbers_that_float64_does_not_have(tmp_path):
    large = [1, 2**53 + 1, 3]
    source = pa.table({"a": large, "y": [1.0, 2.0, 3.0]})
    for kind, where in {"parquet": "row group 0, row 2", "csv": "line 3"}.items():
        path = write(kind, tmp_path / f"a.{kind}", source)
        raises(lambda path=path: rows(path, target="y"), rf"{where}, column 'a': 9007199254740993 is beyond 2\*\*53")
    np.save(tmp_path / "a.npy", np.array(large)[:, None])
    with pytest.raises(ValueError, match=r"a\.npy, row 2, column 'x0': 9007199254740993 is beyond"):
        Ridge().fit(rows(tmp_path / "a.npy"), [1.0, 2.0, 3.0])


@KINDS
def test_a_file_cut_short(kind, tmp_path):
    path = write(kind, tmp_path / f"a.{kind}", table(2000))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2 + 3])
    where = (
        r"a\.csv, line \d+, column 'x?\w': 4 fields are expected, as in the header, but \d were found. Is the file cut"
        if kind == "csv"
        else rf"a\.{kind}"
    )
    raises(lambda: rows(path, target="y"), where)
    path.write_bytes(b"")
    raises(lambda: rows(path, target="y"), rf"a\.{kind}")


def test_a_compressed_file_and_one_of_numpy_cut_short(tmp_path):
    path = tmp_path / "a.csv.gz"
    write("csv", path, table(2000))
    path.write_bytes(path.read_bytes()[:-200])
    raises(lambda: rows(path, target="y"), r"a\.csv\.gz, after line \d+: Compressed file ended before")
    np.save(tmp_path / "a.npy", np.zeros((100, 3)))
    whole = (tmp_path / "a.npy").read_bytes()
    for size, words in (
        (2000, r"is not whole: 100 x 3 numbers of 8 bytes need"),
        (5, "is not a whole file of NumPy's format"),
    ):
        (tmp_path / "a.npy").write_bytes(whole[:size])
        raises(lambda: rows(tmp_path / "a.npy"), rf"a\.npy {words}")


def test_damage_inside_a_row_group_names_it(tmp_path):
    path = write("parquet", tmp_path / "a.parquet", table(4000), size=1000)
    place = pa.parquet.ParquetFile(path).metadata.row_group(2).column(1)
    contents = bytearray(path.read_bytes())
    contents[place.data_page_offset : place.data_page_offset + 2000] = b"\xff" * 2000
    path.write_bytes(bytes(contents))
    raises(lambda: rows(path, target="y"), r"a\.parquet, row group 2: ")


def test_matrices_of_other_shapes_and_types(tmp_path):
    for name, X in {"cube": np.zeros((2, 2, 2)), "words": np.array([["a"]]), "wide": np.zeros((3, 4))}.items():
        np.save(tmp_path / f"{name}.npy", X)
    np.save(tmp_path / "a.npy", np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"cube\.npy: expected a matrix of rows, got an array of shape \(2, 2, 2\)"):
        rows(tmp_path / "cube.npy")
    with pytest.raises(ValueError, match=r"words\.npy, expected numbers, got values of type <U1"):
        rows(tmp_path / "words.npy")
    with pytest.raises(ValueError, match=r"wide\.npy, 4 columns, but the first matrix has 3"):
        rows([tmp_path / "a.npy", tmp_path / "wide.npy"])
    np.save(tmp_path / "none.npy", np.zeros((0, 3)))
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)"):
        rows(tmp_path / "none.npy")


@KINDS
def test_no_rows_and_no_columns(kind, tmp_path):
    path = write(kind, tmp_path / f"a.{kind}", table()[:0])
    raises(lambda: rows(path, target="y"), r"Found array with 0 sample\(s\)")
    raises(lambda: rows(path), r"Found array with 0 sample\(s\)")
    raises(lambda: rows(path, target="y", columns=[]), "No column is left for X")


def test_a_column_that_is_there_twice(tmp_path):
    source = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], names=["a", "a", "y"])
    with pytest.raises(
        ValueError, match=r"there are 2 columns 'a': give each a name of its own|named twice|'a' 2 times"
    ):
        rows(source, target="y")
    # as in a table that is read, the second one of a text gets a name
    assert rows(text_file(tmp_path / "a.csv", "a,a,y\n1,2,3\n"), target="y").names == ("a", "a_2")


def test_sources_that_cannot_be_read_again():
    result = table()
    once = "Rows are read more than once, and this iterator can be read only once"
    raises(lambda: rows(result.to_reader(), target="y"), once)
    raises(lambda: rows(iter([np.zeros((3, 2))])), once)
    raises(lambda: rows(block for block in [np.zeros((3, 2))]), once)
    raises(lambda: rows(pl.LazyFrame({"a": [1.0]})), r"A lazy frame.*\.collect\(\).*\.sink_parquet\(path\)")


def test_an_iterable_that_gives_other_rows_the_second_time():
    X, y, _ = regression(60, 3)
    passes = []

    def fewer():
        passes.append(1)
        return [(X, y)] if len(passes) <= 3 else [(X[:50], y[:50])]

    raises_once = rows(fewer)
    with pytest.raises(ValueError, match="60 rows were there before, now there are 50"):
        Ridge().fit(raises_once)


@KINDS
def test_a_file_that_changes_between_passes(kind, tmp_path):
    path = write(kind, tmp_path / f"a.{kind}", table())
    result = rows(path, target="y")
    Ridge().fit(result)
    write(kind, path, table(seed=1))
    os.utime(path, ns=(0, 1))
    for work in (lambda: Ridge().fit(result), lambda: result.load()):
        with pytest.raises(ValueError, match=rf"a\.{kind} has changed since it was first read"):
            work()
    path.unlink()
    with pytest.raises(FileNotFoundError, match=rf"a\.{kind}"):
        Ridge().fit(result)


@pytest.mark.parametrize("kind", ["parquet", "csv", "feather", "npy"])
def test_a_file_that_changes_during_a_pass(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    if kind == "npy":
        np.save(path, regression(60, 3).X)
    else:
        write(kind, path, table())
    result = rows(path)
    pieces = result.pieces()
    next(pieces)
    os.utime(path, ns=(0, 1))
    with pytest.raises(ValueError, match=rf"a\.{kind} has changed since it was first read"):
        list(pieces)


@pytest.mark.parametrize(
    "row", [row for row in SOLVED if not row.once and "files" in row.where], ids=lambda row: row.id
)
def test_a_fit_that_fails_in_its_second_pass_leaves_the_estimator_as_it_was(row, tmp_path):
    """The first pass is read; then the file changes."""
    X, y, _ = row.data(200, 3)

    class Once:
        count = 0

        def __iter__(self):
            self.count += 1
            # two looks to see whether it can be read again, the survey, and one pass
            yield (X[:150] if self.count > 4 else X), (y[:150] if self.count > 4 else y)

    other = row.data(50, 5)
    for model in (row.make(), row.make().fit(other.X, other.y)):
        before = state(model)
        with pytest.raises(ValueError, match="have changed"):
            model.fit(rows(Once()))
        assert state(model) == before


def test_without_pyarrow_the_sentence_names_the_extra(tmp_path):
    for kind in ("csv", "parquet"):
        write(kind, tmp_path / f"a.{kind}", table())
    code = f"""
        import sys
        sys.modules["pyarrow"] = sys.modules["polars"] = None
        import numpy as np
        import tenfold
        assert tenfold.Ridge().fit(tenfold.rows([np.eye(3)]), [1.0, 2.0, 3.0]).certificate_.ok
        assert tenfold.Ridge().fit(tenfold.rows({str(tmp_path / "a.csv")!r}, target="y")).certificate_.ok
        try:
            tenfold.rows({str(tmp_path / "a.parquet")!r})
        except ImportError as reason:
            assert "pip install 'tenfold[frames]'" in str(reason), reason
        else:
            raise AssertionError
    """
    run(code)


def run(code, **extra):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(SRC), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env=environment,
        **extra,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# -- passes


@given(
    cuts=st.lists(st.integers(0, 1300), max_size=8),
    length=st.sampled_from([1, 7, 256, 500, 5000]),
    storage=st.sampled_from(["dense", "sparse"]),
    step=st.sampled_from([1, 3, 9]),
)
def test_any_cutting_into_pieces_gives_the_same_blocks(cuts, length, storage, step):
    X = np.arange(2600.0).reshape(1300, 2)
    X = sparse.csr_array(X) if storage == "sparse" else X
    edges = [0, *sorted(cuts), 1300]
    result = rows([X[a:b] for a, b in pairwise(edges)])

    def dense(part):
        return part.toarray() if sparse.issparse(part) else part

    whole = dense(X)
    parts = [dense(part) for part in result.cut(length)]
    assert [len(part) for part in parts] == [min(length, 1300 - start) for start in range(0, 1300, length)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    np.testing.assert_array_equal(dense(result.subsample(step)), whole[::step])
    np.testing.assert_array_equal(dense(result.load()), whole)
    assert result.place_of_row(1299).endswith(f"row {1300 - max(edge for edge in edges[:-1] if edge < 1300)}")


def test_nothing_is_read_for_targets_and_weights():
    X, y, _ = regression(300, 2)
    result = rows([(X, y, zero_weights(300))])
    batches = BatchRows(result, result.y[:, None], result.weight)
    result.pieces = None
    assert batches.map(targets_of)[:, 0] is not None
    np.testing.assert_array_equal(batches.map(targets_of)[:, 0], y)
    np.testing.assert_array_equal(batches.map(weights_of), zero_weights(300))
    np.testing.assert_array_equal(BatchRows(result, result.y[:, None]).map(weights_of), np.ones(300))


def test_target_and_weight_stand_in_one_place_only(tmp_path):
    X, y, _ = regression(60, 3)
    result = rows([(X, y, np.ones(60))])
    with pytest.raises(ValueError, match="give y or the target, not both"):
        Ridge().fit(result, y)
    with pytest.raises(ValueError, match="give sample_weight or the weight, not both"):
        Ridge().fit(result, sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="These rows have no target"):
        Ridge().fit(rows([X]))
    assert certify(Ridge().fit(result), result).ok


def test_every_prediction_takes_a_table(tmp_path):
    X, y, _ = regression(80, 3)
    result = rows([X[:50], X[50:]])
    model = RidgeCV().fit(X, y)
    np.testing.assert_array_equal(model.predict_interval(result), model.predict_interval(X))
    logistic = LogisticRegression().fit(X, y > 1)
    for name in ("decision_function", "predict_proba", "predict_log_proba", "predict"):
        np.testing.assert_array_equal(getattr(logistic, name)(result), getattr(logistic, name)(X))


@pytest.fixture
def long_rows(monkeypatch):
    """A table of many small blocks whose reader waits a little before each piece."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 10)
    X, y, _ = regression(20_000, 4)

    class Slow:
        def __iter__(self):
            for start in range(0, len(X), 100):
                time.sleep(0.0005)
                yield X[start : start + 100], y[start : start + 100]

    return rows(Slow())


def test_the_reader_thread_ends_with_the_pass_and_with_an_error_in_it(long_rows):
    batches = BatchRows(long_rows, long_rows.y[:, None])
    seen = []

    def fails(block):
        seen.append(len(live_threads()))
        if len(seen) == 3:
            raise RuntimeError("enough")
        return block.X[:, 0]

    with pytest.raises(RuntimeError, match="enough") as caught:
        batches.map(fails)
    # while the traceback, and every frame in it, is still alive
    assert caught.value.__traceback__ is not None
    assert live_threads() == []
    assert seen == [1, 1, 1]


def fit_for_ever(model, result):
    while True:
        model.fit(result)


def test_ctrl_c_in_a_pass_ends_the_reader_thread(long_rows):
    model = Ridge()
    timer = threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            fit_for_ever(model, long_rows)
    finally:
        timer.cancel()
    assert live_threads() == []


def test_errors_of_the_reader_are_raised_by_the_one_who_waits():
    def source():
        yield 1
        raise ValueError("line 7")

    result = read_ahead(source(), 1)
    assert next(result) == 1
    with pytest.raises(ValueError, match="line 7"):
        next(result)


def test_reading_ahead_is_bounded():
    """Of 100 items no more are there at a time than was allowed."""
    written, alive = [], weakref.WeakSet()

    class Item:
        pass

    def source():
        for _ in range(100):
            item = Item()
            alive.add(item)
            written.append(len(alive))
            yield item
            del item

    with closing(read_ahead(source(), 2)) as result:
        for _ in range(50):
            item = next(result)
            del item
        time.sleep(0.05)
        assert len(written) <= 52
    assert max(written) == 2
    assert len(written) <= 52


def test_work_of_several_threads_comes_in_order_and_is_bounded():
    begun = []

    def work(k):
        begun.append(k)
        time.sleep(0.01 if k % 3 else 0.03)
        return 2 * k

    result = in_order(work, range(40), 3)
    assert [next(result) for _ in range(5)] == [0, 2, 4, 6, 8]
    assert max(begun) <= 8
    result.close()
    count = len(begun)
    time.sleep(0.05)
    assert len(begun) == count


def test_pieces_of_parquet_are_small_beside_a_block(tmp_path):
    n, p = 200_000, 20
    X = np.zeros((n, p))
    pa.parquet.write_table(
        pa.table(list(X.T), names=[f"x{j}" for j in range(p)]), tmp_path / "a.parquet", row_group_size=n
    )
    sizes = [piece.matrix().nbytes for piece in rows(tmp_path / "a.parquet").pieces()]
    assert max(sizes) <= batches.PIECE_BYTES
    assert sum(sizes) == X.nbytes
