"""What a class says of itself is true and feeds everything else; a class that is added as CONTRIBUTING says is known
everywhere.
"""

import re
import sys
import textwrap
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import sklearn.linear_model
from sklearn.utils.discovery import all_estimators

import tenfold
from tenfold.certification import find_registration, load_function
from tenfold.estimators.registration import Registration, list_registered, registration_of
from tenfold.judge.certificate import RULES

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import methods_table  # noqa: E402
import public_names  # noqa: E402

TEXT = re.compile(r"[SRBWC] ?[A-Z0-9][.0-9]*(-[0-9]+)?")
PEERS = dict(all_estimators())


def test_the_public_names_are_those_of_now():
    page = (ROOT / "src" / "tenfold" / "__init__.py").read_text(encoding="utf-8")
    assert public_names.place_names(page) == page, "run: make tables"


@pytest.mark.parametrize("name", tenfold.ESTIMATORS)
class TestRegistration:
    def test_names_functions_of_certify(self, name):
        said = getattr(tenfold, name)._registration
        for function in (said.judge, said.outputs, said.choice):
            assert not function or callable(load_function(function))

    def test_names_the_counterpart_of_the_same_name(self, name):
        """Where scikit-learn has a class of this name, it is the one that is meant."""
        assert getattr(tenfold, name)._registration.peer_class(name) is PEERS.get(name)

    def test_has_values_that_are_known(self, name):
        said = getattr(tenfold, name)._registration
        assert isinstance(said, Registration)
        assert said.method
        assert all(TEXT.fullmatch(text) for text in said.texts)
        assert {*said.certificate} <= {*RULES}
        assert said.reads
        assert said.where
        assert bool(said.instead) == (len(said.where) < 5)

    def test_tuning_names_parameters_of_the_class_of_one_candidate(self, name):
        """A class that ends in CV says how it selects, so that searches and leaderboards let it."""
        tuning = getattr(tenfold, name)._registration.tuning
        assert (tuning is not None) == name.endswith("CV")
        if tuning is not None and tuning.single:
            parameters = getattr(tenfold, tuning.single)().get_params()
            assert {*tuning.selected} == {*tuning.candidates} <= {*parameters}

    def test_path_names_parameters_of_both_classes(self, name):
        path = getattr(tenfold, name)._registration.path
        if path is not None:
            assert {path.parameter, *path.listed} <= {*getattr(tenfold, name)().get_params()}
            parameters = getattr(tenfold, path.cv_class)().get_params()
            assert {path.values, "cv", *path.settings, *path.listed.values()} <= {*parameters}

    def test_belongs_to_the_class_alone(self, name):
        ours = getattr(tenfold, name)
        assert find_registration(ours) is ours._registration
        assert find_registration(type(name, (ours,), {})) is None
        if peer := PEERS.get(name):
            assert find_registration(peer) is ours._registration
            assert find_registration(type(name, (peer,), {})) is None


def test_a_class_of_the_same_name_is_not_judged():
    """What another library calls Ridge is another method, whatever its module says."""
    other = type("Ridge", (sklearn.linear_model.LinearRegression,), {"__module__": "sklearn.linear_model"})
    X = np.eye(4)
    with pytest.raises(TypeError, match=r"certify cannot judge sklearn\.linear_model\.Ridge"):
        tenfold.certify(other().fit(X, X[:, 0]), X, X[:, 0])


def walk():
    """The modules that CONTRIBUTING writes, by their paths within the package."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^   ```python\n(.*?)^   ```$", page, re.DOTALL | re.MULTILINE)
    result = {}
    for block in map(textwrap.dedent, blocks):
        first, _, code = block.partition("\n")
        path = re.fullmatch(r"# src/tenfold/(\w+)/(\w+)\.py", first)
        assert path
        result[path.group(1), path.group(2)] = code
    return result


@pytest.fixture
def added(tmp_path, monkeypatch):
    """The package with the class of CONTRIBUTING, its names written anew."""
    written = walk()
    assert {package for package, _ in written} == {"judge", "plans", "estimators", "certification"}
    for (package, name), code in written.items():
        folder = tmp_path / package
        folder.mkdir()
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
        home = import_module(f"tenfold.{package}")
        monkeypatch.setattr(home, "__path__", [*home.__path__, str(folder)])
        monkeypatch.delattr(home, name, raising=False)
    names = {}
    page = (ROOT / "src" / "tenfold" / "__init__.py").read_text(encoding="utf-8")
    exec(public_names.place_names(page), names)
    monkeypatch.setattr(tenfold, "ESTIMATORS", names["ESTIMATORS"])
    monkeypatch.setattr(tenfold, "__all__", names["__all__"])
    caches = [import_module("tenfold.persist.models").class_of, import_module("tenfold.persist.models").schema_of]
    caches.append(import_module("tenfold.cli.candidates").leaderboard_classes)
    for cache in caches:
        cache.cache_clear()
    yield tenfold.MeanRegressor
    for cache in caches:
        cache.cache_clear()
    vars(tenfold).pop("MeanRegressor", None)
    for package, name in written:
        sys.modules.pop(f"tenfold.{package}.{name}", None)
        vars(import_module(f"tenfold.{package}")).pop(name, None)


def test_class_of_contributing_is_registered_everywhere(added, tmp_path):
    from tenfold.cli.candidates import select_models

    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((40, 3)), 5.0 + rng.standard_normal(40), rng.integers(0, 3, 40)
    assert "MeanRegressor" in tenfold.__all__
    assert list_registered()["MeanRegressor"] is added
    model = added().fit(X, y, sample_weight=weight)
    assert model.mean_ == pytest.approx(np.average(y, weights=weight), rel=1e-14)
    assert model.certificate_.ok
    assert tenfold.certify(model, X, y, weight).ok
    # from files
    (tmp_path / "some.csv").write_text("a,b,y\n1,2,3\n4,5,7\n", encoding="utf-8")
    rows = tenfold.rows(tmp_path / "some.csv", target="y")
    assert added().fit(rows).predict(rows).tolist() == [5.0, 5.0]
    # saved and loaded
    tenfold.save(model, tmp_path / "mean.tenfold")
    again = tenfold.load(tmp_path / "mean.tenfold")
    assert type(again) is added
    assert again.predict(X).tolist() == model.predict(X).tolist()
    # on the leaderboard, and in the tables
    assert "mean" in [line.name for line in select_models("regression", "fast", y, X.shape, 0)[0]]
    assert "| `MeanRegressor` | Mean of the targets | one pass | exact |" in methods_table.table()
    # tampered
    model.mean_ += 1e-3
    assert not tenfold.certify(model, X, y, weight).ok


def test_the_walk_registers_nothing_that_stays():
    assert "MeanRegressor" not in tenfold.ESTIMATORS
    assert registration_of(tenfold.Ridge) is tenfold.Ridge._registration
