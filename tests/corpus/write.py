"""Write models of this version, and what they say of a few queries: `PYTHONPATH=tests python tests/corpus/write.py`.

One model of every class and the pipelines, in a folder that is named by the version. What stands in such a folder is
never written again: later versions must load it (`tests/contract/test_corpus.py`).
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import tenfold
from saved import MODELS, PIPELINES, answers

QUERIES = 4
HERE = Path(__file__).parent


def plain(value: Any) -> Any:
    """Queries and answers as JSON has them; floats keep their bits."""
    if isinstance(value, pd.DataFrame):
        columns = {
            name: plain(column.astype(object).map(str if column.dtype.kind == "M" else plain).to_list())
            for name, column in value.items()
        }
        return {"columns": columns, "dtypes": {name: str(column.dtype) for name, column in value.items()}}
    if sparse.issparse(value):
        return plain(value.toarray())
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def main() -> None:
    folder = HERE / tenfold.__version__
    folder.mkdir()  # an older corpus is not replaced
    records: dict[str, Any] = {}
    for kept in [*MODELS, *PIPELINES]:
        model, X = kept.make()
        name = kept.id.replace(" ", "_") if kept in PIPELINES else type(model).__name__
        if name not in records:
            tenfold.save(model, folder / f"{name}.tenfold")
            queries = X[:QUERIES]
            records[name] = {"queries": plain(queries), "answers": plain(answers(model, queries))}
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(record)}" for name, record in records.items())
    (folder / "answers.json").write_text(f"{{\n{text}\n}}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
