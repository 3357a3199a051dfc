"""Least angle regression."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array, check_random_state

from tenfold.arrays import EPS, Array, is_array_api, is_dask, like
from tenfold.data import Rows
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    random_state,
    real,
)
from tenfold.estimators.predictors import LinearPredictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.validation import (
    as_rows,
    convert_like,
    require_finite,
    restore_on_error,
    store,
    validate,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans.lars import LarsFit, Walk, fit, products, with_products
from tenfold.stats.gram import Gram

# of parameters that all classes of least angles share
PATH: Constraints = {
    "fit_intercept": (boolean(),),
    "verbose": (integer(0), boolean()),
    "precompute": (boolean(), choice("auto"), instance(np.ndarray), nothing()),
    "eps": (real(0),),
    "copy_X": (boolean(),),
}


class LeastAngles(ScoreMixin, RegressorMixin, LinearPredictor, BaseEstimator):
    """Base of the classes of least angle regression: a path, and the model at its end."""

    _lasso: ClassVar[bool] = False

    fit_intercept: bool
    precompute: Any
    eps: float

    def _walk(self, alpha: float, steps: int) -> Walk:
        return Walk(self._lasso, bool(getattr(self, "positive", False)), alpha, int(steps), float(self.eps))

    def _gram(self, rows: Rows, steps: int, Xy: Any = None) -> Gram:
        """The products that were given, the whole Gram matrix, or those that the path needs."""
        given = self.precompute
        whole = bool(given) if isinstance(given, (bool, np.bool_)) and given else None
        gram = products(rows, self.fit_intercept, steps, whole)
        if Xy is not None:
            Xy = check_array(Xy, ensure_2d=False, dtype=np.float64, input_name="Xy")
            Xy = Xy[:, None] if Xy.ndim == 1 else Xy
            if Xy.shape != (rows.shape[1], rows.targets):
                raise ValueError(
                    f"Xy are the products of {rows.shape[1]} columns with {rows.targets} target(s), not {Xy.shape}."
                )
        if isinstance(given, np.ndarray):
            given = check_array(given, dtype=np.float64, input_name="precompute")
            if given.shape != (rows.shape[1],) * 2:
                raise ValueError(
                    f"precompute is the Gram matrix of the columns, of shape {(rows.shape[1],) * 2}; got {given.shape}."
                )
            return with_products(gram, given, Xy)
        return gram if Xy is None else with_products(gram, None, Xy)

    def _keep(self, path_fit: LarsFit, X: Array, *, flat: bool, path: bool) -> None:
        """Store the end of the path, and the path."""
        one = len(path_fit.knots) == 1
        store(self, path_fit.fitted, X, coef_flat=one, intercept_flat=flat, intercept=self.fit_intercept)
        for name in ("active_", "coef_path_"):
            self.__dict__.pop(name, None)
        steps: Any = [len(knots.sizes) - 1 for knots in path_fit.knots]
        alphas: Any = [convert_like(values if path else values[-1:], X) for values in path_fit.alphas]
        self.alphas_ = alphas[0] if one else alphas
        self.n_iter_ = steps[0] if one else steps
        if path:
            active: Any = [knots.active.tolist() for knots in path_fit.knots]
            # the end of the path is the model, with the corrections of the judge
            ends = path_fit.fitted.params.coef[:, None]
            paths = [np.concatenate([knots.weights[:-1], end]) for knots, end in zip(path_fit.knots, ends, strict=True)]
            coef: Any = [convert_like(np.ascontiguousarray(weights.T), X) for weights in paths]
            self.active_ = active[0] if one else active
            self.coef_path_ = coef[0] if one else coef

    def predict(self, X: Any) -> Array:
        """``X w + b``."""
        return self._predict_raw(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Ends(MultiOutputMixin, LeastAngles):
    """Classes whose path ends at a given place."""

    fit_path: bool
    jitter: float | None
    random_state: Any

    def _fit(self, X: Any, y: Any, Xy: Any, sample_weight: Any, alpha: float, steps: int) -> Self:
        X, y = validate(self, X, y)
        weight = validate_weights(sample_weight, X)
        if self.jitter is not None:
            y = _add_jitter(y, float(self.jitter), check_random_state(self.random_state))
        rows = as_rows(X, y, weight)
        path_fit = require_finite(
            self,
            X,
            lambda: fit(
                rows, self._gram(rows, steps, Xy), self._walk(alpha, steps), self.fit_intercept, dtype=rows.dtype
            ),
        )
        self._keep(path_fit, X, flat=y.ndim == 1, path=self.fit_path)
        warn_unless_certified(self)
        return self


def _add_jitter(y: Array, most: float, random: Any) -> Array:
    """Targets with a little noise, so that no two features tie."""
    noise = random.uniform(high=most, size=y.shape[0])
    noise = noise if y.ndim == 1 else noise[:, None]
    return y + (like(noise, y) if is_array_api(y) and not is_dask(y) else noise)


class Lars(Ends):
    """Least angle regression.

    Starting from zero weights, the feature with the largest ``|x_j.r|`` gets a weight until another feature's product
    with the residual r is as large; then both enter together, so that these products stay equal, until a third joins,
    and so forth. A forward selection of small steps, which ends at least squares.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to fit ``b``.
    verbose : bool or int, default=False
        Accepted for compatibility.
    precompute : bool, "auto" or array-like, default="auto"
        Whether to form the whole Gram matrix, or the Gram matrix itself, of features about their means where an
        intercept is fitted; "auto" forms it where that is cheaper than reading the products of active features.
    n_nonzero_coefs : int, default=500
        After how many steps to stop.
    eps : float, default=np.finfo(float).eps
        A feature whose squared norm orthogonal to the active features is at most this fraction of the whole (and
        never more than 1e-12) is skipped as linearly dependent.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    fit_path : bool, default=True
        Whether to keep the path.
    jitter : float, default=None
        Adds uniform noise up to this to y, so that features do not tie. Ties need none here; with it the certificate is
        about the targets with noise.
    random_state : int, RandomState instance or None, default=None
        For the jitter.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_alphas + 1,) or list of such
        The largest ``|x_j.r|`` over the weight of the samples, at every knot of the path; at its end without
        `fit_path`.
    active_ : list of int or list of such
        Active features at the end of the path; only with ``fit_path=True``.
    coef_path_ : ndarray of shape (n_features, n_alphas + 1) or list of such
        Weights at every knot of the path; only with ``fit_path=True``.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features, for each target; zero for those that were not selected.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : int or list of int
        Steps of the path.
    certificate_ : Certificate
        Kind residual: by how much, as a cosine, products of the residual with active features differ from
        ``alphas_[-1]``, or those with others exceed it.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The Gram matrix from one pass, or products of about 32 features a pass where few of many features are requested or
    these outnumber the samples; then 2 k p products a step with k active features, and one pass of the judge. Runs on
    dense and sparse arrays, files, Dask collections and devices.

    Where a weight passes through zero, scikit-learn turns the sign of its feature, so that its path no longer has equal
    angles from there on; ours has (Efron, Hastie, Johnstone and Tibshirani 2004). Columns that depend on active ones
    wait without a warning: nothing is lost by it. Cookbook, ch. 18.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import Lars
    >>> model = Lars(n_nonzero_coefs=1).fit([[-1, 1], [0, 0], [1, 1]], [-1.1111, 0, -1.1111])
    >>> model.coef_.round(2)
    array([ 0.  , -1.11])
    """

    _registration: ClassVar = Registration(
        method="Least angle regression",
        texts=("B18",),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("residual",),
        judge="greedy.angles",
        outputs="linear_outputs.regression",
        choice="greedy.check_knots",
    )
    _constraints: ClassVar[Constraints] = {
        **PATH,
        "n_nonzero_coefs": (integer(1),),
        "fit_path": (boolean(),),
        "jitter": (real(0), nothing()),
        "random_state": (random_state(),),
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        verbose: bool | int = False,
        precompute: Any = "auto",
        n_nonzero_coefs: int = 500,
        eps: float = EPS,
        copy_X: bool = True,
        fit_path: bool = True,
        jitter: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.n_nonzero_coefs = n_nonzero_coefs
        self.eps = eps
        self.copy_X = copy_X
        self.fit_path = fit_path
        self.jitter = jitter
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, Xy: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit to X (n, p), y (n,) or (n, t), optional products `Xy`, X'y of shape (p,) or (p, t), and `sample_weight`
        (n,).
        """
        check_parameters(self, self._constraints)
        return self._fit(X, y, Xy, sample_weight, 0.0, self.n_nonzero_coefs)
