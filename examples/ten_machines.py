"""Ten files, ten machines, one model: moments are saved next to the data and merged (Seeger 7.2).

Only a p x p matrix per file is sent; the model equals that of all samples to 1e-12, because these sums are sufficient
for ridge regression (Seeger 7.2).

    python examples/ten_machines.py
"""

import tempfile
from functools import reduce
from pathlib import Path

import numpy as np

from tenfold import Moments, Ridge

MACHINES, ROWS, COLUMNS = 10, 2_000, 8


def rows_of(machine: int) -> tuple[np.ndarray, np.ndarray]:
    """The samples of one machine, of the same model."""
    rng = np.random.default_rng(machine)
    X = rng.standard_normal((ROWS, COLUMNS)) + machine
    return X, X @ np.arange(1.0, COLUMNS + 1) + rng.standard_normal(ROWS)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for machine in range(MACHINES):  # separately
            X, y = rows_of(machine)
            Moments.of(X, y).save(Path(folder) / f"{machine}.npz")
        files = sorted(Path(folder).glob("*.npz"))
        size = sum(file.stat().st_size for file in files)
        total = reduce(Moments.merge, map(Moments.load, files))  # anywhere, in any order
    model = Ridge(alpha=1.0).fit(total)
    X, y = (np.concatenate(part) for part in zip(*map(rows_of, range(MACHINES)), strict=True))
    whole = Ridge(alpha=1.0).fit(X, y)
    print(f"{total.count} rows of {X.nbytes / 1e3:.0f} kB came as {len(files)} files of {size / 1e3:.0f} kB together.")
    print(f"Largest difference to the fit on all rows: {np.abs(model.coef_ - whole.coef_).max():.0e}")
    print(model.certificate_.explain())
    for alpha in (1.0, 100.0, 10_000.0):  # many penalties, no sample is read again
        print(f"alpha {alpha:7.0f}: length of the weights {np.linalg.norm(Ridge(alpha).fit(total).coef_):.4f}")


if __name__ == "__main__":
    main()
