"""Records in models (statistics, certificates, traces, losses, splitters), with the checks of their fields.

A class is added by an entry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from tenfold.estimators.schema import (
    Check,
    Scope,
    anything,
    array,
    find_violation,
    flag,
    floats,
    integers,
    many,
    nothing,
    number,
    text,
    whole,
)
from tenfold.persist.schema_kernels import kernel

SHARED = ("p", "k")  # sizes that a record shares with its model


@dataclass(frozen=True)
class Record:
    """The module of a class, the checks of its fields in constructor order, and the fields that older files lack, with
    what they are then.
    """

    module: str
    parts: Mapping[str, Check]
    later: Mapping[str, Any] = field(default_factory=dict)

    def resolve(self, name: str) -> Any:
        return getattr(import_module(self.module), name)


def record(*names: str) -> Check:
    """A check for a record of one of these names, with the features and classes of the model."""

    def test(value: Any, scope: Scope) -> bool:
        name = type(value).__name__
        if name not in names or type(value) is not RECORDS[name].resolve(name):
            return False
        parts = RECORDS[name].parts
        own: Scope = {size: scope[size] for size in SHARED if size in scope}
        return not find_violation(parts, {part: getattr(value, part) for part in parts}, own, whole=True)

    return Check(f"a {' or '.join(names)} that goes with the model", test)


real = number(inf=True, nan=True)
"""A number that is reported only, never computed with."""
amount = number(0, inf=True)

RESULT = {
    "names": many(text(), "q"),
    "coefficients": floats("q", nan=True, inf=True),
    "covariance": floats("q q", nan=True, inf=True),
    "count": amount,
    "degrees_of_freedom": number(),
    "covariance_type": text(),
}
STATISTICS = (
    "ClassSums",
    "ClassColumns",
    "ClassTables",
    "Centres",
    "Moments",
    "GroupedMoments",
    "WithinMoments",
    "WithinFactor",
    "Several",
)

RECORDS: dict[str, Record] = {
    "Certificate": Record(
        "tenfold.judge.certificate",
        {
            "kind": text(),
            **dict.fromkeys(("value", "scale", "tol", "floor", "objective"), real),
            **dict.fromkeys(("lower_bound", "radius", "condition"), real | nothing()),
            "status": text(),
            "parts": many(real),
            "note": text(),
            "_coef": floats("t c", nan=True, inf=True) | nothing(),
            "_intercept": floats("t", nan=True, inf=True) | nothing(),
            "_centre": floats("c") | nothing(),
            "_drift": real,
            "_decide": record("DecidedByKernel", "Enclosure", "VotesEnclosure", "ClassesEnclosure") | nothing(),
            "_variant": text("", "network") | nothing(),
        },
        later={"_decide": None, "_variant": ""},
    ),
    "DecidedByKernel": Record(
        "tenfold.judge.dual_system",
        {"kernel": kernel, "samples": floats("n p", sparse=True), "coef": floats("n t"), "radius": floats("t")},
    ),
    "Enclosure": Record(
        "tenfold.judge.svm_enclosure",
        {
            "kernel": kernel,
            "support": floats("* p", sparse=True) | integers("*", low=0),
            "count": whole(),
            "coef": floats("* t"),
            **dict.fromkeys(("intercept", "radius", "drift"), floats("t")),
        },
    ),
    "VotesEnclosure": Record(
        "tenfold.judge.svm_enclosure", {"pairs": record("Enclosure"), "classes": whole(), "breaks_ties": flag()}
    ),
    "ClassesEnclosure": Record("tenfold.judge.gap_kernel", {"scores": record("Enclosure")}),
    "Record": Record("tenfold.solvers.loop", dict.fromkeys(("objective", "measure", "seconds"), real)),
    "Pass": Record("tenfold.solvers.perceptron", {"mistakes": whole(), "loss": real, "length": real}),
    "TagPass": Record("tenfold.solvers.structured_perceptron", {"mistakes": whole(), "sequences": whole()}),
    "LeastSquaresInference": Record(
        "tenfold.inference", RESULT | dict.fromkeys(("sigma2", "r_squared", "r_squared_adjusted"), real)
    ),
    "LikelihoodInference": Record(
        "tenfold.inference",
        RESULT
        | {"family": text()}
        | dict.fromkeys(("dispersion", "deviance", "null_deviance", "pearson", "distance", "log_likelihood"), real)
        | {"groups": whole()},
    ),
    "JackknifePlus": Record(
        "tenfold.cross_validation.ridge_loo",
        {
            "rows": floats("n p"),
            "errors": floats("n"),
            "weight": floats("n", low=0.0),
            "centre": floats("p"),
            "base": number(0.0),
            "alpha": number(0.0),
            "values": floats("r"),
            "vectors": floats("p r", "n r"),
        },
    ),
    "Params": Record("tenfold.stats.derivatives", {"coef": floats("t p"), "intercept": floats("t")}),
    "Memory": Record(
        "tenfold.solvers.perceptron", {"sums": floats("t p"), "sum_intercept": floats("t"), "seen": number(0.0)}
    ),
    "Voters": Record(
        "tenfold.stats.perceptron_votes",
        {
            "classes": whole(2, size="k"),
            "X": floats("m p", sparse=True),
            "row": integers("v", low=0, high="m"),
            "step": floats("v"),
            "up": integers("v", low=0, high="k"),
            "down": integers("v", low=0, high="k"),
            "votes": floats("v", low=0.0),
            "intercept": flag(),
        },
    ),
    "Moments": Record(
        "tenfold.stats.moments",
        {
            "count": whole(),
            "weight": number(0.0),
            "XX": floats("p p"),
            "XY": floats("p t"),
            "yy": floats("t", low=0.0),
            "shift": floats("p+t"),
            "offset": floats("p+t"),
            "exponent": integers("p+t", low=-5000, high=5000),
        },
    ),
    "GroupedMoments": Record("tenfold.stats.moments", {"groups": many(record("Moments"))}),
    "WithinMoments": Record(
        "tenfold.stats.within_class_scatter",
        {"count": whole(), "weight": floats("k", low=0.0), "mean": floats("k p"), "scatter": floats("p p")},
    ),
    "WithinFactor": Record(
        "tenfold.stats.within_class_scatter",
        {"count": whole(), "weight": floats("k", low=0.0), "mean": floats("k p"), "factor": floats("m p")},
    ),
    "ClassSums": Record(
        "tenfold.stats.class_totals",
        {"weight": floats("k", low=0.0), "sums": floats("k p"), "low": number(inf=True, nan=True)},
    ),
    "ClassColumns": Record(
        "tenfold.stats.class_totals",
        {"mean": floats("k c"), "squares": floats("k c", low=0.0), "weight": floats("k", "k c", low=0.0)},
    ),
    "ClassTables": Record(
        "tenfold.stats.contingency", {"weight": floats("k", low=0.0), "tables": many(floats("k *", low=0.0))}
    ),
    "Several": Record("tenfold.stats.combined", {"parts": many(record(*STATISTICS))}),
    "Centres": Record(
        "tenfold.plans.nearest_centroid",
        {
            "weight": floats("k", low=0.0),
            "centre": floats("k p"),
            "squares": floats("k p", low=0.0),
            "mean": floats("p"),
            "varies": array("b", "p"),
        },
    ),
    "Sigmoid": Record(
        "tenfold.decide", {"slope": number(), "intercept": number(), "certificate": record("Certificate")}
    ),
    "Isotonic": Record(
        "tenfold.decide",
        {
            "scores": floats("m"),
            "values": floats("m", low=0.0, high=1.0 + 1e-9),
            "certificate": record("Certificate"),
        },
    ),
    "Guarantee": Record("tenfold.decide", {"coverage": real, "proved": real, "statement": text()}),
    "Threshold": Record("tenfold.decide", dict.fromkeys(("probability", "log_odds"), real)),
    "ColumnType": Record(
        "tenfold.features.schema",
        dict.fromkeys(("name", "kind", "reason"), text())
        | {"missing": whole(), "distinct": whole(), "formats": many(text()), "levels": many(anything())}
        | {"numerals": many(text(), "3") | nothing(), "declared": flag()},
    ),
    "Schema": Record("tenfold.features.schema", {"columns": many(record("ColumnType"))}),
    **{
        name: Record("tenfold.losses", {})
        for name in (
            *("Poisson", "Gamma", "Logistic", "Hinge", "SquaredHinge", "ModifiedHuber", "Tanh", "Softmax"),
            *("JointHinge", "Square"),
        )
    },
    **{
        name: Record("tenfold.losses", {part: number()})
        for name, part in (
            *((name, "power") for name in ("Tweedie", "LogDeviance", "IdentityDeviance")),
            *((name, "epsilon") for name in ("EpsilonInsensitive", "Laplace", "SquaredEpsilonInsensitive")),
            ("Huber", "width"),
            ("Quantile", "q"),
            ("Student", "nu"),
        )
    },
}

# classes that are rebuilt by their constructors, which validate: module and arguments
BUILT: dict[str, tuple[str, tuple[str, ...]]] = {
    "KFold": ("sklearn.model_selection", ("n_splits", "shuffle", "random_state")),
    "StratifiedKFold": ("sklearn.model_selection", ("n_splits", "shuffle", "random_state")),
    "StratifiedGroupKFold": ("sklearn.model_selection", ("n_splits", "shuffle", "random_state")),
    "GroupKFold": ("sklearn.model_selection", ("n_splits", "shuffle", "random_state")),
    "LeaveOneOut": ("sklearn.model_selection", ()),
    "LeaveOneGroupOut": ("sklearn.model_selection", ()),
    "TimeSeriesSplit": ("sklearn.model_selection", ("n_splits", "max_train_size", "test_size", "gap")),
    "ShuffleSplit": ("sklearn.model_selection", ("n_splits", "test_size", "train_size", "random_state")),
    "StratifiedShuffleSplit": ("sklearn.model_selection", ("n_splits", "test_size", "train_size", "random_state")),
    "make_column_selector": ("sklearn.compose", ("pattern", "dtype_include", "dtype_exclude")),
    "BSpline": ("scipy.interpolate", ("t", "c", "k", "extrapolate")),
}

# functions that a model may refer to by name
FUNCTIONS = dict.fromkeys(
    ("chi2", "f_classif", "f_regression", "mutual_info_classif", "mutual_info_regression", "r_regression"),
    "sklearn.feature_selection",
) | dict.fromkeys(("mean", "median", "sum", "max", "min"), "numpy")
