"""Models that are kept in files and read again, what is asked of them, and files that were changed on the way."""

import copy
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

import tenfold
from estimators import TABLE, Apart, Estimator, Linear, Neighbours, classes, frame, row_of, tasks

BAYES = row_of("BayesClassifier")
"""Whose densities are no data: it is not kept."""

METHODS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"),
    *("kneighbors", "radius_neighbors", "predict_interval", "mahalanobis"),
)


@dataclass(frozen=True)
class Saved:
    """A model of a class, and what makes it: the fitted model and queries."""

    id: str
    name: str
    make: Callable[[], tuple[Any, Any]]

    def __post_init__(self) -> None:
        object.__setattr__(self, "make", cache(self.make))  # made once, and not to be changed


def _of_row(row: Estimator, words: str = "", **of_the_data: Any) -> Saved:
    # a function is refused; its row is there for what starts from the same centres
    changed = {"init": "k-means++"} if isinstance(row.settings.get("init"), Apart) else {}

    def make() -> tuple[Any, Any]:
        X, y, _ = row.data(**of_the_data)
        return row.make(**changed).fit(X, y), X[:20] + 0.1 if isinstance(row, Neighbours) else X[:20]

    return Saved(row.id + words, row.name, make)


def _rows() -> Iterator[Saved]:
    """The rows of the table, those of classifiers with two and with three classes."""
    for row in TABLE:
        if isinstance(row, Linear) and row.classes > 2:
            yield from (_of_row(row, f", {count} classes", count=count) for count in (2, 3))
        elif row is not BAYES:
            yield _of_row(row)


def _several_targets(name: str, **settings: Any) -> Saved:
    def make() -> tuple[Any, Any]:
        X, Y, _ = tasks()
        return getattr(tenfold, name)(**settings).fit(X, Y), X[:20]

    return Saved(f"{name}, two targets", name, make)


def _several_classes() -> tuple[Any, Any]:
    X, y, _ = classes(count=3)
    return tenfold.KNeighborsClassifier().fit(X, np.column_stack([y, y[::-1]])), X[:20]


def _sparse_rows(name: str, **settings: Any) -> Saved:
    def make() -> tuple[Any, Any]:
        X, y, _ = classes(count=3)
        X[np.abs(X) < 0.6] = 0.0
        weight = np.tile([1.0, 0.0, 2.0], 20)
        rows = sparse.csr_array(X)
        return getattr(tenfold, name)(**settings).fit(rows, y, sample_weight=weight), rows[:20]

    return Saved(f"{name}, sparse rows", name, make)


def _save_decision(count: int, method: str) -> Saved:
    def make() -> tuple[Any, Any]:
        X, y, _ = classes(count=count)
        inner = tenfold.decide.Calibrator(tenfold.RidgeClassifier(), method=method)
        return tenfold.decide.DecisionClassifier(inner, reject_cost=0.2).fit(X, y), X[:20]

    return Saved(f"DecisionClassifier, {method}", "DecisionClassifier", make)


def _fit_calibrator() -> tuple[Any, Any]:
    X, y, _ = classes()
    return tenfold.decide.Calibrator(tenfold.GaussianNB(), cv=3).fit(X, y), X[:20]


def whole_table() -> tuple[Any, Any]:
    """A pipeline of all transformers of the allow-list, and new rows."""
    X, y, _ = frame()
    columns = ColumnTransformer(
        [
            ("scaled", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["a", "b"]),
            ("ranges", FeatureUnion([("one", MinMaxScaler()), ("two", MaxAbsScaler())]), ["a", "c"]),
            ("robust", make_pipeline(RobustScaler(), Normalizer()), ["c", "d"]),
            ("missing", MissingIndicator(), ["b"]),
            ("bins", KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), ["a"]),
            ("powers", PolynomialFeatures(2), ["a", "c"]),
            ("splines", SplineTransformer(4), ["d"]),
            ("bent", PowerTransformer(), ["c"]),
            ("ranks", QuantileTransformer(n_quantiles=10), ["d"]),
            ("marks", OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist"), ["kind", "size"]),
            ("dropped", OneHotEncoder(drop="first", sparse_output=False), ["size"]),
            ("order", OrdinalEncoder(), ["kind"]),
            ("means", TargetEncoder(), ["kind", "size"]),
            ("counts", CountVectorizer(), "words"),
            ("weights", TfidfVectorizer(), "words"),
            ("hashes", HashingVectorizer(n_features=16), "words"),
            ("plain", "passthrough", [0]),
            ("chosen", StandardScaler(), make_column_selector(pattern="^d$")),
        ],
        sparse_threshold=0.0,
    )
    model = make_pipeline(columns, VarianceThreshold(), SelectKBest(f_regression, k=20), tenfold.Ridge())
    wrapped = TransformedTargetRegressor(model, transformer=StandardScaler())
    return wrapped.fit(X, y), frame(20, seed=1).X


def fit_encoder(scale: bool = True) -> tuple[Any, Any]:
    """A table of all kinds of columns behind our own encoder, and new rows."""

    def make_table(n: int, seed: int) -> tuple[Any, Any]:
        table, y, _ = frame(n, seed=seed)
        rng = np.random.default_rng(seed)
        table["when"] = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
        table["grade"] = rng.choice(["low", "middle", "high"], n)
        table["visits"] = rng.integers(0, 5, n)
        table["place"] = [f"place {k}" for k in rng.integers(0, 20, n)]
        return table, y

    settings = {"ordinal": {"grade": ["low", "middle", "high"]}, "types": {"visits": "count", "words": "text"}}
    encoder = tenfold.TableEncoder(scale=scale, max_levels=12, min_frequency=2, **settings)
    X, y = make_table(150, 0)
    return make_pipeline(encoder, tenfold.Ridge()).fit(X, y), make_table(20, 1)[0]


def _encoder() -> tuple[Any, Any]:
    model, X = fit_encoder()
    return model[0], X


MODELS = [
    *_rows(),
    Saved("KNeighborsClassifier, two targets", "KNeighborsClassifier", _several_classes),
    _several_targets("Ridge"),
    _several_targets("RidgeCV", alphas=[0.1, 1.0], store_cv_results=True),
    _several_targets("Lars"),
    _several_targets("OrthogonalMatchingPursuit", n_nonzero_coefs=2),
    _sparse_rows("KNeighborsClassifier", algorithm="brute"),
    _sparse_rows("VotedPerceptron", random_state=0),
    _sparse_rows("SGDClassifier", average=True, random_state=0),
    _sparse_rows("LogisticRegression"),
    _save_decision(2, "sigmoid"),
    _save_decision(3, "isotonic"),
    Saved("Calibrator", "Calibrator", _fit_calibrator),
    Saved("TableEncoder, all kinds of columns", "TableEncoder", _encoder),
]
"""A model of every row of the table, and others that hold something else."""

PIPELINES = [Saved("all transformers", "", whole_table), Saved("a table behind our encoder", "", fit_encoder)]


def answers(model: Any, X: Any) -> dict[str, Any]:
    """What a model says of queries, method by method; one that refuses them says why."""
    result = {}
    for name in METHODS:
        if hasattr(model, name):
            try:
                result[name] = getattr(model, name)(X)
            except (ValueError, TypeError, NotImplementedError) as reason:
                result[name] = f"{type(reason).__name__}: {reason}"
    # a model that answers nothing about other samples has what it found of its own
    return result or {name: getattr(model, name) for name in ("embedding_", "labels_") if hasattr(model, name)}


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal to the bit; methods of other fields of a certificate are not in files."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if sparse.issparse(one):
        parts = ("data", "indices", "indptr")
        return one.shape == other.shape and all(same(getattr(one, part), getattr(other, part)) for part in parts)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return one.shape == other.shape and all(map(same, one.flat, other.flat))
    if isinstance(one, (np.ndarray, np.generic)):
        return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    if isinstance(one, float):
        return repr(one) == repr(other)
    if hasattr(one, "get_params"):
        return same(one.get_params(), other.get_params())
    fields = getattr(type(one), "__dataclass_fields__", None)
    if fields is not None:
        held = [name for name in fields if name != "_enclose"]
        return all(same(getattr(one, name), getattr(other, name)) for name in held)
    plain = (str, int, type(None), type, slice, range, set, frozenset, np.dtype, FunctionType)
    return bool(one == other) if isinstance(one, plain) else same(vars(one), vars(other))


class Contents:
    """What is in a file, to be changed and put together again, with the sums of the zip as they must be."""

    def __init__(self, file: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(file)) as archive:
            self.entries = {name: archive.read(name) for name in archive.namelist()}
        self.json = json.loads(self.entries.pop("model.json"))

    def copy(self) -> "Contents":
        return copy.deepcopy(self)

    def array(self, number: int) -> Any:
        return np.load(io.BytesIO(self.entries[f"arrays/{number}.npy"]))

    def put(self, number: int, array: Any) -> None:
        file = io.BytesIO()
        np.save(file, array)
        self.entries[f"arrays/{number}.npy"] = file.getvalue()

    def file(self) -> bytes:
        result = io.BytesIO()
        with zipfile.ZipFile(result, "w") as archive:
            archive.writestr("model.json", json.dumps(self.json))
            for name, text in self.entries.items():
                archive.writestr(name, text)
        return result.getvalue()
