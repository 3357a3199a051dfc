from collections.abc import Sequence
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray

@overload
def moments(
    X: NDArray[numpy.float32],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32] | None,
    groups: int,
    threads: int,
) -> tuple[
    NDArray[numpy.int64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.int32],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
]: ...
@overload
def moments(
    X: NDArray[numpy.float64],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32] | None,
    groups: int,
    threads: int,
) -> tuple[
    NDArray[numpy.int64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.int32],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
]: ...
@overload
def moments_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32] | None,
    groups: int,
    threads: int,
) -> tuple[
    NDArray[numpy.int64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.int32],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
]: ...
@overload
def moments_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32] | None,
    groups: int,
    threads: int,
) -> tuple[
    NDArray[numpy.int64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.int32],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
]: ...
@overload
def moments_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32] | None,
    groups: int,
    threads: int,
) -> tuple[
    NDArray[numpy.int64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.int32],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
]: ...
@overload
def moments_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32] | None,
    groups: int,
    threads: int,
) -> tuple[
    NDArray[numpy.int64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.int32],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
]: ...
def argmax(scores: NDArray[numpy.float64], threads: int) -> NDArray[numpy.int64]: ...
@overload
def class_sums(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    classes: int,
    threshold: float | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def class_sums(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    classes: int,
    threshold: float | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def class_moments(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    shift: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def class_moments(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    shift: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def estimate_class_means(
    X: NDArray[numpy.float32], weight: NDArray[numpy.float64] | None, group: NDArray[numpy.int32], classes: int
) -> NDArray[numpy.float64]: ...
@overload
def estimate_class_means(
    X: NDArray[numpy.float64], weight: NDArray[numpy.float64] | None, group: NDArray[numpy.int32], classes: int
) -> NDArray[numpy.float64]: ...
@overload
def scaled_distances(
    X: NDArray[numpy.float32], centre: NDArray[numpy.float64], scale: NDArray[numpy.float64], threads: int
) -> NDArray[numpy.float64]: ...
@overload
def scaled_distances(
    X: NDArray[numpy.float64], centre: NDArray[numpy.float64], scale: NDArray[numpy.float64], threads: int
) -> NDArray[numpy.float64]: ...
@overload
def class_scatter_products(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    centres: NDArray[numpy.float64],
    vectors: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def class_scatter_products(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    centres: NDArray[numpy.float64],
    vectors: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def mahalanobis_distances(
    X: NDArray[numpy.float32], centres: NDArray[numpy.float64], factors: NDArray[numpy.float64], threads: int
) -> NDArray[numpy.float64]: ...
@overload
def mahalanobis_distances(
    X: NDArray[numpy.float64], centres: NDArray[numpy.float64], factors: NDArray[numpy.float64], threads: int
) -> NDArray[numpy.float64]: ...
@overload
def class_sums_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    classes: int,
    threshold: float | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def class_sums_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    classes: int,
    threshold: float | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def class_sums_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    classes: int,
    threshold: float | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def class_sums_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    classes: int,
    threshold: float | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def category_ranges(
    X: NDArray[numpy.float32], weight: NDArray[numpy.float64] | None, threads: int
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], bool]: ...
@overload
def category_ranges(
    X: NDArray[numpy.float64], weight: NDArray[numpy.float64] | None, threads: int
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], bool]: ...
@overload
def category_counts(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    classes: int,
    starts: NDArray[numpy.int64],
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def category_counts(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    classes: int,
    starts: NDArray[numpy.int64],
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def category_scores(
    X: NDArray[numpy.float32],
    table: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    starts: NDArray[numpy.int64],
    threads: int,
) -> tuple[NDArray[numpy.float64], int]: ...
@overload
def category_scores(
    X: NDArray[numpy.float64],
    table: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    starts: NDArray[numpy.int64],
    threads: int,
) -> tuple[NDArray[numpy.float64], int]: ...
@overload
def within_scatter(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    centres: NDArray[numpy.float64],
    threads: int,
) -> tuple[int, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def within_scatter(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    centres: NDArray[numpy.float64],
    threads: int,
) -> tuple[int, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def within_quadratic_forms(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    centres: NDArray[numpy.float64],
    vectors: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def within_quadratic_forms(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    centres: NDArray[numpy.float64],
    vectors: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def argmax_diagonal_float32(
    X: NDArray[numpy.float32],
    place: NDArray[numpy.float64],
    unit: NDArray[numpy.float64],
    linear: NDArray[numpy.float64],
    squared: NDArray[numpy.float64] | None,
    constant: NDArray[numpy.float64],
    slack: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...
@overload
def argmax_diagonal_float32(
    X: NDArray[numpy.float64],
    place: NDArray[numpy.float64],
    unit: NDArray[numpy.float64],
    linear: NDArray[numpy.float64],
    squared: NDArray[numpy.float64] | None,
    constant: NDArray[numpy.float64],
    slack: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...
@overload
def argmax_full_float32(
    X: NDArray[numpy.float32],
    place: NDArray[numpy.float64],
    unit: NDArray[numpy.float64],
    factors: NDArray[numpy.float64],
    offsets: NDArray[numpy.float64],
    constant: NDArray[numpy.float64],
    slack: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...
@overload
def argmax_full_float32(
    X: NDArray[numpy.float64],
    place: NDArray[numpy.float64],
    unit: NDArray[numpy.float64],
    factors: NDArray[numpy.float64],
    offsets: NDArray[numpy.float64],
    constant: NDArray[numpy.float64],
    slack: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...
@overload
def centre_float32(
    X: NDArray[numpy.float32],
    shift: NDArray[numpy.float64],
    root: NDArray[numpy.float64] | None,
    unit: float,
    threads: int,
) -> NDArray[numpy.float32]: ...
@overload
def centre_float32(
    X: NDArray[numpy.float64],
    shift: NDArray[numpy.float64],
    root: NDArray[numpy.float64] | None,
    unit: float,
    threads: int,
) -> NDArray[numpy.float32]: ...
def scatter_products_float32(
    A: NDArray[numpy.float32], vectors: NDArray[numpy.float32], threads: int
) -> NDArray[numpy.float64]: ...
def loss_at_margins(
    y: NDArray[numpy.float64],
    z: NDArray[numpy.float64],
    weight: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    threads: int,
) -> tuple[float, float, float, NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def loss_along_line(
    y: NDArray[numpy.float64],
    z: NDArray[numpy.float64],
    dz: NDArray[numpy.float64],
    length: float,
    weight: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    threads: int,
) -> tuple[float, float, float, float]: ...
@overload
def newton_path(
    X: NDArray[numpy.float32],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    shift: NDArray[numpy.float64],
    rows: NDArray[numpy.int64],
    starts: NDArray[numpy.int64],
    strengths: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    intercept: bool,
    tol: float,
    part: float,
    most: float,
    limit: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.int64], bool]: ...
@overload
def newton_path(
    X: NDArray[numpy.float64],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    shift: NDArray[numpy.float64],
    rows: NDArray[numpy.int64],
    starts: NDArray[numpy.int64],
    strengths: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    intercept: bool,
    tol: float,
    part: float,
    most: float,
    limit: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.int64], bool]: ...
@overload
def derivatives(
    X: NDArray[numpy.float32],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    loss: str,
    parameter: float,
    order: int,
    threads: int,
) -> tuple[
    float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None, NDArray[numpy.float64] | None
]: ...
@overload
def derivatives(
    X: NDArray[numpy.float64],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    loss: str,
    parameter: float,
    order: int,
    threads: int,
) -> tuple[
    float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None, NDArray[numpy.float64] | None
]: ...
@overload
def derivatives_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    order: int,
    threads: int,
) -> tuple[
    float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None, NDArray[numpy.float64] | None
]: ...
@overload
def derivatives_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    order: int,
    threads: int,
) -> tuple[
    float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None, NDArray[numpy.float64] | None
]: ...
@overload
def derivatives_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    order: int,
    threads: int,
) -> tuple[
    float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None, NDArray[numpy.float64] | None
]: ...
@overload
def derivatives_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    order: int,
    threads: int,
) -> tuple[
    float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None, NDArray[numpy.float64] | None
]: ...
def softmax_at_margins(
    Y: NDArray[numpy.float64], Z: NDArray[numpy.float64], weight: NDArray[numpy.float64], threads: int
) -> tuple[float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def softmax_along_line(
    Y: NDArray[numpy.float64],
    Z: NDArray[numpy.float64],
    D: NDArray[numpy.float64],
    length: float,
    weight: NDArray[numpy.float64],
    threads: int,
) -> tuple[float, float]: ...
def softmax_hessian(
    X: NDArray[numpy.float64], q: NDArray[numpy.float64], weight: NDArray[numpy.float64], threads: int
) -> NDArray[numpy.float64]: ...
@overload
def softmax(
    X: NDArray[numpy.float32],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    order: int,
    threads: int,
) -> tuple[float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def softmax(
    X: NDArray[numpy.float64],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    order: int,
    threads: int,
) -> tuple[float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def softmax_float32(
    X: NDArray[numpy.float32],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def softmax_float32(
    X: NDArray[numpy.float64],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def class_grams(
    X: NDArray[numpy.float32], share: NDArray[numpy.float64], shift: NDArray[numpy.float64] | None, threads: int
) -> NDArray[numpy.float64]: ...
@overload
def class_grams(
    X: NDArray[numpy.float64], share: NDArray[numpy.float64], shift: NDArray[numpy.float64] | None, threads: int
) -> NDArray[numpy.float64]: ...
@overload
def softmax_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    order: int,
    threads: int,
) -> tuple[float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def softmax_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    order: int,
    threads: int,
) -> tuple[float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def softmax_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    order: int,
    threads: int,
) -> tuple[float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def softmax_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    order: int,
    threads: int,
) -> tuple[float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
def solve_stack(
    lower: NDArray[numpy.float64], which: NDArray[numpy.int64], g: NDArray[numpy.float64]
) -> NDArray[numpy.float64]: ...
def feature_sign(
    H: NDArray[numpy.float64],
    g: NDArray[numpy.float64],
    limit: NDArray[numpy.float64],
    x: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def batched_loss(
    X: NDArray[numpy.float32],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    share: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    order: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def batched_loss(
    X: NDArray[numpy.float64],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    share: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    order: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def batched_loss_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    share: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    order: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def batched_loss_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    share: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    order: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def batched_loss_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    share: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    order: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def batched_loss_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    group: NDArray[numpy.int32],
    share: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    order: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None]: ...
@overload
def bisection_sums(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    nodes: NDArray[numpy.float64],
    left: NDArray[numpy.int64],
    right: NDArray[numpy.int64],
    leaf: NDArray[numpy.int64],
    slack: float,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], float, int]: ...
@overload
def bisection_sums(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    nodes: NDArray[numpy.float64],
    left: NDArray[numpy.int64],
    right: NDArray[numpy.int64],
    leaf: NDArray[numpy.int64],
    slack: float,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], float, int]: ...
@overload
def bisection_sums_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    nodes: NDArray[numpy.float64],
    left: NDArray[numpy.int64],
    right: NDArray[numpy.int64],
    leaf: NDArray[numpy.int64],
    slack: float,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], float, int]: ...
@overload
def bisection_sums_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    nodes: NDArray[numpy.float64],
    left: NDArray[numpy.int64],
    right: NDArray[numpy.int64],
    leaf: NDArray[numpy.int64],
    slack: float,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], float, int]: ...
@overload
def bisection_sums_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    nodes: NDArray[numpy.float64],
    left: NDArray[numpy.int64],
    right: NDArray[numpy.int64],
    leaf: NDArray[numpy.int64],
    slack: float,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], float, int]: ...
@overload
def bisection_sums_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    nodes: NDArray[numpy.float64],
    left: NDArray[numpy.int64],
    right: NDArray[numpy.int64],
    leaf: NDArray[numpy.int64],
    slack: float,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], float, int]: ...
def logsumexp(
    sq_distances: NDArray[numpy.float64],
    offset: NDArray[numpy.float64],
    weight: NDArray[numpy.float64],
    posteriors: bool,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def gmm_estep(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    means: NDArray[numpy.float64],
    factors: NDArray[numpy.float64] | None,
    scales: NDArray[numpy.float64] | None,
    centre: NDArray[numpy.float64] | None,
    offsets: NDArray[numpy.float64],
    threads: int,
) -> tuple[float, float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def gmm_estep(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    means: NDArray[numpy.float64],
    factors: NDArray[numpy.float64] | None,
    scales: NDArray[numpy.float64] | None,
    centre: NDArray[numpy.float64] | None,
    offsets: NDArray[numpy.float64],
    threads: int,
) -> tuple[float, float, NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def gmm_responsibilities(
    X: NDArray[numpy.float32],
    means: NDArray[numpy.float64],
    factors: NDArray[numpy.float64] | None,
    scales: NDArray[numpy.float64] | None,
    centre: NDArray[numpy.float64] | None,
    offsets: NDArray[numpy.float64],
    posteriors: bool,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def gmm_responsibilities(
    X: NDArray[numpy.float64],
    means: NDArray[numpy.float64],
    factors: NDArray[numpy.float64] | None,
    scales: NDArray[numpy.float64] | None,
    centre: NDArray[numpy.float64] | None,
    offsets: NDArray[numpy.float64],
    posteriors: bool,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def gmm_estep_gemm(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    centre: NDArray[numpy.float64],
    scale: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    threads: int,
) -> tuple[float, float, NDArray[numpy.float64]]: ...
@overload
def gmm_estep_gemm(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    centre: NDArray[numpy.float64],
    scale: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    threads: int,
) -> tuple[float, float, NDArray[numpy.float64]]: ...
def cd_gram(
    S: NDArray[numpy.float64],
    C: NDArray[numpy.float64],
    yy: float,
    unit: NDArray[numpy.float64],
    start: NDArray[numpy.float64],
    l1: NDArray[numpy.float64],
    l2: NDArray[numpy.float64],
    positive: bool,
    tol: float,
    max_sweeps: int,
    seed: int | None,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64]]: ...
def cd_dense(
    columns: NDArray[numpy.float64],
    targets: NDArray[numpy.float64],
    start: NDArray[numpy.float64],
    l1: NDArray[numpy.float64],
    l2: NDArray[numpy.float64],
    positive: bool,
    tol: float,
    max_sweeps: int,
    seed: int | None,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64]]: ...
@overload
def cd_csc(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    means: NDArray[numpy.float64],
    targets: NDArray[numpy.float64],
    start: NDArray[numpy.float64],
    l1: NDArray[numpy.float64],
    l2: NDArray[numpy.float64],
    positive: bool,
    tol: float,
    max_sweeps: int,
    seed: int | None,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64]]: ...
@overload
def cd_csc(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    means: NDArray[numpy.float64],
    targets: NDArray[numpy.float64],
    start: NDArray[numpy.float64],
    l1: NDArray[numpy.float64],
    l2: NDArray[numpy.float64],
    positive: bool,
    tol: float,
    max_sweeps: int,
    seed: int | None,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64]]: ...
@overload
def cd_quadratic(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    curvature: NDArray[numpy.float64],
    gradient: NDArray[numpy.float64],
    slope: float,
    weights: NDArray[numpy.float64],
    working_set: NDArray[numpy.int64],
    l1: float,
    l2: float,
    intercept: bool,
    tol: float,
    max_sweeps: int,
) -> tuple[NDArray[numpy.float64], float, NDArray[numpy.float64], int]: ...
@overload
def cd_quadratic(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    curvature: NDArray[numpy.float64],
    gradient: NDArray[numpy.float64],
    slope: float,
    weights: NDArray[numpy.float64],
    working_set: NDArray[numpy.int64],
    l1: float,
    l2: float,
    intercept: bool,
    tol: float,
    max_sweeps: int,
) -> tuple[NDArray[numpy.float64], float, NDArray[numpy.float64], int]: ...

class DualCd:
    def __init__(
        self,
        target: NDArray[numpy.float64],
        low: NDArray[numpy.float64],
        high: NDArray[numpy.float64],
        curvature: NDArray[numpy.float64],
        epsilon: float,
        unit: float,
        run: int,
        seed: int,
    ) -> None: ...
    def retarget(self, target: NDArray[numpy.float64]) -> None: ...
    @property
    def b(self) -> NDArray[numpy.float64]: ...
    @property
    def w(self) -> NDArray[numpy.float64]: ...
    def unshrink(self) -> None: ...
    @property
    def complete(self) -> bool: ...
    @property
    def gap(self) -> float: ...
    @overload
    def begin(self, X: NDArray[numpy.float32]) -> None: ...
    @overload
    def begin(self, X: NDArray[numpy.float64]) -> None: ...
    @overload
    def epoch(self, X: NDArray[numpy.float32]) -> float: ...
    @overload
    def epoch(self, X: NDArray[numpy.float64]) -> float: ...
    @overload
    def begin_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> None: ...
    @overload
    def begin_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> None: ...
    @overload
    def begin_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> None: ...
    @overload
    def begin_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> None: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> float: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> float: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> float: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> float: ...

class CrammerSingerCd:
    def __init__(
        self, label: NDArray[numpy.int32], classes: int, cost: NDArray[numpy.float64], unit: float, seed: int
    ) -> None: ...
    def shift(self, offset: NDArray[numpy.float64]) -> None: ...
    @property
    def dual(self) -> NDArray[numpy.float64]: ...
    @property
    def w(self) -> NDArray[numpy.float64]: ...
    def unshrink(self) -> None: ...
    @property
    def complete(self) -> bool: ...
    @property
    def gap(self) -> float: ...
    @overload
    def begin(self, X: NDArray[numpy.float32]) -> None: ...
    @overload
    def begin(self, X: NDArray[numpy.float64]) -> None: ...
    @overload
    def epoch(self, X: NDArray[numpy.float32]) -> float: ...
    @overload
    def epoch(self, X: NDArray[numpy.float64]) -> float: ...
    @overload
    def begin_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> None: ...
    @overload
    def begin_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> None: ...
    @overload
    def begin_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> None: ...
    @overload
    def begin_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> None: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> float: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> float: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> float: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
    ) -> float: ...

def best_subsets(
    R: NDArray[numpy.float64], z: NDArray[numpy.float64], rss: float, max_size: int, seconds: float
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], int, bool]: ...
def verify_subset(
    R: NDArray[numpy.float64], z: NDArray[numpy.float64], rss: float, size: int, bound: float, max_nodes: int
) -> tuple[float, int, bool]: ...
@overload
def matvec(
    X: NDArray[numpy.float32],
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def matvec(
    X: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64] | None,
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def matvec_t(
    X: NDArray[numpy.float32], U: NDArray[numpy.float64], shift: NDArray[numpy.float64] | None, threads: int
) -> NDArray[numpy.float64]: ...
@overload
def matvec_t(
    X: NDArray[numpy.float64], U: NDArray[numpy.float64], shift: NDArray[numpy.float64] | None, threads: int
) -> NDArray[numpy.float64]: ...
@overload
def scatter_products(
    X: NDArray[numpy.float32],
    vectors: NDArray[numpy.float64],
    shift: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def scatter_products(
    X: NDArray[numpy.float64],
    vectors: NDArray[numpy.float64],
    shift: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def column_sums(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64],
    other: NDArray[numpy.float64],
    shift: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def column_sums(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64],
    other: NDArray[numpy.float64],
    shift: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def gather_columns(
    X: NDArray[numpy.float32],
    index: NDArray[numpy.int64],
    centre: NDArray[numpy.float64],
    root: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def gather_columns(
    X: NDArray[numpy.float64],
    index: NDArray[numpy.int64],
    centre: NDArray[numpy.float64],
    root: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def row_gram(
    X: NDArray[numpy.float32], centre: NDArray[numpy.float64], root: NDArray[numpy.float64], threads: int
) -> NDArray[numpy.float64]: ...
@overload
def row_gram(
    X: NDArray[numpy.float64], centre: NDArray[numpy.float64], root: NDArray[numpy.float64], threads: int
) -> NDArray[numpy.float64]: ...
@overload
def matvec_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def matvec_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def matvec_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def matvec_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def matvec_t_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    U: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def matvec_t_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    U: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def matvec_t_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    U: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def matvec_t_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    U: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def column_sums_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64],
    other: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], float, float]: ...
@overload
def column_sums_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64],
    other: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], float, float]: ...
@overload
def column_sums_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64],
    other: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], float, float]: ...
@overload
def column_sums_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64],
    other: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], float, float]: ...
@overload
def gather_columns_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    selected: NDArray[numpy.int64],
    root: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.int64]]: ...
@overload
def gather_columns_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    selected: NDArray[numpy.int64],
    root: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int64]]: ...
@overload
def gather_columns_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    selected: NDArray[numpy.int64],
    root: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32], NDArray[numpy.int64]]: ...
@overload
def gather_columns_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    selected: NDArray[numpy.int64],
    root: NDArray[numpy.float64] | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int64], NDArray[numpy.int64]]: ...
def sweep_nnls(
    A: NDArray[numpy.float64],
    C: NDArray[numpy.float64],
    W: NDArray[numpy.float64],
    sweeps: int,
    fraction: float,
    threads: int,
) -> NDArray[numpy.float64]: ...
def solve_nnls(
    A: NDArray[numpy.float64], C: NDArray[numpy.float64], W: NDArray[numpy.float64], sweeps: int, threads: int
) -> NDArray[numpy.float64]: ...

class Perceptron:
    def __init__(
        self, coef: NDArray[numpy.float64], intercept: NDArray[numpy.float64], eta: float, rule: str
    ) -> None: ...
    def average(self, sums: NDArray[numpy.float64], sum_intercept: NDArray[numpy.float64], seen: float) -> None: ...
    def begin_pass(self) -> None: ...
    def deactivate(self, target: int) -> None: ...
    def skip(self, rows: float) -> None: ...
    @property
    def coef(self) -> NDArray[numpy.float64]: ...
    @property
    def intercept(self) -> NDArray[numpy.float64]: ...
    @property
    def sums(self) -> NDArray[numpy.float64]: ...
    @property
    def sum_intercept(self) -> NDArray[numpy.float64]: ...
    @property
    def mistakes(self) -> NDArray[numpy.int64]: ...
    @property
    def loss(self) -> NDArray[numpy.float64]: ...
    @property
    def seen(self) -> float: ...
    @property
    def finite(self) -> bool: ...
    @overload
    def scan(
        self,
        X: NDArray[numpy.float32],
        order: NDArray[numpy.int64],
        label: NDArray[numpy.int32],
        weight: NDArray[numpy.float64] | None,
        counts: bool,
        keep: bool,
        threads: int,
        target: int = -1,
    ) -> tuple[
        NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.float64]
    ]: ...
    @overload
    def scan(
        self,
        X: NDArray[numpy.float64],
        order: NDArray[numpy.int64],
        label: NDArray[numpy.int32],
        weight: NDArray[numpy.float64] | None,
        counts: bool,
        keep: bool,
        threads: int,
        target: int = -1,
    ) -> tuple[
        NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.float64]
    ]: ...
    @overload
    def scan_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        order: NDArray[numpy.int64],
        label: NDArray[numpy.int32],
        weight: NDArray[numpy.float64] | None,
        counts: bool,
        keep: bool,
        threads: int,
        target: int = -1,
    ) -> tuple[
        NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.float64]
    ]: ...
    @overload
    def scan_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        order: NDArray[numpy.int64],
        label: NDArray[numpy.int32],
        weight: NDArray[numpy.float64] | None,
        counts: bool,
        keep: bool,
        threads: int,
        target: int = -1,
    ) -> tuple[
        NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.float64]
    ]: ...
    @overload
    def scan_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        order: NDArray[numpy.int64],
        label: NDArray[numpy.int32],
        weight: NDArray[numpy.float64] | None,
        counts: bool,
        keep: bool,
        threads: int,
        target: int = -1,
    ) -> tuple[
        NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.float64]
    ]: ...
    @overload
    def scan_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        order: NDArray[numpy.int64],
        label: NDArray[numpy.int32],
        weight: NDArray[numpy.float64] | None,
        counts: bool,
        keep: bool,
        threads: int,
        target: int = -1,
    ) -> tuple[
        NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.float64], NDArray[numpy.float64]
    ]: ...

def permutation(count: int, seed: int) -> NDArray[numpy.int64]: ...
def reshuffle(order: NDArray[numpy.int64], seed: int) -> NDArray[numpy.int64]: ...

class Tagger:
    def __init__(self, columns: int, tags: int) -> None: ...
    def learn(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        offsets: NDArray[numpy.int64],
        gold: NDArray[numpy.int32],
        weight: NDArray[numpy.float64] | None,
        order: NDArray[numpy.int64],
    ) -> tuple[int, int]: ...
    def decode(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        offsets: NDArray[numpy.int64],
        threads: int,
    ) -> NDArray[numpy.int32]: ...
    def assign(
        self,
        emission: NDArray[numpy.float64],
        transition: NDArray[numpy.float64],
        start: NDArray[numpy.float64],
        end: NDArray[numpy.float64],
    ) -> None: ...
    def skip(self, sequences: float) -> None: ...
    @property
    def weights(
        self,
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    @property
    def sums(
        self,
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    @property
    def seen(self) -> float: ...
    @property
    def finite(self) -> bool: ...

class SgdLearner:
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
        coef: NDArray[numpy.float64],
        start: float,
        t: float,
    ) -> None: ...
    def resume(self, coef: NDArray[numpy.float64], intercept: float, count: float) -> None: ...
    def begin(self) -> None: ...
    def set_order(self, order: NDArray[numpy.int32]) -> None: ...
    def shuffle(self, seed: int) -> None: ...
    def weights(self) -> tuple[NDArray[numpy.float64], float]: ...
    def average(self) -> tuple[NDArray[numpy.float64], float]: ...
    @property
    def length(self) -> int: ...
    @property
    def eta(self) -> float: ...
    @eta.setter
    def eta(self, arg: float, /) -> None: ...
    @property
    def t(self) -> float: ...
    @property
    def averaged(self) -> float: ...
    @property
    def objective(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def seen(self) -> int: ...
    def finite(self) -> bool: ...

@overload
def sgd_scan(
    X: NDArray[numpy.float32],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    skip: NDArray[numpy.uint8] | None,
    learners: list[SgdLearner],
    begin: int,
    end: int,
    threads: int,
) -> None: ...
@overload
def sgd_scan(
    X: NDArray[numpy.float64],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    skip: NDArray[numpy.uint8] | None,
    learners: list[SgdLearner],
    begin: int,
    end: int,
    threads: int,
) -> None: ...
@overload
def sgd_scan_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    skip: NDArray[numpy.uint8] | None,
    learners: list[SgdLearner],
    begin: int,
    end: int,
    threads: int,
) -> None: ...
@overload
def sgd_scan_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    skip: NDArray[numpy.uint8] | None,
    learners: list[SgdLearner],
    begin: int,
    end: int,
    threads: int,
) -> None: ...
@overload
def sgd_scan_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    skip: NDArray[numpy.uint8] | None,
    learners: list[SgdLearner],
    begin: int,
    end: int,
    threads: int,
) -> None: ...
@overload
def sgd_scan_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    skip: NDArray[numpy.uint8] | None,
    learners: list[SgdLearner],
    begin: int,
    end: int,
    threads: int,
) -> None: ...
def lasso_codes(
    A: NDArray[numpy.float64],
    C: NDArray[numpy.float64],
    W: NDArray[numpy.float64],
    alpha: float,
    positive: bool,
    sweeps: int,
    threads: int,
) -> NDArray[numpy.float64]: ...
def pursuit_codes(
    A: NDArray[numpy.float64], C: NDArray[numpy.float64], most: int, threads: int
) -> NDArray[numpy.float64]: ...
def angle_codes(
    A: NDArray[numpy.float64], C: NDArray[numpy.float64], squares: NDArray[numpy.float64], most: int, threads: int
) -> NDArray[numpy.float64]: ...
def update_atoms(
    A: NDArray[numpy.float64], B: NDArray[numpy.float64], D: NDArray[numpy.float64], positive: bool, sweeps: int
) -> NDArray[numpy.float64]: ...

class Lars:
    def __init__(
        self,
        c: NDArray[numpy.float64],
        squares: NDArray[numpy.float64],
        target_square: float,
        lasso: bool,
        positive: bool,
        end: float,
        most_steps: int,
        dependent: float,
    ) -> None: ...
    def advance(self) -> int: ...
    def set_gram_row(self, column: int, row: NDArray[numpy.float64]) -> None: ...
    def correlations(self) -> NDArray[numpy.float64]: ...
    def path(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.int64]]: ...

@overload
def huber_sums(
    X: NDArray[numpy.float32],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64],
    sigma: float,
    epsilon: float,
    beyond: float,
    order: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def huber_sums(
    X: NDArray[numpy.float64],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    shift: NDArray[numpy.float64],
    sigma: float,
    epsilon: float,
    beyond: float,
    order: int,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def online_kmeans(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    counts: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def online_kmeans(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    counts: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def nearest_centres(
    X: NDArray[numpy.float32], centres: NDArray[numpy.float64], threads: int
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]: ...
@overload
def nearest_centres(
    X: NDArray[numpy.float64], centres: NDArray[numpy.float64], threads: int
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]: ...
@overload
def kmeans_assign(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    place: NDArray[numpy.float64],
    threads: int,
    float64: bool = False,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def kmeans_assign(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    place: NDArray[numpy.float64],
    threads: int,
    float64: bool = False,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def kmeans_plusplus(
    X: NDArray[numpy.float32],
    weight: NDArray[numpy.float64] | None,
    first: int,
    draws: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...
@overload
def kmeans_plusplus(
    X: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    first: int,
    draws: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...
@overload
def online_kmeans_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    counts: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def online_kmeans_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    counts: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def online_kmeans_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    counts: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def online_kmeans_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    counts: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def nearest_centres_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    centres: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]: ...
@overload
def nearest_centres_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    centres: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]: ...
@overload
def nearest_centres_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    centres: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]: ...
@overload
def nearest_centres_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    centres: NDArray[numpy.float64],
    threads: int,
) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]: ...
@overload
def kmeans_assign_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    place: NDArray[numpy.float64],
    threads: int,
    float64: bool = False,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def kmeans_assign_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    place: NDArray[numpy.float64],
    threads: int,
    float64: bool = False,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def kmeans_assign_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    place: NDArray[numpy.float64],
    threads: int,
    float64: bool = False,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def kmeans_assign_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    centres: NDArray[numpy.float64],
    place: NDArray[numpy.float64],
    threads: int,
    float64: bool = False,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
@overload
def kmeans_plusplus_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    first: int,
    draws: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...
@overload
def kmeans_plusplus_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    first: int,
    draws: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...
@overload
def kmeans_plusplus_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    first: int,
    draws: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...
@overload
def kmeans_plusplus_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    weight: NDArray[numpy.float64] | None,
    first: int,
    draws: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.int64]: ...

class LloydHamerly:
    @overload
    def __init__(self, X: NDArray[numpy.float32], weight: NDArray[numpy.float64] | None) -> None: ...
    @overload
    def __init__(self, X: NDArray[numpy.float64], weight: NDArray[numpy.float64] | None) -> None: ...
    @overload
    def __init__(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        weight: NDArray[numpy.float64] | None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        weight: NDArray[numpy.float64] | None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        weight: NDArray[numpy.float64] | None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        weight: NDArray[numpy.float64] | None,
    ) -> None: ...
    def step(
        self, centres: NDArray[numpy.float64], place: NDArray[numpy.float64], threads: int
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    def steps(
        self,
        centres: NDArray[numpy.float64],
        place: NDArray[numpy.float64],
        scatter: float,
        shift: float,
        decrease: float,
        limit: int,
        threads: int,
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    def sum_again(
        self, place: NDArray[numpy.float64], threads: int
    ) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
    @property
    def compared(self) -> float: ...

def residual_cosines(
    value: NDArray[numpy.float64],
    slope: NDArray[numpy.float64],
    gradient: NDArray[numpy.float64],
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    mean: NDArray[numpy.float64],
    spread: NDArray[numpy.float64],
    alpha: NDArray[numpy.float64],
    distance: NDArray[numpy.float64] | None,
    lost: NDArray[numpy.float64] | None,
    weight: float,
    centred: bool,
    positive: bool,
    interpolated: bool,
    roundoff: float,
    roundoff_of_intercept: float,
) -> tuple[bool, NDArray[numpy.float64], list[float], float, float, float, float, float, float, float]: ...
@overload
def ridge_loo(
    X: NDArray[numpy.float32],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    centre: NDArray[numpy.float64],
    target_mean: NDArray[numpy.float64],
    V: NDArray[numpy.float64],
    D: NDArray[numpy.float64],
    C: NDArray[numpy.float64],
    base: float,
    threads: int,
    keep: bool,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None, bool]: ...
@overload
def ridge_loo(
    X: NDArray[numpy.float64],
    Y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    centre: NDArray[numpy.float64],
    target_mean: NDArray[numpy.float64],
    V: NDArray[numpy.float64],
    D: NDArray[numpy.float64],
    C: NDArray[numpy.float64],
    base: float,
    threads: int,
    keep: bool,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64] | None, bool]: ...
@overload
def knn_gemm(
    X: NDArray[numpy.float32],
    Q: NDArray[numpy.float64],
    k: int,
    limits: NDArray[numpy.float64] | None,
    by_distance: bool,
    finish: int,
    exponent: float,
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[Any, ...]: ...
@overload
def knn_gemm(
    X: NDArray[numpy.float64],
    Q: NDArray[numpy.float64],
    k: int,
    limits: NDArray[numpy.float64] | None,
    by_distance: bool,
    finish: int,
    exponent: float,
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[Any, ...]: ...
@overload
def knn_brute(
    X: NDArray[numpy.float32],
    Q: NDArray[numpy.float64],
    metric: int,
    p: float,
    k: int,
    limits: NDArray[numpy.float64] | None,
    by_distance: bool,
    finish: int,
    exponent: float,
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[Any, ...]: ...
@overload
def knn_brute(
    X: NDArray[numpy.float64],
    Q: NDArray[numpy.float64],
    metric: int,
    p: float,
    k: int,
    limits: NDArray[numpy.float64] | None,
    by_distance: bool,
    finish: int,
    exponent: float,
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[Any, ...]: ...
@overload
def kd_tree(
    X: NDArray[numpy.float32], leaf: int, threads: int
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
@overload
def kd_tree(
    X: NDArray[numpy.float64], leaf: int, threads: int
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def knn_kd_tree(
    order: NDArray[numpy.int64],
    points: NDArray[numpy.float64],
    boxes: NDArray[numpy.float64],
    leaf: int,
    Q: NDArray[numpy.float64],
    metric: int,
    p: float,
    k: int,
    limits: NDArray[numpy.float64] | None,
    by_distance: bool,
    finish: int,
    exponent: float,
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[Any, ...]: ...
def kde_sums(
    X: NDArray[numpy.float64],
    Q: NDArray[numpy.float64],
    metric: int,
    p: float,
    finish: int,
    exponent: float,
    window: int,
    bandwidth: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    targets: NDArray[numpy.float64],
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def knn_sets(
    X: NDArray[numpy.uint64],
    Q: NDArray[numpy.uint64],
    columns: int,
    metric: int,
    k: int,
    limits: NDArray[numpy.float64] | None,
    by_distance: bool,
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[Any, ...]: ...
def knn_table(
    D: NDArray[numpy.float64],
    k: int,
    limits: NDArray[numpy.float64] | None,
    by_distance: bool,
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[Any, ...]: ...
@overload
def knn_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    c_data: NDArray[numpy.float64],
    c_indices: NDArray[numpy.int32],
    c_indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    q_data: NDArray[numpy.float64],
    q_indices: NDArray[numpy.int32],
    q_indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    columns: int,
    metric: int,
    k: int,
    limits: NDArray[numpy.float64] | None,
    by_distance: bool,
    finish: int,
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[Any, ...]: ...
@overload
def knn_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    c_data: NDArray[numpy.float64],
    c_indices: NDArray[numpy.int64],
    c_indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    q_data: NDArray[numpy.float64],
    q_indices: NDArray[numpy.int64],
    q_indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    columns: int,
    metric: int,
    k: int,
    limits: NDArray[numpy.float64] | None,
    by_distance: bool,
    finish: int,
    own: NDArray[numpy.int64] | None,
    threads: int,
) -> tuple[Any, ...]: ...
def csv_cut(text: NDArray[numpy.uint8], delimiter: int, quote: int) -> tuple[int, int]: ...
def csv_records(
    text: NDArray[numpy.uint8],
    lines: int,
    delimiter: int,
    quote: int,
    decimal: int,
    place: NDArray[numpy.int32],
    kinds: NDArray[numpy.uint8],
) -> tuple[NDArray[numpy.float64], int, list[bool], NDArray[numpy.int64], NDArray[numpy.int64]] | None: ...

class NgramRules:
    def __init__(
        self,
        analyzer: str,
        min_n: int,
        max_n: int,
        shortest: int,
        lower: bool,
        words: NDArray[numpy.uint8],
        spaces: NDArray[numpy.uint8],
        stop: list[str],
    ) -> None: ...

class TermCounts:
    def __init__(self) -> None: ...
    @property
    def terms(self) -> int: ...
    @property
    def texts(self) -> int: ...
    @property
    def entries(self) -> int: ...
    def insert(self, terms: list[str]) -> None: ...
    def add(self, documents: list[str], rules: NgramRules, threads: int) -> None: ...
    def count(
        self, documents: list[str], rules: NgramRules, column: NDArray[numpy.int64], threads: int
    ) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32]]: ...
    def totals(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]: ...
    def order(self, threads: int) -> NDArray[numpy.int64]: ...
    def matrix(
        self, column: NDArray[numpy.int64], threads: int
    ) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32]]: ...
    def vocabulary(self, column: NDArray[numpy.int64]) -> dict[str, int]: ...

def hash_texts(
    documents: list[str], rules: NgramRules, features: int, alternate: bool, threads: int
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int32], NDArray[numpy.int32]]: ...
@overload
def columns_to_rows(
    columns: Sequence[NDArray[numpy.float64]],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu")],
    threads: int,
) -> None: ...
@overload
def columns_to_rows(
    columns: Sequence[NDArray[numpy.float32]],
    out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    threads: int,
) -> None: ...
@overload
def exp(x: NDArray[numpy.float32]) -> NDArray[numpy.float32]: ...
@overload
def exp(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
@overload
def log1p(x: NDArray[numpy.float32]) -> NDArray[numpy.float32]: ...
@overload
def log1p(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
@overload
def sigmoid(x: NDArray[numpy.float32]) -> NDArray[numpy.float32]: ...
@overload
def sigmoid(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
@overload
def softplus(x: NDArray[numpy.float32]) -> NDArray[numpy.float32]: ...
@overload
def softplus(x: NDArray[numpy.float64]) -> NDArray[numpy.float64]: ...
@overload
def cosine_features(
    x: NDArray[numpy.float32], w: NDArray[numpy.float32], offset: NDArray[numpy.float32], scale: float, threads: int
) -> NDArray[numpy.float32]: ...
@overload
def cosine_features(
    x: NDArray[numpy.float64], w: NDArray[numpy.float64], offset: NDArray[numpy.float64], scale: float, threads: int
) -> NDArray[numpy.float64]: ...
@overload
def take_cosines(
    z: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    offset: NDArray[numpy.float32],
    scale: float,
    threads: int,
) -> None: ...
@overload
def take_cosines(
    z: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    offset: NDArray[numpy.float64],
    scale: float,
    threads: int,
) -> None: ...
def blas_bridge_ready() -> bool: ...
def load_blas_bridge() -> None: ...
@overload
def normal_product_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    level: NDArray[numpy.float64] | None,
    by: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def normal_product_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    level: NDArray[numpy.float64] | None,
    by: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def normal_product_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    level: NDArray[numpy.float64] | None,
    by: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def normal_product_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    level: NDArray[numpy.float64] | None,
    by: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def left_matmul_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def left_matmul_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def left_matmul_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def left_matmul_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def left_matmul_t_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    level: NDArray[numpy.float64] | None,
    by: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def left_matmul_t_csr(
    data: NDArray[numpy.float32],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    level: NDArray[numpy.float64] | None,
    by: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def left_matmul_t_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int32],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    level: NDArray[numpy.float64] | None,
    by: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def left_matmul_t_csr(
    data: NDArray[numpy.float64],
    indices: NDArray[numpy.int64],
    indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
    p: int,
    vectors: NDArray[numpy.float64],
    level: NDArray[numpy.float64] | None,
    by: NDArray[numpy.float64],
    threads: int,
) -> NDArray[numpy.float64]: ...
def kde_tree(
    points: NDArray[numpy.float64],
    boxes: NDArray[numpy.float64],
    leaf: int,
    Q: NDArray[numpy.float64],
    metric: int,
    p: float,
    finish: int,
    exponent: float,
    window: int,
    bandwidth: float,
    log_absolute: float,
    relative: float,
    weight: NDArray[numpy.float64] | None,
    below: NDArray[numpy.float64] | None,
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def pairwise_block(
    X: NDArray[numpy.float32],
    Q: NDArray[numpy.float32] | None,
    base: int,
    function: int,
    gamma: float,
    offset: float,
    degree: float,
    scale: float,
    shift: float,
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def pairwise_block(
    X: NDArray[numpy.float64],
    Q: NDArray[numpy.float64] | None,
    base: int,
    function: int,
    gamma: float,
    offset: float,
    degree: float,
    scale: float,
    shift: float,
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def pairwise_block_float32(
    X: NDArray[numpy.float32],
    Q: NDArray[numpy.float32] | None,
    base: int,
    function: int,
    gamma: float,
    offset: float,
    degree: float,
    scale: float,
    shift: float,
    threads: int,
) -> NDArray[numpy.float32]: ...
@overload
def pairwise_block_float32(
    X: NDArray[numpy.float64],
    Q: NDArray[numpy.float64] | None,
    base: int,
    function: int,
    gamma: float,
    offset: float,
    degree: float,
    scale: float,
    shift: float,
    threads: int,
) -> NDArray[numpy.float32]: ...
@overload
def pairwise_product(
    X: NDArray[numpy.float32],
    Q: NDArray[numpy.float64],
    V: NDArray[numpy.float64],
    base: int,
    function: int,
    gamma: float,
    offset: float,
    degree: float,
    scale: float,
    shift: float,
    threads: int,
) -> NDArray[numpy.float64]: ...
@overload
def pairwise_product(
    X: NDArray[numpy.float64],
    Q: NDArray[numpy.float64],
    V: NDArray[numpy.float64],
    base: int,
    function: int,
    gamma: float,
    offset: float,
    degree: float,
    scale: float,
    shift: float,
    threads: int,
) -> NDArray[numpy.float64]: ...
def pairwise_gradient(
    X: NDArray[numpy.float64],
    Q: NDArray[numpy.float64],
    W: NDArray[numpy.float64],
    moment: int,
    function: int,
    gamma: float,
    offset: float,
    degree: float,
    scale: float,
    shift: float,
    threads: int,
) -> NDArray[numpy.float64]: ...
def dense_newton(
    X: NDArray[numpy.float64],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    shift: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    intercept: bool,
    ridge: NDArray[numpy.float64],
    limits: NDArray[numpy.float64] | None,
    start: NDArray[numpy.float64],
    tol: float,
    allowed: float,
    least: float,
    limit: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], bool]: ...
def dense_centre(X: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def dense_dual(
    X: NDArray[numpy.float64],
    y: NDArray[numpy.float64],
    weight: NDArray[numpy.float64] | None,
    coef: NDArray[numpy.float64],
    intercept: NDArray[numpy.float64],
    loss: str,
    parameter: float,
    free: bool,
    longest: float,
) -> tuple[
    float,
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
    NDArray[numpy.float64],
]: ...
def dense_interior_point(
    X: NDArray[numpy.float64],
    shift: NDArray[numpy.float64],
    at: NDArray[numpy.float64],
    up: NDArray[numpy.float64],
    down: NDArray[numpy.float64],
    intercept: bool,
    ridge: NDArray[numpy.float64],
    start: NDArray[numpy.float64],
    allowed: float,
    limit: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], NDArray[numpy.float64], bool]: ...

class KernelCacheFloat32:
    @overload
    def __init__(
        self,
        X: NDArray[numpy.float32],
        starts: NDArray[numpy.int64],
        base: int,
        function: int,
        gamma: float,
        offset: float,
        degree: float,
        scale: float,
        shift: float,
        bytes: float,
        threads: int,
    ) -> None: ...
    @overload
    def __init__(
        self,
        X: NDArray[numpy.float64],
        starts: NDArray[numpy.int64],
        base: int,
        function: int,
        gamma: float,
        offset: float,
        degree: float,
        scale: float,
        shift: float,
        bytes: float,
        threads: int,
    ) -> None: ...
    @overload
    def __init__(self, function: object, starts: NDArray[numpy.int64], bytes: float, threads: int) -> None: ...
    @property
    def evaluated(self) -> float: ...
    def clear(self) -> None: ...

class KernelCache:
    @overload
    def __init__(
        self,
        X: NDArray[numpy.float32],
        starts: NDArray[numpy.int64],
        base: int,
        function: int,
        gamma: float,
        offset: float,
        degree: float,
        scale: float,
        shift: float,
        bytes: float,
        threads: int,
    ) -> None: ...
    @overload
    def __init__(
        self,
        X: NDArray[numpy.float64],
        starts: NDArray[numpy.int64],
        base: int,
        function: int,
        gamma: float,
        offset: float,
        degree: float,
        scale: float,
        shift: float,
        bytes: float,
        threads: int,
    ) -> None: ...
    @overload
    def __init__(self, function: object, starts: NDArray[numpy.int64], bytes: float, threads: int) -> None: ...
    @property
    def evaluated(self) -> float: ...
    def clear(self) -> None: ...

class SvmDecompositionFloat32:
    def __init__(
        self,
        cache: KernelCacheFloat32,
        segments: NDArray[numpy.int64],
        sample: NDArray[numpy.int32],
        z: NDArray[numpy.float64],
        lo: NDArray[numpy.float64],
        hi: NDArray[numpy.float64],
        extra: NDArray[numpy.float64],
        first: int,
        set: int,
    ) -> None: ...
    def set(self, beta: NDArray[numpy.float64], f: NDArray[numpy.float64]) -> None: ...
    def run(self, violation: float, gap: float, steps: int, rounds: int) -> int: ...
    @property
    def beta(self) -> NDArray[numpy.float64]: ...
    @property
    def f(self) -> NDArray[numpy.float64]: ...
    @property
    def gap(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def operations(self) -> float: ...
    @property
    def multipliers(self) -> tuple[float, float]: ...

class SvmDecomposition:
    def __init__(
        self,
        cache: KernelCache,
        segments: NDArray[numpy.int64],
        sample: NDArray[numpy.int32],
        z: NDArray[numpy.float64],
        lo: NDArray[numpy.float64],
        hi: NDArray[numpy.float64],
        extra: NDArray[numpy.float64],
        first: int,
        set: int,
    ) -> None: ...
    def set(self, beta: NDArray[numpy.float64], f: NDArray[numpy.float64]) -> None: ...
    def run(self, violation: float, gap: float, steps: int, rounds: int) -> int: ...
    @property
    def beta(self) -> NDArray[numpy.float64]: ...
    @property
    def f(self) -> NDArray[numpy.float64]: ...
    @property
    def gap(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def operations(self) -> float: ...
    @property
    def multipliers(self) -> tuple[float, float]: ...

def link_matrix(
    distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")], linkage: int
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]: ...
def link_points(points: NDArray[numpy.float64]) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]: ...
def span_matrix(distances: NDArray[numpy.float64]) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]: ...
def span_points(points: NDArray[numpy.float64]) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]: ...
def span_edges(
    n: int, first: NDArray[numpy.int64], second: NDArray[numpy.int64], distance: NDArray[numpy.float64]
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]: ...
def link_graph(
    n: int,
    first: NDArray[numpy.int64],
    second: NDArray[numpy.int64],
    distance: NDArray[numpy.float64],
    points: NDArray[numpy.float64],
    linkage: int,
    clusters: int,
) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]: ...
def verify_matrix(
    distances: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    slots: NDArray[numpy.int64],
    linkage: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def verify_points(
    points: NDArray[numpy.float64], slots: NDArray[numpy.int64], linkage: int
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def least_of_merges(points: NDArray[numpy.float64], merge: NDArray[numpy.int64]) -> NDArray[numpy.float64]: ...
def smacof_step(
    delta: NDArray[numpy.float64], columns: NDArray[numpy.float64], threads: int
) -> tuple[NDArray[numpy.float64], float, float]: ...
def spectrum_kernel(
    s: NDArray[numpy.float64],
    s_offsets: NDArray[numpy.int64],
    t: NDArray[numpy.float64],
    t_offsets: NDArray[numpy.int64],
    length: int,
    places: NDArray[numpy.int64],
    threads: int,
) -> NDArray[numpy.float64]: ...
def subsequence_kernel(
    s: NDArray[numpy.float64],
    s_offsets: NDArray[numpy.int64],
    t: NDArray[numpy.float64],
    t_offsets: NDArray[numpy.int64],
    length: int,
    decay: float,
    slopes: bool,
    threads: int,
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]: ...
def spectrum_diagonal(
    s: NDArray[numpy.float64], offsets: NDArray[numpy.int64], length: int, places: NDArray[numpy.int64], threads: int
) -> NDArray[numpy.float64]: ...
def subsequence_diagonal(
    s: NDArray[numpy.float64], offsets: NDArray[numpy.int64], length: int, decay: float, slopes: bool, threads: int
) -> NDArray[numpy.float64]: ...

class MlpFloat32:
    def __init__(self, units: NDArray[numpy.int64], hidden: str, output: str) -> None: ...
    @property
    def size(self) -> int: ...
    def gradient(
        self,
        X: NDArray[numpy.float32],
        params: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        gradient: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float32],
        weight: NDArray[numpy.float64] | None,
        threads: int,
    ) -> float: ...
    def epoch(
        self,
        X: NDArray[numpy.float32],
        state: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float32],
        weight: NDArray[numpy.float64] | None,
        order: NDArray[numpy.int64] | None,
        batch: int,
        alpha: float,
        rule: tuple[bool, bool, float, float, float, float],
        steps: float,
        threads: int,
    ) -> tuple[float, float]: ...
    def predict(
        self, X: NDArray[numpy.float32], params: NDArray[numpy.float32], raw: bool, threads: int
    ) -> NDArray[numpy.float32]: ...
    @overload
    def gradient_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        params: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        gradient: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float32],
        weight: NDArray[numpy.float64] | None,
        threads: int,
    ) -> float: ...
    @overload
    def gradient_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        params: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        gradient: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float32],
        weight: NDArray[numpy.float64] | None,
        threads: int,
    ) -> float: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        state: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float32],
        weight: NDArray[numpy.float64] | None,
        order: NDArray[numpy.int64] | None,
        batch: int,
        alpha: float,
        rule: tuple[bool, bool, float, float, float, float],
        steps: float,
        threads: int,
    ) -> tuple[float, float]: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        state: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float32],
        weight: NDArray[numpy.float64] | None,
        order: NDArray[numpy.int64] | None,
        batch: int,
        alpha: float,
        rule: tuple[bool, bool, float, float, float, float],
        steps: float,
        threads: int,
    ) -> tuple[float, float]: ...
    @overload
    def predict_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        params: NDArray[numpy.float32],
        raw: bool,
        threads: int,
    ) -> NDArray[numpy.float32]: ...
    @overload
    def predict_csr(
        self,
        data: NDArray[numpy.float32],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        params: NDArray[numpy.float32],
        raw: bool,
        threads: int,
    ) -> NDArray[numpy.float32]: ...

class MlpFloat64:
    def __init__(self, units: NDArray[numpy.int64], hidden: str, output: str) -> None: ...
    @property
    def size(self) -> int: ...
    def gradient(
        self,
        X: NDArray[numpy.float64],
        params: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float64],
        weight: NDArray[numpy.float64] | None,
        threads: int,
    ) -> float: ...
    def epoch(
        self,
        X: NDArray[numpy.float64],
        state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float64],
        weight: NDArray[numpy.float64] | None,
        order: NDArray[numpy.int64] | None,
        batch: int,
        alpha: float,
        rule: tuple[bool, bool, float, float, float, float],
        steps: float,
        threads: int,
    ) -> tuple[float, float]: ...
    def predict(
        self, X: NDArray[numpy.float64], params: NDArray[numpy.float64], raw: bool, threads: int
    ) -> NDArray[numpy.float64]: ...
    @overload
    def gradient_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        params: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float64],
        weight: NDArray[numpy.float64] | None,
        threads: int,
    ) -> float: ...
    @overload
    def gradient_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        params: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        gradient: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float64],
        weight: NDArray[numpy.float64] | None,
        threads: int,
    ) -> float: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float64],
        weight: NDArray[numpy.float64] | None,
        order: NDArray[numpy.int64] | None,
        batch: int,
        alpha: float,
        rule: tuple[bool, bool, float, float, float, float],
        steps: float,
        threads: int,
    ) -> tuple[float, float]: ...
    @overload
    def epoch_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        state: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        y: NDArray[numpy.float64],
        weight: NDArray[numpy.float64] | None,
        order: NDArray[numpy.int64] | None,
        batch: int,
        alpha: float,
        rule: tuple[bool, bool, float, float, float, float],
        steps: float,
        threads: int,
    ) -> tuple[float, float]: ...
    @overload
    def predict_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int32],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        params: NDArray[numpy.float64],
        raw: bool,
        threads: int,
    ) -> NDArray[numpy.float64]: ...
    @overload
    def predict_csr(
        self,
        data: NDArray[numpy.float64],
        indices: NDArray[numpy.int64],
        indptr: NDArray[numpy.int32] | NDArray[numpy.int64],
        p: int,
        params: NDArray[numpy.float64],
        raw: bool,
        threads: int,
    ) -> NDArray[numpy.float64]: ...

def expect_bigrams(
    transition: NDArray[numpy.float64],
    transposed: NDArray[numpy.float64],
    start: NDArray[numpy.float64],
    gaps: NDArray[numpy.int64],
    weight: NDArray[numpy.float64],
) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64], float]: ...
def isa() -> str: ...
def available_isas() -> list[str]: ...
def set_isa(name: str) -> None: ...
def pool_size() -> int: ...
