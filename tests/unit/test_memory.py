"""Memory: X is not copied, another layout one block at a time, and fits leave nothing behind."""

import gc
import os
import resource
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import tenfold
from estimators import SOLVED, classes, one_a_class, regression

pytestmark = pytest.mark.product

MIB = 1 << 20


def peak(work):
    """The most bytes of NumPy and Python at once while `work` runs, beyond those at its start."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LARGE = [
    tenfold.LinearRegression(),
    tenfold.Ridge(),
    tenfold.RidgeClassifier(),
    tenfold.RidgeCV(cv=3),
    tenfold.LogisticRegression(),
]


@pytest.fixture(scope="module")
def rows():
    """64 MiB of X."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((131_072, 64))
    return X, X[:, 0] + rng.standard_normal(len(X))


@pytest.mark.parametrize("model", LARGE, ids=lambda model: type(model).__name__)
def test_an_array_in_c_order_is_not_copied(rows, model):
    X, y = rows
    y = y > 0 if hasattr(model, "decision_function") else y
    # some vectors of length n, and samples of the rows
    assert peak(lambda: model.fit(X, y)) <= 24 * MIB


@pytest.mark.parametrize(("columns", "ratio", "part"), [(64, 0.0, 0.25), (20, 0.0, 0.5), (20, 1.0, 0.5)])
def test_folds_are_not_copied(rows, columns, ratio, part):
    """Rows of a fold, and those that it left out to be scored, are gathered a piece at a time."""
    X, y = np.ascontiguousarray(rows[0][:, :columns]), rows[1]
    settings = {"Cs": 3, "cv": 5, "l1_ratios": (ratio,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
    model = tenfold.LogisticRegressionCV(solver="saga", **settings)
    assert peak(lambda: model.fit(X, y > 0)) <= part * X.nbytes


@pytest.mark.parametrize("model", LARGE[:2], ids=lambda model: type(model).__name__)
def test_a_fortran_array_is_put_in_order_one_block_at_a_time(rows, model):
    X, y = rows
    other = np.asfortranarray(X)
    # a block of 32 MiB and some vectors
    assert peak(lambda: model.fit(other, y)) <= 48 * MIB


@pytest.mark.parametrize("model", LARGE, ids=lambda model: type(model).__name__)
def test_a_memory_map_is_read_in_place(rows, model, tmp_path):
    X, y = rows
    y = y > 0 if hasattr(model, "decision_function") else y
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert peak(lambda: model.fit(mapped, y)) <= 24 * MIB
    assert peak(lambda: model.predict(mapped)) <= 24 * MIB


@pytest.mark.parametrize("model", LARGE, ids=lambda model: type(model).__name__)
def test_a_table_is_two_blocks_at_a_time(rows, model, tmp_path):
    """Of a file of 256 MiB, two blocks of 32 MiB, a sample of the rows, and vectors of their number."""
    X, y = rows
    np.save(tmp_path / "X.npy", X)
    table = tenfold.rows([tmp_path / "X.npy"] * 4)
    y = np.tile(y > 0 if hasattr(model, "decision_function") else y, 4)
    assert peak(lambda: model.fit(table, y)) <= 120 * MIB
    assert peak(lambda: model.predict(table)) <= 90 * MIB


LIMITED = """
import resource
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import tenfold

MIB, ALLOWED, COLUMNS = 1 << 20, 300, 100
kind, estimator, path = sys.argv[1], sys.argv[2], Path(sys.argv[3])
classifies = estimator.startswith("LogisticRegression")


def virtual(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


rng = np.random.default_rng(0)
X = rng.standard_normal((52_000, COLUMNS))
X = X if kind == "parquet" else np.round(10.0 * X)  # text of whole numbers is soon read
y = X @ np.linspace(-1.0, 1.0, COLUMNS)
y += 0.5 * y.std() * rng.standard_normal(len(X))
table = pa.table([*X.T, y > 0 if classifies else y], names=[*(f"x{j}" for j in range(COLUMNS)), "y"])
{"parquet": pa.parquet.write_table, "csv": pa.csv.write_csv}[kind](table, path)
del X, y, table
model = eval(f"tenfold.{estimator}")
# what imports, pools of threads and a fit of the smallest part of the data take is not counted
model.fit(tenfold.rows(path, target="y"))
limit = virtual("VmSize") + ALLOWED * MIB
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
rows = tenfold.rows([path] * 76, target="y")
assert 8 * rows.shape[0] * rows.shape[1] >= 10 * ALLOWED * MIB
model.fit(rows)
assert model.certificate_.ok
assert 0.5 < model.score(rows) < 0.99
try:
    np.empty(rows.shape)
except MemoryError:
    print("done")
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize(
    "estimator",
    ["Ridge()", "RidgeCV([0.1, 1.0, 10.0])", "RidgeCV([0.1, 1.0, 10.0], cv=5)", "LogisticRegression()"],
)
def test_ten_times_the_memory(kind, estimator, tmp_path):
    """3 GB of rows are fitted in an address space that may grow by 300 MiB; all of them do not fit there."""
    # pools that reserve addresses ahead, or keep what was freed, would hide what is really taken
    honest = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    honest["OMP_NUM_THREADS"] = "2"
    paths = {"PYTHONPATH": os.pathsep.join([str(Path(tenfold.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", LIMITED, kind, estimator, str(tmp_path / f"rows.{kind}")],
        capture_output=True,
        text=True,
        env=os.environ | honest | paths,
    )
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("model", LARGE, ids=lambda model: type(model).__name__)
def test_sparse_rows_never_become_dense(model):
    """400 MiB if they were."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((52_000, 1000), density=0.001, rng=rng, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel() + rng.standard_normal(52_000)
    y = y > 0 if hasattr(model, "decision_function") else y
    # square matrices of 8 MiB each, three folds of them with their factors
    assert peak(lambda: model.fit(X, y)) <= 160 * MIB


@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray], ids=["c", "fortran"])
def test_predictions_do_not_copy(rows, kind):
    X, y = rows
    model = tenfold.Ridge().fit(X[:1000], y[:1000])
    X = kind(X)
    assert peak(lambda: model.predict(X)) <= 72 * MIB if kind is np.asfortranarray else 16 * MIB


@pytest.mark.parametrize("row", one_a_class(SOLVED), ids=lambda row: row.name)
def test_fits_leave_nothing_behind(row):
    """The memory of the process does not grow with the number of fits."""
    X, y, _ = row.data(4000, 30)
    for _ in range(5):
        row.make().fit(X, y)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(60):
        row.make().fit(X, y)
    # KiB; a fit that kept its Gram matrix and vectors would keep 60 times 200 of them
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before <= 6000


def test_a_model_keeps_no_training_data():
    """A pickled model is as small as its weights."""
    import pickle

    X, y, _ = regression(20_000, 10)
    for model in (tenfold.LinearRegression(), tenfold.Ridge(), tenfold.RidgeCV(cv=3)):
        assert len(pickle.dumps(model.fit(X, y))) <= 20_000
    X, y, _ = classes(20_000, 10)
    for model in (tenfold.RidgeClassifier(), tenfold.RidgeClassifierCV(cv=3), tenfold.LogisticRegression()):
        assert len(pickle.dumps(model.fit(X, y))) <= 20_000
