"""The log of automatic decisions of an encoder, in sentences."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from tenfold.data.errors import Decision, some
from tenfold.features.categorical import Levels, TargetMeans
from tenfold.features.column_encoders import DateParts, Numbers
from tenfold.features.schema import DROPPED, Schema
from tenfold.features.text import Texts


def decisions_of(schema: Schema, steps: Sequence[tuple[str, Any, list[str]]]) -> list[Decision]:
    """Decisions on kinds, dropped columns, and the encoding of each fitted block."""
    decisions = [Decision("types", f"{c.kind}: {c.reason}", c.name) for c in schema.columns]
    for column in schema.columns:
        if column.kind in DROPPED:
            decisions.append(Decision("dropped", f"left out: {column.kind}, {column.reason}", column.name))
    for name, step, columns in steps:
        decisions += _decisions_of_block(name, step, columns, schema)
    return decisions


def _decisions_of_block(name: str, step: Any, columns: list[str], schema: Schema) -> list[Decision]:
    """Automatic decisions of a block."""
    decisions = []
    first = step[0] if isinstance(step, Pipeline) else step
    last = step[-1] if isinstance(step, Pipeline) else step
    if isinstance(last, Numbers) and name in ("numbers", "counts", "ordinals"):
        for j in np.flatnonzero(last.n_missing_):
            n = int(last.n_missing_[j])
            sentence = f"{n} missing value{'s' * (n > 1)} set to the median, {last.medians_[j]:g}, and marked"
            decisions.append(Decision("missing", f"{sentence} in {columns[j]}.missing", columns[j]))
    if isinstance(first, DateParts):
        for column, parts in zip(columns, first.parts_, strict=True):
            decisions.append(
                Decision("dates", f"taken apart into {', '.join(parts) or 'nothing that differs'}", column)
            )
    if isinstance(first, Levels):
        for column, levels, rare, gaps in zip(columns, first.levels_, first.rare_, first.gaps_, strict=True):
            if rare:
                sentence = f"{len(rare)} rare level{'s' * (len(rare) > 1)} of {len(rare) + len(levels)} taken together"
                decisions.append(Decision("categories", f"{sentence}: {some(rare, 3)}", column))
            if gaps:
                n = schema[column].missing
                decisions.append(
                    Decision("missing", f"{n} missing value{'s' * (n > 1)} are a level, {column}=(missing)", column)
                )
    if isinstance(first, TargetMeans):
        for column, levels in zip(columns, first.levels_, strict=True):
            sentence = f"{len(levels)} levels, each encoded by the mean target of its rows in other folds"
            decisions.append(Decision("categories", sentence, column))
    if isinstance(first, Texts):
        for column, vectoriser in zip(columns, first.vectorisers_, strict=True):
            words = 0 if vectoriser is None else len(vectoriser.get_feature_names_out())
            decisions.append(Decision("text", f"weights of {words} words", column))
    return decisions
