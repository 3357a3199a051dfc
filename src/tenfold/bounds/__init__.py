"""Theorems: bounds that hold under assumptions, which are their arguments.

No bound is computed from a fit alone, and none decides whether a certificate is ok.
"""

from tenfold.bounds.leave_one_out import SvmLeaveOneOut, svm_leave_one_out
from tenfold.bounds.theorems import (
    BayesError,
    MistakeTrace,
    bayes_error,
    hoeffding,
    kmeans_energy,
    mistake_bound,
    mistake_bound_inseparable,
    mistake_trace,
    random_features_error,
)

__all__ = [
    "BayesError",
    "MistakeTrace",
    "SvmLeaveOneOut",
    "bayes_error",
    "hoeffding",
    "kmeans_energy",
    "mistake_bound",
    "mistake_bound_inseparable",
    "mistake_trace",
    "random_features_error",
    "svm_leave_one_out",
]
