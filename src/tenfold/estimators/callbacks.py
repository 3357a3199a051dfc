"""scikit-learn's callbacks, called at each iteration and at the end of a fit."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar, cast

from sklearn.callback import CallbackSupportMixin
from sklearn.callback import with_callbacks as sklearn_with_callbacks

from tenfold.arrays import Array
from tenfold.solvers.loop import Callback, Record
from tenfold.stats.derivatives import Params

__all__ = ["CallbackSupportMixin", "make_callback", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """scikit-learn's decorator for a `fit` with callbacks, which also reports the end of the fit."""

    @wraps(method)
    def fit(estimator: Any, X: Any, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        fitted = method(estimator, X, y, *args, **kwargs)
        context = getattr(estimator, "_callback_fit_ctx", None)
        if context is not None:
            context.call_on_fit_task_end(
                estimator=estimator, X=X, y=y, reconstruction_attributes=lambda: _take_fitted_attributes(estimator)
            )
        return fitted

    return cast(Method, sklearn_with_callbacks(fit))


def _take_fitted_attributes(estimator: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}


def make_callback(
    estimator: Any, X: Array, y: Array, max_iter: int, attributes: Callable[[Params], dict[str, Any]]
) -> Callback | None:
    """A callback of the solver that reports each iteration to scikit-learn's callbacks; None where there are none.
    They reconstruct a fitted estimator through `attributes`.
    """
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        return None
    context = estimator._init_callback_context(max_subtasks=max_iter)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    previous: list[Params] = []

    def report(record: Record, params: Params) -> bool:
        # an iteration is reported when it has ended, with the parameters before and after it
        at_start = partial(attributes, previous.pop()) if previous else None
        task = context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y, reconstruction_attributes=at_start)
        previous.append(params)
        at_end = partial(attributes, params)
        return bool(task.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=at_end))

    return report
