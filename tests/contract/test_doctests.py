"""The examples in the docstrings of all modules."""

import doctest
import importlib
import pkgutil

import pytest

import tenfold

MODULES = sorted(
    name for _, name, _ in pkgutil.walk_packages(tenfold.__path__, "tenfold.") if not name.startswith("tenfold._core")
)


def test_all_modules_are_found():
    assert "tenfold.losses" in MODULES
    assert len(MODULES) > 20


@pytest.mark.parametrize("name", ["tenfold", *MODULES])
def test_examples(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert found.failed == 0


@pytest.mark.parametrize("name", [name for name in tenfold.__all__ if name not in ("Certificate", "RidgePath")])
def test_every_public_name_has_an_example(name):
    assert ">>>" in (getattr(tenfold, name).__doc__ or ""), name


@pytest.mark.parametrize("name", tenfold.__all__)
def test_every_public_name_has_words(name):
    assert len((getattr(tenfold, name).__doc__ or "").strip()) > 20, name
