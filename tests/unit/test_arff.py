"""ARFF and KEEL files: headers, quotes, sparse rows, and what is refused by name."""

import io
import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenfold import TableEncoder, read_table
from tenfold.features import Reading, TableError, infer_schema, split_target

WEATHER = r"""% weather, by hand

@RELATION 'the weather'
@attribute 'the outlook' {sunny, 'over cast', rainy}
@ATTRIBUTE temp real [-10.0, 45]
@attribute	n	integer [0, 3]
@attribute note string
@attribute play{yes,no,none}
@inputs 'the outlook', temp, n, note
@outputs play
@DATA
% the rows
sunny, 21.5, 1, 'it\'s hot, really', yes
'over cast', ?, 2.0, "so \"so\"", none

rainy, <null>, 3, ?, no
"""


def read(text: str) -> Reading:
    return read_table(io.BytesIO(text.encode()))


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_header_and_quotes(ends: str) -> None:
    reading = read(WEATHER.replace("\n", ends))
    assert reading.format == "arff"
    assert reading.frame.to_dict(as_series=False) == {
        "the outlook": ["sunny", "over cast", "rainy"],
        "temp": [21.5, None, None],
        "n": [1, 2, 3],
        "note": ["it's hot, really", 'so "so"', None],
        "play": ["yes", "none", "no"],
    }
    assert reading.frame.schema["n"] == pl.Int64
    assert [str(decision) for decision in reading.decisions] == [
        "KEEL: the header declares 5 attributes of 'the weather'",
        "3 cells of 2 columns are missing: '?' (2), '<null>' (1)",
        "play: the header names it as an output: --target play",
    ]


def test_declared_values_are_categories() -> None:
    """Whatever they look like: 0 and 1 are labels here, and '-' is no missing value."""
    rows = "\n".join(f"{'1' if i % 3 else '0'}, {'-' if i % 2 else 'x'}, {i % 5}" for i in range(60))
    reading = read(
        f"@relation r\n@attribute class {{0, 1}}\n@attribute sign {{-, x}}\n@attribute k {{0,1,2,3,4}}\n@data\n{rows}"
    )
    schema = infer_schema(reading.frame)
    assert {column.kind for column in schema.columns} == {"category"}
    result = split_target(reading, "class")
    assert result.task == "binary"
    assert result.y[:3].tolist() == ["0", "1", "1"]
    names = TableEncoder().fit(result.frame, result.y).get_feature_names_out().tolist()
    assert names == ["sign=-", "sign=x", "k=0", "k=1", "k=2", "k=3", "k=4"]


def test_sparse_rows() -> None:
    header = "@relation r\n@attribute a numeric\n@attribute b {no, yes, 'per haps'}\n@attribute c real\n@data\n"
    frame = read(header + "{0 1.5, 1 yes}\n{}\n{ 2 -3 , 1 'per haps'}\n{0 ?}\n").frame
    assert frame.to_dict(as_series=False) == {
        "a": [1.5, 0.0, 0.0, None],
        "b": ["yes", "no", "per haps", "no"],
        "c": [0, 0, -3, 0],
    }


HEADER = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEADER, "@data is missing. Is the file cut short"),
        ("@relation r\n@data\n1\n", "@attribute lines are missing"),
        (HEADER + "@atribute c real\n@data\n1,x\n", "line 4: .*'@atribute c real' was found"),
        ("@relation r\n@attribute bag relational\n@data\n", "line 2, column 'bag': .*a table within the table"),
        ("@relation r\n@attribute a complex\n@data\n1\n", "line 2, column 'a': .*'complex'; numeric, real"),
        ("@relation r\n@attribute a {x,y\n@data\nx\n", "line 2, column 'a': .*not closed"),
        (HEADER + "@outputs z\n@data\n1,x\n", "@outputs names 'z', but the attributes are 'a', 'b'"),
        (HEADER + "@data\n1,x\n% no\nsoon,y\n", "line 7, column 'a': 'soon' is not a number, as the header"),
        (HEADER + "@data\n1,x\n2,z\n", "line 6, column 'b': 'z' is none of the declared values 'x', 'y'"),
        (HEADER + "@data\n1,x,3\n", "line 5: 2 fields are expected"),
        (HEADER + "@data\n'1',x,3\n", "line 5: 2 cells are expected"),
        (HEADER + "@data\n{0 1, x}\n", "line 5: a sparse row such as"),
        (HEADER + "@data\n{0 1\n", "line 5: a sparse row such as"),
        (HEADER + "@data\n{7 1}\n", "line 5: attribute 7 is named"),
        (HEADER + "@attribute s string\n@data\n{0 1}\n", "column 's': sparse rows leave out what is zero"),
        (HEADER + "@data\n", "no rows"),
    ],
)
def test_unsupported_types_raise_with_the_name(text: str, sentence: str) -> None:
    with pytest.raises(TableError, match=sentence):
        read(text)


def quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


WORDS = st.text(st.sampled_from(list("ab '\"\\,{}%?é")), min_size=1, max_size=6).filter(
    lambda word: word.strip() == word and word not in ("?", "")
)


@given(
    names=st.lists(WORDS, min_size=3, max_size=3, unique=True),
    levels=st.lists(WORDS, min_size=1, max_size=4, unique=True),
    rows=st.lists(st.tuples(st.none() | st.integers(-99, 99), st.integers(0, 3), st.none() | WORDS), min_size=1),
)
@settings(max_examples=100, deadline=None)
def test_what_was_written_is_read(names: list[str], levels: list[str], rows: list[tuple[object, int, object]]) -> None:
    lines = ["@relation r", f"@attribute {quote(names[0])} numeric"]
    lines += [f"@attribute {quote(names[1])} {{{', '.join(map(quote, levels))}}}"]
    lines += [f"@attribute {quote(names[2])} string", "@data"]
    for number, place, word in rows:
        cells = ["?" if number is None else str(number), quote(levels[place % len(levels)])]
        lines.append(", ".join([*cells, "?" if word is None else quote(str(word))]))
    frame = read("\n".join(lines)).frame
    assert frame.columns == names
    assert frame.rows() == [(number, levels[place % len(levels)], word) for number, place, word in rows]


def test_a_real_keel_file() -> None:
    path = Path(os.environ.get("TENFOLD_DATA", "../shared/data")) / "puma32h.dat"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    reading = read_table(path)
    assert reading.frame.shape == (8192, 33)
    assert set(reading.frame.dtypes) == {pl.Float64}
    assert reading.frame.columns[-1] == "thetadd6"
