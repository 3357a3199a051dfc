"""Two spirals by perceptrons and logistic regression in the space of a Gaussian kernel (CMU lecture 11; Seeger 9.4).

The perceptron finds a function without mistakes, after fewer than Novikoff's bound; a budget of few samples does not.
Logistic regression has probabilities, and says which of its predictions no exact optimum changes.
"""

import argparse

import numpy as np

from tenfold import KernelLogisticRegression, KernelPerceptron

parser = argparse.ArgumentParser()
parser.add_argument("--plot", help="file for a picture")
options = parser.parse_args()

rng = np.random.default_rng(0)
angle = np.sqrt(rng.uniform(0.05, 1.0, 400)) * 3.0 * np.pi
second = rng.random(400) < 0.5
turn = angle + np.pi * second
X = (angle / 3.0)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)]) + 0.2 * rng.standard_normal((400, 2))
models = {
    "perceptron": KernelPerceptron(gamma=2.0),
    "averaged perceptron": KernelPerceptron(gamma=2.0, prediction="averaged"),
    "perceptron with a budget of 12": KernelPerceptron(gamma=2.0, budget=12, max_iter=10),
    "logistic regression": KernelLogisticRegression(10.0, gamma=2.0),
}
for name, model in models.items():
    model.fit(X, second)
    size = len(model.dual_coef_)
    print(f"{name:32} accuracy {model.score(X, second):.3f}, {size} samples in the expansion")
perceptron, logistic = models["perceptron"], models["logistic regression"]
print(f"mistakes {perceptron.n_mistakes_}, at most {perceptron.mistake_bound_:.3g}")
print(f"logistic regression: {np.mean(logistic.certificate_.decided(X)):.1%} of the predictions are decided")
assert perceptron.certificate_.ok
assert logistic.certificate_.ok
assert perceptron.n_mistakes_ <= perceptron.mistake_bound_

if options.plot:
    import matplotlib.pyplot as plt

    side = np.linspace(-3.8, 3.8, 150)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
    figure, axes = plt.subplots(2, 2, figsize=(8, 8))
    for axis, (name, model) in zip(axes.ravel(), models.items(), strict=True):
        z = model.decision_function(grid).reshape(150, 150)
        axis.contourf(side, side, z > 0.0, levels=[-0.5, 0.5, 1.5], colors=["#cfe0f3", "#f6d6c9"])
        axis.scatter(*X.T, c=second, s=6, cmap="coolwarm")
        axis.set_title(name, fontsize=9)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.savefig(options.plot)
