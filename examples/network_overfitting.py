"""A network that fits the noise: early stopping against weight decay (Seeger 3.4, 7.2.1).

Without either the error on the samples falls with every epoch, and the error on new samples turns. Weight decay has a
strength to choose, early stopping an epoch. Writes network_overfitting.png where matplotlib is installed.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold import MLPRegressor, certify

warnings.simplefilter("ignore", ConvergenceWarning)

EPOCHS = 600
NETWORK = {"hidden_layer_sizes": (60,), "activation": "tanh", "learning_rate_init": 0.02, "random_state": 0}


def samples(n: int, seed: int, noise: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Waves of x, and noisy values of sin(3 x)."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-np.pi, np.pi, n)
    phase = x[:, None] * np.arange(1, 9)
    return np.hstack([np.cos(phase), np.sin(phase)]), np.sin(3.0 * x) + noise * rng.standard_normal(n)


def follow(alpha: float) -> tuple[list[float], list[float], MLPRegressor]:
    """Errors on the samples and on new ones after each tenth epoch, and the network."""
    (X, y), (new, truth) = samples(80, 0), samples(500, 1, noise=0.0)
    model = MLPRegressor(alpha=alpha, **NETWORK)
    training, test = [], []
    for _ in range(EPOCHS // 10):
        for _ in range(10):
            model.partial_fit(X, y)
        training.append(float(np.mean((model.predict(X) - y) ** 2)))
        test.append(float(np.mean((model.predict(new) - truth) ** 2)))
    return training, test, model


def main() -> None:
    curves = {}
    for name, alpha in (("neither", 0.0), ("weight decay", 10.0)):
        training, test, model = follow(alpha)
        curves[name] = (training, test)
        turn = 10 * (int(np.argmin(test)) + 1)
        judged = certify(model, *samples(80, 0))
        print(
            f"{name:13} after {EPOCHS} epochs: error on the samples {training[-1]:.3f}, on new ones {test[-1]:.3f}; "
            f"best {min(test):.3f} after {turn}; further steps gain {judged.value:.1g}"
        )
    X, y = samples(80, 0)
    new, truth = samples(500, 1, noise=0.0)
    stopped = MLPRegressor(alpha=0.0, max_iter=EPOCHS, early_stopping=True, validation_fraction=0.25, **NETWORK)
    stopped.set_params(n_iter_no_change=30)
    stopped.fit(X, y)
    error = float(np.mean((stopped.predict(new) - truth) ** 2))
    print(f"early stopping ends after {stopped.n_iter_} epochs: error on new samples {error:.3f}")
    draw(curves, stopped.n_iter_)


def draw(curves: dict[str, tuple[list[float], list[float]]], end: int) -> None:
    """Training error and error on new samples along the epochs."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), sharey=True)
    for place, (name, (training, test)) in zip(axes, curves.items(), strict=True):
        epochs = 10 * np.arange(1, len(training) + 1)
        place.semilogy(epochs, training, label="samples")
        place.semilogy(epochs, test, label="new samples")
        place.set(title=name, xlabel="epoch")
    axes[0].axvline(end, linestyle=":", color="gray", label="early stopping")
    axes[0].set_ylabel("mean squared error")
    axes[0].legend()
    figure.savefig("network_overfitting.png", bbox_inches="tight")


if __name__ == "__main__":
    main()
