"""Check identifiers: no forbidden word of tools/words.txt, and no function that is named by a participle.

Usage: check_words.py [FILE or FOLDER ...]; by default src/tenfold and core. A participle is allowed as the name of a
property, of a function that returns bool, and of a field: there it is an adjective.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
IRREGULAR = {
    "found",
    "said",
    "made",
    "told",
    "known",
    "kept",
    "given",
    "taken",
    "chosen",
    "drawn",
    "met",
    "sent",
    "held",
}
VERBS = {"embed", "feed", "need", "proceed", "seed", "speed", "shed", "shred", "unfeed"}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|#include[^\n]*', re.DOTALL)


def read_words(path: Path) -> tuple[dict[str, str], set[str]]:
    """Forbidden words with what to say instead, and identifiers that stay, which stand behind a plus sign."""
    lines = [line.split(None, 1) for line in path.read_text().splitlines() if line.strip() and line[0] != "#"]
    stay = {name.strip() for sign, name in lines if sign == "+"}
    return {word: instead.strip() for word, instead in lines if word != "+"}, stay


def words_of(identifier: str) -> list[str]:
    return [word.lower() for word in WORD.findall(identifier)]


def is_participle(word: str) -> bool:
    return word in IRREGULAR or (word.endswith("ed") and len(word) > 3 and word not in VERBS)


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that a file of Python gives: functions, classes, arguments, variables, attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name
            case ast.arg():
                yield node.lineno, node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr


def is_adjective(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function may have the name of a state: a property, or an answer of yes or no."""
    decorators = {ast.unparse(decorator).split("(")[0].split(".")[-1] for decorator in node.decorator_list}
    returns = ast.unparse(node.returns) if node.returns else ""
    return bool(decorators & {"property", "cached_property", "setter"}) or "bool" in returns.lower()


def check_python(path: Path, words: dict[str, str]) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for line, name in sorted(set(identifiers(tree))):
        yield from (f"{path}:{line}: {name}: say {instead}" for instead in forbidden(name, words))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_adjective(node):
            first = words_of(node.name)[:1]
            if first and is_participle(first[0]):
                yield f"{path}:{node.lineno}: {node.name}: name a function by a verb"


def check_cpp(path: Path, words: dict[str, str]) -> Iterator[str]:
    text = CODE.sub(lambda match: "\n" * match[0].count("\n"), path.read_text())
    seen = set()
    for number, line in enumerate(text.splitlines(), 1):
        for name in re.findall(r"[A-Za-z_][A-Za-z_0-9]*", line):
            if name not in seen:
                seen.add(name)
                yield from (f"{path}:{number}: {name}: say {instead}" for instead in forbidden(name, words))


def forbidden(identifier: str, words: dict[str, str]) -> Iterator[str]:
    for word in words_of(identifier):
        for entry, instead in words.items():
            if word == entry or (entry.endswith("*") and word.startswith(entry[:-1])):
                yield instead


def main(roots: list[str]) -> int:
    words, stay = read_words(HERE / "words.txt")
    faults = 0
    for root in map(Path, roots or ["src/tenfold", "core"]):
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            check = {".py": check_python, ".cpp": check_cpp, ".hpp": check_cpp}.get(path.suffix)
            for fault in check(path, words) if check else ():
                if fault.split(": ")[1] not in stay:
                    faults += 1
                    print(fault)
    if faults:
        print(f"{faults} identifiers to rename, see tools/words.txt")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
