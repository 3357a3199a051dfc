"""Fits on worker processes: the bits of one thread, whatever the workers; and what moves."""

import pickle
import sys

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")

from fits import METHODS, bits, in_one_thread, logistic, methods, ridge  # noqa: E402
from sklearn.base import clone  # noqa: E402

import tenfold  # noqa: E402
from tenfold import certify  # noqa: E402
from tenfold.data.dask import Carried, DaskRows, matrix  # noqa: E402
from tenfold.losses.classification import Logistic  # noqa: E402
from tenfold.penalties import L2  # noqa: E402
from tenfold.plans.glm import fit as fit_glm  # noqa: E402
from tenfold.stats.moments import Moments  # noqa: E402

# workers cannot import this file
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@methods
def test_bits_are_those_of_one_thread(client, make_rows, method):
    work, classes = METHODS[method]
    X, y = make_rows(3000, classes=classes)
    fitted = work(X, y)
    assert fitted.certificate.ok
    assert bits(fitted) == in_one_thread(work, X, y)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(tenfold.RidgeCV([0.1, 10.0], cv=3), marks=pytest.mark.slow),
        tenfold.RidgeClassifierCV([0.1, 10.0], cv=3),
        pytest.param(tenfold.RidgeClassifier(class_weight="balanced"), marks=pytest.mark.slow),
        pytest.param(tenfold.LogisticRegression(class_weight="balanced", C=np.inf), marks=pytest.mark.slow),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators(client, make_rows, model):
    """Fit, predictions, score and judge on the workers, and the numbers of one thread."""
    classifier = hasattr(model, "decision_function")
    X, y = make_rows(900, chunks=4, classes=classifier)
    y = y[:, 0].map_blocks(name_classes, dtype="<U3") if classifier else y[:, 0]
    weight = X[:, 0] ** 2

    def results():
        fitted = clone(model).fit(X, y, weight)
        numbers = fitted.coef_, fitted.intercept_, fitted.certificate_.value, fitted.score(X, y, weight)
        return [np.asarray(number).tobytes() for number in (*numbers, certify(fitted, X, y, weight).value)] + [
            fitted.predict(X).compute().tobytes()
        ]

    there = results()
    with dask.config.set(scheduler="synchronous"):
        assert results() == there


def name_classes(signs):
    return np.where(signs > 0, "yes", "no")


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # Dask's own use of pandas
def test_a_frame_of_files(client, make_rows, tmp_path):
    """Lengths that nobody knows are counted by the workers."""
    dd = pytest.importorskip("dask.dataframe")
    X, y = make_rows(900, chunks=4)
    names = [f"column {j}" for j in range(8)]
    dd.from_dask_array(X, columns=names).assign(y=dd.from_dask_array(y[:, 0])).to_parquet(tmp_path)
    frame = dd.read_parquet(tmp_path)
    model = tenfold.Ridge().fit(frame[names], frame["y"])
    assert list(model.feature_names_in_) == names
    np.testing.assert_allclose(model.coef_, tenfold.Ridge().fit(X, y[:, 0]).coef_, rtol=1e-12)
    assert model.score(frame[names], frame["y"]) > 0.5


def test_rows_of_the_workers_memory(client, make_rows):
    X, y = make_rows(3000)
    plain = bits(ridge(X, y))
    X, y = dask.persist(X, y)
    assert bits(ridge(X, y)) == plain


def test_numbers_of_the_client_join_the_rows(client, make_rows):
    X, y = make_rows(3000)
    assert bits(ridge(X, y.compute())) == bits(ridge(X, y))


@pytest.mark.slow
@methods
@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_number_of_workers_changes_no_bit(start_cluster, make_rows, method, count):
    work, classes = METHODS[method]
    X, y = make_rows(20_000, p=40, chunks=37, classes=classes)
    expected = in_one_thread(work, X, y)
    with start_cluster(count) as cluster, distributed.Client(cluster):
        assert bits(work(X, y)) == expected


# -- what moves


def count_traffic():
    """Count what this process writes to Dask's sockets, and what it reads from them, from now on."""
    from distributed.comm import tcp

    if not hasattr(tcp.TCP, "traffic"):
        write, read = tcp.TCP.write, tcp.read_bytes_rw

        async def counting_write(self, *args, **kwargs):
            size = await write(self, *args, **kwargs)
            tcp.TCP.traffic["written"] += size
            return size

        async def counting_read(stream, size):
            tcp.TCP.traffic["read"] += size
            return await read(stream, size)

        tcp.TCP.write, tcp.read_bytes_rw = counting_write, counting_read
    tcp.TCP.traffic = {"written": 0, "read": 0}


def traffic():
    from distributed.comm.tcp import TCP

    return TCP.traffic


def count_bytes(client, work):
    """Bytes on all wires while `work` was done, Dask's own words included, and bytes that came to this process, where
    client and scheduler live.
    """
    client.run(count_traffic)
    count_traffic()
    work()
    here = dict(traffic())
    return here["written"] + sum(there["written"] for there in client.run(traffic).values()), here["read"]


WORDS = 6_000
"""So many bytes, at most, come to client and scheduler about a task."""


def test_only_statistics_move(client, make_rows):
    """Least squares, two passes: what comes to the client is a statistic and Dask's words, whatever the number of rows;
    workers send each other statistics, and now and then a chunk that Dask would rather have elsewhere.
    """
    p, chunks = 60, 12
    small, large = (make_rows(n, p, chunks) for n in (6000, 60_000))
    for X, y in (small, large):
        ridge(X, y)  # the first fit brings modules to the workers
    (_, few), (wires, many) = (count_bytes(client, lambda X=X, y=y: ridge(X, y)) for X, y in (small, large))
    statistic = 8 * (p + 4) ** 2
    assert many <= 2 * (2 * statistic + 2 * chunks * WORDS)
    assert many <= few + 50_000
    assert wires <= 2 * 2 * chunks * (statistic + WORDS) + large[0].nbytes / 2


def test_no_number_of_each_row_comes_to_the_client(client, make_rows, monkeypatch):
    """Logistic regression: a sample goes from worker to worker, and to the client what a pass leaves behind."""
    p, chunks, n = 10, 8, 300_000
    X, y = dask.persist(*make_rows(n, p, chunks, classes=True))
    distributed.wait([X, y])
    passes = []
    fold = DaskRows.fold
    monkeypatch.setattr(DaskRows, "fold", lambda rows, lift: (passes.append(1), fold(rows, lift))[1])
    _, arrived = count_bytes(client, lambda: logistic(X, y))
    # less for a whole fit than one number of each row would be for one pass
    assert arrived < 8 * n
    assert arrived <= len(passes) * (16 * (p + 1) ** 2 + 2 * chunks * WORDS)


class Large:
    """A lift with much to carry."""

    def __init__(self, size):
        self.ballast = np.zeros(size // 8)

    def __call__(self, block):
        return Moments.lift(block)


def test_a_large_lift_is_sent_once(client, make_rows):
    X, y = make_rows(3000, chunks=20)
    rows = DaskRows.of(matrix(X), y)
    rows.fold(Moments.lift)
    size = 12 << 20  # above the size of a graph of which Dask warns
    # to the scheduler, to a worker, and from there to the other
    assert count_bytes(client, lambda: rows.fold(Large(size)))[0] < 3 * size + (1 << 20)


def test_a_lift_carries_no_rows(make_rows):
    sizes = []

    class Spy(DaskRows):
        __slots__ = ()

        def fold(self, lift):
            sizes.append(len(cloudpickle.dumps(lift)))
            return DaskRows.fold(self, lift)

    with dask.config.set(scheduler="synchronous"):
        rows = DaskRows.of(*make_rows(3000, classes=True))
        fit_glm(Spy(rows.X, rows.y), Logistic(), L2(0.0), True, solver="newton", tol=1e-10, max_iter=100)
    assert max(sizes) < 10_000


def test_carried_values_arrive_aligned():
    value = {"odd": b"x", "numbers": np.arange(5.0), "f": lambda x: x + 1}
    result = pickle.loads(cloudpickle.dumps(Carried(value))).value
    np.testing.assert_array_equal(result["numbers"], value["numbers"])
    assert result["numbers"].flags.aligned
    assert result["f"](1) == 2
