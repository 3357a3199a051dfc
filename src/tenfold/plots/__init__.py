"""Plots of models, with the interface of scikit-learn's displays.

``Display.of`` computes the data and needs no matplotlib; ``from_estimator``, ``from_predictions``, ``from_result`` and
``from_check`` plot them, too.
"""

from tenfold.plots.boundary import DecisionBoundaryDisplay
from tenfold.plots.coefficient_path import PathDisplay
from tenfold.plots.dendrogram import DendrogramDisplay
from tenfold.plots.descent import DescentDisplay, GradientCheckDisplay
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
    "DescentDisplay",
    "GradientCheckDisplay",
    "LeaveOneOutDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "ResidualDisplay",
    "SpectrumDisplay",
    "SupportVectorDisplay",
]
