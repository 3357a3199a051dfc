"""`DistanceMetric` objects of scikit-learn: the name of the distance and its parameters.

An object says its class, and distances when it is asked for them; its parameters are read off these. The distance of
samples whose reduced distance is 2^s is 2^(s / p) for Minkowski's of power p; the distance of a unit vector from
zero has the weight or the variance of its column, and those of sums of two have the entries of an inverse covariance.
"""

import re
from typing import Any

import numpy as np

from tenfold.arrays import Floats

# the classes without parameters
NAMES = {
    "Euclidean": "euclidean",
    "Manhattan": "manhattan",
    "Chebyshev": "chebyshev",
    "Hamming": "hamming",
    "Canberra": "canberra",
    "BrayCurtis": "braycurtis",
    "Jaccard": "jaccard",
    "Dice": "dice",
    "RogersTanimoto": "rogerstanimoto",
    "RussellRao": "russellrao",
    "SokalMichener": "sokalmichener",
    "SokalSneath": "sokalsneath",
    "Haversine": "haversine",
}


def is_metric(value: Any) -> bool:
    """Whether this is a `DistanceMetric` of scikit-learn, known by its name and what it can do: to import the class
    takes longer than many fits.
    """
    return bool(re.fullmatch(r"\w+Distance(32|64)?", type(value).__name__)) and hasattr(value, "rdist_to_dist")


def metric_name_of(metric: Any, columns: int) -> tuple[Any, dict[str, Any]]:
    """The name of the distance, or a function of two samples, and its parameters for this number of features."""
    kind = re.sub(r"Distance(32|64)?$", "", type(metric).__name__)
    if kind in NAMES:
        return NAMES[kind], {}
    if kind == "Minkowski":
        p = round(512.0 / float(np.log2(metric.rdist_to_dist(2.0**512))), 12)
        w = _from_zero(metric, np.eye(columns)) ** p
        return "minkowski", {"p": p, "w": None if np.all(w == 1.0) else w}
    if kind == "SEuclidean":
        return "seuclidean", {"V": 1.0 / _from_zero(metric, np.eye(columns)) ** 2}
    if kind == "Mahalanobis":
        return "mahalanobis", {"VI": _form(metric, columns)}
    if type(metric).__name__.endswith("32"):
        raise ValueError(
            f"{type(metric).__name__} does not hand float32 rows to its function: give the function as metric."
        )
    return _Pair(metric), {}


def _from_zero(metric: Any, rows: Floats) -> Floats:
    dtype = np.float32 if type(metric).__name__.endswith("32") else np.float64
    try:
        distances = metric.pairwise(rows.astype(dtype), np.zeros((1, rows.shape[1]), dtype=dtype))
    except ValueError as reason:
        raise ValueError(f"{type(metric).__name__} is not for rows of {rows.shape[1]} columns: {reason}") from None
    return np.asarray(distances, dtype=np.float64)[:, 0]


def _form(metric: Any, columns: int) -> Floats:
    """The matrix A of the distance root(x'Ax): (e_i + e_j)'A(e_i + e_j) = A_ii + A_jj + 2 A_ij."""
    unit = np.eye(columns)
    squares = np.diag(_from_zero(metric, unit) ** 2)
    for i in range(columns - 1):
        both = _from_zero(metric, unit[i] + unit[i + 1 :]) ** 2
        squares[i, i + 1 :] = squares[i + 1 :, i] = 0.5 * (both - squares[i, i] - np.diag(squares)[i + 1 :])
    return squares


class _Pair:
    """The distance of two samples by an object."""

    def __init__(self, metric: Any) -> None:
        self.metric = metric

    def __call__(self, a: Floats, b: Floats) -> float:
        a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        return float(self.metric.pairwise(a[None], b[None])[0, 0])
