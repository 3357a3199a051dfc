"""Run tests on an extension that was built with the address and undefined-behaviour sanitizers.

    python tools/sanitized.py FOLDER [arguments of pytest]

FOLDER is where CMake built it. The sanitizers must be in the process before Python is, so this starts another one, in
which the package is a copy of src/tenfold with the other extension, whatever is installed.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUN = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
sys.path.insert(0, {folder!r})
import tenfold._core
assert tenfold._core.__file__.startswith({folder!r}), tenfold._core.__file__
import pytest
sys.exit(pytest.main({arguments!r}))
"""


def library(name: str) -> str:
    """Where the compiler has a library."""
    compiler = os.environ.get("CXX", "c++")
    result = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return str(Path(result.stdout.strip()).resolve())


def main(built: Path, arguments: list[str]) -> int:
    folder = (built / "python").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    plain = shutil.ignore_patterns("_core*.so", "__pycache__")
    shutil.copytree(ROOT / "src" / "tenfold", folder / "tenfold", ignore=plain)
    for extension in built.glob("_core*.so"):
        shutil.copy2(extension, folder / "tenfold")
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{library('libasan.so')} {library('libubsan.so')} {library('libstdc++.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # Python itself leaves memory behind at its end
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }
    # one process, so that a crash is seen where it happens
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler", *arguments]
    code = RUN.format(folder=str(folder), arguments=options)
    return subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2:]))
