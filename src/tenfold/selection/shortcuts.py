"""When an estimator may select hyper-parameters by its own cross-validation, and when the whole pipeline is refitted.

RidgeCV, LassoCV and other classes whose registration has a `tuning` select on the samples that they are given: by
leave-one-out in closed form, or by folds. In a pipeline these samples went through the steps before, which were fitted
to all of them. That is valid as long as no step used the target:

- A step that transforms each sample by itself (`row_wise`) gives the same result whichever sample is left out: the
  shortcut is exact.
- A step that learns from other samples, but not from targets (a scaler, an encoder of categories, components) has seen
  the left-out sample without its target. That is taken as valid for *selection*: such preprocessing may be done
  beforehand (Seeger, section 10.2.1). The *estimate* of the outer folds does not use it: there every step is fitted to
  the training samples alone.
- A step that uses the target (target encoding, selection of features by correlation) has leaked the target of the
  left-out sample into its features. No shortcut then: every inner fold refits the whole pipeline.

Our estimators register what their `transform` uses (`transform_uses`), other steps say `supervised` and `row_wise` as
attributes, scikit-learn's are in a table here. An unknown step counts as supervised, so that nothing unknown leaks.
"""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from tenfold.estimators.registration import Uses, registration_of
from tenfold.estimators.tuning import Tuning

# what the transformers of scikit-learn use, those that never use targets
SKLEARN_USES: dict[str, Uses] = {
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
        "sample",
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
        "samples",
    ),
}


def tuning_of(model: Any) -> Tuning | None:
    """How this estimator selects hyper-parameters by itself; None where it does not."""
    registration = registration_of(type(model))
    return None if registration is None else registration.tuning


def last_step(model: Any) -> Any:
    """The estimator at the end of a pipeline, or the estimator itself."""
    return last_step(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def transform_uses(step: Any) -> Uses:
    """What a transformed sample depends on: on the sample alone, on other samples, or on targets."""
    if step is None or isinstance(step, str):
        return "sample"  # passed through, or dropped
    parts = _transformers_inside(step)
    if parts is not None:
        uses = {transform_uses(part) for part in parts}
        return "targets" if "targets" in uses else "samples" if "samples" in uses else "sample"
    if hasattr(step, "supervised"):
        if step.supervised:
            return "targets"
        return "sample" if getattr(step, "row_wise", False) else "samples"
    if (registration := registration_of(type(step))) is not None:
        return registration.transform_uses
    is_sklearn = type(step).__module__.partition(".")[0] == "sklearn"
    return SKLEARN_USES.get(type(step).__name__, "targets") if is_sklearn else "targets"


def _transformers_inside(step: Any) -> list[Any] | None:
    """The transformers that a composed transformer consists of; None of a single one."""
    if isinstance(step, Pipeline):
        return [part for _, part in step.steps]
    if isinstance(step, ColumnTransformer):
        remainder = step.remainder if not isinstance(step.remainder, str) else None
        return [part for _, part, _ in step.transformers] + [remainder]
    if isinstance(step, FeatureUnion):
        return [part for _, part in step.transformer_list]
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
    Nothing is fitted. A step counts as using the target where its attribute `supervised` says so, and where nothing is
    known of it: classes of packages other than this one and scikit-learn, and scikit-learn's that are not listed here.

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
    tuning = tuning_of(last)
    name = type(last).__name__
    if tuning is None:
        return None, f"{name} does not choose by itself."
    uses = [(type(step).__name__, transform_uses(step)) for step in _steps_before_last(pipeline)]
    supervised = [step for step, used in uses if used == "targets"]
    if supervised and tuning.single:
        verb = "looks" if len(supervised) == 1 else "look"
        return None, f"{' and '.join(supervised)} {verb} at the target, so every inner fold refits the whole pipeline."
    unsupervised = [step for step, used in uses if used == "samples"]
    how = ""
    if unsupervised:
        how = f"; {', '.join(unsupervised)} never sees the target and is refitted in every outer fold"
    if supervised:
        names = " and ".join(supervised)
        how = f"; {names} saw the target before, which can mislead the choice, but not the outer folds"
    cv = getattr(last, "cv", None)
    folds = hasattr(last, "cv")
    if tuning.leave_one_out and cv is None:
        if exchangeable:
            return "leave-one-out", f"{name} chooses by exact leave-one-out{how}."
        if not folds:
            return None, "Groups or time tie rows together, so every inner fold refits the pipeline."
    return "folds", f"{name} chooses by the inner folds, all candidates together{how}."


def _steps_before_last(model: Any) -> list[Any]:
    """All steps before the last estimator, those of nested pipelines included."""
    if not isinstance(model, Pipeline):
        return []
    return [step for _, step in model.steps[:-1]] + _steps_before_last(model.steps[-1][1])
