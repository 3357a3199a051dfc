"""Tenfold: the classical methods of machine learning, certified and fast, behind scikit-learn's contract.

The public names are loaded at their first use, so that ``import tenfold`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenfold.advice import linear_or_not as linear_or_not
    from tenfold.advice import recommend as recommend
    from tenfold.certification import certify as certify
    from tenfold.certification import infer as infer
    from tenfold.choose.path import RidgePath as RidgePath
    from tenfold.data.open import rows as rows
    from tenfold.estimators.bayes import BernoulliNB as BernoulliNB
    from tenfold.estimators.bayes import CategoricalNB as CategoricalNB
    from tenfold.estimators.bayes import ComplementNB as ComplementNB
    from tenfold.estimators.bayes import GaussianNB as GaussianNB
    from tenfold.estimators.bayes import MixedNB as MixedNB
    from tenfold.estimators.bayes import MultinomialNB as MultinomialNB
    from tenfold.estimators.components import PCA as PCA
    from tenfold.estimators.components import IncrementalPCA as IncrementalPCA
    from tenfold.estimators.components import TruncatedSVD as TruncatedSVD
    from tenfold.estimators.components import principal_angles as principal_angles
    from tenfold.estimators.discriminant import BayesClassifier as BayesClassifier
    from tenfold.estimators.discriminant import GaussianPlugIn as GaussianPlugIn
    from tenfold.estimators.discriminant import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from tenfold.estimators.discriminant import NearestCentroid as NearestCentroid
    from tenfold.estimators.discriminant import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from tenfold.estimators.glm import GammaRegressor as GammaRegressor
    from tenfold.estimators.glm import GeneralizedLinear as GeneralizedLinear
    from tenfold.estimators.glm import GeneralizedLinearClassifier as GeneralizedLinearClassifier
    from tenfold.estimators.glm import HuberRegressor as HuberRegressor
    from tenfold.estimators.glm import PoissonRegressor as PoissonRegressor
    from tenfold.estimators.glm import QuantileRegressor as QuantileRegressor
    from tenfold.estimators.glm import TweedieRegressor as TweedieRegressor
    from tenfold.estimators.greedy import BestSubset as BestSubset
    from tenfold.estimators.greedy import ForwardSelection as ForwardSelection
    from tenfold.estimators.greedy import Lars as Lars
    from tenfold.estimators.greedy import LarsCV as LarsCV
    from tenfold.estimators.greedy import LassoLars as LassoLars
    from tenfold.estimators.greedy import LassoLarsCV as LassoLarsCV
    from tenfold.estimators.greedy import LassoLarsIC as LassoLarsIC
    from tenfold.estimators.greedy import MatchingPursuit as MatchingPursuit
    from tenfold.estimators.greedy import OrthogonalMatchingPursuit as OrthogonalMatchingPursuit
    from tenfold.estimators.greedy import OrthogonalMatchingPursuitCV as OrthogonalMatchingPursuitCV
    from tenfold.estimators.greedy import lars_path as lars_path
    from tenfold.estimators.greedy import lars_path_gram as lars_path_gram
    from tenfold.estimators.greedy import orthogonal_mp as orthogonal_mp
    from tenfold.estimators.greedy import orthogonal_mp_gram as orthogonal_mp_gram
    from tenfold.estimators.kmeans import BisectingKMeans as BisectingKMeans
    from tenfold.estimators.kmeans import KMeans as KMeans
    from tenfold.estimators.kmeans import MiniBatchKMeans as MiniBatchKMeans
    from tenfold.estimators.kmeans import OnlineKMeans as OnlineKMeans
    from tenfold.estimators.kmeans import k_means as k_means
    from tenfold.estimators.kmeans import kmeans_plusplus as kmeans_plusplus
    from tenfold.estimators.lasso import ElasticNet as ElasticNet
    from tenfold.estimators.lasso import ElasticNetCV as ElasticNetCV
    from tenfold.estimators.lasso import Lasso as Lasso
    from tenfold.estimators.lasso import LassoCV as LassoCV
    from tenfold.estimators.lasso import MultiTaskElasticNet as MultiTaskElasticNet
    from tenfold.estimators.lasso import MultiTaskElasticNetCV as MultiTaskElasticNetCV
    from tenfold.estimators.lasso import MultiTaskLasso as MultiTaskLasso
    from tenfold.estimators.lasso import MultiTaskLassoCV as MultiTaskLassoCV
    from tenfold.estimators.lasso import enet_path as enet_path
    from tenfold.estimators.lasso import lasso_path as lasso_path
    from tenfold.estimators.least_squares import LinearRegression as LinearRegression
    from tenfold.estimators.least_squares import Ridge as Ridge
    from tenfold.estimators.least_squares import RidgeClassifier as RidgeClassifier
    from tenfold.estimators.least_squares import RidgeClassifierCV as RidgeClassifierCV
    from tenfold.estimators.least_squares import RidgeCV as RidgeCV
    from tenfold.estimators.least_squares import ridge_path as ridge_path
    from tenfold.estimators.least_squares import ridge_regression as ridge_regression
    from tenfold.estimators.logistic import LogisticRegression as LogisticRegression
    from tenfold.estimators.logistic import LogisticRegressionCV as LogisticRegressionCV
    from tenfold.estimators.logistic import l1_min_c as l1_min_c
    from tenfold.estimators.mixture import GaussianMixture as GaussianMixture
    from tenfold.estimators.mixture import em as em
    from tenfold.estimators.neighbours import Histogram as Histogram
    from tenfold.estimators.neighbours import KernelDensity as KernelDensity
    from tenfold.estimators.neighbours import KNeighborsClassifier as KNeighborsClassifier
    from tenfold.estimators.neighbours import KNeighborsClassifierCV as KNeighborsClassifierCV
    from tenfold.estimators.neighbours import KNeighborsCV as KNeighborsCV
    from tenfold.estimators.neighbours import KNeighborsRegressor as KNeighborsRegressor
    from tenfold.estimators.neighbours import KNeighborsTransformer as KNeighborsTransformer
    from tenfold.estimators.neighbours import NearestNeighbors as NearestNeighbors
    from tenfold.estimators.neighbours import ParzenRegressor as ParzenRegressor
    from tenfold.estimators.neighbours import PrototypeClassifier as PrototypeClassifier
    from tenfold.estimators.neighbours import RadiusNeighborsClassifier as RadiusNeighborsClassifier
    from tenfold.estimators.neighbours import RadiusNeighborsRegressor as RadiusNeighborsRegressor
    from tenfold.estimators.neighbours import RadiusNeighborsTransformer as RadiusNeighborsTransformer
    from tenfold.estimators.neighbours import kneighbors_graph as kneighbors_graph
    from tenfold.estimators.neighbours import radius_neighbors_graph as radius_neighbors_graph
    from tenfold.estimators.perceptron import AveragedPerceptron as AveragedPerceptron
    from tenfold.estimators.perceptron import Perceptron as Perceptron
    from tenfold.estimators.perceptron import VotedPerceptron as VotedPerceptron
    from tenfold.estimators.separability import separability as separability
    from tenfold.estimators.sgd import PassiveAggressiveClassifier as PassiveAggressiveClassifier
    from tenfold.estimators.sgd import PassiveAggressiveRegressor as PassiveAggressiveRegressor
    from tenfold.estimators.sgd import SGDClassifier as SGDClassifier
    from tenfold.estimators.sgd import SGDOneClassSVM as SGDOneClassSVM
    from tenfold.estimators.sgd import SGDRegressor as SGDRegressor
    from tenfold.estimators.structured import StructuredPerceptron as StructuredPerceptron
    from tenfold.estimators.svm import LinearSVC as LinearSVC
    from tenfold.estimators.svm import LinearSVR as LinearSVR
    from tenfold.estimators.two_blocks import CCA as CCA
    from tenfold.estimators.two_blocks import PLSSVD as PLSSVD
    from tenfold.estimators.two_blocks import MultiviewCCA as MultiviewCCA
    from tenfold.estimators.two_blocks import PLSCanonical as PLSCanonical
    from tenfold.estimators.two_blocks import PLSRegression as PLSRegression
    from tenfold.estimators.undecided import ambiguity as ambiguity
    from tenfold.evaluation import Evaluation as Evaluation
    from tenfold.evaluation import Figure as Figure
    from tenfold.evaluation import evaluate as evaluate
    from tenfold.evaluation import evaluate_online as evaluate_online
    from tenfold.features import TableEncoder as TableEncoder
    from tenfold.features import check_table as check_table
    from tenfold.features import read_table as read_table
    from tenfold.geometry import Margins as Margins
    from tenfold.geometry import margins as margins
    from tenfold.judge import Certificate as Certificate
    from tenfold.persist import load as load
    from tenfold.persist import save as save
    from tenfold.stats import Moments as Moments

__version__ = "0.1.0"

_HOME = {
    "AveragedPerceptron": "estimators.perceptron",
    "BayesClassifier": "estimators.discriminant",
    "BernoulliNB": "estimators.bayes",
    "BestSubset": "estimators.greedy",
    "BisectingKMeans": "estimators.kmeans",
    "CCA": "estimators.two_blocks",
    "CategoricalNB": "estimators.bayes",
    "Certificate": "judge",
    "ComplementNB": "estimators.bayes",
    "ElasticNet": "estimators.lasso",
    "ElasticNetCV": "estimators.lasso",
    "Evaluation": "evaluation",
    "Figure": "evaluation",
    "ForwardSelection": "estimators.greedy",
    "GammaRegressor": "estimators.glm",
    "GaussianMixture": "estimators.mixture",
    "GaussianNB": "estimators.bayes",
    "GaussianPlugIn": "estimators.discriminant",
    "GeneralizedLinear": "estimators.glm",
    "GeneralizedLinearClassifier": "estimators.glm",
    "Histogram": "estimators.neighbours",
    "HuberRegressor": "estimators.glm",
    "IncrementalPCA": "estimators.components",
    "KMeans": "estimators.kmeans",
    "KNeighborsCV": "estimators.neighbours",
    "KNeighborsClassifier": "estimators.neighbours",
    "KNeighborsClassifierCV": "estimators.neighbours",
    "KNeighborsRegressor": "estimators.neighbours",
    "KNeighborsTransformer": "estimators.neighbours",
    "KernelDensity": "estimators.neighbours",
    "Lars": "estimators.greedy",
    "LarsCV": "estimators.greedy",
    "Lasso": "estimators.lasso",
    "LassoCV": "estimators.lasso",
    "LassoLars": "estimators.greedy",
    "LassoLarsCV": "estimators.greedy",
    "LassoLarsIC": "estimators.greedy",
    "LinearDiscriminantAnalysis": "estimators.discriminant",
    "LinearRegression": "estimators.least_squares",
    "LinearSVC": "estimators.svm",
    "LinearSVR": "estimators.svm",
    "LogisticRegression": "estimators.logistic",
    "LogisticRegressionCV": "estimators.logistic",
    "Margins": "geometry",
    "MatchingPursuit": "estimators.greedy",
    "MiniBatchKMeans": "estimators.kmeans",
    "MixedNB": "estimators.bayes",
    "Moments": "stats",
    "MultiTaskElasticNet": "estimators.lasso",
    "MultiTaskElasticNetCV": "estimators.lasso",
    "MultiTaskLasso": "estimators.lasso",
    "MultiTaskLassoCV": "estimators.lasso",
    "MultinomialNB": "estimators.bayes",
    "MultiviewCCA": "estimators.two_blocks",
    "NearestCentroid": "estimators.discriminant",
    "NearestNeighbors": "estimators.neighbours",
    "OnlineKMeans": "estimators.kmeans",
    "OrthogonalMatchingPursuit": "estimators.greedy",
    "OrthogonalMatchingPursuitCV": "estimators.greedy",
    "PCA": "estimators.components",
    "PLSCanonical": "estimators.two_blocks",
    "PLSRegression": "estimators.two_blocks",
    "PLSSVD": "estimators.two_blocks",
    "ParzenRegressor": "estimators.neighbours",
    "PassiveAggressiveClassifier": "estimators.sgd",
    "PassiveAggressiveRegressor": "estimators.sgd",
    "Perceptron": "estimators.perceptron",
    "PoissonRegressor": "estimators.glm",
    "PrototypeClassifier": "estimators.neighbours",
    "QuadraticDiscriminantAnalysis": "estimators.discriminant",
    "QuantileRegressor": "estimators.glm",
    "RadiusNeighborsClassifier": "estimators.neighbours",
    "RadiusNeighborsRegressor": "estimators.neighbours",
    "RadiusNeighborsTransformer": "estimators.neighbours",
    "Ridge": "estimators.least_squares",
    "RidgeCV": "estimators.least_squares",
    "RidgeClassifier": "estimators.least_squares",
    "RidgeClassifierCV": "estimators.least_squares",
    "RidgePath": "choose.path",
    "SGDClassifier": "estimators.sgd",
    "SGDOneClassSVM": "estimators.sgd",
    "SGDRegressor": "estimators.sgd",
    "StructuredPerceptron": "estimators.structured",
    "TableEncoder": "features",
    "TruncatedSVD": "estimators.components",
    "TweedieRegressor": "estimators.glm",
    "VotedPerceptron": "estimators.perceptron",
    "ambiguity": "estimators.undecided",
    "certify": "certification",
    "check_table": "features",
    "em": "estimators.mixture",
    "enet_path": "estimators.lasso",
    "evaluate": "evaluation",
    "evaluate_online": "evaluation",
    "infer": "certification",
    "k_means": "estimators.kmeans",
    "kmeans_plusplus": "estimators.kmeans",
    "kneighbors_graph": "estimators.neighbours",
    "l1_min_c": "estimators.logistic",
    "lars_path": "estimators.greedy",
    "lars_path_gram": "estimators.greedy",
    "lasso_path": "estimators.lasso",
    "linear_or_not": "advice",
    "load": "persist",
    "margins": "geometry",
    "orthogonal_mp": "estimators.greedy",
    "orthogonal_mp_gram": "estimators.greedy",
    "principal_angles": "estimators.components",
    "radius_neighbors_graph": "estimators.neighbours",
    "read_table": "features",
    "recommend": "advice",
    "ridge_path": "estimators.least_squares",
    "ridge_regression": "estimators.least_squares",
    "rows": "data.open",
    "save": "persist",
    "separability": "estimators.separability",
}

__all__ = sorted(_HOME)


_MODULES = ("bounds", "datasets", "decide", "persist", "plots", "selection")
"""Modules that are public as they are."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"tenfold.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'tenfold' has no attribute {name!r}")
    module = import_module(f"tenfold.{home}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
