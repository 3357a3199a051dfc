"""Poisson, Gamma and Tweedie regression: generalised linear models with the deviance of a family of distributions."""

from typing import ClassVar

import numpy as np

from tenfold.estimators.glm.deviance import CONSTRAINTS, REPORT_ONLY, DevianceRegressor
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, choice, real
from tenfold.estimators.registration import Registration
from tenfold.losses.deviances import Gamma, Poisson, deviance
from tenfold.losses.loss import Loss


class PoissonRegressor(DevianceRegressor):
    """Poisson regression: counts of mean ``mu_i = exp(x_i.w + b)``, with an L2 penalty.

    Minimises ``1/sum_i s_i sum_i s_i (mu_i - y_i log mu_i + y_i log y_i - y_i) + alpha/2 ||w||^2``, half of the mean
    deviance with weights s_i, and never penalises the intercept.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the L2 penalty; 0 for none.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        scikit-learn's names are accepted; the same optimum is reached and certified. "newton-cholesky" stands for
        Newton's method on all samples, "lbfgs" for the method that suits the shape of the data: Newton's method for
        few samples, L-BFGS preconditioned by the inverse Hessian of a subsample for many. With more than 1024
        features L-BFGS with a diagonal preconditioner, whatever the name.
    max_iter : int, default=100
        Most steps.
    tol : float, default=1e-4
        The fit ends when no entry of the gradient of the objective exceeds `tol` and the certificate is ok: the second
        is mostly the stronger.
    warm_start : bool, default=False
        Whether to start from the previous `coef_` and `intercept_`.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : int
        Iterations on all samples.
    certificate_ : Certificate
        Kind gap: no other weights have an objective that is smaller by more.
    inference_ : LikelihoodInference
        Without a penalty, standard errors, p values, confidence intervals, deviance and log-likelihood; refused with
        the reason where they do not exist. `summary` prints them, `tenfold.infer` has robust ones.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted",
        "stalled" (rounding) or "no maximum".
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples per step and one to judge; memory p x p up to 1024 features, vectors beyond. Runs on
    dense and sparse arrays, files, Dask collections and devices. `fit`, `predict` and `score` take an `offset` (n,),
    the known part of the raw prediction: `set_fit_request(offset=True)` routes it.
    Seeger, section 8.1.2; McCullagh and Nelder, *Generalized Linear Models* (1989).

    Examples
    --------
    >>> from tenfold import PoissonRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> model = PoissonRegressor().fit(X, [12, 17, 22, 21])
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.121, 0.158]), 2.089)
    >>> model.predict([[1, 1], [3, 4]]).round(2)
    array([10.68, 21.88])
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Poisson regression",
        texts=("S8.1.2",),
        peer="sklearn.linear_model",
        reads=("a pass a step",),
        certificate=("gap",),
        judge="glm.unit_deviance",
        outputs="glm.mean",
        offset=True,
        report_only=REPORT_ONLY,
        board=Entry(
            "poisson",
            "regression",
            {"max_iter": 300},
            {"alpha": (1e-4, 1e-2, 1.0)},
            target="counts",
        ),
    )

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
        time_limit: float | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.time_limit = time_limit

    def _loss(self) -> Loss:
        return Poisson()

    def _family(self) -> str:
        return "HalfPoissonLoss"

    def _lowest(self) -> tuple[float, bool]:
        return 0.0, True


class GammaRegressor(DevianceRegressor):
    """Gamma regression: positive targets of mean ``mu_i = exp(x_i.w + b)``, with an L2 penalty.

    Minimises ``1/sum_i s_i sum_i s_i (log(mu_i / y_i) + y_i / mu_i - 1) + alpha/2 ||w||^2``, half of the mean deviance
    with weights s_i, and never penalises the intercept.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the L2 penalty; 0 for none.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        scikit-learn's names are accepted; the same optimum is reached and certified. "newton-cholesky" stands for
        Newton's method on all samples, "lbfgs" for the method that suits the shape of the data: Newton's method for
        few samples, L-BFGS preconditioned by the inverse Hessian of a subsample for many. With more than 1024
        features L-BFGS with a diagonal preconditioner, whatever the name.
    max_iter : int, default=100
        Most steps.
    tol : float, default=1e-4
        The fit ends when no entry of the gradient of the objective exceeds `tol` and the certificate is ok: the second
        is mostly the stronger.
    warm_start : bool, default=False
        Whether to start from the previous `coef_` and `intercept_`.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : int
        Iterations on all samples.
    certificate_ : Certificate
        Kind gap: no other weights have an objective that is smaller by more.
    inference_ : LikelihoodInference
        Without a penalty, standard errors, p values, confidence intervals, deviance and log-likelihood; refused with
        the reason where they do not exist. `summary` prints them, `tenfold.infer` has robust ones.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted",
        "stalled" (rounding) or "no maximum".
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples per step and one to judge; memory p x p up to 1024 features, vectors beyond. Runs on
    dense and sparse arrays, files, Dask collections and devices. `fit`, `predict` and `score` take an `offset` (n,),
    the known part of the raw prediction: `set_fit_request(offset=True)` routes it.
    Seeger, section 8.1.2; McCullagh and Nelder, *Generalized Linear Models* (1989).

    Examples
    --------
    >>> from tenfold import GammaRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> model = GammaRegressor().fit(X, [19, 26, 33, 30])
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.073, 0.067]), 2.897)
    >>> round(model.score(X, [19, 26, 33, 30]), 3)
    0.773
    """

    _registration: ClassVar = Registration(
        method="Gamma regression",
        texts=("S8.1.2",),
        peer="sklearn.linear_model",
        reads=("a pass a step",),
        certificate=("gap",),
        judge="glm.unit_deviance",
        outputs="glm.mean",
        offset=True,
        report_only=REPORT_ONLY,
        board=Entry(
            "gamma",
            "regression",
            {"max_iter": 300},
            {"alpha": (1e-4, 1e-2, 1.0)},
            fast=False,
            target="positive",
        ),
    )

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
        time_limit: float | None = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.time_limit = time_limit

    def _loss(self) -> Loss:
        return Gamma()

    def _family(self) -> str:
        return "HalfGammaLoss"

    def _lowest(self) -> tuple[float, bool]:
        return 0.0, False


class TweedieRegressor(DevianceRegressor):
    """Regression by the deviance of Tweedie's family: variance proportional to the mean to a power, L2 penalty.

    Minimises ``1/(2 sum_i s_i) sum_i s_i d(y_i, mu_i) + alpha/2 ||w||^2``, mu_i = x_i.w + b or its exponential, d the
    deviance of the `power` p: ``d(y, mu)/2 = max(y, 0)^(2-p)/((1-p)(2-p)) - y mu^(1-p)/(1-p) + mu^(2-p)/(2-p)``.

    Parameters
    ----------
    power : float, default=0
        0 is least squares, 1 Poisson, between 1 and 2 a compound of Poisson and Gamma, 2 Gamma, 3 inverse Gaussian.
    alpha : float, default=1.0
        Strength of the L2 penalty; 0 for none.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    link : {"auto", "identity", "log"}, default="auto"
        The link between the raw prediction and the mean; "auto" is the identity up to power 0 and the logarithm above.
    solver : {"lbfgs", "newton-cholesky"}, default="lbfgs"
        scikit-learn's names are accepted; the same optimum is reached and certified. "newton-cholesky" stands for
        Newton's method on all samples, "lbfgs" for the method that suits the shape of the data: Newton's method for
        few samples, L-BFGS preconditioned by the inverse Hessian of a subsample for many. With more than 1024
        features L-BFGS with a diagonal preconditioner, whatever the name.
    max_iter : int, default=100
        Most steps.
    tol : float, default=1e-4
        The fit ends when no entry of the gradient of the objective exceeds `tol` and the certificate is ok: the second
        is mostly the stronger.
    warm_start : bool, default=False
        Whether to start from the previous `coef_` and `intercept_`.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    time_limit : float, default=None
        Seconds after which no further step is begun; the model holds the last one, and its certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Intercept ``b``; 0.0 with ``fit_intercept=False``.
    n_iter_ : int
        Iterations on all samples.
    certificate_ : Certificate
        Kind gap for least squares and for powers from 1 to 2 with the logarithm as link. Other deviances are not
        convex: kind stationarity, the gradient vanishes; Fisher's curvature has led there from the best constant.
    inference_ : LikelihoodInference
        Without a penalty, standard errors, p values, confidence intervals, deviance and log-likelihood; refused with
        the reason where they do not exist. `summary` prints them, `tenfold.infer` has robust ones.
    status_ : str
        How the fit ended: "converged", "iteration limit", "time limit", "stopped by a callback", "interrupted",
        "stalled" (rounding) or "no maximum".
    trace_ : tuple of Record
        Objective, measure and seconds of each step.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the samples per step and one to judge; memory p x p up to 1024 features, vectors beyond. Runs on
    dense and sparse arrays, files, Dask collections and devices. `fit`, `predict` and `score` take an `offset` (n,),
    the known part of the raw prediction: `set_fit_request(offset=True)` routes it.
    Seeger, section 8.1.2; McCullagh and Nelder, *Generalized Linear Models* (1989).

    Examples
    --------
    >>> from tenfold import TweedieRegressor
    >>> X = [[1, 2], [2, 3], [3, 4], [4, 3]]
    >>> model = TweedieRegressor().fit(X, [2, 3.5, 5, 5.5])
    >>> model.coef_.round(3), round(float(model.intercept_), 3)
    (array([0.6, 0.3]), 1.6)
    >>> TweedieRegressor(power=3).fit(X, [2, 3.5, 5, 5.5]).certificate_.kind
    'stationarity'
    """

    _registration: ClassVar = Registration(
        method="Tweedie regression",
        texts=("S8.1.2",),
        peer="sklearn.linear_model",
        reads=("a pass a step",),
        certificate=("gap", "stationarity"),
        judge="glm.unit_deviance",
        outputs="glm.mean",
        offset=True,
        report_only=REPORT_ONLY,
    )
    _constraints: ClassVar[Constraints] = {
        "power": (real(-np.inf, np.inf, "neither"),),
        **CONSTRAINTS,
        "link": (choice("auto", "identity", "log"),),
    }

    def __init__(
        self,
        *,
        power: float = 0.0,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        link: str = "auto",
        solver: str = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: int = 0,
        time_limit: float | None = None,
    ) -> None:
        self.power = power
        self.link = link
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.time_limit = time_limit

    def _loss(self) -> Loss:
        return deviance(float(self.power), self._link())

    def _link(self) -> str:
        if self.link != "auto":
            return self.link
        return "identity" if self.power <= 0 else "log"

    def _family(self) -> str:
        return "HalfTweedieLoss" if self._link() == "log" else "HalfTweedieLossIdentity"

    def _lowest(self) -> tuple[float, bool]:
        if self.power <= 0:
            return -np.inf, False
        return 0.0, self.power < 2
