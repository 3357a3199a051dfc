"""The Lasso and the elastic net of several targets that use the same columns."""

from typing import Any, ClassVar

from sklearn.base import MultiOutputMixin, RegressorMixin

from tenfold.arrays import Array
from tenfold.estimators.callbacks import CallbackSupportMixin, with_callbacks
from tenfold.estimators.lasso.cv import PATH, PATH_REPORT_ONLY, SparseModelCV
from tenfold.estimators.lasso.functions import enet_path, lasso_path
from tenfold.estimators.lasso.lasso_fit import REPORT_ONLY, SETTINGS, SOLVER, SparseModel, problem_of
from tenfold.estimators.parameters import Constraints, array_like, check_parameters, real
from tenfold.estimators.predictors import ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.tuning import Tuning
from tenfold.estimators.validation import as_rows, restore_on_error, validate, validate_weights


def matrix_of(y: Array, instead: str) -> Array:
    """Targets (n, t)."""
    if y.ndim == 1:
        raise ValueError(f"For mono-task outputs, use {instead}")
    return y


STEPS_REPORT_ONLY = {"eps_": "the gap at which the solver was to stop, times the samples"}


class MultiTaskElasticNet(ScoreMixin, CallbackSupportMixin, MultiOutputMixin, RegressorMixin, SparseModel):
    """The elastic net of several targets: a feature is used by all of them or by none.

    Minimises ``(1 / 2S) sum_i s_i |y_i - W x_i - b|^2 + alpha l1_ratio sum_j |W_j| + alpha (1 - l1_ratio) / 2 |W|^2``,
    |W_j| the Euclidean length of the weights of feature j for all targets, S the sum of the weights s_i of the samples;
    ``b`` is not penalised.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    l1_ratio : float, default=0.5
        Fraction of the L1 penalty of the lengths: 1 is the multi-task Lasso, 0 is ridge regression.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    max_iter : int, default=1000
        Most sweeps over the features; a sweep over a few of them counts for as much as these are of all.
    tol : float, default=1e-4
        The fit ends when the duality gap is at most `tol` times the mean square of the centred targets.
    warm_start : bool, default=False
        Whether to start from the previous `coef_`; where their gap is small enough, no sweep is taken.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the features where ``selection="random"``.
    selection : {"cyclic", "random"}, default="cyclic"
        Whether coordinate descent takes the features in cyclic or in random order.
    solver : {"auto", "cd", "ista", "fista"}, default="auto"
        "cd", for which "auto" stands, is block coordinate descent. The others read the data once a step, wherever they
        are: proximal gradient descent, and the same with momentum.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Weights of the features, for each target; those of a feature are zero for all targets or for none.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts; 0.0 with ``fit_intercept=False``.
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
        `coef_` as a sparse matrix in CSR format.
    n_iter_ : int
        Sweeps taken.
    status_ : str
        How the fit ended: "converged", "iteration limit", "interrupted", "stopped by a callback" or "stalled".
    trace_ : tuple of Record
        Objective, measure and seconds of some steps.
    method_ : str
        "gram" for coordinate descent on the Gram matrix, "columns" for working sets of features; or the solver that
        was named; without an L1 penalty the method of ridge regression.
    dual_gap_ : float
        The duality gap of all targets together, computed by the judge at the weights as stored.
    eps_ : float
        The gap that ends the fit, as a sum over the samples.
    certificate_ : Certificate
        Kind gap: no other weights have an objective that is smaller by more.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data and memory p x p where there are few features or the data are in files, on a cluster or on a
    device; else some passes, and memory for the features that are used. Runs on dense and sparse arrays, files, devices
    and Dask collections, with sample weights.
    The fit ends at the gap, most often after a step that is exact among the features in use, so that weights are right
    to rounding. scikit-learn asks in addition that no weight moves by more than `tol` of the largest in a sweep. Where
    features nearly depend on each other and exact steps are too dear, weights along which the objective is flat can be
    some per cent from the optimum's at a gap that is small enough, further than there, after several times fewer
    sweeps: ask for a smaller `tol` where they matter.
    Obozinski, Taskar and Jordan 2010; Rosasco, section 11.3 for one target.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultiTaskElasticNet
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 5)
    >>> Y = X[:, :2] @ rng.randn(2, 3) + 0.1 * rng.randn(100, 3)
    >>> model = MultiTaskElasticNet(alpha=0.1, l1_ratio=0.9).fit(X, Y)
    >>> (model.coef_ != 0).astype(int)
    array([[1, 1, 0, 0, 0],
           [1, 1, 0, 0, 0],
           [1, 1, 0, 0, 0]])
    """

    _registration: ClassVar = Registration(
        method="Multi-task elastic net",
        texts=("R11.3",),
        peer="sklearn.linear_model",
        reads=("one pass", "in memory"),
        certificate=("gap",),
        judge="lasso.multi_task",
        outputs="linear_outputs.regression",
        report_only={**REPORT_ONLY, **STEPS_REPORT_ONLY},
    )
    _constraints: ClassVar[Constraints] = {**SETTINGS, **SOLVER, "l1_ratio": (real(0, 1, "both"),)}
    _alone: ClassVar[str] = "ElasticNet"

    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.solver = solver

    @restore_on_error
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MultiTaskElasticNet":
        """Fit to X (n, p), y (n, t) and optional `sample_weight`, a number or (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        rows = as_rows(X, matrix_of(y, self._alone), validate_weights(sample_weight, X))
        start = self._start(self.warm_start, rows.targets, X.shape[1])
        fitted = self._minimise(X, y, rows, problem_of(self, multi_task=True), start=start)
        self._store(fitted, X, flat=False, multi_task=True)
        self.eps_ = float(fitted.certificate.tol * fitted.certificate.scale * X.shape[0])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


class MultiTaskLasso(MultiTaskElasticNet):
    """The Lasso of several targets: a feature is used by all of them or by none.

    Minimises ``(1 / 2S) sum_i s_i |y_i - W x_i - b|^2 + alpha sum_j |W_j|``, |W_j| the Euclidean length of the weights
    of feature j for all targets, S the sum of the weights s_i of the samples; ``b`` is not penalised.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; from some value on all weights are zero.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    max_iter : int, default=1000
        Most sweeps over the features; a sweep over a few of them counts for as much as these are of all.
    tol : float, default=1e-4
        The fit ends when the duality gap is at most `tol` times the mean square of the centred targets.
    warm_start : bool, default=False
        Whether to start from the previous `coef_`; where their gap is small enough, no sweep is taken.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the features where ``selection="random"``.
    selection : {"cyclic", "random"}, default="cyclic"
        Whether coordinate descent takes the features in cyclic or in random order.
    solver : {"auto", "cd", "ista", "fista"}, default="auto"
        "cd", for which "auto" stands, is block coordinate descent. The others read the data once a step, wherever they
        are: proximal gradient descent, and the same with momentum.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
        Weights of the features, for each target; those of a feature are zero for all targets or for none.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts; 0.0 with ``fit_intercept=False``.
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
        `coef_` as a sparse matrix in CSR format.
    dual_gap_ : float
        The duality gap of all targets together, computed by the judge at the weights as stored.
    eps_ : float
        The gap that ends the fit, as a sum over the samples.
    n_iter_ : int
        Sweeps taken.
    status_ : str
        How the fit ended: "converged", "iteration limit", "interrupted", "stopped by a callback" or "stalled".
    trace_ : tuple of Record
        Objective, measure and seconds of some steps.
    method_ : str
        "gram" for coordinate descent on the Gram matrix, "columns" for working sets of features; or the solver that
        was named; without an L1 penalty the method of ridge regression.
    certificate_ : Certificate
        Kind gap: no other weights have an objective that is smaller by more.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data and memory p x p where there are few features or the data are in files, on a cluster or on a
    device; else some passes, and memory for the features that are used. Runs on dense and sparse arrays, files, devices
    and Dask collections, with sample weights.
    The fit ends at the gap, most often after a step that is exact among the features in use, so that weights are right
    to rounding. scikit-learn asks in addition that no weight moves by more than `tol` of the largest in a sweep. Where
    features nearly depend on each other and exact steps are too dear, weights along which the objective is flat can be
    some per cent from the optimum's at a gap that is small enough, further than there, after several times fewer
    sweeps: ask for a smaller `tol` where they matter.
    Obozinski, Taskar and Jordan 2010; Rosasco, section 11.3 for one target.

    Examples
    --------
    >>> from tenfold import MultiTaskLasso
    >>> model = MultiTaskLasso(alpha=0.1, tol=1e-9).fit([[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]])
    >>> model.coef_.round(3)
    array([[0.   , 0.608],
           [0.   , 0.946]])
    """

    _registration: ClassVar = Registration(
        method="Multi-task Lasso",
        texts=("R11.3",),
        peer="sklearn.linear_model",
        reads=("one pass", "in memory"),
        certificate=("gap",),
        judge="lasso.multi_task",
        outputs="linear_outputs.regression",
        report_only={**REPORT_ONLY, **STEPS_REPORT_ONLY},
    )
    _constraints: ClassVar[Constraints] = {**SETTINGS, **SOLVER}
    _alone: ClassVar[str] = "Lasso"

    l1_ratio = 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: str = "auto",
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.selection = selection
        self.solver = solver


class MultiTaskElasticNetCV(MultiOutputMixin, SparseModelCV):
    """The elastic net of several targets, with alpha and the fraction of the L1 penalty chosen by cross-validation.

    Minimises ``(1 / 2S) sum_i s_i |y_i - W x_i - b|^2 + alpha l1_ratio sum_j |W_j| + alpha (1 - l1_ratio) / 2 |W|^2``,
    |W_j| the Euclidean length of the weights of feature j for all targets, S the sum of the weights s_i of the samples,
    with the alpha and the value in `l1_ratio` of the smallest mean squared error over folds and targets. The second
    moments of all folds come from one pass over the data; every path is solved on those of the other folds, merged.

    Parameters
    ----------
    l1_ratio : float or array-like of shape (n_l1_ratio,), default=0.5
        Fractions of the L1 penalty to choose from; every fraction has a grid of alphas of its own.
    eps : float, default=1e-3
        The smallest alpha of the grid over its largest.
    alphas : int or array-like of shape (n_alphas,), default=100
        How many alphas, from the smallest at which all weights are zero; or which.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    max_iter : int, default=1000
        Most sweeps over the features in one fit; a sweep over a few of them counts for as much as these are of all.
    tol : float, default=1e-4
        A fit stops when the duality gap is at most `tol` times the mean square of the centred targets.
    cv : int, cross-validation generator or an iterable, default=None
        Number of folds, a splitter, or pairs of training and test indices; None is five folds.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    verbose : bool or int, default=0
        Accepted for compatibility: use scikit-learn's callbacks.
    n_jobs : int, default=None
        Accepted for compatibility: folds are solved on the threads that there are.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the features where ``selection="random"``.
    selection : {"cyclic", "random"}, default="cyclic"
        Whether coordinate descent takes the features in cyclic or in random order.

    Attributes
    ----------
    alpha_ : float
        The alpha with the smallest mean squared error.
    l1_ratio_ : float
        The fraction of the L1 penalty with the smallest mean squared error.
    alphas_ : ndarray of shape (n_alphas,) or (n_l1_ratio, n_alphas)
        The alphas tried, in decreasing order; every fraction has a grid of its own.
    mse_path_ : ndarray of shape (n_alphas, n_folds) or (n_l1_ratio, n_alphas, n_folds)
        Mean squared error of each candidate on the test samples of each fold.
    coef_ : ndarray of shape (n_targets, n_features)
        Weights of the features, for each target; those of a feature are zero for all targets or for none.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts; 0.0 with ``fit_intercept=False``.
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
        `coef_` as a sparse matrix in CSR format.
    dual_gap_ : float
        The duality gap of all targets together, computed by the judge at the weights as stored.
    n_iter_ : int
        Sweeps taken.
    status_ : str
        How the fit ended: "converged", "iteration limit", "interrupted", "stopped by a callback" or "stalled".
    trace_ : tuple of Record
        Objective, measure and seconds of some steps.
    method_ : str
        "gram" for coordinate descent on the Gram matrix, "columns" for working sets of features; or the solver that
        was named; without an L1 penalty the method of ridge regression.
    cv_method_ : str
        How the training sets were read.
    certificate_ : Certificate
        Kind gap, of the fit with the chosen penalty to all samples: no other weights have an objective that is smaller
        by more. The choice is the best of the stored errors; these are not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data, and memory p x p for each fold; with more features than samples, passes over the training
    samples of each split. Runs on dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Rosasco, sections 3.3 and 11.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultiTaskElasticNetCV
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 5)
    >>> Y = X[:, :2] @ rng.randn(2, 3) + 0.1 * rng.randn(100, 3)
    >>> MultiTaskElasticNetCV(l1_ratio=[0.5, 1.0], cv=3).fit(X, Y).mse_path_.shape
    (2, 100, 3)
    """

    _registration: ClassVar = Registration(
        method="Multi-task elastic net, alpha and l1_ratio by k-fold cross-validation",
        texts=("R3.3", "R11.3"),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("gap",),
        judge="lasso.multi_task",
        outputs="linear_outputs.regression",
        choice="lasso.check_choice",
        report_only={**REPORT_ONLY, **PATH_REPORT_ONLY},
        tuning=Tuning(
            single="MultiTaskElasticNet",
            selected={"alpha": "alpha_", "l1_ratio": "l1_ratio_"},
            candidates={"alpha": "alphas_", "l1_ratio": "l1_ratio"},
        ),
    )
    _constraints: ClassVar[Constraints] = {**PATH, "l1_ratio": (real(0, 1, "both"), array_like())}

    path = staticmethod(enet_path)

    _multi_task: ClassVar[bool] = True

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection

    def _targets(self, y: Array) -> Array:
        return matrix_of(y, "ElasticNetCV")


class MultiTaskLassoCV(MultiOutputMixin, SparseModelCV):
    """The Lasso of several targets, with alpha chosen by cross-validation.

    Minimises ``(1 / 2S) sum_i s_i |y_i - W x_i - b|^2 + alpha sum_j |W_j|``, |W_j| the Euclidean length of the weights
    of feature j for all targets, S the sum of the weights s_i of the samples, with the alpha of the smallest mean
    squared error over folds and targets. The second moments of all folds come from one pass over the data; every path
    is solved on those of the other folds, merged.

    Parameters
    ----------
    eps : float, default=1e-3
        The smallest alpha of the grid over its largest.
    alphas : int or array-like of shape (n_alphas,), default=100
        How many alphas, from the smallest at which all weights are zero; or which.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    max_iter : int, default=1000
        Most sweeps over the features in one fit; a sweep over a few of them counts for as much as these are of all.
    tol : float, default=1e-4
        A fit stops when the duality gap is at most `tol` times the mean square of the centred targets.
    copy_X : bool, default=True
        Accepted for compatibility: X is never changed.
    cv : int, cross-validation generator or an iterable, default=None
        Number of folds, a splitter, or pairs of training and test indices; None is five folds.
    verbose : bool or int, default=False
        Accepted for compatibility: use scikit-learn's callbacks.
    n_jobs : int, default=None
        Accepted for compatibility: folds are solved on the threads that there are.
    random_state : int, RandomState instance or None, default=None
        Seed of the order of the features where ``selection="random"``.
    selection : {"cyclic", "random"}, default="cyclic"
        Whether coordinate descent takes the features in cyclic or in random order.

    Attributes
    ----------
    alpha_ : float
        The alpha with the smallest mean squared error.
    alphas_ : ndarray of shape (n_alphas,)
        The alphas tried, in decreasing order.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error of each alpha on the test samples of each fold.
    coef_ : ndarray of shape (n_targets, n_features)
        Weights of the features, for each target; those of a feature are zero for all targets or for none.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts; 0.0 with ``fit_intercept=False``.
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
        `coef_` as a sparse matrix in CSR format.
    dual_gap_ : float
        The duality gap of all targets together, computed by the judge at the weights as stored.
    n_iter_ : int
        Sweeps taken.
    status_ : str
        How the fit ended: "converged", "iteration limit", "interrupted", "stopped by a callback" or "stalled".
    trace_ : tuple of Record
        Objective, measure and seconds of some steps.
    method_ : str
        "gram" for coordinate descent on the Gram matrix, "columns" for working sets of features; or the solver that
        was named; without an L1 penalty the method of ridge regression.
    cv_method_ : str
        How the training sets were read.
    certificate_ : Certificate
        Kind gap, of the fit with the chosen penalty to all samples: no other weights have an objective that is smaller
        by more. The choice is the best of the stored errors; these are not certified.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the data, and memory p x p for each fold; with more features than samples, passes over the training
    samples of each split. Runs on dense and sparse arrays, files, devices and Dask collections, with sample weights.
    Rosasco, sections 3.3 and 11.3.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MultiTaskLassoCV
    >>> rng = np.random.RandomState(0)
    >>> X = rng.randn(100, 5)
    >>> Y = X[:, :2] @ rng.randn(2, 3) + 0.1 * rng.randn(100, 3)
    >>> MultiTaskLassoCV(cv=3).fit(X, Y).certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Multi-task Lasso, alpha by k-fold cross-validation",
        texts=("R3.3", "R11.3"),
        peer="sklearn.linear_model",
        reads=("one pass",),
        certificate=("gap",),
        judge="lasso.multi_task",
        outputs="linear_outputs.regression",
        choice="lasso.check_choice",
        report_only={**REPORT_ONLY, **PATH_REPORT_ONLY},
        tuning=Tuning(single="MultiTaskLasso", selected={"alpha": "alpha_"}, candidates={"alpha": "alphas_"}),
    )
    _constraints: ClassVar[Constraints] = {**PATH}

    path = staticmethod(lasso_path)

    _multi_task: ClassVar[bool] = True

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.selection = selection

    def _targets(self, y: Array) -> Array:
        return matrix_of(y, "LassoCV")
