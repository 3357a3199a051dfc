"""Scripts that a run writes, run here: a process of its own would import everything again."""

import os
import runpy
import sys
from pathlib import Path

import pytest


def run_script(path: Path | str, *args: str, cwd: Path) -> None:
    """Run a script as `python path args` in the folder `cwd` would."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        patch.setattr(sys, "argv", [os.fspath(path), *args])
        runpy.run_path(os.fspath(path), run_name="__main__")
