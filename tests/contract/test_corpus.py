"""Files of models that earlier versions wrote are loaded, and say what they said."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tenfold
from saved import answers

CORPUS = Path(__file__).parents[1] / "corpus"
RECORDS = {path.parent: json.loads(path.read_text()) for path in sorted(CORPUS.glob("*/answers.json"))}
FILES = [folder / f"{name}.tenfold" for folder, records in RECORDS.items() for name in records]


def restore(queries):
    """Queries as they were before they were JSON."""
    if isinstance(queries, dict):
        return pd.DataFrame(queries["columns"]).astype(queries["dtypes"])
    return queries if isinstance(queries[0][0], dict) else np.array(queries)


def assert_same(result, expected):
    """Numbers to rounding, because instruction sets differ in it; everything else exactly."""
    if isinstance(result, (list, tuple)) or (isinstance(result, np.ndarray) and result.dtype == object):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            assert_same(one, other)
    elif isinstance(result, np.ndarray) and result.dtype.kind == "f":
        np.testing.assert_allclose(result, np.array(expected, float), rtol=1e-10, atol=1e-12)
    elif hasattr(result, "toarray"):
        assert_same(result.toarray(), expected)
    elif isinstance(result, np.ndarray):
        assert result.tolist() == expected
    else:
        assert result == expected


def test_every_file_has_its_answers():
    assert FILES
    assert {*FILES} == {*CORPUS.glob("*/*.tenfold")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_saved_before_predicts_the_same(path):
    record = RECORDS[path.parent][path.stem]
    result = answers(tenfold.load(path), restore(record["queries"]))
    assert result.keys() == record["answers"].keys()
    for method, expected in record["answers"].items():
        assert_same(result[method], expected)
