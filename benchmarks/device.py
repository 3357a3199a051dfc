"""Fits on a GPU beside its ceiling and beside the CPU of that machine: `python -m benchmarks.device [rows]`.

Needs torch with CUDA; where there is CuPy, it fits the same arrays. The arrays are made on the device and stay there;
the certificate's cost is counted. The ceiling of a fit are the products that it cannot do without, as the library
itself does them, all rows at once and in float64: float32 is converted in every pass.
"""

import importlib.util
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

import tenfold

COLUMNS = 100
ALPHAS = [10.0**k for k in range(-3, 7)]


def seconds(work: Callable[[], Any], repetitions: int = 7) -> tuple[float, float]:
    """The first call, and the median of the others."""
    times = []
    for _ in range(repetitions + 1):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return times[0], sorted(times[1:])[repetitions // 2]


def kernels(work: Callable[[], Any]) -> float:
    """Seconds that the device is busy, copies included."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
        work()
        torch.cuda.synchronize()
    # what is named after a call of torch is the sum of its kernels
    return sum(e.self_device_time_total for e in seen.key_averages() if not e.key.startswith("aten::")) / 1e6


class Products:
    """Seconds of the products with all rows, by the library itself."""

    def __init__(self, X: torch.Tensor) -> None:
        wide = X.to(torch.float64)
        one, all_alphas = wide[0], wide[: len(ALPHAS)].T.contiguous()
        square, each = wide[:COLUMNS].T.contiguous(), wide[:, 0].contiguous()
        self.convert = 0.0 if X.dtype == torch.float64 else seconds(lambda: X.to(torch.float64))[1]
        self.gram = seconds(lambda: wide.T @ wide)[1]
        self.turn = seconds(lambda: wide @ square)[1]
        self.forth_all = seconds(lambda: wide @ all_alphas)[1]
        self.forth = seconds(lambda: wide @ one)[1]
        self.back = seconds(lambda: wide.T @ each)[1]

    def ceiling(self, model: Any) -> float:
        """Of a fitted model: Ridge takes the Gram matrix, and the judge a product forth and back; leave-one-out turns
        the rows and multiplies them for the fits and for the leverages; a pass of logistic regression is a product
        forth and back, and the start and the judge take a pass each.
        """
        judge = self.convert + self.forth + self.back
        if isinstance(model, tenfold.LogisticRegression):
            return (int(model.n_iter_[0]) + 2) * judge
        result = self.convert + self.gram + judge
        if isinstance(model, tenfold.RidgeCV):
            result += self.convert + self.turn + 2 * self.forth_all
        return result


def main(rows: int) -> None:
    """Print one line a method and precision."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    for dtype in (torch.float64, torch.float32):
        X = torch.randn(rows, COLUMNS, generator=generator, device="cuda", dtype=dtype)
        w = torch.randn(COLUMNS, generator=generator, device="cuda", dtype=dtype)
        noise = torch.randn(rows, generator=generator, device="cuda", dtype=dtype)
        y = X @ w + 3.0 * noise
        second = (y > 0).to(torch.int64)
        host, products = X.cpu().numpy(), Products(X)
        for model, target in (
            (tenfold.Ridge(), y),
            (tenfold.RidgeCV(alphas=ALPHAS), y),
            (tenfold.LogisticRegression(), second),
        ):
            fit = partial(model.fit, X, target)
            first, wall = seconds(fit)
            busy, best, ok = kernels(fit), products.ceiling(model), model.certificate_.ok
            line = f"{type(model).__name__} {rows} x {COLUMNS} {str(dtype)[6:]}: {1e3 * wall:.1f} ms (first"
            line += f" {1e3 * first:.0f}), kernels {1e3 * busy:.1f}, ceiling {1e3 * best:.1f}, {best / wall:.2f} of it"
            here = min(seconds(partial(model.fit, host, target.cpu().numpy()), 1))
            line += f"; CPU {1e3 * here:.0f} ms, {here / wall:.0f} times; certified {ok} and {model.certificate_.ok}"
            if importlib.util.find_spec("cupy"):
                import cupy

                arrays = cupy.from_dlpack(X), cupy.from_dlpack(target)
                line += f"; CuPy {1e3 * seconds(partial(model.fit, *arrays))[1]:.1f} ms"
            print(line, flush=True)
        del X, host, products


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
