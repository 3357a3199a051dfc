"""What the fitted attributes of the encoder of tables and of its blocks must be."""

from typing import Any

import numpy as np

from tenfold.persist.checks import Check, anything, flag, floats, integers, labels, many, mapping, nothing, text, whole
from tenfold.persist.schema import ANY, Rule, Schema

vectoriser = Check("a vectoriser", lambda value, _: hasattr(value, "vocabulary_"))
blocks = Check("blocks of columns", lambda value, _: hasattr(value, "transformers"))

TABLES: dict[str, Schema] = {
    "TableEncoder": Schema(
        ANY
        | {
            "kinds_": many(mapping(text(), anything()), "p"),
            "columns_": blocks | nothing(),
            "used_": many(text()),
            "names_out_": many(text()),
            "said_": many(mapping(text(), text() | nothing())),
            "sparse_output_": flag(),
        },
        {"kinds_ must describe the columns": lambda model: len(model.schema_) == model.n_features_in_},
    ),
}


def _levels(model: Any) -> bool:
    """Levels come once, and every column has a list of them."""
    once = all(len(set(levels)) == len(levels) for levels in model.levels_)
    return once and len(model.levels_) == len(getattr(model, "rare_", model.levels_)) == model.n_features_in_


levels = many(many(text()), "p")
NAMED: dict[str, Check] = {"names_": many(text(), "p"), "names_out_": many(text())}
LEVELS: dict[str, Rule] = {"levels_ must be those of the columns": _levels}

INNER: dict[str, tuple[str, Schema]] = {
    "Numbers": (
        "tenfold.features.blocks",
        Schema(
            ANY
            | NAMED
            | {"medians_": floats("p"), "means_": floats("p"), "scales_": floats("p", low=0.0)}
            | {"marked_": integers("*", low=0, high="p"), "n_missing_": integers("p", low=0)}
        ),
    ),
    "Ranks": ("tenfold.features.blocks", Schema(ANY | NAMED)),
    "CountBins": ("tenfold.features.blocks", Schema(ANY | NAMED)),
    "DateParts": (
        "tenfold.features.blocks",
        Schema(ANY | NAMED | {"first_": many(whole(-np.inf), "p"), "parts_": many(many(text()), "p")}),
    ),
    "Levels": (
        "tenfold.features.blocks",
        Schema(ANY | NAMED | {"levels_": levels, "rare_": levels, "gaps_": many(flag(), "p")}, LEVELS),
    ),
    "TargetMeans": (
        "tenfold.features.blocks",
        Schema(
            ANY
            | NAMED
            | {"levels_": levels, "classes_": labels("k") | nothing()}
            | {"overall_": floats("t"), "means_": many(floats("* t"), "p")},
            LEVELS,
        ),
    ),
    "Texts": (
        "tenfold.features.text",
        Schema(
            ANY
            | NAMED
            | {
                "vectorisers_": many(
                    Check("a vectoriser", lambda value, _: hasattr(value, "vocabulary_")) | nothing(), "p"
                )
            }
        ),
    ),
}
"""Classes that are parts of others: their modules, and what their fitted attributes must be."""
