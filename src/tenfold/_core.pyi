"""Types of the C++ loops. All arrays are C-contiguous; X is float32 or float64, everything else as written."""

from collections.abc import Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

_Real: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
_Float: TypeAlias = NDArray[np.float64]
_Index: TypeAlias = NDArray[np.int32] | NDArray[np.int64]
_Moments: TypeAlias = tuple[
    NDArray[np.int64],  # count (groups,)
    _Float,  # weight (groups,)
    _Float,  # shift (p + t,)
    _Float,  # offset (groups, p + t)
    NDArray[np.int32],  # exponent (p + t,)
    _Float,  # XX (groups, p, p)
    _Float,  # XY (groups, p, t)
    _Float,  # yy (groups, t)
]
_Updates: TypeAlias = tuple[
    NDArray[np.int32],  # how often each row was a mistake (n,), or nothing
    NDArray[np.int64],  # row of each update (k,)
    NDArray[np.int32],  # the other class, or the target
    _Float,  # rows seen before
    _Float,  # step
]
_Derivatives: TypeAlias = tuple[
    float,  # weight
    _Float,  # value (t,)
    _Float,  # slope (t,)
    _Float | None,  # gradient (t, p)
    _Float | None,  # hessian (p + 1, p + 1)
]

def moments(
    X: _Real,
    Y: _Float,
    weight: _Float | None,
    group: NDArray[np.int32] | None,
    groups: int,
    threads: int,
) -> _Moments: ...
def moments_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    Y: _Float,
    weight: _Float | None,
    group: NDArray[np.int32] | None,
    groups: int,
    threads: int,
) -> _Moments: ...
def class_sums(
    X: _Real,
    weight: _Float | None,
    group: NDArray[np.int32],
    classes: int,
    threshold: float | None,
    threads: int,
) -> tuple[_Float, _Float, float]: ...
def class_sums_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    weight: _Float | None,
    group: NDArray[np.int32],
    classes: int,
    threshold: float | None,
    threads: int,
) -> tuple[_Float, _Float, float]: ...
def class_squares(
    X: _Real, weight: _Float | None, group: NDArray[np.int32], shift: _Float, threads: int
) -> tuple[_Float, _Float, _Float]: ...
def class_products(
    X: _Real, weight: _Float | None, group: NDArray[np.int32], places: _Float, vectors: _Float, threads: int
) -> tuple[_Float, _Float, _Float, _Float]: ...
def within_moments(
    X: _Real, weight: _Float | None, group: NDArray[np.int32], places: _Float, threads: int
) -> tuple[int, _Float, _Float, _Float]: ...
def within_forms(
    X: _Real, weight: _Float | None, group: NDArray[np.int32], places: _Float, vectors: _Float, threads: int
) -> tuple[_Float, _Float, _Float, _Float]: ...
def category_ranges(X: _Real, weight: _Float | None, threads: int) -> tuple[_Float, _Float, bool]: ...
def class_tables(
    X: _Real, weight: _Float | None, group: NDArray[np.int32], classes: int, starts: NDArray[np.int64], threads: int
) -> tuple[_Float, _Float]: ...
def table_scores(
    X: _Real, table: _Float, intercept: _Float, starts: NDArray[np.int64], threads: int
) -> tuple[_Float, int]: ...
def decide(
    X: _Real,
    place: _Float,
    unit: _Float,
    linear: _Float,
    squared: _Float | None,
    constant: _Float,
    slack: _Float,
    threads: int,
) -> NDArray[np.int64]: ...
def decide_whole(
    X: _Real,
    place: _Float,
    unit: _Float,
    factors: _Float,
    offsets: _Float,
    constant: _Float,
    slack: _Float,
    threads: int,
) -> NDArray[np.int64]: ...
def largest(scores: _Float, threads: int) -> NDArray[np.int64]: ...
def centred_singles(X: _Real, shift: _Float, root: _Float | None, unit: float, threads: int) -> NDArray[np.float32]: ...
def scatter_singles(A: NDArray[np.float32], vectors: NDArray[np.float32], threads: int) -> _Float: ...
def first_means(X: _Real, weight: _Float | None, group: NDArray[np.int32], classes: int) -> _Float: ...
def scaled_distances(X: _Real, centre: _Float, scale: _Float, threads: int) -> _Float: ...
def quadratics(X: _Real, centres: _Float, factors: _Float, threads: int) -> _Float: ...
def derivatives(
    X: _Real,
    Y: _Float,
    weight: _Float | None,
    coef: _Float,
    intercept: _Float,
    shift: _Float | None,
    loss: str,
    parameter: float,
    order: int,
    threads: int,
) -> _Derivatives: ...
def derivatives_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    Y: _Float,
    weight: _Float | None,
    coef: _Float,
    intercept: _Float,
    loss: str,
    parameter: float,
    order: int,
    threads: int,
) -> _Derivatives: ...
def softmax(
    X: _Real,
    Y: _Float,
    weight: _Float | None,
    coef: _Float,
    intercept: _Float,
    shift: _Float | None,
    order: int,
    threads: int,
) -> tuple[float, _Float, _Float, _Float | None]: ...
def softmax_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    Y: _Float,
    weight: _Float | None,
    coef: _Float,
    intercept: _Float,
    order: int,
    threads: int,
) -> tuple[float, _Float, _Float, _Float | None]: ...
def rough_softmax(
    X: _Real,
    Y: _Float,
    weight: _Float | None,
    coef: _Float,
    intercept: _Float,
    shift: _Float | None,
    threads: int,
) -> tuple[float, _Float, _Float, _Float]: ...
def class_grams(X: _Real, share: _Float, shift: _Float | None, threads: int) -> _Float: ...
def losses_at(
    y: _Float, z: _Float, weight: _Float, loss: str, parameter: float, threads: int
) -> tuple[float, float, float, _Float, _Float]: ...
def losses_along(
    y: _Float, z: _Float, dz: _Float, length: float, weight: _Float, loss: str, parameter: float, threads: int
) -> tuple[float, float, float, float]: ...
def softmax_at(Y: _Float, Z: _Float, weight: _Float, threads: int) -> tuple[float, _Float, _Float, _Float]: ...
def softmax_along(
    Y: _Float, Z: _Float, D: _Float, length: float, weight: _Float, threads: int
) -> tuple[float, float]: ...
def fold_paths(
    X: _Real,
    y: _Float,
    weight: _Float | None,
    shift: _Float,
    rows: _Index,
    starts: _Index,
    strengths: _Float,
    loss: str,
    parameter: float,
    intercept: bool,
    tol: float,
    part: float,
    most: float,
    limit: int,
    threads: int,
) -> tuple[_Float, NDArray[np.int32], NDArray[np.int64], bool]: ...
def factor_stack(H: _Float, threads: int) -> tuple[_Float, _Float]: ...
def solve_stack(lower: _Float, which: _Index, g: _Float) -> _Float: ...
def sign_stack(H: _Float, g: _Float, limit: _Float, x: _Float, threads: int) -> _Float: ...
def models(
    X: _Real,
    y: _Float,
    weight: _Float | None,
    group: _Index,
    share: _Float,
    coef: _Float,
    intercept: _Float,
    shift: _Float | None,
    order: int,
    threads: int,
) -> tuple[_Float, _Float, _Float | None]: ...
def models_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    y: _Float,
    weight: _Float | None,
    group: _Index,
    share: _Float,
    coef: _Float,
    intercept: _Float,
    order: int,
    threads: int,
) -> tuple[_Float, _Float, _Float | None]: ...
def descend_columns(
    data: _Float,
    indices: _Index,
    indptr: _Index,
    curvature: _Float,
    gradient: _Float,
    slope: float,
    weights: _Float,
    moving: _Index,
    l1: float,
    l2: float,
    intercept: bool,
    enough: float,
    most: int,
) -> tuple[_Float, float, _Float, int]: ...
def times(X: _Real, coef: _Float, intercept: _Float, shift: _Float | None, threads: int) -> _Float: ...
def times_csr(
    data: _Real, indices: _Index, indptr: _Index, p: int, coef: _Float, intercept: _Float, threads: int
) -> _Float: ...
def times_t(X: _Real, U: _Float, shift: _Float | None, threads: int) -> _Float: ...
def scatter_products(X: _Real, vectors: _Float, shift: _Float, weight: _Float | None, threads: int) -> _Float: ...
def column_sums(X: _Real, weight: _Float, other: _Float, shift: _Float, threads: int) -> _Float: ...
def column_sums_csr(
    data: _Real, indices: _Index, indptr: _Index, p: int, weight: _Float, other: _Float | None, threads: int
) -> tuple[_Float, float, float]: ...
def chosen_columns_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    chosen: NDArray[np.int64],
    root: _Float | None,
    threads: int,
) -> tuple[_Float, _Index, NDArray[np.int64]]: ...
def some_columns(X: _Real, index: NDArray[np.int64], centre: _Float, root: _Float, threads: int) -> _Float: ...
def inner_products(X: _Real, centre: _Float, root: _Float, threads: int) -> _Float: ...
def both_ways_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    vectors: _Float,
    weight: _Float | None,
    level: _Float | None,
    by: _Float,
    threads: int,
) -> _Float: ...
def across_csr(data: _Real, indices: _Index, indptr: _Index, p: int, vectors: _Float, threads: int) -> _Float: ...
def along_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    vectors: _Float,
    level: _Float | None,
    by: _Float,
    threads: int,
) -> _Float: ...
def times_t_csr(data: _Real, indices: _Index, indptr: _Index, p: int, U: _Float, threads: int) -> _Float: ...

class Learner:
    def __init__(
        self,
        loss: str,
        epsilon: float,
        penalised: bool,
        alpha: float,
        l1: float,
        schedule: str,
        eta0: float,
        power: float,
        intercept: bool,
        decay: float,
        one_class: bool,
        average: int,
        batch: int,
        own: int,
        positive: float,
        negative: float,
        coef: _Float,
        start: float,
        t: float,
    ) -> None: ...
    eta: float
    @property
    def t(self) -> float: ...
    @property
    def length(self) -> int: ...
    @property
    def averaged(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def seen(self) -> int: ...
    def resume(self, coef: _Float, intercept: float, count: float) -> None: ...
    def begin(self) -> None: ...
    def follow(self, order: NDArray[np.int32]) -> None: ...
    def shuffle(self, seed: int) -> None: ...
    def weights(self) -> tuple[_Float, float]: ...
    def average(self) -> tuple[_Float, float]: ...
    def finite(self) -> bool: ...

def learn(
    X: _Real,
    y: _Float,
    weight: _Float | None,
    skip: NDArray[np.uint8] | None,
    learners: list[Learner],
    begin: int,
    end: int,
    threads: int,
) -> None: ...
def learn_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    y: _Float,
    weight: _Float | None,
    skip: NDArray[np.uint8] | None,
    learners: list[Learner],
    begin: int,
    end: int,
    threads: int,
) -> None: ...
def best_subsets(
    R: _Float, z: _Float, rest: float, largest: int, seconds: float
) -> tuple[_Float, NDArray[np.int64], int, bool]: ...
def prove_subset(R: _Float, z: _Float, rest: float, size: int, bound: float, most: int) -> tuple[float, int, bool]: ...

class Lars:
    def __init__(
        self,
        c: _Float,
        squares: _Float,
        target_square: float,
        lasso: bool,
        positive: bool,
        end: float,
        most_steps: int,
        dependent: float,
    ) -> None: ...
    def advance(self) -> int: ...
    def give(self, column: int, row: _Float) -> None: ...
    def correlations(self) -> _Float: ...
    def path(self) -> tuple[_Float, _Float, NDArray[np.int64]]: ...

def loo(
    X: _Real,
    Y: _Float,
    weight: _Float | None,
    centre: _Float,
    target_mean: _Float,
    V: _Float,
    D: _Float,
    C: _Float,
    base: float,
    threads: int,
    keep: bool,
) -> tuple[_Float, _Float, _Float | None, bool]: ...
def near_products(
    X: _Real,
    Q: _Float,
    k: int,
    limits: _Float | None,
    by_distance: bool,
    finish: int,
    exponent: float,
    own: NDArray[np.int64] | None,
    threads: int,
) -> Any: ...
def near_entries(
    X: _Real,
    Q: _Float,
    metric: int,
    p: float,
    k: int,
    limits: _Float | None,
    by_distance: bool,
    finish: int,
    exponent: float,
    own: NDArray[np.int64] | None,
    threads: int,
) -> Any: ...
def tree(X: _Real, leaf: int, threads: int) -> tuple[NDArray[np.int64], _Float, _Float]: ...
def near_tree(
    order: NDArray[np.int64],
    points: _Float,
    boxes: _Float,
    leaf: int,
    Q: _Float,
    metric: int,
    p: float,
    k: int,
    limits: _Float | None,
    by_distance: bool,
    finish: int,
    exponent: float,
    own: NDArray[np.int64] | None,
    threads: int,
) -> Any: ...
def near_sets(
    X: NDArray[np.uint64],
    Q: NDArray[np.uint64],
    columns: int,
    metric: int,
    k: int,
    limits: _Float | None,
    by_distance: bool,
    own: NDArray[np.int64] | None,
    threads: int,
) -> Any: ...
def near_table(
    D: _Float,
    k: int,
    limits: _Float | None,
    by_distance: bool,
    own: NDArray[np.int64] | None,
    threads: int,
) -> Any: ...
def window_sums(
    X: _Float,
    Q: _Float,
    metric: int,
    p: float,
    finish: int,
    exponent: float,
    window: int,
    bandwidth: _Float,
    weight: _Float | None,
    targets: _Float,
    own: NDArray[np.int64] | None,
    threads: int,
) -> tuple[_Float, _Float]: ...
def window_tree(
    points: _Float,
    boxes: _Float,
    leaf: int,
    Q: _Float,
    metric: int,
    p: float,
    finish: int,
    exponent: float,
    window: int,
    bandwidth: float,
    log_absolute: float,
    relative: float,
    weight: _Float | None,
    below: _Float | None,
    threads: int,
) -> _Float: ...
def near_sparse(*parts: Any, **asked: Any) -> Any: ...

class DualAscent:
    def __init__(
        self,
        target: _Float,
        low: _Float,
        high: _Float,
        curvature: _Float,
        epsilon: float,
        unit: float,
        run: int,
        seed: int,
    ) -> None: ...
    def begin(self, X: _Real) -> None: ...
    def begin_csr(self, data: _Real, indices: _Index, indptr: _Index, p: int) -> None: ...
    def epoch(self, X: _Real) -> float: ...
    def epoch_csr(self, data: _Real, indices: _Index, indptr: _Index, p: int) -> float: ...
    def take_all(self) -> None: ...
    def retarget(self, target: _Float) -> None: ...
    @property
    def b(self) -> _Float: ...
    @property
    def w(self) -> _Float: ...
    @property
    def complete(self) -> bool: ...
    @property
    def gap(self) -> float: ...

class JointAscent:
    def __init__(self, label: NDArray[np.int32], classes: int, cost: _Float, unit: float, seed: int) -> None: ...
    def begin(self, X: _Real) -> None: ...
    def begin_csr(self, data: _Real, indices: _Index, indptr: _Index, p: int) -> None: ...
    def epoch(self, X: _Real) -> float: ...
    def epoch_csr(self, data: _Real, indices: _Index, indptr: _Index, p: int) -> float: ...
    def take_all(self) -> None: ...
    def shift(self, offset: _Float) -> None: ...
    @property
    def share(self) -> _Float: ...
    @property
    def w(self) -> _Float: ...
    @property
    def complete(self) -> bool: ...
    @property
    def gap(self) -> float: ...

class Perceptron:
    def __init__(self, coef: _Float, intercept: _Float, eta: float, rule: str) -> None: ...
    def average(self, sums: _Float, sum_intercept: _Float, seen: float) -> None: ...
    def begin_pass(self) -> None: ...
    def rest(self, target: int) -> None: ...
    def skip(self, rows: float) -> None: ...
    def scan(
        self,
        X: _Real,
        order: NDArray[np.int64],
        label: NDArray[np.int32],
        weight: _Float | None,
        counts: bool,
        keep: bool,
        threads: int,
        target: int = -1,
    ) -> _Updates: ...
    def scan_csr(
        self,
        data: _Real,
        indices: _Index,
        indptr: _Index,
        p: int,
        order: NDArray[np.int64],
        label: NDArray[np.int32],
        weight: _Float | None,
        counts: bool,
        keep: bool,
        threads: int,
        target: int = -1,
    ) -> _Updates: ...
    @property
    def coef(self) -> _Float: ...
    @property
    def intercept(self) -> _Float: ...
    @property
    def sums(self) -> _Float: ...
    @property
    def sum_intercept(self) -> _Float: ...
    @property
    def mistakes(self) -> NDArray[np.int64]: ...
    @property
    def loss(self) -> _Float: ...
    @property
    def seen(self) -> float: ...
    @property
    def finite(self) -> bool: ...

class Tagger:
    def __init__(self, columns: int, tags: int) -> None: ...
    def learn(
        self,
        data: _Float,
        indices: NDArray[np.int32],
        indptr: _Index,
        offsets: NDArray[np.int64],
        gold: NDArray[np.int32],
        weight: _Float | None,
        order: NDArray[np.int64],
    ) -> tuple[int, int]: ...
    def decode(
        self, data: _Float, indices: NDArray[np.int32], indptr: _Index, offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.int32]: ...
    def assign(self, emission: _Float, transition: _Float, start: _Float, end: _Float) -> None: ...
    def skip(self, sequences: float) -> None: ...
    @property
    def weights(self) -> tuple[_Float, _Float, _Float, _Float]: ...
    @property
    def sums(self) -> tuple[_Float, _Float, _Float, _Float]: ...
    @property
    def seen(self) -> float: ...
    @property
    def finite(self) -> bool: ...

def nearest(X: _Real, centres: _Float, threads: int) -> tuple[NDArray[np.int32], _Float]: ...
def nearest_csr(
    data: _Real, indices: _Index, indptr: _Index, p: int, centres: _Float, threads: int
) -> tuple[NDArray[np.int32], _Float]: ...
def assign(
    X: _Real, weight: _Float | None, centres: _Float, place: _Float, threads: int, in_double: bool = False
) -> tuple[_Float, _Float, float]: ...
def assign_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    weight: _Float | None,
    centres: _Float,
    place: _Float,
    threads: int,
    in_double: bool = False,
) -> tuple[_Float, _Float, float]: ...
def online(X: _Real, weight: _Float | None, centres: _Float, counts: _Float) -> tuple[_Float, _Float]: ...
def online_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    weight: _Float | None,
    centres: _Float,
    counts: _Float,
) -> tuple[_Float, _Float]: ...

class Lloyd:
    @overload
    def __init__(self, X: _Real, weight: _Float | None) -> None: ...
    @overload
    def __init__(self, data: _Real, indices: _Index, indptr: _Index, p: int, weight: _Float | None) -> None: ...
    def step(self, centres: _Float, place: _Float, threads: int) -> tuple[_Float, _Float]: ...
    def again(self, place: _Float, threads: int) -> tuple[_Float, _Float]: ...
    @property
    def compared(self) -> float: ...

def seed(X: _Real, weight: _Float | None, first: int, draws: _Float, threads: int) -> NDArray[np.int64]: ...
def seed_csr(
    data: _Real,
    indices: _Index,
    indptr: _Index,
    p: int,
    weight: _Float | None,
    first: int,
    draws: _Float,
    threads: int,
) -> NDArray[np.int64]: ...
def permutation(count: int, seed: int) -> NDArray[np.int64]: ...
def reshuffled(order: NDArray[np.int64], seed: int) -> NDArray[np.int64]: ...
def csv_cut(text: NDArray[np.uint8]) -> tuple[int, int]: ...
def csv_numbers(
    text: NDArray[np.uint8], lines: int, delimiter: int, place: NDArray[np.int32], whole: NDArray[np.uint8]
) -> tuple[_Float, int, list[bool]] | None: ...

class ParquetDoubles:
    def __init__(self, descriptor: int, chunks: Sequence[tuple[int, int, int, str, bool, bool]]) -> None: ...
    def read(self, out: _Float, threads: int) -> bool: ...

class ParquetFloats:
    def __init__(self, descriptor: int, chunks: Sequence[tuple[int, int, int, str, bool, bool]]) -> None: ...
    def read(self, out: NDArray[np.float32], threads: int) -> bool: ...

def put_beside(columns: list[_Float] | list[NDArray[np.float32]], out: _Real, threads: int) -> None: ...
def exp(x: _Real) -> _Real: ...
def log1p(x: _Real) -> _Real: ...
def sigmoid(x: _Real) -> _Real: ...
def softplus(x: _Real) -> _Real: ...
def isa() -> str: ...
def available_isas() -> list[str]: ...
def set_isa(name: str) -> None: ...
def pool_size() -> int: ...
def blas_bridge_ready() -> bool: ...
def load_blas_bridge() -> None: ...
def descent(
    S: _Float,
    C: _Float,
    yy: float,
    unit: _Float,
    start: _Float,
    l1: _Float,
    l2: _Float,
    positive: bool,
    enough: float,
    most: int,
    seed: int | None,
) -> tuple[_Float, _Float, NDArray[np.int64]]: ...
def descent_along(
    data: _Float,
    indices: _Index,
    indptr: _Index,
    means: _Float,
    targets: _Float,
    start: _Float,
    l1: _Float,
    l2: _Float,
    positive: bool,
    enough: float,
    most: int,
    seed: int | None,
) -> tuple[_Float, _Float, NDArray[np.int64]]: ...
def mixture_sums(
    X: _Real,
    weight: _Float | None,
    means: _Float,
    factors: _Float | None,
    scales: _Float | None,
    centre: _Float | None,
    offsets: _Float,
    threads: int,
) -> tuple[float, float, _Float, _Float, _Float]: ...
def feature_sums(
    X: _Real, weight: _Float | None, centre: _Float, scale: _Float, coef: _Float, threads: int
) -> tuple[float, float, _Float]: ...
def log_shares(
    lengths: _Float, offset: _Float, weight: _Float, shares: bool, threads: int
) -> tuple[_Float, _Float]: ...
def mixture_posterior(
    X: _Real,
    means: _Float,
    factors: _Float | None,
    scales: _Float | None,
    centre: _Float | None,
    offsets: _Float,
    shares: bool,
    threads: int,
) -> tuple[_Float, _Float]: ...
