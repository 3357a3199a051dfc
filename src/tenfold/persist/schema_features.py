"""What the fitted encoder of tables and its blocks must be. They need polars, and are imported when a file has one."""

from typing import Any

import numpy as np

from tenfold.estimators.schema import (
    ANY,
    Rule,
    Schema,
    anything,
    flag,
    floats,
    integers,
    labels,
    many,
    mapping,
    nothing,
    text,
    whole,
)
from tenfold.persist.schema_sklearn import model

strings = many(text())
BLOCK = {**ANY, "names_": many(text(), "p"), "names_out_": strings}


def _row(attributes: dict[str, Any], rules: dict[str, Rule] | None = None) -> Schema:
    return Schema(BLOCK | attributes, rules or {})


def _parts(block: Any) -> bool:
    known = {"year", "month", "weekday", "yearday_sin", "yearday_cos", "hour", "days", "missing"}
    return all(set(parts) <= known for parts in block.parts_)


def _levels(block: Any) -> bool:
    """Levels of a column come once: polars makes an enumeration of them."""
    return all(len(set(levels)) == len(levels) for levels in block.levels_)


def _means(block: Any) -> bool:
    """A row of means for each level, and one for what is missing."""
    width = len(block.overall_)
    shapes = [(len(levels) + 1, width) for levels in block.levels_]
    return _levels(block) and [np.shape(means) for means in block.means_] == shapes


def _vectorisers(block: Any) -> bool:
    return all(one is None or type(one).__name__ == "TfidfVectorizer" for one in block.vectorisers_)


def _kinds(encoder: Any) -> bool:
    """The kinds are a schema, every column that is used has one, and names are as many as columns come out."""
    known = set(encoder.schema_)
    steps = encoder._steps()
    width = sum(len(step.get_feature_names_out()) for _, step, _ in steps)
    return len(known) == encoder.n_features_in_ and set(encoder.used_) <= known and width == len(encoder.names_out_)


FIT_TOGETHER = "its attributes must fit together"
# schemas of all classes of `tenfold.features`
TABLES: dict[str, Schema] = {
    "TableEncoder": Schema(
        {
            **ANY,
            "kinds_": many(mapping(text(), anything()), "p"),
            "said_": many(mapping(text(), text() | nothing())),
            "n_rows_": whole(1),
            "used_": strings,
            "names_out_": strings,
            "sparse_output_": flag(),
            "columns_": model | nothing(),
        },
        {FIT_TOGETHER: _kinds},
    ),
    "Numbers": _row(
        {
            "n_missing_": integers("p", low=0),
            "medians_": floats("p"),
            "means_": floats("p"),
            "scales_": floats("p", low=0.0),
            "marked_": integers("*", low=0, high="p"),
        }
    ),
    "Ranks": _row({}),
    "CountBins": _row({}),
    "DateParts": _row(
        {"first_": many(whole(-(2**63), 2**63 - 1), "p"), "parts_": many(strings, "p")}, {FIT_TOGETHER: _parts}
    ),
    "Levels": _row(
        {"levels_": many(strings, "p"), "rare_": many(strings, "p"), "gaps_": many(flag(), "p")},
        {FIT_TOGETHER: _levels},
    ),
    "TargetMeans": _row(
        {
            "levels_": many(strings, "p"),
            "overall_": floats("*"),
            "means_": many(floats("* *"), "p"),
            "classes_": labels("k") | nothing(),
        },
        {FIT_TOGETHER: _means},
    ),
    "Texts": _row({"vectorisers_": many(model | nothing(), "p")}, {FIT_TOGETHER: _vectorisers}),
}
