"""Sparse precisions: the graphical lasso, at one penalty and with the penalty by cross-validation."""

import time
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import get_config
from sklearn.model_selection import check_cv
from sklearn.utils import check_array
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from tenfold.arrays import Array, Floats, Integers, is_sparse, numpy_dtype, wide
from tenfold.data import MemoryRows
from tenfold.estimators.covariance.empirical import STORED, CovarianceModel
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_arguments,
    check_parameters,
    choice,
    integer,
    nothing,
    real,
    splitter,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import anything, floats, number, whole
from tenfold.estimators.tuning import Tuning
from tenfold.estimators.validation import (
    as_rows_without_target,
    check_no_extra_params,
    convert_like,
    require_finite,
    restore_on_error,
    validate_rows,
    validate_weights,
    warn_unless_certified,
)
from tenfold.plans import graphical_lasso as plan
from tenfold.plans.covariance import Scatter
from tenfold.stats.moments import GroupedMoments

EPS = float(np.finfo(np.float64).eps)
SETTINGS: Constraints = {
    "tol": (real(0, closed="right"),),
    "enet_tol": (real(0, closed="right"),),
    "max_iter": (integer(0),),
    "mode": (choice("cd", "lars"),),
    "verbose": (integer(0), boolean()),
    "eps": (real(0, closed="both"),),
    "assume_centered": (boolean(),),
}
GRAPH = {**STORED, "precision_": floats("p p"), "costs_": anything(), "n_iter_": whole(0)}
REPORT_ONLY = {
    "costs_": "the objective and the gap after each sweep, of the solver",
    "n_iter_": "how many sweeps were taken",
}


class SparsePrecision(CovarianceModel):
    """A covariance whose precision is sparse."""

    tol: float
    max_iter: int
    verbose: int
    assume_centered: bool

    def _store(self, scatter: Scatter, alpha: float, X: Array, start: Floats | None = None) -> None:
        begin = time.perf_counter()
        fitted = plan.fit_graph(
            scatter,
            alpha,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            dtype=numpy_dtype(X.dtype),
            start=start,
        )
        self.location_, self.covariance_, self.precision_ = (
            convert_like(part, X) for part in (fitted.location, fitted.covariance, fitted.precision)
        )
        self.costs_, self.n_iter_, self.certificate_ = fitted.trace, fitted.iterations, fitted.certificate
        if self.verbose:
            for k, (cost, gap) in enumerate(fitted.trace):
                print(f"[graphical_lasso] Iteration {k:3d}, cost {cost: 3.2e}, dual gap {gap:.3e}")
            print(f"[graphical_lasso] {time.perf_counter() - begin:.3g} s")
        warn_unless_certified(self)

    def _require_two(self, X: Array) -> None:
        for count, what in zip(X.shape[::-1], ("feature", "sample"), strict=True):
            if count < 2:
                raise ValueError(
                    f"Found array with {count} {what}(s) (shape={tuple(X.shape)}) while a minimum of 2 is required by "
                    f"{type(self).__name__}."
                )


class GraphicalLasso(SparsePrecision):
    """A covariance with a sparse precision: the maximum-likelihood estimate with an L1 penalty.

    ``min -log|P| + trace(S P) + alpha sum_(i != j) |P_ij|`` over positive definite precisions P, with S the empirical
    covariance. ``P_ij = 0`` says that features i and j are independent given the others.

    Parameters
    ----------
    alpha : float, default=0.01
        The penalty, in the units of S.
    mode : {"cd", "lars"}, default="cd"
        Accepted for compatibility: the lasso of each column is solved by a linear system where its signs are known,
        else by coordinate descent.
    covariance : "precomputed", default=None
        If "precomputed", X is the covariance S.
    tol : float, default=1e-4
        The duality gap at which sweeps end. The certificate allows it.
    enet_tol : float, default=1e-4
        Accepted for compatibility: the lasso of each column is solved to a tenth of the gap that is left.
    max_iter : int, default=100
        Most sweeps over all columns.
    verbose : bool, default=False
        Whether objective and duality gap of each sweep are printed.
    eps : float, default=2.220446049250313e-16
        Accepted for compatibility.
    assume_centered : bool, default=False
        Whether samples count as centred: S is taken about zero.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The weighted mean, or zero.
    covariance_ : ndarray of shape (n_features, n_features)
        The inverse of `precision_`.
    precision_ : ndarray of shape (n_features, n_features)
        The precision, exactly symmetric, with exact zeros.
    costs_ : list of (objective, dual_gap) pairs
        The objective and the duality gap after each sweep.
    n_iter_ : int
        How many sweeps were taken, of the connected component that needed most; zero where all features are apart.
    certificate_ : Certificate
        Kind gap: no other precision has a smaller objective by more. The judge makes a dual matrix from the inverse of
        the precision, and proves by a Cholesky factor that it is feasible; `covariance_` must be that inverse. The
        note says where features are constant, and count as of a small variance.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples, or none with ``covariance="precomputed"``; then the connected components of the graph of
    ``|S_ij| > alpha`` are solved apart, each by some sweeps of p lassos (Friedman, Hastie and Tibshirani 2008). Memory
    p x p. Runs on dense and sparse arrays, files, devices and Dask collections, with sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GraphicalLasso
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal(200)
    >>> X = np.column_stack([x, x + rng.standard_normal(200), rng.standard_normal(200)])
    >>> model = GraphicalLasso(alpha=0.2).fit(X)
    >>> (model.precision_ != 0.0).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 1]])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Graphical lasso",
        texts=("R5.4",),
        peer="sklearn.covariance",
        reads=("one pass",),
        certificate=("gap",),
        judge="covariance.graphical_lasso",
        outputs="covariance.distances",
        report_only=REPORT_ONLY,
        stored=GRAPH,
    )
    _constraints: ClassVar[Constraints] = {
        "alpha": (real(0, closed="both"),),
        "covariance": (choice("precomputed"), nothing()),
        **SETTINGS,
    }

    def __init__(
        self,
        alpha: float = 0.01,
        *,
        mode: str = "cd",
        covariance: str | None = None,
        tol: float = 1e-4,
        enet_tol: float = 1e-4,
        max_iter: int = 100,
        verbose: bool = False,
        eps: float = EPS,
        assume_centered: bool = False,
    ) -> None:
        self.alpha = alpha
        self.mode = mode
        self.covariance = covariance
        self.tol = tol
        self.enet_tol = enet_tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.eps = eps
        self.assume_centered = assume_centered

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the precision.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p), table, Dask collection, or array on a device
            The samples; with ``covariance="precomputed"`` their covariance (p, p), an array.
        y : object, default=None
            Not used.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples; integers count as repetitions. None: all ones.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        X = validate_rows(self, X)
        self._require_two(X)
        if self.covariance == "precomputed":
            if sample_weight is not None:
                raise ValueError("A precomputed covariance has no samples, and they no weights.")
            scatter = read_covariance(X)
        else:
            rows = as_rows_without_target(X, validate_weights(sample_weight, X))
            scatter = require_finite(self, X, lambda: plan.fold_centred(rows, bool(self.assume_centered)))
        self._store(scatter, float(self.alpha), X)
        return self


def read_covariance(X: Any) -> Scatter:
    """A given covariance, checked."""
    S = wide(X.toarray() if is_sparse(X) else X)
    if not np.isfinite(S).all():
        check_array(S, input_name="X")
    plan.check_covariance(S)
    return Scatter(np.zeros(len(S)), np.ascontiguousarray(0.5 * (S + S.T)), 1.0)


class GraphicalLassoCV(SparsePrecision):
    """The graphical lasso with the penalty that cross-validation finds likeliest.

    ``min -log|P| + trace(S P) + alpha sum_(i != j) |P_ij|``, where alpha has the largest mean log-likelihood of the
    samples that are left out, about their own mean.

    Parameters
    ----------
    alphas : int or array-like of shape (n_alphas,), default=4
        The penalties that are tried, or how many of each grid.
    n_refinements : int, default=4
        How often the grid is refined about the best penalty; not used with given penalties.
    cv : int, cross-validation generator or iterable, default=None
        The splits; None for five folds.
    tol : float, default=1e-4
        The duality gap at which sweeps end. The certificate allows it.
    enet_tol : float, default=1e-4
        Accepted for compatibility.
    max_iter : int, default=100
        Most sweeps over all columns.
    mode : {"cd", "lars"}, default="cd"
        Accepted for compatibility.
    n_jobs : int, default=None
        Accepted for compatibility: all threads are used.
    verbose : bool, default=False
        Whether objective and duality gap of each sweep of the last fit are printed.
    eps : float, default=2.220446049250313e-16
        Accepted for compatibility.
    assume_centered : bool, default=False
        Whether samples of the last fit count as centred: S is taken about zero.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        The mean, or zero.
    covariance_ : ndarray of shape (n_features, n_features)
        The inverse of `precision_`.
    precision_ : ndarray of shape (n_features, n_features)
        The precision, exactly symmetric, with exact zeros.
    costs_ : list of (objective, dual_gap) pairs
        The objective and the duality gap after each sweep of the last fit.
    alpha_ : float
        The selected penalty.
    alphas_ : ndarray of shape (n_alphas,)
        The penalties that were scored, decreasing.
    cv_results_ : dict of ndarrays
        "alphas", "mean_test_score", "std_test_score" and "split(k)_test_score": the log-likelihoods of the samples that
        are left out, in decreasing order of the penalty. The last is that of no penalty.
    n_iter_ : int
        How many sweeps the last fit took.
    certificate_ : Certificate
        Kind gap: no other precision has a smaller objective at `alpha_` by more.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass gives the moments of all folds, and those of each training set by merging; each path of penalties is
    warm-started. Runs on dense and sparse arrays in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import GraphicalLassoCV
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal(200)
    >>> X = np.column_stack([x, x + rng.standard_normal(200), rng.standard_normal(200)])
    >>> model = GraphicalLassoCV().fit(X)
    >>> len(model.cv_results_["alphas"]), model.certificate_.ok
    (17, True)
    """

    _registration: ClassVar = Registration(
        method="Graphical lasso, penalty by cross-validation",
        texts=("R5.4",),
        peer="sklearn.covariance",
        reads=("in memory",),
        where=("arrays", "sparse"),
        instead="Folds take samples by their numbers: load them into memory.",
        certificate=("gap",),
        judge="covariance.graphical_lasso",
        outputs="covariance.distances",
        choice="covariance.check_selected_alpha",
        report_only={
            **REPORT_ONLY,
            "cv_results_": "the scores of the folds; GraphicalLasso(alpha).fit(X[train]).score(X[test]) gives one anew",
        },
        stored={**GRAPH, "alpha_": number(0.0), "cv_results_": anything()},
        tuning=Tuning(single="GraphicalLasso", selected={"alpha": "alpha_"}, candidates={"alpha": "alphas_"}),
    )
    _constraints: ClassVar[Constraints] = {
        "alphas": (integer(1), array_like()),
        "n_refinements": (integer(1),),
        "cv": (splitter(),),
        "n_jobs": (integer(-(1 << 30)), nothing()),
        **SETTINGS,
    }

    alpha_: float
    cv_results_: dict[str, Floats]

    def __init__(
        self,
        *,
        alphas: Any = 4,
        n_refinements: int = 4,
        cv: Any = None,
        tol: float = 1e-4,
        enet_tol: float = 1e-4,
        max_iter: int = 100,
        mode: str = "cd",
        n_jobs: int | None = None,
        verbose: bool = False,
        eps: float = EPS,
        assume_centered: bool = False,
    ) -> None:
        self.alphas = alphas
        self.n_refinements = n_refinements
        self.cv = cv
        self.tol = tol
        self.enet_tol = enet_tol
        self.max_iter = max_iter
        self.mode = mode
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.eps = eps
        self.assume_centered = assume_centered

    @restore_on_error
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Select the penalty, and fit the precision with it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            The samples.
        y : object, default=None
            Not used, but by splitters that ask for it.
        **params : dict
            Parameters of the splitter, with metadata routing.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        if params and not metadata_routing_enabled():
            check_no_extra_params(self, params)
        X = validate_rows(self, X)
        self._require_two(X)
        split: dict[str, Any] = {}
        if metadata_routing_enabled():
            split = process_routing(self, "fit", **params).splitter.split
        splits = list(check_cv(self.cv, y, classifier=False).split(X, y, **split))
        rows = as_rows_without_target(X, None)
        scatter = require_finite(self, X, lambda: plan.fold_centred(rows, bool(self.assume_centered)))
        folds = plan.split_moments(rows, fold_groups(rows, splits), splits, X)
        search = Search(self, folds, scatter)
        self.alpha_, self.cv_results_ = search.run()
        self._store(scatter, self.alpha_, X)
        return self

    @property
    def alphas_(self) -> Floats:
        """The penalties that were scored, decreasing."""
        if not hasattr(self, "cv_results_"):
            raise AttributeError("alphas_ is known after fit.")
        return self.cv_results_["alphas"][:-1]

    def get_metadata_routing(self) -> MetadataRouter:
        """scikit-learn's router: the splitter's `split` takes parameters of `fit`."""
        return MetadataRouter(owner=self).add(
            splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split")
        )


def metadata_routing_enabled() -> bool:
    """Whether scikit-learn routes metadata."""
    return bool(get_config()["enable_metadata_routing"])


def fold_groups(rows: Any, splits: Sequence[tuple[Integers, Integers]]) -> GroupedMoments | None:
    """The moments of the folds in one pass, where each sample is left out once and trained on otherwise."""
    n = rows.shape[0]
    if len(splits) < 2 or not isinstance(rows, MemoryRows):
        return None
    fold = np.full(n, -1, dtype=np.int32)
    for k, (train, test) in enumerate(splits):
        train, test = np.asarray(train), np.asarray(test)
        numbers = test.dtype.kind in "iu" and train.dtype.kind in "iu"
        if not numbers or len(np.unique(test)) != len(test) or len(np.unique(train)) != n - len(test):
            return None
        if len(train) != n - len(test) or (fold[test] >= 0).any() or np.isin(train, test).any():
            return None
        fold[test] = k
    if (fold < 0).any():
        return None
    grouped = MemoryRows(rows.X, rows.y, rows.weight, fold)
    return grouped.fold(GroupedMoments.lifter(len(splits)))


class Search:
    """The search for the penalty: scikit-learn's grids, each refined about the best so far."""

    def __init__(self, model: GraphicalLassoCV, folds: list[plan.Fold], scatter: Scatter) -> None:
        self.model, self.folds, self.scatter = model, folds, scatter
        self.path: list[tuple[float, list[float]]] = []

    def run(self) -> tuple[float, dict[str, Floats]]:
        """The best penalty, and the scores of all."""
        given = not isinstance(self.model.alphas, (int, np.integer))
        S = self.scatter.covariance
        if given:
            alphas = [float(alpha) for alpha in self.model.alphas]
            if not alphas or not all(0.0 < alpha < np.inf for alpha in alphas):
                raise ValueError(f"alphas must be positive numbers; got {self.model.alphas!r}.")
        else:
            largest = float(np.max(np.abs(S - np.diag(np.diag(S)))))
            largest = largest if largest > 0.0 else max(float(np.mean(np.diag(S))), np.finfo(np.float64).tiny)
            alphas = list(np.logspace(np.log10(1e-2 * largest), np.log10(largest), self.model.alphas)[::-1])
        best = 0
        for _ in range(1 if given else self.model.n_refinements):
            self._score(alphas)
            best, last = self._best()
            if not given:
                alphas = self._refine(best, last)
        scores = [scores for _, scores in self.path] + [[plan.score_unpenalised(fold) for fold in self.folds]]
        table = np.array(scores, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            results = {
                "alphas": np.array([alpha for alpha, _ in self.path] + [0.0]),
                **{f"split{k}_test_score": table[:, k] for k in range(table.shape[1])},
                "mean_test_score": np.mean(table, axis=1),
                "std_test_score": np.std(table, axis=1),
            }
        return float(self.path[best][0]), results

    def _score(self, alphas: Sequence[float]) -> None:
        order = sorted(alphas, reverse=True)
        tol, max_iter = float(self.model.tol), int(self.model.max_iter)
        columns = [plan.score_path(fold, order, tol=tol, max_iter=max_iter) for fold in self.folds]
        self.path += [(alpha, list(scores)) for alpha, scores in zip(order, zip(*columns, strict=True), strict=True)]
        self.path.sort(key=lambda line: line[0], reverse=True)

    def _best(self) -> tuple[int, int]:
        """The line of the best mean score, of equal ones the smallest penalty, and the last line with a finite one."""
        means = [float(np.mean(scores)) for _, scores in self.path]
        best, last, top = 0, 0, -np.inf
        for index, mean in enumerate(means):
            if np.isfinite(mean):
                last = index
            if mean >= top:
                best, top = index, mean
        return best, last

    def _refine(self, best: int, last: int) -> list[float]:
        """The next grid, between the neighbours of the best penalty."""
        alphas = [alpha for alpha, _ in self.path]
        if best == 0:
            high, low = alphas[0], alphas[1] if len(alphas) > 1 else 0.01 * alphas[0]
        elif best == last and best != len(alphas) - 1:
            high, low = alphas[best], alphas[best + 1]
        elif best == len(alphas) - 1:
            high, low = alphas[best], 0.01 * alphas[best]
        else:
            high, low = alphas[best - 1], alphas[best + 1]
        return list(np.logspace(np.log10(high), np.log10(low), self.model.alphas + 2)[1:-1])


def graphical_lasso(
    emp_cov: Any,
    alpha: float,
    *,
    mode: str = "cd",
    tol: float = 1e-4,
    enet_tol: float = 1e-4,
    max_iter: int = 100,
    verbose: bool = False,
    return_costs: bool = False,
    eps: float = EPS,
    return_n_iter: bool = False,
) -> tuple[Any, ...]:
    """The covariance with a sparse precision that is nearest to a given one.

    ``min -log|P| + trace(S P) + alpha sum_(i != j) |P_ij|``.

    Parameters
    ----------
    emp_cov : array-like of shape (n_features, n_features)
        The covariance S.
    alpha : float
        The penalty.
    mode : {"cd", "lars"}, default="cd"
        Accepted for compatibility.
    tol : float, default=1e-4
        The duality gap at which sweeps end.
    enet_tol : float, default=1e-4
        Accepted for compatibility.
    max_iter : int, default=100
        Most sweeps over all columns.
    verbose : bool, default=False
        Whether objective and duality gap of each sweep are printed.
    return_costs : bool, default=False
        Whether objectives and duality gaps are returned, too.
    eps : float, default=2.220446049250313e-16
        Accepted for compatibility.
    return_n_iter : bool, default=False
        Whether the number of sweeps is returned, too.

    Returns
    -------
    covariance : ndarray of shape (n_features, n_features)
        The inverse of the precision.
    precision : ndarray of shape (n_features, n_features)
        The precision.
    costs : list of (objective, dual_gap) pairs
        Only with ``return_costs=True``.
    n_iter : int
        Only with ``return_n_iter=True``.

    Notes
    -----
    Some sweeps of p lassos. To see the certificate, take `GraphicalLasso`.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import graphical_lasso
    >>> covariance, precision = graphical_lasso(np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 1.0]]), 0.2)
    >>> covariance.round(3)
    array([[1. , 0.3, 0. ],
           [0.3, 1. , 0. ],
           [0. , 0. , 1. ]])
    """
    flags: Constraints = {"return_costs": (boolean(),), "return_n_iter": (boolean(),)}
    check_arguments("graphical_lasso", flags, return_costs=return_costs, return_n_iter=return_n_iter)
    model = GraphicalLasso(
        alpha,
        mode=mode,
        covariance="precomputed",
        tol=tol,
        enet_tol=enet_tol,
        max_iter=max_iter,
        verbose=verbose,
        eps=eps,
        assume_centered=True,
    ).fit(check_array(emp_cov))
    more: list[Any] = [model.costs_] if return_costs else []
    more += [model.n_iter_] if return_n_iter else []
    return (model.covariance_, model.precision_, *more)
