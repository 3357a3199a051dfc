"""Dictionary learning."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from tenfold.arrays import Array, Floats, numpy_dtype
from tenfold.estimators.decomposition.sparse_coding import (
    CODING,
    REPORT_ONLY,
    SparseCodingModel,
    require_finite_squares,
)
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    function,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats
from tenfold.estimators.validation import (
    convert_like,
    require_finite,
    restore_on_error,
    validate_rows,
    warn_unless_certified,
)
from tenfold.objectives.dictionary import Coded
from tenfold.plans.dictionary import FittedDictionary, fit, start_of
from tenfold.problems import SparseDictionary
from tenfold.solvers.loop import Record

LEARNING: Constraints = {
    "n_components": (integer(1), nothing()),
    "alpha": (real(0),),
    "max_iter": (integer(0),),
    "tol": (real(0),),
    "fit_algorithm": (choice("cd", "lars"),),
    "callback": (function(), nothing()),
    "verbose": (integer(0), boolean()),
    "random_state": (random_state(),),
    "positive_dict": (boolean(),),
}

CALLBACK_STEPS = 5  # between two calls of a callback, as in scikit-learn


class DictionaryLearning(SparseCodingModel):
    """Dictionary learning: atoms of which few reconstruct a sample.

    Looks for codes W (n, k) and atoms D (k, p) that minimise

    ``||X - W D||^2 / 2 + alpha |W|`` with ``||d_k|| <= 1``,

    where ``|.|`` sums absolute values. The objective is not convex: what is found is stationary.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms k; None takes as many as features.
    alpha : float, default=1
        The penalty of the codes.
    max_iter : int, default=1000
        Most steps.
    tol : float, default=1e-8
        The fit ends when the certificate is at most this, or 1e-6 where that is larger.
    fit_algorithm : {"lars", "cd"}, default="lars"
        Accepted for compatibility: codes are solved by coordinate descent and an exact active set method. With "lars"
        `positive_code` is an error, as in scikit-learn.
    transform_algorithm : {"lasso_lars", "lasso_cd", "lars", "omp", "threshold"}, default="omp"
        How `transform` codes samples. "lasso_lars" and "lasso_cd": the Lasso at `transform_alpha`, exactly. "omp" and
        "lars": orthogonal matching pursuit or least angle regression with `transform_n_nonzero_coefs` atoms.
        "threshold": products with the atoms, shrunk by `transform_alpha`.
    transform_n_nonzero_coefs : int, default=None
        Number of atoms of a sample with "omp" and "lars"; None is a tenth of the features, at least one.
    transform_alpha : float, default=None
        The penalty of the Lasso, or the threshold. None is `alpha`.
    n_jobs : int, default=None
        Accepted for compatibility: compiled loops use all threads.
    code_init : ndarray of shape (n_samples, n_components), default=None
        The codes to start from; only with `dict_init`.
    dict_init : ndarray of shape (n_components, n_features), default=None
        The atoms to start from; only with `code_init`. Else the start is a singular value decomposition.
    callback : callable, default=None
        Called every five steps with a dict of the step `ii`, `code`, `dictionary`, `errors` and `current_cost`.
    verbose : bool or int, default=False
        Whether every step is printed.
    split_sign : bool, default=False
        Whether `transform` gives positive and negative parts of the codes as columns of their own.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing is drawn. Atoms that no sample uses are put along the longest residuals.
    positive_code : bool, default=False
        Whether codes must not be negative; not with "lars" and "omp".
    positive_dict : bool, default=False
        Whether atoms must not have negative entries.
    transform_max_iter : int, default=1000
        Accepted for compatibility: the Lasso is solved exactly.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms D.
    error_ : ndarray of shape (n_iter_,)
        The objective after every step.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        Kind stationarity: the larger of two numbers, with codes that are solved for the stored atoms: the norm of the
        projected gradient of the atoms relative to that of W'X, and the root of the duality gap of the codes relative
        to ``||X||^2 / 2``. An atom that no sample uses is refused while the residual of a sample is longer than
        `alpha`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A step is two products of the samples with k vectors, 4 n p k operations, 2 n k^2 and the codes, for all samples on
    one Gram matrix of the atoms; atoms are extrapolated. Memory for the samples in float64 and the codes. Runs on dense
    arrays in memory.
    Mairal, Bach, Ponce and Sapiro 2009; Cookbook, ch. 9, names the online form.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import DictionaryLearning
    >>> rng = np.random.default_rng(0)
    >>> atoms = np.eye(6)[:4]
    >>> X = rng.standard_normal((40, 4)) * (rng.random((40, 4)) < 0.5) @ atoms
    >>> model = DictionaryLearning(4, alpha=0.01, transform_algorithm="lasso_lars").fit(X)
    >>> bool(np.abs(model.transform(X) @ model.components_ - X).max() < 0.1)
    True
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Dictionary learning: sparse codes by an exact Lasso, atoms by accelerated alternation",
        texts=("B9",),
        peer="sklearn.decomposition",
        reads=("a pass a step",),
        where=("arrays",),
        instead="Every sample has codes: take a sample of them in memory, or parts with MiniBatchDictionaryLearning.",
        certificate=("stationarity",),
        judge="dictionary.atoms",
        outputs="dictionary.codes",
        report_only={**REPORT_ONLY, "error_": "the objective after every step; the certificate has that of the atoms"},
        stored={"components_": floats("k p"), "error_": floats("*", low=0.0)},
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        **LEARNING,
        **CODING,
        "code_init": (instance(np.ndarray), nothing()),
        "dict_init": (instance(np.ndarray), nothing()),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        alpha: float = 1,
        max_iter: int = 1000,
        tol: float = 1e-8,
        fit_algorithm: str = "lars",
        transform_algorithm: str = "omp",
        transform_n_nonzero_coefs: int | None = None,
        transform_alpha: float | None = None,
        n_jobs: int | None = None,
        code_init: Any = None,
        dict_init: Any = None,
        callback: Any = None,
        verbose: Any = False,
        split_sign: bool = False,
        random_state: Any = None,
        positive_code: bool = False,
        positive_dict: bool = False,
        transform_max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.fit_algorithm = fit_algorithm
        self.transform_algorithm = transform_algorithm
        self.transform_n_nonzero_coefs = transform_n_nonzero_coefs
        self.transform_alpha = transform_alpha
        self.n_jobs = n_jobs
        self.code_init = code_init
        self.dict_init = dict_init
        self.callback = callback
        self.verbose = verbose
        self.split_sign = split_sign
        self.random_state = random_state
        self.positive_code = positive_code
        self.positive_dict = positive_dict
        self.transform_max_iter = transform_max_iter

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the atoms of samples X (n, p); `y` is not used."""
        self.fit_transform(X)
        return self

    @restore_on_error
    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit to samples, and return their codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : object, default=None
            Not used.

        Returns
        -------
        W : ndarray of shape (n_samples, n_components)
            The codes of the fit: the Lasso at `alpha`.
        """
        check_parameters(self, self._constraints)
        check_positive(self.fit_algorithm, self.positive_code)
        X = validate_rows(self, X)
        problem = SparseDictionary(float(self.alpha), bool(self.positive_code), bool(self.positive_dict))
        result: FittedDictionary = require_finite(self, X, lambda: self._learn(X, problem))
        self.components_ = convert_like(result.coded.D, X)
        self.error_ = np.array([record.objective for record in result.trace[1:]])
        self.n_iter_, self.certificate_ = result.iterations, result.certificate
        warn_unless_certified(self)
        return result.coded.W.astype(X.dtype, copy=False)

    def _learn(self, X: Array, problem: SparseDictionary) -> FittedDictionary:
        samples = require_finite_squares(X)
        k = samples.shape[1] if self.n_components is None else int(self.n_components)
        start = take_start(samples, k, self.code_init, self.dict_init, ("code_init", "dict_init"))
        report = reporter(self.callback, self.verbose)
        return fit(
            samples,
            problem,
            start,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            dtype=numpy_dtype(X.dtype),
            callback=report,
        )


def check_positive(algorithm: str, positive: bool) -> None:
    """Raise where scikit-learn has no codes of at least zero."""
    if positive and algorithm == "lars":
        raise ValueError(f"Positive constraint not supported for '{algorithm}' coding method.")


def take_start(X: Floats, k: int, codes: Any, atoms: Any, names: tuple[str, str]) -> Coded:
    """The given start, or that by singular vectors; given ones are cut or filled with zeros to k atoms."""
    if codes is None or atoms is None:
        return start_of(X, k)
    codes, atoms = (np.array(part, dtype=np.float64, order="C") for part in (codes, atoms))
    for part, axis, length, name in ((codes, 0, len(X), names[0]), (atoms, 1, X.shape[1], names[1])):
        if part.ndim != 2 or part.shape[axis] != length:
            raise ValueError(f"{name} has shape {part.shape}, and {length} entries along axis {axis} are expected.")
    W, D = np.zeros((len(X), k)), np.zeros((k, X.shape[1]))
    r = min(k, codes.shape[1], len(atoms))
    W[:, :r], D[:r] = codes[:, :r], atoms[:r]
    return Coded(W, D)


def reporter(callback: Any, verbose: Any) -> Callable[[Record, Coded], bool]:
    """What is called after every step: prints it, and tells scikit-learn's kind of callback every fifth."""
    errors: list[float] = []

    def report(record: Record, coded: Coded) -> bool:
        step = len(errors)
        errors.append(record.objective)
        if verbose:
            print(f"Step {step + 1}, objective {record.objective:.9g}, projected gradient {record.measure:.3g}")
        if callback is not None and step % CALLBACK_STEPS == 0:
            known = {"code": coded.W, "dictionary": coded.D, "errors": errors, "current_cost": record.objective}
            callback({"ii": step, **known})
        return False

    return report
