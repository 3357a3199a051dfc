"""Every estimator is saved in a file of data, and predicts from it to the bit."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import tenfold
from saved import BAYES, MODELS, PIPELINES, Saved, answers, same


@pytest.fixture(params=[*MODELS, *PIPELINES], ids=lambda saved: saved.id)
def saved(request: pytest.FixtureRequest) -> Saved:
    return request.param


@pytest.mark.filterwarnings("ignore")
def test_a_model_from_a_file_answers_to_the_bit(saved, tmp_path):
    model, X = saved.make()
    tenfold.save(model, tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    assert type(loaded) is type(model)
    assert same(loaded.get_params(), model.get_params())
    assert vars(loaded).keys() == vars(model).keys()
    assert same(answers(loaded, X), answers(model, X))
    if hasattr(model, "certificate_"):
        assert same(loaded.certificate_, model.certificate_)
        assert loaded.certificate_.explain() == model.certificate_.explain()
    tenfold.save(loaded, tmp_path / "again.tenfold")
    assert (tmp_path / "again.tenfold").read_bytes() == (tmp_path / "model.tenfold").read_bytes()


def is_estimator(name: str) -> bool:
    result = getattr(tenfold, name)
    return isinstance(result, type) and issubclass(result, BaseEstimator)


PUBLIC = set(filter(is_estimator, tenfold.__all__))


def test_every_public_estimator_is_tried():
    tried = {saved.name for saved in MODELS}
    assert PUBLIC - tried == {BAYES.name}
    modules = [getattr(tenfold, name) for name in tenfold._MODULES]
    named = [getattr(module, name) for module in modules for name in getattr(module, "__all__", ())]
    within = {one.__name__ for one in named if isinstance(one, type) and issubclass(one, BaseEstimator)}
    assert within - tried == {"Search"}  # of which the best model is saved


def test_densities_that_are_no_data_raise(tmp_path):
    X, y, _ = BAYES.data()
    with pytest.raises(ValueError, match=r"parameter 'densities' of BayesClassifier\[0\] is a scipy.stats"):
        tenfold.save(BAYES.make().fit(X, y), tmp_path / "model.tenfold")


@pytest.mark.parametrize("name", sorted(PUBLIC - {BAYES.name}))
def test_a_model_that_is_not_fitted_is_kept(name, tmp_path):
    cls = getattr(tenfold, name)
    model = cls(np.eye(3)) if name == "SparseCoder" else cls()
    tenfold.save(model, tmp_path / "model")
    loaded = tenfold.load(tmp_path / "model")
    assert type(loaded) is cls
    assert same(loaded.get_params(), model.get_params())
    assert vars(loaded).keys() == vars(model).keys()


@pytest.mark.filterwarnings("ignore")
def test_pickle_keeps_the_bits(saved):
    model, X = saved.make()
    assert same(answers(pickle.loads(pickle.dumps(model)), X), answers(model, X))


LIBRARIES = ("tenfold", "numpy", "scipy", "sklearn")
"""Whose types are trusted here, because this process made them."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("saved", MODELS[:: max(1, len(MODELS) // 12)], ids=lambda saved: saved.id)
def test_skops_keeps_the_bits(saved):
    from skops.io import dumps, get_untrusted_types, loads

    model, X = saved.make()
    file = dumps(model)
    unknown = get_untrusted_types(data=file)
    assert all(name.partition(".")[0] in LIBRARIES for name in unknown)
    assert same(answers(loads(file, trusted=unknown), X), answers(model, X))


def test_certify_judges_a_model_from_a_file(tmp_path):
    X = np.random.default_rng(0).standard_normal((50, 3))
    y = X @ [1.0, 2.0, 3.0]
    tenfold.save(tenfold.Ridge().fit(X, y), tmp_path / "model")
    loaded = tenfold.load(tmp_path / "model")
    assert tenfold.certify(loaded, X, y).ok
    loaded.coef_ = loaded.coef_ + 1e-3
    assert not tenfold.certify(loaded, X, y).ok
