"""The examples in the docstrings: pytest runs those of all modules, and every public name has one."""

import pytest

import tenfold


def test_examples_of_the_package_are_collected(pytestconfig):
    assert pytestconfig.getoption("doctestmodules")
    assert "src/tenfold" in pytestconfig.getini("testpaths")


@pytest.mark.parametrize("name", [name for name in tenfold.__all__ if name not in ("Certificate", "RidgePath")])
def test_every_public_name_has_an_example(name):
    assert ">>>" in (getattr(tenfold, name).__doc__ or ""), name


@pytest.mark.parametrize("name", tenfold.__all__)
def test_every_public_name_has_words(name):
    assert len((getattr(tenfold, name).__doc__ or "").strip()) > 20, name
