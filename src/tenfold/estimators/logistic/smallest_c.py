"""The smallest C at which an L1 penalty leaves a weight."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d


def l1_min_c(
    X: Any, y: Any, *, loss: str = "squared_hinge", fit_intercept: bool = True, intercept_scaling: float = 1.0
) -> float:
    """The smallest C at which an L1 penalty leaves a weight that is not zero; up to it the model is empty.

    Of ``||w||_1 + C sum_i loss(y_i (x_i.w + b))`` with liblinear's penalised intercept, as in scikit-learn.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        The classes.
    loss : {"squared_hinge", "log"}, default="squared_hinge"
        The squared hinge loss of `LinearSVC`, or the loss of `LogisticRegression`.
    fit_intercept : bool, default=True
        Whether there is an intercept, which is the weight of a constant feature.
    intercept_scaling : float, default=1.0
        The value of the constant feature that stands for the intercept.

    Returns
    -------
    float
        The smallest C.

    Notes
    -----
    One product with X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import l1_min_c
    >>> round(l1_min_c(*load_iris(return_X_y=True), loss="log"), 4)
    0.0048
    """
    if loss not in ("squared_hinge", "log"):
        raise ValueError(f"loss must be 'squared_hinge' or 'log', got {loss!r}.")
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    check_consistent_length(X, y)
    classes, number = np.unique(column_or_1d(y), return_inverse=True)
    first = [1] if len(classes) == 2 else range(len(classes))
    signs = np.array([np.where(number == k, 1.0, -1.0) for k in first])
    largest = float(np.max(np.abs(X.T @ signs.T)))
    if fit_intercept:
        largest = max(largest, intercept_scaling * float(np.max(np.abs(signs.sum(axis=1)))))
    if largest == 0.0:
        raise ValueError("Ill-posed l1_min_c calculation: l1 will always select zero coefficients for this data")
    return (0.5 if loss == "squared_hinge" else 2.0) / largest
