"""Tenfold: the classical methods of machine learning, certified and fast, behind scikit-learn's contract.

The public names are loaded at their first use, so that ``import tenfold`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenfold.certification import certify as certify
    from tenfold.choose.path import RidgePath as RidgePath
    from tenfold.data.open import rows as rows
    from tenfold.estimators.greedy import ForwardSelection as ForwardSelection
    from tenfold.estimators.greedy import OrthogonalMatchingPursuit as OrthogonalMatchingPursuit
    from tenfold.estimators.greedy import OrthogonalMatchingPursuitCV as OrthogonalMatchingPursuitCV
    from tenfold.estimators.greedy import orthogonal_mp as orthogonal_mp
    from tenfold.estimators.greedy import orthogonal_mp_gram as orthogonal_mp_gram
    from tenfold.estimators.lasso import ElasticNet as ElasticNet
    from tenfold.estimators.lasso import Lasso as Lasso
    from tenfold.estimators.least_squares import LinearRegression as LinearRegression
    from tenfold.estimators.least_squares import Ridge as Ridge
    from tenfold.estimators.least_squares import RidgeClassifier as RidgeClassifier
    from tenfold.estimators.least_squares import RidgeClassifierCV as RidgeClassifierCV
    from tenfold.estimators.least_squares import RidgeCV as RidgeCV
    from tenfold.estimators.least_squares import ridge_path as ridge_path
    from tenfold.estimators.least_squares import ridge_regression as ridge_regression
    from tenfold.estimators.logistic import LogisticRegression as LogisticRegression
    from tenfold.estimators.perceptron import AveragedPerceptron as AveragedPerceptron
    from tenfold.estimators.perceptron import Perceptron as Perceptron
    from tenfold.estimators.perceptron import VotedPerceptron as VotedPerceptron
    from tenfold.judge import Certificate as Certificate
    from tenfold.stats import Moments as Moments

__version__ = "0.1.0"

_HOME = {
    "AveragedPerceptron": "estimators.perceptron",
    "Certificate": "judge",
    "ElasticNet": "estimators.lasso",
    "Lasso": "estimators.lasso",
    "ForwardSelection": "estimators.greedy",
    "LinearRegression": "estimators.least_squares",
    "LogisticRegression": "estimators.logistic",
    "Moments": "stats",
    "Perceptron": "estimators.perceptron",
    "OrthogonalMatchingPursuit": "estimators.greedy",
    "OrthogonalMatchingPursuitCV": "estimators.greedy",
    "Ridge": "estimators.least_squares",
    "RidgeCV": "estimators.least_squares",
    "RidgeClassifier": "estimators.least_squares",
    "RidgeClassifierCV": "estimators.least_squares",
    "RidgePath": "choose.path",
    "VotedPerceptron": "estimators.perceptron",
    "certify": "certification",
    "orthogonal_mp": "estimators.greedy",
    "orthogonal_mp_gram": "estimators.greedy",
    "ridge_path": "estimators.least_squares",
    "ridge_regression": "estimators.least_squares",
    "rows": "data.open",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'tenfold' has no attribute {name!r}")
    module = import_module(f"tenfold.{home}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
