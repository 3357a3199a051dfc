"""Fits on a GPU beside the same fits on the CPU of that machine: `python -m benchmarks.device [rows]`.

Needs torch with CUDA. The arrays are made on the device and stay there; the certificate's cost is counted.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

import tenfold

COLUMNS = 100


def seconds(work: Callable[[], Any], repetitions: int = 5) -> tuple[float, float]:
    """The first call, and the median of the others."""
    times = []
    for _ in range(repetitions + 1):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return times[0], sorted(times[1:])[repetitions // 2]


def main(rows: int) -> None:
    """Print one line a method and precision."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    for dtype in (torch.float64, torch.float32):
        X = torch.randn(rows, COLUMNS, generator=generator, device="cuda", dtype=dtype)
        w = torch.randn(COLUMNS, generator=generator, device="cuda", dtype=dtype)
        noise = torch.randn(rows, generator=generator, device="cuda", dtype=dtype)
        y = X @ w + 3.0 * noise
        host = X.cpu().numpy(), y.cpu().numpy()
        cases = [
            (tenfold.Ridge(), y, host[1]),
            (tenfold.RidgeCV(alphas=[10.0**k for k in range(-3, 7)]), y, host[1]),
            (tenfold.LogisticRegression(), (y > 0).to(torch.int64), host[1] > 0),
        ]
        for model, target, host_target in cases:
            first, there = seconds(partial(model.fit, X, target))
            ok = model.certificate_.ok
            begin = time.perf_counter()
            model.fit(host[0], host_target)
            here = time.perf_counter() - begin
            what = f"{type(model).__name__} {rows} x {COLUMNS} {str(dtype)[6:]}"
            times = f"GPU {there:.4f} s (first {first:.3f}), CPU {here:.3f} s, {here / there:.1f} times"
            print(f"{what}: {times}; certified {ok} and {model.certificate_.ok}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
