"""More neighbours smooth the decision boundary: XOR with k = 1, 3 and 15, and k by leave-one-out (Cookbook 22).

The characters are the predicted classes; k = 1 fits the label noise.
"""

import numpy as np

from tenfold import KNeighborsClassifier, KNeighborsClassifierCV


def main() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (150, 2))
    y = np.where(np.sign(X[:, 0] * X[:, 1]) * np.where(rng.uniform(size=150) < 0.15, -1, 1) > 0, "o", ".")
    across, down = np.linspace(-1, 1, 40), np.linspace(1, -1, 16)
    grid = np.array([[u, v] for v in down for u in across])
    truth = np.where(grid[:, 0] * grid[:, 1] > 0, "o", ".")
    wrong = {}
    for k in (1, 3, 15):
        model = KNeighborsClassifier(k).fit(X, y)
        predicted = model.predict(grid)
        wrong[k] = np.mean(predicted != truth)
        print(f"k = {k}: wrong on {model.score(X, y) * -1 + 1:.0%} of the rows, on {wrong[k]:.0%} of the plane")
        for line in predicted.reshape(len(down), -1):
            print("".join(line))
    chosen = KNeighborsClassifierCV(40).fit(X, y)
    print(f"leave-one-out takes k = {chosen.n_neighbors_}, wrong on {-chosen.best_score_:.0%} of the rows left out")
    assert wrong[15] < wrong[3] < wrong[1]
    assert chosen.n_neighbors_ > 3


if __name__ == "__main__":
    main()
