"""Logistic regression with C and the L1 ratio chosen by cross-validation."""

from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils import compute_class_weight
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing

from tenfold.arrays import Array, Floats, Integers, contiguous, is_sparse
from tenfold.cross_validation.classifier_scores import SCORES, roc_areas
from tenfold.cross_validation.classifier_scores import scores as known_scores
from tenfold.cross_validation.logistic_paths import paths as choose_paths
from tenfold.estimators.class_labels import class_frequencies, class_targets, combine_weights, encode_classes
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.logistic.cv_splits import (
    check_test_folds,
    mass,
    part_of,
    pass_classes,
    rows_of_splits,
    select_positive,
)
from tenfold.estimators.logistic.parameters import (
    SOLVERS,
    PenaltyChoice,
    check_liblinear,
    keeps_legacy,
    read_l1_ratios,
    strength,
    warn_of_change,
)
from tenfold.estimators.logistic.regression import REPORT_ONLY, LogisticRegression
from tenfold.estimators.parameters import (
    Constraints,
    array_like,
    boolean,
    check_parameters,
    choice,
    function,
    integer,
    nothing,
    splitter,
    unset,
)
from tenfold.estimators.registration import Registration
from tenfold.estimators.tuning import Tuning
from tenfold.estimators.validation import (
    as_rows,
    check_no_extra_params,
    drop_zero_weights,
    require_finite,
    restore_on_error,
    validate,
    validate_weights,
)
from tenfold.judge.certificate import NOT_JUDGED, Certificate
from tenfold.losses.classification import loss_of_classes
from tenfold.machine import counting_work
from tenfold.plans.glm import fit as fit_glm


class LogisticRegressionCV(LogisticRegression):
    """Logistic regression with ``C`` and ``l1_ratio`` chosen by cross-validation.

    Two classes: each candidate minimises ``C sum_i s_i log(1 + exp(-y_i (x_i.w + b))) + r(w)``, y_i = +1 for the second
    class and -1 for the first, s_i the weight of a sample (sample weight times class weight), ``r(w) = (1 - l1_ratio)/2
    ||w||^2 + l1_ratio ||w||_1``. More classes: ``C sum_i s_i (log sum_k exp(z_ik) - z_i,y_i) + sum_k r(w_k)``, z_ik =
    x_i.w_k + b_k. Intercepts are never penalised. The candidate with the best mean score over the folds is fitted to
    all samples.

    Parameters
    ----------
    Cs : int or list of float, default=10
        Candidates for C; an integer is the size of a logarithmic grid from 1e-4 to 1e4.
    l1_ratios : list of float in [0, 1], default="warn"
        Candidates for l1_ratio. Not set, it is L2 alone with scikit-learn's warning that this default changes.
    fit_intercept : bool, default=True
        Whether to fit an intercept ``b``; it is never penalised.
    cv : int, cross-validation generator or an iterable, default=None
        Number of stratified folds, a splitter, or pairs of training and test indices; None is five stratified folds.
    dual : bool, default=False
        Accepted with solver "liblinear" for compatibility, without effect.
    penalty : {"l1", "l2", "elasticnet"}, default="deprecated"
        Deprecated as in scikit-learn: use `l1_ratios`.
    scoring : str, callable or None, default="warn"
        How candidates are compared; None is accuracy. Not set, it is accuracy with scikit-learn's warning that this
        default changes.
    solver : {"lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"}, default="lbfgs"
        scikit-learn's names are accepted; the same optimum is reached and certified. L1 penalties ask for
        "liblinear" or "saga", an elastic net for "saga".
    tol : float, default=1e-4
        A fit stops when no entry of the gradient of the weighted mean objective exceeds `tol` and, on all samples, the
        certificate is ok.
    max_iter : int, default=100
        Most steps of one fit.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights; "balanced" by the weighted counts of all samples, in
        every fold alike. None: all ones.
    n_jobs : int, default=None
        Accepted for compatibility: threads follow `threadpoolctl` and OMP_NUM_THREADS.
    verbose : int, default=0
        Accepted for compatibility: use scikit-learn's callbacks, for instance its ProgressBar.
    refit : bool, default=True
        Whether the best candidate is fitted to all samples; otherwise the weights of each fold's best are averaged.
    intercept_scaling : float, default=1.0
        Accepted for compatibility: the intercept is not penalised, so its scale has no effect.
    random_state : int, RandomState instance or None, default=None
        Accepted for compatibility: nothing here is random.
    use_legacy_attributes : bool, default="warn"
        The shapes of scikit-learn's attributes: dictionaries by class, or arrays. Not set, it is True with
        scikit-learn's warning that this default changes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, one vector for two classes (for the second), else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, one for two classes, else one for each; zero with ``fit_intercept=False``.
    class_prior_ : ndarray of shape (n_classes,)
        Weighted class frequencies in training; `with_priors` makes a copy for others.
    Cs_ : ndarray of shape (n_cs,)
        Candidates for C.
    l1_ratios_ : ndarray of shape (n_l1_ratios,)
        Candidates for l1_ratio.
    C_ : float, or ndarray of shape (1,) or (n_classes,) with legacy attributes
        The C of the best candidate; without `refit` the mean of the folds' best.
    l1_ratio_ : float, or ndarray of shape (1,) or (n_classes,) with legacy attributes
        The l1_ratio of the best candidate; without `refit` the mean of the folds' best.
    scores_ : ndarray of shape (n_folds, n_l1_ratios, n_cs), or dict by class
        Score of each candidate on the test samples of each fold; with legacy attributes (n_folds, n_cs, n_l1_ratios)
        for each class, without the axis of ratios where none were given.
    coefs_paths_ : ndarray of shape (n_folds, n_l1_ratios, n_cs, n_outputs, n_coefs), or dict by class
        Weights, and last the intercept, of each fold and candidate; with legacy attributes (n_folds, n_cs, n_l1_ratios,
        n_coefs) for each class, without the axis of ratios where none were given.
    n_iter_ : ndarray of shape (n_folds, n_l1_ratios, n_cs) or (1, n_folds, n_cs, n_l1_ratios)
        Steps of each fold and candidate; the second shape with legacy attributes.
    passes_ : int
        How often the data were read to fit the candidates; where folds and candidates go together, a pass serves all.
    cost_ : float
        What all candidates of all folds cost, in fits of the best to all samples: multiplications with entries of the
        data in the passes over them, counted; nan without `refit`.
    certificate_ : Certificate
        Kind gap, of the fit to all samples with the best candidate: no other weights have a weighted mean objective
        (that above over C times the sum of the weights) that is smaller by more. Not judged without `refit`. The choice
        is the best of the stored scores; these are not certified.
    inference_ : LikelihoodInference
        Without a penalty (C = inf), standard errors, p values, confidence intervals and log-likelihood; else an
        AttributeError with the reason.
    status_ : str
        How the fit to all samples ended: "converged", "iteration limit", "stalled" (rounding) or "no maximum"; "not
        judged" without `refit`.
    trace_ : tuple of Record
        Objective, measure and seconds of each step of the fit to all samples; only with `refit`.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    All folds and candidates are solved in batches: a pass over the data corrects the models of all of them. With up to
    128 coefficients each fold has quadratic models at a coarse grid of C, from Hessians that one pass gives for all
    folds; with more coefficients of several classes and an L2 penalty, corrections take place on the blocks of one mean
    Hessian. The candidates between are interpolated, and read only where the error estimate of the interpolation does
    not meet the stopping criterion. A hundred candidates in five folds cost four single fits on 2 000 samples of 50
    features, ten on 2 000 of 10, twelve on breast cancer, fifteen on 200 samples of 5 features and on digits
    (`cost_`); with an L1 penalty five to twelve, and twenty to thirty on the small ones. Few dense samples of two
    classes, with up to 32 candidates, are followed fold by fold in one compiled loop, a Hessian at each candidate: more
    products in less time. In all other cases (L1 penalties with many coefficients, folds with fewer samples than
    features) each fold is followed by itself with warm starts.

    Scores are those of models that meet `tol`, not of exact minima. With the default the log loss of a candidate was
    within 5e-5 of that of an exact fit where classes overlap, and within 3e-4 on breast cancer, where weak penalties
    nearly separate the classes; with ``tol=1e-8`` it is within 1e-6 where classes overlap, at two to four times the
    cost.

    Runs on dense and sparse arrays in memory, with sample weights; folds are weights, and copy no sample.
    Seeger, section 10.2; Rosasco, section 3.3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tenfold import LogisticRegressionCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV(
    ...     Cs=5, l1_ratios=(0,), scoring="neg_log_loss", use_legacy_attributes=False
    ... ).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    >>> round(model.C_, 2), model.certificate_.ok
    (1.0, True)
    """

    _inference = "The penalty was chosen from the data: classical standard errors do not hold. Use the bootstrap."
    __metadata_request__score: ClassVar = {"sample_weight": UNUSED}  # the scorer's to ask for
    _registration: ClassVar = Registration(
        method="Logistic regression, C and l1_ratio by cross-validation",
        texts=("S8", "S10.2", "R3.3"),
        peer="sklearn.linear_model",
        reads=("in memory",),
        where=("arrays", "sparse"),
        instead="Choose C on a sample in memory, then fit LogisticRegression to all rows.",
        certificate=("gap",),
        judge="logistic.logistic",
        outputs="linear_outputs.probabilities",
        choice="logistic.check_choice",
        report_only={
            **REPORT_ONLY,
            "coefs_paths_": "weights of each fold and candidate; LogisticRegression with the C and the share of L1 of "
            "one candidate, fitted to the samples of one fold, computes one again",
            "scores_": "no method reads them, and C_ and l1_ratio_ must be the best of them; cross_val_score with "
            "LogisticRegression of one candidate, the same cv and the same scoring computes one again",
            "passes_": "how often the samples were read on the way",
            "cost_": "how much the choice cost",
        },
        board=Entry(
            "logistic",
            "classification",
            {
                "Cs": np.logspace(-4, 4, 20),
                "l1_ratios": (0.0,),
                "cv": 4,
                "use_legacy_attributes": False,
            },
            expands=True,
        ),
        tuning=Tuning(
            single="LogisticRegression",
            selected={"C": "C_", "l1_ratio": "l1_ratio_"},
            candidates={"C": "Cs_", "l1_ratio": "l1_ratios_"},
            refits=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        **{
            name: rule
            for name, rule in LogisticRegression._constraints.items()
            if name not in ("C", "l1_ratio", "warm_start", "time_limit", "penalty")
        },
        "Cs": (integer(1), array_like()),
        "l1_ratios": (array_like(), nothing(), unset("warn")),
        "cv": (nothing(), integer(2), splitter()),
        "scoring": (choice(*get_scorer_names()), function(), nothing(), unset("warn")),
        "refit": (boolean(),),
        "penalty": (choice("l1", "l2", "elasticnet"), unset("deprecated")),
        "use_legacy_attributes": (boolean(), unset("warn")),
    }

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = "warn",
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: Any = "deprecated",
        scoring: Any = "warn",
        solver: str = "lbfgs",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: Any = "warn",
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.solver = solver
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes

    @restore_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> "LogisticRegressionCV":
        """Choose C and l1_ratio, and fit to X (n, p), classes y (n,) and optional `sample_weight`, a number or
        (n,); `params` go to the splitter and the scorer.
        """
        check_parameters(self, self._constraints)
        ratios, legacy = read_l1_ratios(self), keeps_legacy(self)
        if isinstance(self.scoring, str) and self.scoring == "warn":
            warn_of_change(
                "The default value of the parameter 'scoring' will change from None, i.e. accuracy, to 'neg_log_loss' "
                "in version 1.11. To silence this warning, explicitly set the scoring parameter: "
                "scoring='neg_log_loss' for the new, scoring='accuracy' or scoring=None for the old default."
            )
        X, y = validate(self, X, y, numeric=False, multi_output=False)
        X = X if is_sparse(X) else contiguous(np.asarray(X))
        self.classes_, number = encode_classes(y, X)
        count = len(self.classes_)
        check_liblinear(self.solver, count)
        weight = validate_weights(sample_weight, X)
        routed = self._route(None if sample_weight is None else weight, params)
        splits = check_cv(self.cv, y, classifier=True).split(X, y, **routed.splitter.split)
        trains, tests = rows_of_splits(splits, X.shape[0])
        self.Cs_ = np.logspace(-4, 4, self.Cs) if np.ndim(self.Cs) == 0 else np.asarray(self.Cs, dtype=np.float64)
        # classes are balanced by all samples, in every fold alike
        whole = combine_weights(self._factors(y, weight), self.classes_, number, weight)
        self.class_prior_ = class_frequencies(number, count, whole)
        check_test_folds(whole, tests)
        rows = as_rows(*drop_zero_weights(X, class_targets(number, count), whole))
        trains = select_positive(trains, whole)
        with counting_work() as grid:
            paths, iterations = require_finite(self, X, lambda: self._paths(rows, trains, ratios, count))
        trains.clear()  # numbers of samples, several times as many as there are
        scores = self._scores(X, y, number, tests, paths, routed.scorer.score)
        with counting_work() as last:
            best = self._choose(X, rows, paths, scores, ratios, count)
        self.cost_ = grid.products / last.products if last.products else np.nan
        self._arrange(best, paths, scores, iterations, ratios, legacy, count)
        return self

    def _factors(self, y: Array, weight: Array | None) -> Any:
        """The class weights of the whole data."""
        if isinstance(self.class_weight, dict) and not set(self.class_weight) <= set(self.classes_):
            raise ValueError(
                "The given class_weight dict must have the class labels as keys; "
                f"classes={self.classes_} but key={self.class_weight.keys()}"
            )
        if not isinstance(self.class_weight, str):
            return self.class_weight
        factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=weight)
        return dict(zip(self.classes_, factors, strict=True))

    def _paths(self, rows: Any, folds: list[Integers], ratios: list[Any], count: int) -> tuple[Floats, Integers]:
        """Coefficients (folds, Cs, ratios, outputs, p + 1) and iterations (folds, Cs, ratios)."""
        order = np.argsort(self.Cs_, kind="stable")
        masses = np.array([mass(rows, fold) for fold in folds])
        result = [
            choose_paths(
                rows,
                folds,
                strength(self.Cs_[order], masses[:, None]),
                float(ratio or 0.0),
                self.fit_intercept,
                classes=count,
                solver=SOLVERS[self.solver],
                tol=float(self.tol),
                max_iter=int(self.max_iter),
            )
            for ratio in ratios
        ]
        self.passes_ = sum(one.passes for one in result)
        back = np.argsort(order)
        paths = np.stack([one.params[:, back] for one in result], axis=2)
        return paths, np.stack([one.iterations[:, back] for one in result], axis=2)

    def _scores(
        self, X: Array, y: Array, number: Integers, tests: list[Integers], paths: Floats, given: dict[str, Any]
    ) -> Floats:
        """Scores (folds, Cs, ratios) on the samples that a fold left out."""
        scores = np.zeros(paths.shape[:3])
        name = "accuracy" if self.scoring in (None, "warn") else self.scoring
        known = isinstance(name, str) and name in SCORES and set(given) <= {"sample_weight"}
        of_rows = None if known else pass_classes(self._get_scorer(), self.classes_)
        model = LogisticRegression()
        model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
        for fold, test in enumerate(tests):
            extra = {key: part_of(value, test, len(y)) for key, value in given.items()}
            if of_rows is None:
                flat = paths[fold].reshape(-1, *paths.shape[3:])
                result = known_scores(name, X, test, number[test], extra.get("sample_weight"), flat)
                scores[fold] = result.reshape(scores.shape[1:])
                continue
            rows = X[test]
            if isinstance(name, str) and name == "roc_auc" and not extra and paths.shape[3] == 1:
                flat = paths[fold].reshape(-1, paths.shape[4])
                raw = rows @ flat[:, :-1].T + flat[:, -1]
                scores[fold] = roc_areas(np.asarray(raw), number[test] == 1).reshape(scores.shape[1:])
                continue
            for place in np.ndindex(*scores.shape[1:]):
                params = paths[(fold, *place)]
                model.coef_, model.intercept_ = params[:, :-1].copy(), params[:, -1].copy()
                scores[(fold, *place)] = of_rows(model, rows, y[test], **extra)
        return scores

    def _choose(
        self,
        X: Array,
        rows: Any,
        paths: Floats,
        scores: Floats,
        ratios: list[Any],
        count: int,
    ) -> tuple[float, Any]:
        """C and l1_ratio of the best candidate, fitted to all samples, or the mean of each fold's best."""
        if not self.refit:
            best = [np.unravel_index(np.argmax(part), part.shape) for part in scores]
            mean = np.mean([paths[(f, *place)] for f, place in enumerate(best)], axis=0)
            self.coef_, self.intercept_ = mean[:, :-1].copy(), mean[:, -1].copy()
            note = "The weights are the mean over the folds: they minimise no single objective."
            self.certificate_ = Certificate(
                "gap", np.inf, float(np.log(count)), 1e-6, 0.0, np.inf, status=NOT_JUDGED, note=note
            )
            self.status_ = NOT_JUDGED
            mean_C = float(np.mean([self.Cs_[place[0]] for place in best]))
            return mean_C, float(np.mean([float(ratios[place[1]] or 0.0) for place in best]))
        c, k = np.unravel_index(np.argmax(scores.sum(axis=0)), scores.shape[1:])
        fitted = fit_glm(
            rows,
            loss_of_classes(count),
            PenaltyChoice(float(self.Cs_[c]), float(ratios[k] or 0.0)).penalty(mass(rows)),
            self.fit_intercept,
            outputs=1 if count == 2 else count,
            solver=SOLVERS[self.solver],
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            dtype=rows.dtype,
        )
        self._store(fitted, X)
        return float(self.Cs_[c]), ratios[k]

    def _arrange(
        self,
        best: tuple[float, Any],
        paths: Floats,
        scores: Floats,
        iterations: Array,
        ratios: list[Any],
        legacy: bool,
        count: int,
    ) -> None:
        """Attributes in scikit-learn's shapes."""
        paths = paths if self.fit_intercept else paths[..., :-1]
        self.l1_ratios_ = np.asarray(ratios)
        C, ratio = best
        plain = ratios == [None]
        result: dict[str, Any]
        if not legacy:
            share = float(self.penalty == "l1") if plain else float(ratio or 0.0)
            result = {"C_": float(C), "l1_ratio_": share, "coefs_paths_": np.moveaxis(paths, 2, 1)}
            result |= {"scores_": np.moveaxis(scores, 2, 1), "n_iter_": np.moveaxis(iterations, 2, 1)}
        else:
            names = self.classes_[-1:] if count == 2 else self.classes_
            inside = (slice(None), slice(None), 0) if plain else ()
            result = {"C_": np.full(len(names), C), "l1_ratio_": np.array([ratio] * len(names))}
            result["coefs_paths_"] = {name: paths[:, :, :, k][inside] for k, name in enumerate(names)}
            result["scores_"] = dict.fromkeys(names, scores[inside])
            result["n_iter_"] = iterations[inside][None]
        for name, value in result.items():
            setattr(self, name, value)

    def _get_scorer(self) -> Any:
        return get_scorer("accuracy" if self.scoring in (None, "warn") else self.scoring)

    def _route(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """What goes to the splitter and to the scorer."""
        if get_config()["enable_metadata_routing"]:
            given = params if sample_weight is None else {**params, "sample_weight": sample_weight}
            return process_routing(self, "fit", **given)
        check_no_extra_params(self, params)
        return _Routed({} if sample_weight is None else {"sample_weight": sample_weight})

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, **score_params: Any) -> float:
        """The score of `scoring`, accuracy by default, for X with classes y and optional `sample_weight`;
        `score_params` go to the scorer.
        """
        given = score_params if sample_weight is None else {**score_params, "sample_weight": sample_weight}
        if get_config()["enable_metadata_routing"]:
            given = process_routing(self, "score", **given).scorer.score
        return float(self._get_scorer()(self, X, y, **given))

    def get_metadata_routing(self) -> MetadataRouter:
        """Which metadata go to the splitter and to the scorer."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(
                scorer=self._get_scorer(),
                method_mapping=MethodMapping().add(caller="score", callee="score").add(caller="fit", callee="score"),
            )
        )


class _Routed:
    """Metadata without routing: the scorer gets the weights, the splitter nothing."""

    def __init__(self, score: dict[str, Any]) -> None:
        self.splitter = _Part(split={})
        self.scorer = _Part(score=score)


class _Part:
    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)
