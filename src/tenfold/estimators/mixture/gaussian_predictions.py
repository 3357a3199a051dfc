"""What is asked of a fitted mixture of Gaussians: components, densities and random samples."""

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import FLOATS, Array, is_array_api, is_dask, like, namespace, numpy_dtype, wide
from tenfold.estimators.class_labels import argmax_scores
from tenfold.estimators.validation import rowwise
from tenfold.plans.mixture import draw
from tenfold.stats.gaussians import Mixture
from tenfold.stats.mixtures import posterior


class GaussianPredictions:
    """Methods of mixtures of Gaussians, which are predictors with these attributes."""

    covariance_type: str
    random_state: Any
    weights_: Array
    means_: Array
    covariances_: Array
    fit: Callable[..., Any]
    _predict_raw: Callable[..., Array]

    def _mixture(self) -> Mixture:
        """The parameters in float64."""
        return Mixture(self.covariance_type, wide(self.weights_), wide(self.means_), wide(self.covariances_))

    def _joint(self) -> Mixture:
        """The mixture of the joint probabilities of samples and components."""
        return self._mixture()

    def _prediction_function(self, small: bool) -> Callable[[Array], Array]:
        return partial(_shares, self._joint())

    def _densities_of_rows(self, small: bool) -> Callable[[Array], Array]:
        return partial(_densities, self._joint())

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit to X (n, p) and optional `sample_weight` (n,), and give the component of each sample, (n,); `y` is not
        used.
        """
        return self.fit(X, y, sample_weight).predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the components for the samples X, (n, n_components)."""
        return self._predict_raw(X)

    def predict(self, X: Any) -> Array:
        """The index of the most probable component of each sample of X, (n,)."""
        return rowwise(argmax_scores, self._predict_raw(X))

    def score_samples(self, X: Any) -> Array:
        """The log density of each sample of X, (n,); of the features that are there where values are missing."""
        return self._predict_raw(X, self._densities_of_rows)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log density of the samples X; `y` is not used."""
        densities = self.score_samples(X)
        return float(densities.mean().compute() if is_dask(densities) else namespace(densities).mean(densities))

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Random samples (n_samples, n_features) from the mixture, one component after the other, and the number of
        each sample's component.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one sample.")
        samples = draw(self._mixture(), int(n_samples), check_random_state(self.random_state))
        rows, numbers = (like(part, self.means_) if is_array_api(self.means_) else part for part in samples)
        return rows, numbers


def _shares(mixture: Mixture, X: Array) -> Array:
    return _as(posterior(X, mixture)[1], X)


def _densities(mixture: Mixture, X: Array) -> Array:
    return _as(posterior(X, mixture, responsibilities=False)[0], X)


def _as(values: Array, X: Array) -> Array:
    return namespace(values).astype(values, X.dtype, copy=False) if numpy_dtype(X.dtype) in FLOATS else values
