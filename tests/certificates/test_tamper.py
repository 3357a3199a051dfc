"""Every public fitted name of every estimator is judged: a model in which one was changed is refused.

A change is excused only where the name is listed by its class as report only and no method returns anything else, where
an independent formula says that the changed model is still as good as the certificate allows, or where the change is
one of the symmetries below.
"""

import warnings

import pytest
from excess import Reference
from symmetries import SYMMETRIES, is_permuted, move, move_alone
from tampering import outputs, same_or_raises, tamper

import tenfold
from estimators import EVERY, plain
from models import MODELS
from neighbours import NEIGHBOURS
from tenfold.certification import report_only


def judge(model, X, y):
    """The certificate, None where certify raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tenfold.certify(model, X, y)
        except Exception:
            return None


def survivors(model, X, y):
    """Changes that are neither refused nor excused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before, listed, reference = outputs(model, X, y), report_only(type(model)), Reference(model, X, y)
        found = []
        for name, change, worse in tamper(model):
            certificate = judge(worse, X, y)
            if certificate is None or not certificate.ok:
                continue
            if name in listed:
                different = same_or_raises(before, outputs(worse, X, y))
                if not different:
                    continue
                change = f"{change} (report only, but {', '.join(different)} differ)"
            symmetric = type(model).__name__ == "GaussianMixture" and is_permuted(model, worse)
            if not symmetric and not reference.within(worse, certificate, name):
                found.append(f"{name}: {change}")
        return found


def linear_data(row):
    data = plain(row, 60, 4)
    return data.X, data.y


def kept_data(row):
    return row.data()


CASES = [
    *((row, linear_data) for row in EVERY),
    *((row, lambda row: row.data()[:2]) for row in MODELS),
    *((row, kept_data) for row in NEIGHBOURS),
]


@pytest.mark.parametrize(("row", "data"), CASES, ids=[row.id for row, _ in CASES])
def test_tampered_model_is_refused(row, data):
    X, y = data(row)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = row.make().fit(X, y)
    assert survivors(model, X, y) == []


@pytest.mark.parametrize("symmetry", SYMMETRIES.values(), ids=SYMMETRIES)
def test_joint_move_of_a_symmetry_keeps_the_verdict(symmetry):
    X, y = symmetry.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = symmetry.make().fit(X, y)
    assert judge(model, X, y).ok
    assert judge(move(model, symmetry.moves), X, y).ok


@pytest.mark.parametrize("symmetry", SYMMETRIES.values(), ids=SYMMETRIES)
def test_move_of_one_array_alone_is_refused(symmetry):
    X, y = symmetry.data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = symmetry.make().fit(X, y)
    for name, worse in move_alone(model, symmetry):
        certificate = judge(worse, X, y)
        assert certificate is None or not certificate.ok, name
