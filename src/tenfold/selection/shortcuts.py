"""When a class may choose its hyper-parameters by its own exact protocol, and when the whole pipeline is refitted.

A class of ours that ends in CV chooses on the rows that it is given: by leaving each out in closed form, or by folds.
Inside a pipeline these rows went through the steps before it, which were fitted to all of them. That is honest as long
as no step looked at the target:

- A step that looks at one row at a time (`row_wise`) gives the same rows whoever is left out: the shortcut is exact.
- A step that learns from other rows, but never from the target (a scaler, an encoder of categories, components), has
  seen the row that is left out without its target. This is taken as honest for *choosing*: such preparations may be
  made beforehand (Seeger, section 10.2.1). The *estimate* of the outer folds does not even have that: there every step
  is fitted to the training rows alone.
- A step that looks at the target (means of the target for categories, selection of columns by correlation) has told
  the row's own target to its columns. No shortcut then: every inner fold refits the whole pipeline.

A step says `supervised` and `row_wise` as attributes; scikit-learn's are in a table here. An unknown step counts as
supervised, so that what is not known never leaks.
"""

from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

import tenfold.estimators as ours

Looks = Literal["row", "rows", "target"]
"""What a step looks at to give a row: this row, other rows too, or the targets."""

LOOKS: dict[str, Looks] = {
    **dict.fromkeys(
        (
            "AdditiveChi2Sampler",
            "Binarizer",
            "FeatureHasher",
            "FunctionTransformer",
            "GaussianRandomProjection",
            "HashingVectorizer",
            "Normalizer",
            "PolynomialFeatures",
            "RBFSampler",
            "SkewedChi2Sampler",
            "SparseRandomProjection",
        ),
        "row",
    ),
    **dict.fromkeys(
        (
            "Birch",
            "BisectingKMeans",
            "CountVectorizer",
            "DictVectorizer",
            "DictionaryLearning",
            "FactorAnalysis",
            "FastICA",
            "FeatureAgglomeration",
            "IncrementalPCA",
            "IsolationForest",
            "Isomap",
            "IterativeImputer",
            "KBinsDiscretizer",
            "KMeans",
            "KNNImputer",
            "KNeighborsTransformer",
            "KernelCenterer",
            "KernelPCA",
            "LatentDirichletAllocation",
            "LocallyLinearEmbedding",
            "MaxAbsScaler",
            "MinMaxScaler",
            "MiniBatchDictionaryLearning",
            "MiniBatchKMeans",
            "MiniBatchNMF",
            "MiniBatchSparsePCA",
            "MissingIndicator",
            "NMF",
            "Nystroem",
            "OneHotEncoder",
            "OnlineKMeans",
            "OrdinalEncoder",
            "PCA",
            "PowerTransformer",
            "QuantileTransformer",
            "RadiusNeighborsTransformer",
            "RobustScaler",
            "SimpleImputer",
            "SparsePCA",
            "SplineTransformer",
            "StandardScaler",
            "TfidfTransformer",
            "TfidfVectorizer",
            "TruncatedSVD",
            "VarianceThreshold",
        ),
        "rows",
    ),
}
"""Transformers of scikit-learn, and ours of the same names, that never look at the target."""


@dataclass(frozen=True)
class Own:
    """How a class of ours chooses by itself.

    Attributes
    ----------
    plain : the class that fits one candidate.
    chosen : attributes with what was chosen, by parameters of `plain`.
    candidates : attributes with all candidates, by parameters of `plain`; a name without underscore is a parameter.
    alone : whether it leaves rows out one by one where no folds are given.
    free : whether candidates are compared without a fit of their own.
    """

    plain: str | None
    chosen: dict[str, str]
    candidates: dict[str, str] = field(default_factory=dict)
    alone: bool = False
    free: bool = True

    def tried(self, model: Any) -> int:
        """How many candidates a fitted model compared."""
        if not self.candidates:
            return int(np.asarray(getattr(model, "mse_path_", [0])).shape[0])
        return len(self.settings(model))

    def settings(self, model: Any) -> list[dict[str, Any]]:
        """All candidates of a fitted model, as parameters of `plain`."""
        lists = {name: np.asarray(getattr(model, attribute)) for name, attribute in self.candidates.items()}
        names = list(lists)
        deep = next((name for name in names if lists[name].ndim == 2), None)
        if deep is not None:  # penalties of their own for each share of L1
            other = next(name for name in names if name != deep)
            pairs = zip(np.atleast_1d(lists[other]), lists[deep], strict=True)
            return [{deep: float(value), other: float(share)} for share, values in pairs for value in values]
        flat = [np.atleast_1d(lists[name]).tolist() for name in names]
        return [
            {name: value for name, value in zip(names, values, strict=True) if value is not None}
            for values in product(*flat)
        ]


ALPHA = ({"alpha": "alpha_"}, {"alpha": "alphas_"})
MIXED = ({"alpha": "alpha_", "l1_ratio": "l1_ratio_"}, {"alpha": "alphas_", "l1_ratio": "l1_ratio"})
NEIGHBOURS = ({"n_neighbors": "n_neighbors_"}, {"n_neighbors": "candidates_"})
LOGISTIC = ({"C": "C_", "l1_ratio": "l1_ratio_"}, {"C": "Cs_", "l1_ratio": "l1_ratios_"})

OWN = {
    "ElasticNetCV": Own("ElasticNet", *MIXED),
    "KNeighborsCV": Own("KNeighborsRegressor", *NEIGHBOURS, alone=True),
    "KNeighborsClassifierCV": Own("KNeighborsClassifier", *NEIGHBOURS, alone=True),
    "LarsCV": Own(None, {"alpha": "alpha_"}),
    "LassoCV": Own("Lasso", *ALPHA),
    "LassoLarsCV": Own(None, {"alpha": "alpha_"}),
    "LogisticRegressionCV": Own("LogisticRegression", *LOGISTIC, free=False),
    "MultiTaskElasticNetCV": Own("MultiTaskElasticNet", *MIXED),
    "MultiTaskLassoCV": Own("MultiTaskLasso", *ALPHA),
    "OrthogonalMatchingPursuitCV": Own(None, {"n_nonzero_coefs": "n_nonzero_coefs_"}),
    "RidgeCV": Own("Ridge", *ALPHA, alone=True),
    "RidgeClassifierCV": Own("RidgeClassifier", *ALPHA, alone=True),
}


def own_protocol(model: Any) -> Own | None:
    """How this estimator chooses by itself, where it is one of ours that does."""
    return OWN.get(type(model).__name__) if type(model).__module__.startswith(ours.__name__) else None


def last_step(model: Any) -> Any:
    """The estimator at the end of a pipeline, or the estimator itself."""
    return last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def looks_at(step: Any) -> Looks:
    """What a transformer looks at to give a row."""
    if step is None or isinstance(step, str):
        return "row"  # passed through, or dropped
    inside = _inside(step)
    if inside is not None:
        found = [looks_at(one) for one in inside]
        order: tuple[Looks, ...] = ("target", "rows")
        return next((worst for worst in order if worst in found), "row")
    if hasattr(step, "supervised"):
        if step.supervised:
            return "target"
        return "row" if getattr(step, "row_wise", False) else "rows"
    name, home = type(step).__name__, type(step).__module__.partition(".")[0]
    return LOOKS.get(name, "target") if home in ("sklearn", "tenfold") else "target"


def _inside(step: Any) -> list[Any] | None:
    """The transformers that a transformer is made of."""
    if isinstance(step, Pipeline):
        return [one for _, one in step.steps]
    if isinstance(step, ColumnTransformer):
        rest = step.remainder if not isinstance(step.remainder, str) else None
        return [one for _, one, _ in step.transformers] + [rest]
    if isinstance(step, FeatureUnion):
        return [one for _, one in step.transformer_list]
    return None


def shortcut(pipeline: Any, *, exchangeable: bool = True) -> tuple[str | None, str]:
    """Whether the class at the end of a pipeline may choose by its own protocol, and why.

    Parameters
    ----------
    pipeline : estimator, or Pipeline that ends in one
        What is to choose.
    exchangeable : bool, default=True
        Whether no groups and no time tie samples together, so that they may be left out one by one.

    Returns
    -------
    protocol : {"leave-one-out", "folds"} or None
        None where inner folds refit the whole pipeline.
    reason : str
        Why, in a sentence.

    Notes
    -----
    Nothing is fitted. A step counts as looking at the target where it says so by an attribute `supervised`, and where
    nothing is known of it: classes of other packages than this one and scikit-learn, and those of them that are not
    known to leave the target alone.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler, TargetEncoder
    >>> from tenfold import RidgeCV
    >>> from tenfold.selection import shortcut
    >>> shortcut(make_pipeline(StandardScaler(), RidgeCV()))[0]
    'leave-one-out'
    >>> print(shortcut(make_pipeline(TargetEncoder(), RidgeCV()))[1])
    TargetEncoder looks at the target, so every inner fold refits the whole pipeline.
    """
    last = last_step(pipeline)
    own = own_protocol(last)
    name = type(last).__name__
    if own is None:
        return None, f"{name} does not choose by itself."
    steps = _before(pipeline)
    seen = [(type(step).__name__, looks_at(step)) for step in steps]
    guilty = [step for step, looks in seen if looks == "target"]
    if guilty and own.plain is not None:
        verb = "looks" if len(guilty) == 1 else "look"
        return None, f"{' and '.join(guilty)} {verb} at the target, so every inner fold refits the whole pipeline."
    prepared = [step for step, looks in seen if looks == "rows"]
    how = f"; {', '.join(prepared)} never sees the target and is refitted in every outer fold" if prepared else ""
    if guilty:
        how = f"; {' and '.join(guilty)} saw the target before, which can mislead the choice, but not the outer folds"
    cv = getattr(last, "cv", None)
    folds = hasattr(last, "cv")
    if own.alone and cv is None:
        if exchangeable:
            return "leave-one-out", f"{name} chooses by exact leave-one-out{how}."
        if not folds:
            return None, "Groups or time tie rows together, so every inner fold refits the pipeline."
    return "folds", f"{name} chooses by the inner folds, all candidates together{how}."


def _before(model: Any) -> list[Any]:
    """All steps before the last estimator, pipelines opened."""
    if not isinstance(model, Pipeline):
        return []
    return [step for _, step in model.steps[:-1]] + _before(model.steps[-1][1])
