"""Make the static pages of the documentation from docs/*.md and from the code.

A line `<!-- rules -->`, `<!-- report-only -->`, `<!-- kernels -->` or `<!-- api -->` in a page is
replaced by what the code says of itself.
Usage: python tools/build_docs.py docs site
"""

import html
import inspect
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

import tenfold
import tenfold.kernels
from tenfold import certification
from tenfold.estimators.registration import list_registered
from tenfold.judge.certificate import RULES

PAGES = [
    "index",
    "certificates",
    "methods",
    "command",
    "tables",
    "selection",
    "evaluation",
    "decisions",
    "glm",
    "kernels",
    "large",
    "cluster",
    "arrays",
    "numerics",
    "persistence",
    "plots",
    "performance",
    "glossary",
    "api",
]
STYLE = """
body { max-width: 60rem; margin: 0 auto; padding: 1rem 1.5rem 4rem; font: 16px/1.55 system-ui, sans-serif; }
nav { border-bottom: 1px solid #d0d4da; padding-bottom: .6rem; } nav a { margin-right: 1.2rem; }
a { color: #0b57a4; text-decoration: none; } a:hover { text-decoration: underline; }
h1, h2, h3 { line-height: 1.2; margin-top: 2rem; } h2 { border-bottom: 1px solid #e4e7eb; padding-bottom: .2rem; }
pre { background: #f5f6f8; padding: .8rem 1rem; overflow-x: auto; font-size: 13px; line-height: 1.45; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid #d0d4da; padding: .3rem .6rem; text-align: left; vertical-align: top; }
"""


def rules() -> str:
    """The judge's table of tolerances by kind."""
    head = ["kind", "number", "tol", "scale", "floor", "claim"]
    rows = [
        [kind, *(str(getattr(rule, field)).replace("{value}", "the number") for field in head[1:])]
        for kind, rule in RULES.items()
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def report_only() -> str:
    """Fitted attributes that are not judged: the reason, and the classes that have it."""
    result: dict[tuple[str, str], list[str]] = {}
    for name, cls in list_registered().items():
        for item in certification.report_only(cls).items():
            result.setdefault(item, []).append(name)
    rows = [[f"`{attribute}`", reason, ", ".join(names)] for (attribute, reason), names in sorted(result.items())]
    return "\n".join(
        "| " + " | ".join(row) + " |" for row in [["attribute", "what it is", "classes"], ["---"] * 3, *rows]
    )


def entry(name: str, thing: Any, level: int) -> Iterable[str]:
    """The Markdown lines of one public thing: its signature, its docstring, its public methods."""
    yield f"{'#' * level} `{name}`"
    if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Exception)):
        given = inspect.signature(thing).parameters.values()
        shown = [p.replace(annotation=p.empty) for p in given if p.name != "self" and not p.name.startswith("_")]
        yield f"```python\n{name.rpartition('.')[2]}{inspect.Signature(shown)}\n```"
    yield from prose(inspect.getdoc(thing) or "")
    for member in vars(thing) if isinstance(thing, type) else ():
        value = getattr(thing, member)
        if not member.startswith("_") and (callable(value) or isinstance(value, property)) and value.__doc__:
            yield from entry(f"{name}.{member}", value, level + 1)


def prose(doc: str) -> Iterable[str]:
    """A docstring as Markdown: underlined headings become bold lines, parameters a list, examples and formulas code."""
    blocks = re.split(r"\n\s*\n", re.sub(r"(?m)^(\S.*)\n-{3,}\n", r"\n**\1**\n\n", doc))
    items = False
    for block in blocks:
        if not block.strip():
            continue
        if block.startswith("**"):
            items = block.strip("* \n") in {"Parameters", "Attributes", "Returns"}
            yield block
        elif block.lstrip().startswith(">>>"):
            yield f"```pycon\n{inspect.cleandoc(block)}\n```"
        elif block.startswith("  ") and not items:
            yield f"```text\n{inspect.cleandoc(block)}\n```"
        elif items:
            yield re.sub(r"(?m)^(\S.*?)( :.*)?$", r"- **\1**\2  ", block)
        else:
            yield block


def api() -> str:
    """Every public name, from the docstrings."""
    things = [(name, getattr(tenfold, name)) for name in tenfold.__all__]
    for home in tenfold._MODULES:
        module = getattr(tenfold, home)
        things += [(f"{home}.{name}", getattr(module, name)) for name in getattr(module, "__all__", ())]
    return "\n\n".join(line for name, thing in things for line in entry(name, thing, 2))


def kernels() -> str:
    """The classes of kernels with the first paragraph of their docstrings."""
    things = [(name, getattr(tenfold.kernels, name)) for name in tenfold.kernels.__all__]
    classes = [(name, cls) for name, cls in things if isinstance(cls, type) and issubclass(cls, tenfold.kernels.Kernel)]
    rows = [
        [f"`{name}`", (inspect.getdoc(cls) or "").partition("\n\n")[0].replace("\n", " ").replace("|", "\\|")]
        for name, cls in classes
        if cls is not tenfold.kernels.Kernel
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in [["class", "kernel"], ["---"] * 2, *rows])


def colour(code: str, language: str, _: str) -> str:
    return highlight(code, get_lexer_by_name(language or "text"), HtmlFormatter(nowrap=True))


def title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")


GENERATED = {"rules": rules, "report-only": report_only, "kernels": kernels, "api": api}
"""What is made from the code, by the marker that it replaces."""


def main(source: Path, target: Path) -> None:
    unknown = {path.stem for path in source.glob("*.md")} ^ set(PAGES)
    if unknown:
        raise SystemExit(f"the list PAGES of this script and the folder {source} differ: {sorted(unknown)}")
    pages = {name: (source / f"{name}.md").read_text(encoding="utf-8") for name in PAGES}
    renderer = MarkdownIt("commonmark", {"highlight": colour}).enable("table")
    menu = " ".join(f'<a href="{name}.html">{html.escape(title(text))}</a>' for name, text in pages.items())
    target.mkdir(exist_ok=True)
    (target / "style.css").write_text(STYLE + HtmlFormatter().get_style_defs("pre"), encoding="utf-8")
    for name, text in pages.items():
        for marker, make in GENERATED.items():
            if f"<!-- {marker} -->" in text:
                text = text.replace(f"<!-- {marker} -->", make())
        links = set(re.findall(r"\]\((\w+)\.md", text)) - set(PAGES)
        if links:
            raise SystemExit(f"{name}.md links to pages that are not there: {sorted(links)}")
        body = renderer.render(re.sub(r"\]\((\w+)\.md", r"](\1.html", text))
        (target / f"{name}.html").write_text(
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            f"<title>{html.escape(title(text))} - Tenfold</title>\n"
            f'<meta name="viewport" content="width=device-width">\n<link rel="stylesheet" href="style.css">\n'
            f"<nav>{menu}</nav>\n{body}</html>\n",
            encoding="utf-8",
        )
    print(f"wrote {len(pages)} pages to {target}/index.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
