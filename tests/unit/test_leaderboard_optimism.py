"""The areas under curves that a board corrects for having picked the best are those that it shows."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from tenfold.cli.optimism import _BalancedLoss, _precision_area, _roc_area
from tenfold.cross_validation.classifier_scores import roc_areas


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    hit = rng.random(200) < 0.3
    return hit, np.round(rng.standard_normal(200) + hit, 1), rng.integers(0, 4, 200).astype(float)


def test_areas_are_those_of_scikit_learn(scores):
    hit, value, weight = scores
    rank = np.unique(-value, return_inverse=True)[1]
    assert _roc_area(weight, hit, rank) == pytest.approx(roc_auc_score(hit, value, sample_weight=weight))
    expected = average_precision_score(hit, value, sample_weight=weight)
    assert _precision_area(weight, hit, rank) == pytest.approx(expected)
    both = np.column_stack([value, -value])
    np.testing.assert_allclose(roc_areas(both, hit), [roc_auc_score(hit, v) for v in both.T])
    assert np.isnan(roc_areas(both, np.ones(200, bool))).all()


def test_balanced_loss_is_the_mean_over_classes():
    y, said = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    loss = _BalancedLoss.of(y, [said])
    assert loss(np.ones(4))[0] == pytest.approx(1 / 6)
    assert loss(np.array([0.0, 0.0, 1.0, 1.0]))[0] == pytest.approx(1 / 2)
