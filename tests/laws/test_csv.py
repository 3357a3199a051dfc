"""CSV: numbers and types of files are those that Arrow reads, to the bit, by the compiled loop and without it; and
`tenfold.rows` and `read_table` find the same names, cells and numbers in the same files.
"""

import math
import struct

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tenfold import Ridge, _core, read_table, rows
from tenfold.data import text
from tenfold.data.csv import FALSE, TEXT, TRUE, TRUTH, CsvPart
from tenfold.data.dialect import CsvOptions
from tenfold.data.files import File
from tenfold.data.words import MISSING, are_codes
from tenfold.features import TableError

DELIMITERS = {"csv": ",", "tsv": "\t"}


def loop(contents, fields, chosen, delimiter=",", whole=()):
    """The rows of the fields `chosen` as the loop finds them, and which are whole; None where some are not plain."""
    place = np.full(fields, -1, np.int32)
    place[list(chosen)] = np.arange(len(chosen))
    kinds = np.array([j in whole for j in chosen], np.uint8)
    result = _core.csv_records(
        np.frombuffer(contents, np.uint8), contents.count(b"\n") + 1, ord(delimiter), ord('"'), ord("."), place, kinds
    )
    if result is None:
        return None
    X, count, still, others, _ = result
    assert X.shape[1] == len(chosen)
    assert X.shape[0] >= count
    rows, columns, begins, ends = others.T
    assert np.isnan(X[rows, columns]).all()
    assert np.isnan(X[:count]).sum() == len(others)
    assert ((begins >= 0) & (begins <= ends) & (ends <= len(contents))).all()
    return None if len(others) else (X[:count], still)


def arrow(contents, fields, chosen, delimiter=",", kind=None):
    """The same as Arrow has it; None where it refuses, or where a value is missing."""
    names = [f"x{j}" for j in range(fields)]
    kinds = {f"x{j}": kind or pa.float64() for j in chosen}
    try:
        result = pa.csv.read_csv(
            pa.BufferReader(contents),
            pa.csv.ReadOptions(use_threads=False, block_size=len(contents) + 1, column_names=names),
            pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pa.csv.ConvertOptions(include_columns=list(kinds), column_types=kinds, strings_can_be_null=True),
        )
    except pa.ArrowInvalid:
        return None
    if any(result[name].null_count for name in kinds):
        return None
    return np.column_stack([result[name].to_numpy() for name in kinds]) if kinds else np.empty((len(result), 0))


def same_bits(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and np.ascontiguousarray(a).tobytes() == b.tobytes()


# -- numbers


doubles = st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0])
usual = st.floats(-1e6, 1e6) | st.floats(allow_nan=False, allow_infinity=False) | doubles.filter(math.isfinite)
written = st.one_of(
    usual.map(repr),
    st.tuples(st.integers(0, 30), usual).map(lambda f: f"{f[1]:.{f[0]}e}"),
    st.tuples(st.integers(0, 25), st.floats(-1e9, 1e9)).map(lambda f: f"{f[1]:.{f[0]}f}"),
    st.integers(-(10**25), 10**25).map(str),
    st.integers(-99, 99).map(str),
)
digits = st.text("0123456789", max_size=26)
odd = st.builds(
    lambda sign, whole, point, fraction, power: sign + whole + point + fraction + power,
    st.sampled_from(["", "-", "+", "--"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(
        st.just(""),
        st.builds("{}{}{}".format, st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), digits.map(lambda d: d[:5])),
    ),
)
halfway = st.builds(lambda m, e: str((2 * m + 1) * 2**e), st.integers(2**52, 2**53 - 1), st.integers(0, 10))


@given(written | odd | halfway)
@example("0e999999")
@example("1e-99999")
@example("18446744073709551616.5")
@example("18446744073709551615")
@example("9007199254740993")
@example("0." + "0" * 30 + "12345678901234567")
@example("2.2250738585072011e-308")
@example("1.7976931348623159e308")
@example("8.988465674311580536e307")
@example("5e-324")
def test_a_number_is_rounded_to_the_nearest(word):
    """What is claimed is the double that Python reads, whatever comes next and wherever the text ends."""
    ends = ("", "\n", " \n", "\r\n", ",1\n", "," + "1" * 40 + "\n")
    result = [loop((word + after).encode(), 1 + after.count(","), [0]) for after in ends]
    claimed = [one for one, _ in filter(None, result) if len(one)]
    assume(claimed)
    for one in claimed:
        assert same_bits(one, np.array([[float(word)]]))


@given(usual)
def test_shortest_and_long_forms_of_a_number_are_claimed(value):
    for word in (repr(value), f"{value:.17g}", f"{value:.16e}", f"{value:.30g}"):
        result = loop(word.encode(), 1, [0])
        if abs(value) >= 1e-300 or value == 0.0:
            assert result is not None
        if result is not None:
            assert same_bits(result[0], np.array([[value if word != f"{value:.30g}" else float(word)]]))


@pytest.mark.parametrize(
    "word",
    [
        "",
        " ",
        "-",
        "+",
        ".",
        "e5",
        "1e",
        "1e+",
        "1.5.5",
        "1-",
        "1 2",
        "--1",
        "0x10",
        "1_0",
        "1d5",
        "inf",
        "nan",
        "NA",
        "NULL",
        '"x"',
        '"1"2',
        "true",
        "1e999",
        "1e-999",
        "\v1",
        "\xa01",
        "1\x00",
    ],
)
def test_what_is_not_claimed(word):
    assert loop(f"{word},2\n".encode(), 2, [0, 1]) is None
    assert loop(f"1,{word}\n".encode(), 2, [0, 1]) is None
    assert loop(f"1,2\n1,{word}".encode(), 2, [0, 1]) is None


# -- tables


fields = st.one_of(
    written,
    odd,
    st.builds("{}{}{}".format, st.sampled_from(["", " ", "\t", "  "]), written, st.sampled_from(["", " ", " \t"])),
    st.sampled_from(
        [
            "",
            "NA",
            "inf",
            "-inf",
            "nan",
            "oops",
            '"1.5"',
            '" 2"',
            '"a ""b"" c"',
            '"one,\ntwo"',
            'a"b',
            '"x"y',
            "\u00e9",
            "a b",
        ]
    ),
)
plain = written | st.builds(" {} ".format, written)


@st.composite
def tables(draw, cells, regular=False, records=8):
    """Records, most of them of the same length (all, if `regular`), with any (usual) line breaks, perhaps none last."""
    width, delimiter = draw(st.integers(1, 5)), draw(st.sampled_from(",\t;"))
    records = draw(st.lists(st.lists(cells, min_size=width, max_size=width), min_size=1, max_size=records))
    breaks = ["\n", "\n", "\n", "\r\n", "\n\n", "\r\n\r\n"]
    if not regular:
        if draw(st.integers(0, 9)) == 0:
            draw(st.sampled_from(records)).append("1")
        breaks.append("\r")
    breaks = st.sampled_from(breaks)
    contents = "".join(delimiter.join(cells) + draw(breaks) for cells in records)
    if draw(st.booleans()):
        contents = contents.rstrip("\r\n")
    chosen = draw(st.lists(st.integers(0, width - 1), unique=True, max_size=width))
    return contents.encode(), width, chosen, delimiter


@given(tables(plain | plain | plain | fields, regular=True, records=3))
def test_plain_numbers_are_what_arrow_reads(data):
    contents, width, chosen, delimiter = data
    result = loop(contents, width, chosen, delimiter)
    assume(result is not None)
    expected = arrow(contents, width, chosen, delimiter)
    assert expected is not None
    assert same_bits(result[0], expected)


@given(tables(st.integers(-(2**54), 2**54).map(str) | st.sampled_from(["-0", "007", "1.0", "1e3"]), regular=True))
def test_whole_numbers_are_those_of_arrow(data):
    contents, width, chosen, delimiter = data
    result = loop(contents, width, chosen, delimiter, whole=chosen)
    if result is None:  # whole numbers that a double does not tell apart, or a zero with a sign
        values = arrow(contents, width, chosen, delimiter)
        assert np.abs(values).max() >= 2.0**53 or np.any(np.signbit(values[values == 0.0]))
        return
    for k, j in enumerate(chosen):
        expected = arrow(contents, width, [j], delimiter, pa.int64())
        assert (expected is not None) == result[1][k]
        if expected is not None:
            assert same_bits(result[0][:, [k]], expected.astype(np.float64))


@given(tables(plain, regular=True))
def test_plain_tables_are_claimed(data):
    contents, width, chosen, delimiter = data
    expected = arrow(contents, width, chosen, delimiter)
    assume(expected is not None and np.isfinite(expected).all())
    assert loop(contents, width, chosen, delimiter) is not None


@given(tables(plain | fields), st.sampled_from([16, 64, 1 << 21]), st.sampled_from(["csv", "tsv"]))
def test_files_are_the_same_with_the_loop_and_without(tmp_path_factory, data, size, kind):
    """Numbers, targets and errors."""
    contents, width, _, delimiter = data
    path = tmp_path_factory.mktemp("csv") / f"a.{kind}"
    names = ["y", *(f"x{j}" for j in range(1, width))]
    contents = contents.replace(delimiter.encode(), DELIMITERS[kind].encode())
    path.write_bytes(DELIMITERS[kind].join(names).encode() + b"\n" + contents)
    answers = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "CHUNK_BYTES", size)
        for claims in (True, False):
            if not claims:
                patch.setattr(_core, "csv_records", lambda *_: None)
            try:
                result = rows(path, target="y" if width > 1 else None, delimiter=DELIMITERS[kind], header=True)
                answers.append((result.load().tobytes(), result.y is not None and (result.y.dtype, result.y.tobytes())))
            except ValueError as error:
                answers.append(str(error))
    assert answers[0] == answers[1]


AS_ARROW = {"delimiter": ",", "quote": '"', "header": True, "decimal": "."}


@given(tables(plain | st.sampled_from(["true", "False", "NA", '"7"', "word"])))
def test_types_and_numbers_of_files_are_those_of_arrow(tmp_path_factory, data):
    """Codes aside, which are text here: whole numbers beyond 64 bits, or with zeros in front."""
    contents, width, _, delimiter = data
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    contents = contents.replace(delimiter.encode(), b",").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    path.write_bytes(",".join(f"x{j}" for j in range(width)).encode() + b"\n" + contents)
    try:
        expected = pa.csv.read_csv(path, convert_options=pa.csv.ConvertOptions(strings_can_be_null=True))
    except pa.ArrowInvalid:
        with pytest.raises(ValueError, match=r"a\.csv"):
            rows(path, **AS_ARROW)
        return
    cells = pa.csv.read_csv(
        path,
        convert_options=pa.csv.ConvertOptions(column_types=dict.fromkeys(expected.column_names, pa.string())),
    )
    words = [{word.strip() for word in column.to_pylist()} - MISSING for column in cells.columns]
    codes = list(map(are_codes, words))
    part = CsvPart(File.stat(path), CsvOptions(**AS_ARROW))
    types = expected.schema.types
    for kind, said, arrows in zip(part.kinds, words, types, strict=True):
        if are_codes(said) and arrows != pa.null():
            assert kind == TEXT
        elif kind == TRUTH:  # which Arrow does not see between blanks
            assert said <= TRUE | FALSE
            assert arrows == pa.bool_() or b" " in contents
        else:
            assert kind == str(arrows)
    numbers = [pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in types]
    whole = [column for column, kind in zip(expected.columns, types, strict=True) if kind == pa.int64()]
    if all(numbers) and not any(codes) and not any(column.null_count for column in expected.columns):
        matrix = np.column_stack([column.to_numpy().astype(np.float64) for column in expected.columns])
        if all(abs(value) <= 2**53 for column in whole for value in column.to_pylist()):
            assert same_bits(rows(path, **AS_ARROW).load(), matrix)


# -- one way to read a file


def same_as_the_table_reader(path, **how):
    """`rows` and `read_table` give the same dialect, names, labels, numbers and gaps, or both refuse the file."""
    try:
        table = read_table(path, infinite="missing", **how)
    except TableError:
        with pytest.raises(ValueError, match=rf"{path.name}|Found array with 0 sample"):
            rows(path, **how).load()
        return None
    part = CsvPart(File.stat(path), CsvOptions(**how))
    result, expected = part.dialect, table.dialect
    assert (result.delimiter, result.header, result.decimal) == (expected.delimiter, expected.header, expected.decimal)
    assert result.quote == (expected.quote or how.get("quote", '"'))
    assert part.header == table.frame.columns
    for name in table.frame.columns:
        column, kind = table.frame[name], part.kind(name)
        if column.dtype.is_numeric():
            if column.null_count() or (column.dtype.is_integer() and column.abs().max() > 2**53):
                with pytest.raises(ValueError, match=r"has no value|NaN or infinity|beyond 2\*\*53"):
                    Ridge().fit(rows(path, columns=[name], **how), np.arange(table.frame.height))
                continue
            assert same_bits(rows(path, columns=[name], **how).load()[:, 0], column.to_numpy().astype(np.float64))
        elif kind == TRUTH and not column.null_count():
            truth = [float(word in ("true", "True", "TRUE", "1")) for word in column]
            assert rows(path, columns=[name], **how).load()[:, 0].tolist() == truth
        elif column.null_count():
            with pytest.raises(ValueError, match=r"has no value|is text|holds times"):
                rows(path, columns=[name], **how).load()
        else:
            with pytest.raises(ValueError, match=r"is text|holds times"):
                rows(path, columns=[name], **how)
        if kind == TEXT and table.frame.width > 1:
            others = [other for other in table.frame.columns if part.kind(other) in ("double", "int64")]
            others = [other for other in others if not table.frame[other].null_count()][:1]
            if others and not column.null_count():
                assert rows(path, name, columns=others, **how).y.tolist() == column.to_list()
            elif others:
                with pytest.raises(ValueError, match="has no value"):
                    rows(path, name, columns=others, **how)
    return table


FILES = {
    "decimal commas": b"size;price\nS;1,5\nM;2,25\nL;3\n",
    "decimal commas and thousands": b"a;b\n1.234,5;1\n2,5;2\n1.234;3\n-,5;4\n1,5e3;5\n",
    "decimal points, semicolons": b"a;b\n1.5;x\n2.25;y\n",
    "quoted decimal commas": b'a,b\n"1,5",2\n"2,25",3\n',
    "quoted thousands": b'a,b\n"1,234",2\n"22,250",3\n',
    "a point that divides no thousands": b'x0,x1\n"1,5",0.875\n',
    "codes between decimal commas": b"a;b;c\n1,5;007;08\n2,5;1.234;9\n",
    "points and commas": b"a;b\n1,5;1.5\n2,5;2.5\n",
    "tabs": b"a\tb\n1\tx y\n2\tz\n",
    "tabs, empty cells and quotes": b'a\tb\tc\n1\t\t"x"\n2\t\t"y\tz"\n',
    "bars": b"a|b\n1|2\n3|4\n",
    "quoted delimiters and line breaks": b'a,b\n"x, y",1\n"say ""no""",2\n"two\n\nlines",3\n',
    "single quotes": b"'a','b'\n'x, y',1\n'z',2\n",
    "quotes behind blanks": b'a,b\n 1, "x,y"\n2, z\n3, "w" \n',
    "inches": b'a,b\n5" pipe,1\n6",2\n7 "x" y,3\n',
    "text behind a quote": b'a,b\n"x"y,2\n3,4\n',
    "marks of byte order": b"\xef\xbb\xbfa,b\n1,2\n",
    "western european": "Größe,b\n1,é\n2,ü\n".encode("cp1252"),
    "two bytes a character": b"a,b\r\n1,2\r\n3,4\r\n",
    "carriage returns alone": b"a,b\r1,x\r2,y\r",
    "no header": b"1,2.5\n3,4\n",
    "no header, decimal commas": b"1,5;2,5\n2,5;3,5\n",
    "numbered columns": b"0,1,2\n0.5,1.5,2\n0.25,0,1\n",
    "numbered columns and an index": b",0,1\n0,0.5,1.5\n1,0.25,0\n",
    "years": b"country,2010,2011\nA,5,6\nB,7,8\n",
    "empty lines": b"\na,b\n1,2\n\n3,4\n \t\n\n",
    "one column": b"a\n1\n\n  \n2\n",
    "one column of text": b"text\nhello, world\nfoo, bar, baz\n",
    "blanks": b" a , b \n 1 ,x \n2, y z\n",
    "names twice and none": b"a,,a,a_2\n1,2,3,4\n",
    "words for nothing": b"a,b,c,d\n1,NA,?,x\n2,-,none,NULL\n3,4,#N/A,\n",
    "codes": b"plz,n,long,phone,signed\n01234,7,123456789012345678901,+4912345678,+1234567\n99999,08,3,+4998765,-5\n",
    "truth values": b"a,b\ntrue,1\nFALSE,2\n",
    "dates": b"a,b\n2020-01-05,1\n2020-01-06,2\n",
    "a line for spreadsheets": b"sep=;\na;b\n1;2\n",
    "no line break at the end": b"a,b\n1,2\n3,",
    "too few cells": b"a,b,c\n1,2,3\n4,5\n6,7,8\n",
    "too many cells": b'a,b\n"x\ny",2\n3,4,5\n',
    "a quote that is not closed": b'a,b\n1,2\n3,"x\n4,5\n',
    "nothing": b"\n \n",
    "header alone": b"a,b\n",
    "a zero byte": b"a,b\n1,2\n3,\x00\n",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("ending", [".csv", ".txt"])
def test_odd_files_are_those_of_the_table_reader(name, ending, tmp_path):
    path = tmp_path / f"a{ending}"
    path.write_bytes(FILES[name])
    same_as_the_table_reader(path)


@pytest.mark.parametrize(
    ("contents", "how"),
    [
        (b"a,b\n1,2\n", {"header": False}),
        (b"1,2\n3,4\n", {"header": True}),
        (b'a,b\n"1,2\n3,4"\n', {"quote": None}),
        (b"a;b\n1.234;2,5\n", {"decimal": "."}),
        (b"a:b\n1:2\n", {"delimiter": ":"}),
        (b"a,b\nnothing,1\n5,2\n", {"missing": ["nothing"]}),
        (b"a,b\nnone,1\nNA,2\n", {"missing": []}),
        ("a,b\nЖ,1\n".encode("cp1251"), {"encoding": "cp1251"}),
    ],
)
def test_both_readers_report_the_same_errors(contents, how, tmp_path):
    (tmp_path / "a.csv").write_bytes(contents)
    how = {name: frozenset(value) if name == "missing" else value for name, value in how.items()}
    assert same_as_the_table_reader(tmp_path / "a.csv", **how) is not None


mixed = st.one_of(
    plain,
    st.integers(-99, 99).map(str),
    st.sampled_from(
        ["", "NA", "?", "-", "none", "true", "False", "007", "+4912345678", "1,5", "1.234,5", "-,5", "1e5"]
    ),
    st.sampled_from(
        ['"7"', ' "x"', '"a ""b"" c"', '"one,\ntwo"', '"x;\n\ny"', 'a"b', '"x"y', "é", "a b", "2020-01-05"]
    ),
)


@st.composite
def files(draw):
    """A file of any dialect, with columns of one kind of cell or of several."""
    delimiter, end = draw(st.sampled_from(",;\t|")), draw(st.sampled_from(["\n", "\r\n", "\n\n", "\n \n"]))
    width, height = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    kinds = [mixed, written, st.integers(-99, 99).map(str), st.sampled_from(["1,5", "2,25", "3", "-,5"])]
    columns = [draw(st.lists(draw(st.sampled_from(kinds)), min_size=height, max_size=height)) for _ in range(width)]
    if delimiter == ",":  # a comma inside a cell stands between quotes
        columns = [[f'"{c}"' if "," in c and '"' not in c else c for c in column] for column in columns]
    lines = [[f"x{j}" for j in range(width)], *zip(*columns, strict=True)][draw(st.booleans()) :]
    contents = "".join(delimiter.join(line) + end for line in lines)
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "cp1252"]))
    return (contents if draw(st.booleans()) else contents.rstrip("\r\n ")).encode(encoding)


@given(files())
def test_any_file_is_that_of_the_table_reader(tmp_path_factory, contents):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(contents)
    same_as_the_table_reader(path)


# -- arguments


def test_arguments_are_checked(tmp_path):
    contents, kinds = np.frombuffer(b"1,2\n", np.uint8), np.zeros(1, np.uint8)
    signs = [ord(sign) for sign in ',".']
    for place in ([], [0, 1], [-2, 0]):
        with pytest.raises(ValueError, match="place must"):
            _core.csv_records(contents, 1, *signs, np.array(place, np.int32), kinds)
    with pytest.raises(ValueError, match="lines must"):
        _core.csv_records(contents, -1, *signs, np.array([0, -1], np.int32), kinds)
    # more records than there is room for are not claimed
    assert _core.csv_records(contents, 0, *signs, np.array([0, -1], np.int32), kinds) is None
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,2\n")
    for how, words in {
        "delimiter": ("::", "delimiter is one character of ASCII"),
        "quote": ("«", "quote is one character of ASCII"),
        "header": ("first", "header is True, False or 'auto'"),
        "decimal": (";", "decimal is '.', ',' or 'auto'"),
        "encoding": ("utf-nine", "'utf-nine' is not known"),
    }.items():
        for read in (rows, read_table):
            with pytest.raises(ValueError, match=words[1]):
                read(tmp_path / "a.csv", **{how: words[0]})
    with pytest.raises(ValueError, match="'-999' in missing is a number"):
        rows(tmp_path / "a.csv", missing=["-999"])
    with pytest.raises(ValueError, match="say how CSV files are written, and this source is none"):
        rows(np.eye(3), delimiter=";")
    (tmp_path / "a.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(ValueError, match=r"a\.csv: this is text in utf-16-le.*iconv -f utf-16-le"):
        rows(tmp_path / "a.csv")
