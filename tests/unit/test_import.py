"""What importing the package costs, and what its public names are."""

import importlib.util
import json
import subprocess
import sys
from functools import cache

import pytest

import tenfold


@cache
def modules_after(statement: str) -> frozenset[str]:
    """The modules of a fresh interpreter after `statement`."""
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return frozenset(json.loads(answer.stdout))


def test_import_of_the_package_loads_nothing_heavy():
    roots = {name.partition(".")[0] for name in modules_after("import tenfold")}
    assert "tenfold" in roots
    assert not roots & {
        "numpy",
        "scipy",
        "sklearn",
        "joblib",
        "threadpoolctl",
        "array_api_compat",
        "pandas",
        "matplotlib",
    }


@pytest.mark.parametrize("name", ["Ridge", "LogisticRegression", "certify"])
def test_import_of_a_name_adds_no_module_beyond_those_of_scikit_learn(name):
    added = modules_after(f"from tenfold import {name}") - modules_after("import sklearn.linear_model")
    assert "tenfold" in added
    assert {module for module in added if module.partition(".")[0] != "tenfold"} == set()


def test_certify_imports_no_family_before_it_judges_one():
    families = {name.split(".")[2] for name in modules_after("from tenfold import certify") if name.count(".") > 2}
    judged = "import numpy as np; from sklearn.linear_model import Ridge; from tenfold import certify; X = np.eye(3); "
    judged += "certify(Ridge().fit(X, X[0]), X, X[0])"
    assert not families & {"least_squares", "lasso", "glm", "neighbours"}
    after = modules_after(judged)
    assert "tenfold.estimators.least_squares.ridge" in after
    assert not {"tenfold.estimators.lasso", "tenfold.estimators.neighbours", "tenfold.certification.glm"} & after


def test_a_fit_on_numpy_imports_no_dask():
    fit = (
        "import numpy as np; from tenfold import *; X = np.eye(9); y = X[:, 0]; model = Ridge().fit(X, y); "
        "model.score(X, y); certify(model, X, y); LogisticRegression().fit(X, y > 0).predict(X)"
    )
    assert not {name.partition(".")[0] for name in modules_after(fit)} & {"dask", "distributed"}


def test_every_public_name_resolves():
    assert len(set(tenfold.__all__)) == len(tenfold.__all__)
    for name in tenfold.__all__:
        thing = getattr(tenfold, name)
        assert thing.__name__ == name
        assert thing.__doc__
        assert name in dir(tenfold)


@pytest.mark.parametrize("name", tenfold.__all__)
def test_no_module_can_take_the_place_of_a_public_name(name):
    # importing a module binds it in its package, so a module called `certify` would hide the function
    assert importlib.util.find_spec(f"tenfold.{name}") is None


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Rigde"):
        _ = tenfold.Rigde
    with pytest.raises(ImportError, match="Rigde"):
        from tenfold import Rigde  # noqa: F401
