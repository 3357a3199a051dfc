"""Naive Bayes of so many columns that the judge compares them piece by piece: no piece is passed over."""

import numpy as np
import pytest
from scipy import sparse

from tenfold import BernoulliNB, ComplementNB, MultinomialNB, certify
from tenfold.judge.recompute import CHUNK_VALUES


@pytest.mark.parametrize("model", [ComplementNB(), ComplementNB(norm=True), MultinomialNB(), BernoulliNB()], ids=str)
@pytest.mark.parametrize("column", [0, CHUNK_VALUES + 7, -1])
def test_one_column_that_is_off_is_seen(model, column):
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 2 * CHUNK_VALUES + 100), density=0.01, rng=rng, format="csr")
    y = rng.integers(0, 3, 60)
    model.fit(X, y)
    assert model.certificate_.ok
    assert certify(model, X, y).ok
    model.feature_log_prob_[1, column] *= 1.0 + 1e-6
    assert not certify(model, X, y).ok
