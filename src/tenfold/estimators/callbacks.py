"""scikit-learn's callbacks: told of every step, and of the end."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar, cast

from sklearn.callback import CallbackSupportMixin
from sklearn.callback import with_callbacks as sklearn_with_callbacks

from tenfold.arrays import Array
from tenfold.solvers.loop import Callback, Record
from tenfold.stats.derivatives import Params

__all__ = ["CallbackSupportMixin", "watcher", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])


def with_callbacks(method: Method) -> Method:
    """scikit-learn's decorator for a `fit` that tells callbacks of its progress; the end of the fit is told here."""

    @wraps(method)
    def fit(estimator: Any, X: Any, y: Any = None, *args: Any, **kwargs: Any) -> Any:
        fitted = method(estimator, X, y, *args, **kwargs)
        context = getattr(estimator, "_callback_fit_ctx", None)
        if context is not None:
            context.call_on_fit_task_end(
                estimator=estimator, X=X, y=y, reconstruction_attributes=lambda: _fitted_attributes(estimator)
            )
        return fitted

    return cast(Method, sklearn_with_callbacks(fit))


def _fitted_attributes(estimator: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") and not name.startswith("_")}


def watcher(
    estimator: Any, X: Array, y: Array, max_iter: int, attributes: Callable[[Params], dict[str, Any]]
) -> Callback | None:
    """Tell scikit-learn's callbacks of each iteration, where there are any; they get a fitted estimator through
    `attributes`.
    """
    if not (hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")):
        return None
    context = estimator._init_callback_context(max_subtasks=max_iter)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    before: list[Params] = []

    def report(record: Record, params: Params) -> bool:
        # a step is told when it has been taken; what was there before it, too
        then = partial(attributes, before.pop()) if before else None
        task = context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y, reconstruction_attributes=then)
        before.append(params)
        now = partial(attributes, params)
        return bool(task.call_on_fit_task_end(estimator=estimator, X=X, y=y, reconstruction_attributes=now))

    return report
