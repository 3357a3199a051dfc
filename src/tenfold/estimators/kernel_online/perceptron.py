"""The perceptron in the space of a kernel."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, Floats, Integers
from tenfold.estimators.class_labels import (
    as_vector,
    check_label_indices,
    check_labels,
    compute_class_weights,
    encode_classes,
    take_classes,
)
from tenfold.estimators.kernel_parameter import KERNEL, check_samples, is_pairwise, make_kernel
from tenfold.estimators.parameters import (
    Constraints,
    boolean,
    check_parameters,
    choice,
    instance,
    integer,
    nothing,
    random_state,
)
from tenfold.estimators.predictors import Predictor, ScoreMixin
from tenfold.estimators.registration import Registration
from tenfold.estimators.schema import floats, integers, many, number, whole
from tenfold.estimators.schema import nothing as no_value
from tenfold.estimators.validation import require_finite, restore_on_error, validate, validate_more, validate_weights
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.kernels import Kernel
from tenfold.plans.kernel_perceptron import (
    Functions,
    Learned,
    LearnedExpansion,
    Votes,
    count_missing_votes,
    judge,
    learn,
    start_expansion,
)
from tenfold.solvers.loop import Status

INSTEAD = (
    "It keeps the samples that were mistakes, and looks at one after the other: load the samples into memory, call "
    "partial_fit with parts of them, or take Perceptron, which reads files."
)
PART = (
    "The samples came in parts, of which the model knows the last: call tenfold.certify(model, X, y) with all of them."
)
REPORT_ONLY = {
    "n_iter_": "how many passes the solver took",
    "t_": "how many samples the solver has seen",
    "n_mistakes_": "how many mistakes the solver learned from, in the order of its passes",
    "mistakes_": "which samples were mistakes, in the order of its passes",
    "trace_": "the mistakes of each pass",
}
STORED = {
    "support_vectors_": floats("m p", sparse=True),
    "dual_coef_": floats("m") | floats("m k"),
    "votes_": floats("u", low=0.0),
    "mistakes_": integers("*", low=0),
    "mistake_bound_": number(0.0, inf=True),
    "n_mistakes_": whole(),
    "t_": whole(),
    "trace_": many(whole()),
    "_last": floats("m o"),
    "_sums": floats("m o"),
    "_updates": integers("u 4", low=0),
    "_steps": floats("u"),
    "_votes": floats("u", low=0.0) | no_value(),
}


def _has_coefficients_for_samples(model: Any) -> bool:
    m = model.support_vectors_.shape[0]
    inside = not len(model._updates) or int(np.max(model._updates[:, 0])) < m
    return bool(model.dual_coef_.shape[0] == m == len(model._last) and inside)


class KernelPerceptron(ScoreMixin, ClassifierMixin, Predictor, BaseEstimator):
    """The perceptron in the space of a kernel: the last function, the mean of all, or the votes of all.

    Looks at one sample after the other. Two classes: ``f(x) = sum_j c_j k(x, x_j)``, and a mistake,
    ``y_i f(x_i) <= 0``, adds ``weight_i y_i`` to c_i. More classes have a function each and are learned together: a
    mistake, where no other score is below that of the own class, adds weight_i to the coefficient of the class and
    subtracts it from that of the best other. Passes end with one without mistakes. For an intercept add a
    `tenfold.kernels.Constant` to the kernel.

    Parameters
    ----------
    kernel : str, kernel object or callable, default="rbf"
        Kernel: a name of scikit-learn's ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly",
        "polynomial", "rbf", "sigmoid"), a kernel of `tenfold.kernels` or of scikit-learn's Gaussian processes, or a
        function of two samples; not "precomputed".
    gamma : float, {"auto", "scale"}, default=None
        Width parameter of the names that have one. None and "auto": 1 / n_features (1 for "chi2"); "scale":
        1 / (n_features * X.var()), of the first part with `partial_fit`.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=1
        Constant term of "poly" and "sigmoid".
    kernel_params : dict, default=None
        Keyword arguments of a kernel that is a function.
    prediction : {"last", "averaged", "voted"}, default="last"
        What predicts: the last function, the mean of the functions after each sample, or the votes of all functions,
        each with as many as the samples that it survived.
    budget : int, default=None
        The most samples in the expansion; None for any number. Only the last function predicts then.
    removal : {"oldest", "random"}, default="oldest"
        Which sample is removed where one more would exceed the budget.
    max_iter : int, default=100
        Passes at most, of `fit`.
    shuffle : bool, default=True
        Whether each pass of `fit` has a random order of its own.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" makes their total weights equal. None for
        ones.
    random_state : int, RandomState instance or None, default=0
        Seed of the orders, and of removals at random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        The samples that were mistakes, each once, in the order of their first; with a budget those that are left.
    dual_coef_ : ndarray of shape (n_support,) or (n_support, n_classes)
        Coefficients of the function that predicts, last or mean; with "voted" of the last.
    votes_ : ndarray of shape (n_mistakes,)
        With "voted", the votes of the functions after each mistake; after a pass without mistakes the last has as many
        as further passes would give it until the votes make none either.
    kernel_ : Kernel
        The kernel as a value of `tenfold.kernels`, with its parameters.
    mistakes_ : ndarray of shape (n_mistakes,)
        The samples of the last call that were mistakes, in order.
    n_mistakes_ : int
        Mistakes in all passes.
    mistake_bound_ : float
        Novikoff's bound on the mistakes of any perceptron on these samples, in any order and however often they come:
        by the margin of the function with coefficients `dual_coef_`. Infinite where that does not separate the
        samples, for weights that differ, and after `partial_fit`.
    n_iter_ : int
        Passes over the samples.
    t_ : int
        Samples seen.
    status_ : str
        "converged" (a pass without mistakes) or "iteration limit"; "not judged" after `partial_fit`.
    trace_ : list of int
        Mistakes of each pass.
    certificate_ : Certificate
        Kind count: mistakes of what predicts, counted again by another evaluation of the kernel; ok if there are none.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    A pass costs the kernel of all samples with those of the expansion, by tiles, and a mistake one comparison for each
    of 512 samples; up to 5800 samples have their kernel matrix in memory. A prediction costs a value of the kernel for
    each sample of the expansion, and with "voted" a sum for each mistake. Runs on dense and sparse arrays, with sample
    weights.
    CMU lecture 11, slides 28 and 34; Seeger, section 9.2.2. Aizerman, Braverman and Rozonoer 1964; Freund and Schapire
    1999; budgets: Cavallanti, Cesa-Bianchi and Gentile 2007.

    Examples
    --------
    >>> from tenfold import KernelPerceptron
    >>> X = [[-1, 2], [1, 0], [1, 1], [-1, 0], [-1, -2], [1, -1]]
    >>> y = [-1, 1, 1, -1, -1, 1]
    >>> model = KernelPerceptron("linear", shuffle=False).fit(X, y)
    >>> model.mistakes_, model.dual_coef_
    (array([0, 2, 4]), array([-1.,  1., -1.]))
    >>> model.certificate_
    <Certificate ok: count 0 (allowed 6e-12)>
    """

    _registration: ClassVar = Registration(
        method="Kernel perceptron: last, averaged, voted, budgeted",
        texts=("C12-30", "C28-34", "S9.2.2"),
        reads=("in order",),
        where=("arrays", "sparse"),
        instead=INSTEAD,
        certificate=("count",),
        judge="kernel_perceptron.mistakes",
        outputs="kernel_perceptron.scores",
        report_only=REPORT_ONLY,
        stored=STORED,
        rules={"coefficients and updates must be of the support vectors": _has_coefficients_for_samples},
    )
    _constraints: ClassVar[Constraints] = {
        **KERNEL,
        "prediction": (choice("last", "averaged", "voted"),),
        "budget": (integer(1), nothing()),
        "removal": (choice("oldest", "random"),),
        "max_iter": (integer(1),),
        "shuffle": (boolean(),),
        "class_weight": (instance(dict), choice("balanced"), nothing()),
        "random_state": (random_state(),),
    }

    classes_: Array
    kernel_: Kernel
    certificate_: Certificate

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        prediction: str = "last",
        budget: int | None = None,
        removal: str = "oldest",
        max_iter: int = 100,
        shuffle: bool = True,
        class_weight: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.prediction = prediction
        self.budget = budget
        self.removal = removal
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.random_state = random_state

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> "KernelPerceptron":
        """Fit to X (n, p), classes y (n,) and optional `sample_weight`, a number or (n,)."""
        self._check()
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        self.classes_, label = encode_classes(as_vector(y), X)
        given = validate_weights(sample_weight, X)
        if given is not None and len(np.unique(label[given > 0.0])) < 2:
            raise ValueError("The samples of positive weight are of one class; a classifier needs two.")
        weight = weigh_samples(self, label, given)
        random = check_random_state(self.random_state) if self.shuffle else None

        def work() -> tuple[Kernel, Learned, Certificate, float]:
            kernel = make_kernel(self, check_samples(self.kernel, X))
            start = start_expansion(X, self._outputs)
            learned = self._learn(kernel, X, label, weight, start, int(self.max_iter), random)
            self._store(kernel, learned)
            if self.prediction == "voted" and learned.status is Status.CONVERGED:
                self._vote_on(X[weight > 0.0], label[weight > 0.0])
            return kernel, learned, *judge(*heard(self), X, label, weight, len(self.classes_), learned.status.value)

        _, learned, self.certificate_, self.mistake_bound_ = require_finite(self, X, work)
        self.n_mistakes_, self.n_iter_ = sum(learned.passes), len(learned.passes)
        self.trace_, self.status_ = list(learned.passes), learned.status.value
        return self

    @restore_on_error
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> "KernelPerceptron":
        """One pass over more samples X (n, p) of classes y (n,), in their order, with optional `sample_weight`; the
        first call names all `classes`.
        """
        self._check()
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight {self.class_weight!r} is not supported for partial_fit: a part does not tell how many "
                "samples each class has. Give the weights of the classes as a dict."
            )
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if not first and classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(f"`classes={classes!r}` is not the same as on last call to partial_fit: {self.classes_!r}")
        X, y = validate_more(self, X, y, first=first, numeric=False, multi_output=False)
        check_labels(y)
        self.classes_ = np.unique(classes) if first else self.classes_
        if len(self.classes_) < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {len(self.classes_)} class.")
        label = check_label_indices(self.classes_, y, X)
        weight = weigh_samples(self, label, validate_weights(sample_weight, X))

        def work() -> tuple[Kernel, Learned]:
            samples = check_samples(self.kernel, X)
            kernel = make_kernel(self, samples) if first else self.kernel_
            start = start_expansion(X, self._outputs) if first else self._expansion
            return kernel, self._learn(kernel, X, label, weight, start, 1, None)

        kernel, learned = require_finite(self, X, work)
        self._store(kernel, learned)
        before = getattr(self, "n_mistakes_", 0), getattr(self, "n_iter_", 0), getattr(self, "trace_", [])
        self.n_mistakes_, self.n_iter_ = before[0] + sum(learned.passes), before[1] + 1
        self.trace_ = [*before[2], *learned.passes]
        self.mistake_bound_, self.status_ = float(np.inf), NOT_JUDGED
        tol = RULES["count"].tol
        self.certificate_ = Certificate("count", np.inf, 1.0, tol, 0.0, np.inf, status=NOT_JUDGED, note=PART)
        return self

    def _check(self) -> None:
        check_parameters(self, self._constraints)
        if is_pairwise(self.kernel):
            raise ValueError("A precomputed kernel does not say the kernel of new samples: give a name or a kernel.")
        if self.budget is not None and self.prediction != "last":
            raise ValueError(
                f"prediction={self.prediction!r} needs all samples that were mistakes: use prediction='last' with a "
                "budget, or budget=None."
            )

    @property
    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _learn(
        self,
        kernel: Kernel,
        X: Array,
        label: Integers,
        weight: Floats,
        start: LearnedExpansion,
        passes: int,
        random: Any,
    ) -> Learned:
        remover = None
        if self.removal == "random":
            remover = check_random_state(self.random_state) if random is None else random
        return learn(
            kernel,
            X,
            label,
            weight,
            self._outputs,
            start,
            max_iter=passes,
            random=random,
            budget=self.budget,
            remover=remover,
        )

    @property
    def _expansion(self) -> LearnedExpansion:
        sample, up, down, time = self._updates.T
        return LearnedExpansion(
            self.support_vectors_, self._last, self._sums, self.t_, sample, up, down, self._steps, time
        )

    def _store(self, kernel: Kernel, learned: Learned) -> None:
        expansion = learned.expansion
        self.kernel_, self.support_vectors_, self.t_ = kernel, expansion.points, expansion.seen
        self._last, self._sums = expansion.last, expansion.sums
        self._updates = np.stack([expansion.sample, expansion.up, expansion.down, expansion.time], axis=1)
        self._steps, self.mistakes_ = expansion.step, learned.mistakes
        coef = expansion.mean if self.prediction == "averaged" else expansion.last
        self.dual_coef_ = coef[:, 0].copy() if coef.shape[1] == 1 else coef.copy()
        self.__dict__.pop("votes_", None)
        self._votes = None
        if self.prediction == "voted":
            self.votes_, self._votes = expansion.votes, expansion.votes.copy()

    def _vote_on(self, X: Array, label: Integers) -> None:
        """Give the last function, which makes no mistake, as many votes as the votes need to make none either."""
        _, votes = heard(self)
        assert votes is not None
        if len(self.votes_):
            self.votes_[-1] += count_missing_votes(votes, X, label)
            self._votes = self.votes_.copy()

    def decision_function(self, X: Any) -> Array:
        """Scores of the samples X: (m,) of two classes, positive for the second, else (m, n_classes). With "voted" the
        fractions of the votes, of two classes their difference.
        """
        check_is_fitted(self)
        z = self._predict_raw(X)
        return z[:, 0] if z.shape[1] == 1 else z

    def _prediction_function(self, small: bool) -> Any:
        return Scores(*heard(self))

    def predict(self, X: Any) -> Array:
        """The class of each sample of X, (m,): of two, the second where its score is positive; of more, that of the
        largest.
        """
        z = self.decision_function(X)
        return take_classes(self.classes_, z > 0 if z.ndim == 1 else np.argmax(z, axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Scores:
    """What predicts, as a function of samples."""

    def __init__(self, functions: Functions, votes: Votes | None) -> None:
        self.functions, self.votes = functions, votes

    def __call__(self, X: Array) -> Array:
        z = self.functions.scores(X)[0] if self.votes is None else self.votes.scores(X)[0]
        return z.astype(X.dtype, copy=False) if X.dtype == np.float32 else z


def heard(model: Any) -> tuple[Functions, Votes | None]:
    """The functions with the coefficients of a model, and its votes, None where there are none."""
    coef = np.asarray(model.dual_coef_, dtype=np.float64)
    points = model.support_vectors_
    functions = Functions(model.kernel_, points, coef.reshape(len(coef), -1))
    if model.prediction != "voted":
        return functions, None
    sample, up, down, _ = model._updates.T
    return functions, Votes(model.kernel_, points, len(model.classes_), sample, up, down, model._steps, model._votes)


def weigh_samples(model: Any, label: Integers, weight: Floats | None) -> Floats:
    """Sample weights times class weights; "balanced" counts samples."""
    own = np.ones(len(label)) if weight is None else np.asarray(weight, dtype=np.float64)
    if model.class_weight is None:
        return own
    return np.asarray(own * compute_class_weights(model.class_weight, model.classes_, label, None)[label])
