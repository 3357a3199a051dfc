"""The Lasso and the elastic net of several targets that use the same columns."""

from typing import Any, ClassVar

from sklearn.base import MultiOutputMixin, RegressorMixin

from tenfold.arrays import Array
from tenfold.estimators.callbacks import CallbackSupportMixin, with_callbacks
from tenfold.estimators.contract import Claims, all_or_nothing, as_rows, validate, validate_weights
from tenfold.estimators.lasso.cv import PATH, SparseModelCV
from tenfold.estimators.lasso.fitting import SETTINGS, SOLVER, SparseModel, problem_of
from tenfold.estimators.lasso.functions import enet_path, lasso_path
from tenfold.estimators.parameters import Constraints, array_like, check_parameters, real
from tenfold.estimators.predictors import Scored


def matrix_of(y: Array, instead: str) -> Array:
    """Targets (n, t)."""
    if y.ndim == 1:
        raise ValueError(f"For mono-task outputs, use {instead}")
    return y


class MultiTaskElasticNet(Scored, CallbackSupportMixin, MultiOutputMixin, RegressorMixin, SparseModel):
    """The elastic net of several targets: a column is used by all of them or by none.

    Minimises ``(1 / 2W) sum_i s_i |y_i - W x_i - b|^2 + alpha l1_ratio sum_j |W_j| + alpha (1 - l1_ratio) / 2 |W|^2``,
    |W_j| the Euclidean length of the weights of column j for all targets, W the sum of the weights s_i of the rows.

    Parameters
    ----------
    alpha, l1_ratio, fit_intercept, copy_X, max_iter, tol, warm_start, random_state, selection : as in `ElasticNet`.
    solver : {"auto", "cd", "ista", "fista"}, default="auto"
        As in `ElasticNet`; the online split knows no groups.

    Attributes
    ----------
    coef_ : ndarray of shape (n_targets, n_features)
    intercept_ : ndarray of shape (n_targets,)
    sparse_coef_, n_iter_, status_, trace_, method_ : as in `ElasticNet`.
    dual_gap_ : float
        The duality gap of all targets together.
    eps_ : float
        The gap that ends the fit, as a sum over the rows.
    certificate_ : Certificate
        Kind gap: no other weights have an objective that is smaller by more.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Cost as of `ElasticNet`. The fit ends at the gap, most often after a step that is exact among the columns in use, so
    that weights are right to rounding. scikit-learn asks in addition that no weight moves by more than `tol` of the
    largest in a sweep. Where columns nearly depend on each other and exact steps are too dear, weights along which the
    objective is flat can be some per cent from the optimum's at a gap that is small enough, further than there, after
    several times fewer sweeps: ask for a smaller `tol` where they matter.
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

    _report_only: ClassVar[dict[str, str]] = {"eps_": "the gap at which the solver was to stop, times the samples"}
    _claims: ClassVar = Claims(
        "Elastic net of targets that share their columns",
        "fold once, or columns in memory",
        "gap",
        "R11.3",
        "MultiTaskElasticNet",
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

    @all_or_nothing
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "MultiTaskElasticNet":
        """Fit to X (n, p), y (n, t) and optional weights, a number or (n,)."""
        check_parameters(self, self._constraints)
        X, y = validate(self, X, y)
        rows = as_rows(X, matrix_of(y, self._alone), validate_weights(sample_weight, X))
        start = self._start(self.warm_start, rows.targets, X.shape[1])
        fitted = self._minimise(X, y, rows, problem_of(self, joint=True), start=start)
        self._store(fitted, X, flat=False, joint=True)
        self.eps_ = float(fitted.certificate.tol * fitted.certificate.scale * X.shape[0])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


class MultiTaskLasso(MultiTaskElasticNet):
    """The Lasso of several targets: a column is used by all of them or by none.

    Minimises ``(1 / 2W) sum_i s_i |y_i - W x_i - b|^2 + alpha sum_j |W_j|``, |W_j| the Euclidean length of the weights
    of column j for all targets, W the sum of the weights s_i of the rows.

    Parameters
    ----------
    alpha, fit_intercept, copy_X, max_iter, tol, warm_start, random_state, selection : as in `Lasso`.
    solver : {"auto", "cd", "ista", "fista"}, default="auto"

    Attributes
    ----------
    coef_, intercept_, sparse_coef_, dual_gap_, eps_, n_iter_, status_, trace_, method_, certificate_ : as in
        `MultiTaskElasticNet`.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    Cost as of `ElasticNet`. The fit ends at the gap, most often after a step that is exact among the columns in use, so
    that weights are right to rounding. scikit-learn asks in addition that no weight moves by more than `tol` of the
    largest in a sweep. Where columns nearly depend on each other and exact steps are too dear, weights along which the
    objective is flat can be some per cent from the optimum's at a gap that is small enough, further than there, after
    several times fewer sweeps: ask for a smaller `tol` where they matter.
    Obozinski, Taskar and Jordan 2010; Rosasco, section 11.3 for one target.

    Examples
    --------
    >>> from tenfold import MultiTaskLasso
    >>> model = MultiTaskLasso(alpha=0.1, tol=1e-9).fit([[0, 1], [1, 2], [2, 4]], [[0, 0], [1, 1], [2, 3]])
    >>> model.coef_.round(3)
    array([[0.   , 0.608],
           [0.   , 0.946]])
    """

    _claims: ClassVar = Claims(
        "Lasso of targets that share their columns", "fold once, or columns in memory", "gap", "R11.3", "MultiTaskLasso"
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
    """The elastic net of several targets, with alpha and the share of the L1 penalty chosen by cross-validation.

    As `ElasticNetCV`, for the objective of `MultiTaskElasticNet`; errors are means over the targets.

    Parameters
    ----------
    l1_ratio, eps, alphas, fit_intercept, max_iter, tol, cv, copy_X, verbose, n_jobs, random_state, selection : as in
        `ElasticNetCV`.

    Attributes
    ----------
    alpha_, l1_ratio_, alphas_, mse_path_, cv_method_ : as in `ElasticNetCV`.
    coef_, intercept_, sparse_coef_, dual_gap_, n_iter_, status_, trace_, method_, certificate_ : as in
        `MultiTaskElasticNet`.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    One pass over the rows, and memory p x p for each fold.
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

    _claims: ClassVar = Claims(
        "Elastic net of targets that share their columns, alpha and share by k-fold",
        "fold once",
        "gap",
        "R3.3, R11.3",
        "MultiTaskElasticNetCV",
    )
    _constraints: ClassVar[Constraints] = {**PATH, "l1_ratio": (real(0, 1, "both"), array_like())}

    path = staticmethod(enet_path)

    _joint: ClassVar[bool] = True

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

    As `LassoCV`, for the objective of `MultiTaskLasso`; errors are means over the targets.

    Parameters
    ----------
    eps, alphas, fit_intercept, max_iter, tol, copy_X, cv, verbose, n_jobs, random_state, selection : as in `LassoCV`.

    Attributes
    ----------
    alpha_, alphas_, mse_path_, cv_method_ : as in `LassoCV`.
    coef_, intercept_, sparse_coef_, dual_gap_, n_iter_, status_, trace_, method_, certificate_ : as in
        `MultiTaskLasso`.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Notes
    -----
    One pass over the rows, and memory p x p for each fold.
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

    _claims: ClassVar = Claims(
        "Lasso of targets that share their columns, alpha by k-fold",
        "fold once",
        "gap",
        "R3.3, R11.3",
        "MultiTaskLassoCV",
    )
    _constraints: ClassVar[Constraints] = {**PATH}

    path = staticmethod(lasso_path)

    _joint: ClassVar[bool] = True

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
