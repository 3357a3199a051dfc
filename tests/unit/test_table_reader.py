"""Tables from text and other formats: what is found out, what is said, and what is refused."""

import csv
import gzip
import io
import os
import pickle
import subprocess
import sys
import textwrap
import time
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenfold.data.words import MISSING
from tenfold.features import Reading, TableEncoder, TableError, read_table


def read(text, **how):
    return read_table(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **how)


def columns(text, **how):
    return read(text, **how).frame.to_dict(as_series=False)


def sentences(text, **how):
    return " | ".join(map(str, read(text, **how).decisions))


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_delimiters_are_detected_and_reported(sign):
    text = "name,size\nx,1\ny,2\n".replace(",", sign)
    assert columns(text) == {"name": ["x", "y"], "size": [1, 2]}
    assert {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}[sign] in sentences(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;b\n1,5;x\n2,25;y\n", {"a": [1.5, 2.25], "b": ["x", "y"]}),
        ("a;b\n1.234,5;1\n2,5;2\n", {"a": [1234.5, 2.5], "b": [1, 2]}),
        ("a;b\n1.5;x\n2.25;y\n", {"a": [1.5, 2.25], "b": ["x", "y"]}),
        ('a,b\n"1,5",x\n"2,25",y\n', {"a": [1.5, 2.25], "b": ["x", "y"]}),
        ("1,5;2,5\n2,5;3,5\n", {"column_1": [1.5, 2.5], "column_2": [2.5, 3.5]}),
    ],
)
def test_decimal_commas(text, expected):
    assert columns(text) == expected


def test_quotes_hold_delimiters_line_breaks_and_quotes():
    expected = {"a": ["x, y", 'say "no"', "two\nlines"], "b": [1, 2, 3]}
    assert columns('a,b\n"x, y",1\n"say ""no""",2\n"two\nlines",3\n') == expected
    assert columns("'a','b'\n'x, y',1\n'z',2\n") == {"a": ["x, y", "z"], "b": [1, 2]}
    assert columns('a,b\n 1, "x,y"\n2, z\n') == {"a": [1, 2], "b": ["x,y", "z"]}


def test_inches_are_no_quotes():
    assert columns('a,b\n5" pipe,1\n6",2\n') == {"a": ['5" pipe', '6"'], "b": [1, 2]}
    assert columns('a,b\n"x"y,2\n3,4\n') == {"a": ["xy", "3"], "b": [2, 4]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines(end):
    assert columns(end.join(["a,b", "1,x", "2,y", ""])) == {"a": [1, 2], "b": ["x", "y"]}


def test_blank_lines_are_skipped_and_reported():
    text = "a,b\n1,2\n\n3,4\n\n"
    assert columns(text) == {"a": [1, 3], "b": [2, 4]}
    assert "2 blank lines left out" in sentences(text)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("a,é\n1,ü\n".encode(), ""),
        ("a,é\n1,ü\n".encode("utf-8-sig"), "UTF-8, by the byte-order mark"),
        ("a,é\n1,ü\n".encode("utf-16"), "UTF-16-LE, by the byte-order mark"),
        (b"\xfe\xff" + "a,é\n1,ü\n".encode("utf-16-be"), "UTF-16-BE"),
        ("a,é\n1,ü\n".encode("latin-1"), "cp1252: line 1 has the byte 0xe9"),
    ],
)
def test_encodings(data, said):
    assert columns(data) == {"a": [1], "é": ["ü"]}
    assert said in sentences(data)


def test_encoding_as_a_parameter():
    assert columns("a,b\n1,Ж\n".encode("cp1251"), encoding="cp1251") == {"a": [1], "b": ["Ж"]}
    with pytest.raises(TableError, match="line 2: the bytes ff 0a are not ascii"):
        read(b"a,b\n1,\xff\n", encoding="ascii")
    with pytest.raises(TableError, match="line 2: the bytes ff 0a are not utf-8"):
        read(b"a,b\n1,\xff\n", encoding="utf8")
    with pytest.raises(ValueError, match="'utf-nine' is not known"):
        read(b"a\n1\n", encoding="utf-nine")


def test_a_header_is_recognised():
    assert columns("1,2\n3,4\n") == {"column_1": [1, 3], "column_2": [2, 4]}
    assert columns("a,b\n1,2\n") == {"a": [1], "b": [2]}
    assert columns("name,year\nx,y\n") == {"name": ["x"], "year": ["y"]}
    assert columns("country,2010,2011\nA,5,6\nB,7,8\n") == {"country": ["A", "B"], "2010": [5, 7], "2011": [6, 8]}
    assert columns("country,2010\nA,5\n", header=True) == {"country": ["A"], "2010": [5]}
    assert columns("a,b\n1,2\n", header=False) == {"column_1": ["a", "1"], "column_2": ["b", "2"]}
    assert "no header" in sentences("1,2\n3,4\n")


def test_words_for_nothing():
    words = sorted(MISSING - {""})
    text = "a,b\n" + "".join(f"{word},1\n" for word in words) + "x,2\n,3\n"
    assert columns(text)["a"] == [None] * len(words) + ["x", None]
    assert "empty (1), '#N/A' (1), '#N/A N/A' (1), '#NA' (1), '-' (1), '-1.#IND' (1)" in sentences(text)
    assert "missing: empty (1), 'NA' (2), '?' (1)" in sentences("a,b\n?,1\nNA,1\nNA,2\n,3\nx,4\n")
    assert columns("a,b\n-999,1\n5,2\n", missing=["-999"])["a"] == [None, 5]
    assert columns("a,b\nNA,1\nx,2\n", missing=[])["a"] == ["NA", "x"]


def test_codes_stay_text():
    text = "plz,n,long\n01234,7,123456789012345678901\n99999,08,3\n"
    assert columns(text) == {"plz": ["01234", "99999"], "n": ["7", "08"], "long": ["123456789012345678901", "3"]}
    assert "plz: kept as text, because of leading zeros such as '01234'" in sentences(text)
    assert "long: whole numbers beyond 64 bits are kept as text" in sentences(text)


def test_names_that_are_missing_or_come_twice():
    text = "a,,a,a_2\n1,2,3,4\n"
    assert list(columns(text)) == ["a", "column_2", "a_3", "a_2"]
    assert "a second column 'a' is called 'a_3'" in sentences(text)
    assert "column 2 has no name and is called 'column_2'" in sentences(text)


def test_one_column_of_text_is_not_divided():
    assert columns("text\nhello, world\nfoo, bar, baz\n") == {"text": ["hello, world", "foo, bar, baz"]}
    assert columns("a\n1\n\n2\n") == {"a": [1, 2]}


def test_the_line_of_excel_names_the_delimiter():
    assert columns("sep=;\na;b\n1;2\n") == {"a": [1], "b": [2]}


FAULTS = {
    "empty": ("", "standard input: the file is empty"),
    "delimiter only": ("sep=;\n", "no rows after the line that names the delimiter"),
    "blank": ("\n \n", "the file is empty"),
    "header only": ("a,b\n", "a header ('a', 'b') and no rows"),
    "too few": (
        "a,b,c\n1,2,3\n4,5\n6,7,8\n",
        "line 3, column 'c': 3 fields are expected, as in the header, but 2 were",
    ),
    "too many": ('a,b\n"x\ny",2\n3,4,5\n', "line 4: 2 fields are expected, as in the header, but 3 were found"),
    "cut short": ("a,b\n1,2\n3", "line 3, column 'b': 2 fields are expected"),
    "quote": ('a,b\n1,2\n3,"x\n4,5\n', 'line 3: a quote (") opens a field in this line and is not closed'),
    "quote, and others": ('a,b\n1,"x\n3,"4"\n5,"6"\n', 'line 2: a quote (") opens a field'),
    "mixed": (
        b"a,b\n1,\xc3\xa9\n2,\xe9\n",
        "line 3: the byte 0xe9 is not UTF-8, but line 2 is: the file mixes encodings",
    ),
    "nul": (b"a,b\n1,2\n3,\x00\n", "line 3: there is a NUL byte"),
    "utf-16 unmarked": ("a,b\n1,2\n".encode("utf-16-le"), "this looks like utf-16-le without a byte-order mark"),
    "infinite": ('a,b\n1,"x\ny"\n-inf,z\n', "line 4, column 'a': -inf is not a finite number"),
    "overflow": ("a,b\n1,2\n1e999,2\n", "line 3, column 'a': inf is not a finite number"),
    "json": ('{"a": 1}\n{"a": \n', "line 2: this line is not JSON"),
    "json list": ('{"a": 1}\n[1]\n', "line 2: this line is not an object"),
    "pickle": (pickle.dumps([1, 2]), "this is a pickle"),
    "png": (b"\x89PNG\r\n\x1a\n\0\0", "this is an image (PNG)"),
    "npy": (b"\x93NUMPY\x01\0", "this is a NumPy array"),
    "zstd": (pa.compress(b"a,b\n1,2\n" * 99, codec="zstd", asbytes=True)[:-3], "the Zstandard stream is damaged"),
    "gzip": (gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "the gzip stream ends too early"),
    "bytes": (bytes(range(256)) * 20, "this is a binary file"),
    "arrow": (b"ARROW1\0\0nothing", "this begins like arrow, but cannot be read"),
    "parquet": (b"PAR1nothing", "this begins like parquet, but cannot be read"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_errors_are_reported_with_their_place(name):
    data, expected = FAULTS[name]
    with pytest.raises(TableError) as caught:
        read(data)
    assert expected in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_infinite_numbers_may_be_missing():
    assert columns("a,b\n1,2\ninf,3\n", infinite="missing")["a"] == [1.0, None]
    assert "1 infinite number taken as missing" in sentences("a,b\n1,2\ninf,3\n", infinite="missing")
    with pytest.raises(TableError, match="row 2, column 'a'"):
        read_table(pl.DataFrame({"a": [1.0, np.inf]}))


def test_files(tmp_path):
    frame = pl.DataFrame({"a": [1, 2, None], "b": ["x", "y", None]})
    text = frame.write_csv().encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("inner.csv", text)
    compress = pa.compress(text, codec="zstd", asbytes=True)
    sources = {"t.csv": text, "t.csv.gz": gzip.compress(text), "t.csv.zip": packed.getvalue(), "t.csv.zst": compress}
    for name, data in sources.items():
        (tmp_path / name).write_bytes(data)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ndjson(tmp_path / "t.jsonl")
    for path in sorted(tmp_path.iterdir()):
        reading = read_table(path)
        assert reading.frame.equals(frame), path
        assert reading.source == str(path)
        assert repr(reading).startswith("<Reading of")


def test_files_are_read_without_pyarrow_and_zstandard_names_its_extra(tmp_path):
    """The extra of the command line brings no pyarrow."""
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, None]})
    (tmp_path / "t.csv.zst").write_bytes(pa.compress(frame.write_csv().encode(), codec="zstd", asbytes=True))
    for kind in ("csv", "parquet", "ipc", "ndjson"):
        getattr(frame, f"write_{kind}")(tmp_path / f"t.{kind}")
    code = f"""
        import sys
        from pathlib import Path
        class WithoutPyarrow:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "pyarrow":
                    raise ModuleNotFoundError(name, name=name)
        sys.meta_path.insert(0, WithoutPyarrow())
        from tenfold import Ridge, TableEncoder, read_table
        for path in sorted(Path({str(tmp_path)!r}).iterdir()):
            frame = read_table(path).frame
            assert frame.to_dict(as_series=False) == {frame.to_dict(as_series=False)!r}, path
            Ridge().fit(TableEncoder().fit_transform(frame.drop("a")), frame["a"].to_numpy())
        sys.modules["backports.zstd"] = sys.modules["compression.zstd"] = None
        try:
            read_table(path.with_name("t.csv.zst"))
        except ValueError as reason:
            assert "pip install 'tenfold[frames]'" in str(reason), reason
        else:
            raise AssertionError
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("given", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_frames_are_passed_on(given):
    reading = read_table(given({"a": [1.5, 2.5], "b": ["x", "y"]}))
    assert reading.frame.to_dict(as_series=False) == {"a": [1.5, 2.5], "b": ["x", "y"]}
    assert read_table(reading) is reading
    assert isinstance(reading, Reading)


def test_paths_that_lead_nowhere(tmp_path, monkeypatch):
    (tmp_path / "data.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match=r"there is no such file. Did you mean '.*data.csv'"):
        read_table(tmp_path / "dat.csv")
    with pytest.raises(TableError, match="this is a folder"):
        read_table(tmp_path)
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("a.csv", "1")
        archive.writestr("b.csv", "1")
    with pytest.raises(TableError, match="holds 2 files"):
        read_table(tmp_path / "two.zip")
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
    with pytest.raises(TableError, match="save the sheet as CSV"):
        read_table(tmp_path / "book.xlsx")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n")))
    assert read_table("-").frame.shape == (1, 2)
    with pytest.raises(TypeError, match="int was given"):
        read_table(3)


def test_the_quick_look_and_the_slow_one_agree(tmp_path):
    """A cell that polars cannot read sends the whole file through the other reader."""
    plain = "a,b\n" + "".join(f'{i},"x{i}, y"\n' for i in range(50))
    odd = plain.replace('"x7, y"', '"x7", y'.replace('", y', '"tail'))
    one, two = columns(plain), columns(odd)
    assert two["b"][7] == "x7tail"
    del one["b"][7], two["b"][7]
    assert one == two


@pytest.mark.parametrize("wide", [3_000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_many_columns(wide):
    rows = 4
    text = ",".join(f"c{j}" for j in range(wide)) + "\n"
    text += "".join(",".join(map(str, range(i, wide + i))) + "\n" for i in range(rows))
    start = time.perf_counter()
    frame = read(text).frame
    assert frame.shape == (rows, wide)
    assert frame[f"c{wide - 1}"].to_list() == [wide - 1, wide, wide + 1, wide + 2]
    assert time.perf_counter() - start < 60


names = st.lists(st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True), min_size=2, max_size=5, unique=True)
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"], include_characters="\n"), max_size=12)
# a word for infinity is a number that is refused
words = words.filter(lambda word: word.strip().lstrip("+-").lower() not in ("inf", "infinity"))
cells = st.one_of(st.integers(-9999, 9999).map(str), words)


@st.composite
def written(draw):
    """A table of text, and how it is written."""
    header = draw(names)
    rows = draw(st.lists(st.lists(cells, min_size=len(header), max_size=len(header)), min_size=1, max_size=6))
    sign = draw(st.sampled_from(",;\t|"))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return header, rows, sign, quoting, end


@given(written())
@settings(max_examples=100, deadline=None)
def test_what_was_written_is_read(table):
    """Whatever delimiter, quoting and ends of lines: the cells come back, without blanks around them."""
    header, rows, sign, quoting, end = table
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=sign, quoting=quoting, lineterminator=end)
    writer.writerow(header)
    writer.writerows(rows)
    frame = read(text.getvalue(), delimiter=sign, header=True, decimal=".", quote='"').frame
    assert frame.columns == header
    for j, name in enumerate(header):
        expected = [None if row[j].strip() in MISSING else row[j].strip() for row in rows]
        result = frame[name]
        if result.dtype == pl.String:
            assert [None if v is None else v for v in result] == expected
        else:
            assert result.to_list() == [None if v is None else float(v) for v in expected]


@given(
    names,
    st.integers(2, 12),
    st.sampled_from(",;\t|"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.integers(0, 10**6),
)
@settings(max_examples=80, deadline=None)
def test_dialect_is_detected(header, rows, sign, encoding, seed):
    """Numbers, words and dates under names: delimiter, header and encoding are seen from the text."""
    rng = np.random.default_rng(seed)
    result = []
    for j in range(len(header)):
        kind = rng.integers(3) if j else 0
        if kind == 0:
            result.append([str(v) for v in rng.integers(0, 1000, rows)])
        else:
            result.append([str(v) for v in rng.choice(["réd", "blue", "a b", "x, y", "1; 2", "p|q"], rows)])
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=sign)
    writer.writerow(header)
    writer.writerows(zip(*result, strict=True))
    frame = read(text.getvalue().encode(encoding)).frame
    assert frame.columns == header
    assert [[str(v) for v in frame[name]] for name in header] == result


SEEDS = [
    b'a,b,c\n1,2.5,x\n3,"y, z",w\n,NA,2013-01-01\n',
    b'"a";"b"\n"1,5";"x ""q"""\n2,5;y\n',
    "id\tname\n1\tJosé\n2\tAnn\n".encode("utf-8-sig"),
    "a,b\n1,é\n".encode("utf-16"),
    b'{"a":1,"b":"x"}\n{"a":2,"b":null}\n',
    gzip.compress(b"a,b\n1,2\n"),
]
PIECES = [*(bytes([c]) for c in b",;\t\"'\n\r\0\xff\xc31a {["), b"inf", b"1e999", b"sep=;\n"]
CHANGES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2), st.sampled_from(PIECES)), max_size=6)


@given(st.sampled_from(SEEDS), CHANGES)
@settings(max_examples=120, deadline=None)
def test_any_input_is_read_or_raises(data, changes):
    """Bytes that are put in and taken out leave a table, or a sentence; never another error."""
    for place, cut, piece in changes:
        at = int(place * len(data))
        data = data[:at] + piece + data[at + cut :]
    try:
        frame = read(data).frame
    except TableError:
        return
    assert frame.height > 0
    TableEncoder().fit_transform(frame)


@pytest.mark.slow
def test_flights_take_seconds():
    path = os.path.join(os.environ.get("TENFOLD_DATA", "../shared/data"), "flights.csv.gz")
    if not os.path.exists(path):
        pytest.skip("the data are not here")
    start = time.perf_counter()
    reading = read_table(path)
    assert time.perf_counter() - start < 30
    assert reading.frame.shape == (336_776, 19)
    assert reading.frame["arr_delay"].dtype == pl.Int64
