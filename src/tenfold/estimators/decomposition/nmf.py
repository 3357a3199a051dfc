"""Non-negative matrix factorization."""

import warnings
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from tenfold.arrays import Array
from tenfold.estimators.callbacks import CallbackSupportMixin, make_callback, with_callbacks
from tenfold.estimators.decomposition.nmf_model import BASIC, REPORT_ONLY, FactorsModel, beta_of, problem_of
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, choice
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, number
from tenfold.estimators.validation import convert_like, require_finite, restore_on_error, warn_unless_certified
from tenfold.objectives.factorization import Factors
from tenfold.plans.factorization import fit
from tenfold.solvers.loop import Record


class NMF(CallbackSupportMixin, FactorsModel):
    """Non-negative matrix factorization.

    Looks for W (n, k) and H (k, p), both at least zero, that minimise

    ``D(X, W H) + p alpha_W (l1_ratio |W| + (1 - l1_ratio) ||W||^2 / 2)
    + n alpha_H (l1_ratio |H| + (1 - l1_ratio) ||H||^2 / 2)``,

    where D is ``||X - W H||^2 / 2``, or another beta-divergence, and ``|.|`` sums entries. With the Kullback-Leibler
    divergence this is probabilistic latent semantic analysis. The objective is not convex: what is found is stationary.

    Parameters
    ----------
    n_components : int, None or "auto", default="auto"
        Number of components k; None and "auto" take as many as features, or as rows of a given H.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        The start. "random": absolute normal variates. "nndsvd": non-negative parts of singular vectors; "nndsvda" with
        the mean of X in place of zeros, "nndsvdar" with small random values. "custom": the W and H that are given to
        `fit_transform`. None: "nndsvda", or "random" with more components than samples or features.
    solver : {"cd", "mu", "pg"}, default="cd"
        "cd": coordinate descent (accelerated hierarchical alternating least squares), for the Frobenius loss. "mu":
        multiplicative updates, which converge more slowly, for every loss. "pg": additive steps along the gradient,
        projected on what is not negative, for the Frobenius loss; the slowest.
    beta_loss : float or {"frobenius", "kullback-leibler", "itakura-saito"}, default="frobenius"
        The divergence: 2, 1 and 0 by name. At most 0, X may have no zeros.
    tol : float, default=1e-4
        The fit ends when the certificate is at most this: the projected gradients of W and H, relative to the products
        of X with the factors. With 0 all `max_iter` steps are taken.
    max_iter : int, default=200
        Most steps.
    random_state : int, RandomState instance or None, default=None
        Seed of the start, and of the order of coordinates with `shuffle`.
    alpha_W : float, default=0.0
        Weight of the penalties of W, in units of the number of features.
    alpha_H : float or "same", default="same"
        Weight of the penalties of H, in units of the number of samples; "same" is `alpha_W`.
    l1_ratio : float, default=0.0
        The part of the L1 penalty, from 0 to 1.
    verbose : int, default=0
        Above zero every step is printed. scikit-learn's callbacks are called after every step, too.
    shuffle : bool, default=False
        Whether coordinates come in random order with "cd".
    missing : {"error", "ignore"}, default="error"
        What to do with entries of dense X that are NaN: an error, or no term of the loss for them. A sample of which
        nothing is known has a W of zeros, and a feature an H of zeros.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The factor H.
    n_components_ : int
        Number of components.
    reconstruction_err_ : float
        ``sqrt(2 D(X, W H))`` for the best W: the Frobenius norm of the residual.
    n_iter_ : int
        Steps of the solver.
    certificate_ : Certificate
        Kind stationarity: the norms of the projected gradients relative to those of the products with X, the larger
        one, with W solved exactly for the stored H. Where nothing is penalised the factors are balanced first. A
        component of zeros is refused where another would decrease the objective. `lower_bound` is that of Eckart and
        Young, where it is cheap beside the fit; `tenfold.certify` always computes it, up to 1024 samples or features.
        With missing entries there is none.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A step of "cd" is two products with X, 4 n p k operations (of sparse X, 4 nnz k), and W H is never formed; one of
    "mu" is 6 n p k and some functions of all entries where the loss is not that of Frobenius. Memory for the factors.
    `transform` solves non-negative least squares exactly for the Frobenius loss, so it returns the W of the fit. Runs
    on dense and sparse arrays in memory.
    Cookbook, ch. 9 and B.5: the two update rules there are "mu" and a gradient step with a rate for all entries.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NMF
    >>> X = np.array([[1, 1], [2, 1], [3, 1.2], [4, 1], [5, 0.8], [6, 1]])
    >>> model = NMF(n_components=2, init="random", random_state=0, max_iter=1000)
    >>> W = model.fit_transform(X)
    >>> bool(np.abs(W @ model.components_ - X).max() < 0.01)
    True
    >>> model.certificate_.ok
    True
    """

    _registration: ClassVar = Registration(
        method="Non-negative matrix factorization: accelerated HALS, multiplicative updates, Kullback-Leibler (pLSA)",
        texts=("B9",),
        peer="sklearn.decomposition",
        reads=("a pass a step",),
        where=("arrays", "sparse"),
        instead="W has a row for each sample: take a sample of them in memory, or parts with MiniBatchNMF.",
        certificate=("stationarity",),
        judge="nmf.factors",
        outputs="nmf.codes",
        report_only=REPORT_ONLY,
        stored={"components_": floats("k p", low=0.0), "reconstruction_err_": number(0.0)},
        board=Entry(
            "parts",
            "structure",
            {"tol": 1e-3, "max_iter": 1000, "random_state": 0},
            {"n_components": (2, 3, 4, 5, 6, 8)},
            dense=True,
        ),
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        **BASIC,
        "solver": (choice("mu", "cd", "pg"),),
        "shuffle": (boolean(),),
        "missing": (choice("error", "ignore"),),
    }

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        init: str | None = None,
        solver: str = "cd",
        beta_loss: Any = "frobenius",
        tol: float = 1e-4,
        max_iter: int = 200,
        random_state: Any = None,
        alpha_W: float = 0.0,
        alpha_H: Any = "same",
        l1_ratio: float = 0.0,
        verbose: int = 0,
        shuffle: bool = False,
        missing: str = "error",
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.verbose = verbose
        self.shuffle = shuffle
        self.missing = missing

    @property
    def _allow_nan(self) -> bool:  # type: ignore[override]
        return self.missing == "ignore"

    @with_callbacks
    @restore_on_error
    def fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            The samples: no value is negative.
        y : object, default=None
            Not used.
        W : array-like of shape (n, n_components), default=None
            The start of the first factor, with init="custom".
        H : array-like of shape (n_components, p), default=None
            The start of the second factor, with init="custom".

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._fit(X, W, H)
        return self

    @with_callbacks
    @restore_on_error
    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Array:
        """Fit to samples X (n, p), and return the factor W (n, n_components) of these samples; `y` is not used.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            The samples: no value is negative.
        y : object, default=None
            Not used.
        W : array-like of shape (n, n_components), default=None
            The start of the first factor, with init="custom".
        H : array-like of shape (n_components, p), default=None
            The start of the second factor, with init="custom".

        Returns
        -------
        W : ndarray of shape (n, n_components)
            The best W for `components_`.
        """
        return self._fit(X, W, H)

    def _fit(self, X: Any, W: Any, H: Any) -> Array:
        self.check_settings()
        X = self._validate(X)
        start = self._start(X, W, H)
        monitor = make_callback(self, X, None, int(self.max_iter), partial(self._attributes, X=X))
        seen = 0

        def report(record: Record, factors: Factors) -> bool:
            nonlocal seen
            seen += 1
            if self.verbose:
                print(f"Step {seen}, objective {record.objective:.9g}, projected gradient {record.measure:.3g}")
            return monitor is not None and monitor(record, factors)

        result = require_finite(
            self,
            X,
            lambda: fit(
                X,
                problem_of(self, X.shape),
                start,
                solver=self.solver,
                tol=float(self.tol),
                max_iter=int(self.max_iter),
                shuffle=check_random_state(self.random_state) if self.shuffle else None,
                callback=report,
            ),
        )
        for name, value in self._attributes(result.factors, X).items():
            setattr(self, name, value)
        self.n_components_ = len(self.components_)
        self.reconstruction_err_, self.n_iter_ = result.error, result.iterations
        self.certificate_ = result.certificate
        if self.tol > 0:
            warn_unless_certified(self)
        return convert_like(result.factors.W, X)

    @staticmethod
    def _attributes(factors: Factors, X: Array) -> dict[str, Any]:
        return {"components_": convert_like(np.ascontiguousarray(factors.H), X)}

    def check_settings(self) -> None:
        """Raise for settings that do not go together."""
        check_parameters(self, self._constraints)
        if self.solver != "mu" and beta_of(self) != 2.0:
            raise ValueError(
                f"Invalid beta_loss parameter: solver {self.solver!r} does not handle beta_loss = {self.beta_loss!r}"
            )
        if self.solver == "mu" and self.init == "nndsvd":
            warnings.warn(
                "The multiplicative update ('mu') solver cannot update zeros present in the initialization, and so "
                "leads to poorer results when used jointly with init='nndsvd'. You may try init='nndsvda' or "
                "init='nndsvdar' instead.",
                UserWarning,
                stacklevel=5,
            )
