"""The data of the benchmark rows: generated from a seed, or read from the folder of real data.

Every maker returns ``(X, y)``. The real files live in ``../shared/data`` beside the repository or in the folder named
by ``TENFOLD_DATA``; where they are absent the maker raises FileNotFoundError and the row is reported as skipped.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification

ROOT = Path(__file__).resolve().parents[1]
FLIGHT_NUMBERS = ("month", "day", "sched_dep_time", "dep_time", "dep_delay", "sched_arr_time", "air_time", "distance")
FLIGHT_WORDS = ("carrier", "origin", "dest")
LENGTH = 20  # of sequences of tokens


def regression(n: int, p: int, dtype: str = "float64", noise: float = 3.0) -> tuple[Any, Any]:
    """Gaussian columns with unequal means, a random linear signal of variance about 1, Gaussian noise."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p)) + random.standard_normal(p)
    y = X @ random.standard_normal(p) / np.sqrt(p) + noise * random.standard_normal(n)
    return X.astype(dtype), y.astype(dtype)


def counts(n: int, p: int) -> tuple[Any, Any]:
    """Counts of mean about 2, that of a row an exponential of a random linear signal of variance about 1/4."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p))
    return X, random.poisson(np.exp(0.5 * X @ random.standard_normal(p) / np.sqrt(p) + 0.5)).astype(np.float64)


def waves(n: int, p: int) -> tuple[Any, Any]:
    """A smooth function of uniform columns, some of them irrelevant, with a tenth of noise."""
    random = np.random.default_rng(0)
    X = random.uniform(-2.0, 2.0, (n, p))
    return X, 3.0 * np.sin(X[:, 0]) * np.cos(0.5 * X[:, -1]) + 0.3 * random.standard_normal(n)


def sides_of_waves(n: int, p: int) -> tuple[Any, Any]:
    """Two classes on the sides of such a function."""
    X, y = waves(n, p)
    return X, (y > 0).astype(np.int64)


def heavy_tails(n: int, p: int) -> tuple[Any, Any]:
    """A linear relation with errors of Student, three degrees of freedom."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p))
    return X, X @ random.standard_normal(p) / np.sqrt(p) + 1.0 + random.standard_t(3, n)


def classes(n: int, p: int) -> tuple[Any, Any]:
    """Two classes drawn from a logistic model: about one sample in five is on the wrong side."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p))
    score = 2.0 * X @ random.standard_normal(p) / np.sqrt(p) + random.logistic(size=n)
    return X, (score > 0).astype(np.int64)


def many_classes(n: int, p: int, count: int) -> tuple[Any, Any]:
    """Classes drawn from a softmax of linear signals."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p))
    score = 2.0 * X @ random.standard_normal((p, count)) / np.sqrt(p) + random.gumbel(size=(n, count))
    return X, np.argmax(score, axis=1)


def clusters(n: int, p: int, count: int = 2) -> tuple[Any, Any]:
    """Classes of one or two clusters each on half of the columns, a tenth of the labels drawn anew."""
    each = 2 if count == 2 else 1
    return make_classification(
        n, p, n_informative=p // 2, n_classes=count, n_clusters_per_class=each, flip_y=0.1, random_state=0
    )


def tagged_words(tokens: int, tags: int, words: int) -> tuple[Any, Any]:
    """Sequences of `LENGTH` tokens of a hidden Markov model: the word of each token and those beside it, one-hot."""
    random = np.random.default_rng(0)
    count = tokens // LENGTH
    move = np.cumsum(random.dirichlet(np.full(tags, 0.1), tags), axis=1)
    emit = np.cumsum(random.dirichlet(np.full(words, 0.02), tags), axis=1)
    y = np.zeros((count, LENGTH), dtype=np.int64)
    y[:, 0] = random.integers(0, tags, count)
    for t in range(1, LENGTH):
        y[:, t] = np.sum(random.random((count, 1)) > move[y[:, t - 1], :-1], axis=1)
    drawn = zip(y.ravel(), random.random(y.size), strict=True)
    word = np.array([np.searchsorted(emit[tag, :-1], u) for tag, u in drawn]).reshape(count, LENGTH)
    edge = np.full((count, 1), words)
    beside = [np.hstack([edge, word[:, :-1]]), word, np.hstack([word[:, 1:], edge])]
    columns = np.stack(beside, axis=2) + np.arange(3) * (words + 1)
    pointers = np.arange(0, 3 * y.size + 1, 3)
    X = sp.csr_array((np.ones(3 * y.size), columns.ravel(), pointers), shape=(y.size, 3 * (words + 1)))
    return X, y.ravel()


def cut(X: Any, y: Any) -> tuple[list[Any], list[Any]]:
    """Tokens as sequences of `LENGTH`."""
    places = range(0, len(y), LENGTH)
    return [X[i : i + LENGTH] for i in places], [y[i : i + LENGTH] for i in places]


def few_columns(n: int, p: int, used: int = 50) -> tuple[Any, Any]:
    """Gaussian features of which only some are informative, with noise of unit variance."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, p))
    w = random.standard_normal(min(used, p))
    return X, X[:, : len(w)] @ w + random.standard_normal(n)


def sparse_few_columns(n: int, p: int, density: float) -> tuple[Any, Any]:
    """Sparse features of which a hundredth is informative."""
    X, _, random = _sparse(n, p, density)
    w = np.zeros(p)
    w[::100] = random.standard_normal(len(w[::100]))
    return X, X @ w + 0.1 * random.standard_normal(n)


def sparse_regression(n: int, p: int, density: float) -> tuple[Any, Any]:
    X, score, random = _sparse(n, p, density)
    return X, score + 0.5 * random.standard_normal(n)


def sparse_classes(n: int, p: int, density: float) -> tuple[Any, Any]:
    X, score, random = _sparse(n, p, density)
    return X, (2.0 * score + random.logistic(size=n) > 0).astype(np.int64)


def many_sparse_classes(n: int, p: int, density: float, count: int) -> tuple[Any, Any]:
    X, _, random = _sparse(n, p, density)
    score = 2.0 * (X @ random.standard_normal((p, count))) / np.sqrt(p * density) + random.gumbel(size=(n, count))
    return X, np.argmax(score, axis=1)


def _sparse(n: int, p: int, density: float) -> tuple[Any, Any, np.random.Generator]:
    random = np.random.default_rng(0)
    X: Any = sp.random_array((n, p), density=density, format="csr", rng=random, data_sampler=random.standard_normal)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, X @ random.standard_normal(p) / np.sqrt(p * density), random


@dataclass(frozen=True)
class Files:
    """Samples in files, generated and written piece by piece, because they may exceed memory."""

    shape: tuple[int, int]
    kind: str  # parquet or csv
    classes: bool
    piece: int = 250_000

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    def pieces(self) -> Iterator[tuple[Any, Any]]:
        """As in `regression`, or its sign under logistic noise."""
        n, p = self.shape
        w = np.random.default_rng(0).standard_normal(p) / np.sqrt(p)
        for start in range(0, n, self.piece):
            random = np.random.default_rng([1, start])
            X = random.standard_normal((min(self.piece, n - start), p))
            noise = random.logistic(size=len(X)) if self.classes else 3.0 * random.standard_normal(len(X))
            yield X, (2.0 * X @ w + noise > 0).astype(np.int64) if self.classes else X @ w + noise

    def write(self, folder: Path) -> None:
        """A file for each piece."""
        import pyarrow as pa
        from pyarrow import csv, parquet

        folder.mkdir()
        names = [*(f"x{j}" for j in range(self.shape[1])), "y"]
        write = {"parquet": parquet.write_table, "csv": csv.write_csv}[self.kind]
        for number, (X, y) in enumerate(self.pieces()):
            write(pa.table([*np.asfortranarray(X).T, y], names=names), folder / f"{number:04}.{self.kind}")


def regression_files(n: int, p: int, kind: str) -> tuple[Any, Any]:
    return Files((n, p), kind, classes=False), None


def classes_files(n: int, p: int, kind: str) -> tuple[Any, Any]:
    return Files((n, p), kind, classes=True), None


def letter(rows: int | None = None) -> tuple[Any, Any]:
    """Letter images: 16 integer features, 26 classes."""
    table = list(_read("letter.csv", rows))
    return _numbers(table, exclude="class"), np.array([row["class"] for row in table])


def magic(rows: int | None = None) -> tuple[Any, Any]:
    """Gamma telescope: 10 features, standardised, two classes."""
    table = list(_read("magic.csv", None))[:: 1 if rows is None else 10]
    X = _numbers(table, exclude="class")
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array([row["class"].strip() for row in table])


def flights(rows: int | None = None, sparse: bool = False) -> tuple[Any, Any]:
    """Arrival delay of flights from standardised numbers and one-hot columns of carrier, origin and destination."""
    needed = (*FLIGHT_NUMBERS, "arr_delay")
    table = [row for row in _read("flights.csv.gz", rows) if not {row[name] for name in needed} & {"", "NA"}]
    numbers = np.array([[float(row[name]) for name in FLIGHT_NUMBERS] for row in table])
    parts = [sp.csr_array((numbers - numbers.mean(axis=0)) / np.maximum(numbers.std(axis=0), 1e-9))]
    for name in FLIGHT_WORDS:
        words, code = np.unique([row[name] for row in table], return_inverse=True)
        cells = (np.ones(len(table)), (np.arange(len(table)), code))
        parts.append(sp.csr_array(cells, shape=(len(table), len(words))))
    X: Any = sp.hstack(parts, format="csr")
    return (X if sparse else X.toarray()), np.array([float(row["arr_delay"]) for row in table])


def mnist(rows: int | None = None) -> tuple[Any, Any]:
    """Handwritten digits as 784 grey values in [0, 1]; ten one-hot targets."""
    with np.load(real_data_folder() / "mnist.npz") as file:
        X, y = file["X_train"][:rows], file["y_train"][:rows]
    return X.reshape(len(X), -1) / 255.0, np.eye(10)[y]


def digits(rows: int | None = None) -> tuple[Any, Any]:
    """The same with the digit as the class."""
    X, one_hot = mnist(rows)
    return X, np.argmax(one_hot, axis=1)


def patches(count: int, side: int = 8) -> tuple[Any, Any]:
    """Square pieces of the digits about their means, those with something in them."""
    X, _ = mnist(max(1000, count))
    rng, images = np.random.default_rng(0), np.asarray(X, dtype=np.float64).reshape(len(X), 28, 28)
    number, row, column = rng.integers(0, (len(X), 29 - side, 29 - side), (8 * count, 3)).T
    pieces = np.lib.stride_tricks.sliding_window_view(images, (side, side), axis=(1, 2))[number, row, column]
    flat = pieces.reshape(len(pieces), -1) / np.max(images)
    flat = flat - flat.mean(axis=1, keepdims=True)
    flat = flat[np.linalg.norm(flat, axis=1) > 0.5][:count]
    return flat, np.zeros(len(flat))


def spam(rows: int | None = None, columns: int = 1 << 18) -> tuple[Any, Any]:
    """E-mails as TF-IDF of hashed words, rows of length one; spam or ham."""
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

    with gzip.open(real_data_folder() / "spamassassin.jsonl.gz", "rt") as file:
        table = [json.loads(line) for line in file][:: 1 if rows is None else 10]
    counts = HashingVectorizer(n_features=columns, alternate_sign=False, norm=None).transform(m["text"] for m in table)
    X: Any = sp.csr_array(TfidfTransformer().fit_transform(counts))
    return X, np.array([message["label"] == "spam" for message in table]).astype(np.int64)


def real_data_folder() -> Path:
    folder = Path(os.environ.get("TENFOLD_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder of real data at {folder}; name one in TENFOLD_DATA")
    return folder


def _read(name: str, rows: int | None) -> Iterator[dict[str, str]]:
    path = real_data_folder() / name
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        for number, row in enumerate(csv.DictReader(file)):
            if number == rows:
                return
            yield row


def _numbers(table: Iterable[dict[str, str]], exclude: str) -> Any:
    return np.array([[float(value) for name, value in row.items() if name != exclude] for row in table])


def save(folder: Path, X: Any, y: Any) -> int:
    """Plain .npy files: a measuring process reads them without a transient that would hide in its peak memory.

    Returns the bytes of X as it is stored.
    """
    if isinstance(X, Files):
        X.write(folder / "rows")
        return sum(path.stat().st_size for path in (folder / "rows").iterdir())
    np.save(folder / "y.npy", y)
    if hasattr(X, "indptr"):
        for name in ("data", "indices", "indptr", "shape"):
            np.save(folder / f"{name}.npy", getattr(X, name))
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    np.save(folder / "X.npy", X)
    return int(X.nbytes)


def load(folder: Path) -> tuple[Any, Any]:
    """X and y; rows of files have their y with them."""
    if (folder / "rows").exists():
        import tenfold

        return tenfold.rows(folder / "rows", target="y"), None
    y = np.load(folder / "y.npy")
    if (folder / "X.npy").exists():
        return np.load(folder / "X.npy"), y
    data, indices, indptr, shape = (np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=tuple(shape)), y


def questions(X: Any) -> Any:
    """Up to a thousand query samples for data in files, with the same feature names."""
    import pandas as pd

    values = np.random.default_rng(2).standard_normal((min(1_000, X.shape[0]), X.shape[1]))
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(X.shape[1])])


def forget(folder: Path) -> None:
    """Drop the files from the page cache, so that they are read from the disk again."""
    for path in (folder / "rows").glob("*"):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def gaussian_classes(n: int, p: int, count: int) -> tuple[Any, Any]:
    """Gaussian classes with different means."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, count, n)
    return rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((count, p))[y], y


def counted_classes(n: int, p: int, count: int) -> tuple[Any, Any]:
    """Classes of counts."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, count, n)
    return rng.poisson(rng.gamma(1.0, 1.0, (count, p))[y]).astype(np.float64), y


def parts(n: int, p: int, k: int) -> tuple[Any, Any]:
    """Sums of k non-negative parts that overlap, and noise."""
    rng = np.random.default_rng(0)
    W, H = (rng.random(shape) * (rng.random(shape) < 0.5) for shape in ((n, k), (k, p)))
    return W @ H + 0.1 * rng.random((n, p)), np.zeros(n)


def directions(n: int, p: int) -> tuple[Any, Any]:
    """Samples with variance along some directions, and noise."""
    rng = np.random.default_rng(0)
    rank = min(p, 100)
    spread = 10.0 * 0.95 ** np.arange(rank)
    X = (rng.standard_normal((n, rank)) * spread) @ rng.standard_normal((rank, p)) / np.sqrt(rank)
    return X + rng.standard_normal((n, p)), np.zeros(n)


def roll(n: int) -> tuple[Any, Any]:
    """A plane that is rolled up."""
    rng = np.random.default_rng(0)
    angle, height = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n)), 21.0 * rng.random(n)
    return np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)]), np.zeros(n)


def strings(n: int, length: int) -> tuple[Any, Any]:
    """Chains of amino acids (n, 1)."""
    letters = np.random.default_rng(0).choice(list("ACDEFGHIKLMNPQRSTVWY"), (n, length))
    return np.array(["".join(row) for row in letters])[:, None], np.zeros(n)


def independent(n: int, p: int) -> tuple[Any, Any]:
    """Mixed sources with heavy tails."""
    rng = np.random.default_rng(0)
    return rng.laplace(size=(n, p)) @ rng.standard_normal((p, p)), np.zeros(n)


def factors(n: int, p: int) -> tuple[Any, Any]:
    """A few factors, and noise of its own for each feature."""
    rng = np.random.default_rng(0)
    k = max(1, p // 8)
    common = rng.standard_normal((n, k)) @ rng.standard_normal((k, p))
    return common + rng.standard_normal((n, p)) * rng.uniform(0.5, 2.0, p), np.zeros(n)


def neighbours_in_a_chain(n: int, p: int) -> tuple[Any, Any]:
    """Features of which each depends on the one before: a precision with three diagonals."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = 0.6 * X[:, j - 1] + 0.8 * X[:, j]
    return X, np.zeros(n)


def rising(n: int) -> tuple[Any, Any]:
    """One feature, and a target that rises with it, with as much noise."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n)
    return x[:, None], x + rng.standard_normal(n)


def two_blocks(n: int, p: int, t: int) -> tuple[Any, Any]:
    """Two blocks of columns with some directions in common, and noise."""
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((n, 2 * min(p, t) // 5))
    blocks = (hidden @ rng.standard_normal((hidden.shape[1], size)) for size in (p, t))
    X, y = (block + 3.0 * rng.standard_normal(block.shape) for block in blocks)
    return X, y


def categories(n: int, p: int, count: int) -> tuple[Any, Any]:
    """Classes of categories, eight in a column."""
    X, y = counted_classes(n, p, count)
    return np.minimum(X, 7.0), y
