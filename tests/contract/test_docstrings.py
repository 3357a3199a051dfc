"""Docstrings of the public names: complete where they stand, and true to the signatures and to fitted models."""

import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import tenfold
from estimators import fitted, regression
from saved import BAYES, MODELS
from tenfold.judge.certificate import RULES

MODULES = ("bounds", "datasets", "decide", "persist", "plots", "selection")

PUBLIC = {name: getattr(tenfold, name) for name in tenfold.__all__} | {
    f"{module}.{name}": value
    for module in MODULES
    for name in getattr(tenfold, module).__all__
    if callable(value := getattr(getattr(tenfold, module), name)) and name not in tenfold.__all__
}
CLASSES = [name for name, value in PUBLIC.items() if inspect.isclass(value) and not issubclass(value, Exception)]
ESTIMATORS = [name for name in CLASSES if hasattr(PUBLIC[name], "get_params")]
RECORDS = [name for name in CLASSES if name not in ESTIMATORS]
FUNCTIONS = [name for name, value in PUBLIC.items() if not inspect.isclass(value)]

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "References", "Examples", "See Also")

EVERYWHERE = {"n_features_in_", "feature_names_in_"}
"""Attributes that scikit-learn's contract adds in fit; the second only where features have names."""


class Entry(NamedTuple):
    """``name, other : kind, default=value`` and the indented text beneath it."""

    names: tuple[str, ...]
    kind: str
    default: str | None
    text: str


def sections(doc: str) -> dict[str, list[str]]:
    """Lines of each section by its title; those before the first title have the title ""."""
    lines = inspect.cleandoc(doc).splitlines()
    parts: dict[str, list[str]] = {"": []}
    title = ""
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line in SECTIONS and set(below) == {"-"}:
            title = line
            parts[title] = []
        elif not (set(line) == {"-"} and lines[number - 1] in SECTIONS):
            parts[title].append(line)
    return parts


def entries(lines: list[str]) -> list[Entry]:
    """Entries of a section of parameters or attributes."""
    parsed: list[Entry] = []
    for line in lines:
        if line.startswith(" ") and parsed:
            last = parsed[-1]
            parsed[-1] = last._replace(text=f"{last.text} {line.strip()}".strip())
        elif line.strip():
            names, _, kind = line.partition(" : ")
            kind, _, default = kind.partition("default=")
            parsed.append(
                Entry(tuple(names.split(", ")), kind.strip().rstrip(",").rstrip("."), default.strip() or None, "")
            )
    return parsed


def list_documented(doc: str, title: str) -> dict[str, Entry]:
    """Entries of the section `title` by name."""
    return {name: entry for entry in entries(sections(doc).get(title, [])) for name in entry.names}


def value_of(default: str) -> Any:
    return eval(default, {"np": np, "float": float, "__builtins__": {}})


def parameters_of(obj: Any) -> list[inspect.Parameter]:
    """Parameters of a callable that a docstring has to name."""
    return [each for each in inspect.signature(obj).parameters.values() if each.name not in ("self", "cls")]


def wrong_parameters(obj: Any, doc: str) -> list[str]:
    """What is missing or untrue in the section Parameters of a callable."""
    given = entries(sections(doc).get("Parameters", []))
    names = [name.lstrip("*") for entry in given for name in entry.names]
    expected = [each.name for each in parameters_of(obj)]
    if names != expected:
        return [f"parameters are documented as {names}, the signature has {expected}"]
    by_name = {name.lstrip("*"): entry for entry in given for name in entry.names}
    wrong = []
    for each in parameters_of(obj):
        entry = by_name[each.name]
        if not entry.kind:
            wrong.append(f"{each.name} has no type")
        if not entry.text:
            wrong.append(f"{each.name} has no meaning")
        if each.default is inspect.Parameter.empty:
            if entry.default is not None:
                wrong.append(f"{each.name} has no default, but {entry.default} is stated")
        elif entry.default is None:
            wrong.append(f"{each.name} states no default")
        elif not np.array_equal(value_of(entry.default), each.default):
            wrong.append(f"{each.name} states the default {entry.default}, but it is {each.default!r}")
    return wrong


def list_fitted_names(model: Any) -> set[str]:
    """Public fitted attributes of a model: those that it stores, and properties with such names that it has."""
    round_to_dtype = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    computed = {
        name
        for name, member in inspect.getmembers_static(type(model))
        if isinstance(member, property) and name.endswith("_") and not name.startswith("_")
    }
    return round_to_dtype | computed


def _search() -> Any:
    X, y, _ = regression()
    return tenfold.selection.search(tenfold.Ridge(), {"alpha": [0.1, 1.0]}, X, y, cv=3)


@cache
def models() -> dict[str, list[Any]]:
    """What makes fitted models of each class, by its name."""
    makers: dict[str, list[Any]] = {
        BAYES.name: [lambda: fitted(BAYES)],
        "selection.Search": [_search],  # neither a row of the table nor kept in files: it only finds such models
    }
    for saved in MODELS:
        name = saved.name if saved.name in PUBLIC else f"decide.{saved.name}"
        makers.setdefault(name, []).append(lambda saved=saved: saved.make()[0])
    return makers


@cache
def list_stored_names() -> frozenset[str]:
    """Names of fitted attributes that the code of the package speaks of."""
    files = Path(tenfold.__file__).parent.rglob("*.py")
    return frozenset(name for file in files for name in re.findall(r'(?:\.|def |")(\w+_)\b', file.read_text()))


def own_methods(cls: type) -> dict[str, Any]:
    """Public methods of a class that are written in this package, inherited ones too."""
    methods = {}
    for name, member in inspect.getmembers_static(cls):
        function = inspect.unwrap(getattr(member, "__func__", member))
        if not name.startswith("_") and inspect.isfunction(function) and function.__module__.startswith("tenfold"):
            methods[name] = function
    return methods


def test_parser():
    doc = """Summary.

    Parameters
    ----------
    X : array-like of shape (n, p)
        The samples,
        all of them.
    a, b : float, default=1e-3
        Numbers.

    Returns
    -------
    None
    """
    assert sections(doc)[""][0] == "Summary."
    assert entries(sections(doc)["Parameters"]) == [
        Entry(("X",), "array-like of shape (n, p)", None, "The samples, all of them."),
        Entry(("a", "b"), "float", "1e-3", "Numbers."),
    ]
    assert wrong_parameters(lambda X, a=0.001, b=0.001: None, doc) == []
    assert wrong_parameters(lambda X, b=0.001, a=0.001: None, doc) == [
        "parameters are documented as ['X', 'a', 'b'], the signature has ['X', 'b', 'a']"
    ]
    assert wrong_parameters(lambda X, a=0.1, *, b=0.001: None, doc) == [
        "a states the default 1e-3, but it is 0.1",
    ]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_parameters_of_estimators(name):
    cls = PUBLIC[name]
    assert wrong_parameters(cls, cls.__doc__) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_of_functions(name):
    function = PUBLIC[name]
    assert wrong_parameters(function, function.__doc__) == []
    if inspect.signature(function).return_annotation not in (None, "None"):
        assert "".join(sections(function.__doc__).get("Returns", [])).strip()


@pytest.mark.parametrize("name", RECORDS)
def test_fields_of_records(name):
    cls = PUBLIC[name]
    given = list_documented(cls.__doc__, "Attributes")
    assert [field for field, entry in given.items() if not (entry.kind and entry.text)] == []
    if "Parameters" in sections(cls.__doc__):
        assert wrong_parameters(cls, cls.__doc__) == []
    else:
        fields = [field for field in inspect.signature(cls).parameters if not field.startswith("_")]
        assert list(given)[: len(fields)] == fields


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fitted_attributes(name):
    given = list_documented(PUBLIC[name].__doc__, "Attributes")
    reads_texts = name in ("CountVectorizer", "HashingVectorizer", "TfidfVectorizer")  # which have no features
    everywhere = set() if reads_texts else EVERYWHERE
    expected = everywhere.union(*(list_fitted_names(make()) for make in models()[name]))
    assert sorted(expected - given.keys()) == []
    assert [attribute for attribute, entry in given.items() if not (entry.kind and entry.text)] == []
    assert sorted(given.keys() - list_stored_names() - EVERYWHERE) == []


WITHOUT_CERTIFICATE = (
    # whose inner model has its own
    *("decide.DecisionClassifier", "decide.ConformalClassifier", "decide.ConformalRegressor", "selection.Search"),
    # which solve nothing
    *("TableEncoder", "CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer"),
)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_certificate_and_cost_are_stated(name):
    parts = sections(PUBLIC[name].__doc__)
    if name not in WITHOUT_CERTIFICATE:
        text = list_documented(PUBLIC[name].__doc__, "Attributes")["certificate_"].text
        assert re.match(rf"Kind ({'|'.join(RULES)})\b|Not judged", text)
    assert re.search(r"\b[Rr]uns? (on|wherever)\b", " ".join(parts["Notes"]))
    assert parts[""][0].endswith(".")


@pytest.mark.parametrize("name", CLASSES)
def test_methods(name):
    for method, function in own_methods(PUBLIC[name]).items():
        doc = inspect.getdoc(getattr(PUBLIC[name], method))
        assert doc, method
        missing = [each.name for each in parameters_of(function) if not re.search(rf"\b{re.escape(each.name)}\b", doc)]
        assert missing == [], f"{method} does not say what {missing} are"
        if "Parameters" in sections(doc):
            assert wrong_parameters(function, doc) == [], method
            assert "Returns" in sections(doc) or function.__annotations__.get("return") in (None, "None"), method


def test_no_docstring_refers_to_another():
    """What is documented "as in" another class is a dead end in `help`."""
    dead = re.compile(r"\b[Aa]s (?:in|of) `|\b[Aa]s (?:in|of) [A-Z]\w+(?:CV|Regress|Classif|Neighbors)|: as in ")
    sent = {}
    for name, obj in PUBLIC.items():
        methods = own_methods(obj).values() if inspect.isclass(obj) else ()
        result = [words for one in (obj, *methods) for words in dead.findall(one.__doc__ or "")]
        if result:
            sent[name] = result
    assert sent == {}
