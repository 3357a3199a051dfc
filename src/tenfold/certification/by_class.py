"""Classifiers that are read off statistics of the classes: naive Bayes and discriminants. What they store is judged by
the rows.
"""

from typing import Any

from tenfold.certification.models import known, validated
from tenfold.estimators.bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MixedNB, MultinomialNB
from tenfold.estimators.classes import numbered
from tenfold.estimators.contract import validate_weights
from tenfold.estimators.discriminant import (
    BayesClassifier,
    GaussianPlugIn,
    LinearDiscriminantAnalysis,
    NearestCentroid,
    QuadraticDiscriminantAnalysis,
)
from tenfold.judge import Certificate

CLASSES: dict[str, Any] = {
    cls.__name__: cls
    for cls in (
        BayesClassifier,
        BernoulliNB,
        CategoricalNB,
        ComplementNB,
        GaussianNB,
        GaussianPlugIn,
        LinearDiscriminantAnalysis,
        MixedNB,
        MultinomialNB,
        NearestCentroid,
        QuadraticDiscriminantAnalysis,
    )
}


def sums(model: Any, X: Any, y: Any, sample_weight: Any) -> Certificate:
    X, y = validated(model, X, y, numeric=False)
    known(model, y)
    ours = _as_ours(model)
    return ours.judged(X, numbered(model.classes_, y, X), validate_weights(sample_weight, X))


def _as_ours(model: Any) -> Any:
    """A model of ours with the parameters and the fitted attributes of scikit-learn's, or of ours itself."""
    cls = CLASSES[type(model).__name__]
    ours = cls(**model.get_params(deep=False))
    for name in (name for name in vars(model) if name.endswith("_") or name == "_max_components"):
        setattr(ours, name, getattr(model, name))
    return ours


JUDGES = dict.fromkeys(CLASSES, sums)
