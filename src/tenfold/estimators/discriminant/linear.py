"""Linear discriminant analysis."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from tenfold.arrays import Array, Floats, numpy_dtype, wide
from tenfold.data import Rows
from tenfold.estimators.by_class import PARTS, TooFewRows, as_precise
from tenfold.estimators.contract import follow
from tenfold.estimators.discriminant.gaussian import GaussianClasses
from tenfold.estimators.entries import Entry
from tenfold.estimators.parameters import Constraints, array_like, boolean, choice, has_methods, integer, nothing, real
from tenfold.estimators.registration import Registration
from tenfold.judge import directions as along
from tenfold.judge import discriminant as judge
from tenfold.judge.certificate import Certificate
from tenfold.plans import discriminant as plan
from tenfold.stats.derivatives import Params, times
from tenfold.stats.moments import GroupedMoments
from tenfold.stats.within import WithinMoments


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClasses):
    """Gaussian classes with one covariance: linear discriminants, and directions that tell classes apart.

    ``score_c(x) = x'S^-1 m_c - 1/2 m_c'S^-1 m_c + log q_c`` with the weighted mean m_c and prior q_c of class c, and S
    the covariance within classes. `transform` gives Fisher's directions, the v with the largest ``v'Bv / v'Sv``, B the
    covariance between the means.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default="svd"
        All from the moments of one pass. "svd" leaves out directions in which classes do not vary; "lsqr" and "eigen"
        take shrinkage; "lsqr" has no `transform`.
    shrinkage : "auto" or float in [0, 1], default=None
        How far each class's covariance is moved towards a sphere; "auto" as Ledoit and Wolf (2004) say, on columns of
        unit variance, by one more pass.
    priors : array-like of shape (n_classes,), default=None
        Else the shares of the classes.
    n_components : int, default=None
        Directions of `transform`, at most min(n_classes - 1, n_features).
    store_covariance : bool, default=False
        Whether "svd" keeps `covariance_` too.
    tol : float, default=1e-4
        Least spread within classes of a direction that "svd" keeps, in units of each column's own.
    covariance_estimator : estimator with `fit` and `covariance_`, default=None
        In place of the covariances; needs the rows in memory.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the features, one vector for two classes (for the second), else one for each class.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts, one for two classes, else one for each; zero with ``fit_intercept=False``.
    means_ : ndarray of shape (n_classes, n_features)
        Weighted means of the classes.
    priors_ : ndarray of shape (n_classes,)
        Priors of the classes, given or learned.
    covariance_ : ndarray of shape (n_features, n_features)
        Within classes, by the priors.
    scalings_ : ndarray of shape (n_features, rank)
        Directions, of unit variance within classes.
    xbar_ : ndarray of shape (n_features,)
        The mean of the means by the priors, with "svd".
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the variance between the classes along each direction.
    certificate_ : Certificate
        Kind exact: means, directions and weights satisfy their equations with the covariance of the rows, which the
        judge never forms.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only where X had names, all of them strings.

    Notes
    -----
    One pass over the rows, and one with products to judge; memory n_features^2, and as much for each class where its
    covariance is asked for: with shrinkage, `store_covariance` or another solver than "svd". Runs on dense
    arrays, files, devices and Dask collections, with sample weights. `partial_fit` takes rows in parts.
    Seeger, sections 6.4 and 11.2; Cookbook, ch. 16; Welling, ch. 13.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tenfold import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> model.score(X, y), model.certificate_.ok
    (0.98, True)
    >>> model.explained_variance_ratio_.round(4)
    array([0.9912, 0.0088])
    """

    _reveals: ClassVar[bool] = True
    _registration: ClassVar = Registration(
        method="Linear discriminant analysis",
        texts=("S6.4", "S11.2", "B16", "W13"),
        peer="sklearn.discriminant_analysis",
        reads=("one pass",),
        where=("arrays", "files", "Dask", "devices"),
        instead="Covariances of sparse rows are dense: take X.toarray().",
        certificate=("exact",),
        judge="by_class.sums",
        outputs="by_class.directions",
        board=Entry(
            "lda",
            "classification",
            {"solver": "lsqr", "shrinkage": "auto"},
            most_columns=2000,
            dense=True,
        ),
    )
    _constraints: ClassVar[Constraints] = {
        "solver": (choice("svd", "lsqr", "eigen"),),
        "shrinkage": (nothing(), choice("auto"), real(0, 1, "both")),
        "priors": (nothing(), array_like()),
        "n_components": (nothing(), integer(1)),
        "store_covariance": (boolean(),),
        "tol": (real(0),),
        "covariance_estimator": (nothing(), has_methods("fit")),
    }

    means_: Array
    coef_: Array
    intercept_: Array

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    def _fold(self, rows: Rows, classes: int) -> GroupedMoments | WithinMoments:
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if self.solver == "svd" and self.covariance_estimator is not None:
            raise ValueError("covariance estimator is not supported with svd solver. Try another solver")
        if self._pooled:
            return plan.fold_within(rows, classes)
        moments = super()._fold(rows, classes)
        if self.solver == "eigen":
            self._shrink_total(rows, moments)
        return moments

    @property
    def _pooled(self) -> bool:
        """Whether the covariance within all classes is enough, and that of each is not asked for."""
        return self.solver == "svd" and not self.store_covariance

    def _merge(self, before: GroupedMoments | WithinMoments, new: GroupedMoments | WithinMoments) -> Any:
        if isinstance(before, WithinMoments) and isinstance(new, GroupedMoments):
            raise ValueError(
                "The covariances of the classes were not kept by the first fit, with solver='svd' and without "
                "store_covariance: fit again on all rows."
            )
        if isinstance(before, GroupedMoments) and isinstance(new, WithinMoments):
            before = WithinMoments.of(before)
        return super()._merge(before, new)

    def _shrink_total(self, rows: Rows, moments: GroupedMoments) -> None:
        """How far the covariance of all rows is to be moved towards a sphere, or what the user's estimator finds."""
        if self.covariance_estimator is not None:
            self._given_total = self._estimated_total(rows)
        elif self.shrinkage == "auto":
            found = plan.Classes.of(moments)
            mean = found.weight @ found.mean / found.weight.sum()
            whole = plan.Classes(found.weight.sum(keepdims=True), mean[None, :], found.total()[None, :, :])
            self._total_amount = float(plan.ledoit_wolf(plan.as_one_class(rows), whole)[0])
        else:
            self._total_amount = 0.0 if self.shrinkage is None else float(self.shrinkage)

    def _estimated_total(self, rows: Rows) -> Floats:
        estimator = clone(self.covariance_estimator, safe=False)
        estimator.fit(rows.whole().X)
        return wide(estimator.covariance_)

    def _estimate(self, sums: GroupedMoments | WithinMoments, X: Array) -> None:
        pooled = sums if isinstance(sums, WithinMoments) else WithinMoments.of(sums)
        if pooled.count <= len(pooled.weight):
            raise TooFewRows(
                f"The number of samples must be more than the number of classes: got {pooled.count} sample(s)."
            )
        self._refuse_empty(pooled.count, pooled.weight)
        priors = self._set_priors(pooled.weight)
        components = self._components(len(priors))
        for name in ("scalings_", "xbar_", "explained_variance_ratio_", "covariance_"):
            self.__dict__.pop(name, None)
        if isinstance(sums, WithinMoments):
            found = plan.by_whitening(pooled, priors, components, self.tol)
        else:
            found = self._from_classes(plan.Classes.of(sums), pooled, priors, X)
        if self.solver == "svd":
            self.xbar_ = follow(priors @ pooled.mean, X)
        if found.directions is not None and found.shares is not None:
            self.scalings_ = follow(found.directions, X)
            self.explained_variance_ratio_ = follow(found.shares, X)
        two = len(priors) == 2
        self.coef_ = follow(found.coef[1:] - found.coef[:1] if two else found.coef, X)
        self.intercept_ = follow(found.intercept[1:] - found.intercept[:1] if two else found.intercept, X)
        self.means_, self.priors_ = follow(pooled.mean, X), follow(priors, X)
        self._max_components = self._n_features_out = components

    def _from_classes(self, classes: plan.Classes, pooled: WithinMoments, priors: Floats, X: Array) -> plan.Linear:
        S, components = self._covariance(classes, priors), self._components(len(priors))
        self.covariance_ = follow(S, X)
        if self.solver == "svd":
            return plan.by_whitening(pooled, priors, components, self.tol)
        if self.solver == "lsqr":
            return plan.by_solving(classes, S, priors)
        return plan.by_eigenvectors(classes, S, self._total(classes), priors, components)

    def _components(self, classes: int) -> int:
        most = min(classes - 1, self.n_features_in_)
        if self.n_components is not None and self.n_components > most:
            raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")
        return most if self.n_components is None else self.n_components

    def _covariance(self, classes: plan.Classes, priors: Floats) -> Floats:
        """Within classes, shrunk."""
        if self._given is not None:
            return np.einsum("k,kij->ij", priors, self._given)
        shrink = plan.unit_shrunk if self.shrinkage == "auto" else plan.shrunk
        moved = [shrink(S, a) if a else S for S, a in zip(classes.covariance, self._amounts, strict=True)]
        return np.einsum("k,kij->ij", priors, np.array(moved))

    def _total(self, classes: plan.Classes) -> Floats:
        """Of all rows, shrunk as one class."""
        if self.covariance_estimator is not None:
            return self._given_total
        shrink = plan.unit_shrunk if self.shrinkage == "auto" else plan.shrunk
        return shrink(classes.total(), self._total_amount)

    def _judge(self, rows: Rows | None) -> Certificate:
        mean, priors, coef = wide(self.means_), wide(self.priors_), np.atleast_2d(wide(self.coef_))
        stored = judge.Stored(mean, priors, coef, wide(self.intercept_), numpy_dtype(self.means_.dtype))
        return (self._judge_whitened if self.solver == "svd" else self._judge_solved)(rows, stored)

    def _judge_whitened(self, rows: Rows | None, stored: judge.Stored) -> Certificate:
        mean, directions = stored.mean, wide(self.scalings_)
        if rows is None:
            seen = along.Along.of_moments(self._sums, mean, directions)
        else:
            seen = along.Along.of_rows(rows, mean, directions)
        more = {"priors": judge.judge_priors(stored.priors, seen.weight, self._given_priors())}
        if self.store_covariance:
            asked = judge.probes(seen.within[None])[0]
            expected = self._witness(rows, mean, asked[None]).pooled_products(stored.priors, asked)
            more |= judge.judge_covariance(wide(self.covariance_), asked, expected, np.sqrt(seen.within))
        return along.whitened(
            seen,
            stored,
            directions,
            float(self.tol),
            centre=wide(self.xbar_),
            shares=wide(self.explained_variance_ratio_),
            more=more,
            note=PARTS if rows is None else "",
        )

    def _judge_solved(self, rows: Rows | None, stored: judge.Stored) -> Certificate:
        mean, S = stored.mean, wide(self.covariance_)
        axes = (wide(self.scalings_), wide(self.explained_variance_ratio_)) if self.solver == "eigen" else None
        asked = np.vstack(
            [stored.against_first()[0], *(() if axes is None else (axes[0].T,)), judge.probes(np.diag(S)[None])[0]]
        )
        seen = self._witness(rows, mean, asked[None])
        if axes is not None and axes[1].shape != (self._components(len(mean)),):
            raise ValueError(f"There must be {self._components(len(mean))} shares of the directions.")
        return judge.linear(
            seen,
            asked,
            self._products(rows, seen, asked, stored),
            stored,
            S,
            axes,
            {"priors": judge.judge_priors(stored.priors, seen.weight, self._given_priors())},
            PARTS if rows is None else "",
        )

    def _products(
        self, rows: Rows | None, seen: judge.Witness, asked: Floats, stored: judge.Stored
    ) -> tuple[Floats, Floats]:
        """Products of the covariances within classes, and of all samples, with what is asked for."""
        if self.covariance_estimator is not None:
            assert rows is not None  # parts are refused
            found = np.einsum("k,kij->ij", stored.priors, self._estimated(rows, len(stored.mean)))
            return asked @ found, asked @ self._estimated_total(rows)
        unit, eigen = self.shrinkage == "auto", self.solver == "eigen"
        amounts = self._judged_amounts(rows, len(stored.mean))
        amount = float(self._judged_amounts(plan.as_one_class(rows), 1)[0]) if eigen and unit and rows else amounts[0]
        within = judge.within(seen, asked, stored.priors, amounts, unit)
        return within, judge.of_all(seen, asked, stored.mean, float(amount), unit) if eigen else within

    def _of_rows(self, few: bool) -> Callable[[Array], Array]:
        coef, intercept = wide(self.coef_), wide(self.intercept_)
        if len(wide(self.means_)) == 2:  # of two classes: the first has the score zero
            coef, intercept = np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
        return plan.LinearScores(coef, intercept)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p), classes y (n,) and optional `sample_weight` (n,), and transform the same samples."""
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> Array:
        """Coordinates of the samples X along the directions, (n, n_components)."""
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        return as_precise(self._raw(X, self._along_directions), X)

    def _along_directions(self, few: bool) -> Callable[[Array], Array]:
        V = wide(self.scalings_)[:, : self._max_components]
        shift = wide(self.xbar_) if self.solver == "svd" else np.zeros(len(V))
        return partial(_along, np.ascontiguousarray(V.T), shift)


def _along(V: Floats, shift: Floats, X: Array) -> Array:
    return times(X, Params(V, np.zeros(len(V))), shift)
