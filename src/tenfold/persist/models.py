"""Serialisation of objects: estimators by their parameters and fitted attributes, records by their fields.

Classes come from tables of this package; no name of the file is imported.
"""

import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

import tenfold
from tenfold.estimators.parameters import check_parameters
from tenfold.estimators.registration import registration_of
from tenfold.estimators.schema import Schema, find_violation
from tenfold.persist.errors import LoadError, SaveError
from tenfold.persist.records import BUILT, FUNCTIONS, RECORDS
from tenfold.persist.schema_decide import DECISIONS
from tenfold.persist.schema_features import TABLES
from tenfold.persist.schema_gaussian_process import PROCESSES
from tenfold.persist.schema_kernels import checks_of, kernel_class, name_of_kernel
from tenfold.persist.schema_sklearn import TRANSFORMERS
from tenfold.persist.schema_tenfold import schema_of_class
from tenfold.persist.values import Reader, Writer

VECTORISERS = ("CountVectorizer", "HashingVectorizer", "TfidfTransformer", "TfidfVectorizer")
"""Classes of ours that keep what those of the same name in scikit-learn do."""

# our classes that are not exported by `tenfold` itself: their modules and schemas
MODULES: dict[str, tuple[str, Schema]] = {
    **{name: ("tenfold.features", schema) for name, schema in TABLES.items()},
    **{name: ("tenfold.features", TRANSFORMERS[name][1]) for name in TRANSFORMERS if name in VECTORISERS},
    **{name: ("tenfold.decide", schema) for name, schema in DECISIONS.items()},
    **{name: ("tenfold.estimators.gaussian_process.binary", schema) for name, schema in PROCESSES.items()},
}

ROUTING = "_metadata_request"
WRONG = (ValueError, TypeError, AttributeError, LookupError)  # exceptions of attributes that do not fit together


@cache
def class_of(name: str) -> Any:
    """The class of a name in the file, or None."""
    library, _, short = name.partition(".")
    if library == "tenfold" and short in MODULES:
        return getattr(import_module(MODULES[short][0]), short)
    if library == "tenfold" and short in tenfold.__all__:
        cls = getattr(tenfold, short)
        return cls if isinstance(cls, type) and issubclass(cls, BaseEstimator) else None
    if library == "sklearn" and short in TRANSFORMERS:
        return getattr(import_module(TRANSFORMERS[short][0]), short)
    return None


@cache
def schema_of(name: str) -> Schema:
    """The schema of a fitted model of this class."""
    library, _, short = name.partition(".")
    if library == "sklearn":
        return TRANSFORMERS[short][1]
    return MODULES[short][1] if short in MODULES else schema_of_class(registration_of(class_of(name)))


def _name_of(value: Any) -> str:
    """The name in the file of an estimator's class, or an empty string."""
    cls = type(value)
    name = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
    return name if class_of(name) is cls else ""


def find_fault(name: str, model: Any, attributes: Mapping[str, Any]) -> str:
    """A sentence on what is wrong with a fitted model; empty where nothing is."""
    schema = schema_of(name)
    reason = find_violation(schema.attributes, attributes, {}, whole=False)
    if reason:
        return reason
    if not attributes and name.startswith("tenfold."):
        return ""  # not fitted yet: fit checks the parameters
    try:
        _check_parameters(name, model)
        fitted = any(key not in ("n_features_in_", "feature_names_in_", "_sklearn_output_config") for key in attributes)
        for words, rule in schema.rules.items() if fitted else ():
            if not rule(model):
                return words
    except WRONG as wrong:
        return str(wrong)
    return ""


def _check_parameters(name: str, model: Any) -> None:
    """Raise for invalid parameters: some of scikit-learn's transformers pass them to C unchecked."""
    if name.startswith("tenfold."):
        check_parameters(model, getattr(model, "_constraints", {}))
    elif hasattr(model, "_parameter_constraints"):
        model._validate_params()


def write(writer: Writer, value: Any, where: str) -> Any:
    """An object as JSON."""
    name = type(value).__name__
    if isinstance(value, BaseEstimator):
        return {"model": _write_model(writer, value, where)}
    if name in RECORDS and type(value) is RECORDS[name].resolve(name):
        parts = {part: writer.write(getattr(value, part), f"{where}.{part}") for part in RECORDS[name].parts}
        return {"record": [name, parts]}
    if name in BUILT and type(value) is getattr(import_module(BUILT[name][0]), name):
        parts = {part: writer.write(getattr(value, part), f"{where}.{part}") for part in BUILT[name][1]}
        return {"built": [name, parts]}
    if kernel_name := name_of_kernel(value):
        parameters = _write_all(writer, value.get_params(deep=False), "parameter", name)
        return {"kernel": [kernel_name, parameters]}
    function = getattr(value, "__name__", "")
    if function in FUNCTIONS and getattr(import_module(FUNCTIONS[function]), function) is value:
        return {"function": function}
    if callable(value):
        raise SaveError(
            f"{where} is {value!r}, a function: a file of data has none. Give a name in place of it where the "
            "parameter takes one; else keep the model with pickle, among people whom you trust."
        )
    raise SaveError(
        f"{where} is a {type(value).__module__}.{name}, which is not kept: values are numbers, strings, arrays, and "
        f"lists and dicts of them. Models are those of tenfold and {', '.join(sorted(TRANSFORMERS))} of scikit-learn."
    )


def _write_model(writer: Writer, model: Any, where: str) -> dict[str, Any]:
    name = _name_of(model)
    short = type(model).__name__
    if not name:
        instead = "Save its best_estimator_" if hasattr(model, "best_estimator_") else "Leave it out"
        raise SaveError(
            f"{where} is a {type(model).__module__}.{short}, which is not kept. Those of tenfold are, and of "
            f"scikit-learn {', '.join(sorted(TRANSFORMERS))}. {instead}, or use pickle among people whom you trust."
        )
    parameters = model.get_params(deep=False)
    derived = schema_of(name).derived
    attributes = {
        key: value
        for key, value in vars(model).items()
        if key not in parameters and key not in derived and key != ROUTING
    }
    reason = find_fault(name, model, attributes)
    if reason:
        raise SaveError(f"{where} is a {short} that could not be loaded again: {reason}.")
    return {
        "class": name,
        "parameters": _write_all(writer, parameters, "parameter", short),
        "attributes": _write_all(writer, attributes, "attribute", short),
        "routing": _routing(writer, model),
    }


def _write_all(writer: Writer, values: Mapping[str, Any], what: str, short: str) -> dict[str, Any]:
    return {key: writer.write(value, f"the {what} {key!r} of {short}") for key, value in values.items()}


def _routing(writer: Writer, model: Any) -> Any:
    """Metadata routing, as set by `set_fit_request` and the like."""
    if ROUTING not in vars(model):
        return {}
    requests_by_method = {}
    for method, request in vars(getattr(model, ROUTING)).items():
        requests = getattr(request, "requests", None)
        if requests:
            requests_by_method[method] = {
                key: writer.write(value, f"the routing of {key!r}") for key, value in requests.items()
            }
    return requests_by_method


class Instances:
    """Builds objects from JSON; `version` is the version of scikit-learn that wrote the file."""

    def __init__(self, version: str, ours: str) -> None:
        self._version = version
        self._here = ours
        self._warned = False

    def table(self) -> dict[str, Any]:
        return {
            "model": self._model,
            "record": self._record,
            "built": self._built,
            "kernel": self._kernel,
            "function": self._function,
        }

    def _model(self, reader: Reader, given: Any, depth: int) -> Any:
        name, parameters, attributes, routing = _parts(given, "class", "parameters", "attributes", "routing")
        cls = class_of(name) if type(name) is str else None
        if cls is None:
            raise LoadError(
                f"The file has a model of the class {name!r}, which is not loaded. Those of tenfold are, and of "
                f"scikit-learn {', '.join(sorted(TRANSFORMERS))}."
            )
        short = cls.__name__
        if name.startswith("sklearn."):
            self._compare_versions(short)
        model = self._construct(cls, {key: reader.read(value, depth) for key, value in _items(parameters)}, short)
        fitted = {key: reader.read(value, depth) for key, value in _items(attributes)}
        schema = schema_of(name)
        if unknown := sorted(set(fitted) - set(schema.attributes)):
            raise LoadError(f"{short} has no attribute {unknown[0]!r}.")
        vars(model).update(fitted)
        reason = find_fault(name, model, fitted)
        if reason:
            raise LoadError(f"The {short} of the file is not one that can be used: {reason}.")
        if fitted:
            self._derive(model, schema, short)
        for method, requests in _items(routing):
            self._route(model, method, {key: reader.read(value, depth) for key, value in _items(requests)})
        return model

    def _construct(self, cls: Any, parameters: dict[str, Any], short: str) -> Any:
        known = cls._get_param_names()
        if unknown := sorted(set(parameters) - set(known)):
            raise LoadError(f"{short} has no parameter {unknown[0]!r}.")
        try:
            return cls(**parameters)
        except (TypeError, ValueError) as reason:
            raise LoadError(f"{short} cannot be made with the parameters of the file: {reason}") from reason

    def _derive(self, model: Any, schema: Schema, short: str) -> None:
        for name, make in schema.derived.items():
            try:
                setattr(model, name, make(model))
            except (*WRONG, ArithmeticError, MemoryError) as reason:
                raise LoadError(f"The {short} of the file cannot be made ready: {reason}") from reason

    def _route(self, model: Any, method: str, requests: dict[str, Any]) -> None:
        short = type(model).__name__
        setter = getattr(model, f"set_{method}_request", None)
        if setter is None:
            raise LoadError(f"{short} has no method {method!r} that anything is routed to.")
        with config_context(enable_metadata_routing=True):
            try:
                setter(**requests)
            except (TypeError, ValueError) as reason:
                raise LoadError(f"What is routed to {short}.{method} cannot be: {reason}") from reason

    def _compare_versions(self, short: str) -> None:
        if self._version.split(".")[:2] != self._here.split(".")[:2] and not self._warned:
            self._warned = True
            warnings.warn(
                InconsistentVersionWarning(
                    estimator_name=short, current_sklearn_version=self._here, original_sklearn_version=self._version
                ),
                stacklevel=2,
            )

    def _record(self, reader: Reader, given: Any, depth: int) -> Any:
        name, parts = given
        if name not in RECORDS:
            raise LoadError(f"The file has a record {name!r}, which is not known here.")
        record = RECORDS[name]
        values = {**record.later, **{key: reader.read(value, depth) for key, value in _items(parts)}}
        reason = find_violation(record.parts, values, {}, whole=True)
        if reason:
            raise LoadError(f"A {name} of the file is damaged: {reason}.")
        return record.resolve(name)(**values)

    def _built(self, reader: Reader, given: Any, depth: int) -> Any:
        name, parts = given
        if name not in BUILT:
            raise LoadError(f"The file has a {name!r}, which is not known here.")
        module, known = BUILT[name]
        values = {key: reader.read(value, depth) for key, value in _items(parts)}
        if set(values) != set(known):
            raise LoadError(f"A {name} of the file has other arguments than {', '.join(known)}.")
        try:
            return getattr(import_module(module), name)(**values)
        except (TypeError, ValueError) as reason:
            raise LoadError(f"A {name} of the file cannot be made: {reason}") from reason

    def _kernel(self, reader: Reader, given: Any, depth: int) -> Any:
        name, parts = given
        cls = kernel_class(name) if type(name) is str else None
        if cls is None:
            raise LoadError(f"The file has a kernel {name!r}, which is not known here.")
        values = {key: reader.read(value, depth) for key, value in _items(parts)}
        reason = find_violation(checks_of(name), values, {}, whole=True)
        if reason:
            raise LoadError(f"A kernel {name} of the file is damaged: {reason}.")
        return cls(**values)

    def _function(self, reader: Reader, given: Any, depth: int) -> Any:
        if given not in FUNCTIONS:
            raise LoadError(f"The file names a function {given!r}, which is not known here.")
        return getattr(import_module(FUNCTIONS[given]), given)


def _parts(given: Any, *names: str) -> list[Any]:
    """The values of a JSON object, which must have exactly these names."""
    if type(given) is not dict or set(given) != set(names):
        raise LoadError(f"A part of the file must have {', '.join(names)}, and nothing else.")
    return [given[name] for name in names]


def _items(given: Any) -> Any:
    if type(given) is not dict:
        raise LoadError("A part of the file must have names and values.")
    return given.items()
