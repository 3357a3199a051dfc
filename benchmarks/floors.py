"""The floor of a benchmark: a model of the necessary work, over ceilings measured in the same run.

A floor counts floating-point operations (a multiplication and an addition are two) and bytes read from memory. Its time
is the larger of operations / dgemm rate and bytes / read bandwidth, of memory or of files that the disk must give. It
is a model, good to a factor of two or three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    rows: int
    columns: int
    targets: int
    stored: int  # entries of X that are stored: rows * columns unless X is sparse
    bytes: int  # of X as it is stored
    alphas: int


@dataclass(frozen=True)
class Work:
    flops: float
    bytes: float
    words: str
    ceiling: str = "read_gbytes"  # what gives the bytes: memory or the disk

    def seconds(self, ceilings: dict[str, float]) -> float:
        return max(self.flops / (1e9 * ceilings["dgemm_gflops"]), self.bytes / (1e9 * ceilings[self.ceiling]))


def least_squares(s: Size) -> Work:
    """One symmetric product on the short side (a sparse X: on the stored entries) and one Cholesky factor."""
    short = min(s.rows, s.columns)
    product = s.stored * (s.stored / s.rows if s.stored < s.rows * s.columns else short)
    return Work(product + short**3 / 3, s.bytes, "one symmetric product and a Cholesky factor, one read of X")


def leave_one_out(s: Size) -> Work:
    """The symmetric product, its eigenvectors (9 k^3), the rotation of X, leverages and residuals of every alpha."""
    short, long = sorted((s.rows, s.columns))
    rotation = 2.0 * s.rows * short * short if short == s.columns else 2.0 * s.rows * s.columns
    scores = 2.0 * s.rows * short * s.alphas * (1 + s.targets)
    words = "symmetric product, eigenvectors, rotation, leverages and residuals of every alpha; two reads of X"
    return Work(long * short**2 + 9 * short**3 + rotation + scores, 2 * s.bytes, words)


def k_fold(s: Size) -> Work:
    """One symmetric product, then eigenvectors for each of five folds; every alpha costs k^2 a fold."""
    p = s.columns
    words = "one symmetric product, eigenvectors for each of 5 folds, one read of X"
    return Work(s.rows * p**2 + 5 * (9 * p**3 + 4.0 * s.alphas * p**2), s.bytes, words)


def kernel_factor(s: Size) -> Work:
    """A Cholesky factor of n x n in float32, whose rate is twice that of float64."""
    return Work(
        s.rows**3 / 6 + float(s.rows * s.stored), s.bytes, "the kernel matrix and its Cholesky factor in float32"
    )


def kernel_eigenvectors(s: Size) -> Work:
    """The kernel matrix, ten products of it with 16 vectors in float32, whose rate is twice that of float64, and one
    with 20 in float64.
    """
    flops = float(s.rows) ** 2 * (2.0 * s.columns + 10.0 + 10 * 16 + 2 * 20)
    return Work(flops, 44.0 * s.rows**2, "ten products of the kernel matrix with 16 vectors in float32")


def kernel_systems(s: Size) -> Work:
    """The kernel matrix in float32, and twenty products of it with one vector."""
    flops = float(s.rows) ** 2 * (2.0 * s.columns + 10.0 + 20 * 2)
    return Work(flops, 84.0 * s.rows**2, "the kernel matrix in float32, read twenty times")


def kernel_products(s: Size) -> Work:
    """The products of all rows with all, and an exponential of each, counted as ten operations."""
    return Work(
        2.0 * s.rows * s.stored + 12.0 * s.rows**2, 2.0 * s.bytes, "products and exponentials of all pairs of rows"
    )


def kernel_spectrum(s: Size) -> Work:
    """Eigenvectors of one kernel matrix (9 n^3), and products with them for every alpha."""
    flops = 9.0 * s.rows**3 + 2.0 * s.rows**2 * s.alphas * (1 + s.targets)
    return Work(flops, 16.0 * s.rows**2, "eigenvectors of the kernel matrix, their products for every alpha")


def kernel_grid(s: Size) -> Work:
    """Eigenvectors of five kernel matrices (9 n^3), a symmetric product of each fifth for every alpha."""
    flops = 5 * (9.0 * s.rows**3 + s.alphas * s.rows**3 / 5)
    return Work(flops, 80.0 * s.rows**2, "eigenvectors of five kernel matrices, blocks of five folds for every alpha")


def newton(s: Size) -> Work:
    """One weighted symmetric product and four gradients."""
    words = "one weighted symmetric product, four reads of X with a gradient"
    return Work(s.stored * s.columns + 4 * 4.0 * s.stored, 4 * s.bytes, words)


def softmax(s: Size) -> Work:
    """Eight gradients of all classes."""
    return Work(8 * 4.0 * s.stored * s.targets, 8 * s.bytes, "eight reads of X with a gradient of every class")


def logistic_grid(s: Size) -> Work:
    """Of 20 values of C in 5 folds: ten weighted symmetric products, two gradients of every model."""
    words = "ten weighted symmetric products, two gradients of each of 100 models, twelve reads of X"
    return Work(10.0 * s.stored * s.columns + 200 * 4.0 * s.stored, 12 * s.bytes, words)


def working_set(s: Size) -> Work:
    """Two products of all columns with residuals."""
    return Work(4.0 * s.stored, 2 * s.bytes, "two products of all columns with residuals, two reads of X")


def lasso_path(s: Size) -> Work:
    """A tall X: its symmetric product. A wide one: a product with the residuals of eight penalties at a time."""
    if s.rows >= s.columns:
        return Work(float(s.stored * s.columns), s.bytes, "one symmetric product, one read of X")
    reads = max(1, s.alphas // 8)
    return Work(
        2.0 * s.stored * s.alphas, reads * s.bytes, f"products with the residuals of every alpha, {reads} reads of X"
    )


def lasso_folds(s: Size) -> Work:
    """The same for a hundred alphas and five folds."""
    if s.rows >= s.columns:
        return Work(float(s.stored * s.columns), s.bytes, "one symmetric product, one read of X")
    return Work(2.0 * s.stored * 500, 60 * s.bytes, "products with the residuals of 500 fits, 60 reads of X")


def passes(s: Size) -> Work:
    """Sparse and wide: twenty products with X and its transpose."""
    return Work(20 * 4.0 * s.stored, 20 * s.bytes, "twenty fused products with sparse X and its transpose")


def one_read(s: Size) -> Work:
    """Files: one read from the disk, whatever the number of passes; later ones may find the files in memory."""
    words = "one symmetric product, one read of the files from the disk"
    return Work(float(s.stored * s.columns), s.bytes, words, "disk_gbytes")


def kernel_passes(s: Size) -> Work:
    """Ten passes over the kernel of the rows with 2000 centres: products of features, an exponential, two products."""
    flops = 10.0 * s.rows * 2000.0 * (2.0 * s.columns + 20.0 + 4.0)
    return Work(flops, 10.0 * s.bytes, "ten passes over the kernel of 2000 centres, each tile multiplied twice")


def five_epochs(s: Size) -> Work:
    """Steps of five epochs, one row after the other: two products a row at most, X read five times."""
    return Work(5 * 4.0 * s.stored * s.targets, 5.0 * s.bytes, "five epochs: two products of each row, five reads of X")


def five_network_epochs(s: Size) -> Work:
    """Five epochs of a network of 128 hidden units: three products of each row with the weights, but for the
    derivatives by the samples.
    """
    weights = s.columns * 128.0 + 128.0 * s.targets
    return Work(
        5.0 * s.rows * (4.0 * weights + 2.0 * 128.0 * s.targets), 5.0 * s.bytes, "five epochs: forward, back, gradient"
    )


def five_taggings(s: Size) -> Work:
    """Five epochs of Viterbi's recursion: a sum and a maximum for every pair of tags, and the features of tokens."""
    flops = 5.0 * (2.0 * s.rows * s.targets**2 + 2.0 * s.stored * s.targets)
    return Work(flops, 5.0 * s.bytes, "five epochs: a sum and a maximum for every token and pair of tags")


def class_sums(s: Size) -> Work:
    """Sums of the columns of each class, and a product of the rows with all classes."""
    return Work(s.stored * (2.0 + 4.0 * s.targets), 2.0 * s.bytes, "sums of columns and a product, two reads of X")


def class_moments(s: Size) -> Work:
    """The products of the columns, and a product of the rows."""
    words = "one symmetric product and one with few columns, two reads of X"
    return Work(float(s.stored * s.columns) + 2.0 * s.stored * s.targets, 2.0 * s.bytes, words)


def factor_steps(s: Size) -> Work:
    """The products of the columns, and three eigendecompositions of p x p."""
    work = class_moments(s)
    return Work(work.flops + 3 * 9.0 * s.columns**3, work.bytes, work.words + ", three eigendecompositions")


def contrast_steps(s: Size) -> Work:
    """The products of the columns, and ten steps: two products of each row and a hyperbolic tangent, counted as twenty
    operations, of each source.
    """
    flops = float(s.stored * s.columns) + 10 * s.stored * (4.0 * s.columns + 20.0)
    return Work(flops, 11.0 * s.bytes, "one symmetric product, ten steps of two products and a tangent, 11 reads of X")


def lasso_sweeps(s: Size) -> Work:
    """The products of the columns, and two sweeps: one product of p x p for each column, and one inverse."""
    work = class_moments(s)
    return Work(work.flops + 2 * 4.0 * s.columns**3, work.bytes, work.words + ", two sweeps and inverses")


def sort_once(s: Size) -> Work:
    """A sort, counted as twenty comparisons a sample, and ten reads."""
    return Work(20.0 * s.rows, 10.0 * 16.0 * s.rows, "a sort, ten reads of x and y")


def joint_moments(s: Size) -> Work:
    """The products of all columns of X and y, and a product of the rows with few vectors."""
    columns = s.columns + s.targets
    words = "one symmetric product of both blocks, two reads of them"
    return Work(float(s.rows * columns**2), 2.0 * s.bytes * columns / s.columns, words)


def class_forms(s: Size) -> Work:
    """The products of the columns, and a quadratic form of each row for each class in float32, whose rate is twice that
    of float64.
    """
    words = "one symmetric product and a quadratic form in float32 of each row and class, two reads of X"
    return Work(float(s.stored * s.columns) * (1.0 + 0.5 * s.targets), 2.0 * s.bytes, words)


def few_components(s: Size) -> Work:
    """Block Lanczos: five pairs of products with sixty vectors."""
    return Work(5 * 4.0 * 60 * s.stored, 10.0 * s.bytes, "five pairs of products with sixty vectors, ten reads of X")


def twenty_alternations(s: Size) -> Work:
    """Twenty steps of alternating least squares with twenty components: two products with X each."""
    return Work(20 * 4.0 * 20 * s.stored, 40.0 * s.bytes, "twenty pairs of products with twenty vectors, 40 reads of X")


def thirty_steps(s: Size) -> Work:
    """Thirty steps of EM with full covariances: a triangle's product and a symmetric one of each row and component."""
    words = "thirty steps: a triangle's product and a symmetric one of each row and component, 31 reads of X"
    return Work(30 * 2.0 * s.stored * (s.columns + 1) * s.targets, 31.0 * s.bytes, words)


def evidence(s: Size) -> Work:
    """Four evaluations of a Gaussian process's evidence: a Cholesky factor and an inverse of the kernel matrix each."""
    words = "four Cholesky factors and inverses of the kernel matrix"
    return Work(4 * 2.0 * s.rows**3, 4 * 8.0 * s.rows**2, words)


def deviations(s: Size) -> Work:
    """For five sixths of the rows a triangular solve with the factor of the others."""
    n = s.rows / 6
    return Work(5 * n * n**2, 5 * 8.0 * n**2, "a triangular solve for each query")


def neighbours(s: Size) -> Work:
    """The products of a tenth of the rows with all, in float32, whose rate is twice that of float64."""
    words = "products in float32 of a tenth of the rows with all, one read of X"
    return Work(0.1 * s.rows * s.stored, float(s.bytes), words)


def thousand_neighbours(s: Size) -> Work:
    """Files: one read from the disk, whatever the products of a thousand rows with all of theirs take beside it."""
    words = "products in float32 of a thousand rows with all, one read of the files from the disk"
    return Work(1_000.0 * s.stored, s.bytes, words, "disk_gbytes")


def all_pairs(s: Size) -> Work:
    """The products of all rows with all, in float32, twice: for the errors and for the answers."""
    words = "products in float32 of all rows with all, twice"
    return Work(2.0 * s.rows * s.stored, 2.0 * s.bytes, words)


def clusters(s: Size) -> Work:
    """Greedy k-means++ with 2 + log k candidates a seed, and the nearest centre of every row three times (the first
    step, the labels, the judge), by products in float32, whose rate is twice that of float64. Bounds can make all other
    steps as cheap as reading them.
    """
    trials = 2 + int(math.log(s.targets))
    flops = s.stored * s.targets * (trials + 3.0)
    words = f"seeds from {trials} candidates each and three assignments in float32, {3 + s.targets // 2} reads of X"
    return Work(flops, (3.0 + 0.5 * s.targets) * s.bytes, words)
