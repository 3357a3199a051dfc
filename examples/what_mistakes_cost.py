"""The same probabilities, other decisions: what is missed costs fifty times what is found in vain (Seeger 5.2.4).

The loss moves the threshold and nothing else. A third decision, "don't know", is taken where both others are dear.
Scores of ridge regression are no probabilities: they become some by the scores of rows that were left out, exactly and
for free.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tenfold import RidgeClassifier, evaluate
from tenfold.decide import Calibrator, DecisionClassifier, reject_curve, screening_loss

X, y = load_breast_cancer(return_X_y=True)
X, y = X[:, :10], 1 - y  # 1: malignant
X, new, y, told = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
scores = make_pipeline(StandardScaler(), Calibrator(RidgeClassifier()))
loss = screening_loss(50.0)

proba = scores.fit(X, y).predict_proba(new)
print(f"{scores[-1].protocol_}; {evaluate(told, proba=proba)['brier']}")
costs = {}
for name, options in {
    "every mistake costs 1": {},
    "a missed case costs 50": {"loss": loss},
    "and a second test 0.5": {"loss": loss, "reject_cost": 0.5},
}.items():
    said = DecisionClassifier(scores, **options).fit(X, y).predict(new)
    missed, vain, unsure = np.sum((said == 0) & (told == 1)), np.sum((said == 1) & (told == 0)), np.sum(said == -1)
    costs[name] = (50.0 * missed + vain + 0.5 * unsure) / len(told)
    print(f"{name:>22}: {missed} missed, {vain:2d} in vain, {unsure:2d} undecided; cost {costs[name]:.2f} a row")
assert list(costs.values()) == sorted(costs.values(), reverse=True)

curve = reject_curve(told, proba)
print("coverage and error where rejecting costs")
for cost in (0.5, 0.2, 0.1, 0.02):
    coverage, error = curve.at_cost(cost)
    print(f"  {cost:4.2f}: {coverage:6.1%} decided, {error:5.1%} of these wrong")
