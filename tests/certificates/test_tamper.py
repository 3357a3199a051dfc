"""Every public fitted name of every estimator is judged: a model in which one was changed is refused.

A change is excused only where the name is listed by its class as report only and no method returns anything else, where
an independent formula says that the changed model is still as good as the certificate allows, or where the change is
one of the symmetries below.
"""

import warnings

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.kernel_ridge
import sklearn.manifold
import sklearn.neural_network
from excess import Reference
from symmetries import SYMMETRIES, is_isometric, is_permuted, move, move_alone
from tampering import outputs, same_or_raises, tamper

import tenfold
from estimators import LINEAR, NEIGHBOURS, STATISTICAL, blobs, classes, pairs, parts, regression
from tenfold.certification import report_only


def judge(model, X, y):
    """The certificate, None where certify raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tenfold.certify(model, X, y)
        except Exception:
            return None


def survivors(model, X, y):
    """Changes that are neither refused nor excused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, listed, reference = outputs(model, X, y), report_only(type(model)), Reference(model, X, y)
        result = []
        for name, change, worse in tamper(model):
            certificate = judge(worse, X, y)
            if certificate is None or not certificate.ok:
                continue
            if name in listed:
                different = same_or_raises(before, outputs(worse, X, y))
                if not different:
                    continue
                change = f"{change} (report only, but {', '.join(different)} differ)"
            kind = type(model).__name__
            symmetric = kind == "GaussianMixture" and is_permuted(model, worse)
            symmetric |= kind == "MDS" and is_isometric(model, worse)
            if not symmetric and not reference.within(worse, certificate, name):
                result.append(f"{name}: {change}")
        return result


ROWS = [*LINEAR, *STATISTICAL, *NEIGHBOURS]


@pytest.mark.once_a_class
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_tampered_model_is_not_certified(row):
    X, y, _ = row.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = row.make().fit(X, y)
    assert survivors(model, X, y) == []


def best_online(name):
    """A model of the delta rule that was taken to the optimum of its problem, where its certificate is ok."""
    classifier = name == "SGDClassifier"
    X, y, _ = (classes if classifier else regression)(60, 4)
    settings = {"loss": "log_loss"} if classifier else {}
    model = getattr(tenfold, name)(alpha=0.01, random_state=0, **settings).fit(X, y)
    best = tenfold.GeneralizedLinearClassifier if classifier else tenfold.GeneralizedLinear
    best = best(alpha=0.01).fit(X, y)
    model.coef_ = np.reshape(best.coef_, model.coef_.shape)
    model.intercept_ = np.reshape(best.intercept_, model.intercept_.shape)
    return model, X, y


def best_centres(name):
    """Centres of batches, or of single samples, that were taken to a fixed point of Lloyd's steps."""
    X = blobs().X
    model, best = getattr(tenfold, name)(3, random_state=0).fit(X), tenfold.KMeans(3, tol=0, random_state=0).fit(X)
    model.cluster_centers_, model.labels_, model.inertia_ = best.cluster_centers_, best.labels_, best.inertia_
    return model, X, None


def fit_bisecting():
    X = blobs().X
    return tenfold.BisectingKMeans(3, random_state=0).fit(X), X, None


def several_tasks(name):
    X, y, _ = regression(60, 4)
    Y = np.column_stack([y, X[:, 0] + np.random.default_rng(1).standard_normal(60)])
    return getattr(tenfold, name)(tol=1e-10, alphas=4, cv=3).fit(X, Y), X, Y


def fit_structured():
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((length, 4)) for length in rng.integers(2, 6, 30)]
    y = [(x[:, 0] > 0).astype(int) + 2 * (x[:, 1] > 0) for x in X]
    return tenfold.StructuredPerceptron(max_iter=500, random_state=0).fit(X, y), X, y


def dual(name, module=tenfold, **settings):
    X, y, _ = classes(60, 4, count=3) if "Classifier" in name or "Fisher" in name else regression(60, 4)
    return getattr(module, name)(**settings).fit(X, y), X, y


def labelled(name, count, **settings):
    X, y, _ = classes(60, 4, count=count)
    return getattr(tenfold, name)(**settings).fit(X, y), X, y


def network(name, module=tenfold):
    X, y, _ = classes(60, 4, count=3) if name == "MLPClassifier" else regression(60, 4)
    settings = {"activation": "tanh", "solver": "lbfgs", "alpha": 1.0, "tol": 1e-7, "max_iter": 5000}
    return getattr(module, name)(hidden_layer_sizes=(4,), random_state=0, **settings).fit(X, y), X, y


def spectral(name, module=tenfold, **settings):
    X = blobs().X
    return getattr(module, name)(**settings).fit(X), X, None


def two_views(**settings):
    X, Y, _ = pairs(60, 4)
    return tenfold.KernelCCA(**settings).fit(X, Y), X, Y


WITH_INVERSE = {"n_components": 3, "kernel": "rbf", "gamma": 0.05, "fit_inverse_transform": True}


def fit_factors(**settings):
    X = parts().X
    return tenfold.NMF(2, random_state=0, max_iter=5000, **settings).fit(X), X, None


POSITIVE = {"fit_algorithm": "cd", "positive_code": True, "positive_dict": True}


def fit_atoms(name="DictionaryLearning", **settings):
    X = blobs().X
    return getattr(tenfold, name)(3, **settings).fit(X), X, None


def best_atoms(name, best, **settings):
    """Atoms or components of batches that were taken to where the gradients vanish."""
    model, X, _ = fit_atoms(name, random_state=0, max_iter=5, **settings)
    model.components_ = fit_atoms(best, **settings)[0].components_
    return model, X, None


def best_factors():
    model, X, _ = fit_factors(tol=1e-6)
    online = tenfold.MiniBatchNMF(2, random_state=0).fit(X)
    online.components_, online.reconstruction_err_ = model.components_, model.reconstruction_err_
    return online, X, None


CENTRES = {"centres": 15, "random_state": 0}
EXACT = {"tol": 1e-18, "gamma": 0.1}  # as far as rounding lets them, so that small changes are seen


def fit_with_gaps():
    X = blobs().X
    X[np.random.default_rng(0).uniform(size=X.shape) < 0.2] = np.nan
    return tenfold.ProbabilisticPCA(2).fit(X), X, None


OTHERS = {
    "ProbabilisticPCA with missing values": fit_with_gaps,
    "KernelPCA": lambda: spectral("KernelPCA", n_components=3, kernel="rbf", gamma=0.05),
    "KernelPCA with pre-images": lambda: spectral("KernelPCA", **WITH_INVERSE),
    "KernelPCA of all components": lambda: spectral("KernelPCA"),
    "ClassicalMDS": lambda: spectral("ClassicalMDS", n_components=3),
    "ClassicalMDS of scikit-learn": lambda: spectral("ClassicalMDS", sklearn.manifold, n_components=3),
    "MDS": lambda: spectral("MDS", init="classical_mds", n_components=3, eps=1e-9, max_iter=3000),
    "MDS without a metric": lambda: spectral("MDS", init="random", random_state=0, metric_mds=False),
    "MDS of scikit-learn": lambda: spectral("MDS", sklearn.manifold, init="classical_mds", random_state=0),
    "KernelFisherDiscriminant": lambda: dual("KernelFisherDiscriminant", beta=0.1),
    "Isomap": lambda: spectral("Isomap", n_neighbors=40),
    "Isomap of scikit-learn": lambda: spectral("Isomap", sklearn.manifold, n_neighbors=40),
    "KernelCCA": lambda: two_views(n_components=2, ridge=1.0),
    "KernelCCA with a ridge of its own": lambda: two_views(random_state=0),
    "KernelPCA of scikit-learn": lambda: spectral("KernelPCA", sklearn.decomposition, **WITH_INVERSE),
    "KernelRidge": lambda: dual("KernelRidge", kernel="rbf", alpha=0.1),
    "KernelRidgeClassifier": lambda: dual("KernelRidgeClassifier", alpha=0.1),
    "KernelLogisticRegression": lambda: labelled("KernelLogisticRegression", 3, **EXACT),
    "KernelLogisticRegression of two classes": lambda: labelled("KernelLogisticRegression", 2, **EXACT),
    "KernelLogisticRegression on centres": lambda: labelled(
        "KernelLogisticRegression", 2, centres=15, random_state=0, **EXACT
    ),
    "Tikhonov": lambda: dual("Tikhonov", loss="huber", **EXACT),
    "Tikhonov with kinks": lambda: dual("Tikhonov", loss="laplace", alpha=0.1, gamma=0.1),
    "TikhonovClassifier": lambda: labelled("TikhonovClassifier", 2, loss="squared_hinge", **EXACT),
    "KernelPerceptron": lambda: labelled("KernelPerceptron", 3, gamma=2.0),
    "KernelPerceptron, averaged": lambda: labelled("KernelPerceptron", 2, gamma=2.0, prediction="averaged"),
    "KernelPerceptron, voted": lambda: labelled("KernelPerceptron", 3, gamma=2.0, prediction="voted"),
    "KernelRidgeCV": lambda: dual("KernelRidgeCV", gammas=[0.1, 1.0]),
    "KernelRidgeCV in folds": lambda: dual("KernelRidgeCV", gammas=[0.1, 1.0], cv=3),
    "KernelRidgeClassifierCV": lambda: dual("KernelRidgeClassifierCV", gammas=[0.1, 1.0]),
    "KernelRidge of scikit-learn": lambda: dual("KernelRidge", sklearn.kernel_ridge, kernel="rbf", alpha=0.1),
    "DictionaryLearning": lambda: fit_atoms(transform_algorithm="lasso_lars"),
    "DictionaryLearning, positive": lambda: fit_atoms(transform_algorithm="lasso_cd", **POSITIVE),
    "MiniBatchDictionaryLearning at rest": lambda: best_atoms("MiniBatchDictionaryLearning", "DictionaryLearning"),
    "MiniBatchNMF at rest": best_factors,
    "MiniBatchSparsePCA at rest": lambda: best_atoms("MiniBatchSparsePCA", "SparsePCA", alpha=2.0),
    "SparsePCA": lambda: fit_atoms("SparsePCA", alpha=2.0),
    "NMF": lambda: fit_factors(tol=1e-6),
    "NMF, penalised": lambda: fit_factors(tol=1e-6, alpha_W=0.01, l1_ratio=0.5),
    "NMF, Kullback-Leibler": lambda: fit_factors(tol=1e-3, solver="mu", beta_loss="kullback-leibler"),
    "MLPClassifier": lambda: network("MLPClassifier"),
    "MLPRegressor": lambda: network("MLPRegressor"),
    "MLPClassifier of scikit-learn": lambda: network("MLPClassifier", sklearn.neural_network),
    "SGDClassifier at the optimum": lambda: best_online("SGDClassifier"),
    "SGDRegressor at the optimum": lambda: best_online("SGDRegressor"),
    "MiniBatchKMeans at rest": lambda: best_centres("MiniBatchKMeans"),
    "OnlineKMeans at rest": lambda: best_centres("OnlineKMeans"),
    "BisectingKMeans": fit_bisecting,
    "MultiTaskLassoCV": lambda: several_tasks("MultiTaskLassoCV"),
    "MultiTaskElasticNetCV": lambda: several_tasks("MultiTaskElasticNetCV"),
    "StructuredPerceptron": fit_structured,
}
"""Models of classes that have no row, or whose rows are not certified."""


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_tampered_model_without_a_row_is_not_certified(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X, y = make()
    assert judge(model, X, y).ok
    assert survivors(model, X, y) == []


TIGHT = {"tol": 1e-10, "max_iter": 100_000}
NOT_JUDGED = ("PassiveAggressiveClassifier", "PassiveAggressiveRegressor")
"""Whose steps solve no problem of all samples: certify refuses the class."""
NOT_CERTIFIED = ("SGDClassifier", "SGDRegressor", "SGDOneClassSVM", "IncrementalPCA")
"""Whose steps end near the optimum, or which is near to the components of all samples: nothing to tamper with."""
THEIRS = [
    row
    for row in ROWS
    if row.peer and row.name not in NOT_JUDGED + NOT_CERTIFIED and row.id != "LassoLars(alpha=0.1,positive=True)"
]
"""Rows at which scikit-learn's class is certified: not where its path of one sign ends before the optimum."""


@pytest.mark.once_a_class
@pytest.mark.parametrize("row", THEIRS, ids=lambda row: row.id)
def test_tampered_model_of_scikit_learn_is_not_certified(row):
    """Of scikit-learn's class with the same settings, fitted tightly."""
    X, y, _ = row.data()
    model = row.make_sklearn()
    known = model.get_params()
    tight = {"tol": min(TIGHT["tol"], known["tol"] or 1.0), "max_iter": TIGHT["max_iter"]} if "tol" in known else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(**{name: value for name, value in tight.items() if name in known}).fit(X, y)
    assert judge(model, X, y).ok
    assert survivors(model, X, y) == []


@pytest.mark.parametrize("symmetry", SYMMETRIES.values(), ids=SYMMETRIES)
def test_joint_move_of_a_symmetry_keeps_the_verdict(symmetry):
    X, y = symmetry.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = symmetry.make().fit(X, y)
    assert judge(model, X, y).ok
    assert judge(move(model, symmetry.moves), X, y).ok


@pytest.mark.parametrize("symmetry", SYMMETRIES.values(), ids=SYMMETRIES)
def test_move_of_one_array_alone_is_not_certified(symmetry):
    X, y = symmetry.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = symmetry.make().fit(X, y)
    for name, worse in move_alone(model, symmetry):
        certificate = judge(worse, X, y)
        assert certificate is None or not certificate.ok, name
