"""The penalty of ridge regression chosen by exact leave-one-out, or exact folds: the base of both classes."""

import numbers
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import Bunch, check_scalar

from tenfold.arrays import Array, Floats, contiguous, is_array_api, is_sparse, on_host
from tenfold.cross_validation.ridge_kfold import SCORES, Fold, Split, folds, score_from_moments, score_from_rows, subset
from tenfold.cross_validation.ridge_loo import JackknifePlus, jackknife_plus, leave_one_out
from tenfold.cross_validation.ridge_spectrum import UNEVEN, Tall, Wide, agrees, coef_of_each, of, tall_by_rows
from tenfold.data import MemoryRows, Rows, targets_of, weights_of
from tenfold.estimators.cv_scoring import SCORING, CvScoringMixin, score_model, select_rows
from tenfold.estimators.least_squares.ridge import Ridge
from tenfold.estimators.parameters import Constraints, array_like, boolean, real
from tenfold.estimators.predictors import LinearPredictor
from tenfold.estimators.validation import as_rows, require_finite, store, warn_unless_certified
from tenfold.plans import Fitted
from tenfold.plans.least_squares import fit as fit_least_squares
from tenfold.plans.least_squares import fold_moments, from_moments
from tenfold.stats.derivatives import Params, predictions
from tenfold.stats.moments import Moments

KEPT_ENTRIES = 1 << 22  # entries of X that are kept for prediction intervals: 32 MiB


REPORT_ONLY = {
    "best_score_": "judged where it is minus a mean squared leave-one-out error; else cross_val_score with the "
    "model of alpha_, the same cv and the same scoring computes it again",
    "cv_errors_": "no method reads them, and alpha_ must be the best of them; cross_val_score with the model of "
    "one alpha, the same cv and the same scoring computes one again",
    "cv_results_": "judged where they are squared leave-one-out errors; else a fit without a sample computes its "
    "prediction again",
    "cv_method_": "how the choice was made, in words",
}


class ChoosingRidge(CvScoringMixin, LinearPredictor, BaseEstimator):
    """Base of RidgeCV and RidgeClassifierCV."""

    _constraints: ClassVar[Constraints] = {
        "alphas": (array_like(), real(0, closed="neither")),
        "fit_intercept": (boolean(),),
        **SCORING,
        "store_cv_results": (boolean(),),
    }

    alphas: Any
    fit_intercept: bool
    scoring: Any
    cv: Any
    store_cv_results: bool
    alpha_per_target: bool = False

    def _choose(self, X: Array, y: Array, Y: Array, weight: Array | None, params: dict[str, Any]) -> None:
        """Choose alpha, fit with it and store; y are the targets as given, Y as numbers (n,) or (n, t)."""
        alphas = self._check_alphas()
        routed = self._route_parameters(weight, params)
        if self.cv is not None and (self.store_cv_results or self.alpha_per_target):
            name = "store_cv_results" if self.store_cv_results else "alpha_per_target"
            raise ValueError(f"cv!=None and {name}=True are incompatible")
        rows = as_rows(X, Y, weight)
        fitted = require_finite(self, X, lambda: self._choose_on(rows, y, alphas, routed))
        flat = rows.targets == 1
        store(self, fitted, X, coef_flat=flat, intercept_flat=Y.ndim == 1, intercept=self.fit_intercept)
        warn_unless_certified(self)
        self.alphas_ = alphas

    def _choose_on(self, rows: Rows, y: Array, alphas: Floats, routed: Bunch) -> Fitted:
        dtype = rows.dtype
        tall = rows.shape[0] >= rows.shape[1]
        if self.cv is not None:
            chosen, moments = self._by_folds(rows, y, alphas, routed)
            return self._refit(rows, fold_moments(rows) if tall and moments is None else moments, chosen, None)
        moments = fold_moments(rows) if tall else None
        spectrum = of(rows, self.fit_intercept, moments)
        total = float(np.sum(spectrum.data.root**2)) if isinstance(spectrum, Wide) else spectrum.weight
        chosen = self._by_leave_one_out(rows, spectrum, total, alphas, routed)
        fitted = self._refit(rows, moments, chosen, coef_of_each(spectrum, chosen) if moments is None else None)
        if moments is None or self._agrees(spectrum, chosen, fitted, moments, dtype):
            return fitted
        spectrum = tall_by_rows(rows, moments, self.fit_intercept)
        chosen = self._by_leave_one_out(rows, spectrum, total, alphas, routed)
        fitted = self._refit(rows, moments, chosen, None)
        if not self._agrees(spectrum, chosen, fitted, moments, dtype):
            raise ValueError(UNEVEN)
        return fitted

    def _refit(self, rows: Rows, moments: Moments | None, alpha: Floats, wide_coef: Floats | None) -> Fitted:
        """The certified fit with each target's alpha."""
        dtype = rows.dtype
        if moments is None:
            return fit_least_squares(rows, alpha, self.fit_intercept, dtype=dtype, wide_coef=wide_coef)
        return from_moments(rows, moments, alpha, self.fit_intercept, dtype=dtype)

    def _agrees(self, spectrum: Tall | Wide, alpha: Floats, fitted: Fitted, moments: Moments, dtype: Any) -> bool:
        """Whether the errors of the candidates can be relied on; weights kept in single precision cannot tell."""
        if isinstance(spectrum, Wide) or dtype == np.float32:
            return True
        return agrees(spectrum, alpha, fitted.params.coef, moments, self.fit_intercept)

    def _check_alphas(self) -> Floats:
        """The candidates (A,); positive for leave-one-out, at least zero otherwise."""
        bounds = "neither" if self.cv is None else "left"
        values = [self.alphas] if np.ndim(self.alphas) == 0 else list(self.alphas)
        if not values:
            raise ValueError(f"alphas must hold at least one number, got {self.alphas!r}.")
        for i, value in enumerate(values):
            name = "alphas" if len(values) == 1 else f"alphas[{i}]"
            check_scalar(value, name, target_type=numbers.Real, min_val=0.0, include_boundaries=bounds)
        return np.asarray(values, dtype=np.float64)

    # -- leave-one-out
    # -------------------------------------------------------------------------------------------------------------

    def _by_leave_one_out(
        self, rows: Rows, spectrum: Tall | Wide, total: float, alphas: Floats, routed: Bunch
    ) -> Floats:
        """Set the scores of leaving out each sample and return each target's alpha."""
        n, t = rows.shape[0], rows.targets
        if n < 2:
            raise ValueError(
                f"Leave-one-out needs at least 2 samples, got n_samples = {n}: leaving out the only row leaves nothing."
            )
        keep = self.store_cv_results or self.scoring is not None
        left = leave_one_out(rows, spectrum, alphas, total, self.fit_intercept, keep=keep)
        if self.scoring is None:
            scores = -left.squares.T / n if self.alpha_per_target else -left.squares.sum(axis=0)[:, None] / (n * t)
        else:
            assert left.errors is not None
            y = on_host(rows.map(targets_of))
            scores = self._score_predictions(y[:, :, None] - left.errors, y, routed)
        best = np.argmax(scores, axis=0)
        chosen = np.broadcast_to(alphas[best], t).copy()
        self.alpha_ = chosen if self.alpha_per_target and t > 1 else float(chosen[0])
        best_scores = scores[best, np.arange(scores.shape[1])]
        self.best_score_ = best_scores if self.alpha_per_target and not self._flat else float(best_scores[0])
        self.cv_errors_ = left.squares.sum(axis=0) / (n * t)
        self.cv_method_ = f"exact leave-one-out of {n} rows for {len(alphas)} alphas from one eigendecomposition"
        if self.store_cv_results:
            assert left.errors is not None
            self._store_results(left.errors, rows)
        self._keep_intervals(rows, spectrum, chosen, total, left.errors, best)
        return chosen

    def _store_results(self, errors: Floats, rows: Rows) -> None:
        if self.scoring is None:
            results = errors**2 * on_host(rows.map(weights_of))[:, None, None]
        else:
            results = on_host(rows.map(targets_of))[:, :, None] - errors
        drop = rows.targets == 1 and not is_classifier(self) and self._flat
        self.cv_results_ = (results[:, 0] if drop else results).astype(rows.dtype)

    def _keep_intervals(
        self, rows: Rows, spectrum: Tall | Wide, chosen: Floats, total: float, errors: Floats | None, best: Array
    ) -> None:
        """Store the data of jackknife+ intervals, where they are small."""
        self._jackknife: tuple[JackknifePlus, ...] | str
        if rows.on_device:
            self._jackknife = "Prediction intervals keep the training rows, in NumPy arrays: fit RidgeCV on those."
            return
        if rows.shape[0] * rows.shape[1] > KEPT_ENTRIES:
            self._jackknife = (
                f"Prediction intervals need the training rows, and more than {KEPT_ENTRIES:,} entries are not kept "
                "with the model. "
                "Fit RidgeCV on a sample of the rows for intervals."
            )
            return
        if errors is None:
            errors = leave_one_out(rows, spectrum, np.unique(chosen), total, self.fit_intercept, keep=True).errors
            index = np.searchsorted(np.unique(chosen), chosen)
        else:
            index = np.broadcast_to(best, len(chosen))
        assert errors is not None
        self._jackknife = tuple(
            jackknife_plus(
                rows, spectrum, float(alpha), np.ascontiguousarray(errors[:, k, index[k]]), total, self.fit_intercept
            )
            for k, alpha in enumerate(chosen)
        )

    # -- folds -------------------------------------------------------------------------------------------------------
    # --------------

    def _by_folds(self, rows: Rows, y: Array, alphas: Floats, routed: Bunch) -> tuple[Floats, Moments | None]:
        """Set the mean scores over the splits; return the alpha of every target, and all samples' moments or None."""
        self._jackknife = "Prediction intervals come from leave-one-out residuals: set cv=None."
        if is_array_api(y):
            # only splitters use y, and unstratified folds only its length
            blind = not is_classifier(self) and isinstance(self.cv, (numbers.Integral, KFold))
            y = None if blind else on_host(y)
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        given = splitter.split(_input_of_splitter(rows), y, **routed.splitter.split)
        splits = [Split.of(train, test, rows.shape[0]) for train, test in given]
        models, how, total = folds(rows, splits, alphas, self.fit_intercept)
        scores = np.array(
            [
                self._fold_scores(rows, y, fold, split, alphas, routed)
                for fold, split in zip(models, splits, strict=True)
            ]
        )
        mean = scores.mean(axis=0)
        best = int(np.nanargmax(mean)) if np.isfinite(mean).any() else 0
        self.alpha_, self.best_score_ = float(alphas[best]), float(mean[best])
        self.cv_errors_, self.cv_method_ = -mean, how
        return np.full(rows.targets, alphas[best]), total

    def _fold_scores(self, rows: Rows, y: Array, fold: Fold, split: Split, alphas: Floats, routed: Bunch) -> Floats:
        """The scores (A,) of one split."""
        # fit and score have the same weights, so the moments of the test samples suffice
        if not is_classifier(self) and (self.scoring is None or isinstance(self.scoring, str)):
            scores = score_from_moments(self.scoring or "r2", fold)
            if scores is not None:
                return scores
        train, test = split.training_rows(rows.shape[0]), split.test
        if rows.distributed:
            return self._score_on_cluster(rows, fold, test, "sample_weight" in routed.scorer.score)
        parameters = {name: select_rows(value, test, rows.shape[0]) for name, value in routed.scorer.score.items()}
        if rows.on_device:
            return self._score_on_device(subset(rows, test), fold, parameters)
        X_test, y_test = contiguous_rows(rows.whole().X, test), y[test]
        models = (self._model(fold, a, alpha, y, train, rows) for a, alpha in enumerate(alphas))
        return np.array([score_model(self._scorer(), model, X_test, y_test, parameters) for model in models])

    def _score_on_cluster(self, rows: Rows, fold: Fold, test: Array, weighted: bool) -> Floats:
        """The score of every alpha on test samples of a cluster; transfers only sums."""
        usual = "accuracy" if is_classifier(self) else "r2"
        known = ("accuracy",) if is_classifier(self) else tuple(SCORES)
        if (name := self.scoring or usual) not in known:
            raise ValueError(
                f"On a cluster folds are scored by {', '.join(known)}; scoring={self.scoring!r} asks for predictions "
                f"of all {rows.shape[0]:,} rows on the client. Use one of these, or pass X.compute()."
            )
        inside = np.zeros(rows.shape[0], dtype=np.int32)
        inside[test] = 1
        multi_output = is_classifier(self) and self._several
        return score_from_rows(name, rows.regroup(inside), fold, weighted=weighted, multi_output=multi_output)

    def _score_on_device(self, rows: Rows, fold: Fold, parameters: dict[str, Any]) -> Floats:
        """The score of every alpha on test samples of a device; transfers only predictions."""
        A, t, p = fold.coef.shape
        z = on_host(rows.map(predictions(Params(fold.coef.reshape(A * t, p), fold.intercept.ravel()))))
        predicted = np.moveaxis(z.reshape(-1, A, t), 1, 2)
        return self._score_predictions(predicted, on_host(rows.map(targets_of)), Bunch(scorer=Bunch(score=parameters)))[
            :, 0
        ]

    def _model(self, fold: Fold, index: int, alpha: float, y: Array, train: Array, rows: Rows) -> Any:
        """A fitted estimator of one split and alpha, for scorers."""
        model = Ridge(alpha, fit_intercept=self.fit_intercept)
        coef = fold.coef[index].astype(rows.dtype)
        model.coef_ = coef[0] if len(coef) == 1 else coef
        intercept = fold.intercept[index]
        model.intercept_ = intercept[0] if self._flat else intercept
        model.n_features_in_ = coef.shape[1]
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _input_of_splitter(rows: Rows) -> Array:
    """X for a splitter, which mostly only needs its number of samples."""
    return rows.whole().X if isinstance(rows, MemoryRows) and not rows.on_device else np.zeros((rows.shape[0], 1))


def contiguous_rows(X: Array, index: Array) -> Array:
    """Some rows of X, dense in C order or CSR."""
    return X[index] if is_sparse(X) else contiguous(X[index])
