"""The parameter `centres` of kernel methods: which points take the place of all samples in the kernel expansion.

- None: the default of the class;
- a number m: m samples, drawn at random without replacement, by weight where there are weights;
- ("uniform", m), ("kmeans", m) or ("leverage", m): m samples drawn so, the means of k-means with m clusters, or m
  samples drawn by their ridge leverage scores;
- an array (m, n_features): these points.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from tenfold.arrays import FLOATS, Array, is_array_api, is_dask, is_sparse, like, namespace, numpy_dtype
from tenfold.estimators.parameters import Constraints, InvalidParameterError, array_like, integer, nothing
from tenfold.plans.centres import NAMES
from tenfold.plans.kernel_centres import CentreRequest

CENTRES: Constraints = {"centres": (integer(1), array_like(), nothing())}


def read_centres(estimator: Any, X: Array) -> CentreRequest:
    """The request for centres that the parameter of an estimator makes, for samples X of its fit."""
    given = estimator.centres
    if given is None:
        return CentreRequest()
    if isinstance(given, (int, np.integer)):
        return CentreRequest(count=int(given))
    if isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[0], str):
        method, count = given
        is_whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
        if method not in NAMES or not is_whole or count < 1:
            known = ", ".join(repr(name) for name in NAMES)
            raise InvalidParameterError(
                f"The 'centres' parameter of {type(estimator).__name__} is a number, points, or a pair of one of "
                f"{known} and a number of at least 1. Got {given!r} instead."
            )
        return CentreRequest(None, int(count), method)
    return CentreRequest(_points(estimator, given, X))


def _points(estimator: Any, given: Any, X: Array) -> Array:
    """Given centres in the dtype and storage of X, where X is."""
    if not is_array_api(given):
        given = check_array(given, accept_sparse="csr", dtype=list(FLOATS), input_name="centres", estimator=estimator)
    if given.shape[1] != X.shape[1]:
        raise ValueError(f"The centres have {given.shape[1]} features, and the samples {X.shape[1]}.")
    if is_array_api(X) and not is_dask(X):
        given = given.toarray() if is_sparse(given) else given
        given = given if is_array_api(given) else like(given, X)
        return namespace(given).astype(given, X.dtype, copy=False)
    points: Any = given.toarray() if is_sparse(given) and not is_sparse(X) else given
    points = sparse.csr_array(points) if is_sparse(X) else np.asarray(points)
    return points.astype(numpy_dtype(X.dtype), copy=False) if hasattr(X, "dtype") else points
