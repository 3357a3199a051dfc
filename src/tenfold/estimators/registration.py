"""Registrations of estimators: all metadata of a class in one place.

The public names of the package, `certify`, files of models, leaderboards, the tables of the documentation and the tests
are generated from the `_registration` of each class; a new method is entered in no other list.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

import tenfold
from tenfold.arrays import is_array_api, is_dask, is_sparse
from tenfold.data import Table
from tenfold.estimators.leaderboard_entry import Entry
from tenfold.estimators.schema import Check, Rule
from tenfold.estimators.tuning import PathScores, Tuning

Source = Literal["arrays", "sparse", "files", "Dask", "devices"]
Reads = Literal["one pass", "two passes", "three passes", "a pass a step", "in order", "random batches", "in memory"]
Uses = Literal["sample", "samples", "targets"]
Kind = Literal["residual", "dual residual", "gap", "stationarity", "exact", "spectral", "fixed point", "count"]

# sources of samples
SOURCES: dict[Source, str] = {
    "arrays": "NumPy arrays and memory maps",
    "sparse": "SciPy's sparse matrices and arrays",
    "files": "Parquet, CSV, Arrow and .npy files, frames, iterables (`tenfold.rows`)",
    "Dask": "Dask arrays and data frames",
    "devices": "torch (CPU and CUDA), CuPy, and every library of the Array API",
}


def source_of(X: Any) -> Source:
    """The source of these samples."""
    if type(X) is np.ndarray:
        return "arrays"
    if is_dask(X):
        return "Dask"
    if is_array_api(X):
        return "devices"
    if isinstance(X, Table):
        return "files"
    return "sparse" if is_sparse(X) else "arrays"


@dataclass(frozen=True, kw_only=True)
class Registration:
    """The metadata of an estimator class.

    Attributes
    ----------
    method : name of the method
    texts : sections of the reference texts, by letter and number
    peer : the module of scikit-learn that has the class of the same name; empty where there is none
    reads : how `fit` reads the samples; two where the shape of the data decides
    where : the supported sources
    instead : what to do with samples of other sources, in a sentence
    certificate : the kind of the certificate; two where parameters decide, none where nothing is minimised
    judged : whether `fit` judges its result; otherwise only `certify` does
    judge : the function that judges a fitted model, as "module.function" of `tenfold.certification`
    outputs : likewise, the expected outputs of the methods, from judged arrays; empty where the judge checks them
    choice : likewise, the reason why a selected parameter is not the best by its scores; empty without a selection
    offset : whether `fit` takes an offset of the raw predictions
    report_only : fitted attributes that are not judged, because no method reads them, each with the reason
    peer_report_only : those that only scikit-learn's class has
    stored : what fitted attributes must be in a file, where that is not what `persist.ours` says of their names
    rules : what must hold of several attributes of a file together, each in words
    derived : attributes that are not in a file, and how they are made from the others
    board : how the class enters leaderboards; None where it does not
    tuning : how the class selects hyper-parameters by itself; None where it does not
    path : which class scores all values of its penalty by one fit; None where there is none
    transform_uses : what `transform` of a sample depends on: on this sample alone, on the samples of `fit` too, or on
        their targets; a transformer that never uses targets need not be refitted in inner folds
    """

    method: str
    texts: tuple[str, ...]
    peer: str = ""
    reads: tuple[Reads, ...]
    where: tuple[Source, ...] = get_args(Source)
    instead: str = ""
    certificate: tuple[Kind, ...]
    judged: bool = True
    judge: str
    outputs: str = ""
    choice: str = ""
    offset: bool = False
    report_only: Mapping[str, str] = field(default_factory=dict)
    peer_report_only: Mapping[str, str] = field(default_factory=dict)
    stored: Mapping[str, Check] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    derived: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    board: Entry | None = None
    tuning: Tuning | None = None
    path: PathScores | None = None
    transform_uses: Uses = "targets"

    def peer_class(self, name: str) -> Any:
        """scikit-learn's class of this name, or None."""
        return getattr(import_module(self.peer), name) if self.peer else None

    def check_source(self, name: str, X: Any) -> None:
        """Raise where the class does not support the source of the samples."""
        source = source_of(X)
        if source not in self.where:
            read = ", ".join(SOURCES[where] for where in self.where)
            raise TypeError(f"{name} does not read {SOURCES[source]}; it reads {read}. {self.instead}".rstrip())


def registration_of(cls: type) -> Registration | None:
    """The registration of a class itself; None where it has none, as a subclass of a registered class."""
    return vars(cls).get("_registration")


def list_registered() -> dict[str, Any]:
    """All public estimators by name; imports them."""
    return {name: getattr(tenfold, name) for name in tenfold.ESTIMATORS}
