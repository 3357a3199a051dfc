"""What one fresh process does: make the data of a row, time a contender, judge what was fitted, measure the ceilings.

Called as ``python -m benchmarks.process TASK JSON``; the answer is one line of JSON on the standard output.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WARM_SECONDS, WARM_CALLS, LONG = 1.0, 500, 10.0


def imports(library: str) -> dict[str, Any]:
    """Seconds to import what a user of the library imports (no other package is loaded yet)."""
    start = time.perf_counter()
    module = importlib.import_module(library)
    module.Ridge  # noqa: B018  ours is loaded at its first use
    return {"seconds": time.perf_counter() - start, "version": _version(library) or getattr(module, "__version__", "?")}


def make(row: str, quick: bool, folder: str) -> dict[str, Any]:
    import numpy as np

    from benchmarks import data, floors, table

    chosen = table.named(row)
    X, y = chosen.make(*(chosen.quick if quick else chosen.size))
    size = data.save(Path(folder), X, y)
    stored = X.nnz if hasattr(X, "indptr") else X.size
    several = chosen.estimator == "RidgeClassifier" or chosen.floor is floors.softmax
    several |= chosen.call in ("sequences", "fit and answer", "fit and ask")
    targets = y.shape[1] if np.ndim(y) == 2 else len(set(y)) if several else 1
    shape = {"rows": X.shape[0], "columns": X.shape[1], "targets": targets, "stored": stored}
    alphas = chosen.params.get("alphas", ())
    return shape | {"bytes": size, "alphas": alphas if isinstance(alphas, int) else len(alphas)}


def measure(row: str, library: str, params: dict[str, Any], folder: str, keep: str) -> dict[str, Any]:
    """Time one contender: the first call, then calls until a second has passed; peak memory of the first call."""
    import numpy as np

    from benchmarks import data, table

    chosen = table.named(row)
    try:
        module = importlib.import_module(table.home(library, chosen.estimator))
        estimator = getattr(module, chosen.estimator)
    except (ImportError, AttributeError) as reason:
        return {"status": "absent", "note": str(reason)}
    X, y = data.load(Path(folder))
    model = _Path(estimator, chosen.params | params) if chosen.call == "path" else estimator(**(chosen.params | params))
    if chosen.call == "sequences":
        X, y = data.cut(X, y)
    if chosen.call in ("read and fit", "read, fit and keep"):

        def call() -> Any:
            return model.fit(*data.load(Path(folder)))
    elif chosen.call == "fit and answer":

        def call() -> Any:
            fitted = model.fit(X, y)
            if not hasattr(fitted, "predict") and not hasattr(fitted, "transform"):
                return fitted  # it answers of its own samples alone
            return fitted.predict(X) if hasattr(fitted, "predict") else fitted.transform(X)
    elif chosen.call == "fit and ask":

        def call() -> Any:
            fitted, few = model.fit(X, y), X[: X.shape[0] // 10]
            return fitted.kneighbors(few) if hasattr(fitted, "kneighbors") else fitted.score_samples(few)
    elif chosen.call == "fit and ask files":
        queries = data.questions(X)

        def call() -> Any:
            return model.fit(data.load(Path(folder))[0]).kneighbors(queries)
    elif chosen.call == "deviations":
        model.fit(X[: len(X) // 6], y[: len(X) // 6])

        def call() -> Any:
            return model.predict(X[len(X) // 6 :], return_std=True)
    elif chosen.call == "fit and then answer":
        model.fit(X, y)

        def call() -> Any:
            return model.predict(X)
    elif chosen.call in ("fit", "path", "sequences", "evaluate", "fit and keep"):

        def call() -> Any:
            return model.fit(X, y)
    else:
        model.fit(X, y)
        one = X[:1].copy()

        def call() -> Any:
            return model.predict(one)

    files = Path(folder, "rows").exists()
    disk = [_plain_read(Path(folder))] if files else []
    data.forget(Path(folder))
    before, others = _peak(), _Others()
    seconds = [_time(call)]
    memory = _peak() - before
    if seconds[0] < LONG or library in table.COMPILE:
        end = time.perf_counter() + WARM_SECONDS
        while len(seconds) < 3 or (time.perf_counter() < end and len(seconds) < WARM_CALLS):
            data.forget(Path(folder))
            seconds.append(_time(call))
    busy = others.share()
    disk += [_plain_read(Path(folder))] if files else []
    kept = ("transition", "start", "end") if chosen.call == "sequences" else ("intercept",)
    if chosen.call.startswith("fit and") or chosen.call in (
        "deviations",
        "read, fit and keep",
    ):  # there are no weights to put into another model: it is judged as it is
        attributes = {"model": np.frombuffer(pickle.dumps(model), dtype=np.uint8)}
    elif chosen.call == "evaluate":
        attributes = {"losses": np.stack(list(model.losses_.values()))}
    else:
        attributes = {name: getattr(model, f"{name}_") for name in ("coef", *kept)}
    attributes |= {name: getattr(model, f"{name}_") for name in ("alpha", "C") if hasattr(model, f"{name}_")}
    if chosen.call == "predict one row":
        attributes["prediction"] = model.predict(X[:100])
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in attributes.items()}
    np.savez(keep, **arrays)
    warm = float(np.median(seconds[1:] or seconds))
    answer = {"status": "ok", "first": seconds[0], "seconds": warm, "calls": len(seconds), "memory": memory}
    return answer | {"certificate": _own_certificate(model), "others": busy, "disk": min(disk, default=None)}


class _Path:
    """A function that computes a path in the shape of an estimator; some of its fits are kept to be judged."""

    def __init__(self, function: Callable[..., Any], params: dict[str, Any]) -> None:
        self.function, self.params = function, params

    def fit(self, X: Any, y: Any) -> None:
        alphas, coefs, _ = self.function(X, y, **self.params)
        some = slice(len(alphas) // 4, None, max(1, len(alphas) // 4))
        self.coef_, self.alpha_, self.intercept_ = coefs.T[some], alphas[some], 0.0


def judge(row: str, folder: str, kept: list[str]) -> list[dict[str, Any]]:
    import numpy as np

    from benchmarks import data, quality, table

    X, y = data.load(Path(folder))
    return [quality.judge(table.named(row), X, y, dict(np.load(path))) for path in kept]


def ceilings(quick: bool) -> dict[str, float]:
    """Rates of scipy's dgemm, of reading an array much larger than the caches, and of reading a file that the system
    does not hold in memory; the best of several calls.
    """
    import numpy as np
    from scipy.linalg.blas import ddot, dgemm

    n, length = (256, 1 << 20) if quick else (2048, 1 << 26)
    A = np.asfortranarray(np.random.default_rng(0).standard_normal((n, n)))
    x = np.ones(length)
    product = min(_time(lambda: dgemm(1.0, A, A)) for _ in range(5))
    read = min(_time(lambda: ddot(x, x)) for _ in range(5))
    rates = {"dgemm_gflops": 2e-9 * n**3 / product, "read_gbytes": 8e-9 * length / read}
    return rates | {"disk_gbytes": 8e-9 * length / _disk_seconds(x)}


def _disk_seconds(x: Any) -> float:
    """Plain reading of a file with the bytes of x."""
    with tempfile.TemporaryDirectory(prefix="tenfold-bench-") as folder:
        path = Path(folder, "rows", "bytes")
        path.parent.mkdir()
        x.tofile(path)
        return min(_plain_read(Path(folder)) for _ in range(3))


def _plain_read(folder: Path) -> float:
    """Seconds of reading the data files from the disk, without decoding."""
    from benchmarks import data

    def read() -> None:
        buffer = bytearray(1 << 22)
        for path in sorted((folder / "rows").iterdir()):
            with open(path, "rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass

    data.forget(folder)
    return _time(read)


def _time(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _peak() -> float:
    """Largest resident memory of this process so far, in MiB.

    On Linux VmHWM is read, because ru_maxrss of a fresh process begins at the memory of its parent.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    for line in lines:
        if line.startswith("VmHWM"):
            return float(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


class _Others:
    """Processor time of other processes: a threaded BLAS beside them can take twenty times as long."""

    def __init__(self) -> None:
        self.start = self._now()

    def share(self) -> float | None:
        """Fraction of the machine's processor time since the start that other processes used; None where unknown."""
        before, after = self.start, self._now()
        if before is None or after is None or after[1] - before[1] < 0.2:
            return None
        return max(0.0, after[0] - before[0]) / (after[1] - before[1])

    @staticmethod
    def _now() -> tuple[float, float] | None:
        """Seconds of all processors that others used, and seconds in all."""
        path = Path("/proc/stat")
        if not path.exists():
            return None
        ticks = [float(word) for word in path.read_text().splitlines()[0].split()[1:9]]
        total, idle = sum(ticks) / os.sysconf("SC_CLK_TCK"), sum(ticks[3:5]) / os.sysconf("SC_CLK_TCK")
        return total - idle - time.process_time(), total


def _own_certificate(model: Any) -> dict[str, Any] | None:
    certificate = getattr(model, "certificate_", None)
    if certificate is None:
        return None
    return {"kind": certificate.kind, "value": float(certificate.value), "ok": bool(certificate.ok)}


def _version(library: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    package = {"sklearn": "scikit-learn", "sklearnex": "scikit-learn-intelex"}.get(library.split(".")[0], library)
    try:
        return version(package)
    except PackageNotFoundError:
        return None


TASKS: dict[str, Callable[..., Any]] = {
    "imports": imports,
    "make": make,
    "measure": measure,
    "judge": judge,
    "ceilings": ceilings,
}

if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):  # for libraries that do not obey OMP_NUM_THREADS
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(os.environ.get("OMP_NUM_THREADS", 1 << 20))])
    print(json.dumps(TASKS[sys.argv[1]](**json.loads(sys.argv[2]))))
