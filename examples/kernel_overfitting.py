"""A sine from twenty noisy samples by kernel ridge regression (Cookbook 6.1 and Figure 6.1, C.3; Seeger 10.2.2).

Without a penalty a narrow kernel follows the noise, a wide one with a penalty the truth. Leaving out each sample, which
one eigendecomposition gives for all penalties, tells them apart; errors on the samples themselves do not.

    python examples/kernel_overfitting.py [--plot path.png]
"""

import argparse

import numpy as np

from tenfold import KernelRidge, KernelRidgeCV

ALPHAS = np.logspace(-8, 2, 41)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(0.0, 2.0 * np.pi, 20))[:, None]
    y = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(20)
    grid = np.linspace(0.0, 2.0 * np.pi, 201)[:, None]

    chosen = KernelRidgeCV(ALPHAS).fit(x, y)
    models = {
        "no penalty": KernelRidge(1e-8, kernel="rbf", gamma=5.0).fit(x, y),
        "large penalty": KernelRidge(100.0, kernel="rbf", gamma=chosen.gamma_).fit(x, y),
        "chosen": chosen,
    }
    print("                error on the samples   left out   from the truth   certified")
    for name, model in models.items():
        alone = KernelRidgeCV([chosen.alpha_ if name == "chosen" else model.alpha], kernel=model.kernel_).fit(x, y)
        training = np.mean((model.predict(x) - y) ** 2)
        truth = np.mean((model.predict(grid) - np.sin(grid[:, 0])) ** 2)
        line = f"{name:14s}  {training:20.3f}   {-alone.best_score_:8.3f}   {truth:14.3f}"
        print(f"{line}   {model.certificate_.ok}")
    print(f"chosen: alpha {chosen.alpha_:.2g}, gamma {chosen.gamma_:.2g}, of {len(chosen.cv_results_['param_alpha'])}")
    if arguments.plot:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 4))
        axes.plot(x[:, 0], y, "ko", label="samples")
        axes.plot(grid[:, 0], np.sin(grid[:, 0]), "k:", label="truth")
        for name, model in models.items():
            axes.plot(grid[:, 0], model.predict(grid), label=name)
        low, high = chosen.predict_interval(grid, coverage=0.9).T
        axes.fill_between(grid[:, 0], low, high, alpha=0.15, label="jackknife+ 90 %")
        axes.set(ylim=(-2.5, 2.5), xlabel="x", ylabel="y")
        axes.legend(fontsize="small")
        figure.savefig(arguments.plot)


if __name__ == "__main__":
    main()
