"""Statistical inference for the coefficients of unpenalised fits: `inference_` and `summary`."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from tenfold.arrays import Array, on_host
from tenfold.estimators.validation import as_rows, names_of
from tenfold.inference import Inference, LikelihoodInference, NoInferenceError
from tenfold.judge.certificate import Certificate
from tenfold.losses.loss import Loss
from tenfold.plans.glm_inference import infer
from tenfold.stats.derivatives import Params

PENALISED = (
    "The weights are penalised, and so biased: classical standard errors do not hold. Fit without a penalty, or use "
    "the bootstrap."
)

# The information matrix is computed by default up to this many coefficients, where it adds little to a pass, or this
# many products of pairs of columns, about one second.
MAX_CHEAP_COEFFICIENTS, MAX_CHEAP_PRODUCTS = 33, 2e10


class InferenceMixin:
    """`inference_` and `summary` of an estimator whose fit sets `_inference`: the inference of each target, or the
    reason why there is none.
    """

    _inference: tuple[Inference, ...] | str

    @property
    def inference_(self) -> Any:
        """Classical inference, one for each target.

        Where it does not exist the attribute does not: a NoInferenceError, which is an AttributeError and a
        ValueError, has the reason.
        """
        check_is_fitted(self)
        if isinstance(self._inference, str):
            raise NoInferenceError(self._inference)
        return self._inference[0] if len(self._inference) == 1 else self._inference

    def summary(self) -> str:
        """The table of coefficients with standard errors, test statistics, p values and 95 % confidence intervals."""
        inference = self.inference_
        return "\n\n".join(map(str, inference)) if isinstance(inference, tuple) else str(inference)


def inference_obstacle(certificate: Certificate, penalised: bool) -> str | None:
    """The reason why a fit has no maximum-likelihood inference, or None."""
    if penalised:
        return PENALISED
    if certificate.status == "no maximum":
        return "The likelihood grows for ever along a direction: it has no maximum, and there are no standard errors."
    if not certificate.ok:
        return f"The fit is not at the maximum of the likelihood: {certificate.explain()} Fit again with more steps."
    return None


def compute_inference(
    model: Any, loss: Loss, params: Params, X: Array, target: Array, weight: Array | None
) -> tuple[LikelihoodInference] | str:
    """Inference at maximum-likelihood parameters, or the reason why there is none; targets may include an offset
    column.
    """
    rows, names = as_rows(X, target, weight), coefficient_names(model)
    if len(names) > MAX_CHEAP_COEFFICIENTS and rows.entries / rows.shape[1] * len(names) ** 2 > MAX_CHEAP_PRODUCTS:
        return (
            f"The covariance of {len(names)} coefficients takes as long as much of the fit, which does not form it. "
            "Ask for it: tenfold.infer(model, X, y, covariance='nonrobust')."
        )
    inference = infer(rows, loss, params, bool(model.fit_intercept), names)
    return inference if isinstance(inference, str) else (inference,)


def coefficient_names(model: Any) -> tuple[str, ...]:
    """Names of the coefficients, the intercept first; for several classes those of each class but the reference."""
    names = names_of(model)
    one = ("intercept", *names) if model.fit_intercept else names
    classes = on_host(model.classes_) if hasattr(model, "classes_") else ()
    return tuple(f"{c}: {name}" for c in classes[1:] for name in one) if len(classes) > 2 else one
