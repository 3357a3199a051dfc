"""Theorems: bounds that hold under assumptions, which are their arguments.

No bound is computed from a fit alone, and none decides whether a certificate is ok.
"""

from tenfold.bounds.leave_one_out import SvmLeaveOneOut, svm_leave_one_out
from tenfold.bounds.theorems import (
    BayesError,
    MistakeTrace,
    bayes_error,
    kmeans_energy,
    mistake_bound,
    mistake_bound_inseparable,
    mistake_trace,
)

__all__ = [
    "BayesError",
    "MistakeTrace",
    "SvmLeaveOneOut",
    "bayes_error",
    "kmeans_energy",
    "mistake_bound",
    "mistake_bound_inseparable",
    "mistake_trace",
    "svm_leave_one_out",
]
