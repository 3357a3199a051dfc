"""The cache of transformers: shared steps are fitted once, results do not change."""

import pickle

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_diabetes
from sklearn.pipeline import Pipeline

from tenfold import KNeighborsCV, RidgeCV
from tenfold.selection import nested
from tenfold.selection.fitting import Data
from tenfold.selection.transform_cache import TransformCache


class Counted(TransformerMixin, BaseEstimator):
    """The identity; counts its fits."""

    fits = 0
    supervised = False

    def fit(self, X, y=None):
        type(self).fits += 1
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return np.array(X)


def test_first_steps_are_fitted_once_for_all_candidates():
    X, y = load_diabetes(return_X_y=True)
    alone = {
        name: nested({name: Pipeline([("first", Counted()), ("model", model)])}, X, y)[name]
        for name, model in (("ridge", RidgeCV()), ("neighbours", KNeighborsCV()))
    }
    Counted.fits = 0
    both = nested(
        {
            "ridge": Pipeline([("first", Counted()), ("model", RidgeCV())]),
            "neighbours": Pipeline([("first", Counted()), ("model", KNeighborsCV())]),
        },
        X,
        y,
    )
    assert Counted.fits == 6  # five folds and all samples
    for name, one in alone.items():
        np.testing.assert_array_equal(both[name].predictions, one.predictions)


def test_the_least_recently_used_part_is_evicted():
    X = np.random.default_rng(0).normal(size=(100, 10))
    shared = TransformCache(max_bytes=3 * X[:50].nbytes)
    data = Data(X, X[:, 0], None, shared)
    parts = [data.part(np.arange(start, start + 50)) for start in range(50)]
    assert data.part(np.arange(49, 99)) is parts[-1]
    assert data.part(np.arange(50)) is not parts[0]
    assert shared._size <= shared._max_bytes


def test_an_unpickled_cache_is_empty():
    shared = TransformCache()
    shared.part("x", lambda: Data(np.zeros((2, 2)), None))
    assert not pickle.loads(pickle.dumps(shared))._entries
