"""A demonstration in a minute: exact model selection and certificates, beside scikit-learn on the same machine.

Every number below is measured in this run. Usage: python examples/demo.py
"""

import os
import textwrap
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import linear_model as scikit_learn
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import tenfold

ALPHAS = np.logspace(-3, 4, 100)


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def say(text: str) -> None:
    print(textwrap.fill(text, 96))


def quote(text: str) -> None:
    print(textwrap.indent(textwrap.fill(text, 90), "    > "))


def verdict(name: str, certificate: tenfold.Certificate) -> None:
    print(f"  {'ok      ' if certificate.ok else 'NOT OK  '}  {name}")
    quote(certificate.explain())


def time_call(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def choice() -> None:
    heading("1. The penalty by exact leave-one-out: 100 candidates, 100,000 samples, 100 features")
    random = np.random.default_rng(0)
    X = random.standard_normal((100_000, 100))
    X[:, 50:] += X[:, :50]  # correlated columns
    y = X @ random.normal(scale=0.1, size=100) + random.normal(scale=3.0, size=100_000)
    ours, our_time = time_call(lambda: tenfold.RidgeCV(ALPHAS).fit(X, y))
    say(f"Tenfold took {our_time:.2f} s, certificate included. scikit-learn runs the same search ...")
    theirs, their_time = time_call(lambda: scikit_learn.RidgeCV(ALPHAS).fit(X, y))
    print(f"  {'':14}{'seconds':>9}{'alpha':>13}{'leave-one-out error':>23}")
    for name, seconds, model in (("scikit-learn", their_time, theirs), ("tenfold", our_time, ours)):
        print(f"  {name:14}{seconds:9.2f}{model.alpha_:13.6g}{-model.best_score_:23.10g}")
    apart = np.linalg.norm(ours.coef_ - theirs.coef_) / np.linalg.norm(theirs.coef_)
    say(f"{their_time / our_time:.0f} times as fast; the coefficients differ by {apart:.1e} of their norm.")
    say(f"How: {ours.cv_method_}")


def certificates() -> None:
    heading("2. Every fit has a certificate")
    X, y = load_diabetes(return_X_y=True)
    verdict("tenfold.Ridge(alpha=0.1) on the diabetes data", tenfold.Ridge(alpha=0.1).fit(X, y).certificate_)
    say("The judge is independent of the solver: it uses the parameters and the data, of scikit-learn's models too.")
    model = scikit_learn.Ridge(alpha=0.1).fit(X, y)
    verdict("scikit-learn's Ridge(alpha=0.1)", tenfold.certify(model, X, y))
    model.coef_ = model.coef_ * 1.0001
    verdict("the same model, its coefficients scaled by 1.0001", tenfold.certify(model, X, y))


def intervals() -> None:
    heading("3. Leave-one-out residuals are prediction intervals (jackknife+)")
    X, y = load_diabetes(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
    model = tenfold.RidgeCV(ALPHAS).fit(X, y)
    low, high = model.predict_interval(X_new, coverage=0.9).T
    print("  patient   predicted    90 % interval      measured")
    for i in range(4):
        print(f"  {i:7}{model.predict(X_new[i : i + 1])[0]:12.0f}    {low[i]:5.0f} to {high[i]:4.0f}{y_new[i]:16.0f}")
    inside = np.mean((low <= y_new) & (y_new <= high))
    say(
        f"{inside:.1%} of the {len(y_new)} held-out patients lie inside. Jackknife+ makes no assumption on the noise, "
        f"only that samples are exchangeable; for a fixed alpha it aims at 90 % and guarantees 80 %."
    )


def classification() -> None:
    heading("4. Logistic regression: a bound on the suboptimality")
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = tenfold.LogisticRegression().fit(X, y)
    print(f"  status: {model.status_}")
    print("  step     objective    seconds")
    for number, record in enumerate(model.trace_):
        print(f"  {number:4}  {record.objective:.10f}  {record.seconds:9.5f}")
    verdict("tenfold.LogisticRegression() on the breast cancer data", model.certificate_)
    decided = model.certificate_.decided(X)
    say(f"{np.mean(decided):.1%} of the predicted classes would not change at the optimum.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stopped = scikit_learn.LogisticRegression(max_iter=3).fit(X, y)
    verdict("scikit-learn's LogisticRegression(max_iter=3), its warning silenced", tenfold.certify(stopped, X, y))
    rates = f"{model.score(X, y):.3f} and {stopped.score(X, y):.3f}"
    say(f"The training accuracies, {rates}, hardly differ.")


def main() -> None:
    print(f"Tenfold {tenfold.__version__} on {os.cpu_count()} cores")
    start = time.perf_counter()
    for part in (choice, certificates, intervals, classification):
        part()
    print(f"\nThe demonstration took {time.perf_counter() - start:.0f} s.")


if __name__ == "__main__":
    main()
