"""Models that are kept in files and read again, what is asked of them, and files that were changed on the way."""

import copy
import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
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
from estimators import EVERY, classes, plain, regression
from models import DRAWN, MODELS, Apart, blobs
from neighbours import NEIGHBOURS

METHODS = (
    *("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples"),
    *("kneighbors", "radius_neighbors", "predict_interval"),
)


@dataclass(frozen=True)
class Kept:
    """A model by name, and what makes it: the fitted model and queries."""

    id: str
    make: Callable[[], tuple[Any, Any]]


def _of_row(row: Any, count: int) -> Kept:
    def make() -> tuple[Any, Any]:
        X, y, _ = plain(row, 60, 4, count=count)
        return row.make().fit(X, y), X[:20]

    return Kept(f"{row.id}, {count} classes" if row.classifier else row.id, make)


def _of_model(row: Any) -> Kept:
    def make() -> tuple[Any, Any]:
        X, y, _ = row.data()
        # a function is refused; its row is there for what starts from the same centres
        changed = {"init": "k-means++"} if isinstance(row.settings.get("init"), Apart) else {}
        return row.make(**changed).fit(X, y), X[:20]

    return Kept(row.id, make)


def _of_rows(row: Any) -> Kept:
    def make() -> tuple[Any, Any]:
        X, y = row.data()
        return row.fit(row.make(), X, y), X[:20] + 0.1

    return Kept(row.id, make)


def _drawn(name: str) -> Kept:
    def make() -> tuple[Any, Any]:
        X = blobs().X
        return getattr(tenfold, name)(n_clusters=3, random_state=0).fit(X), X[:20]

    return Kept(name, make)


def _sequences() -> tuple[Any, Any]:
    X = [[{"the": 1}, {"dog": 1}, {"barks": 1}], [{"dogs": 1}, {"bark": 1}], [{"the": 1}, {"bark": 1}]]
    return tenfold.StructuredPerceptron(max_iter=20).fit(X, [["D", "N", "V"], ["N", "V"], ["D", "N"]]), X


def _several_targets(name: str, **settings: Any) -> Kept:
    def make() -> tuple[Any, Any]:
        X, y, _ = regression()
        return getattr(tenfold, name)(**settings).fit(X, np.column_stack([y, y**2])), X[:20]

    return Kept(f"{name}, two targets", make)


def _several_classes() -> tuple[Any, Any]:
    X, y, _ = classes(count=3)
    return tenfold.KNeighborsClassifier().fit(X, np.column_stack([y, y[::-1]])), X[:20]


def _sparse_rows(name: str, **settings: Any) -> Kept:
    def make() -> tuple[Any, Any]:
        X, y, _ = classes(count=3)
        X[np.abs(X) < 0.6] = 0.0
        weight = np.tile([1.0, 0.0, 2.0], 20)
        rows = sparse.csr_array(X)
        return getattr(tenfold, name)(**settings).fit(rows, y, sample_weight=weight), rows[:20]

    return Kept(f"{name}, sparse rows", make)


def _decided(count: int, method: str) -> Kept:
    def make() -> tuple[Any, Any]:
        X, y, _ = classes(count=count)
        inner = tenfold.decide.Calibrator(tenfold.RidgeClassifier(), method=method)
        return tenfold.decide.DecisionClassifier(inner, reject_cost=0.2).fit(X, y), X[:20]

    return Kept(f"DecisionClassifier, {method}", make)


def _calibrated() -> tuple[Any, Any]:
    X, y, _ = classes()
    return tenfold.decide.Calibrator(tenfold.GaussianNB(), cv=3).fit(X, y), X[:20]


BAYES = next(row for row in MODELS if row.name == "BayesClassifier")

TABLE = [
    *(_of_row(row, count) for row in EVERY for count in ((2, 3) if row.classes > 2 else (2,))),
    *(_of_model(row) for row in MODELS if row is not BAYES),
    *(_of_rows(row) for row in NEIGHBOURS),
    *(_drawn(name) for name in DRAWN),
    Kept("StructuredPerceptron", _sequences),
    Kept("KNeighborsClassifier, two targets", _several_classes),
    _several_targets("Ridge"),
    _several_targets("RidgeCV", alphas=[0.1, 1.0], store_cv_results=True),
    _several_targets("Lars"),
    _several_targets("OrthogonalMatchingPursuit", n_nonzero_coefs=2),
    _several_targets("MultiTaskLassoCV", alphas=3, cv=3),
    _several_targets("MultiTaskElasticNetCV", alphas=3, cv=3),
    _sparse_rows("KNeighborsClassifier", algorithm="brute"),
    _sparse_rows("VotedPerceptron", random_state=0),
    _sparse_rows("SGDClassifier", average=True, random_state=0),
    _sparse_rows("LogisticRegression"),
    _decided(2, "sigmoid"),
    _decided(3, "isotonic"),
    Kept("Calibrator", _calibrated),
]


def frame(n: int = 60, seed: int = 0) -> tuple[Any, Any]:
    """A table of numbers, some missing, words and sentences, and targets."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((n, 4))
    table = pd.DataFrame(numbers, columns=["a", "b", "c", "d"])
    table.loc[::7, "b"] = np.nan
    table["kind"] = rng.choice(["red", "green", "blue", "rare"], n, p=[0.4, 0.3, 0.25, 0.05])
    table["size"] = rng.choice(["small", "large"], n)
    table["words"] = [" ".join(rng.choice(["cat", "dog", "sat", "mat", "hat"], 4)) for _ in range(n)]
    return table, numbers[:, 0] + 0.1 * rng.standard_normal(n)


def whole_table() -> tuple[Any, Any]:
    """A pipeline of all transformers of the allow-list, and new rows."""
    X, y = frame()
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
    return wrapped.fit(X, y), frame(20, 1)[0]


def encoded(scale: bool = True) -> tuple[Any, Any]:
    """A table of all kinds of columns behind our own encoder, and new rows."""

    def made(n: int, seed: int) -> tuple[Any, Any]:
        table, y = frame(n, seed)
        rng = np.random.default_rng(seed)
        table["when"] = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
        table["grade"] = rng.choice(["low", "middle", "high"], n)
        table["visits"] = rng.integers(0, 5, n)
        table["place"] = [f"place {k}" for k in rng.integers(0, 20, n)]
        return table, y

    settings = {"ordinal": {"grade": ["low", "middle", "high"]}, "types": {"visits": "count", "words": "text"}}
    encoder = tenfold.TableEncoder(scale=scale, max_levels=12, min_frequency=2, **settings)
    X, y = made(150, 0)
    return make_pipeline(encoder, tenfold.Ridge()).fit(X, y), made(20, 1)[0]


def _encoder() -> tuple[Any, Any]:
    model, X = encoded()
    return model[0], X


TABLE.append(Kept("TableEncoder", _encoder))

PIPELINES = [Kept("all transformers", whole_table), Kept("a table behind our encoder", encoded)]


def answers(model: Any, X: Any) -> dict[str, Any]:
    """What a model says of queries, method by method; one that refuses them says why."""
    found = {}
    for name in METHODS:
        if hasattr(model, name):
            try:
                found[name] = getattr(model, name)(X)
            except (ValueError, TypeError, NotImplementedError) as reason:
                found[name] = f"{type(reason).__name__}: {reason}"
    assert found
    return found


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal to the bit."""
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
        return all(same(getattr(one, name), getattr(other, name)) for name in fields)
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
        found = io.BytesIO()
        with zipfile.ZipFile(found, "w") as archive:
            archive.writestr("model.json", json.dumps(self.json))
            for name, content in self.entries.items():
                archive.writestr(name, content)
        return found.getvalue()
