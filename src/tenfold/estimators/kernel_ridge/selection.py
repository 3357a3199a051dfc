"""Alpha and the kernel chosen by exact leave-one-out or exact folds: the base of both classes."""

import numbers
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import Bunch, check_scalar

from tenfold.arrays import Array, Floats, is_array_api, on_host, wide
from tenfold.cross_validation.kernel_ridge import Samples, paths
from tenfold.cross_validation.prediction_scores import SCORES, choose
from tenfold.cross_validation.ridge_kfold import Split
from tenfold.estimators.cv_scoring import SCORING, CvScoringMixin, select_rows
from tenfold.estimators.kernel_parameter import KERNEL, WITH_GAMMA, check_samples, name_kernel
from tenfold.estimators.kernel_ridge.model import KernelModel, dtype_of
from tenfold.estimators.parameters import Constraints, array_like, nothing, real
from tenfold.estimators.schema import Check, anything
from tenfold.estimators.validation import as_rows, require_finite
from tenfold.kernels import Kernel, width_grid
from tenfold.plans.kernel_ridge import KernelFit, check_kernel, fit

WIDTHS = 10  # of the grid where no gammas are given

REPORT_ONLY = {
    "method_": "how the system was solved, in words",
    "cv_method_": "how the choice was made, in words",
    "cv_results_": "no method reads it, and alpha_, gamma_ and best_score_ must be the best of it; judged where it "
    "holds mean squared leave-one-out errors of few samples",
    "best_score_": "must be the best of cv_results_",
}
CHOSEN: dict[str, Check] = {"gamma_": anything(), "gammas_": anything()}

Candidates = list[tuple[float | None, Kernel]]


class ChoosingKernelRidge(CvScoringMixin, KernelModel):
    """Base of KernelRidgeCV and KernelRidgeClassifierCV."""

    _constraints: ClassVar[Constraints] = {
        "alphas": (array_like(), real(0, closed="neither")),
        **{name: checks for name, checks in KERNEL.items() if name != "gamma"},
        "kernel": (*KERNEL["kernel"], array_like()),
        "gammas": (array_like(), real(0), nothing()),
        **SCORING,
    }

    alphas: Any
    gammas: Any
    degree: float
    coef0: float
    kernel_params: Any
    alpha_: float
    gamma_: float | None

    def _choose(self, X: Array, y: Array, Y: Array, weight: Array | None, params: dict[str, Any]) -> None:
        """Choose, fit with the choice and store; y are the targets as given, Y as numbers (n,) or (n, t)."""
        alphas = self._check_alphas()
        routed = self._route_parameters(weight, params)

        def work() -> Any:
            samples = check_samples(self.kernel, X)
            targets = as_rows(samples, Y, weight).whole().y
            candidates = self._candidate_kernels(samples)
            for _, kernel in candidates:
                check_kernel(kernel, samples)
            kernel = self._score_candidates(Samples(samples, targets, weight), y, candidates, alphas, routed)
            chosen = np.full(targets.shape[1], self.alpha_)
            return samples, kernel, fit(kernel, samples, targets, weight, chosen, dtype_of(X))

        chosen: tuple[Array, Kernel, KernelFit] = require_finite(self, X, work)
        self._store(*chosen, weight, Y.ndim == 1)

    def _check_alphas(self) -> Floats:
        """The candidates (A,); positive for leave-one-out, at least zero otherwise."""
        values = [self.alphas] if np.ndim(self.alphas) == 0 else list(self.alphas)
        if not values:
            raise ValueError(f"alphas must hold at least one number, got {self.alphas!r}.")
        for i, value in enumerate(values):
            name = "alphas" if len(values) == 1 else f"alphas[{i}]"
            bounds = "neither" if self.cv is None else "left"
            check_scalar(value, name, target_type=numbers.Real, min_val=0.0, include_boundaries=bounds)
        return np.asarray(values, dtype=np.float64)

    def _candidate_kernels(self, X: Array) -> Candidates:
        """The kernels that are tried, with their gammas; in ascending order where the grid is ours."""
        rest = {"degree": self.degree, "coef0": self.coef0, "params": self.kernel_params}
        named = isinstance(self.kernel, str) and self.kernel in WITH_GAMMA
        if self.gammas is not None and not named:
            raise ValueError(
                f"gammas are those of kernels by name that have one ({', '.join(WITH_GAMMA)}), got the kernel "
                f"{self.kernel!r}: give the kernels to choose from as a list."
            )
        if isinstance(self.kernel, (list, tuple, np.ndarray)):
            if not len(self.kernel):
                raise ValueError("kernel must hold at least one kernel, got an empty list.")
            return [(None, name_kernel(kernel, X, gamma=None, **rest)) for kernel in self.kernel]
        gammas = self._default_gammas(X) if self.gammas is None else np.ravel(self.gammas).tolist()
        if not gammas:
            raise ValueError(f"gammas must hold at least one number, got {self.gammas!r}.")
        return [(gamma, name_kernel(self.kernel, X, gamma=gamma, **rest)) for gamma in gammas]

    def _default_gammas(self, X: Array) -> list[float | None]:
        if self.kernel not in ("rbf", "laplacian") or not isinstance(self.kernel, str):
            return [None]
        widths = width_grid(X, WIDTHS)[::-1]
        # |x - z|_1 is about sqrt(p) |x - z|_2
        grid = 0.5 / widths**2 if self.kernel == "rbf" else 1.0 / (widths * np.sqrt(X.shape[1]))
        return [float(gamma) for gamma in grid]

    def _find_kernel(self, X: Array) -> Kernel:
        """The candidate that the fitted attributes name; the first where they name none."""
        candidates = self._candidate_kernels(X)
        named = [kernel for gamma, kernel in candidates if gamma == self.gamma_ and kernel == self.kernel_]
        return named[0] if named else candidates[0][1]

    def _score_candidates(
        self, samples: Samples, y: Array, candidates: Candidates, alphas: Floats, routed: Bunch
    ) -> Kernel:
        """Set the results of all candidates, and return the kernel that is chosen."""
        n = samples.Y.shape[0]
        splits = None if self.cv is None else self._split(samples, y, routed)
        if splits is None and n < 2:
            raise ValueError(f"Leave-one-out needs at least 2 samples, got n_samples = {n}.")
        results = paths([kernel for _, kernel in candidates], samples, alphas, splits)
        parts: list[Split | None] = [None] if splits is None else list(splits)
        scores = np.array(
            [
                [self._score(predicted, samples, part, routed) for predicted, part in zip(result, parts, strict=True)]
                for result, _ in results
            ]
        )  # (kernels, splits, A)
        mean = scores.mean(axis=1)
        g, a = choose(mean, alphas)
        self.alpha_, self.gamma_, self.best_score_ = float(alphas[a]), candidates[g][0], float(mean[g, a])
        self.alphas_ = alphas
        self.gammas_ = np.array([gamma for gamma, _ in candidates], dtype=object if candidates[0][0] is None else None)
        self.cv_results_ = _tabulate(candidates, alphas, scores, np.stack([errors for _, errors in results]))
        how = f"exact leave-one-out of {n} samples" if splits is None else f"{len(splits)} exact splits"
        self.cv_method_ = f"{how} for {len(candidates)} kernels and {len(alphas)} alphas, without refitting"
        return candidates[g][1]

    def _split(self, samples: Samples, y: Array, routed: Bunch) -> list[Split]:
        n = samples.Y.shape[0]
        if is_array_api(y):
            blind = not is_classifier(self) and isinstance(self.cv, (numbers.Integral, KFold))
            y = None if blind else on_host(y)
        X = np.zeros((n, 1)) if is_array_api(samples.X) else samples.X
        splits = check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y, **routed.splitter.split)
        result = [Split.of(train, test, n) for train, test in splits]
        if not result:
            raise ValueError("cv gives no splits.")
        return result

    def _score(self, predicted: Floats, samples: Samples, split: Split | None, routed: Bunch) -> Floats:
        """The scores (A,) of predictions (m, t, A) for the test samples of a split, or for all."""
        n = samples.Y.shape[0]
        test = np.arange(n) if split is None else split.test
        Y = wide(samples.Y)[test]
        if split is not None and is_classifier(self):
            predicted = _without_missing(predicted, wide(samples.Y)[split.training_rows(n)], self._several)
        if self.scoring is None and split is None:  # as RidgeCV: the mean over all samples of weighted squares
            weight = np.ones(n) if samples.weight is None else wide(samples.weight)
            return SCORES["neg_mean_squared_error"](predicted, Y, weight) * (np.sum(weight) / n)
        usual = "accuracy" if is_classifier(self) else "r2"
        name = usual if self.scoring is None else self.scoring
        parameters = {key: select_rows(value, test, n) for key, value in routed.scorer.score.items()}
        enough = len(test) > 1 and not getattr(self, "_several", False)
        plain = isinstance(name, str) and name in SCORES and set(parameters) <= {"sample_weight"}
        if plain and (name == "accuracy") == is_classifier(self) and enough:
            weight = np.asarray(parameters.get("sample_weight", np.ones(len(test))), dtype=np.float64)
            return SCORES[name](predicted, Y, weight)
        return self._score_predictions(predicted, Y, Bunch(scorer=Bunch(score=parameters)))[:, 0]


def _without_missing(predicted: Floats, training: Floats, several: bool) -> Floats:
    """Predictions in which a class that no training sample has is never chosen."""
    if several:
        return predicted
    present = np.any(training > 0.0, axis=0)
    if training.shape[1] == 1:
        present = np.array([np.any(training < 0.0), present[0]])
        if present.all():
            return predicted
        return np.full_like(predicted, np.inf if present[1] else -np.inf)
    return np.where(present[None, :, None], predicted, -np.inf)


def _tabulate(candidates: Candidates, alphas: Floats, scores: Floats, errors: Floats) -> dict[str, Any]:
    """A column of each part of the results, a row for each kernel and alpha."""
    count = len(alphas)
    mean = scores.mean(axis=1).ravel()
    ranked = np.where(np.isfinite(mean), -mean, np.inf)
    table: dict[str, Any] = {
        "param_alpha": np.tile(alphas, len(candidates)),
        "param_gamma": np.repeat([np.nan if gamma is None else gamma for gamma, _ in candidates], count),
        "param_kernel": np.repeat([repr(kernel) for _, kernel in candidates], count),
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1).ravel(),
        "rank_test_score": np.searchsorted(np.sort(ranked), ranked).astype(np.int32) + 1,
        "relative_error": errors.ravel(),
    }
    if scores.shape[1] > 1:
        table |= {f"split{k}_test_score": scores[:, k].ravel() for k in range(scores.shape[1])}
    return table
