"""Certification of monotone regression."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from tenfold.arrays import FLOATS, Floats, unit_roundoff
from tenfold.certification.outputs import MAX_SAMPLES
from tenfold.estimators.validation import validate_weights
from tenfold.judge import isotonic as judge
from tenfold.judge.certificate import Certificate


def curve(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    """The certificate of IsotonicRegression, ours or scikit-learn's."""
    X = check_array(X, input_name="X", dtype=list(FLOATS), ensure_2d=False)
    if X.ndim == 2 and X.shape[1] != 1:
        raise ValueError(f"X has {X.shape[1]} features, and monotone regression one.")
    x = np.asarray(X, dtype=np.float64).reshape(-1)
    y = np.asarray(check_array(y, input_name="y", dtype=list(FLOATS), ensure_2d=False), dtype=np.float64).reshape(-1)
    check_consistent_length(x, y)
    weight = validate_weights(sample_weight, x)
    places, values = (np.asarray(getattr(model, name)) for name in ("X_thresholds_", "y_thresholds_"))
    dtype = values.dtype if values.dtype in FLOATS else np.dtype(np.float64)
    low, high = (
        other if bound is None else float(dtype.type(bound))
        for bound, other in ((model.y_min, -np.inf), (model.y_max, np.inf))
    )
    x = x.astype(places.dtype).astype(np.float64)
    places, values = places.astype(np.float64), values.astype(np.float64)
    return judge.curve(
        x,
        y,
        None if weight is None else np.asarray(weight),
        places,
        values,
        increasing=bool(model.increasing_),
        low=low,
        high=high,
        beyond=model.out_of_bounds == "clip",
        dtype=dtype,
        complaint=_contradiction(model, x, y, weight) or _compare_predictions(model, x, places, values, dtype),
    )


def _contradiction(model: Any, x: Floats, y: Floats, weight: Any) -> str:
    """The first fitted attribute that does not go with the others or with the data; "" where there is none."""
    places = np.asarray(model.X_thresholds_)
    if getattr(model, "n_features_in_", 1) != 1:
        return "n_features_in_ is not one."
    if not len(places) or model.X_min_ != places[0] or model.X_max_ != places[-1]:
        return "X_min_ and X_max_ are not the ends of X_thresholds_."
    if model.increasing != "auto":
        return "" if bool(model.increasing_) == bool(model.increasing) else "increasing_ is not what was asked for."
    # scikit-learn's class ranks samples of weight zero, too; either is right where there are such samples
    everything = np.ones(len(x), dtype=bool)
    parts = [everything] if weight is None else [everything, np.asarray(weight) > 0.0]
    with np.errstate(invalid="ignore", divide="ignore"):
        signs = {bool(judge.rank_correlation(x[part], y[part]) >= 0.0) for part in parts}
    return "" if bool(model.increasing_) in signs else "increasing_ is not the sign of the rank correlation."


def _compare_predictions(model: Any, x: Floats, places: Floats, values: Floats, dtype: Any) -> str:
    """Whether `predict` returns what the fitted arrays give, on some samples within the places."""
    if places.shape != values.shape or not len(places):
        return ""
    inside = x[(x >= places[0]) & (x <= places[-1])]
    samples = inside[:: -(-len(inside) // MAX_SAMPLES)] if len(inside) else inside
    if not len(samples):
        return ""
    expected, answer = np.interp(samples, places, values), np.asarray(model.predict(samples), dtype=np.float64)
    # between two places the rounding of a sample counts by the slope there
    steep = np.max(np.abs(np.diff(values)) / np.diff(places), initial=0.0) if (np.diff(places) > 0).all() else 0.0
    between = ~np.isin(samples, places)
    allowed = 16.0 * unit_roundoff(dtype) * (np.max(np.abs(values)) + between * steep * np.max(np.abs(samples)))
    same = answer.shape == expected.shape and bool(np.all(np.abs(answer - expected) <= allowed))
    return "" if same else "predict does not return what the fitted arrays give."
