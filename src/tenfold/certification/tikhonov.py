"""Certification of regularised risks in the space of a kernel: the duality gap, and what a model keeps of its fit."""

from typing import Any

import numpy as np

from tenfold.arrays import Array, Floats, is_sparse, unit_roundoff
from tenfold.certification.models import check_known_classes, contradict, fit_status, validate_like_fit
from tenfold.certification.outputs import Labels, Output
from tenfold.estimators.class_labels import class_targets, combine_weights, label_indices
from tenfold.estimators.kernel_parameter import check_samples, make_kernel
from tenfold.estimators.tikhonov.classification import risk_of
from tenfold.estimators.tikhonov.model import evaluate
from tenfold.estimators.tikhonov.regression import find_loss
from tenfold.estimators.validation import total_weight, validate_weights
from tenfold.judge.certificate import NOT_JUDGED, RULES, Certificate
from tenfold.judge.dual_system import examine_kernel
from tenfold.judge.gap_kernel import DEPENDENT, CentreExpansion, SampleExpansion, certify
from tenfold.judge.kernel_samples import equal_samples
from tenfold.kernels import Precomputed
from tenfold.losses.classification import Softmax, loss_of_classes
from tenfold.losses.loss import Loss
from tenfold.plans.kernel_risk import KernelTask


def logistic(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, target, weight = _classes(model, X, y, sample_weight)
    count = len(model.classes_)
    strength = 1.0 / (float(model.C) * total_weight(target, weight))
    return _judge(model, X, target, weight, loss_of_classes(count), strength, 1 if count == 2 else count)


def classification(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, target, weight = _classes(model, X, y, sample_weight)
    loss, strength = risk_of(model)
    return _judge(model, X, target, weight, loss, strength, len(model.classes_) if loss.multi_output else 1)


def regression(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validate_like_fit(model, X, y, numeric=True)
    weight, loss = validate_weights(sample_weight, X), find_loss(model, of_classes=False)
    return _judge(model, X, np.asarray(y, dtype=np.float64), weight, loss, float(model.alpha), 1)


def _classes(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Floats, Array | None]:
    X, y = validate_like_fit(model, X, y, numeric=False)
    check_known_classes(model, y)
    number = label_indices(model.classes_, y, X)
    weight = combine_weights(model.class_weight, model.classes_, number, validate_weights(sample_weight, X))
    return X, np.asarray(class_targets(number, len(model.classes_))), weight


def _judge(
    model: Any, X: Array, target: Floats, weight: Array | None, loss: Loss, strength: float, outputs: int
) -> Certificate:
    X = check_samples(model.kernel, X)
    kernel, tol = make_kernel(model, X), float(getattr(model, "tol", RULES["gap"].tol))
    coef, b = coefficients(model)
    complaint = "" if model.kernel_ == kernel else f"kernel_ is {model.kernel_!r}, the parameters say {kernel!r}."
    n, centred = X.shape[0], getattr(model, "centres", None) is not None
    if coef.shape != (model.X_fit_.shape[0] if centred else n, outputs) or b.shape != (outputs,):
        raise ValueError(
            f"dual_coef_ must have a number for each sample or centre and each of {outputs} scores, and intercept_ one "
            f"for each score; they have the shapes {coef.shape} and {b.shape}."
        )
    if not centred and not equal_samples(model.X_fit_, X):
        complaint = complaint or "X_fit_ are not the samples that were given."
    unit = unit_roundoff(np.asarray(model.intercept_).dtype)
    if outputs > 1 and abs(float(np.sum(b))) > 64.0 * unit * float(np.sum(np.abs(b))):
        complaint = complaint or "intercept_ must have a mean of zero: a common constant changes no probability."
    task = KernelTask(
        kernel,
        X,
        target[:, None],
        None if weight is None else np.asarray(weight, dtype=np.float64),
        loss,
        strength,
        bool(model.fit_intercept),
        outputs,
    )
    index, samples = task.index, task.samples
    if not centred and len(index) < n and np.any(np.delete(coef, index, axis=0) != 0.0):
        complaint = complaint or "dual_coef_ must be zero for samples of weight zero."
    expansion: SampleExpansion | CentreExpansion | None
    if centred:
        expansion = CentreExpansion.of(samples, model.X_fit_, coef)
    else:
        expansion = SampleExpansion(samples, np.ascontiguousarray(coef[index]))
    if expansion is None:
        kind = "gap" if loss.convex else "stationarity"
        certificate = Certificate(kind, np.inf, 1.0, RULES[kind].tol, 0.0, np.inf, parts=(np.inf,), note=DEPENDENT)
    else:
        report = examine_kernel(kernel, X)
        indefinite = "" if report is None or report else f"The kernel matrix is {report.explain()}."
        certificate = certify(task.risk, expansion, b, tol=tol, status=_status(model), indefinite=indefinite)
    return contradict(certificate, complaint) if complaint else certificate


def _status(model: Any) -> str:
    """How the fit ended; one that was not judged is judged now."""
    status = fit_status(model)
    return "judged" if status == NOT_JUDGED else status


def coefficients(model: Any) -> tuple[Floats, Floats]:
    """The coefficients (m, k) and the intercepts (k,) in float64."""
    coef = np.asarray(model.dual_coef_, dtype=np.float64)
    return np.ascontiguousarray(coef.reshape(len(coef), -1)), np.ravel(np.asarray(model.intercept_, dtype=np.float64))


def _scores(model: Any, X: Array) -> tuple[Floats, Floats]:
    """z (m, k) in float64 and a bound on its rounding."""
    coef, b = coefficients(model)
    kernel, samples = model.kernel_, model.X_fit_
    X = X.toarray() if is_sparse(X) and isinstance(kernel, Precomputed) else X
    wide = X if is_sparse(X) else np.asarray(X, dtype=np.float64)
    z = evaluate(kernel, samples, coef, b, wide)
    if isinstance(kernel, Precomputed):
        size = np.abs(X) @ np.abs(coef)
    else:
        reach = np.sqrt(np.maximum(np.asarray(kernel.diag(X), dtype=np.float64), 0.0))
        own = np.sqrt(np.maximum(np.asarray(kernel.diag(samples), dtype=np.float64), 0.0))
        size = reach[:, None] * (own @ np.abs(coef))
    u = max(unit_roundoff(part.dtype) for part in (X, model.dual_coef_, samples))
    return z, (8.0 + 4.0 * len(coef)) * u * (size + np.abs(b)) + np.finfo(np.float64).tiny


def mean(model: Any, X: Array) -> list[Output | Labels]:
    """Raw predictions, or their exponentials."""
    z, rounding = _scores(model, X)
    if find_loss(model, of_classes=False).link != "log":
        return [Output("predict", z, rounding)]
    value = np.exp(z)
    return [Output("predict", value, value * (np.expm1(rounding) + 4.0 * unit_roundoff(X.dtype)))]


def classes(model: Any, X: Array) -> list[Output | Labels]:
    """Scores, and the class of the largest."""
    z, rounding = _scores(model, X)
    outputs: list[Output | Labels] = [Output("decision_function", z, rounding)]
    if z.shape[1] == 1:
        z, rounding = np.column_stack([-z, z]), 2.0 * rounding
    return [*outputs, Labels("predict", z, model.classes_, 2.0 * np.max(rounding, axis=1))]


def probabilities(model: Any, X: Array) -> list[Output | Labels]:
    """And the softmax of the scores; of two classes the logistic function."""
    z, rounding = _scores(model, X)
    spread = 2.0 * np.max(rounding, axis=1, keepdims=True) + 1e-6 * (X.dtype == np.float32) + 1e-14
    both = z if z.shape[1] > 1 else np.column_stack([np.zeros_like(z), z])
    value = Softmax().probabilities(both)
    return [*classes(model, X), Output("predict_proba", value, np.minimum(np.expm1(spread), 1.0))]
