"""Fits from many Python threads, after a fork and in worker processes: equal results, and no hang."""

import os
import pickle
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

from estimators import SHAPES, SOLVED, one_a_class, parameters, regression

# one row a class is enough here: what is tested is the machinery below them
ROWS = one_a_class(SOLVED)
every_class = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
HERE = Path(__file__).parents[1]


def large(row):
    """Enough rows that our own threads are used."""
    return row.data(6000, 24)


def bits(model):
    return parameters(model).tobytes() + np.float64(model.certificate_.value).tobytes()


@pytest.mark.product
@every_class
def test_eight_python_threads_at_once(row):
    X, y, _ = large(row)
    alone = bits(row.make().fit(X, y))
    result, errors, start = [None] * 8, [], threading.Barrier(8)

    def work(k):
        try:
            start.wait(timeout=30)
            result[k] = [bits(row.make().fit(X, y)) for _ in range(3)]
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert not any(worker.is_alive() for worker in workers), "a fit hangs"
    assert not errors
    assert all(part == alone for parts in result for part in parts)


def test_different_estimators_at_once():
    """Each thread has its own data and class; none disturbs another."""
    jobs = [(row, large(row)) for row in ROWS]
    alone = [bits(row.make().fit(data.X, data.y)) for row, data in jobs]
    result = [None] * len(jobs)

    def work(k):
        row, data = jobs[k]
        result[k] = [bits(row.make().fit(data.X, data.y)) for _ in range(4)]

    workers = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(len(jobs))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert not any(worker.is_alive() for worker in workers), "a fit hangs"
    assert result == [[one] * 4 for one in alone]


def run_script(script, timeout=120):
    """The script in a fresh interpreter; a hang is an error."""
    path = os.pathsep.join([str(HERE), *(entry for entry in sys.path if entry)])
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(script)],
        capture_output=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_after_fork():
    """The parent's threads do not exist in the child: it starts its own, and both go on with equal results."""
    out = run_script(
        """
        import os, signal, sys
        import numpy as np
        from estimators import SOLVED, one_a_class, parameters

        rows = one_a_class(SOLVED)
        data = [row.data(6000, 24) for row in rows]

        def fits():
            return b"".join(parameters(row.make().fit(X, y)).tobytes() for row, (X, y, _) in zip(rows, data))

        before = fits()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            same = fits() == before
            # and once more from the child's child
            grandchild = os.fork()
            if grandchild == 0:
                signal.alarm(60)
                os._exit(0 if fits() == before else 1)
            _, status = os.waitpid(grandchild, 0)
            os.write(writing, b"same" if same and status == 0 else b"other")
            os._exit(0)
        os.close(writing)
        assert fits() == before
        answer = os.read(reading, 10)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        sys.stdout.write(answer.decode())
        """
    )
    assert out == b"same"


def test_fork_while_other_threads_fit():
    """A child that is born while fits run in other threads can still fit."""
    out = run_script(
        """
        import os, signal, sys, threading
        from estimators import regression, parameters
        from tenfold import Ridge

        X, y, _ = regression(20_000, 32)
        expected = parameters(Ridge().fit(X, y)).tobytes()
        stop = threading.Event()

        def work():
            while not stop.is_set():
                Ridge().fit(X, y)

        workers = [threading.Thread(target=work, daemon=True) for _ in range(3)]
        for worker in workers:
            worker.start()
        good = 0
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                os._exit(0 if parameters(Ridge().fit(X, y)).tobytes() == expected else 1)
            _, status = os.waitpid(child, 0)
            good += status == 0
        stop.set()
        for worker in workers:
            worker.join(timeout=30)
        assert parameters(Ridge().fit(X, y)).tobytes() == expected
        sys.stdout.write(str(good))
        """
    )
    assert out == b"10"


@pytest.mark.parametrize(
    "backend", ["loky", *(pytest.param(name, marks=pytest.mark.slow) for name in ("threading", "multiprocessing"))]
)
def test_in_workers_of_joblib(backend):
    out = run_script(
        f"""
        import sys
        from joblib import Parallel, delayed
        from estimators import SOLVED, one_a_class, parameters
        from tenfold.machine import threads

        def fit(k):
            rows = one_a_class(SOLVED)
            row = rows[k]
            X, y, _ = row.data(6000, 24)
            return parameters(row.make().fit(X, y)).tobytes(), threads()

        if __name__ == "__main__":
            names = {{row.name for row in SOLVED}}
            alone = [fit(k)[0] for k in range(len(names))]
            with Parallel(n_jobs=2, backend={backend!r}, timeout=90) as parallel:
                found = parallel(delayed(fit)(k) for k in list(range(len(names))) * 2)
            assert [one for one, _ in found] == alone * 2
            if {backend!r} == "loky":
                # two workers on a machine share its cores: none of them may take more than its part
                import os
                assert max(count for _, count in found) <= max(1, len(os.sched_getaffinity(0)) // 2)
            sys.stdout.write("same")
        """
    )
    assert out == b"same"


@pytest.mark.slow
def test_in_cross_validation_of_scikit_learn():
    from sklearn.model_selection import cross_val_score

    X, y, _ = regression(400, 5)
    from tenfold import Ridge

    alone = cross_val_score(Ridge(), X, y, n_jobs=1)
    np.testing.assert_array_equal(cross_val_score(Ridge(), X, y, n_jobs=2), alone)


@pytest.mark.parametrize("row", SOLVED, ids=lambda row: row.id)
def test_models_travel_between_processes(row):
    """A pickled model predicts the same and keeps its certificate."""
    data = SHAPES["tall"](row)
    model = row.make().fit(data.X, data.y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
    assert again.certificate_ == model.certificate_
    assert again.certificate_.ok
    assert again.certificate_.explain() == model.certificate_.explain()


def test_ctrl_c_leaves_a_usable_model():
    """The signal of Ctrl-C ends an iterative fit at its last complete step, and the certificate says so."""
    out = run_script(
        """
        import os, signal, sys, warnings
        import numpy as np
        from estimators import classes
        from tenfold import LogisticRegression

        class Finger:
            count = 0

            def setup(self, estimator, context): ...
            def teardown(self, estimator, context): ...
            def on_fit_task_begin(self, estimator, context): ...

            def on_fit_task_end(self, estimator, context):
                Finger.count += 1
                if Finger.count == 2:
                    os.kill(os.getpid(), signal.SIGINT)

        warnings.simplefilter("ignore")
        X, y, _ = classes(2000, 10)
        model = LogisticRegression(C=1e4, tol=1e-14).set_callbacks(Finger()).fit(X, y)
        assert np.isfinite(model.coef_).all()
        assert np.abs(model.coef_).max() > 0
        model.predict(X)
        sys.stdout.write(model.certificate_.status)
        """
    )
    assert out == b"interrupted"
