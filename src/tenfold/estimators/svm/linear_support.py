"""The support vectors of linear support vector machines, whose solvers keep none."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from tenfold.arrays import FLOATS, Array, Floats, Integers, contiguous
from tenfold.estimators.class_labels import label_indices
from tenfold.estimators.svm.parameters import machine_of, rows_of, tasks
from tenfold.estimators.validation import sum_duplicates, validate_weights
from tenfold.stats.derivatives import Params

TYPES = ("", "free", "bound", "outlier")


@dataclass(frozen=True)
class LinearSupport:
    """Support vectors of a linear machine, of several classes those of each one against the others.

    Attributes
    ----------
    support : ndarray of shape (n_support,)
        Indices of the samples that are a support vector of some class.
    types : ndarray of shape (n,) of str
        "free" on the margin, "bound" inside it, "outlier" on the wrong side, "" for other samples; with several classes
        the worst.
    margins : ndarray of shape (n, 1) or (n, n_classes)
        ``y (x.w + b)``, y being -1 or +1.
    sure : ndarray of shape (n, 1) or (n, n_classes) of bool
        Whether the optimum has the sample on the same side of the margin: its y (x.w + b) is farther from one than the
        certificate says it may change. Nowhere with a free intercept or an L1 penalty, for which there is no such
        bound.
    """

    support: Integers
    types: NDArray[np.str_]
    margins: Floats
    sure: NDArray[np.bool_]


def linear_support(model: Any, X: Any, y: Any, sample_weight: Any = None, *, tol: float = 1e-4) -> LinearSupport:
    """Find the support vectors of a linear support vector machine.

    The weights are ``w = C sum_i s_i g_i y_i x_i``, g_i minus the slope of the loss at the margin ``y_i (x_i.w + b)``:
    of the hinge loss and of its square it is zero above one, where a sample has no influence. The others are the
    support vectors. Those that are on the margin, at one, are told from their neighbours by `tol`.

    Parameters
    ----------
    model : fitted LinearSVC, of tenfold or scikit-learn
        The machine; of several classes one against the others, not "crammer_singer".
    X : {array-like, sparse matrix} of shape (n, p)
        The samples of its fit.
    y : array-like of shape (n,)
        Their classes.
    sample_weight : array-like of shape (n,), default=None
        The weights of the fit; a sample of weight zero is no support vector.
    tol : float, default=1e-4
        A sample whose margin is at most this far from one is on it.

    Returns
    -------
    LinearSupport
        Indices, types, margins, and which of them the optimum shares.

    Notes
    -----
    One product with the weights, and the certificate of each problem.
    Cookbook, ch. 20 and figure 20.1; Seeger, section 9.3.

    Examples
    --------
    >>> from tenfold import LinearSVC, linear_support
    >>> X, y = [[-2.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, -1.0], [-0.5, 0.0]], [0, 0, 1, 1, 1]
    >>> model = LinearSVC(loss="hinge", penalize_intercept=False).fit(X, y)
    >>> found = linear_support(model, X, y)
    >>> found.support, found.types.tolist()
    (array([0, 1, 4]), ['free', 'free', '', '', 'outlier'])
    """
    check_is_fitted(model)
    if not hasattr(model, "coef_") or not hasattr(model, "multi_class") or not hasattr(model, "intercept_scaling"):
        raise TypeError(f"linear_support is for LinearSVC. Got {type(model).__name__}.")
    if model.multi_class == "crammer_singer":
        raise TypeError("linear_support is for one class against the others: margins of all together are of pairs.")
    if not tol >= 0.0:
        raise ValueError(f"tol must be at least zero. Got {tol}.")
    X, y = validate_data(model, X, y, reset=False, accept_sparse="csr", dtype=list(FLOATS), order="C")
    X, weight = sum_duplicates(X), validate_weights(sample_weight, X)
    unknown = np.setdiff1d(y, model.classes_)
    if unknown.size:
        raise ValueError(f"y has classes that the model does not know: {unknown.tolist()}.")
    margins, sure, levels = [], [], []
    for k, task in enumerate(tasks(model, label_indices(model.classes_, y, X), weight)):
        margin, width = _margin(model, X, task, k)
        level = np.select([margin <= 0.0, margin < 1.0 - tol, margin <= 1.0 + tol], [3, 2, 1], 0)
        margins.append(margin)
        sure.append(np.abs(margin - 1.0) > width)
        levels.append(level if task.weight is None else np.where(task.weight > 0.0, level, 0))
    worst = np.max(levels, axis=0)
    types = np.array(TYPES)[worst]
    return LinearSupport(np.flatnonzero(worst), types, np.column_stack(margins), np.column_stack(sure))


def _margin(model: Any, X: Array, task: Any, k: int) -> tuple[Floats, Floats]:
    """The margins (n,) of problem k, and how much they may differ from those of its optimum."""
    coef = model.coef_.toarray() if hasattr(model.coef_, "toarray") else np.asarray(model.coef_)
    coef = contiguous(coef[k : k + 1].astype(np.float64))
    each = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), model.coef_.shape[:1])
    intercept = contiguous(each[k : k + 1])
    rows, total = rows_of(X, task)
    certificate = machine_of(model, total).certify(rows, Params(coef, intercept), dtype=model.coef_.dtype)
    return np.asarray(task.target * (X @ coef[0] + intercept[0])), certificate.change(X)
