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


def assert_same(found, expected):
    """Numbers to rounding, because instruction sets differ in it; everything else exactly."""
    if isinstance(found, (list, tuple)) or (isinstance(found, np.ndarray) and found.dtype == object):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(found, np.ndarray) and found.dtype.kind == "f":
        np.testing.assert_allclose(found, np.array(expected, float), rtol=1e-10, atol=1e-12)
    elif hasattr(found, "toarray"):
        assert_same(found.toarray(), expected)
    elif isinstance(found, np.ndarray):
        assert found.tolist() == expected
    else:
        assert found == expected


def test_every_file_has_its_answers():
    assert FILES
    assert {*FILES} == {*CORPUS.glob("*/*.tenfold")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_saved_before_predicts_the_same(path):
    record = RECORDS[path.parent][path.stem]
    found = answers(tenfold.load(path), restore(record["queries"]))
    assert found.keys() == record["answers"].keys()
    for method, expected in record["answers"].items():
        assert_same(found[method], expected)
