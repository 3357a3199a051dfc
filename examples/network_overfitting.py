"""A network that fits the noise: weight decay and early stopping (Seeger 7.2.1, 3.4).

The error on the samples falls with every epoch, and the error on new samples turns. Weight decay has a strength to
choose, early stopping an epoch. With --plot both errors of networks with and without decay are drawn.
"""

import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tenfold import MLPRegressor, certify

warnings.simplefilter("ignore", ConvergenceWarning)
NETWORK = {"hidden_layer_sizes": (60,), "activation": "tanh", "learning_rate_init": 0.02, "random_state": 0}
EPOCHS = np.arange(10, 601, 10)


def samples(n: int, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Waves of x, and noisy values of sin(3 x)."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-np.pi, np.pi, n)
    phase = x[:, None] * np.arange(1, 9)
    return np.hstack([np.cos(phase), np.sin(phase)]), np.sin(3.0 * x) + noise * rng.standard_normal(n)


(X, y), (NEW, TRUTH) = samples(80, 0, 0.7), samples(500, 1, 0.0)
curves = {}
for name, alpha in (("neither", 0.0), ("weight decay", 10.0)):
    model = MLPRegressor(alpha=alpha, **NETWORK)
    errors = []
    for _ in EPOCHS:
        for _ in range(10):
            model.partial_fit(X, y)
        errors.append([np.mean((model.predict(part) - t) ** 2) for part, t in ((X, y), (NEW, TRUTH))])
    on_samples, on_new = curves[name] = np.array(errors).T
    print(
        f"{name:13} after {EPOCHS[-1]} epochs: error on the samples {on_samples[-1]:.3f}, new {on_new[-1]:.3f}; "
        f"best {on_new.min():.3f} after {EPOCHS[on_new.argmin()]}; further steps gain {certify(model, X, y).value:.1g}"
    )
stopped = MLPRegressor(alpha=0.0, early_stopping=True, validation_fraction=0.25, n_iter_no_change=30, **NETWORK)
stopped.fit(X, y)
error = np.mean((stopped.predict(NEW) - TRUTH) ** 2)
print(f"early stopping after {stopped.n_iter_} epochs: error on new ones {error:.3f}")

if "--plot" in sys.argv:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.5), sharey=True)
    for place, (name, pair) in zip(axes, curves.items(), strict=True):
        for error, label in zip(pair, ("samples", "new samples"), strict=True):
            place.semilogy(EPOCHS, error, label=label)
        place.set(title=name, xlabel="epoch")
    axes[0].axvline(stopped.n_iter_, linestyle=":", color="gray", label="early stopping")
    axes[0].set_ylabel("mean squared error")
    axes[0].legend()
    figure.savefig(sys.argv[sys.argv.index("--plot") + 1], bbox_inches="tight")
