"""The table "what runs where": every cell is tried, and the docs hold the table of now."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from scipy import sparse
from sklearn.base import is_classifier, is_clusterer, is_outlier_detector
from sklearn.utils import get_tags

import tenfold

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from methods_table import place_tables  # noqa: E402

from tenfold.estimators.registration import SOURCES  # noqa: E402

X = np.random.default_rng(0).standard_normal((40, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 * np.random.default_rng(1).standard_normal(40)


def arrays(X, y):
    return X, y


def sparse_rows(X, y):
    return sparse.csr_array(X), y


def files(X, y):
    return tenfold.rows([(X[:15], y[:15]), (X[15:], y[15:])]), None


def dask(X, y):
    array = pytest.importorskip("dask.array")
    return array.from_array(X, chunks=(15, 3)), array.from_array(y, chunks=15)


def devices(X, y):
    strict = pytest.importorskip("array_api_strict")
    return strict.asarray(X), strict.asarray(y)


PLACES = {"arrays": arrays, "sparse": sparse_rows, "files": files, "Dask": dask, "devices": devices}


def test_every_source_is_tried():
    assert list(PLACES) == list(SOURCES)


def check_sequences(model, given, target, y):
    """A class that takes lists of sequences: the rows are two of them, or all tokens where it does not claim so."""
    if get_tags(model).input_tags.string:  # sequences of words, which are lists
        given = [[str(v > 0.0) for v in row] for row in np.asarray(given)] if isinstance(given, np.ndarray) else given
        if not isinstance(given, list):
            with pytest.raises(TypeError, match=f"{type(model).__name__} does not read"):
                model.fit(given, target)
            return
        target = (np.asarray(y) > 0.0).astype(int)
        assert model.fit(given, target).certificate_.ok
        assert tenfold.certify(model, given, target).ok
        return
    if isinstance(given, (np.ndarray, sparse.csr_array)):
        given, target = [given[:15], given[15:]], [y[:15], y[15:]]
        assert np.concatenate(model.fit(given, target).predict(given)).shape == y.shape
        assert model.score(given, target) > 0.9
        assert tenfold.certify(model, given, target) == model.certificate_
        return
    with pytest.raises(TypeError, match=f"{type(model).__name__} does not read"):
        model.fit(given, target)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", tenfold.ESTIMATORS)
def test_a_cell_of_the_table(name, source):
    """A class fits, predicts and scores from a source if and only if it claims so."""
    cls = getattr(tenfold, name)
    needed = {"dictionary": np.eye(3)} if name == "SparseCoder" else {}
    # rows in blocks are shuffled within them, and the intercept of sparse rows is slowed down
    fixed = {"shuffle": False, "fit_intercept": False} if cls._registration.reads == ("in order",) else {}
    fixed = {key: value for key, value in fixed.items() if key in cls(**needed).get_params()}
    if name == "LogisticRegressionCV":  # its defaults warn that they will change, as scikit-learn's do
        fixed = {"l1_ratios": (0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
    if name == "LinearSVR":  # the one without kinks is read everywhere
        fixed = {"loss": "squared_epsilon_insensitive"}
    if name == "MDS":  # likewise
        fixed = {"init": "classical_mds"}
    if name == "FastICA":  # Gaussian samples have no independent components
        fixed = {"n_components": 1}
    if name == "Nystroem":  # of more centres than samples it warns
        fixed = {"n_components": 20}
    if name == "SkewedChi2Sampler":  # entries must be above -skewedness
        fixed = {"skewedness": 5.0}
    if name == "MiniBatchNMF":  # so few samples do not come to rest, of which scikit-learn's class warns, too
        fixed = {"tol": 0.0}
    if name == "BayesClassifier":
        fixed = {"densities": tuple(scipy.stats.multivariate_normal(np.full(3, m)) for m in (-0.5, 0.5))}
    if ".cross_decomposition" in cls.__module__:  # there is one target, and a view of one column
        fixed = {"n_components": 1}
    if is_clusterer(cls(**needed)) or name.startswith(("PrototypeClassifier", "RandomKitchenSinks")):
        # other seeds lead to other fits
        fixed = {"random_state": 0} if "random_state" in cls(**needed).get_params() else {}
    if ".mlp." in cls.__module__:  # by epochs, until they end by themselves
        fixed = {"learning_rate_init": 0.02, "tol": 1e-3, "max_iter": 1000, "shuffle": False, "random_state": 0}
    model = cls(**needed, **fixed)
    y = (Y > 0).astype(np.int64) if is_classifier(model) or is_outlier_detector(model) else Y
    x = np.floor(np.abs(3.0 * X)) if get_tags(model).input_tags.positive_only else X
    if model._registration.certificate == ("count",):
        y = (X @ [1.0, -2.0, 0.5] > 0).astype(np.int64)  # classes that can be separated
    if not get_tags(model).target_tags.single_output:
        y = np.column_stack([Y, X[:, 0] - Y])
    y = np.exp(0.3 * Y) if get_tags(model).target_tags.positive_only else y
    given, target = PLACES[source](x, y)
    if get_tags(model).input_tags.one_d_array:  # the first feature alone
        x = x[:, :1]
        given, target = PLACES[source](x, y)
    elif not get_tags(model).input_tags.two_d_array:
        check_sequences(model, given, target, y)
        return
    if source not in model._registration.where:
        with pytest.raises(TypeError, match=f"{name} does not read"):
            model.fit(given, target)
        assert not hasattr(model, "n_features_in_")
        return
    model.fit(given, target)
    if hasattr(model, "transform") and not hasattr(model, "predict"):
        assert tuple(model.transform(given).shape) == (len(X), len(model.get_feature_names_out()))
    elif hasattr(model, "score_samples") and not hasattr(model, "predict"):
        assert model.score_samples(given).shape == (len(X),)
    elif hasattr(model, "embedding_") and not hasattr(model, "predict"):
        assert len(model.embedding_) == len(X)
    elif hasattr(model, "mahalanobis"):
        assert model.mahalanobis(given).shape == (len(X),)
    elif hasattr(model, "labels_") and not hasattr(model, "predict"):
        assert len(model.labels_) == len(X)
    elif not hasattr(model, "predict"):
        assert model.kneighbors(given)[1].shape == (len(X), model.n_neighbors)
    else:
        assert tuple(model.predict(given).shape) == y.shape
    if hasattr(model, "score") and hasattr(model, "predict"):
        assert model.score(given, target) == pytest.approx(cls(**fixed).fit(x, y).score(x, y), abs=0.03)
    if model.certificate_.status != "not judged":
        assert model.certificate_.ok
        assert tenfold.certify(model, given, target).ok


def test_the_page_of_methods_holds_the_tables_of_now():
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    assert place_tables(page) == page, "run: python tools/methods_table.py docs/methods.md"
