"""Certificates of fitted support vector machines: one against one, regression, one class.

Two classes have one machine, positive for the second class. More have one for each pair i < j of those that have
samples of positive weight, positive for the first, with the coefficients of class i in row j - 1 and those of class j
in row i of an array (classes - 1, m), m the number of support vectors. The kernel matrix of all samples and all support
vectors is evaluated once, class by class.

Coefficients of machines with nu are stored by scikit-learn after division by their margin rho, which is not stored: sum
|a| = nu sum s gives it back, rho = nu sum s / sum |coefficients|.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tenfold.arrays import Floats, Integers
from tenfold.judge.certificate import Certificate
from tenfold.judge.gap_svm import Fit, Judged, gap, hard_margin_gap, worst
from tenfold.judge.kernel_samples import KernelSamples, take
from tenfold.judge.svm_enclosure import Enclosure, VotesEnclosure, pairs_of
from tenfold.judge.svm_machines import Hinge, Machine, NuHinge, NuTube, OneClass, SquaredHinge, SquaredTube, Tube

PROBED = 500  # samples on which the share of proven predictions is counted
PROVEN = "Of {count} samples of the fit {share:.4g} % have a proven prediction: no exact optimum predicts another."
WITHIN = "On {count} samples of the fit the predictions are within {width:.2g} of those of the exact optimum."


class Coefficients(NamedTuple):
    """support: (m,) numbers of the support vectors within the samples of positive weight; coef: (rows, m); intercept:
    (machines,); dtype: in which they are stored.
    """

    support: Integers
    coef: Floats
    intercept: Floats
    dtype: Any = np.float64


def classification(
    samples: KernelSamples,
    number: Integers,
    C: Floats,
    model: Coefficients,
    *,
    classes: int,
    nu: float | None = None,
    squared: bool = False,
    without: int = 0,
    breaks_ties: bool = False,
    status: str = "judged",
) -> Certificate:
    """Judge all pairs of classes: number (n,) the class of each sample, C (n,) its bound, with nu its weight; without:
    how many classes are known and have no samples.
    """
    sign = -1.0 if classes + without == 2 else 1.0
    indefinite = samples.find_indefinite()
    options = {"status": status, "dtype": model.dtype}
    judged: list[Judged] = []
    factors: list[float] = []
    for y, C_pair, fit in _pair_fits(samples, number, C, model, classes, sign):
        factor = 1.0
        if nu is not None:
            size = float(np.sum(np.abs(fit.beta)))
            factor = nu * float(np.sum(C_pair)) / size if size > 0.0 else 0.0
            fit = Fit(factor * fit.beta, factor * fit.f, fit.diagonal, factor * fit.b, fit.error)
            judged.append(gap(NuHinge(y, C_pair, nu, factor), fit, indefinite=indefinite, **options))
        elif np.isinf(C_pair).any() and not indefinite:
            judged.append(hard_margin_gap(y, C_pair > 0.0, fit, **options))
        else:
            machine: Machine = SquaredHinge(y, C_pair) if squared else Hinge(y, C_pair)
            judged.append(gap(machine, fit, indefinite=indefinite, **options))
        factors.append(factor)
    certificate = worst(judged)
    coef = _pair_columns(number[model.support], model.coef, classes)
    enclosure = _enclose(samples, model, coef, judged, np.array(factors))
    if enclosure is None:
        return certificate
    votes = enclosure if classes == 2 else VotesEnclosure(enclosure, classes, breaks_ties)
    return _with_share(certificate, samples, votes)


def regression(
    samples: KernelSamples,
    y: Floats,
    C: Floats,
    model: Coefficients,
    *,
    epsilon: float = 0.0,
    nu: float | None = None,
    squared: bool = False,
    status: str = "judged",
) -> Certificate:
    """Judge a regression: y (n,) the targets, C (n,) the bounds; with nu the tube has its best width."""
    machine: Machine = (
        NuTube(y, C, nu) if nu is not None else SquaredTube(y, C, epsilon) if squared else Tube(y, C, epsilon)
    )
    judged = _judge_one(samples, machine, model, status)
    enclosure = _enclose(samples, model, model.coef.T, [judged], np.ones(1))
    if enclosure is None:
        return judged.certificate
    probes, count = _probes(samples)
    _, half = enclosure.values(probes)
    note = WITHIN.format(count=count, width=float(np.max(half, initial=0.0)))
    return _annotate(judged.certificate, enclosure, note)


def one_class(
    samples: KernelSamples, weight: Floats, model: Coefficients, *, nu: float, status: str = "judged"
) -> Certificate:
    """Judge a machine of one class, whose offset is minus the intercept."""
    judged = _judge_one(samples, OneClass(np.zeros(len(weight)), weight, nu), model, status)
    enclosure = _enclose(samples, model, model.coef.T, [judged], np.ones(1))
    return judged.certificate if enclosure is None else _with_share(judged.certificate, samples, enclosure)


def _judge_one(samples: KernelSamples, machine: Machine, model: Coefficients, status: str) -> Judged:
    everything = np.arange(len(samples))
    beta = np.zeros(len(samples))
    beta[model.support] = model.coef[0]
    f = samples.product(everything, model.support, model.coef.T)[:, 0]
    fit = Fit(beta, f, samples.diagonal(), float(model.intercept[0]), samples.error(model.support))
    return gap(machine, fit, indefinite=samples.find_indefinite(), status=status, dtype=model.dtype)


def _pair_fits(
    samples: KernelSamples, number: Integers, C: Floats, model: Coefficients, classes: int, sign: float
) -> Iterator[tuple[Floats, Floats, Fit]]:
    """Targets, bounds and fit of each pair; sign: the target of its first class."""
    rows = [np.flatnonzero(number == k) for k in range(classes)]
    diagonal, own, error = samples.diagonal(), number[model.support], samples.error(model.support)
    columns = _pair_columns(own, model.coef, classes)
    first, second = pairs_of(classes)
    f = [samples.product(rows[k], model.support, columns[:, (first == k) | (second == k)]) for k in range(classes)]
    beta = np.zeros(len(samples))
    for t, (i, j) in enumerate(zip(first, second, strict=True)):
        both = np.concatenate([rows[i], rows[j]])
        # the column of the other class among those of a class
        values = np.concatenate([f[i][:, j - 1], f[j][:, i]])
        y = np.repeat([sign, -sign], [len(rows[i]), len(rows[j])])
        beta[:] = 0.0
        beta[model.support] = columns[:, t]
        yield y, C[both], Fit(beta[both], values, diagonal[both], float(model.intercept[t]), error)


def _pair_columns(own: Integers, coef: Floats, classes: int) -> Floats:
    """The coefficients (m, pairs) of all pairs, of support vectors of the classes `own` (m,)."""
    if classes == 2:
        return np.ascontiguousarray(coef.T)
    first, second = pairs_of(classes)
    columns = np.zeros((len(own), len(first)))
    for t, (i, j) in enumerate(zip(first, second, strict=True)):
        columns[own == i, t] = coef[j - 1, own == i]
        columns[own == j, t] = coef[i, own == j]
    return columns


def _enclose(
    samples: KernelSamples, model: Coefficients, coef: Floats, judged: list[Judged], factors: Floats
) -> Enclosure | None:
    """The enclosure of all machines; None where one has no bound."""
    radius, drift = (np.array([getattr(one, name) for one in judged]) for name in ("radius", "drift"))
    if not np.isfinite(radius).all():
        return None
    support = samples.index[model.support] if samples.given else samples.take(model.support)
    count = samples.X.shape[0] if samples.given else 0
    return Enclosure(samples.kernel, support, count, coef * factors, model.intercept * factors, radius, drift)


def _probes(samples: KernelSamples) -> tuple[Any, int]:
    """Some evenly spaced samples; all where the kernel is given, whose bounds need the whole matrix."""
    if samples.given:
        return samples.X, samples.X.shape[0]
    index = samples.index[:: -(-len(samples) // PROBED)]
    return take(samples.X, index), len(index)


def _with_share(certificate: Certificate, samples: KernelSamples, enclosure: Any) -> Certificate:
    probes, count = _probes(samples)
    share = 100.0 * float(np.mean(enclosure.decided(probes)))
    return _annotate(certificate, enclosure, PROVEN.format(count=count, share=share))


def _annotate(certificate: Certificate, enclosure: Any, note: str) -> Certificate:
    return replace(
        certificate,
        note=f"{certificate.note} {note}".strip(),
        _decide=enclosure,
        _enclose=enclosure.intervals,
    )
