"""The table of benchmark rows: what is fitted on which data, against whom, and what the work costs at least.

Tenfold keeps scikit-learn's names and parameters, so a row names one estimator and a contender is only the module it
comes from, with the parameters that differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks import data, floors

OURS, SKLEARN, INTELEX = "tenfold", "scikit-learn", "scikit-learn-intelex"
GRID = "grid search"
SEARCHES = {GRID: "benchmarks.searches"}
SPECIALISTS = {"celer": "benchmarks.celer_peers", "skglm": "benchmarks.skglm_peers"}
"""Libraries of sparse models, which need another version of scikit-learn."""

COMPILE = ("skglm",)
"""Libraries that compile at their first call: later calls are representative."""

MODULES = {OURS: "tenfold", SKLEARN: "sklearn.linear_model", INTELEX: "sklearnex.linear_model"}
HOMES = {
    "AgglomerativeClustering": "cluster",
    "BayesianGaussianMixture": "mixture",
    "BernoulliNB": "naive_bayes",
    "CCA": "cross_decomposition",
    "CategoricalNB": "naive_bayes",
    "ComplementNB": "naive_bayes",
    "GaussianNB": "naive_bayes",
    "IncrementalPCA": "decomposition",
    "Isomap": "manifold",
    "KMeans": "cluster",
    "KernelDensity": "neighbors",
    "KernelPCA": "decomposition",
    "KernelRidge": "kernel_ridge",
    "MDS": "manifold",
    "MLPClassifier": "neural_network",
    "MLPRegressor": "neural_network",
    "LinearDiscriminantAnalysis": "discriminant_analysis",
    "FactorAnalysis": "decomposition",
    "FastICA": "decomposition",
    "GaussianMixture": "mixture",
    "GaussianProcessClassifier": "gaussian_process",
    "GaussianProcessRegressor": "gaussian_process",
    "GraphicalLasso": "covariance",
    "IsotonicRegression": "isotonic",
    "LedoitWolf": "covariance",
    "LinearSVC": "svm",
    "LinearSVR": "svm",
    "NuSVC": "svm",
    "NuSVR": "svm",
    "OneClassSVM": "svm",
    "SVC": "svm",
    "SVR": "svm",
    "DictionaryLearning": "decomposition",
    "MiniBatchDictionaryLearning": "decomposition",
    "MiniBatchNMF": "decomposition",
    "SparsePCA": "decomposition",
    "MultinomialNB": "naive_bayes",
    "NearestNeighbors": "neighbors",
    "Nystroem": "kernel_approximation",
    "RBFSampler": "kernel_approximation",
    "NearestCentroid": "neighbors",
    "NMF": "decomposition",
    "PCA": "decomposition",
    "PLSRegression": "cross_decomposition",
    "QuadraticDiscriminantAnalysis": "discriminant_analysis",
    "SpectralClustering": "cluster",
    "SpectralEmbedding": "manifold",
    "TruncatedSVD": "decomposition",
}
"""Where scikit-learn has what is not among its linear models."""
PYTHON = "plain Python"
ELSEWHERE = {
    ("KernelLogisticRegression", SKLEARN): "benchmarks.kernel_logistic",
    ("StringGram", OURS): "benchmarks.strings",
    ("StringGram", PYTHON): "benchmarks.string_loops",
    ("Zoo", OURS): "benchmarks.zoos",
}
"""What is written with a library that has no class for it."""

Call = Literal[
    "fit",
    "read and fit",
    "read, fit and keep",
    "predict one row",
    "path",
    "sequences",
    "fit and keep",
    "fit and answer",
    "fit and then answer",
    "fit and ask",
    "fit and ask files",
    "evaluate",
    "deviations",
]
"""What is timed; of "fit and then answer" the answers alone."""


@dataclass(frozen=True)
class Contender:
    name: str
    library: str
    params: dict[str, Any] = field(default_factory=dict)  # beside the row's own
    times: float = 1.0  # the measured time stands for this many times as much work
    note: str = ""


@dataclass(frozen=True)
class Row:
    name: str
    estimator: str
    make: Callable[..., tuple[Any, Any]]
    size: tuple[Any, ...]  # arguments of make
    quick: tuple[Any, ...]  # the same for --quick
    params: dict[str, Any] = field(default_factory=dict)
    floor: Callable[[floors.Size], floors.Work] | None = floors.least_squares
    peers: tuple[Contender, ...] = ()
    sklearn: Contender | None = Contender(SKLEARN, SKLEARN)  # None where it cannot read the rows
    call: Call = "fit"
    choice: Literal["loo", "folds"] | None = None  # how the error of the chosen alpha is computed again
    tighten: tuple[dict[str, Any], ...] = ()  # what a peer that stops early is given, one after the other
    aim: float | None = None  # scikit-learn's time over ours

    def contenders(self, full: bool) -> tuple[Contender, ...]:
        reference = Contender(SKLEARN, SKLEARN) if full and self.sklearn else self.sklearn
        return tuple(contender for contender in (Contender(OURS, OURS), reference, *self.peers) if contender)


def log_space(low: float, high: float, count: int) -> list[float]:
    return [10 ** (low + (high - low) * i / (count - 1)) for i in range(count)]


ALPHAS = log_space(-2, 5, 100)
INTEL = Contender(INTELEX, INTELEX)
LOOPS = Contender("plain Python", PYTHON)
NEWTON = Contender("scikit-learn newton-cholesky", SKLEARN, {"solver": "newton-cholesky"})
NEWTON_CG = Contender("scikit-learn newton-cg", SKLEARN, {"solver": "newton-cg"})
# liblinear penalises the intercept; scaled by 30 the penalty on it is a 900th, and its optimum close to the others'
LIBLINEAR = Contender("liblinear", SKLEARN, {"solver": "liblinear", "intercept_scaling": 30.0})
LSQR = Contender("scikit-learn lsqr", SKLEARN, {"solver": "lsqr"})
SOME_FOLDS = Contender(
    SKLEARN, SKLEARN, {"alphas": ALPHAS[::20]}, 501 / 26, "timed with 5 of the 100 alphas (26 fits), scaled to 501 fits"
)
# the fastest of scikit-learn's solvers of this penalty
KINKED = Contender(SKLEARN, SKLEARN, {"solver": "liblinear", "intercept_scaling": 30.0})
SAGA = Contender("scikit-learn saga", SKLEARN)
GRID_SEARCH = Contender("GridSearchCV of scikit-learn", GRID)
BY_FOLDS = Contender(SKLEARN, GRID, note="GridSearchCV of KernelRidge by five folds")
IN_FOLDS = Contender(SKLEARN, GRID, note="GridSearchCV by four folds within cross_validate by five")
BY_FACTORS = Contender(SKLEARN, SKLEARN, note="Newton's method in SciPy, a Cholesky factor a step")
SEARCHED = Contender(SKLEARN, GRID, note="GridSearchCV by five folds")
CELER, SKGLM = (Contender(name, name) for name in SPECIALISTS)
TIGHTER = tuple({"tol": 10.0**-k, "max_iter": 100_000} for k in (5, 6, 7, 8, 10, 12, 14))
LOO = {"alphas": ALPHAS}
FOLDS = {"alphas": ALPHAS, "cv": 5, "scoring": "neg_mean_squared_error"}
DIRECTIONS = tuple({"tol": 10.0**-k, "max_iter": 100_000} for k in (10, 14, 18, 22))  # of squared steps
ARPACK = {"TruncatedSVD": ({"algorithm": "arpack", "tol": 0.0},), "PCA": ({"svd_solver": "arpack", "tol": 0.0},)}
TALL, WIDE, SMALL_TALL, SMALL_WIDE = (100_000, 100), (1_000, 5_000, "float64", 0.5), (2_000, 10), (50, 200)
SPARSE, NARROW, SMALL_SPARSE, TINY = (50_000, 100_000, 1e-3), (20_000, 1_000, 1e-2), (500, 1_000, 1e-2), (100, 5)
PARQUET, SMALL_PARQUET = (12_000_000, 20, "parquet"), (3_000, 5, "parquet")
CSV, SMALL_CSV = (5_000_000, 20, "csv"), (3_000, 5, "csv")
FEW = {"alphas": log_space(-2, 5, 10)}
LASSO_PATH = {"alphas": 100, "tol": 1e-6, "max_iter": 100_000}
MANY, SMALL_MANY = (200_000, 100, 10), (2_000, 10, 3)
ANSWERED: dict[str, Any] = {"call": "fit and answer"}
FROM_FILES: dict[str, Any] = {"floor": floors.one_read, "sklearn": None, "call": "read and fit"}
NETWORK = {"hidden_layer_sizes": (128,), "batch_size": 128, "max_iter": 5, "tol": 0.0, "random_state": 0}
SMALL_NETWORK = {"max_iter": 20, "tol": 0.0, "random_state": 0}
EPOCHS = {"max_iter": 5, "tol": None, "random_state": 0}  # the same work: everybody takes the same steps
L1: dict[str, Any] = {"l1_ratio": 1.0, "C": 0.1, "solver": "saga"}
GRID_OF_20: dict[str, Any] = {
    "Cs": 20, "cv": 5, "l1_ratios": (0,), "scoring": "neg_log_loss", "use_legacy_attributes": False
}  # fmt: skip
TEN, TEN_SPARSE, SMALL_TEN, SMALL_TEN_SPARSE = (*TALL, 10), (*SPARSE, 10), (2_000, 10, 4), (*SMALL_SPARSE, 4)
SEED = {"random_state": 0}
DIGITS = {"alphas": log_space(-1, 4, 20)}
# thirty steps of everybody from the same clusters: equal work, at equal likelihood
MIXTURE = {"n_components": 16, "max_iter": 30, "tol": 0.0, "random_state": 0}

WIDTH = {"kernel": "rbf", "gamma": 0.05}
COMPONENTS = WIDTH | {"n_components": 20}
WIDTHS = {"alphas": log_space(-4, 2, 20), "gammas": log_space(-3, 0, 5)}
FINER = tuple({"tol": 10.0**-k} for k in (4, 5, 6))
GRID_OF_CS: dict[str, Any] = {"Cs": log_space(-2, 2, 10), "gammas": [0.05], "cv": 5, "calibrate": False}
FALKON: dict[str, Any] = {"alpha": 1e-6, "gamma": 0.05, "centres": 2000, "random_state": 0}
ASKED: dict[str, Any] = {"call": "fit and ask", "peers": (INTEL,)}
SMOOTH = ConstantKernel() * RBF()
NOISY = SMOOTH + WhiteKernel(0.1)
TEN_NEAREST = {"n_neighbors": 10}
ROWS = (
    Row("ridge 100k x 100", "Ridge", data.regression, TALL, SMALL_TALL, peers=(INTEL,), aim=5),
    Row("ridge 100k x 100 float32", "Ridge", data.regression, (*TALL, "float32"), SMALL_TALL, peers=(INTEL,)),
    Row("ridge 1k x 5k", "Ridge", data.regression, WIDE, SMALL_WIDE, aim=2.5),
    Row("linear regression 100k x 100", "LinearRegression", data.regression, TALL, SMALL_TALL, peers=(INTEL,)),
    Row("ridgecv loo 100 alphas 100k x 100", "RidgeCV", data.regression, TALL, SMALL_TALL, LOO, floors.leave_one_out,
        choice="loo", aim=100),
    Row("ridgecv loo 100 alphas 1k x 5k", "RidgeCV", data.regression, WIDE, SMALL_WIDE, LOO, floors.leave_one_out,
        choice="loo", aim=3),
    Row("ridgecv 5-fold 100 alphas 100k x 100", "RidgeCV", data.regression, TALL, SMALL_TALL, FOLDS, floors.k_fold,
        sklearn=SOME_FOLDS, choice="folds", aim=200),
    Row("logistic 100k x 100", "LogisticRegression", data.classes, TALL, SMALL_TALL, {}, floors.newton,
        peers=(INTEL, NEWTON), tighten=TIGHTER, aim=4),
    Row("logistic sparse 50k x 100k", "LogisticRegression", data.sparse_classes, SPARSE, SMALL_SPARSE, {},
        floors.passes, peers=(LIBLINEAR, NEWTON_CG), tighten=TIGHTER, aim=5),
    Row("multinomial 10 classes 100k x 100", "LogisticRegression", data.many_classes, TEN, SMALL_TEN, {},
        floors.softmax, peers=(INTEL,), tighten=TIGHTER, aim=10),
    Row("multinomial 10 classes sparse 50k x 100k", "LogisticRegression", data.many_sparse_classes, TEN_SPARSE,
        SMALL_TEN_SPARSE, {}, floors.softmax, tighten=TIGHTER, aim=8),
    Row("multinomial mnist 10k x 784", "LogisticRegression", data.digits, (10_000,), (500,), {}, floors.softmax,
        tighten=TIGHTER),
    Row("l1 logistic 100k x 100", "LogisticRegression", data.classes, TALL, SMALL_TALL, L1, floors.newton,
        sklearn=KINKED, peers=(SAGA,), tighten=TIGHTER, aim=6),
    Row("l1 logistic sparse 50k x 100k", "LogisticRegression", data.sparse_classes, SPARSE, SMALL_SPARSE,
        L1, floors.working_set, sklearn=KINKED, peers=(SKGLM,), tighten=TIGHTER, aim=6),
    Row("logistic spam", "LogisticRegression", data.spam, (), (600, 1 << 12), {}, floors.passes,
        peers=(LIBLINEAR, NEWTON_CG), tighten=TIGHTER),
    Row("logistic grid 20 C x 5 folds 10k x 50", "LogisticRegressionCV", data.classes, (10_000, 50), (500, 10),
        GRID_OF_20, floors.logistic_grid, peers=(GRID_SEARCH,), tighten=TIGHTER, aim=12),
    Row("logistic grid 20 C x 5 folds 200 x 5", "LogisticRegressionCV", data.classes, (200, 5), (200, 5), GRID_OF_20,
        None, peers=(GRID_SEARCH,), tighten=TIGHTER, aim=50),
    Row("logistic grid 20 C x 5 folds 10 classes 2k x 64", "LogisticRegressionCV", data.many_classes, (2_000, 64, 10),
        (500, 10, 3), GRID_OF_20, None, tighten=TIGHTER),
    Row("linear svc 100k x 100", "LinearSVC", data.classes, TALL, SMALL_TALL, SEED, floors.newton, tighten=TIGHTER,
        aim=10),
    Row("linear svc sparse 50k x 100k", "LinearSVC", data.sparse_classes, SPARSE, SMALL_SPARSE, SEED, floors.passes,
        tighten=TIGHTER, aim=4),
    Row("linear svc of 4 classes jointly 5k x 10", "LinearSVC", data.many_classes, (5_000, 10, 4), (300, 5, 3),
        {**SEED, "multi_class": "crammer_singer"}, None, tighten=TIGHTER),
    Row("linear svc spam", "LinearSVC", data.spam, (), (600, 1 << 12), SEED, floors.passes, tighten=TIGHTER),
    Row("poisson 100k x 100", "PoissonRegressor", data.counts, TALL, SMALL_TALL, {"alpha": 1e-3}, floors.newton,
        peers=(NEWTON,), tighten=TIGHTER, aim=4),
    Row("poisson 100k x 20, with standard errors", "PoissonRegressor", data.counts, (100_000, 20), SMALL_TALL,
        {"alpha": 0.0}, floors.newton, peers=(NEWTON,), tighten=TIGHTER),
    Row("median 10k x 20", "QuantileRegressor", data.heavy_tails, (10_000, 20), (300, 4), {"alpha": 1e-3},
        floors.newton, aim=20),
    Row("ridge sparse 50k x 100k", "Ridge", data.sparse_regression, SPARSE, SMALL_SPARSE, {}, floors.passes,
        peers=(LSQR,), tighten=TIGHTER),
    Row("logistic sparse 20k x 1k", "LogisticRegression", data.sparse_classes, NARROW, SMALL_SPARSE, {}, floors.passes,
        peers=(LIBLINEAR, NEWTON_CG), tighten=TIGHTER),
    Row("ridge sparse 20k x 1k", "Ridge", data.sparse_regression, NARROW, SMALL_SPARSE, {}, floors.passes,
        peers=(LSQR,), tighten=TIGHTER),
    Row("tiny ridge 100 x 5", "Ridge", data.regression, TINY, TINY, {}, None, peers=(INTEL,), aim=1),
    Row("tiny logistic 100 x 5", "LogisticRegression", data.classes, TINY, TINY, {}, None, peers=(INTEL, NEWTON),
        tighten=TIGHTER, aim=1),
    Row("predict one row ridge", "Ridge", data.regression, (1_000, 20), TINY, {}, None, peers=(INTEL,),
        call="predict one row", aim=2),
    Row("predict one row logistic", "LogisticRegression", data.classes, (1_000, 20), TINY, {}, None, peers=(INTEL,),
        call="predict one row", aim=2),
    Row("ridge classifier letter", "RidgeClassifier", data.letter, (), (1_000,)),
    Row("logistic magic", "LogisticRegression", data.magic, (), (1_000,), {}, floors.newton, peers=(INTEL, NEWTON),
        tighten=TIGHTER),
    Row("ridge flights dense", "Ridge", data.flights, (), (2_000,), peers=(INTEL,)),
    Row("ridge flights sparse", "Ridge", data.flights, (None, True), (2_000, True), peers=(LSQR,), tighten=TIGHTER),
    Row("linear regression flights sparse", "LinearRegression", data.flights, (None, True), (2_000, True),
        tighten=TIGHTER),
    Row("ridgecv loo 20 alphas mnist", "RidgeCV", data.mnist, (), (1_000,), DIGITS, floors.leave_one_out, choice="loo"),
    Row("bayesian ridge 100k x 100", "BayesianRidge", data.regression, TALL, SMALL_TALL, aim=20, call="fit and keep"),
    Row("relevance determination 10k x 50", "ARDRegression", data.regression, (10_000, 50), SMALL_TALL,
        call="fit and keep"),
    Row("falkon flights, 2000 centres", "Falkon", data.flights, (), (5_000,), FALKON, floors.kernel_passes,
        sklearn=None, call="fit and keep"),
    Row("sgd hinge 200k x 100, 5 epochs", "SGDClassifier", data.classes, (200_000, 100), SMALL_TALL, EPOCHS,
        floors.five_epochs, aim=4),
    Row("perceptron 200k x 100, 5 epochs", "Perceptron", data.classes, (200_000, 100), SMALL_TALL, EPOCHS,
        floors.five_epochs, aim=4),
    Row("sgd squared error 200k x 100, 5 epochs", "SGDRegressor", data.regression, (200_000, 100), SMALL_TALL, EPOCHS,
        floors.five_epochs, aim=4),
    Row("sgd logistic spam, 5 epochs", "SGDClassifier", data.spam, (), (600, 1 << 12), {"loss": "log_loss", **EPOCHS},
        floors.five_epochs),
    Row("mlp mnist, 128 hidden, 5 epochs", "MLPClassifier", data.digits, (), (500,), NETWORK,
        floors.five_network_epochs, aim=6),
    Row("mlp 1k x 20, 100 hidden, 20 epochs", "MLPRegressor", data.regression, (1_000, 20), (200, 5), SMALL_NETWORK,
        floors.five_epochs, aim=6),
    Row("structured perceptron 100k tokens, 50 tags, 5 epochs", "StructuredPerceptron", data.tagged_words,
        (100_000, 50, 5_000), (2_000, 5, 50), {"max_iter": 5}, floors.five_taggings, sklearn=None, call="sequences"),
    Row("lasso 1k x 10k", "Lasso", data.few_columns, (1_000, 10_000), SMALL_WIDE[:2], {"alpha": 0.25},
        floors.working_set, peers=(CELER, SKGLM), aim=6),
    Row("lasso 10k x 1k", "Lasso", data.few_columns, (10_000, 1_000), SMALL_TALL, {"alpha": 0.25}, floors.working_set,
        peers=(CELER, SKGLM), aim=6),
    Row("lasso sparse 50k x 100k", "Lasso", data.sparse_few_columns, SPARSE, SMALL_SPARSE, {"alpha": 1e-4},
        floors.working_set, peers=(CELER, SKGLM), aim=4),
    Row("lasso path 100 alphas 1k x 10k", "lasso_path", data.few_columns, (1_000, 10_000), SMALL_WIDE[:2], LASSO_PATH,
        floors.lasso_path, call="path", peers=(CELER,), aim=6),
    Row("lasso path 100 alphas 10k x 1k", "lasso_path", data.few_columns, (10_000, 1_000), SMALL_TALL, LASSO_PATH,
        floors.lasso_path, call="path", peers=(CELER,), aim=2),
    Row("lassocv 1k x 10k", "LassoCV", data.few_columns, (1_000, 10_000), SMALL_WIDE[:2], {}, floors.lasso_folds,
        peers=(CELER,), aim=8),
    Row("lassocv 100k x 200", "LassoCV", data.few_columns, (100_000, 200), SMALL_TALL, {}, floors.lasso_folds, aim=20),
    Row("gaussian nb 10 classes 200k x 100", "GaussianNB", data.gaussian_classes, MANY, SMALL_MANY, {},
        floors.class_sums, aim=40, **ANSWERED),
    Row("multinomial nb 10 classes 200k x 100", "MultinomialNB", data.counted_classes, MANY, SMALL_MANY, {},
        floors.class_sums, aim=4, **ANSWERED),
    Row("bernoulli nb spam", "BernoulliNB", data.spam, (), (600, 1 << 12), {}, floors.class_sums, **ANSWERED),
    Row("lda 10 classes 200k x 100", "LinearDiscriminantAnalysis", data.gaussian_classes, MANY, SMALL_MANY, {},
        floors.class_moments, aim=40, **ANSWERED),
    Row("qda 10 classes 200k x 100", "QuadraticDiscriminantAnalysis", data.gaussian_classes, MANY, SMALL_MANY, {},
        floors.class_forms, aim=12, **ANSWERED),
    Row("pca 100k x 200, 20 components", "PCA", data.directions, (100_000, 200), (2_000, 40), {"n_components": 20},
        floors.class_moments, aim=1.5, **ANSWERED),
    Row("pca 5k x 5k, 50 components", "PCA", data.directions, (5_000, 5_000), (100, 80), {"n_components": 50},
        floors.few_components, tighten=ARPACK["PCA"], aim=7, **ANSWERED),
    Row("kernel pca 5k x 20, 20 components", "KernelPCA", data.directions, (5_000, 20), (300, 5), COMPONENTS,
        floors.kernel_eigenvectors, aim=20, call="fit and keep"),
    Row("kernel logistic 5k x 20", "KernelLogisticRegression", data.classes, (5_000, 20), (300, 5), WIDTH,
        floors.kernel_systems, sklearn=BY_FACTORS, call="fit and keep", aim=10),
    Row("kernel logistic 300 x 5", "KernelLogisticRegression", data.classes, (300, 5), (300, 5), WIDTH, None,
        sklearn=BY_FACTORS, call="fit and keep", aim=1),
    Row("kernel pca 200 x 5, 2 components", "KernelPCA", data.directions, (200, 5), (200, 5),
        {"n_components": 2, "kernel": "rbf"}, None, call="fit and keep", aim=1),
    Row("kernel cca 2k x 5 / 5, 2 components", "KernelCCA", data.two_blocks, (2_000, 5, 5), (120, 5, 5),
        {"n_components": 2, "kernel": "rbf", "gamma": 0.02, "ridge": 1.0}, None, sklearn=None, call="fit and keep"),
    Row("isomap 5k x 3, 2 components", "Isomap", data.roll, (5_000,), (200,), {"n_neighbors": 10}, None,
        call="fit and keep"),
    Row("mds 1k x 10, 2 components", "MDS", data.gaussian_classes, (1_000, 10, 5), (80, 4, 3),
        {"init": "classical_mds"}, None, call="fit and keep"),
    Row("gram of 200 strings of 300, substrings of 3", "StringGram", data.strings, (200, 300), (20, 40),
        {"kernel": "spectrum", "length": 3}, None, (LOOPS,), sklearn=None, call="fit and keep"),
    Row("gram of 20 strings of 300, subsequences of 3", "StringGram", data.strings, (20, 300), (8, 30),
        {"kernel": "subsequence", "length": 3}, None, (LOOPS,), sklearn=None, call="fit and keep"),
    Row("gram of 2k strings of 300, subsequences of 3", "StringGram", data.strings, (2_000, 300), (20, 40),
        {"kernel": "subsequence", "length": 3}, None, sklearn=None, call="fit and keep"),
    Row("gram of 2k strings of 300, words of 5 with a mismatch", "StringGram", data.strings, (2_000, 300), (20, 40),
        {"kernel": "mismatch", "length": 5}, None, sklearn=None, call="fit and keep"),
    Row("ledoit-wolf 100k x 200", "LedoitWolf", data.directions, (100_000, 200), (500, 10), {}, floors.class_moments,
        call="fit and keep", aim=10),
    Row("ledoit-wolf 200 x 10", "LedoitWolf", data.directions, (200, 10), (200, 10), {}, None, call="fit and keep",
        aim=1),
    Row("graphical lasso 1k x 200", "GraphicalLasso", data.neighbours_in_a_chain, (1_000, 200), (200, 10),
        {"alpha": 0.1}, floors.lasso_sweeps, call="fit and keep", aim=10),
    Row("graphical lasso 200 x 10", "GraphicalLasso", data.neighbours_in_a_chain, (200, 10), (200, 10),
        {"alpha": 0.1}, None, call="fit and keep", aim=1),
    Row("factor analysis 50k x 64, 8 factors", "FactorAnalysis", data.factors, (50_000, 64), (500, 8),
        {"n_components": 8}, floors.factor_steps, call="fit and keep", aim=10),
    Row("factor analysis 500 x 10, 1 factor", "FactorAnalysis", data.factors, (500, 10), (500, 10),
        {"n_components": 1}, None, call="fit and keep", aim=1),
    Row("fast ica 50k x 32", "FastICA", data.independent, (50_000, 32), (1_000, 3), {"random_state": 0},
        floors.contrast_steps, call="fit and keep", aim=3),
    Row("fast ica 1k x 5", "FastICA", data.independent, (1_000, 5), (1_000, 5), {"random_state": 0}, None,
        call="fit and keep", aim=1),
    Row("isotonic 1M", "IsotonicRegression", data.rising, (1_000_000,), (1_000,), {}, floors.sort_once,
        call="fit and keep", aim=3),
    Row("isotonic 1k", "IsotonicRegression", data.rising, (1_000,), (1_000,), {}, None, call="fit and keep", aim=1),
    Row("pca mnist, 50 components", "PCA", data.digits, (20_000,), (500,), {"n_components": 50}, floors.class_moments,
        **ANSWERED),
    Row("nmf 5k x 1k, 20 components", "NMF", data.parts, (5_000, 1_000, 20), (200, 30, 3),
        {"n_components": 20, "random_state": 0}, floors.twenty_alternations,
        tighten=({"tol": 1e-5, "max_iter": 1000}, {"tol": 1e-6, "max_iter": 5000}), aim=3, **ANSWERED),
    Row("nmf 200 x 5, 3 components", "NMF", data.parts, (200, 5, 3), (50, 5, 2),
        {"n_components": 3, "random_state": 0, "max_iter": 1000}, floors.twenty_alternations, **ANSWERED),
    Row("dictionary learning 500 patches of mnist, 30 atoms, 30 steps", "DictionaryLearning", data.patches, (500,),
        (60,), {"n_components": 30, "alpha": 0.2, "max_iter": 30}, None, aim=10, **ANSWERED),
    Row("dictionary by batches, 2k patches of mnist, 50 atoms, 5 passes", "MiniBatchDictionaryLearning", data.patches,
        (2_000,), (60,), {"n_components": 50, "alpha": 0.2, "max_iter": 5, "random_state": 0}, None, aim=10,
        **ANSWERED),
    Row("dictionary learning 100 x 5, 3 atoms", "DictionaryLearning", data.directions, (100, 5), (50, 5),
        {"n_components": 3, "alpha": 0.5}, None, **ANSWERED),
    Row("sparse pca 500 x 20, 5 components", "SparsePCA", data.directions, (500, 20), (50, 5),
        {"n_components": 5, "alpha": 2.0}, None, aim=10, **ANSWERED),
    Row("gaussian mixture 100k x 16, 16 components, 30 steps", "GaussianMixture", data.gaussian_classes,
        (100_000, 16, 16), (500, 3, 2), MIXTURE, floors.thirty_steps, aim=20, **ANSWERED),
    Row("k-means 200k x 32, 64 centres", "KMeans", data.gaussian_classes, (200_000, 32, 64), (500, 3, 4),
        {"n_clusters": 64, "random_state": 0}, floors.clusters, peers=(INTEL,), aim=3, **ANSWERED),
    Row("k-means 100k x 64, 1000 centres", "KMeans", data.gaussian_classes, (100_000, 64, 1000), (500, 3, 4),
        {"n_clusters": 1000, "random_state": 0}, floors.clusters, peers=(INTEL,), aim=3, **ANSWERED),
    Row("k-means mnist, 10 centres", "KMeans", data.digits, (), (500,), {"n_clusters": 10, "random_state": 0},
        floors.clusters, **ANSWERED),
    Row("neighbours 50k x 3, 5k queries", "NearestNeighbors", data.gaussian_classes, (50_000, 3, 10), SMALL_MANY,
        TEN_NEAREST, None, aim=2, **ASKED),
    Row("neighbours 50k x 16, 5k queries", "NearestNeighbors", data.gaussian_classes, (50_000, 16, 10), SMALL_MANY,
        TEN_NEAREST, floors.neighbours, aim=6, **ASKED),
    Row("neighbours 50k x 128, 5k queries", "NearestNeighbors", data.gaussian_classes, (50_000, 128, 10), SMALL_MANY,
        TEN_NEAREST, floors.neighbours, aim=3, **ASKED),
    Row("k of neighbours by leave-one-out, k = 1 ... 50, 20k x 16", "KNeighborsClassifierCV", data.gaussian_classes,
        (20_000, 16, 10), SMALL_MANY, {"n_neighbors": 50}, floors.all_pairs, sklearn=SEARCHED, aim=50,
        **ANSWERED),
    Row("kernel density 20k x 2, 2k queries", "KernelDensity", data.gaussian_classes, (20_000, 2, 10), SMALL_MANY,
        {"bandwidth": 0.2}, None, call="fit and ask"),
    Row("kernel density 20k x 2, 2k queries, rtol 1e-4", "KernelDensity", data.gaussian_classes, (20_000, 2, 10),
        SMALL_MANY, {"bandwidth": 0.2, "rtol": 1e-4}, None, call="fit and ask"),
    Row("kernel density 10k x 10, 1k queries", "KernelDensity", data.gaussian_classes, (10_000, 10, 10), SMALL_MANY,
        {"bandwidth": 1.0}, None, call="fit and ask"),
    Row("gaussian process 2k x 5 with hyper-parameters", "GaussianProcessRegressor", data.waves, (2_000, 5), (60, 2),
        {"kernel": NOISY}, floors.evidence, aim=8, **ANSWERED),
    Row("gaussian process 200 x 5 with hyper-parameters", "GaussianProcessRegressor", data.waves, (200, 5), (60, 2),
        {"kernel": NOISY}, None, aim=1, **ANSWERED),
    Row("gaussian process 2k x 5, 10k standard deviations", "GaussianProcessRegressor", data.waves, (12_000, 5),
        (120, 2), {"kernel": NOISY, "optimizer": None}, floors.deviations, call="deviations"),
    Row("gaussian process classes 500 x 5 with hyper-parameters", "GaussianProcessClassifier", data.sides_of_waves,
        (500, 5), (60, 2), {"kernel": SMOOTH}, None, **ANSWERED),
    Row("svc 10k x 50", "SVC", data.clusters, (10_000, 50), (300, 6), {}, None, peers=(INTEL,), tighten=FINER,
        call="fit and keep", aim=15),
    Row("svc 10k x 50, predict 10k", "SVC", data.clusters, (10_000, 50), (300, 6), {}, floors.kernel_products,
        peers=(INTEL,), call="fit and then answer"),
    Row("svc 30k x 20", "SVC", data.clusters, (30_000, 20), (300, 6), {}, None, peers=(INTEL,), tighten=FINER,
        call="fit and keep", aim=20),
    Row("svc C = 100 10k x 50", "SVC", data.clusters, (10_000, 50), (300, 6), {"C": 100.0}, None, peers=(INTEL,),
        tighten=FINER, call="fit and keep"),
    Row("svc 10 classes 10k x 50", "SVC", data.clusters, (10_000, 50, 10), (300, 10, 3), {}, None, peers=(INTEL,),
        tighten=FINER, call="fit and keep", aim=12),
    Row("svc mnist", "SVC", data.digits, (), (500,), {}, None, peers=(INTEL,), tighten=FINER, call="fit and keep",
        aim=10),
    Row("svc letter", "SVC", data.letter, (), (1_000,), {}, None, peers=(INTEL,), tighten=FINER, call="fit and keep"),
    Row("svc magic", "SVC", data.magic, (), (1_000,), {}, None, peers=(INTEL,), tighten=FINER, call="fit and keep"),
    Row("svc linear 10k x 20", "SVC", data.clusters, (10_000, 20), (300, 6), {"kernel": "linear"}, None,
        tighten=FINER, call="fit and keep"),
    Row("svc 200 x 6", "SVC", data.clusters, (200, 6), (200, 6), {}, None, tighten=FINER, call="fit and keep", aim=1),
    Row("svr 10k x 20", "SVR", data.regression, (10_000, 20), (300, 6), {}, None, peers=(INTEL,), tighten=FINER,
        call="fit and keep"),
    Row("one-class svm 10k x 20", "OneClassSVM", data.clusters, (10_000, 20), (300, 6), {}, None, tighten=FINER,
        call="fit and keep"),
    Row("svc grid 10 C x 5 folds 5k x 20", "SVCCV", data.clusters, (5_000, 20), (200, 6), GRID_OF_CS, None,
        sklearn=SEARCHED, call="fit and keep", aim=20),
    Row("spectral clustering 3k x 5, 8 clusters", "SpectralClustering", data.gaussian_classes, (3_000, 5, 8),
        (120, 3, 3), {"n_clusters": 8, "gamma": 0.1, "random_state": 0}, None, aim=8, **ANSWERED),
    Row("spectral clustering 200 x 5, 4 clusters", "SpectralClustering", data.gaussian_classes, (200, 5, 4),
        (120, 3, 3), {"n_clusters": 4, "gamma": 0.1, "random_state": 0}, None, **ANSWERED),
    Row("variational mixture 50k x 10, 8 components, 30 steps", "BayesianGaussianMixture", data.gaussian_classes,
        (50_000, 10, 8), (120, 3, 3), {"n_components": 8, "random_state": 0, "max_iter": 30, "tol": 0.0}, None, aim=5,
        **ANSWERED),
    Row("ward 10k x 16, 8 clusters", "AgglomerativeClustering", data.gaussian_classes, (10_000, 16, 8), (120, 3, 3),
        {"n_clusters": 8}, None, aim=3, **ANSWERED),
    Row("ward 200 x 5, 4 clusters", "AgglomerativeClustering", data.gaussian_classes, (200, 5, 4), (120, 3, 3),
        {"n_clusters": 4}, None, **ANSWERED),
    Row("spectral embedding 5k x 10 by neighbours, 3 components", "SpectralEmbedding", data.gaussian_classes,
        (5_000, 10, 8), (120, 3, 3), {"n_components": 3, "n_neighbors": 20, "random_state": 0}, None, **ANSWERED),
    Row("neighbours mnist, 2k queries", "NearestNeighbors", data.digits, (20_000,), (500,), TEN_NEAREST,
        floors.neighbours, **ASKED),
    Row("neighbours flights, 5k queries", "NearestNeighbors", data.flights, (50_000,), (500,), TEN_NEAREST,
        floors.neighbours, **ASKED),
    Row("incremental pca 100k x 200, 20 components", "IncrementalPCA", data.directions, (100_000, 200), (2_000, 40),
        {"n_components": 20}, floors.class_moments, **ANSWERED),
    Row("truncated svd spam, 50 components", "TruncatedSVD", data.spam, (), (600, 1 << 12), {"n_components": 50},
        floors.few_components, tighten=ARPACK["TruncatedSVD"], **ANSWERED),
    Row("cca 20k x 50 / 50, 10 components", "CCA", data.two_blocks, (20_000, 50, 50), (500, 20, 15),
        {"n_components": 10}, floors.joint_moments, tighten=DIRECTIONS, aim=150, **ANSWERED),
    Row("pls regression 20k x 50 / 50, 10 components", "PLSRegression", data.two_blocks, (20_000, 50, 50),
        (500, 20, 15), {"n_components": 10}, floors.joint_moments, tighten=DIRECTIONS, **ANSWERED),
    Row("nystroem 200k x 20, 500 centres float32", "Nystroem", data.regression, (200_000, 20, "float32"),
        (2_000, 5, "float32"), {"n_components": 500, "random_state": 0}, None, aim=2.5, **ANSWERED),
    Row("rff 2000 + ridge 200k x 20 float32", "RandomKitchenSinks", data.regression, (200_000, 20, "float32"),
        (2_000, 5, "float32"), {"gamma": 0.05, "n_components": 2_000, "alpha": 1.0, "random_state": 0}, None,
        sklearn=Contender(SKLEARN, GRID, note="RBFSampler and Ridge in a pipeline"), aim=2.5, **ANSWERED),
    Row("principal-component regression path 10k x 50", "SpectralFilter", data.regression, (10_000, 50), (200, 5),
        {"method": "pcr", "n_steps": 50}, None,
        sklearn=Contender(SKLEARN, GRID, note="GridSearchCV over the components by five folds"), **ANSWERED),
    Row("complement nb 10 classes 200k x 100", "ComplementNB", data.counted_classes, MANY, SMALL_MANY, {},
        floors.class_sums, **ANSWERED),
    Row("categorical nb 10 classes 200k x 100", "CategoricalNB", data.categories, MANY, SMALL_MANY, {},
        floors.class_sums, **ANSWERED),
    Row("mixed nb 10 classes 200k x 100", "MixedNB", data.gaussian_classes, MANY, SMALL_MANY, {}, floors.class_sums,
        sklearn=None, **ANSWERED),
    Row("gaussian plug-in 10 classes 200k x 100", "GaussianPlugIn", data.gaussian_classes, MANY, SMALL_MANY, {},
        floors.class_moments, sklearn=None, **ANSWERED),
    Row("nearest centroid 10 classes 200k x 100", "NearestCentroid", data.gaussian_classes, MANY, SMALL_MANY, {},
        floors.class_sums, **ANSWERED),
    Row("gaussian nb mnist", "GaussianNB", data.digits, (), (500,), {}, floors.class_sums, **ANSWERED),
    Row("nearest centroid mnist", "NearestCentroid", data.digits, (), (500,), {}, floors.class_sums, **ANSWERED),
    Row("lda mnist", "LinearDiscriminantAnalysis", data.digits, (20_000,), (500,), {}, floors.class_moments,
        **ANSWERED),
    Row("complement nb spam", "ComplementNB", data.spam, (), (600, 1 << 12), {}, floors.class_sums, **ANSWERED),
    Row("truncated svd flights, 20 components", "TruncatedSVD", data.flights, (None, True), (500, True),
        {"n_components": 20}, floors.few_components, tighten=ARPACK["TruncatedSVD"], **ANSWERED),
    Row("zoo of 4 tuned and evaluated in nested folds, classes 1k x 20", "Zoo", data.classes, (1_000, 20), (120, 4),
        {"task": "classes"}, None, sklearn=IN_FOLDS, call="evaluate", aim=20),
    Row("zoo of 4 tuned and evaluated in nested folds, numbers 1k x 20", "Zoo", data.regression, (1_000, 20), (120, 4),
        {"task": "numbers"}, None, sklearn=IN_FOLDS, call="evaluate", aim=20),
    Row("kernel ridge 5k x 20", "KernelRidge", data.regression, (5_000, 20), (300, 5), WIDTH, floors.kernel_factor,
        call="fit and keep", aim=3),
    Row("kernel ridge 10k x 20", "KernelRidge", data.regression, (10_000, 20), (300, 5), WIDTH, floors.kernel_factor,
        call="fit and keep", aim=3),
    Row("kernel ridge 200 x 5", "KernelRidge", data.regression, (200, 5), (200, 5), WIDTH, None, call="fit and keep",
        aim=1),
    Row("kernel ridge 10k x 20, predict 10k", "KernelRidge", data.regression, (10_000, 20), (300, 5), WIDTH,
        floors.kernel_products, call="fit and then answer"),
    Row("kernel ridge grid 20 alphas x 5 widths, 5 folds, 2k x 20", "KernelRidgeCV", data.regression, (2_000, 20),
        (150, 5), WIDTHS | {"cv": 5}, floors.kernel_grid, sklearn=BY_FOLDS, call="fit and keep", aim=12),
    Row("kernel ridge grid 20 alphas x 5 widths, 5 folds, 200 x 5", "KernelRidgeCV", data.regression, (200, 5),
        (150, 5), WIDTHS | {"cv": 5}, None, sklearn=BY_FOLDS, call="fit and keep"),
    Row("kernel ridge loo 20 alphas, mnist 5k", "KernelRidgeCV", data.mnist, (5_000,), (300,),
        {"alphas": log_space(-4, 2, 20), "gammas": [0.02]}, floors.kernel_spectrum, sklearn=BY_FOLDS,
        call="fit and keep"),
    Row("ridge parquet 12M x 20", "Ridge", data.regression_files, PARQUET, SMALL_PARQUET, **FROM_FILES),
    Row("ridgecv loo parquet 12M x 20", "RidgeCV", data.regression_files, PARQUET, SMALL_PARQUET, FEW, **FROM_FILES),
    Row("falkon parquet 10M x 20, 1000 centres", "Falkon", data.regression_files, (10_000_000, 20, "parquet"),
        SMALL_PARQUET, {**FALKON, "centres": 1000}, floors.kernel_passes, sklearn=None, call="read, fit and keep"),
    Row("logistic parquet 12M x 20", "LogisticRegression", data.classes_files, PARQUET, SMALL_PARQUET, **FROM_FILES),
    Row("neighbours parquet 1M x 16, 1k queries", "NearestNeighbors", data.regression_files, (1_000_000, 16, "parquet"),
        SMALL_PARQUET, TEN_NEAREST, floors.thousand_neighbours, sklearn=None, call="fit and ask files"),
    Row("ridge csv 5M x 20", "Ridge", data.regression_files, CSV, SMALL_CSV, **FROM_FILES),
)  # fmt: skip


def home(library: str, estimator: str) -> str:
    """The module of a library that has an estimator."""
    if (estimator, library) in ELSEWHERE:
        return ELSEWHERE[estimator, library]
    return (MODULES | SEARCHES | SPECIALISTS)[library].replace("linear_model", HOMES.get(estimator, "linear_model"))


def named(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)
