"""Ctrl-C ends every long fit and search within a second, with a usable model or the estimator as it was."""

import os
import signal
import threading
import time
from functools import cache

import numpy as np
import pytest
from scipy import sparse

import tenfold
from estimators import LINEAR, NEIGHBOURS, TABLE
from tenfold.judge.certificate import NOT_JUDGED

SOON = 1.0
"""Seconds in which an interruption is answered: of the clock, or of the processors where others use them, too."""


class CtrlC:
    """A context in which SIGINT comes after some seconds, unless it is left before."""

    def __init__(self, after):
        self.after, self.pressed, self.left, self.cpu = after, None, threading.Event(), 0.0
        self.seconds = None  # stays so where the signal comes when the work is over

    def _press(self):
        if not self.left.wait(self.after):
            self.pressed, self.cpu = time.perf_counter(), time.process_time()
            os.kill(os.getpid(), signal.SIGINT)

    def __enter__(self):
        self.thread = threading.Thread(target=self._press, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *error):
        now, cpu = time.perf_counter(), time.process_time()
        self.left.set()
        self.thread.join()
        self.seconds = None if self.pressed is None else min(now - self.pressed, cpu - self.cpu)


@pytest.fixture(autouse=True)
def _listening():
    """Shells have SIGINT ignored in what runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(work, after):
    """Whether work() raised KeyboardInterrupt, and the seconds that it went on; None where it was over before."""
    raised, press = False, CtrlC(after)
    try:
        with press:
            work()
    except KeyboardInterrupt:
        raised = True
    return raised, press.seconds


def check_interrupted(make, work, after):
    """Interrupt work(make()), earlier where it was over before; what make() returned, and whether work raised."""
    for soon in (after, 0.2 * after, 0.04 * after):
        result = make()
        raised, seconds = interrupt(lambda result=result: work(result), soon)
        if seconds is not None:
            assert seconds < SOON
            return result, raised
    raise AssertionError("This is over too soon to be interrupted: take more data.")


@cache
def normal_numbers():
    """Normal numbers, of which each problem takes the first: drawing costs more than most of the fits."""
    return np.random.default_rng(0).standard_normal(150_000 * 150)


def samples(n, p):
    X = normal_numbers()[: n * p].reshape(n, p)
    X.setflags(write=False)
    return X


@cache
def numbers(n, p, used=20, targets=1):
    rng = np.random.default_rng(n + p)
    X = samples(n, p)
    Y = X[:, :used] @ rng.standard_normal((used, targets)) + rng.standard_normal((n, targets))
    return X, Y[:, 0] if targets == 1 else Y


@cache
def labels(n, p, count=2):
    rng = np.random.default_rng(n + p)
    X = samples(n, p)
    Z = X @ rng.standard_normal((p, count)) + 2.0 * np.sqrt(p) * rng.standard_normal((n, count))
    return X, Z.argmax(axis=1)


@cache
def counts(n, p):
    X, y = numbers(n, p)
    return X, np.random.default_rng(0).poisson(np.exp(np.clip(0.1 * y, -3.0, 3.0))) + 0.5


@cache
def make_sparse(n, p, density):
    rng = np.random.default_rng(n + p)
    X = sparse.random_array((n, p), density=density, rng=rng, format="csr", data_sampler=rng.standard_normal)
    return X, X @ rng.standard_normal(p) + rng.standard_normal(n)


def signs(n, p, density):
    X, z = make_sparse(n, p, density)
    return X, (z > 0).astype(int)


@cache
def clouds(n, p, count):
    rng = np.random.default_rng(n + p)
    return rng.standard_normal((count, p))[rng.integers(0, count, n)] + samples(n, p), None


@cache
def binary(n, p):
    return (samples(n, p) > 0.3).astype(float), None


@cache
def words(n, length):
    """Sequences of words with some missing."""
    drawn = np.random.default_rng(0).integers(0, 300, (n, length))
    return [[None if k % 5 == 0 else f"w{k}" for k in row] for row in drawn]


LONG = {"max_iter": 10**6}
FOLDED = {
    "Cs": 20,
    "cv": 5,
    "l1_ratios": (0,),
    "scoring": "neg_log_loss",
    "use_legacy_attributes": False,
    "tol": 1e-10,
}

FITS = {
    "LinearRegression positive": (tenfold.LinearRegression(positive=True), lambda: numbers(1500, 1200)),
    "Ridge sparse": (tenfold.Ridge(alpha=1e-8, tol=1e-15), lambda: make_sparse(60_000, 20_000, 5e-4)),
    "Ridge positive": (tenfold.Ridge(alpha=0.1, positive=True, tol=1e-14, **LONG), lambda: numbers(3000, 1500)),
    "RidgeClassifier positive": (tenfold.RidgeClassifier(positive=True, tol=1e-14, **LONG), lambda: labels(3000, 1500)),
    "RidgeCV": (tenfold.RidgeCV(), lambda: numbers(3000, 2000)),
    "RidgeClassifierCV": (tenfold.RidgeClassifierCV(), lambda: labels(3000, 2000)),
    "Lasso columns": (tenfold.Lasso(alpha=1e-3, tol=1e-10, **LONG), lambda: numbers(1500, 6000, 500)),
    "Lasso gram": (tenfold.Lasso(alpha=1e-5, tol=1e-14, **LONG), lambda: numbers(3000, 1500, 500)),
    "ElasticNet": (tenfold.ElasticNet(alpha=1e-3, tol=1e-10, **LONG), lambda: numbers(1500, 6000, 500)),
    "MultiTaskLasso": (tenfold.MultiTaskLasso(alpha=1e-3, tol=1e-10, **LONG), lambda: numbers(1000, 3000, 200, 3)),
    "MultiTaskElasticNet": (
        tenfold.MultiTaskElasticNet(alpha=1e-3, tol=1e-10, **LONG),
        lambda: numbers(1000, 3000, 200, 3),
    ),
    "LassoCV columns": (tenfold.LassoCV(), lambda: numbers(1500, 8000, 100)),
    "LassoCV gram": (tenfold.LassoCV(tol=1e-10, **LONG), lambda: numbers(6000, 800, 400)),
    "ElasticNetCV": (tenfold.ElasticNetCV(l1_ratio=[0.1, 0.5, 0.9]), lambda: numbers(1000, 4000, 100)),
    "MultiTaskLassoCV": (tenfold.MultiTaskLassoCV(), lambda: numbers(1000, 3000, 100, 3)),
    "MultiTaskElasticNetCV": (tenfold.MultiTaskElasticNetCV(), lambda: numbers(1000, 3000, 100, 3)),
    "LogisticRegression": (tenfold.LogisticRegression(C=1e6, tol=1e-14), lambda: labels(100_000, 100)),
    "LogisticRegression wide": (tenfold.LogisticRegression(C=1e4, tol=1e-14), lambda: labels(2000, 3000)),
    "LogisticRegression classes": (tenfold.LogisticRegression(C=1e6, tol=1e-14), lambda: labels(40_000, 60, 6)),
    "LogisticRegression L1": (
        tenfold.LogisticRegression(C=0.1, l1_ratio=1.0, solver="saga", tol=1e-14),
        lambda: labels(4000, 2000),
    ),
    "LogisticRegressionCV": (tenfold.LogisticRegressionCV(**FOLDED), lambda: labels(30_000, 60)),
    "LogisticRegressionCV classes": (tenfold.LogisticRegressionCV(**FOLDED), lambda: labels(10_000, 40, 5)),
    "LogisticRegressionCV L1": (
        tenfold.LogisticRegressionCV(**{**FOLDED, "l1_ratios": (1.0,), "solver": "saga"}),
        lambda: labels(4000, 600),
    ),
    "Perceptron": (tenfold.Perceptron(tol=None, **LONG), lambda: labels(50_000, 50)),
    "AveragedPerceptron": (tenfold.AveragedPerceptron(**LONG), lambda: labels(50_000, 50)),
    "VotedPerceptron": (tenfold.VotedPerceptron(max_iter=100), lambda: labels(10_000, 50)),
    "PoissonRegressor": (tenfold.PoissonRegressor(alpha=0, tol=1e-15, **LONG), lambda: counts(150_000, 150)),
    "GammaRegressor": (tenfold.GammaRegressor(alpha=0, tol=1e-15, **LONG), lambda: counts(150_000, 150)),
    "TweedieRegressor": (tenfold.TweedieRegressor(power=1.5, alpha=0, tol=1e-15, **LONG), lambda: counts(150_000, 150)),
    "HuberRegressor": (tenfold.HuberRegressor(epsilon=1.01, tol=1e-14, **LONG), lambda: numbers(150_000, 150)),
    "GeneralizedLinear": (tenfold.GeneralizedLinear("laplace", alpha=1e-9), lambda: numbers(100_000, 100)),
    "GeneralizedLinearClassifier": (
        tenfold.GeneralizedLinearClassifier("softmax", alpha=1e-9, tol=1e-14),
        lambda: labels(40_000, 60, 6),
    ),
    "QuantileRegressor": (tenfold.QuantileRegressor(quantile=0.4, alpha=1e-4), lambda: numbers(40_000, 80)),
    "LinearSVC": (tenfold.LinearSVC(C=100.0, tol=1e-12, **LONG), lambda: labels(150_000, 150)),
    "LinearSVC hinge": (tenfold.LinearSVC(loss="hinge", **LONG), lambda: labels(80_000, 150)),
    "LinearSVC hinge classes": (tenfold.LinearSVC(loss="hinge", **LONG), lambda: labels(20_000, 80, 5)),
    "LinearSVC hinge sparse": (tenfold.LinearSVC(loss="hinge", C=100.0, **LONG), lambda: signs(60_000, 10_000, 2e-3)),
    "LinearSVC joint": (
        tenfold.LinearSVC(multi_class="crammer_singer", C=100.0, **LONG),
        lambda: labels(15_000, 60, 5),
    ),
    "LinearSVR": (tenfold.LinearSVR(C=100.0, **LONG), lambda: numbers(80_000, 100)),
    "Lars": (tenfold.Lars(n_nonzero_coefs=1500), lambda: numbers(2500, 2000, 500)),
    "LassoLars": (tenfold.LassoLars(alpha=1e-5, max_iter=5000), lambda: numbers(2500, 1500, 500)),
    "LassoLarsIC": (tenfold.LassoLarsIC(max_iter=5000), lambda: numbers(2500, 1500, 500)),
    "LarsCV": (tenfold.LarsCV(max_iter=1000), lambda: numbers(2500, 1200, 300)),
    "LassoLarsCV": (tenfold.LassoLarsCV(max_iter=1000), lambda: numbers(2500, 1200, 300)),
    "OrthogonalMatchingPursuit": (
        tenfold.OrthogonalMatchingPursuit(n_nonzero_coefs=1200),
        lambda: numbers(2500, 3000, 1200),
    ),
    "OrthogonalMatchingPursuitCV": (
        tenfold.OrthogonalMatchingPursuitCV(max_iter=500),
        lambda: numbers(2500, 1500, 500),
    ),
    "ForwardSelection": (tenfold.ForwardSelection(n_nonzero_coefs=800), lambda: numbers(2500, 2000, 800)),
    "BestSubset": (tenfold.BestSubset(), lambda: numbers(80, 40, 40)),
    "SGDClassifier": (tenfold.SGDClassifier(tol=None, random_state=0, **LONG), lambda: labels(100_000, 60)),
    "MLPClassifier": (tenfold.MLPClassifier(max_iter=10**6, tol=0.0, random_state=0), lambda: labels(50_000, 60)),
    "MLPRegressor": (
        tenfold.MLPRegressor(solver="lbfgs", tol=0.0, max_iter=10**6, max_fun=10**9, random_state=0),
        lambda: numbers(20_000, 60),
    ),
    "SGDRegressor": (tenfold.SGDRegressor(tol=None, random_state=0, **LONG), lambda: numbers(100_000, 60)),
    "SGDOneClassSVM": (
        tenfold.SGDOneClassSVM(tol=None, random_state=0, **LONG),
        lambda: (numbers(100_000, 60)[0], None),
    ),
    "PassiveAggressiveClassifier": (
        tenfold.PassiveAggressiveClassifier(tol=None, random_state=0, **LONG),
        lambda: labels(50_000, 60, 4),
    ),
    "PassiveAggressiveRegressor": (
        tenfold.PassiveAggressiveRegressor(tol=None, random_state=0, **LONG),
        lambda: numbers(50_000, 60),
    ),
    "KMeans": (tenfold.KMeans(60, n_init=1, tol=0, random_state=0, **LONG), lambda: clouds(100_000, 20, 60)),
    "KMeans random": (
        tenfold.KMeans(30, n_init=1, init="random", tol=0, random_state=0, **LONG),
        lambda: clouds(150_000, 30, 30),
    ),
    "MiniBatchKMeans": (
        tenfold.MiniBatchKMeans(100, max_iter=1000, tol=0, max_no_improvement=None, random_state=0),
        lambda: clouds(100_000, 20, 100),
    ),
    "BisectingKMeans": (tenfold.BisectingKMeans(200, random_state=0), lambda: clouds(100_000, 20, 200)),
    "KernelKMeans": (tenfold.KernelKMeans(60, n_init=20, random_state=0), lambda: clouds(4000, 20, 60)),
    "OnlineKMeans": (tenfold.OnlineKMeans(200, random_state=0), lambda: clouds(200_000, 20, 200)),
    "GaussianMixture": (tenfold.GaussianMixture(15, tol=0, random_state=0, **LONG), lambda: clouds(50_000, 15, 15)),
    "BayesianGaussianMixture": (
        tenfold.BayesianGaussianMixture(n_components=15, tol=0, random_state=0, **LONG),
        lambda: clouds(50_000, 15, 15),
    ),
    "BernoulliMixture": (tenfold.BernoulliMixture(30, tol=0, random_state=0, **LONG), lambda: binary(50_000, 60)),
    "MultinomialMixture": (tenfold.MultinomialMixture(30, tol=0, random_state=0, **LONG), lambda: binary(50_000, 60)),
    "BigramModel": (tenfold.BigramModel(tol=0, **LONG), lambda: (words(3000, 100), None)),
    "BigramClassifier": (
        tenfold.BigramClassifier(tol=0, **LONG),
        lambda: (words(3000, 100), np.arange(3000) % 2),
    ),
    "MDS": (tenfold.MDS(init="random", n_init=20, eps=0, random_state=0, **LONG), lambda: (samples(1500, 5), None)),
    "GaussianMixture diagonal": (
        tenfold.GaussianMixture(30, covariance_type="diag", tol=0, random_state=0, **LONG),
        lambda: clouds(50_000, 15, 30),
    ),
    "KNeighborsClassifierCV": (tenfold.KNeighborsClassifierCV(n_neighbors=30), lambda: labels(40_000, 30, 3)),
    "KNeighborsCV": (tenfold.KNeighborsCV(n_neighbors=30), lambda: numbers(40_000, 30)),
    "KernelDensity": (tenfold.KernelDensity(bandwidth="likelihood"), lambda: (numbers(20_000, 20)[0], None)),
    "ParzenRegressor": (tenfold.ParzenRegressor(bandwidth="loo"), lambda: numbers(20_000, 20)),
    "Falkon": (tenfold.Falkon(1e-9, kernel="laplacian", centres=800, random_state=0), lambda: numbers(60_000, 20)),
    "Falkon hold-out": (
        tenfold.Falkon("hold-out", gamma="hold-out", centres=300, random_state=0),
        lambda: numbers(60_000, 20),
    ),
    "FalkonClassifier": (
        tenfold.FalkonClassifier(1e-9, kernel="laplacian", centres=800, random_state=0),
        lambda: labels(60_000, 20, 5),
    ),
    "SVC": (tenfold.SVC(C=1e3, tol=1e-9), lambda: labels(15_000, 20)),
    "SVC classes": (tenfold.SVC(C=1e3, tol=1e-9), lambda: labels(15_000, 20, 6)),
    "SVC linear": (tenfold.SVC(kernel="linear", C=1e3), lambda: labels(60_000, 100)),
    "SVC few": (tenfold.SVC(kernel="poly", C=1e6, tol=1e-12), lambda: labels(2_000, 20)),
    "NuSVC": (tenfold.NuSVC(nu=0.2, tol=1e-9), lambda: labels(15_000, 20)),
    "SVR": (tenfold.SVR(C=1e3, epsilon=1e-3, tol=1e-9), lambda: numbers(10_000, 20)),
    "NuSVR": (tenfold.NuSVR(C=1e3, tol=1e-9), lambda: numbers(10_000, 20)),
    "OneClassSVM": (tenfold.OneClassSVM(nu=0.5, tol=1e-9), lambda: (numbers(20_000, 20)[0], None)),
    "SVCPath": (tenfold.SVCPath(10), lambda: labels(10_000, 20)),
    "SVCCV": (tenfold.SVCCV(10), lambda: labels(5_000, 20, 4)),
    "SVCCV span": (tenfold.SVCCV(10, cv="span"), lambda: labels(6_000, 20)),
    "SVRCV": (tenfold.SVRCV(10), lambda: numbers(5_000, 20)),
    "PrototypeClassifier": (
        tenfold.PrototypeClassifier(n_prototypes=150, random_state=0),
        lambda: labels(100_000, 20, 3),
    ),
}
"""Long fits of every class that iterates, chooses or draws, in all its ways to do so."""

SEARCHES = {
    "KNeighborsClassifier": (tenfold.KNeighborsClassifier(), "predict", lambda: labels(60_000, 60, 3)),
    "KNeighborsRegressor": (tenfold.KNeighborsRegressor(metric="manhattan"), "predict", lambda: numbers(40_000, 30)),
    "RadiusNeighborsRegressor": (tenfold.RadiusNeighborsRegressor(3.0), "predict", lambda: numbers(30_000, 8, 8)),
    "RadiusNeighborsClassifier": (
        tenfold.RadiusNeighborsClassifier(3.0, outlier_label=0),
        "predict",
        lambda: labels(30_000, 8, 3),
    ),
    "NearestNeighbors": (
        tenfold.NearestNeighbors(metric="cosine"),
        "kneighbors",
        lambda: (numbers(40_000, 60)[0], None),
    ),
    "KNeighborsTransformer": (tenfold.KNeighborsTransformer(), "transform", lambda: (numbers(40_000, 60)[0], None)),
    "KernelDensity": (tenfold.KernelDensity(), "score_samples", lambda: (numbers(40_000, 20)[0], None)),
    "KernelDensity by a tree": (tenfold.KernelDensity(), "score_samples", lambda: (numbers(60_000, 3, 3)[0], None)),
    "ParzenRegressor": (tenfold.ParzenRegressor(1.0), "predict", lambda: numbers(40_000, 20)),
}
"""Long questions to models that keep their samples."""

DISTRIBUTED = {
    "MatchingPursuit": "one pass over the columns in each of some steps, in Python",
}


def few(data):
    X, y = data
    return (X[:60, :7].toarray() if sparse.issparse(X) else X[:60, :7].copy()), None if y is None else y[:60]


def fit(model, X, y):
    return model.fit(X) if y is None else model.fit(X, y)


def check_answered(model, before, raised, X):
    """The estimator as it was, or a model that says what it is."""
    if raised:
        assert vars(model) == before
        return
    certificate = model.certificate_
    assert certificate.status in ("interrupted", NOT_JUDGED)
    if hasattr(model, "predict"):
        assert len(model.predict(X[:5])) == 5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "after", [0.1, pytest.param(0.25, marks=pytest.mark.product), pytest.param(1.0, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", FITS)
def test_a_fit_is_interrupted_within_a_second(name, after):
    known, data = FITS[name]
    X, y = data()
    before = dict(vars(tenfold_clone(known)))
    model, raised = check_interrupted(lambda: tenfold_clone(known), lambda model: fit(model, X, y), after)
    check_answered(model, before, raised, X)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_interrupted_within_a_second(name):
    model, method, data = SEARCHES[name]
    X, y = data()
    model = fit(tenfold_clone(model), X, y)
    before = dict(vars(model))
    assert check_interrupted(lambda: model, lambda model: getattr(model, method)(X), 0.25)[1]
    assert vars(model) == before


def tenfold_clone(model):
    return type(model)(**model.get_params())


def test_every_iterative_class_is_interrupted():
    iterative = {row.name for row in LINEAR if row.iterative or row.chooses or row.sequential}
    iterative |= {row.name for row in TABLE if row.kind == "fixed point"}
    iterative |= {row.name for row in NEIGHBOURS if row.name.endswith("CV")}
    assert iterative <= {type(model).__name__ for model, *_ in (*FITS.values(), *SEARCHES.values())}
