"""Non-negative matrix factorization by batches."""

import warnings
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold.arrays import Array, contiguous, wide
from tenfold.estimators.decomposition.nmf_model import BASIC, REPORT_ONLY, FactorsModel, beta_of, problem_of
from tenfold.estimators.parameters import Constraints, boolean, check_parameters, integer, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, many, number, whole
from tenfold.estimators.validation import convert_like, require_finite, restore_on_error, validate_more_rows
from tenfold.objectives.factorization import Divergence
from tenfold.plans import minibatch_factorization as plan
from tenfold.plans.factorization import error_of


class MiniBatchNMF(FactorsModel):
    """Non-negative matrix factorization by batches, online: for many samples, or samples that come one after the other.

    Looks for W (n, k) and H (k, p), both at least zero, with a small ``D(X, W H)
    + p alpha_W (l1_ratio |W| + (1 - l1_ratio) ||W||^2 / 2) + n alpha_H (l1_ratio |H| + (1 - l1_ratio) ||H||^2 / 2)``,
    as `NMF` does; every batch moves H by a multiplicative update with the sums over the batches before, which are
    forgotten by and by.

    Parameters
    ----------
    n_components : int, None or "auto", default="auto"
        Number of components k; None and "auto" take as many as features, or as rows of a given H.
    init : {"random", "nndsvd", "nndsvda", "nndsvdar", "custom"} or None, default=None
        The start. "random": absolute normal variates. "nndsvd": non-negative parts of singular vectors; "nndsvda" with
        the mean of X in place of zeros, "nndsvdar" with small random values. "custom": the W and H that are given to
        `fit_transform`. None: "nndsvda", or "random" with more components than samples or features.
    batch_size : int, default=1024
        Samples of a batch.
    beta_loss : float or {"frobenius", "kullback-leibler", "itakura-saito"}, default="frobenius"
        The divergence: 2, 1 and 0 by name. At most 0, X may have no zeros.
    tol : float, default=1e-4
        Ends when a batch moves H by at most this part of its norm; 0 for never.
    max_no_improvement : int or None, default=10
        Ends after this many batches in a row without a new minimum of the smoothed cost; None for never.
    max_iter : int, default=200
        Most passes over the samples.
    alpha_W : float, default=0.0
        Weight of the penalties of W, in units of the number of features.
    alpha_H : float or "same", default="same"
        Weight of the penalties of H, in units of the number of samples; "same" is `alpha_W`.
    l1_ratio : float, default=0.0
        The part of the L1 penalty, from 0 to 1.
    forget_factor : float, default=0.7
        What is left of the sums over earlier batches after a pass; 1 forgets nothing.
    fresh_restarts : bool, default=False
        Whether the codes of every batch are solved for anew.
    fresh_restarts_max_iter : int, default=30
        Most updates of these codes.
    transform_max_iter : int or None, default=None
        Most steps of `transform` where the loss is not that of Frobenius; None is `max_iter`.
    random_state : int, RandomState instance or None, default=None
        Seed of the start.
    verbose : int, default=0
        Above zero the cost of every batch is printed.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The factor H.
    n_components_ : int
        Number of components.
    reconstruction_err_ : float
        ``sqrt(2 D(X, W H))`` for the best W; not after `partial_fit`.
    n_iter_ : int
        Passes over the samples that were begun; not after `partial_fit`.
    n_steps_ : int
        How many batches were seen.
    certificate_ : Certificate
        Not judged: H after updates by batches is not stationary. ``tenfold.certify(model, X)`` computes the projected
        gradients, as for `NMF`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A batch of m samples costs 6 m p k operations. Runs on dense and sparse arrays in memory; `partial_fit` takes
    batches from anywhere. `transform` solves non-negative least squares exactly for the Frobenius loss.
    Cookbook, ch. 9 (online factorization).

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import MiniBatchNMF
    >>> X = np.array([[1, 1], [2, 1], [3, 1.2], [4, 1], [5, 0.8], [6, 1]])
    >>> model = MiniBatchNMF(n_components=2, init="random", random_state=0, tol=0, max_no_improvement=None)
    >>> W = model.fit_transform(X)
    >>> bool(np.abs(W @ model.components_ - X).max() < 0.1)
    True
    """

    _registration: ClassVar = Registration(
        method="Non-negative matrix factorization by batches",
        texts=("B9",),
        peer="sklearn.decomposition",
        reads=("in order",),
        where=("arrays", "sparse"),
        instead="Its partial_fit takes parts of them.",
        certificate=("stationarity",),
        judged=False,
        judge="nmf.factors",
        outputs="nmf.codes",
        report_only={**REPORT_ONLY, "n_steps_": "how many batches were seen"},
        stored={
            "components_": floats("k p", low=0.0),
            "reconstruction_err_": number(0.0),
            "n_steps_": whole(0),
            "_sums": many(floats("k p", low=0.0), "2"),
        },
        transform_uses="samples",
    )
    _constraints: ClassVar[Constraints] = {
        **BASIC,
        "max_no_improvement": (integer(1), nothing()),
        "batch_size": (integer(1),),
        "forget_factor": (real(0, 1, "both"),),
        "fresh_restarts": (boolean(),),
        "fresh_restarts_max_iter": (integer(1),),
        "transform_max_iter": (integer(1), nothing()),
    }

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        init: str | None = None,
        batch_size: int = 1024,
        beta_loss: Any = "frobenius",
        tol: float = 1e-4,
        max_no_improvement: int | None = 10,
        max_iter: int = 200,
        alpha_W: float = 0.0,
        alpha_H: Any = "same",
        l1_ratio: float = 0.0,
        forget_factor: float = 0.7,
        fresh_restarts: bool = False,
        fresh_restarts_max_iter: int = 30,
        transform_max_iter: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.batch_size = batch_size
        self.beta_loss = beta_loss
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.max_iter = max_iter
        self.alpha_W = alpha_W
        self.alpha_H = alpha_H
        self.l1_ratio = l1_ratio
        self.forget_factor = forget_factor
        self.fresh_restarts = fresh_restarts
        self.fresh_restarts_max_iter = fresh_restarts_max_iter
        self.transform_max_iter = transform_max_iter
        self.random_state = random_state
        self.verbose = verbose

    @restore_on_error
    def fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Self:
        """Find the components of samples X (n, p); W and H are the start with init="custom", `y` is not used."""
        self._fit(X, W, H)
        return self

    @restore_on_error
    def fit_transform(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Array:
        """Fit to samples X (n, p), and return their best W (n, n_components); W and H are the start with init="custom",
        `y` is not used.
        """
        return self._fit(X, W, H)

    def _fit(self, X: Any, W: Any, H: Any) -> Array:
        check_parameters(self, self._constraints)
        X = self._validate(X)
        start, n = self._start(X, W, H), X.shape[0]
        batch = min(int(self.batch_size), n)
        passes = -(-n // batch)
        result = require_finite(
            self,
            X,
            lambda: plan.fit_batches(
                X,
                lambda count: problem_of(self, (count, X.shape[1])),
                start,
                batch=batch,
                steps=int(self.max_iter) * passes,
                forget=float(self.forget_factor),
                fresh=self._fresh() if self.fresh_restarts else None,
                stopping=plan.Stopping(float(self.tol), self.max_no_improvement),
                log=print if self.verbose else None,
            ),
        )
        self._store(result.running, X)
        self.n_steps_ = result.steps
        self.n_iter_ = -(-result.steps // passes)
        codes = self._codes(X)
        self.reconstruction_err_ = error_of(X, wide(codes), wide(self.components_), beta_of(self))
        if not result.converged and self.tol > 0:
            warnings.warn(
                f"Maximum number of iterations {self.max_iter} reached. Increase it to improve convergence.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return codes

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, W: Any = None, H: Any = None) -> Self:
        """Go on with one more batch; the first one sets the start.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, p)
            The samples of the batch: no value is negative.
        y : object, default=None
            Not used.
        W : array-like of shape (n, n_components), default=None
            The start of the first factor, at the first call with init="custom".
        H : array-like of shape (n_components, p), default=None
            The start of the second factor, likewise.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        check_parameters(self, self._constraints)
        first = not hasattr(self, "components_")
        X = self._check_signs(contiguous(validate_more_rows(self, X, first=first)))
        running = plan.Running.begin(self._start(X, W, H).H) if first else self._current()
        keep = float(self.forget_factor) ** (min(int(self.batch_size), X.shape[0]) / X.shape[0])
        data, problem = Divergence.of(X, beta_of(self)), problem_of(self, X.shape)
        work = partial(plan.batch_step, data, running, problem, keep, None, self._fresh())
        self._store(require_finite(self, X, work)[0], X)
        self.n_steps_ = 1 if first else self.n_steps_ + 1
        for name in ("reconstruction_err_", "n_iter_"):  # of another H
            self.__dict__.pop(name, None)
        return self

    def _fresh(self) -> tuple[float, int]:
        return float(self.tol), int(self.fresh_restarts_max_iter)

    def _current(self) -> plan.Running:
        """The state after the last batch."""
        return plan.Running(np.ascontiguousarray(wide(self.components_)), *self._sums)

    def _store(self, running: plan.Running, X: Array) -> None:
        self.components_ = convert_like(running.H, X)
        self._sums = (running.above, running.below)
        self.n_components_ = len(running.H)
        self.certificate_ = plan.leave_unjudged()

    def _most_steps(self) -> int:
        return int(self.max_iter if self.transform_max_iter is None else self.transform_max_iter)
