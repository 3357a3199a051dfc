"""What a notebook, a debugger and tab completion ask of fitted estimators: display, dir and members."""

import copy
import inspect
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.metaestimators import available_if

import tenfold
from estimators import TABLE, classes, fitted
from tenfold.decide import Calibrator, DecisionClassifier
from tenfold.inference import NoInferenceError
from tenfold.judge.certificate import RULES, Certificate

VOID = ("br", "hr", "img", "input", "meta", "link", "path", "circle")


every_row = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)


class Balanced(HTMLParser):
    """Checks that every element is closed where it should be, and keeps the text and the attributes."""

    def __init__(self, source):
        super().__init__()
        self.open, self.text, self.attributes = [], [], []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    @property
    def words(self):
        return " ".join("".join(self.text).split())


def check_shown(model):
    """Everything that looks at all attributes of `model` works, and agrees with hasattr."""
    listed = dir(model)
    assert listed == sorted(set(listed))
    members = dict(inspect.getmembers(model))
    assert [name for name in listed if not name.startswith("__") and name not in members] == []
    assert model._repr_html_()
    assert model._repr_mimebundle_()["text/plain"]
    assert repr(model) == str(model)
    with sklearn.config_context(display="text"):
        assert model._repr_mimebundle_()


@every_row
def test_a_fitted_estimator_is_shown(row):
    check_shown(fitted(row))


@pytest.mark.parametrize("model", [Calibrator(), DecisionClassifier(tenfold.LogisticRegression())], ids=str)
def test_a_fitted_estimator_that_decides_is_shown(model):
    check_shown(clone(model).fit(*classes()[:2]))


@every_row
def test_a_fitted_pipeline_is_shown(row):
    X, y, _ = row.data()
    # scikit-learn's pipeline reads no y of unsupervised steps
    check_shown(make_pipeline(FunctionTransformer(), row.make()).fit(X, y))


@pytest.mark.parametrize("row", [row for row in TABLE if hasattr(row.cls, "inference_")], ids=lambda row: row.id)
def test_inference_is_there_or_has_a_reason(row):
    model = fitted(row)
    if hasattr(model, "inference_"):
        assert "inference_" in dir(model)
        assert model.summary()
        return
    assert "inference_" not in dir(model)
    assert getattr(model, "inference_", None) is None
    with pytest.raises(NoInferenceError) as error:
        _ = model.inference_
    assert isinstance(error.value, AttributeError)
    assert isinstance(error.value, ValueError)
    assert str(error.value).endswith(".")
    with pytest.raises(ValueError, match=str(error.value)[:30]):
        model.summary()
    again = pickle.loads(pickle.dumps(error.value))
    assert (type(again), str(again)) == (NoInferenceError, str(error.value))


def test_a_model_without_inference_is_copied_and_pickled():
    model = tenfold.LogisticRegression().fit(*classes()[:2])
    for again in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        check_shown(again)
        with pytest.raises(NoInferenceError, match="penalised"):
            _ = again.inference_


def test_a_method_that_asks_for_inference_is_not_available_without():
    class Holder:
        def __init__(self, model):
            self.model = model

        @available_if(lambda self: hasattr(self.model, "inference_"))
        def table(self):
            return self.model.summary()

    X, y, _ = classes()
    assert not hasattr(Holder(tenfold.LogisticRegression().fit(X, y)), "table")
    assert Holder(tenfold.LogisticRegression(C=np.inf).fit(X, y)).table()


def certificate(**changes):
    known = {"kind": "gap", "value": 1e-9, "scale": 1.0, "tol": 1e-6, "floor": 1e-12, "objective": 0.25}
    return Certificate(**{**known, **changes})


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("value", [1e-13, 1e3, np.nan])
def test_html_of_a_certificate_equals_its_explanation(kind, value):
    shown = certificate(kind=kind, value=value)
    page = Balanced(shown._repr_html_())
    assert " ".join(shown.explain().split()) in page.words
    assert ("NOT OK" in page.words) is (not shown.ok)
    assert f"{shown.allowed:.3g}" in page.words


def test_a_certificate_in_html_escapes_and_loads_nothing():
    source = certificate(note="<script>alert('&')</script>", status="<b>")._repr_html_()
    page = Balanced(source)
    assert "<script" not in source
    assert "<b>" not in source
    assert "<script>alert('&')</script>" in page.words
    assert not [value for name, value in page.attributes if name in ("src", "href", "onclick")]
    assert "url(" not in source
    assert "http" not in source


def test_a_certificate_in_html_has_the_optional_numbers_where_they_are_known():
    bare = Balanced(certificate()._repr_html_()).words
    assert "lower bound" not in bare
    full = Balanced(certificate(lower_bound=0.125, radius=0.5, condition=32.0, parts=(0.1, 0.2))._repr_html_()).words
    for words in ("lower bound", "0.125", "radius", "0.5", "condition", "32"):
        assert words in full


def test_every_certificate_of_a_fit_has_html():
    X, y, _ = classes()
    for model in (tenfold.LogisticRegression(), tenfold.SGDClassifier(random_state=0), tenfold.GaussianNB()):
        result = model.fit(X, y).certificate_
        assert result.kind in Balanced(result._repr_html_()).words
