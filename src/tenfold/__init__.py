"""Tenfold: the classical methods of machine learning, certified and fast, behind scikit-learn's contract.

The public names are loaded at their first use, so that ``import tenfold`` costs nothing. Estimators are here because
they register themselves (`tenfold.estimators.registration`); functions and other names stand in `OTHERS`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# imports:begin (made by tools/public_names.py: do not edit)
if TYPE_CHECKING:  # isort: off
    from tenfold.advice import linear_or_not as linear_or_not
    from tenfold.advice import recommend as recommend
    from tenfold.certification import certify as certify
    from tenfold.certification.inference import infer as infer
    from tenfold.cross_validation.ridge_path import RidgePath as RidgePath
    from tenfold.data.open_rows import rows as rows
    from tenfold.estimators.ambiguity import ambiguity as ambiguity
    from tenfold.estimators.bigram import BigramClassifier as BigramClassifier
    from tenfold.estimators.bigram import BigramModel as BigramModel
    from tenfold.estimators.covariance.empirical import EmpiricalCovariance as EmpiricalCovariance
    from tenfold.estimators.covariance.functions import empirical_covariance as empirical_covariance
    from tenfold.estimators.covariance.functions import ledoit_wolf as ledoit_wolf
    from tenfold.estimators.covariance.functions import ledoit_wolf_shrinkage as ledoit_wolf_shrinkage
    from tenfold.estimators.covariance.functions import log_likelihood as log_likelihood
    from tenfold.estimators.covariance.functions import oas as oas
    from tenfold.estimators.covariance.functions import shrunk_covariance as shrunk_covariance
    from tenfold.estimators.covariance.graphical import GraphicalLasso as GraphicalLasso
    from tenfold.estimators.covariance.graphical import GraphicalLassoCV as GraphicalLassoCV
    from tenfold.estimators.covariance.graphical import graphical_lasso as graphical_lasso
    from tenfold.estimators.covariance.shrunk import LedoitWolf as LedoitWolf
    from tenfold.estimators.covariance.shrunk import OAS as OAS
    from tenfold.estimators.covariance.shrunk import ShrunkCovariance as ShrunkCovariance
    from tenfold.estimators.cross_decomposition.canonical import CCA as CCA
    from tenfold.estimators.cross_decomposition.kernel import KernelCCA as KernelCCA
    from tenfold.estimators.cross_decomposition.partial import PLSCanonical as PLSCanonical
    from tenfold.estimators.cross_decomposition.partial import PLSRegression as PLSRegression
    from tenfold.estimators.cross_decomposition.partial import PLSSVD as PLSSVD
    from tenfold.estimators.cross_decomposition.views import MultiviewCCA as MultiviewCCA
    from tenfold.estimators.decomposition.angles import principal_angles as principal_angles
    from tenfold.estimators.decomposition.dictionary import DictionaryLearning as DictionaryLearning
    from tenfold.estimators.decomposition.dictionary_functions import dict_learning as dict_learning
    from tenfold.estimators.decomposition.dictionary_functions import dict_learning_online as dict_learning_online
    from tenfold.estimators.decomposition.dictionary_functions import sparse_encode as sparse_encode
    from tenfold.estimators.decomposition.dictionary_minibatch import (
        MiniBatchDictionaryLearning as MiniBatchDictionaryLearning,
    )
    from tenfold.estimators.decomposition.factors import FactorAnalysis as FactorAnalysis
    from tenfold.estimators.decomposition.incremental import IncrementalPCA as IncrementalPCA
    from tenfold.estimators.decomposition.independent import FastICA as FastICA
    from tenfold.estimators.decomposition.independent import fastica as fastica
    from tenfold.estimators.decomposition.kernel import KernelPCA as KernelPCA
    from tenfold.estimators.decomposition.nmf import NMF as NMF
    from tenfold.estimators.decomposition.nmf_functions import non_negative_factorization as non_negative_factorization
    from tenfold.estimators.decomposition.nmf_minibatch import MiniBatchNMF as MiniBatchNMF
    from tenfold.estimators.decomposition.principal import PCA as PCA
    from tenfold.estimators.decomposition.probabilistic import ProbabilisticPCA as ProbabilisticPCA
    from tenfold.estimators.decomposition.sparse_coder import SparseCoder as SparseCoder
    from tenfold.estimators.decomposition.sparse_pca import MiniBatchSparsePCA as MiniBatchSparsePCA
    from tenfold.estimators.decomposition.sparse_pca import SparsePCA as SparsePCA
    from tenfold.estimators.decomposition.truncated import TruncatedSVD as TruncatedSVD
    from tenfold.estimators.discriminant.bayes_classifier import BayesClassifier as BayesClassifier
    from tenfold.estimators.discriminant.centroid import NearestCentroid as NearestCentroid
    from tenfold.estimators.discriminant.kernel_fisher import KernelFisherDiscriminant as KernelFisherDiscriminant
    from tenfold.estimators.discriminant.linear import LinearDiscriminantAnalysis as LinearDiscriminantAnalysis
    from tenfold.estimators.discriminant.plug_in import GaussianPlugIn as GaussianPlugIn
    from tenfold.estimators.discriminant.quadratic import QuadraticDiscriminantAnalysis as QuadraticDiscriminantAnalysis
    from tenfold.estimators.falkon import Falkon as Falkon
    from tenfold.estimators.falkon import FalkonClassifier as FalkonClassifier
    from tenfold.estimators.gaussian_process.classifier import GaussianProcessClassifier as GaussianProcessClassifier
    from tenfold.estimators.gaussian_process.regressor import GaussianProcessRegressor as GaussianProcessRegressor
    from tenfold.estimators.glm.classifier import GeneralizedLinearClassifier as GeneralizedLinearClassifier
    from tenfold.estimators.glm.families import GammaRegressor as GammaRegressor
    from tenfold.estimators.glm.families import PoissonRegressor as PoissonRegressor
    from tenfold.estimators.glm.families import TweedieRegressor as TweedieRegressor
    from tenfold.estimators.glm.generalized_linear import GeneralizedLinear as GeneralizedLinear
    from tenfold.estimators.glm.huber import HuberRegressor as HuberRegressor
    from tenfold.estimators.glm.quantile import QuantileRegressor as QuantileRegressor
    from tenfold.estimators.greedy.best_subset import BestSubset as BestSubset
    from tenfold.estimators.greedy.functions import orthogonal_mp as orthogonal_mp
    from tenfold.estimators.greedy.functions import orthogonal_mp_gram as orthogonal_mp_gram
    from tenfold.estimators.greedy.lars import Lars as Lars
    from tenfold.estimators.greedy.lars_cv import LarsCV as LarsCV
    from tenfold.estimators.greedy.lars_cv import LassoLarsCV as LassoLarsCV
    from tenfold.estimators.greedy.lars_functions import lars_path as lars_path
    from tenfold.estimators.greedy.lars_functions import lars_path_gram as lars_path_gram
    from tenfold.estimators.greedy.lasso_lars import LassoLars as LassoLars
    from tenfold.estimators.greedy.lasso_lars import LassoLarsIC as LassoLarsIC
    from tenfold.estimators.greedy.matching import MatchingPursuit as MatchingPursuit
    from tenfold.estimators.greedy.omp import ForwardSelection as ForwardSelection
    from tenfold.estimators.greedy.omp import OrthogonalMatchingPursuit as OrthogonalMatchingPursuit
    from tenfold.estimators.greedy.omp_cv import OrthogonalMatchingPursuitCV as OrthogonalMatchingPursuitCV
    from tenfold.estimators.hierarchy.agglomerative import AgglomerativeClustering as AgglomerativeClustering
    from tenfold.estimators.hierarchy.divisive import DivisiveClustering as DivisiveClustering
    from tenfold.estimators.hierarchy.features import FeatureAgglomeration as FeatureAgglomeration
    from tenfold.estimators.hierarchy.functions import linkage_tree as linkage_tree
    from tenfold.estimators.hierarchy.functions import ward_tree as ward_tree
    from tenfold.estimators.interpolation.lookup_table import LookupTable as LookupTable
    from tenfold.estimators.interpolation.piecewise_linear import PiecewiseLinear as PiecewiseLinear
    from tenfold.estimators.isotonic import IsotonicRegression as IsotonicRegression
    from tenfold.estimators.isotonic import isotonic_regression as isotonic_regression
    from tenfold.estimators.kernel_approximation.chi_squared import AdditiveChi2Sampler as AdditiveChi2Sampler
    from tenfold.estimators.kernel_approximation.chi_squared import SkewedChi2Sampler as SkewedChi2Sampler
    from tenfold.estimators.kernel_approximation.count_sketch import PolynomialCountSketch as PolynomialCountSketch
    from tenfold.estimators.kernel_approximation.fourier import RBFSampler as RBFSampler
    from tenfold.estimators.kernel_approximation.kitchen_sinks import RandomKitchenSinks as RandomKitchenSinks
    from tenfold.estimators.kernel_approximation.kitchen_sinks import (
        RandomKitchenSinksClassifier as RandomKitchenSinksClassifier,
    )
    from tenfold.estimators.kernel_approximation.nystroem import Nystroem as Nystroem
    from tenfold.estimators.kernel_online.perceptron import KernelPerceptron as KernelPerceptron
    from tenfold.estimators.kernel_ridge.classification import KernelRidgeClassifier as KernelRidgeClassifier
    from tenfold.estimators.kernel_ridge.cv import KernelRidgeCV as KernelRidgeCV
    from tenfold.estimators.kernel_ridge.cv import KernelRidgeClassifierCV as KernelRidgeClassifierCV
    from tenfold.estimators.kernel_ridge.regression import KernelRidge as KernelRidge
    from tenfold.estimators.kmeans.bisecting import BisectingKMeans as BisectingKMeans
    from tenfold.estimators.kmeans.functions import k_means as k_means
    from tenfold.estimators.kmeans.functions import kmeans_plusplus as kmeans_plusplus
    from tenfold.estimators.kmeans.kernel import KernelKMeans as KernelKMeans
    from tenfold.estimators.kmeans.kmeans import KMeans as KMeans
    from tenfold.estimators.kmeans.minibatch import MiniBatchKMeans as MiniBatchKMeans
    from tenfold.estimators.kmeans.online import OnlineKMeans as OnlineKMeans
    from tenfold.estimators.lasso.cv import ElasticNetCV as ElasticNetCV
    from tenfold.estimators.lasso.cv import LassoCV as LassoCV
    from tenfold.estimators.lasso.functions import enet_path as enet_path
    from tenfold.estimators.lasso.functions import lasso_path as lasso_path
    from tenfold.estimators.lasso.lasso import ElasticNet as ElasticNet
    from tenfold.estimators.lasso.lasso import Lasso as Lasso
    from tenfold.estimators.lasso.multi_task import MultiTaskElasticNet as MultiTaskElasticNet
    from tenfold.estimators.lasso.multi_task import MultiTaskElasticNetCV as MultiTaskElasticNetCV
    from tenfold.estimators.lasso.multi_task import MultiTaskLasso as MultiTaskLasso
    from tenfold.estimators.lasso.multi_task import MultiTaskLassoCV as MultiTaskLassoCV
    from tenfold.estimators.least_squares.bayesian import ARDRegression as ARDRegression
    from tenfold.estimators.least_squares.bayesian import BayesianRidge as BayesianRidge
    from tenfold.estimators.least_squares.cv import RidgeCV as RidgeCV
    from tenfold.estimators.least_squares.cv import RidgeClassifierCV as RidgeClassifierCV
    from tenfold.estimators.least_squares.functions import ridge_path as ridge_path
    from tenfold.estimators.least_squares.functions import ridge_regression as ridge_regression
    from tenfold.estimators.least_squares.ols import LinearRegression as LinearRegression
    from tenfold.estimators.least_squares.ridge import Ridge as Ridge
    from tenfold.estimators.least_squares.ridge import RidgeClassifier as RidgeClassifier
    from tenfold.estimators.logistic.cv import LogisticRegressionCV as LogisticRegressionCV
    from tenfold.estimators.logistic.regression import LogisticRegression as LogisticRegression
    from tenfold.estimators.logistic.smallest_c import l1_min_c as l1_min_c
    from tenfold.estimators.manifold.classical import ClassicalMDS as ClassicalMDS
    from tenfold.estimators.manifold.isomap import Isomap as Isomap
    from tenfold.estimators.manifold.mds import MDS as MDS
    from tenfold.estimators.manifold.stress_majorisation import smacof as smacof
    from tenfold.estimators.mixture.bayesian import BayesianGaussianMixture as BayesianGaussianMixture
    from tenfold.estimators.mixture.discrete import BernoulliMixture as BernoulliMixture
    from tenfold.estimators.mixture.discrete import MultinomialMixture as MultinomialMixture
    from tenfold.estimators.mixture.em_driver import em as em
    from tenfold.estimators.mixture.gaussian import GaussianMixture as GaussianMixture
    from tenfold.estimators.mlp.classifier import MLPClassifier as MLPClassifier
    from tenfold.estimators.mlp.regressor import MLPRegressor as MLPRegressor
    from tenfold.estimators.mlp.same_network import same_network as same_network
    from tenfold.estimators.naive_bayes.categorical import CategoricalNB as CategoricalNB
    from tenfold.estimators.naive_bayes.discrete import BernoulliNB as BernoulliNB
    from tenfold.estimators.naive_bayes.discrete import ComplementNB as ComplementNB
    from tenfold.estimators.naive_bayes.discrete import MultinomialNB as MultinomialNB
    from tenfold.estimators.naive_bayes.gaussian import GaussianNB as GaussianNB
    from tenfold.estimators.naive_bayes.mixed import MixedNB as MixedNB
    from tenfold.estimators.neighbours.classification import KNeighborsClassifier as KNeighborsClassifier
    from tenfold.estimators.neighbours.cv import KNeighborsCV as KNeighborsCV
    from tenfold.estimators.neighbours.cv import KNeighborsClassifierCV as KNeighborsClassifierCV
    from tenfold.estimators.neighbours.density import KernelDensity as KernelDensity
    from tenfold.estimators.neighbours.graphs import KNeighborsTransformer as KNeighborsTransformer
    from tenfold.estimators.neighbours.graphs import RadiusNeighborsTransformer as RadiusNeighborsTransformer
    from tenfold.estimators.neighbours.graphs import kneighbors_graph as kneighbors_graph
    from tenfold.estimators.neighbours.graphs import radius_neighbors_graph as radius_neighbors_graph
    from tenfold.estimators.neighbours.histogram import Histogram as Histogram
    from tenfold.estimators.neighbours.nearest import NearestNeighbors as NearestNeighbors
    from tenfold.estimators.neighbours.parzen import ParzenRegressor as ParzenRegressor
    from tenfold.estimators.neighbours.prototypes import PrototypeClassifier as PrototypeClassifier
    from tenfold.estimators.neighbours.radius import RadiusNeighborsClassifier as RadiusNeighborsClassifier
    from tenfold.estimators.neighbours.radius import RadiusNeighborsRegressor as RadiusNeighborsRegressor
    from tenfold.estimators.neighbours.regression import KNeighborsRegressor as KNeighborsRegressor
    from tenfold.estimators.perceptron.averaged import AveragedPerceptron as AveragedPerceptron
    from tenfold.estimators.perceptron.perceptron import Perceptron as Perceptron
    from tenfold.estimators.perceptron.voted import VotedPerceptron as VotedPerceptron
    from tenfold.estimators.separability import separability as separability
    from tenfold.estimators.sgd.classifier import SGDClassifier as SGDClassifier
    from tenfold.estimators.sgd.one_class import SGDOneClassSVM as SGDOneClassSVM
    from tenfold.estimators.sgd.passive_aggressive import PassiveAggressiveClassifier as PassiveAggressiveClassifier
    from tenfold.estimators.sgd.passive_aggressive import PassiveAggressiveRegressor as PassiveAggressiveRegressor
    from tenfold.estimators.sgd.regressor import SGDRegressor as SGDRegressor
    from tenfold.estimators.spectral.clustering import SpectralClustering as SpectralClustering
    from tenfold.estimators.spectral.embedding import SpectralEmbedding as SpectralEmbedding
    from tenfold.estimators.spectral.functions import spectral_clustering as spectral_clustering
    from tenfold.estimators.spectral.functions import spectral_embedding as spectral_embedding
    from tenfold.estimators.spectral_filter.regression import SpectralFilter as SpectralFilter
    from tenfold.estimators.structured import StructuredPerceptron as StructuredPerceptron
    from tenfold.estimators.svm.classification import LinearSVC as LinearSVC
    from tenfold.estimators.svm.kernel_classification import NuSVC as NuSVC
    from tenfold.estimators.svm.kernel_classification import SVC as SVC
    from tenfold.estimators.svm.kernel_cv import SVCCV as SVCCV
    from tenfold.estimators.svm.kernel_cv import SVRCV as SVRCV
    from tenfold.estimators.svm.kernel_one_class import OneClassSVM as OneClassSVM
    from tenfold.estimators.svm.kernel_path import SVCPath as SVCPath
    from tenfold.estimators.svm.kernel_regression import NuSVR as NuSVR
    from tenfold.estimators.svm.kernel_regression import SVR as SVR
    from tenfold.estimators.svm.linear_support import linear_support as linear_support
    from tenfold.estimators.svm.regression import LinearSVR as LinearSVR
    from tenfold.estimators.tikhonov.classification import TikhonovClassifier as TikhonovClassifier
    from tenfold.estimators.tikhonov.logistic import KernelLogisticRegression as KernelLogisticRegression
    from tenfold.estimators.tikhonov.regression import Tikhonov as Tikhonov
    from tenfold.estimators.tikhonov.sgd import KernelSGD as KernelSGD
    from tenfold.estimators.tikhonov.sgd import KernelSGDClassifier as KernelSGDClassifier
    from tenfold.evaluation import Evaluation as Evaluation
    from tenfold.evaluation import Figure as Figure
    from tenfold.evaluation import evaluate as evaluate
    from tenfold.evaluation import evaluate_online as evaluate_online
    from tenfold.features import CountVectorizer as CountVectorizer
    from tenfold.features import HashingVectorizer as HashingVectorizer
    from tenfold.features import TableEncoder as TableEncoder
    from tenfold.features import TfidfTransformer as TfidfTransformer
    from tenfold.features import TfidfVectorizer as TfidfVectorizer
    from tenfold.features import check_table as check_table
    from tenfold.features import read_table as read_table
    from tenfold.geometry import Margins as Margins
    from tenfold.geometry import margins as margins
    from tenfold.judge.certificate import Certificate as Certificate
    from tenfold.judge.convexity import ConvexityCheck as ConvexityCheck
    from tenfold.judge.convexity import check_convexity as check_convexity
    from tenfold.judge.gradient_check import GradientCheck as GradientCheck
    from tenfold.judge.gradient_check import check_gradient as check_gradient
    from tenfold.judge.gradient_check import check_hessian as check_hessian
    from tenfold.judge.local_minimum import StationaryPoint as StationaryPoint
    from tenfold.judge.quadratic_program import kkt as kkt
    from tenfold.judge.quadratic_program import lagrange_dual as lagrange_dual
    from tenfold.persist import load as load
    from tenfold.persist import save as save
    from tenfold.plans.linear_solvers import leading_eigenvectors as leading_eigenvectors
    from tenfold.plans.linear_solvers import solve_linear as solve_linear
    from tenfold.plans.optimisers import classify_stationary as classify_stationary
    from tenfold.plans.optimisers import minimize as minimize
    from tenfold.plans.quadratic_program import minimize_qp as minimize_qp
    from tenfold.plans.solver_result import SolverResult as SolverResult
    from tenfold.stats.moments import Moments as Moments
# isort: on
# imports:end

__version__ = "0.1.0"

# estimators:begin (made by tools/public_names.py: do not edit)
ESTIMATORS = {
    "ARDRegression": "estimators.least_squares.bayesian",
    "AdditiveChi2Sampler": "estimators.kernel_approximation.chi_squared",
    "AgglomerativeClustering": "estimators.hierarchy.agglomerative",
    "AveragedPerceptron": "estimators.perceptron.averaged",
    "BayesClassifier": "estimators.discriminant.bayes_classifier",
    "BayesianGaussianMixture": "estimators.mixture.bayesian",
    "BayesianRidge": "estimators.least_squares.bayesian",
    "BernoulliMixture": "estimators.mixture.discrete",
    "BernoulliNB": "estimators.naive_bayes.discrete",
    "BestSubset": "estimators.greedy.best_subset",
    "BigramClassifier": "estimators.bigram",
    "BigramModel": "estimators.bigram",
    "BisectingKMeans": "estimators.kmeans.bisecting",
    "CCA": "estimators.cross_decomposition.canonical",
    "CategoricalNB": "estimators.naive_bayes.categorical",
    "ClassicalMDS": "estimators.manifold.classical",
    "ComplementNB": "estimators.naive_bayes.discrete",
    "DictionaryLearning": "estimators.decomposition.dictionary",
    "DivisiveClustering": "estimators.hierarchy.divisive",
    "ElasticNet": "estimators.lasso.lasso",
    "ElasticNetCV": "estimators.lasso.cv",
    "EmpiricalCovariance": "estimators.covariance.empirical",
    "FactorAnalysis": "estimators.decomposition.factors",
    "Falkon": "estimators.falkon",
    "FalkonClassifier": "estimators.falkon",
    "FastICA": "estimators.decomposition.independent",
    "FeatureAgglomeration": "estimators.hierarchy.features",
    "ForwardSelection": "estimators.greedy.omp",
    "GammaRegressor": "estimators.glm.families",
    "GaussianMixture": "estimators.mixture.gaussian",
    "GaussianNB": "estimators.naive_bayes.gaussian",
    "GaussianPlugIn": "estimators.discriminant.plug_in",
    "GaussianProcessClassifier": "estimators.gaussian_process.classifier",
    "GaussianProcessRegressor": "estimators.gaussian_process.regressor",
    "GeneralizedLinear": "estimators.glm.generalized_linear",
    "GeneralizedLinearClassifier": "estimators.glm.classifier",
    "GraphicalLasso": "estimators.covariance.graphical",
    "GraphicalLassoCV": "estimators.covariance.graphical",
    "Histogram": "estimators.neighbours.histogram",
    "HuberRegressor": "estimators.glm.huber",
    "IncrementalPCA": "estimators.decomposition.incremental",
    "Isomap": "estimators.manifold.isomap",
    "IsotonicRegression": "estimators.isotonic",
    "KMeans": "estimators.kmeans.kmeans",
    "KNeighborsCV": "estimators.neighbours.cv",
    "KNeighborsClassifier": "estimators.neighbours.classification",
    "KNeighborsClassifierCV": "estimators.neighbours.cv",
    "KNeighborsRegressor": "estimators.neighbours.regression",
    "KNeighborsTransformer": "estimators.neighbours.graphs",
    "KernelCCA": "estimators.cross_decomposition.kernel",
    "KernelDensity": "estimators.neighbours.density",
    "KernelFisherDiscriminant": "estimators.discriminant.kernel_fisher",
    "KernelKMeans": "estimators.kmeans.kernel",
    "KernelLogisticRegression": "estimators.tikhonov.logistic",
    "KernelPCA": "estimators.decomposition.kernel",
    "KernelPerceptron": "estimators.kernel_online.perceptron",
    "KernelRidge": "estimators.kernel_ridge.regression",
    "KernelRidgeCV": "estimators.kernel_ridge.cv",
    "KernelRidgeClassifier": "estimators.kernel_ridge.classification",
    "KernelRidgeClassifierCV": "estimators.kernel_ridge.cv",
    "KernelSGD": "estimators.tikhonov.sgd",
    "KernelSGDClassifier": "estimators.tikhonov.sgd",
    "Lars": "estimators.greedy.lars",
    "LarsCV": "estimators.greedy.lars_cv",
    "Lasso": "estimators.lasso.lasso",
    "LassoCV": "estimators.lasso.cv",
    "LassoLars": "estimators.greedy.lasso_lars",
    "LassoLarsCV": "estimators.greedy.lars_cv",
    "LassoLarsIC": "estimators.greedy.lasso_lars",
    "LedoitWolf": "estimators.covariance.shrunk",
    "LinearDiscriminantAnalysis": "estimators.discriminant.linear",
    "LinearRegression": "estimators.least_squares.ols",
    "LinearSVC": "estimators.svm.classification",
    "LinearSVR": "estimators.svm.regression",
    "LogisticRegression": "estimators.logistic.regression",
    "LogisticRegressionCV": "estimators.logistic.cv",
    "LookupTable": "estimators.interpolation.lookup_table",
    "MDS": "estimators.manifold.mds",
    "MLPClassifier": "estimators.mlp.classifier",
    "MLPRegressor": "estimators.mlp.regressor",
    "MatchingPursuit": "estimators.greedy.matching",
    "MiniBatchDictionaryLearning": "estimators.decomposition.dictionary_minibatch",
    "MiniBatchKMeans": "estimators.kmeans.minibatch",
    "MiniBatchNMF": "estimators.decomposition.nmf_minibatch",
    "MiniBatchSparsePCA": "estimators.decomposition.sparse_pca",
    "MixedNB": "estimators.naive_bayes.mixed",
    "MultiTaskElasticNet": "estimators.lasso.multi_task",
    "MultiTaskElasticNetCV": "estimators.lasso.multi_task",
    "MultiTaskLasso": "estimators.lasso.multi_task",
    "MultiTaskLassoCV": "estimators.lasso.multi_task",
    "MultinomialMixture": "estimators.mixture.discrete",
    "MultinomialNB": "estimators.naive_bayes.discrete",
    "MultiviewCCA": "estimators.cross_decomposition.views",
    "NMF": "estimators.decomposition.nmf",
    "NearestCentroid": "estimators.discriminant.centroid",
    "NearestNeighbors": "estimators.neighbours.nearest",
    "NuSVC": "estimators.svm.kernel_classification",
    "NuSVR": "estimators.svm.kernel_regression",
    "Nystroem": "estimators.kernel_approximation.nystroem",
    "OAS": "estimators.covariance.shrunk",
    "OneClassSVM": "estimators.svm.kernel_one_class",
    "OnlineKMeans": "estimators.kmeans.online",
    "OrthogonalMatchingPursuit": "estimators.greedy.omp",
    "OrthogonalMatchingPursuitCV": "estimators.greedy.omp_cv",
    "PCA": "estimators.decomposition.principal",
    "PLSCanonical": "estimators.cross_decomposition.partial",
    "PLSRegression": "estimators.cross_decomposition.partial",
    "PLSSVD": "estimators.cross_decomposition.partial",
    "ParzenRegressor": "estimators.neighbours.parzen",
    "PassiveAggressiveClassifier": "estimators.sgd.passive_aggressive",
    "PassiveAggressiveRegressor": "estimators.sgd.passive_aggressive",
    "Perceptron": "estimators.perceptron.perceptron",
    "PiecewiseLinear": "estimators.interpolation.piecewise_linear",
    "PoissonRegressor": "estimators.glm.families",
    "PolynomialCountSketch": "estimators.kernel_approximation.count_sketch",
    "ProbabilisticPCA": "estimators.decomposition.probabilistic",
    "PrototypeClassifier": "estimators.neighbours.prototypes",
    "QuadraticDiscriminantAnalysis": "estimators.discriminant.quadratic",
    "QuantileRegressor": "estimators.glm.quantile",
    "RBFSampler": "estimators.kernel_approximation.fourier",
    "RadiusNeighborsClassifier": "estimators.neighbours.radius",
    "RadiusNeighborsRegressor": "estimators.neighbours.radius",
    "RadiusNeighborsTransformer": "estimators.neighbours.graphs",
    "RandomKitchenSinks": "estimators.kernel_approximation.kitchen_sinks",
    "RandomKitchenSinksClassifier": "estimators.kernel_approximation.kitchen_sinks",
    "Ridge": "estimators.least_squares.ridge",
    "RidgeCV": "estimators.least_squares.cv",
    "RidgeClassifier": "estimators.least_squares.ridge",
    "RidgeClassifierCV": "estimators.least_squares.cv",
    "SGDClassifier": "estimators.sgd.classifier",
    "SGDOneClassSVM": "estimators.sgd.one_class",
    "SGDRegressor": "estimators.sgd.regressor",
    "SVC": "estimators.svm.kernel_classification",
    "SVCCV": "estimators.svm.kernel_cv",
    "SVCPath": "estimators.svm.kernel_path",
    "SVR": "estimators.svm.kernel_regression",
    "SVRCV": "estimators.svm.kernel_cv",
    "ShrunkCovariance": "estimators.covariance.shrunk",
    "SkewedChi2Sampler": "estimators.kernel_approximation.chi_squared",
    "SparseCoder": "estimators.decomposition.sparse_coder",
    "SparsePCA": "estimators.decomposition.sparse_pca",
    "SpectralClustering": "estimators.spectral.clustering",
    "SpectralEmbedding": "estimators.spectral.embedding",
    "SpectralFilter": "estimators.spectral_filter.regression",
    "StructuredPerceptron": "estimators.structured",
    "Tikhonov": "estimators.tikhonov.regression",
    "TikhonovClassifier": "estimators.tikhonov.classification",
    "TruncatedSVD": "estimators.decomposition.truncated",
    "TweedieRegressor": "estimators.glm.families",
    "VotedPerceptron": "estimators.perceptron.voted",
}
# estimators:end

OTHERS = {
    "Certificate": "judge.certificate",
    "ConvexityCheck": "judge.convexity",
    "CountVectorizer": "features",
    "Evaluation": "evaluation",
    "Figure": "evaluation",
    "GradientCheck": "judge.gradient_check",
    "HashingVectorizer": "features",
    "Margins": "geometry",
    "Moments": "stats.moments",
    "RidgePath": "cross_validation.ridge_path",
    "SolverResult": "plans.solver_result",
    "StationaryPoint": "judge.local_minimum",
    "TableEncoder": "features",
    "TfidfTransformer": "features",
    "TfidfVectorizer": "features",
    "ambiguity": "estimators.ambiguity",
    "certify": "certification",
    "check_convexity": "judge.convexity",
    "check_gradient": "judge.gradient_check",
    "check_hessian": "judge.gradient_check",
    "check_table": "features",
    "classify_stationary": "plans.optimisers",
    "dict_learning": "estimators.decomposition.dictionary_functions",
    "dict_learning_online": "estimators.decomposition.dictionary_functions",
    "em": "estimators.mixture.em_driver",
    "empirical_covariance": "estimators.covariance.functions",
    "enet_path": "estimators.lasso.functions",
    "evaluate": "evaluation",
    "evaluate_online": "evaluation",
    "fastica": "estimators.decomposition.independent",
    "graphical_lasso": "estimators.covariance.graphical",
    "infer": "certification.inference",
    "isotonic_regression": "estimators.isotonic",
    "k_means": "estimators.kmeans.functions",
    "kkt": "judge.quadratic_program",
    "kmeans_plusplus": "estimators.kmeans.functions",
    "kneighbors_graph": "estimators.neighbours.graphs",
    "l1_min_c": "estimators.logistic.smallest_c",
    "lagrange_dual": "judge.quadratic_program",
    "lars_path": "estimators.greedy.lars_functions",
    "lars_path_gram": "estimators.greedy.lars_functions",
    "lasso_path": "estimators.lasso.functions",
    "leading_eigenvectors": "plans.linear_solvers",
    "ledoit_wolf": "estimators.covariance.functions",
    "ledoit_wolf_shrinkage": "estimators.covariance.functions",
    "linear_or_not": "advice",
    "linear_support": "estimators.svm.linear_support",
    "linkage_tree": "estimators.hierarchy.functions",
    "load": "persist",
    "log_likelihood": "estimators.covariance.functions",
    "margins": "geometry",
    "minimize": "plans.optimisers",
    "minimize_qp": "plans.quadratic_program",
    "non_negative_factorization": "estimators.decomposition.nmf_functions",
    "oas": "estimators.covariance.functions",
    "orthogonal_mp": "estimators.greedy.functions",
    "orthogonal_mp_gram": "estimators.greedy.functions",
    "principal_angles": "estimators.decomposition.angles",
    "radius_neighbors_graph": "estimators.neighbours.graphs",
    "read_table": "features",
    "recommend": "advice",
    "ridge_path": "estimators.least_squares.functions",
    "ridge_regression": "estimators.least_squares.functions",
    "rows": "data.open_rows",
    "same_network": "estimators.mlp.same_network",
    "save": "persist",
    "separability": "estimators.separability",
    "shrunk_covariance": "estimators.covariance.functions",
    "smacof": "estimators.manifold.stress_majorisation",
    "solve_linear": "plans.linear_solvers",
    "sparse_encode": "estimators.decomposition.dictionary_functions",
    "spectral_clustering": "estimators.spectral.functions",
    "spectral_embedding": "estimators.spectral.functions",
    "ward_tree": "estimators.hierarchy.functions",
}
"""Public names that are no estimators, and their modules."""

__all__ = sorted([*ESTIMATORS, *OTHERS])

_MODULES = ("bounds", "datasets", "decide", "persist", "plots", "selection")
"""Modules that are public as they are."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"tenfold.{name}")
    home = ESTIMATORS.get(name) or OTHERS.get(name)
    if home is None:
        raise AttributeError(f"module 'tenfold' has no attribute {name!r}")
    value = getattr(import_module(f"tenfold.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
