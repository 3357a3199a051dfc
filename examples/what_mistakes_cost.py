"""Cost-sensitive decisions: a false negative costs fifty times a false positive (Seeger 5.2.4).

The loss changes the threshold only. A third decision, "don't know", is taken where both others have a large expected
loss. Scores of a ridge classifier are calibrated to probabilities by exact leave-one-out scores.
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
X, new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
scores = make_pipeline(StandardScaler(), Calibrator(RidgeClassifier()))
loss = screening_loss(50.0)

proba = scores.fit(X, y).predict_proba(new)
print(f"{scores[-1].protocol_}; {evaluate(y_new, proba=proba)['brier']}")
costs = {}
for name, options in {
    "every mistake costs 1": {},
    "a missed case costs 50": {"loss": loss},
    "and a second test 0.5": {"loss": loss, "reject_cost": 0.5},
}.items():
    decisions = DecisionClassifier(scores, **options).fit(X, y).predict(new)
    missed = np.sum((decisions == 0) & (y_new == 1))
    false_alarms, rejected = np.sum((decisions == 1) & (y_new == 0)), np.sum(decisions == -1)
    costs[name] = (50.0 * missed + false_alarms + 0.5 * rejected) / len(y_new)
    print(
        f"{name:>22}: {missed} missed, {false_alarms:2d} false alarms, {rejected:2d} rejected; "
        f"cost {costs[name]:.2f} per sample"
    )
assert list(costs.values()) == sorted(costs.values(), reverse=True)

curve = reject_curve(y_new, proba)
print("coverage and error by the cost of rejection")
for cost in (0.5, 0.2, 0.1, 0.02):
    coverage, error = curve.at_cost(cost)
    print(f"  {cost:4.2f}: {coverage:6.1%} decided, {error:5.1%} of these wrong")
