"""Gaussian process classification of two classes: hyper-parameters by the Laplace evidence, the mode, and the judge."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenfold.arrays import Floats
from tenfold.judge import gaussian_process_laplace as judge
from tenfold.judge.certificate import Certificate
from tenfold.kernels import is_psd
from tenfold.kernels.covariance import Covariance
from tenfold.plans.gaussian_process import Optimizer, search
from tenfold.plans.gaussian_process_laplace import LaplaceEvidence, Mode
from tenfold.solvers.loop import Status

NOT_PSD = "The kernel matrix is not positive semidefinite: {}. Add White noise to the kernel, or use another one."


@dataclass(frozen=True)
class ModeFit:
    """Hyper-parameters, mode and certificate."""

    theta: Floats
    mode: Mode
    certificate: Certificate


def fit_two_classes(evidence: LaplaceEvidence, starts: Sequence[Floats] | None, optimizer: Optimizer | None) -> ModeFit:
    """Fit to the samples and targets of the evidence; `starts` None leaves the hyper-parameters as they are."""
    theta = evidence.covariance.theta
    if starts is not None and len(theta):
        result = search(evidence, starts, optimizer)
        theta = theta if result is None else result.theta
    covariance = evidence.covariance.at(theta) if len(theta) else evidence.covariance
    mode = evidence.mode(theta)
    if mode is None:
        raise ValueError(NOT_PSD.format(is_psd(covariance.block(evidence.X)).explain()))
    status = Status.CONVERGED if mode.converged else Status.MAX_ITER
    mode = Mode(mode.f, mode.dual, mode.probabilities, np.tril(mode.L), mode.evidence, mode.converged)
    return ModeFit(theta, mode, certify_mode(covariance, evidence.X, evidence.t, mode_arrays(mode), status.value))


def mode_arrays(mode: Mode) -> judge.StoredMode:
    """The arrays of a mode that are stored."""
    return judge.StoredMode(mode.probabilities, mode.root, mode.L, mode.evidence)


def certify_mode(covariance: Covariance, X: object, t: Floats, stored: judge.StoredMode, status: str) -> Certificate:
    """The certificate of stored arrays."""
    psd = covariance.evaluated is not None and covariance.evaluated.certainly_psd
    return judge.classification(stored, covariance.block(X), t, psd=psd, status=status)


def combine(certificates: list[Certificate]) -> Certificate:
    """The certificate of several problems of two classes."""
    return judge.combine(certificates)
