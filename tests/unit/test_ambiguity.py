"""What binary decisions leave undecided."""

import numpy as np
import pytest
from sklearn.svm import SVC

from tenfold import Perceptron, ambiguity


def corners():
    """Three clusters, and a grid over them."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 4.0], [-4.0, -2.0], [4.0, -2.0]])
    X = np.concatenate([c + rng.standard_normal((40, 2)) for c in centres])
    side = np.linspace(-8, 8, 60)
    return X, np.repeat([0, 1, 2], 40), np.array(np.meshgrid(side, side)).reshape(2, -1).T


def test_regions_of_three_classes():
    """Seeger's figure 6.7: between three classes is a region that nobody claims; pairs tie in a triangle at most."""
    X, y, grid = corners()
    model = Perceptron(max_iter=5000, tol=None).fit(X, y)
    result = ambiguity(model, grid)
    z = model.decision_function(grid)
    assert np.array_equal(result.yes, np.sum(z > 0, axis=1))
    assert result.nobody + result.several > 0.05
    assert result.nobody + result.several + np.mean(result.yes == 1) == pytest.approx(1.0)
    # the largest score decides all but ties of scores
    assert result.tied == 0.0
    assert np.array_equal(np.argmax(result.votes, axis=1), np.argmax(z, axis=1))
    assert not ambiguity(model, X).unclear_rest.any()


def test_pairs_that_go_in_a_circle():
    X, y, grid = corners()
    duels = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
    rest = Perceptron().fit(X, y)
    result = ambiguity(rest, grid, pairs=duels)
    assert result.votes.sum() == 3 * len(grid)
    assert 0.0 <= result.tied < 0.05
    clear = ~result.unclear_pairs
    assert np.mean(np.argmax(result.votes, axis=1)[clear] == duels.predict(grid)[clear]) == 1.0


def test_bad_input():
    with pytest.raises(ValueError, match="never ambiguous"):
        ambiguity(np.zeros((3, 2)), None)
    with pytest.raises(ValueError, match="3 pairs"):
        ambiguity(np.zeros((3, 3)), None, pairs=np.zeros((3, 2)))
