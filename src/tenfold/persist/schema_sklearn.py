"""Schemas of the fitted attributes of scikit-learn's transformers and containers: the allow-list.

A class is added by an entry. Names are those of scikit-learn; sizes are those of our schemas.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from tenfold.estimators.schema import (
    ANY,
    Check,
    Rule,
    Schema,
    Scope,
    anything,
    flag,
    floats,
    integers,
    labels,
    many,
    mapping,
    nothing,
    number,
    text,
    whole,
)


def _is_model(value: Any, _: Scope) -> bool:
    return isinstance(value, BaseEstimator)


def _is_array(value: Any, _: Scope) -> bool:
    return isinstance(value, np.ndarray)


model = Check("an estimator", _is_model)
values = Check("an array", _is_array)
positive = floats("p", low=0.0)


def _vocabulary(fitted: Any) -> bool:
    """The vocabulary is a permutation of the feature indices: scikit-learn writes to them unchecked."""
    return sorted(map(int, fitted.vocabulary_.values())) == list(range(len(fitted.vocabulary_)))


def _is_sorted(categories: Any) -> bool:
    """Categories of one feature: numbers are sorted with missing values last; strings are unique."""
    if categories.ndim != 1 or not categories.size or categories.dtype.kind not in "biufOUSM":
        return False
    if categories.dtype.kind in "OUS":
        known = [one for one in categories.tolist() if one is not None and one == one]
        return len(set(known)) == len(known) and len(categories) - len(known) <= 2
    known = categories[:-1] if categories.dtype.kind == "f" and np.isnan(categories[-1]) else categories
    return bool(np.all(known[1:] > known[:-1])) and not (categories.dtype.kind == "f" and np.isnan(known).any())


def _categories(fitted: Any) -> bool:
    return len(fitted.categories_) == fitted.n_features_in_ and all(map(_is_sorted, fitted.categories_))


def _groups(fitted: Any) -> list[int] | None:
    """Number of codes of each feature after grouping of infrequent categories; None where inconsistent."""
    sizes = [len(categories) for categories in fitted.categories_]
    if not fitted._infrequent_enabled:
        return sizes
    mappings, rare = fitted._default_to_infrequent_mappings, fitted._infrequent_indices
    if not len(mappings) == len(rare) == len(sizes):
        return None
    for i, (codes, few) in enumerate(zip(mappings, rare, strict=True)):
        if (codes is None) is not (few is None):
            return None
        if codes is None:
            continue
        if codes.shape != (sizes[i],) or codes.min() < 0 or not few.size or few.min() < 0 or few.max() >= sizes[i]:
            return None
        sizes[i] = int(codes.max()) + 1
    return sizes


def _is_encoder(fitted: Any) -> bool:
    return _categories(fitted) and _groups(fitted) is not None


def _one_hot(fitted: Any) -> bool:
    """Output features match the codes: scikit-learn builds a matrix from them unchecked."""
    if not _is_encoder(fitted):
        return False
    sizes, drop = _groups(fitted) or [], fitted._drop_idx_after_grouping
    if drop is not None:
        if drop.shape != (len(sizes),):
            return False
        for i, one in enumerate(drop):
            if one is not None:
                if not isinstance(one, (int, np.integer)) or not 0 <= one < sizes[i]:
                    return False
                sizes[i] -= 1
    return list(fitted._n_features_outs) == sizes


def _targets(fitted: Any) -> bool:
    count = len(fitted.classes_) if fitted.target_type_ == "multiclass" else 1
    sizes = [len(categories) for categories in fitted.categories_ for _ in range(count)]
    means = np.size(fitted.target_mean_)
    return _is_encoder(fitted) and [len(one) for one in fitted.encodings_] == sizes and means == count


def _splines(fitted: Any) -> bool:
    splines = fitted.bsplines_
    if len(splines) != fitted.n_features_in_ or any(spline.k != fitted.degree for spline in splines):
        return False
    width = {spline.c.shape[1:] for spline in splines}
    outputs = len(splines) * (splines[0].c.shape[1] - (0 if fitted.include_bias else 1)) if len(width) == 1 else -1
    return outputs == fitted.n_features_out_


def _is_splines(value: Any, _: Scope) -> bool:
    good = type(value) is list and len(value) > 0 and all(type(one).__name__ == "BSpline" for one in value)
    return good and all(one.c.ndim == 2 and one.c.dtype == float and np.isfinite(one.c).all() for one in value)


def _refit_attribute(name: str) -> Any:
    """An attribute of a transformer that depends on the number of features alone."""
    return lambda fitted: getattr(clone(fitted).fit(np.zeros((1, fitted.n_features_in_))), name)


POLYNOMIAL = {
    name: _refit_attribute(name) for name in ("_min_degree", "_max_degree", "_n_out_full", "n_output_features_")
}

seen = whole() | number(0.0) | integers("p", low=0) | floats("p", low=0.0)
codes = many(integers("*", low=0) | nothing())
ENCODER: dict[str, Check] = {
    "_infrequent_enabled": flag(),
    "categories_": many(values, "p"),
    "_infrequent_indices": codes,
    "_default_to_infrequent_mappings": codes,
    "_missing_indices": mapping(whole(), whole()),
}
VOCABULARY: dict[str, Check] = {"fixed_vocabulary_": flag(), "vocabulary_": mapping(anything(), whole())}
WORDS: dict[str, Rule] = {"vocabulary_ must number the columns": _vocabulary}
STOP = {"_stop_words_id": lambda fitted: id(fitted.stop_words)}
DTYPES: dict[str, Check] = {"_fit_dtype": anything(), "_fill_dtype": anything()}


def _row(attributes: Mapping[str, Check] | None = None, rules: Any = None, derived: Any = None) -> Schema:
    return Schema(ANY | dict(attributes or {}), rules or {}, derived or {})


# class by class: its module in scikit-learn, and what its fitted attributes must be
TRANSFORMERS: dict[str, tuple[str, Schema]] = {
    "Pipeline": ("sklearn.pipeline", _row()),
    "FeatureUnion": ("sklearn.pipeline", _row()),
    "ColumnTransformer": (
        "sklearn.compose",
        _row(
            {
                "_columns": many(anything()),
                "_transformer_to_input_indices": mapping(text(), many(whole(0, "p"))),
                "_remainder": many(anything(), "3"),
                "sparse_output_": flag(),
                "transformers_": many(many(anything(), "3")),
                "output_indices_": mapping(text(), anything()),
                "_transformers_feature_names_out": values,
            }
        ),
    ),
    "TransformedTargetRegressor": (
        "sklearn.compose",
        _row({"_training_dim": whole(1, 2), "transformer_": model, "regressor_": model}),
    ),
    "StandardScaler": (
        "sklearn.preprocessing",
        _row(
            {
                "n_samples_seen_": seen,
                "mean_": floats("p", nan=True) | nothing(),
                "var_": floats("p", low=0.0, nan=True) | nothing(),
                "scale_": floats("p", low=0.0, nan=True) | nothing(),
            }
        ),
    ),
    "MinMaxScaler": (
        "sklearn.preprocessing",
        _row(
            {"n_samples_seen_": seen}
            | dict.fromkeys(("scale_", "min_", "data_min_", "data_max_", "data_range_"), floats("p", nan=True))
        ),
    ),
    "MaxAbsScaler": (
        "sklearn.preprocessing",
        _row({"n_samples_seen_": seen} | dict.fromkeys(("max_abs_", "scale_"), floats("p", low=0.0, nan=True))),
    ),
    "RobustScaler": (
        "sklearn.preprocessing",
        _row(dict.fromkeys(("center_", "scale_"), floats("p", nan=True) | nothing())),
    ),
    "Normalizer": ("sklearn.preprocessing", _row()),
    "Binarizer": ("sklearn.preprocessing", _row()),
    "FunctionTransformer": ("sklearn.preprocessing", _row()),
    "OneHotEncoder": (
        "sklearn.preprocessing",
        _row(
            {
                **ENCODER,
                "_drop_idx_after_grouping": values | nothing(),
                "drop_idx_": values | nothing(),
                "_n_features_outs": many(whole(), "p"),
            },
            {"categories and codes must go together": _one_hot},
        ),
    ),
    "OrdinalEncoder": ("sklearn.preprocessing", _row(ENCODER, {"categories and codes must go together": _is_encoder})),
    "TargetEncoder": (
        "sklearn.preprocessing",
        _row(
            {
                **ENCODER,
                "target_type_": text("continuous", "binary", "multiclass"),
                "classes_": labels("k") | nothing(),
                "target_mean_": number() | floats("k"),
                "encodings_": many(floats("*")),
            },
            {"encodings must go with categories and classes": _targets},
        ),
    ),
    "KBinsDiscretizer": (
        "sklearn.preprocessing",
        _row({"bin_edges_": values, "n_bins_": integers("p", low=1), "_encoder": model}),
    ),
    "PolynomialFeatures": ("sklearn.preprocessing", _row(derived=POLYNOMIAL)),
    "SplineTransformer": (
        "sklearn.preprocessing",
        _row(
            {"bsplines_": Check("splines", _is_splines), "n_features_out_": whole(1)},
            {"splines must go with the columns": _splines},
        ),
    ),
    "PowerTransformer": ("sklearn.preprocessing", _row({"lambdas_": floats("p", nan=True), "_scaler": model})),
    "QuantileTransformer": (
        "sklearn.preprocessing",
        _row({"n_quantiles_": whole(1, size="m"), "references_": floats("m"), "quantiles_": floats("m p", nan=True)}),
    ),
    "LabelEncoder": ("sklearn.preprocessing", _row({"classes_": labels("k")})),
    "LabelBinarizer": (
        "sklearn.preprocessing",
        _row({"classes_": labels("k"), "y_type_": text(), "sparse_input_": flag()}),
    ),
    "SimpleImputer": (
        "sklearn.impute",
        _row({**DTYPES, "statistics_": values, "indicator_": model | nothing()}),
    ),
    "MissingIndicator": (
        "sklearn.impute",
        _row({"_precomputed": flag(), "_n_features": whole(0), "features_": integers("*", low=0, high="p")}),
    ),
    "VarianceThreshold": ("sklearn.feature_selection", _row({"variances_": floats("p", low=0.0, nan=True)})),
    "SelectKBest": (
        "sklearn.feature_selection",
        _row(dict.fromkeys(("scores_", "pvalues_"), floats("p", nan=True, inf=True) | nothing())),
    ),
    "CountVectorizer": ("sklearn.feature_extraction.text", _row(VOCABULARY, WORDS, STOP)),
    "TfidfVectorizer": ("sklearn.feature_extraction.text", _row({**VOCABULARY, "_tfidf": model}, WORDS, STOP)),
    "TfidfTransformer": ("sklearn.feature_extraction.text", _row({"idf_": floats("p")})),
    "HashingVectorizer": ("sklearn.feature_extraction.text", _row(derived=STOP)),
    "DictVectorizer": (
        "sklearn.feature_extraction",
        _row({"feature_names_": many(anything()), "vocabulary_": mapping(anything(), whole())}, WORDS),
    ),
}
