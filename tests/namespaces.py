"""Libraries of arrays that fits are tried on, and how their arrays come back."""

import numpy as np
import pytest


def strict():
    return pytest.importorskip("array_api_strict").asarray


def torch_on(device):
    def start():
        torch = pytest.importorskip("torch")
        if device == "cuda" and not torch.cuda.is_available():
            pytest.skip("no GPU")
        return lambda array: torch.asarray(np.ascontiguousarray(array), device=device)

    return start


def cupy():
    return pytest.importorskip("cupy").asarray


NAMESPACES = [
    pytest.param(strict, id="strict"),
    pytest.param(torch_on("cpu"), id="torch", marks=pytest.mark.slow),
    pytest.param(torch_on("cuda"), id="torch on a GPU", marks=pytest.mark.slow),
    pytest.param(cupy, id="cupy", marks=pytest.mark.slow),
]
every_namespace = pytest.mark.parametrize("start", NAMESPACES)


def host(array):
    """A NumPy array of the same values."""
    for name in ("cpu", "get"):
        array = getattr(array, name)() if hasattr(array, name) else array
    return np.asarray(array)
