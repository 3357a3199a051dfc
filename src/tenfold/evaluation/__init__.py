"""Metrics of predictions with confidence intervals, and prequential evaluation of online learners."""

from tenfold.evaluation.inputs import evaluate
from tenfold.evaluation.intervals import clopper_pearson
from tenfold.evaluation.online import DriftDetection, OnlineEvaluation, PageHinkley, evaluate_online
from tenfold.evaluation.results import Curve, Evaluation, Figure, Reliability

__all__ = [
    "Curve",
    "DriftDetection",
    "Evaluation",
    "Figure",
    "OnlineEvaluation",
    "PageHinkley",
    "Reliability",
    "clopper_pearson",
    "evaluate",
    "evaluate_online",
]
