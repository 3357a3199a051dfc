"""Decisions from probabilities: losses, thresholds, reject option, class priors, and calibration."""

from tenfold.decide.calibration import Calibrator, Isotonic, Sigmoid
from tenfold.decide.classifier import DecisionClassifier
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
    "DecisionClassifier",
    "Decisions",
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
