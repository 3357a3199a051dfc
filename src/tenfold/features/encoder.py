"""`TableEncoder`: a table of mixed types as a numeric matrix."""

import difflib
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, is_sparse
from tenfold.data.errors import Decision, TableError, some
from tenfold.features.categorical import Levels, TargetMeans
from tenfold.features.column_encoders import CountBins, DateParts, Numbers, Ranks
from tenfold.features.decision_log import decisions_of
from tenfold.features.dtypes import cast_columns
from tenfold.features.frames import frame_of, is_frame, pl
from tenfold.features.schema import ColumnType, Declared, Schema, infer_schema
from tenfold.features.table_reader import Reading
from tenfold.features.text import Texts, count_vocabulary

MAX_DENSITY = 0.2  # a denser result is a dense matrix
SPARSE_BYTES = 1 << 25  # of a dense result, below which it stays dense


class TableEncoder(TransformerMixin, BaseEstimator):
    """A table of mixed types as a matrix of numbers with names.

    Every column is given a kind (`infer_schema`) and encoded by it:

    - number: unchanged; missing values become the median, with an indicator ``age.missing``.
    - boolean: 0 and 1. count (declared): 0, 1, 2 for none, one, more.
    - ordinal (declared): the rank r of L levels as r/L.
    - category: one-hot columns, ``colour=red``, without dropping a level; rare levels are merged, ``colour=(rare)``;
      missing values are a level, ``colour=(missing)``. With more than `max_levels` levels: the mean target of the
      level, shrunk towards the overall mean and taken from other folds.
    - date: ``.year``, ``.month``, ``.weekday``, ``.yearday_sin``, ``.yearday_cos``, ``.hour``, ``.days`` since the
      first; without constant parts.
    - text: tf-idf weights of words, ``text: word``.
    - constant, empty, identifier, nested: left out.

    `decisions_` lists the automatic decisions. Put the encoder first in a pipeline, so that each fold learns everything
    from its own rows.

    Parameters
    ----------
    types : dict of name to kind, Schema or str, default=None
        Columns whose kind is known: number, count, category, boolean, date, text, identifier. With the schema of a
        whole table, all folds of it have the same kinds of columns.
    ordinal : dict of name to levels, default=None
        Levels from the lowest on: ``{"size": ["S", "M", "L"]}``.
    scale : bool, default=False
        Whether numbers, ordinals, counts, dates and mean targets are centred and divided by their standard deviation.
        One-hot columns and tf-idf weights stay unscaled.
    max_levels : int, default=128
        The largest number of levels of a category that is one-hot encoded.
    many_levels : {"target", "group"}, default="target"
        Categories with more: mean targets, or the most frequent `max_levels` and one column for the others. Without a
        target they are grouped.
    min_frequency : int or "auto", default="auto"
        Levels in fewer rows are rare; "auto" is a two-hundredth of the rows, 10 at most.
    max_words : int, default=20000
        The largest number of words of a column of text.
    dayfirst : bool, default=None
        Whether the day comes first in dates such as 3/4/2013; None infers it from the whole column.
    sparse_output : bool or "auto", default="auto"
        "auto" gives a sparse matrix where less than a fifth of the entries of fit were not zero and a dense matrix of
        those rows would take over 32 MiB.
    task : {"auto", "regression", "classification"}, default="auto"
        The type of target for mean targets; see `infer_task`.
    random_state : int, default=0
        Folds of the mean targets.

    Attributes
    ----------
    schema_ : Schema
        Kinds of the columns, with reasons: ``print(encoder.schema_)``.
    decisions_ : tuple of Decision
        The automatic decisions about the columns, with reasons.
    sparse_output_ : bool
        Whether `transform` gives a sparse matrix.
    columns_ : ColumnTransformer or None
        The fitted encoders of each kind of column; None where every column is left out.
    kinds_ : list of str
        The kind of the column that each feature comes from.
    names_out_ : list of str
        The name of each feature.
    scales_ : ndarray of shape (n_features_out,)
        The divisor of each feature; ones where `scale` is False.
    used_ : list of str
        Names of the columns that are encoded.
    said_ : list of Decision
        Decisions of the encoders themselves, which `decisions_` repeats.
    n_rows_ : int
        Number of samples in `fit`.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of the table.

    Notes
    -----
    `supervised` says whether the target was used (mean targets): then every fold must fit an encoder of its own.
    `row_wise` says whether only kinds, levels and first days were learned from other rows: no medians, scales, rare
    levels, words or targets; leaving rows out then changes no encoding of the others. Runs on tables in memory; one
    pass over each column.

    `transform` names a column that is missing, and the row and value of what is not of its kind; further columns are
    ignored with a warning, and the order is free. A new level of a category is rare, or zero in all columns: `unseen`
    counts these. As in scikit-learn, ``fit_transform(X, y)`` is not ``fit(X, y).transform(X)`` where mean targets are
    used: rows in fit get the means of other folds. Cookbook, chapters 3 and 4; Welling, sections 1.1 and 6.1.

    Examples
    --------
    >>> import polars as pl
    >>> from tenfold import TableEncoder
    >>> table = pl.DataFrame({"x": [0.4, 1.8, None, -0.7], "size": ["low", "medium", "low", "high"],
    ...                       "colour": ["red", "blue", "green", "green"]})
    >>> encoder = TableEncoder(ordinal={"size": ["low", "medium", "high"]})
    >>> encoder.fit_transform(table).round(2)
    array([[ 0.4 ,  0.  ,  0.33,  0.  ,  0.  ,  1.  ],
           [ 1.8 ,  0.  ,  0.67,  1.  ,  0.  ,  0.  ],
           [ 0.4 ,  1.  ,  0.33,  0.  ,  1.  ,  0.  ],
           [-0.7 ,  0.  ,  1.  ,  0.  ,  1.  ,  0.  ]])
    >>> encoder.get_feature_names_out().tolist()
    ['x', 'x.missing', 'size', 'colour=blue', 'colour=green', 'colour=red']
    """

    def __init__(
        self,
        *,
        types: Declared = None,
        ordinal: Mapping[str, Sequence[Any]] | None = None,
        scale: bool = False,
        max_levels: int = 128,
        many_levels: Literal["target", "group"] = "target",
        min_frequency: int | Literal["auto"] = "auto",
        max_words: int = 20_000,
        dayfirst: bool | None = None,
        sparse_output: bool | Literal["auto"] = "auto",
        task: str = "auto",
        random_state: Any = 0,
    ) -> None:
        self.types = types
        self.ordinal = ordinal
        self.scale = scale
        self.max_levels = max_levels
        self.many_levels = many_levels
        self.min_frequency = min_frequency
        self.max_words = max_words
        self.dayfirst = dayfirst
        self.sparse_output = sparse_output
        self.task = task
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Find the kinds of the columns and learn their encodings.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_columns)
            The table.
        y : array-like of shape (n_samples,), default=None
            The target, for categories that are encoded by it.

        Returns
        -------
        self
        """
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and encode the same rows; mean targets come from other folds.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_columns)
            The table.
        y : array-like of shape (n_samples,), default=None
            The target, for categories that are encoded by it.
        **fit_params : dict
            Not used; here for scikit-learn's pipelines.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features_out)
        """
        return self._learn(X, y)

    def transform(self, X: Any) -> Array:
        """Encode rows.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_columns)
            A table with the columns of `fit`, in any order.

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features_out)
        """
        check_is_fitted(self)
        frame, rows = self._frame_to_encode(X)
        return self._convert_output(None if self.columns_ is None else self.columns_.transform(frame), rows)

    def count_features(self, X: Any, y: Any = None) -> int:
        """How many features `fit` would give.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_columns)
            The table; the words of its texts are counted, and nothing is kept.
        y : array-like of shape (n_samples,), default=None
            The target, for categories that are encoded by it.

        Returns
        -------
        int
        """
        self._check_parameters()
        frame, _ = self._as_frame(X)
        schema = infer_schema(frame, types=self.types, ordinal=self.ordinal, dayfirst=self.dayfirst)
        count = 0
        for name, step, names in self._plan(schema, frame.height, y):
            columns = cast_columns(frame, [schema[one] for one in names])
            if name == "texts":
                count += sum(min(count_vocabulary(series), self.max_words) for series in columns.get_columns())
            elif name in ("numbers", "counts", "ordinals"):  # and a mark for each that has missing values
                count += columns.width + sum(series.null_count() > 0 for series in columns.get_columns())
            else:
                count += len(step.fit(columns, y).get_feature_names_out())
        return count

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : None or names of the columns, default=None
            Checked against those of `fit`.

        Returns
        -------
        ndarray of str of shape (n_features_out,)
        """
        check_is_fitted(self)
        if input_features is not None:
            self._check_input_names(list(input_features))
        return np.asarray(self.names_out_, dtype=object)

    def unseen(self, X: Any) -> dict[str, dict[str, int]]:
        """Levels of categories that fit did not see, and how many rows of the table `X` have them, by column."""
        check_is_fitted(self)
        (frame, _), unseen = self._frame_to_encode(X), {}
        for _, step, columns in self._steps():
            block = step[0] if isinstance(step, Pipeline) else step
            if isinstance(block, (Levels, TargetMeans)):
                unseen.update(block.unseen(frame.select(columns)))
        return unseen

    def levels(self) -> dict[str, list[str]]:
        """The levels of categories that fit saw, by column."""
        check_is_fitted(self)
        levels: dict[str, list[str]] = {}
        for _, step, columns in self._steps():
            block = step[0] if isinstance(step, Pipeline) else step
            if isinstance(block, (Levels, TargetMeans)):
                levels.update(zip(columns, block.seen(), strict=True))
        return levels

    @property
    def schema_(self) -> Schema:
        """Kinds of the columns."""
        if not hasattr(self, "kinds_"):
            raise AttributeError("schema_ is there after fit.")
        return Schema.from_plain(self.kinds_)

    @property
    def decisions_(self) -> tuple[Decision, ...]:
        """The automatic decisions."""
        if not hasattr(self, "said_"):
            raise AttributeError("decisions_ is there after fit.")
        return tuple(Decision(**decision) for decision in self.said_)

    @property
    def supervised(self) -> bool:
        """Whether the target was used; before fit, whether it may be."""
        if not hasattr(self, "columns_"):
            known = self._columns_of_schema()
            many = [c for c in known or () if c.kind == "category" and c.distinct > self.max_levels]
            return self.many_levels == "target" and (known is None or bool(many))
        return any(name == "many" for name, _, _ in self._steps())

    @property
    def row_wise(self) -> bool:
        """Whether leaving rows out changes no encoding of the others; before fit, whether that is certain."""
        if not hasattr(self, "columns_"):
            known = self._columns_of_schema()
            sure = [c.kind not in ("category", "text") and not c.missing for c in known or ()]
            return known is not None and all(sure) and not self.scale
        for name, step, _ in self._steps():
            last = step[-1] if isinstance(step, Pipeline) else step
            if name in ("many", "texts"):
                return False
            if isinstance(last, Numbers) and (last.scale or last.n_missing_.any()):
                return False
            if isinstance(last, Levels) and any(last.rare_):
                return False
        return True

    @property
    def scales_(self) -> Any:
        """The divisor of each feature: its standard deviation where it was scaled, else 1."""
        scales = [_scales(step, len(step.get_feature_names_out())) for _, step, _ in self._steps()]
        return np.concatenate(scales) if scales else np.zeros(0)

    def _steps(self) -> list[tuple[str, Any, list[str]]]:
        """The fitted blocks, each with its name and the names of its columns."""
        if self.columns_ is None:
            return []
        fitted = [step for step in self.columns_.transformers_ if step[0] != "remainder"]
        return [(name, step, [self.used_[j] for j in places]) for name, step, places in fitted]

    def _columns_of_schema(self) -> tuple[ColumnType, ...] | None:
        """All columns, where `types` is the schema of a table."""
        if isinstance(self.types, str):
            return Schema.from_text(self.types).columns
        return self.types.columns if isinstance(self.types, Schema) else None

    def _learn(self, X: Any, y: Any) -> Array:
        self._check_parameters()
        frame, has_names = self._as_frame(X)
        if frame.height < 1 or frame.width < 1:
            rows = frame.height if frame.width else 0
            raise TableError(
                f"Found array with {rows} sample(s) and {frame.width} feature(s), while a minimum of 1 is required: "
                "the table has no rows or no columns."
            )
        schema = infer_schema(frame, types=self.types, ordinal=self.ordinal, dayfirst=self.dayfirst)
        steps = self._plan(schema, frame.height, y)
        self.kinds_ = schema.plain()
        self.n_features_in_ = len(schema)
        self.n_rows_ = frame.height
        if has_names:
            self.feature_names_in_ = np.asarray(list(schema), dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.columns_ = None
        encoded = None
        self.used_ = [name for _, _, names in steps for name in names]
        if steps:
            ends = np.cumsum([0, *(len(names) for _, _, names in steps)]).tolist()
            places = [list(range(*pair)) for pair in pairwise(ends)]
            columns = ColumnTransformer(
                [(name, step, place) for (name, step, _), place in zip(steps, places, strict=True)],
                sparse_threshold=1.0,
                verbose_feature_names_out=False,
            )
            target = None if y is None else np.asarray(y)
            encoded = columns.fit_transform(cast_columns(frame, [schema[name] for name in self.used_]), target)
            self.columns_ = columns
        names = [name for _, step, _ in self._steps() for name in step.get_feature_names_out()]
        self.names_out_ = _unique_names(names)
        self.said_ = [vars(decision) for decision in decisions_of(schema, self._steps())]
        self.sparse_output_ = self._is_sparse(encoded)
        return self._convert_output(encoded, frame.height)

    def _check_parameters(self) -> None:
        if self.many_levels not in ("target", "group"):
            raise ValueError(f"many_levels is 'target' or 'group', not {self.many_levels!r}.")
        if self.sparse_output not in (True, False, "auto"):
            raise ValueError(f"sparse_output is True, False or 'auto', not {self.sparse_output!r}.")
        if self.max_levels < 1 or self.max_words < 1:
            raise ValueError("max_levels and max_words are 1 or more.")
        if self.min_frequency != "auto" and self.min_frequency < 1:
            raise ValueError(f"min_frequency is a number of rows or 'auto', not {self.min_frequency!r}.")

    def _as_frame(self, X: Any) -> tuple[pl.DataFrame, bool]:
        X = X.frame if isinstance(X, Reading) else X
        return frame_of(X), is_frame(X)

    def _plan(self, schema: Schema, rows: int, y: Any) -> list[tuple[str, Any, list[str]]]:
        """The blocks, in the order of their columns in the result."""
        categories = schema.of("category")
        many = [name for name in categories if schema[name].distinct > self.max_levels]
        few = [name for name in categories if schema[name].distinct <= self.max_levels]
        rare = max(1, min(10, rows // 200)) if self.min_frequency == "auto" else self.min_frequency
        # dense blocks are converted at once where others are sparse
        settings = {"scale": self.scale, "sparse_output": bool(categories or schema.of("text"))}
        is_grouped = self.many_levels == "group" or y is None
        steps: list[tuple[str, Any, list[str]]] = [
            ("numbers", Numbers(**settings), schema.of("number", "boolean")),
            ("counts", _pipeline(CountBins(), Numbers(**settings)), schema.of("count")),
            (
                "ordinals",
                _pipeline(Ranks([list(schema[n].levels) for n in schema.of("ordinal")]), Numbers(**settings)),
                schema.of("ordinal"),
            ),
            ("dates", _pipeline(DateParts(), Numbers(**settings, indicators=False)), schema.of("date")),
            (
                "categories",
                Levels(min_frequency=rare, max_levels=self.max_levels),
                categories if is_grouped else few,
            ),
            (
                "many",
                _pipeline(TargetMeans(task=self.task, random_state=self.random_state), Numbers(**settings)),
                [] if is_grouped else many,
            ),
            ("texts", Texts(max_words=self.max_words), schema.of("text")),
        ]
        return [step for step in steps if step[2]]

    def _frame_to_encode(self, X: Any) -> tuple[pl.DataFrame, int]:
        """Columns for `transform`, cast to their types, and the number of rows."""
        frame, has_names = self._as_frame(X)
        schema = self.schema_
        if not has_names or not hasattr(self, "feature_names_in_"):
            if frame.width != self.n_features_in_:
                raise ValueError(
                    f"X has {frame.width} features, but TableEncoder is expecting {self.n_features_in_} features as "
                    "input."
                )
            frame = frame.rename(dict(zip(frame.columns, schema, strict=True)))
        elif frame.columns != list(schema):
            frame = self._match_columns(frame, schema)
        return cast_columns(frame, [schema[name] for name in self.used_]), frame.height

    def _match_columns(self, frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
        given = set(frame.columns)
        absent = [name for name in self.used_ if name not in given]
        extra = [name for name in frame.columns if name not in schema]
        if absent:
            near = [difflib.get_close_matches(name, extra, n=1) for name in absent[:1]]
            hint = f" Is {near[0][0]!r} meant?" if near[0] else ""
            raise TableError(
                f"the column{'s' * (len(absent) > 1)} {some(absent)} {'are' if len(absent) > 1 else 'is'} missing: the "
                f"encoder was fitted with {'them' if len(absent) > 1 else 'it'}.{hint} Add the column"
                f"{'s' * (len(absent) > 1)}, empty if need be.",
            )
        if extra:
            warnings.warn(
                f"{len(extra)} column{'s' * (len(extra) > 1)} that the encoder does not know "
                f"{'are' if len(extra) > 1 else 'is'} ignored: {some(extra)}.",
                UserWarning,
                stacklevel=4,
            )
        return frame

    def _check_input_names(self, names: list[Any]) -> None:
        if len(names) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}"
            )
        if hasattr(self, "feature_names_in_") and names != list(self.feature_names_in_):
            raise ValueError("input_features is not equal to feature_names_in_")

    def _is_sparse(self, encoded: Any) -> bool:
        if self.sparse_output != "auto":
            return bool(self.sparse_output)
        if encoded is None or not is_sparse(encoded):
            return False
        size = encoded.shape[0] * encoded.shape[1]
        return bool(encoded.nnz < MAX_DENSITY * size and 8 * size > SPARSE_BYTES)

    def _convert_output(self, encoded: Any, rows: int) -> Array:
        if encoded is None:
            encoded = np.zeros((rows, 0))
        if self.sparse_output_:
            return sparse.csr_array(encoded)
        return encoded.toarray() if is_sparse(encoded) else np.asarray(encoded)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def _scales(step: Any, width: int) -> Any:
    last = step[-1] if isinstance(step, Pipeline) else step
    scales = np.ones(width)
    if isinstance(last, Numbers):
        scales[: len(last.scales_)] = last.scales_  # marks of missing values come after the numbers
    return scales


def _pipeline(*steps: Any) -> Pipeline:
    return Pipeline([(type(step).__name__.lower(), step) for step in steps])


def _unique_names(names: list[str]) -> list[str]:
    """Unique names: 'a=b' may be a column and a level of a column."""
    if len(set(names)) == len(names):
        return names
    out: list[str] = []
    taken = set(names)
    seen: set[str] = set()
    for name in names:
        new, tries = name, 1
        while new in seen or (tries > 1 and new in taken):
            tries += 1
            new = f"{name}_{tries}"
        seen.add(new)
        out.append(new)
    return out
