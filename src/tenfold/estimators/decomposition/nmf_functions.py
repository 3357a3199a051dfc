"""Non-negative matrix factorization as a function."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_array

from tenfold.arrays import FLOATS, Array
from tenfold.estimators.decomposition.nmf import NMF
from tenfold.estimators.decomposition.nmf_model import check_start
from tenfold.estimators.parameters import boolean, check_arguments


def non_negative_factorization(
    X: Any,
    W: Any = None,
    H: Any = None,
    n_components: Any = "auto",
    *,
    init: str | None = None,
    update_H: bool = True,
    solver: str = "cd",
    beta_loss: Any = "frobenius",
    tol: float = 1e-4,
    max_iter: int = 200,
    alpha_W: float = 0.0,
    alpha_H: Any = "same",
    l1_ratio: float = 0.0,
    random_state: Any = None,
    verbose: int = 0,
    shuffle: bool = False,
    missing: str = "error",
) -> tuple[Array, Array, int]:
    """Factors W (n, k) and H (k, p), at least zero, with X close to W H.

    They minimise ``D(X, W H) + p alpha_W (l1_ratio |W| + (1 - l1_ratio) ||W||^2 / 2)
    + n alpha_H (l1_ratio |H| + (1 - l1_ratio) ||H||^2 / 2)`` locally, with D the beta-divergence, ``||X - W H||^2 / 2``
    by default. To see the certificate, take `NMF`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples: no value is negative.
    W : array-like of shape (n_samples, n_components), default=None
        The start of the first factor, with init="custom".
    H : array-like of shape (n_components, n_features), default=None
        The start of the second factor, with init="custom", or the factor itself with ``update_H=False``.
    n_components : int, None or "auto", default="auto"
        Number of components k; None and "auto" take as many as features, or as rows of a given H.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        The start: drawn at random; non-negative parts of singular vectors, with zeros left, filled with the mean or
        with small random values; given. None: "nndsvda", or "random" with more components than samples or features.
    update_H : bool, default=True
        Whether H is learned; else only the best W for the given one.
    solver : {"cd", "mu", "pg"}, default="cd"
        Accelerated coordinate descent, for the Frobenius loss; multiplicative updates; or projected gradient steps.
    beta_loss : float or {"frobenius", "kullback-leibler", "itakura-saito"}, default="frobenius"
        The divergence: 2, 1 and 0 by name.
    tol : float, default=1e-4
        Ends when the projected gradients, relative to the products of X with the factors, are at most this.
    max_iter : int, default=200
        Most steps.
    alpha_W : float, default=0.0
        Weight of the penalties of W, in units of the number of features.
    alpha_H : float or "same", default="same"
        Weight of the penalties of H, in units of the number of samples; "same" is `alpha_W`.
    l1_ratio : float, default=0.0
        The part of the L1 penalty, from 0 to 1.
    random_state : int, RandomState instance or None, default=None
        Seed of the start, and of the order of coordinates with `shuffle`.
    verbose : int, default=0
        Above zero every step is printed.
    shuffle : bool, default=False
        Whether coordinates come in random order with "cd".
    missing : {"error", "ignore"}, default="error"
        What to do with entries of dense X that are NaN: an error, or no term of the loss for them.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
        The first factor: the best one for H.
    H : ndarray of shape (n_components, n_features)
        The second factor.
    n_iter : int
        Steps of the solver; 1 with ``update_H=False``.

    Notes
    -----
    A step is two products with X, 4 n p k operations, or more with multiplicative updates. Runs on dense and sparse
    arrays in memory.
    Cookbook, ch. 9 and B.5.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import non_negative_factorization
    >>> X = np.array([[1, 1], [2, 1], [3, 1.2], [4, 1], [5, 0.8], [6, 1]])
    >>> W, H, steps = non_negative_factorization(X, n_components=2, init="random", random_state=0, max_iter=1000)
    >>> bool(np.abs(W @ H - X).max() < 0.01)
    True
    """
    check_arguments("non_negative_factorization", {"update_H": (boolean(),)}, update_H=update_H)
    model = NMF(
        n_components,
        init=init,
        solver=solver,
        beta_loss=beta_loss,
        tol=tol,
        max_iter=max_iter,
        random_state=random_state,
        alpha_W=alpha_W,
        alpha_H=alpha_H,
        l1_ratio=l1_ratio,
        verbose=verbose,
        shuffle=shuffle,
        missing=missing,
    )
    if update_H:
        codes = model.fit_transform(X, W=W, H=H)
        return codes, model.components_, model.n_iter_
    if W is not None:
        warnings.warn("When update_H=False, the provided initial W is not used.", RuntimeWarning, stacklevel=2)
    return _codes(model, X, H)


def _codes(model: NMF, X: Any, H: Any) -> tuple[Array, Array, int]:
    """The best W for a given H."""
    if H is None:
        raise ValueError("update_H=False needs H, the factor for which the best W is sought.")
    finite = "allow-nan" if model.missing == "ignore" else True
    X = check_array(X, accept_sparse="csr", dtype=list(FLOATS), ensure_all_finite=finite)
    k = np.shape(H)[0] if model.n_components in (None, "auto") else model.n_components
    check_start(H, (k, X.shape[1]), "H", X)
    model.check_settings()
    model.components_, model.n_features_in_ = np.asarray(H), X.shape[1]
    return model.transform(X), model.components_, 1
