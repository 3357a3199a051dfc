"""Dictionaries and sparse codes as functions."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from tenfold.arrays import FLOATS, Array
from tenfold.estimators.decomposition.dictionary import DictionaryLearning
from tenfold.estimators.decomposition.dictionary_minibatch import MiniBatchDictionaryLearning
from tenfold.estimators.decomposition.sparse_coding import ALGORITHMS, make_coding, require_finite_squares
from tenfold.estimators.parameters import boolean, check_arguments, choice, integer, nothing, real
from tenfold.plans.dictionary import encode


def sparse_encode(
    X: Any,
    dictionary: Any,
    *,
    gram: Any = None,
    cov: Any = None,
    algorithm: str = "lasso_lars",
    n_nonzero_coefs: int | None = None,
    alpha: float | None = None,
    copy_cov: bool = True,
    init: Any = None,
    max_iter: int = 1000,
    n_jobs: int | None = None,
    check_input: bool = True,
    verbose: Any = 0,
    positive: bool = False,
) -> Array:
    """Codes W (n, k) of samples with X close to W times a dictionary D (k, p), by one of five algorithms.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples.
    dictionary : array-like of shape (n_components, n_features)
        The atoms; their norms should be one.
    gram : array-like of shape (n_components, n_components), default=None
        The products of the atoms, D D'; computed if None.
    cov : array-like of shape (n_components, n_samples), default=None
        The products D X'; computed if None.
    algorithm : {"lasso_lars", "lasso_cd", "lars", "omp", "threshold"}, default="lasso_lars"
        "lasso_lars" and "lasso_cd": minimise ``||x - w D||^2 / 2 + alpha |w|``, exactly. "omp" and "lars": orthogonal
        matching pursuit or least angle regression with `n_nonzero_coefs` atoms. "threshold": products with the atoms,
        shrunk by `alpha`.
    n_nonzero_coefs : int, default=None
        Number of atoms of a sample with "omp" and "lars"; None is a tenth of the features, at least one.
    alpha : float, default=None
        The penalty of the Lasso, or the threshold; None is 1.
    copy_cov : bool, default=True
        Accepted for compatibility: `cov` is never changed.
    init : array-like of shape (n_samples, n_components), default=None
        Accepted for compatibility: the Lasso is solved exactly.
    max_iter : int, default=1000
        Accepted for compatibility: the Lasso is solved exactly.
    n_jobs : int, default=None
        Accepted for compatibility: compiled loops use all threads.
    check_input : bool, default=True
        Whether the arrays are checked.
    verbose : int, default=0
        Accepted for compatibility: nothing is printed.
    positive : bool, default=False
        Whether codes must not be negative; not with "lars" and "omp".

    Returns
    -------
    code : ndarray of shape (n_samples, n_components)
        The codes.

    Notes
    -----
    n p k operations for products, and 2 k m a step of a sample with m atoms. Runs on dense arrays in memory.
    Rubinstein, Zibulevsky and Elad 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import sparse_encode
    >>> X = np.array([[-1, -1, -1], [0, 0, 3]])
    >>> atoms = np.array([[0, 1, 0], [-1, -1, 2], [1, 1, 1], [0, 1, 1], [0, 2, 1]], dtype=np.float64)
    >>> sparse_encode(X, atoms, alpha=1e-10).round(6) + 0.0
    array([[ 0.,  0., -1.,  0.,  0.],
           [ 0.,  1.,  1.,  0.,  0.]])
    """
    known = {
        "algorithm": (choice(*ALGORITHMS),),
        "n_nonzero_coefs": (integer(1), nothing()),
        "alpha": (real(0), nothing()),
        "copy_cov": (boolean(),),
        "max_iter": (integer(0),),
        "check_input": (boolean(),),
        "positive": (boolean(),),
    }
    given = (algorithm, n_nonzero_coefs, alpha, copy_cov, max_iter, check_input, positive)
    check_arguments("sparse_encode", known, **dict(zip(known, given, strict=True)))
    if check_input:
        dictionary = check_array(dictionary, dtype=list(FLOATS), input_name="dictionary")
        X = check_array(X, dtype=list(FLOATS), input_name="X")
    X, D = np.asarray(X), np.ascontiguousarray(dictionary, dtype=np.float64)
    if D.shape[1] != X.shape[1]:
        raise ValueError(
            f"Dictionary and X have different numbers of features: dictionary.shape: {D.shape} X.shape: {X.shape}"
        )
    A = None if gram is None else check_array(gram, dtype=np.float64, input_name="gram")
    C = None if cov is None else check_array(cov, dtype=np.float64, input_name="cov").T
    if (A is not None and A.shape != (len(D), len(D))) or (C is not None and C.shape != (len(X), len(D))):
        raise ValueError("gram must be (n_components, n_components), and cov (n_components, n_samples).")
    how = make_coding(algorithm, alpha, n_nonzero_coefs, positive, D.shape)
    return encode(require_finite_squares(X), D, how, A, C).astype(X.dtype if X.dtype in FLOATS else np.float64)


def dict_learning(
    X: Any,
    n_components: int | None,
    *,
    alpha: float,
    max_iter: int = 100,
    tol: float = 1e-8,
    method: str = "lars",
    n_jobs: int | None = None,
    dict_init: Any = None,
    code_init: Any = None,
    callback: Any = None,
    verbose: Any = False,
    random_state: Any = None,
    return_n_iter: bool = False,
    positive_dict: bool = False,
    positive_code: bool = False,
    method_max_iter: int = 1000,
) -> Any:
    """Codes W (n, k) and atoms D (k, p) that minimise ``||X - W D||^2 / 2 + alpha |W|`` locally, with ``||d_k|| <= 1``.

    To see the certificate, take `DictionaryLearning`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples.
    n_components : int or None
        Number of atoms k; None takes as many as features.
    alpha : float
        The penalty of the codes.
    max_iter : int, default=100
        Most steps.
    tol : float, default=1e-8
        Ends when the certificate is at most this, or 1e-6 where that is larger.
    method : {"lars", "cd"}, default="lars"
        Accepted for compatibility: codes are solved exactly. With "lars" `positive_code` is an error.
    n_jobs : int, default=None
        Accepted for compatibility: compiled loops use all threads.
    dict_init : ndarray of shape (n_components, n_features), default=None
        The atoms to start from; only with `code_init`.
    code_init : ndarray of shape (n_samples, n_components), default=None
        The codes to start from; only with `dict_init`.
    callback : callable, default=None
        Called every five steps with a dict of the step `ii`, `code`, `dictionary`, `errors` and `current_cost`.
    verbose : bool, default=False
        Whether every step is printed.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing is drawn.
    return_n_iter : bool, default=False
        Whether to return the number of steps.
    positive_dict : bool, default=False
        Whether atoms must not have negative entries.
    positive_code : bool, default=False
        Whether codes must not be negative; not with "lars".
    method_max_iter : int, default=1000
        Accepted for compatibility: codes are solved exactly.

    Returns
    -------
    code : ndarray of shape (n_samples, n_components)
        The codes.
    dictionary : ndarray of shape (n_components, n_features)
        The atoms.
    errors : ndarray of shape (n_iter,)
        The objective after every step.
    n_iter : int
        Steps of the solver; only with `return_n_iter`.

    Notes
    -----
    A step is 4 n p k operations, 2 n k^2 and the codes. Runs on dense arrays in memory.
    Mairal, Bach, Ponce and Sapiro 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import dict_learning
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 4)) * (rng.random((40, 4)) < 0.5) @ np.eye(6)[:4]
    >>> W, D, errors = dict_learning(X, 4, alpha=0.01)
    >>> bool(np.abs(W @ D - X).max() < 0.1)
    True
    """
    check_arguments("dict_learning", {"return_n_iter": (boolean(),)}, return_n_iter=return_n_iter)
    model = DictionaryLearning(
        n_components,
        alpha=alpha,
        max_iter=max_iter,
        tol=tol,
        fit_algorithm=method,
        n_jobs=n_jobs,
        dict_init=dict_init,
        code_init=code_init,
        callback=callback,
        verbose=verbose,
        random_state=random_state,
        positive_dict=positive_dict,
        positive_code=positive_code,
        transform_max_iter=method_max_iter,
    ).set_output(transform="default")
    W = model.fit_transform(X)
    result = (W, model.components_, model.error_)
    return (*result, model.n_iter_) if return_n_iter else result


def dict_learning_online(
    X: Any,
    n_components: int | None = 2,
    *,
    alpha: float = 1,
    max_iter: int = 100,
    return_code: bool = True,
    dict_init: Any = None,
    callback: Any = None,
    batch_size: int = 256,
    verbose: Any = False,
    shuffle: bool = True,
    n_jobs: int | None = None,
    method: str = "lars",
    random_state: Any = None,
    positive_dict: bool = False,
    positive_code: bool = False,
    method_max_iter: int = 1000,
    tol: float = 1e-3,
    max_no_improvement: int | None = 10,
) -> Any:
    """Codes W (n, k) and atoms D (k, p) with a small ``||X - W D||^2 / 2 + alpha |W|``, ``||d_k|| <= 1``, by batches.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The samples.
    n_components : int or None, default=2
        Number of atoms k; None takes as many as features.
    alpha : float, default=1
        The penalty of the codes.
    max_iter : int, default=100
        Most passes over the samples.
    return_code : bool, default=True
        Whether to return the codes.
    dict_init : ndarray of shape (n_components, n_features), default=None
        The atoms to start from; leading singular vectors if None.
    callback : callable, default=None
        Called after every batch with a dict of the step `i`, the `dictionary` and the `batch_cost`.
    batch_size : int, default=256
        Samples of a batch.
    verbose : bool, default=False
        Whether the cost of every batch is printed.
    shuffle : bool, default=True
        Whether samples are shuffled before they are cut into batches.
    n_jobs : int, default=None
        Accepted for compatibility: compiled loops use all threads.
    method : {"lars", "cd"}, default="lars"
        Accepted for compatibility: codes are solved exactly. With "lars" `positive_code` is an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the start, of the shuffle, and of atoms that replace unused ones.
    positive_dict : bool, default=False
        Whether atoms must not have negative entries.
    positive_code : bool, default=False
        Whether codes must not be negative; not with "lars".
    method_max_iter : int, default=1000
        Accepted for compatibility: codes are solved exactly.
    tol : float, default=1e-3
        Ends when a batch moves the atoms by at most this, divided by their number; 0 for never.
    max_no_improvement : int or None, default=10
        Ends after this many batches in a row without a new minimum of the smoothed cost; None for never.

    Returns
    -------
    code : ndarray of shape (n_samples, n_components)
        The codes; only with `return_code`.
    dictionary : ndarray of shape (n_components, n_features)
        The atoms.

    Notes
    -----
    A batch of m samples costs 4 m p k operations and the codes. Runs on dense arrays in memory.
    Mairal, Bach, Ponce and Sapiro 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import dict_learning_online
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((40, 4)) * (rng.random((40, 4)) < 0.5) @ np.eye(6)[:4]
    >>> W, D = dict_learning_online(X, 4, alpha=0.01, batch_size=10, random_state=0)
    >>> bool(np.abs(W @ D - X).max() < 0.2)
    True
    """
    check_arguments("dict_learning_online", {"return_code": (boolean(),)}, return_code=return_code)
    model = MiniBatchDictionaryLearning(
        n_components,
        alpha=alpha,
        max_iter=max_iter,
        fit_algorithm=method,
        n_jobs=n_jobs,
        batch_size=batch_size,
        shuffle=shuffle,
        dict_init=dict_init,
        transform_algorithm="lasso_lars" if method == "lars" else "lasso_cd",
        transform_alpha=alpha,
        verbose=verbose,
        random_state=random_state,
        positive_code=positive_code,
        positive_dict=positive_dict,
        transform_max_iter=method_max_iter,
        callback=callback,
        tol=tol,
        max_no_improvement=max_no_improvement,
    ).fit(X)
    return (model.transform(X), model.components_) if return_code else model.components_
