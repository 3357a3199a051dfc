"""The certificate as a value: its one rule, its words, its plain form."""

import json
import math

import numpy as np
import pytest

from tenfold import Certificate
from tenfold.judge.certificate import NOT_JUDGED, RULES


def make(**changes):
    return Certificate(
        **{"kind": "gap", "value": 1e-8, "scale": 1.0, "tol": 1e-6, "floor": 1e-15, "objective": 0.5, **changes}
    )


@pytest.mark.parametrize(
    ("value", "tol", "floor", "ok"),
    [(1e-6, 1e-6, 1e-15, True), (1.0001e-6, 1e-6, 1e-15, False), (1e-10, 0.0, 1e-10, True), (2e-10, 0.0, 1e-10, False)],
)
def test_the_rule(value, tol, floor, ok):
    certificate = make(value=value, tol=tol, floor=floor)
    assert certificate.ok is ok
    assert certificate.allowed == max(tol, floor)


@pytest.mark.parametrize("kind", list(RULES))
@pytest.mark.parametrize("value", [np.inf, np.nan, -np.inf])
@pytest.mark.parametrize("floor", [1e-15, np.inf, np.nan])
def test_what_is_not_finite_is_never_ok(kind, value, floor):
    certificate = make(kind=kind, value=value, floor=floor)
    assert certificate.ok is False
    assert "NOT OK" in repr(certificate)
    assert "do not rely" in certificate.explain()


@pytest.mark.parametrize("status", [NOT_JUDGED, "no maximum"])
def test_some_ends_are_never_ok(status):
    certificate = make(status=status, note="Call certify.")
    assert not certificate.ok
    assert "Call certify." in certificate.explain()
    assert status in repr(certificate)


def test_the_words_of_a_gap():
    assert make().explain() == "duality gap 1e-08, allowed 1e-06: no other weights can be better by more than 1e-08."


def test_the_words_of_a_bad_one():
    words = make(value=0.1).explain()
    assert words.endswith("do not rely on this fit.")


@pytest.mark.parametrize("kind", list(RULES))
def test_explanation_has_radius_condition_and_note(kind):
    words = make(kind=kind, radius=0.25, condition=3e20, note="A note.").explain()
    assert "within 0.25" in words
    assert "Condition 3e+20" in words
    assert "singular" in words
    assert words.endswith("A note.")


def test_repr_is_short_and_has_an_unusual_status():
    assert repr(make()) == "<Certificate ok: gap 1e-08 (allowed 1e-06)>"
    assert (
        repr(make(status="iteration limit", value=1.0))
        == "<Certificate NOT OK: gap 1 (allowed 1e-06), iteration limit>"
    )


def test_plain_values():
    plain = make(parts=(1e-8,), lower_bound=0.49).to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["ok"] is True
    assert plain["parts"] == [1e-8]
    assert plain["lower_bound"] == 0.49
    assert plain["radius"] is None
    assert not any(name.startswith("_") for name in plain)


def test_every_kind_has_a_rule_in_words():
    for kind, rule in RULES.items():
        assert 0.0 < rule.tol <= 1e-6, kind
        assert math.isfinite(rule.tol)
        assert rule.scale
        assert rule.floor
        assert rule.claim


def test_decided_needs_a_radius():
    with pytest.raises(ValueError, match="strongly convex"):
        make().decided(np.zeros((1, 1)))
