"""Write the public names of the package, made from the classes that register themselves, between their markers.

Usage: python tools/public_names.py [src/tenfold/__init__.py]
"""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import tenfold
import tenfold.estimators
from tenfold.estimators.registration import registration_of

MARKERS = {
    name: (f"# {name}:begin (made by tools/public_names.py: do not edit)", f"# {name}:end")
    for name in ("imports", "estimators")
}

LINE_LENGTH = 120  # of the formatter


def list_registered() -> dict[str, str]:
    """The module of each class that registers itself, by its name."""
    result: dict[str, str] = {}
    for module in walk_packages(tenfold.estimators.__path__, "tenfold.estimators."):
        for name, thing in vars(import_module(module.name)).items():
            defined = isinstance(thing, type) and thing.__module__ == module.name
            if defined and registration_of(thing) is not None and result.setdefault(name, module.name) != module.name:
                raise SystemExit(f"two classes are called {name}: in {result[name]} and in {module.name}")
    return dict(sorted(result.items()))


def imports(classes: dict[str, str]) -> Iterator[str]:
    """What type checkers and editors read."""
    public = {**classes, **{name: f"tenfold.{module}" for name, module in tenfold.OTHERS.items()}}
    yield "if TYPE_CHECKING:  # isort: off"
    for module, name in sorted((module, name) for name, module in public.items()):
        line = f"    from {module} import {name} as {name}"
        yield from [line] if len(line) <= LINE_LENGTH else _wrap(module, name)
    yield "# isort: on"


def _wrap(module: str, name: str) -> list[str]:
    """A long import as the formatter writes it."""
    return [f"    from {module} import (", f"        {name} as {name},", "    )"]


def estimators(classes: dict[str, str]) -> Iterator[str]:
    """What is imported at the first use of a name."""
    yield "ESTIMATORS = {"
    for name, module in classes.items():
        yield f'    "{name}": "{module.removeprefix("tenfold.")}",'
    yield "}"


def place_names(text: str) -> str:
    """The text of a module with the names of now between its markers."""
    classes = list_registered()
    for name, make in {"imports": imports, "estimators": estimators}.items():
        begin, end = MARKERS[name]
        before, result, rest = text.partition(begin + "\n")
        _, closed, after = rest.partition(end)
        if not (result and closed):
            raise SystemExit(f"the module needs the two lines {begin} and {end}")
        text = "\n".join([before + begin, *make(classes), end]) + after
    return text


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(place_names(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
