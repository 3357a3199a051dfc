"""Falkon on a GPU beside its ceiling and beside the CPU of that machine: `python -m benchmarks.device_falkon [rows]`.

Needs torch with CUDA. The samples are made on the device and stay there; the certificate's cost is counted. The ceiling
of a fit are its passes: the distances of all samples to the centres by products in float64, and two products of the
kernel with a vector, as many as there were steps, and two more for the right side and the judge. Factors of the kernel
of the centres are made on the host and are no part of the ceiling.
"""

import sys
from functools import partial
from typing import Any

import torch

import tenfold
from benchmarks.device import COLUMNS, kernels, seconds

CENTRES = 5_000
HOST_ROWS = 50_000  # of the fit on the CPU, whose time is scaled to all rows
TILE = 1 << 27  # kernel values at a time


def time_pass(X: torch.Tensor, Z: torch.Tensor, gamma: float) -> float:
    """Seconds of one pass over the kernel, without anything around it."""
    d, rows = torch.ones(len(Z), dtype=torch.float64, device="cuda"), max(1, TILE // len(Z))
    squares = (Z * Z).sum(dim=1)

    def work() -> Any:
        total = torch.zeros_like(d)
        for start in range(0, len(X), rows):
            part = X[start : start + rows].to(torch.float64)
            K = torch.exp(-gamma * ((part * part).sum(dim=1)[:, None] + squares - 2.0 * part @ Z.T).clamp_(min=0.0))
            total += K.T @ (K @ d)
        return total

    return seconds(work, 3)[1]


def main(rows: int) -> None:
    """Print one line a precision."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    for dtype in (torch.float64, torch.float32):
        X = torch.randn(rows, COLUMNS, generator=generator, device="cuda", dtype=dtype)
        noise = torch.randn(rows, generator=generator, device="cuda", dtype=dtype)
        y = torch.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * noise
        gamma = 0.2 / COLUMNS
        model = tenfold.Falkon(1e-6, gamma=gamma, centres=CENTRES, random_state=0)
        first, wall = seconds(partial(model.fit, X, y), 1)
        busy = kernels(partial(model.fit, X, y))
        ceiling = (model.n_iter_ + 2) * time_pass(X, model.centres_.to(torch.float64), gamma)
        score = model.score(X[:100_000], y[:100_000])
        line = f"Falkon {rows} x {COLUMNS} {str(dtype)[6:]}, {len(model.centres_)} centres: {wall:.2f} s "
        line += f"(first {first:.2f}), {model.n_iter_} steps, kernels {busy:.2f}, ceiling {ceiling:.2f}, "
        line += f"{ceiling / wall:.2f} of it; R2 {score:.3f}"
        line += f"; certified {model.certificate_.ok}; {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"
        few = slice(None, min(rows, HOST_ROWS))
        host = tenfold.Falkon(1e-6, gamma=gamma, centres=CENTRES, random_state=0)
        here = min(seconds(partial(host.fit, X[few].cpu().numpy(), y[few].cpu().numpy()), 1))
        print(f"{line}; CPU {here:.1f} s for {min(rows, HOST_ROWS)} rows", flush=True)
        print(model.certificate_.explain(), flush=True)
        del X, y, noise


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
