"""Two trees of the same samples: single linkage follows chains, complete linkage cuts them (Seeger 12.1).

Two long parallel cigars are one cluster each for single linkage, which merges along them; complete linkage and Ward's
merge across. Each tree is certified to be the greedy one; none says that its clusters are the best.

    python examples/linkages.py [--plot linkages.png]
"""

import argparse

import numpy as np

from tenfold import AgglomerativeClustering
from tenfold.plots import DendrogramDisplay

LINKAGES = ("single", "complete", "ward")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", metavar="PATH", help="save a plot here (needs matplotlib)")
    arguments = parser.parse_args()

    rng = np.random.default_rng(0)
    cigar = np.repeat([0, 1], 60)
    X = np.column_stack([rng.uniform(0.0, 20.0, 120), 3.0 * cigar + 0.3 * rng.standard_normal(120)])
    models = [AgglomerativeClustering(2, linkage=name, compute_distances=True).fit(X) for name in LINKAGES]
    for name, model in zip(LINKAGES, models, strict=True):
        agree = max(np.mean(model.labels_ == cigar), np.mean(model.labels_ != cigar))
        print(f"{name:>8}: {agree:.0%} as the cigars; certified: {model.certificate_.ok}")
    if arguments.plot:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(2, len(models), figsize=(4 * len(models), 6))
        for column, (name, model) in enumerate(zip(LINKAGES, models, strict=True)):
            axes[0, column].scatter(*X.T, c=model.labels_, s=8)
            axes[0, column].set_title(name)
            DendrogramDisplay.from_estimator(model, max_leaves=20, ax=axes[1, column])
        plt.tight_layout()
        plt.savefig(arguments.plot)


if __name__ == "__main__":
    main()
