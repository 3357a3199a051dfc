"""Decisions from probabilities: losses, thresholds, reject option, class priors, calibration, conformal prediction."""

from tenfold.decide.calibration import Calibrator, Isotonic, Sigmoid
from tenfold.decide.classifier import DecisionClassifier
from tenfold.decide.conformal import Guarantee
from tenfold.decide.conformal_classification import ConformalClassifier
from tenfold.decide.conformal_regression import ConformalRegressor
from tenfold.decide.losses import (
    BestThreshold,
    Decisions,
    Threshold,
    bayes_decisions,
    best_threshold,
    expected_loss,
    screening_loss,
    threshold,
    with_reject,
)
from tenfold.decide.priors import Priors, estimate_priors, reweight
from tenfold.decide.reject_option import RejectCurve, best_error, chow, cover_hart, reject_curve

__all__ = [
    "BestThreshold",
    "Calibrator",
    "ConformalClassifier",
    "ConformalRegressor",
    "DecisionClassifier",
    "Decisions",
    "Guarantee",
    "Isotonic",
    "Priors",
    "RejectCurve",
    "Sigmoid",
    "Threshold",
    "bayes_decisions",
    "best_error",
    "best_threshold",
    "chow",
    "cover_hart",
    "estimate_priors",
    "expected_loss",
    "reject_curve",
    "reweight",
    "screening_loss",
    "threshold",
    "with_reject",
]
