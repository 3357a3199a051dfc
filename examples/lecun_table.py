"""The table of LeCun and others (1998) on handwritten digits, by our classes (Seeger 2.1, 3.1).

On the digits of 8 x 8 pixels that come with scikit-learn; with --mnist PATH on an archive with the arrays X_train,
y_train, X_test and y_test, where the paper has linear 12.0 %, nearest neighbours 5.0 %, 40 components and a quadratic
classifier 3.3 %, a support vector machine 1.4 %, and a network of 300 units 4.7 %.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from tenfold import PCA, SVC, KNeighborsClassifier, MLPClassifier, RidgeClassifier, certify

warnings.simplefilter("ignore", ConvergenceWarning)


def samples() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Digits of the fit and of the test, their pixels in [0, 1]."""
    if "--mnist" in sys.argv:
        with np.load(sys.argv[sys.argv.index("--mnist") + 1]) as file:
            X, y, test, truth = (file[name] for name in ("X_train", "y_train", "X_test", "y_test"))
        return X.reshape(len(X), -1) / np.float32(255), y, test.reshape(len(test), -1) / np.float32(255), truth
    X, y = load_digits(return_X_y=True)
    return X[:1200] / 16, y[:1200], X[1200:] / 16, y[1200:]


MODELS = {
    "linear": RidgeClassifier(),
    "neighbours": KNeighborsClassifier(3),
    "quadratic": make_pipeline(PCA(40, random_state=0), PolynomialFeatures(2), RidgeClassifier()),
    "machine": SVC(C=10.0),
    "network": MLPClassifier((300,), batch_size=32, max_iter=20, random_state=0),
}

X, y, test, truth = samples()
for name, model in MODELS.items():
    begin = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begin
    certificate = certify(model, X, y) if name == "network" else getattr(model, "certificate_", None)
    certificate = model[-1].certificate_ if certificate is None else certificate
    print(f"{name:10} error {100.0 * np.mean(model.predict(test) != truth):5.2f} %  {certificate}")
    print(f"fitted in {seconds:.1f} s", file=sys.stderr)
