"""Schemas of the processes of two classes, of which a Gaussian process classifier is made."""

from typing import Any

from tenfold.estimators.schema import ANY, Check, Schema, anything, floats, integers, labels, many, number
from tenfold.persist.records import record
from tenfold.persist.schema_kernels import kernel


def _is_process(value: Any, _: Any) -> bool:
    return type(value).__name__ == "BinaryLaplace" and hasattr(value, "L_")


def _samples(model: Any) -> bool:
    X = model.X_train_
    return (X.shape[0] if hasattr(X, "shape") else len(X)) == len(model.L_)


# schemas by the names of the classes
PROCESSES: dict[str, Schema] = {
    "BinaryLaplace": Schema(
        {
            **ANY,
            "X_train_": anything(),
            "y_train_": integers("n", low=0, high=1),
            "classes_": labels("k"),
            "kernel_": kernel,
            "pi_": floats("n", low=0.0, high=1.0),
            "W_sr_": floats("n", low=0.0, high=0.5),
            "L_": floats("n n"),
            "f_cached": floats("n"),
            "log_marginal_likelihood_value_": number(),
            "certificate_": record("Certificate"),
        },
        {"X_train_ must have as many samples as L_": _samples},
    ),
    "BinaryProblems": Schema(
        {**ANY, "estimators_": many(Check("a process of two classes", _is_process)), "classes_": labels("k")},
        {
            "there must be a process for each problem": lambda model: (
                len(model.estimators_)
                == (
                    len(model.classes_) * (len(model.classes_) - 1) // 2
                    if model.multi_class == "one_vs_one"
                    else len(model.classes_)
                )
            )
        },
    ),
}
