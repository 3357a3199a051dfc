"""Plots of models, with the interface of scikit-learn's displays.

``Display.of`` computes the data and needs no matplotlib; ``from_estimator`` and ``from_predictions`` plot them, too.
"""

from tenfold.plots.boundary import DecisionBoundaryDisplay
from tenfold.plots.coefficient_path import PathDisplay
from tenfold.plots.dendrogram import DendrogramDisplay
from tenfold.plots.reliability import ReliabilityDisplay
from tenfold.plots.residuals import ResidualDisplay
from tenfold.plots.selection_curve import LeaveOneOutDisplay
from tenfold.plots.spectrum import SpectrumDisplay
from tenfold.plots.support_vectors import SupportVectorDisplay
from tenfold.plots.trace import CertificateDisplay

__all__ = [
    "CertificateDisplay",
    "DecisionBoundaryDisplay",
    "DendrogramDisplay",
    "LeaveOneOutDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "ResidualDisplay",
    "SpectrumDisplay",
    "SupportVectorDisplay",
]
