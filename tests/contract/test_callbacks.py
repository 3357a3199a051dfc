"""scikit-learn's callbacks on iterative fits: progress, counting, stopping, and a fitted estimator at every step."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning

import tenfold
from estimators import SOLVED, classes, parameters, row_of


def hard():
    """Classes for which Newton's method takes several steps."""
    X, _, _ = classes(200, 4)
    z = X @ np.arange(1.0, 5.0)
    y = np.where(z + 0.5 * np.random.default_rng(0).standard_normal(200) > np.median(z), "bee", "ant")
    return X, y


def large_sparse():
    """Both dimensions beyond the square matrices: conjugate gradients."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((2300, 2200), density=0.002, rng=rng, format="csr")
    X = sparse.csr_array(X + sparse.diags_array(np.linspace(0.1, 3.0, 2300)[:2200], shape=(2300, 2200)))
    return X, X @ rng.standard_normal(2200) + 0.1 * rng.standard_normal(2300)


ITERATIVE = {
    "logistic": (lambda: tenfold.LogisticRegression(C=100.0), hard),
    "ridge": (lambda: tenfold.Ridge(alpha=1e-3), large_sparse),
    "ridge classifier": (
        lambda: tenfold.RidgeClassifier(alpha=1e-3),
        lambda: (large_sparse()[0], large_sparse()[1] > 0),
    ),
}
every_fit = pytest.mark.parametrize("case", ITERATIVE)


class Count:
    """Counts tasks, keeps the fitted estimators, and stops after `stop` iterations."""

    def __init__(self, stop=None):
        self.stop, self.begun, self.ended, self.estimators, self.set_up, self.torn_down = stop, 0, 0, [], 0, 0
        self.finished = None

    def setup(self, estimator, context):
        self.set_up += 1

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun += context.parent is not None

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.parent is None:
            self.finished = fitted_estimator
            return False
        self.ended += 1
        self.estimators.append(fitted_estimator)
        self.shape = X.shape
        return self.ended == self.stop


@every_fit
def test_callback_sees_every_iteration(case):
    make, data = ITERATIVE[case]
    X, y = data()
    count = Count()
    model = make().set_callbacks(count).fit(X, y)
    plain = make().fit(X, y)
    assert count.set_up == count.torn_down == 1
    assert count.begun == count.ended == int(np.max(model.n_iter_)) >= 2
    assert count.shape == X.shape
    np.testing.assert_array_equal(parameters(count.finished), parameters(model))
    np.testing.assert_array_equal(parameters(model), parameters(plain))


@every_fit
def test_the_estimator_of_every_iteration_predicts(case):
    make, data = ITERATIVE[case]
    X, y = data()
    count = Count()
    model = make().set_callbacks(count).fit(X, y)
    assert len(count.estimators) == count.ended
    for estimator in count.estimators:
        assert type(estimator) is type(model)
        assert estimator.predict(X[:5]).shape == (5,)
    last = count.estimators[-1]
    assert np.shape(last.coef_) == np.shape(model.coef_)
    np.testing.assert_allclose(parameters(last), parameters(model), rtol=1e-3, atol=1e-6)


@every_fit
def test_a_callback_can_stop_a_fit(case):
    make, data = ITERATIVE[case]
    X, y = data()
    count = Count(stop=1)
    with pytest.warns(ConvergenceWarning):
        model = make().set_callbacks(count).fit(X, y)
    assert count.ended == 1
    assert count.torn_down == 1
    assert np.max(model.n_iter_) == 1
    assert model.certificate_.status == "stopped by a callback"
    assert not model.certificate_.ok
    assert np.isfinite(parameters(model)).all()


@every_fit
def test_the_progress_bar_of_scikit_learn(case, capsys):
    pytest.importorskip("rich")
    make, data = ITERATIVE[case]
    X, y = data()
    model = make().set_callbacks(ProgressBar()).fit(X, y)
    assert model.certificate_.ok
    shown = capsys.readouterr().out
    assert type(model).__name__ in shown
    assert "100%" in shown.splitlines()[0], "an early end is an end"


def test_an_interrupt_keeps_the_last_step():
    class Interrupt(Count):
        def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
            self.ended += 1
            if self.ended == 2:
                raise KeyboardInterrupt

    X, y = hard()
    with pytest.warns(ConvergenceWarning):
        model = tenfold.LogisticRegression(C=100.0, tol=1e-12).set_callbacks(Interrupt()).fit(X, y)
    assert model.certificate_.status == "interrupted"
    assert "interrupted" in repr(model.certificate_)
    assert model.predict(X).shape == (200,)


def test_direct_fits_take_callbacks_too():
    """A callback registered on a fit that needs no iteration is set up and torn down."""
    row = row_of("Ridge")
    rng = np.random.default_rng(0)
    count = Count()
    row.make().set_callbacks(count).fit(rng.standard_normal((20, 3)), rng.standard_normal(20))
    assert count.set_up == count.torn_down == 1
    assert count.ended == 0


@pytest.mark.parametrize("name", sorted({row.name for row in SOLVED if row.iterative}))
def test_iterative_classes_support_callbacks(name):
    assert hasattr(getattr(tenfold, name), "set_callbacks")


def test_callbacks_inside_a_pipeline_and_a_search():
    from sklearn.model_selection import GridSearchCV

    X, y = hard()
    count = Count()
    GridSearchCV(tenfold.LogisticRegression().set_callbacks(count), {"C": [0.1, 10.0]}, cv=2).fit(X, y)
    assert count.set_up == 5
    assert count.ended >= 10
