"""Grid searches of scikit-learn with the interface of the classes with cross-validation of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks import zoos


class LogisticRegressionCV:
    """A grid search over C, with the parameters of the class of this name that it needs."""

    def __init__(self, *, Cs: int, cv: int, scoring: str, tol: float = 1e-4, max_iter: int = 100, **_: Any) -> None:
        grid = {"C": np.logspace(-4, 4, Cs)}
        self.search = GridSearchCV(LogisticRegression(tol=tol, max_iter=max_iter), grid, cv=cv, scoring=scoring)

    def fit(self, X: Any, y: Any) -> LogisticRegressionCV:
        best = self.search.fit(X, y).best_estimator_
        self.coef_, self.intercept_, self.C_ = best.coef_, best.intercept_, best.C
        return self


class KNeighborsClassifierCV:
    """A grid search over the number of neighbours by five folds: leave-one-out would take as many fits as samples."""

    def __init__(self, *, n_neighbors: int) -> None:
        grid = {"n_neighbors": list(range(1, n_neighbors + 1))}
        self.search = GridSearchCV(KNeighborsClassifier(), grid, cv=5)

    def fit(self, X: Any, y: Any) -> KNeighborsClassifierCV:
        self.best_estimator_ = self.search.fit(X, y).best_estimator_
        return self

    def predict(self, X: Any) -> Any:
        return self.search.predict(X)


class KernelRidgeCV:
    """A grid search over alpha and gamma by five folds."""

    def __init__(self, *, alphas: list[float], gammas: list[float], cv: int = 5) -> None:
        self.search = GridSearchCV(KernelRidge(kernel="rbf"), {"alpha": alphas, "gamma": gammas}, cv=cv)

    def fit(self, X: Any, y: Any) -> KernelRidgeCV:
        self.best_estimator_ = self.search.fit(X, y).best_estimator_
        return self


class SVCCV:
    """A grid search over C and gamma by five folds."""

    def __init__(self, *, Cs: list[float], gammas: list[float], cv: int = 5, calibrate: bool = False) -> None:
        self.search = GridSearchCV(SVC(), {"C": Cs, "gamma": gammas}, cv=cv)

    def fit(self, X: Any, y: Any) -> SVCCV:
        self.best_estimator_ = self.search.fit(X, y).best_estimator_
        return self


class RandomKitchenSinks:
    """Random Fourier features and ridge regression, in a pipeline."""

    def __init__(self, *, gamma: float, n_components: int, alpha: float, random_state: int) -> None:
        features = RBFSampler(gamma=gamma, n_components=n_components, random_state=random_state)
        self.search = make_pipeline(features, Ridge(alpha))

    def fit(self, X: Any, y: Any) -> RandomKitchenSinks:
        self.search.fit(X, y)
        return self

    def predict(self, X: Any) -> Any:
        return self.search.predict(X)


class SpectralFilter:
    """A grid search over the number of principal components by five folds."""

    def __init__(self, *, method: str, n_steps: int) -> None:
        if method != "pcr":
            raise ValueError(f"only pcr has a counterpart, got {method!r}")
        self.steps = n_steps

    def fit(self, X: Any, y: Any) -> SpectralFilter:
        grid = {"pca__n_components": list(range(1, min(self.steps, X.shape[1]) + 1))}
        search = GridSearchCV(make_pipeline(PCA(), LinearRegression()), grid, cv=5)
        self.best_estimator_ = search.fit(X, y).best_estimator_
        return self

    def predict(self, X: Any) -> Any:
        return self.best_estimator_.predict(X)


class Zoo:
    """The same models and grids by GridSearchCV in nested folds, and each searched once more on all rows."""

    def __init__(self, *, task: str) -> None:
        self.task = task

    def fit(self, X: Any, y: Any) -> Zoo:
        score = zoos.SCORES[self.task]
        splitter = StratifiedKFold if self.task == "classes" else KFold
        outer, inner = (splitter(k, shuffle=True, random_state=0) for k in (zoos.OUTER, zoos.OUTER - 1))
        self.losses_ = {}
        for name, model, grid in self._candidates():
            search = GridSearchCV(make_pipeline(StandardScaler(), model), grid, cv=inner, scoring=score)
            scores = cross_validate(search, X, y, cv=outer, scoring=score)["test_score"]
            self.losses_[name] = zoos.loss(self.task, scores)
            search.fit(X, y)
        return self

    def _candidates(self) -> list[tuple[str, Any, dict[str, Any]]]:
        if self.task == "numbers":
            shares = {"elasticnet__alpha": zoos.LASSO, "elasticnet__l1_ratio": [0.5, 0.9]}
            return [
                ("ridge", Ridge(), {"ridge__alpha": zoos.ALPHAS}),
                ("lasso", Lasso(), {"lasso__alpha": zoos.LASSO}),
                ("elastic net", ElasticNet(), shares),
                ("neighbours", KNeighborsRegressor(), {"kneighborsregressor__n_neighbors": zoos.NEIGHBOURS}),
            ]
        return [
            ("ridge", RidgeClassifier(), {"ridgeclassifier__alpha": zoos.ALPHAS}),
            ("logistic", LogisticRegression(), {"logisticregression__C": zoos.CS}),
            ("neighbours", KNeighborsClassifier(), {"kneighborsclassifier__n_neighbors": zoos.NEIGHBOURS}),
            ("naive Bayes", GaussianNB(), {"gaussiannb__var_smoothing": zoos.SMOOTHING}),
        ]
