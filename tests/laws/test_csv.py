"""CSV: numbers, types and rows of files are those that Arrow reads, to the bit, by the compiled loop and without it."""

import math
import struct

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tenfold import _core, rows
from tenfold.data import text
from tenfold.data.csv import CsvPart
from tenfold.data.files import File

DELIMITERS = {"csv": ",", "tsv": "\t"}


def loop(content, fields, chosen, delimiter=",", whole=()):
    """The rows of the fields `chosen` as the loop finds them, and which are whole; None where some are not plain."""
    place = np.full(fields, -1, np.int32)
    place[list(chosen)] = np.arange(len(chosen))
    kinds = np.array([j in whole for j in chosen], np.uint8)
    found = _core.csv_records(np.frombuffer(content, np.uint8), content.count(b"\n") + 1, ord(delimiter), place, kinds)
    if found is None:
        return None
    X, count, still, others = found
    assert X.shape[1] == len(chosen)
    assert X.shape[0] >= count
    rows, columns, begins, ends = others.T
    assert np.isnan(X[rows, columns]).all()
    assert np.isnan(X[:count]).sum() == len(others)
    assert ((begins >= 0) & (begins <= ends) & (ends <= len(content))).all()
    return None if len(others) else (X[:count], still)


def arrow(content, fields, chosen, delimiter=",", kind=None):
    """The same as Arrow has it; None where it refuses, or where a value is missing."""
    names = [f"x{j}" for j in range(fields)]
    kinds = {f"x{j}": kind or pa.float64() for j in chosen}
    try:
        found = pa.csv.read_csv(
            pa.BufferReader(content),
            pa.csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=names),
            pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            pa.csv.ConvertOptions(include_columns=list(kinds), column_types=kinds, strings_can_be_null=True),
        )
    except pa.ArrowInvalid:
        return None
    if any(found[name].null_count for name in kinds):
        return None
    return np.column_stack([found[name].to_numpy() for name in kinds]) if kinds else np.empty((len(found), 0))


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
    found = [loop((word + after).encode(), 1 + after.count(","), [0]) for after in ends]
    claimed = [one for one, _ in filter(None, found) if len(one)]
    assume(claimed)
    for one in claimed:
        assert same_bits(one, np.array([[float(word)]]))


@given(usual)
def test_shortest_and_long_forms_of_a_number_are_claimed(value):
    for word in (repr(value), f"{value:.17g}", f"{value:.16e}", f"{value:.30g}"):
        found = loop(word.encode(), 1, [0])
        if abs(value) >= 1e-300 or value == 0.0:
            assert found is not None
        if found is not None:
            assert same_bits(found[0], np.array([[value if word != f"{value:.30g}" else float(word)]]))


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
    content = "".join(delimiter.join(cells) + draw(breaks) for cells in records)
    if draw(st.booleans()):
        content = content.rstrip("\r\n")
    chosen = draw(st.lists(st.integers(0, width - 1), unique=True, max_size=width))
    return content.encode(), width, chosen, delimiter


@given(tables(plain | plain | plain | fields, regular=True, records=3))
def test_plain_numbers_are_what_arrow_reads(data):
    content, width, chosen, delimiter = data
    found = loop(content, width, chosen, delimiter)
    assume(found is not None)
    expected = arrow(content, width, chosen, delimiter)
    assert expected is not None
    assert same_bits(found[0], expected)


@given(tables(st.integers(-(2**54), 2**54).map(str) | st.sampled_from(["-0", "007", "1.0", "1e3"]), regular=True))
def test_whole_numbers_are_those_of_arrow(data):
    content, width, chosen, delimiter = data
    found = loop(content, width, chosen, delimiter, whole=chosen)
    if found is None:  # whole numbers that a double does not tell apart, or a zero with a sign
        values = arrow(content, width, chosen, delimiter)
        assert np.abs(values).max() >= 2.0**53 or np.any(np.signbit(values[values == 0.0]))
        return
    for k, j in enumerate(chosen):
        expected = arrow(content, width, [j], delimiter, pa.int64())
        assert (expected is not None) == found[1][k]
        if expected is not None:
            assert same_bits(found[0][:, [k]], expected.astype(np.float64))


@given(tables(plain, regular=True))
def test_plain_tables_are_claimed(data):
    content, width, chosen, delimiter = data
    expected = arrow(content, width, chosen, delimiter)
    assume(expected is not None and np.isfinite(expected).all())
    assert loop(content, width, chosen, delimiter) is not None


@given(tables(plain | fields), st.sampled_from([16, 64, 1 << 21]), st.sampled_from(["csv", "tsv"]))
def test_files_are_the_same_with_the_loop_and_without(tmp_path_factory, data, size, kind):
    """Numbers, targets and errors."""
    content, width, _, delimiter = data
    path = tmp_path_factory.mktemp("csv") / f"a.{kind}"
    names = ["y", *(f"x{j}" for j in range(1, width))]
    content = content.replace(delimiter.encode(), DELIMITERS[kind].encode())
    path.write_bytes(DELIMITERS[kind].join(names).encode() + b"\n" + content)
    answers = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "CHUNK_BYTES", size)
        for claims in (True, False):
            if not claims:
                patch.setattr(_core, "csv_records", lambda *_: None)
            try:
                found = rows(path, target="y" if width > 1 else None)
                answers.append((found.load().tobytes(), found.y is not None and (found.y.dtype, found.y.tobytes())))
            except ValueError as error:
                answers.append(str(error))
    assert answers[0] == answers[1]


@given(tables(plain | st.sampled_from(["true", "False", "NA", '"7"', "word"])))
def test_types_and_numbers_of_files_are_those_of_arrow(tmp_path_factory, data):
    content, width, _, delimiter = data
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    content = content.replace(delimiter.encode(), b",").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    # a last record without a line break is a chunk of its own, and types are those of the first
    path.write_bytes(",".join(f"x{j}" for j in range(width)).encode() + b"\n" + content.rstrip(b"\n") + b"\n")
    try:
        expected = pa.csv.read_csv(path, convert_options=pa.csv.ConvertOptions(strings_can_be_null=True))
    except pa.ArrowInvalid:
        with pytest.raises(ValueError, match=r"a\.csv"):
            rows(path)
        return
    part = CsvPart(File.seen(path))
    assert part.kinds == [str(kind) for kind in expected.schema.types]
    numbers = [pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in expected.schema.types]
    whole = [column for column, kind in zip(expected.columns, expected.schema.types, strict=True) if kind == pa.int64()]
    if all(numbers) and not any(column.null_count for column in expected.columns):
        matrix = np.column_stack([column.to_numpy().astype(np.float64) for column in expected.columns])
        if all(abs(value) <= 2**53 for column in whole for value in column.to_pylist()):
            assert same_bits(rows(path).load(), matrix)


# -- arguments


def test_arguments_are_checked():
    content, kinds = np.frombuffer(b"1,2\n", np.uint8), np.zeros(1, np.uint8)
    for place in ([], [0, 1], [-2, 0]):
        with pytest.raises(ValueError, match="place must"):
            _core.csv_records(content, 1, ord(","), np.array(place, np.int32), kinds)
    with pytest.raises(ValueError, match="lines must"):
        _core.csv_records(content, -1, ord(","), np.array([0, -1], np.int32), kinds)
    # more records than there is room for are not claimed
    assert _core.csv_records(content, 0, ord(","), np.array([0, -1], np.int32), kinds) is None
