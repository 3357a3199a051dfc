"""The Lasso by least angles: at one alpha, or at the alpha of the best information criterion."""

from typing import Any, ClassVar, Self

import numpy as np

from tenfold.arrays import EPS, Array
from tenfold.data import Rows
from tenfold.estimators.greedy.lars import PATH, Ends, LeastAngles
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    integer,
    nothing,
    random_state,
    real,
)
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
from tenfold.plans.lars import CriterionFit, by_criterion


class LassoLars(Ends):
    """The Lasso by least angles: the whole path down to one alpha.

    Minimises ``(1 / (2 W)) sum_i weight_i (y_i - x_i.w - b)^2 + alpha ||w||_1``, W the number of samples, or the sum of
    their weights. Weights are straight lines between the knots of the path, where a feature joins or leaves; nothing is
    iterated, and there is no tolerance.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 is least squares.
    fit_intercept : bool, default=True
        Whether to fit ``b``; it is never penalised.
    verbose : bool or int, default=False
        Accepted for compatibility.
    precompute : bool, "auto" or array-like of shape (n_features, n_features), default="auto"
        Whether to form the whole Gram matrix, or the Gram matrix itself, of features about their means where an
        intercept is fitted; "auto" forms it where that is cheaper than reading the products of active features.
    max_iter : int, default=500
        Limit of the number of steps; a path that stops above alpha is not certified.
    eps : float, default=np.finfo(float).eps
        A feature whose squared norm orthogonal to the active features is at most this fraction of the whole (and
        never more than 1e-12) is skipped as linearly dependent.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    fit_path : bool, default=True
        Whether to keep the path.
    positive : bool, default=False
        Whether weights must not be negative.
    jitter : float, default=None
        Adds uniform noise up to this to y, so that features do not tie. Ties need none here; with it the certificate is
        about the targets with noise. None for no noise.
    random_state : int, RandomState instance or None, default=None
        Seed of the jitter.

    Attributes
    ----------
    alphas_ : ndarray of shape (n_alphas + 1,) or list of such
        The alphas at the knots of the path, down to `alpha`; the last one without `fit_path`.
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
        Kind gap: no other weights have an objective that is lower by more. Without a penalty, at alpha 0, kind
        residual: the largest cosine between the residual and a feature, 0 at the exact solution.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The Gram matrix from one pass, or products of about 32 features a pass where few of many are asked for or the
    features outnumber the samples; then 2 k p products a step with k active features, and one pass of the judge. Memory
    p x p or k x p. Runs on dense and sparse arrays, files, Dask collections and devices, with sample weights.
    With `positive` scikit-learn's path ends before alpha where no other feature is left to join; ours does not.
    Cookbook, ch. 18; Rosasco, section 11.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import LassoLars
    >>> model = LassoLars(alpha=0.01).fit([[-1, 1], [0, 0], [1, 1]], [-1, 0, -1])
    >>> model.coef_.round(3)
    array([ 0.   , -0.955])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Lasso path by least angle regression (LARS)",
        texts=("B18", "R11.3"),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("gap",),
        judge="greedy.angles",
        outputs="linear_outputs.regression",
        choice="greedy.check_knots",
    )
    _lasso: ClassVar[bool] = True
    _constraints: ClassVar[Constraints] = {
        **PATH,
        "alpha": (real(0),),
        "max_iter": (integer(0),),
        "fit_path": (boolean(),),
        "positive": (boolean(),),
        "jitter": (real(0), nothing()),
        "random_state": (random_state(),),
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        verbose: bool | int = False,
        precompute: Any = "auto",
        max_iter: int = 500,
        eps: float = EPS,
        copy_X: bool = True,
        fit_path: bool = True,
        positive: bool = False,
        jitter: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.max_iter = max_iter
        self.eps = eps
        self.copy_X = copy_X
        self.fit_path = fit_path
        self.positive = positive
        self.jitter = jitter
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, Xy: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit to X (n, p), y (n,) or (n, t), optional products `Xy`, X'y of shape (p,) or (p, t), and `sample_weight`
        (n,).
        """
        check_parameters(self, self._constraints)
        return self._fit(X, y, Xy, sample_weight, float(self.alpha), self.max_iter)


class LassoLarsIC(LeastAngles):
    """The Lasso at the knot of its path with the best information criterion, Akaike's or the Bayesian.

    Minimises ``(1 / (2 W)) sum_i weight_i (y_i - x_i.w - b)^2 + alpha ||w||_1`` with the alpha, among the knots of the
    path, for which ``W log(2 pi s2) + R / s2 + f d`` is smallest: R the sum of squared residuals, s2 the variance of
    the noise, d the number of weights that are not zero, and f = 2 (aic) or log W (bic).

    Parameters
    ----------
    criterion : {"aic", "bic"}, default="aic"
        Akaike's or the Bayesian information criterion: the factor f above.
    fit_intercept : bool, default=True
        Whether to fit ``b``; it is never penalised.
    verbose : bool or int, default=False
        Accepted for compatibility.
    precompute : bool, "auto" or array-like of shape (n_features, n_features), default="auto"
        Whether to form the whole Gram matrix, or the Gram matrix itself, of features about their means where an
        intercept is fitted; "auto" forms it where that is cheaper than reading the products of active features.
    max_iter : int, default=500
        After how many steps to stop.
    eps : float, default=np.finfo(float).eps
        A feature whose squared norm orthogonal to the active features is at most this fraction of the whole (and
        never more than 1e-12) is skipped as linearly dependent.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    positive : bool, default=False
        Whether weights must not be negative.
    noise_variance : float, default=None
        s2; None estimates it from least squares on all features, for which samples must outnumber them.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features at `alpha_`.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    alpha_ : float
        The alpha of the best criterion.
    alphas_ : ndarray of shape (n_alphas + 1,)
        The knots of the path.
    n_iter_ : int
        Steps of the path.
    criterion_ : ndarray of shape (n_alphas + 1,)
        The information criterion at every knot.
    noise_variance_ : float
        The variance of the noise s2, given or estimated.
    certificate_ : Certificate
        Kind gap, at `alpha_`: no other weights have an objective that is lower by more; kind residual at alpha 0.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    The Gram matrix from one pass, or products of about 32 features a pass where few of many are asked for or the
    features outnumber the samples; then 2 k p products a step with k active features, and one pass of the judge. Memory
    p x p or k x p. Runs on dense and sparse arrays, files, Dask collections and devices, with sample weights.
    One more least squares fit if the noise variance is not given. The sums of squares of all knots come from
    the path itself. Weights count as repeated samples, so that their unit matters here.
    Zou, Hastie and Tibshirani (2007).

    Examples
    --------
    >>> from tenfold import LassoLarsIC
    >>> X = [[-2, 2], [-1, 1], [0, 0], [1, 1], [2, 2]]
    >>> model = LassoLarsIC(criterion="bic").fit(X, [-2.2222, -1.1111, 0, -1.1111, -2.2222])
    >>> model.coef_.round(2)
    array([ 0.  , -1.11])
    """

    _registration: ClassVar = Registration(
        method="Lasso by LARS, alpha by AIC or BIC",
        texts=("B18",),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("gap",),
        judge="greedy.angles",
        outputs="linear_outputs.regression",
        choice="criteria.check_criterion",
        board=Entry(
            "lasso-bic",
            "regression",
            {"criterion": "bic"},
            chosen=("alpha_",),
            how="the information criterion BIC along the path",
            fast=False,
            most_columns=2000,
            dense=True,
        ),
    )
    _lasso: ClassVar[bool] = True
    _constraints: ClassVar[Constraints] = {
        **PATH,
        "criterion": (choice("aic", "bic"),),
        "max_iter": (integer(0),),
        "positive": (boolean(),),
        "noise_variance": (real(0), nothing()),
    }

    def __init__(
        self,
        criterion: str = "aic",
        *,
        fit_intercept: bool = True,
        verbose: bool | int = False,
        precompute: Any = "auto",
        max_iter: int = 500,
        eps: float = EPS,
        copy_X: bool = True,
        positive: bool = False,
        noise_variance: float | None = None,
    ) -> None:
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.verbose = verbose
        self.precompute = precompute
        self.max_iter = max_iter
        self.eps = eps
        self.copy_X = copy_X
        self.positive = positive
        self.noise_variance = noise_variance

    @restore_on_error
    def fit(self, X: Any, y: Any = None, copy_X: bool | None = None, *, sample_weight: Any = None) -> Self:
        """Fit to X (n, p), y (n,) and optional `sample_weight` (n,); `copy_X` is accepted for compatibility."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y, multi_output=False)
        rows = as_rows(X, y, validate_weights(sample_weight, X))
        chosen = require_finite(self, X, lambda: self._choose(rows))
        self._remember(chosen, X)
        return self

    def _choose(self, rows: Rows) -> CriterionFit:
        how = self._walk(0.0, self.max_iter)
        variance = None if self.noise_variance is None else float(self.noise_variance)
        gram = self._gram(rows, self.max_iter)
        return by_criterion(
            rows, gram, how, self.fit_intercept, self.criterion == "aic", variance, type(self).__name__, rows.dtype
        )

    def _remember(self, chosen: CriterionFit, X: Array) -> None:
        store(self, chosen.fitted, X, coef_flat=True, intercept_flat=True, intercept=self.fit_intercept)
        warn_unless_certified(self)
        self.alphas_ = convert_like(chosen.alphas, X)
        self.alpha_ = float(chosen.alphas[chosen.best])
        self.n_iter_ = len(chosen.alphas) - 1
        self.criterion_ = np.asarray(chosen.criterion)
        self.noise_variance_ = chosen.variance
