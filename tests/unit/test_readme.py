"""The README says what the code does: its example prints what stands below it, its links lead somewhere."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_table_of_losses_is_that_of_the_code():
    tool = runpy.run_path(str(ROOT / "tools" / "losses_table.py"))
    page = (ROOT / "docs" / "glm.md").read_text(encoding="utf-8")
    assert tool["place_tables"](page) == page, "run: python tools/losses_table.py docs/glm.md"
    assert tool["table"]().count("\n| ") >= 17


def test_the_example_runs_and_prints_what_the_readme_shows():
    (code,), (shown,) = blocks("python"), blocks("text")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    answer = printed.getvalue()
    assert NUMBER.sub("#", answer).split() == NUMBER.sub("#", shown).split()
    # numbers of the size of rounding differ from machine to machine; the others are the point of the example
    for ours, theirs in zip(map(float, NUMBER.findall(answer)), map(float, NUMBER.findall(shown)), strict=True):
        assert ours == pytest.approx(theirs, rel=2e-3, abs=1e-6)


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", README))
    assert {"demo", "test"} <= named
    assert named <= targets


def test_the_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []
