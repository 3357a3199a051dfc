"""Early stopping is regularisation: training error falls with every step, the error on new samples turns.

Gradient descent (Landweber), the nu-method and principal components on 20 powers of x; the step is chosen by exact
leave-one-out (Rosasco 4.3 and 8.1, Seeger 7.2.1). Writes early_stopping.png where matplotlib is installed.
"""

import numpy as np

from tenfold import SpectralFilter


def curve(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Legendre polynomials of x, noisy values of sin(2 pi x), and the values."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    truth = np.sin(2.0 * np.pi * x)
    return np.polynomial.legendre.legvander(2.0 * x - 1.0, 19)[:, 1:], truth + 0.25 * rng.standard_normal(n), truth


def main() -> None:
    X, y, _ = curve(30, 0)
    test, _, truth = curve(1000, 1)
    paths = {}
    for method, steps in (("landweber", 2000), ("nu", 100), ("pcr", 19)):
        model = SpectralFilter(method, n_steps=steps).fit(X, y)
        training = [float(np.mean((fit - y) ** 2)) for fit in model.predict_path(X)]
        new = [float(np.mean((fit - truth) ** 2)) for fit in model.predict_path(test)]
        paths[method] = (training, new, model.step_)
        print(
            f"{method:10} stops at {model.step_:4d} of {len(new) - 1:4d}: error {new[model.step_]:.4f}, "
            f"best {min(new):.4f} at {int(np.argmin(new))}, last {new[-1]:.4f}; certified: {model.certificate_.ok}"
        )
    draw(paths)


def draw(paths: dict[str, tuple[list[float], list[float], int]]) -> None:
    """Training error and error on new samples along the steps."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, axes = plt.subplots(1, len(paths), figsize=(12, 3.5), sharey=True)
    for place, (method, (training, new, step)) in zip(axes, paths.items(), strict=True):
        place.loglog(np.arange(1, len(training)), training[1:], label="training")
        place.loglog(np.arange(1, len(new)), new[1:], label="new samples")
        place.axvline(step, linestyle=":", label="leave-one-out")
        place.set(title=method, xlabel="step")
    axes[0].set_ylabel("mean squared error")
    axes[0].legend()
    figure.savefig("early_stopping.png", bbox_inches="tight")


if __name__ == "__main__":
    main()
