"""Names are the field's words, and nothing outside ToolTalk's rooms names its tools."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from rig.plugins.tooltalk_tools import TOOLTALK

CHECKOUT = Path(__file__).resolve().parent.parent
FILES = sorted(path for package in ("rig", "tui") for path in (CHECKOUT / package).rglob("*.py"))

OF_TOOLTALK = tuple(
    CHECKOUT / "rig" / place
    for place in ("plugins/tooltalk_tools", "plugins/tooltalk", "plugins/author/worlds.py")
)

PRIVATE = re.compile(
    r"(tell|foretell|tak|watch|plac|compar|quantiz|look|act)ing|survivors?|shel(f|ves)|tapes?|recalls"
    r"|people|crew|hosted|wholes|took|spelled|wishes|caution|misfits?|wear|worn"
)
"""Words whose meaning only the file tells that has them. `recall` is a metric, and no verb."""

TOOLS = re.compile(rf"\b({'|'.join([*TOOLTALK.tools, *TOOLTALK.plugins])})\b")


def _names(path: Path) -> Iterator[str]:
    """The file's, and those of its classes and functions."""
    yield path.stem
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]


def test_no_name_is_a_private_word() -> None:
    found = [
        (str(path), name)
        for path in FILES
        for name in _names(path)
        if any(map(PRIVATE.fullmatch, _words(name))) or name == "given"
    ]
    assert not found


def test_nobody_else_names_tooltalks_tools() -> None:
    found = [
        (str(path), name)
        for path in FILES
        if not any(path.is_relative_to(room) for room in OF_TOOLTALK)
        for name in TOOLS.findall(path.read_text(encoding="utf-8").replace('"Email": user.email', ""))
    ]
    assert not found


def test_the_words_are_told_apart() -> None:
    assert _words("_TaskTelling") == ["task", "telling"]
    assert PRIVATE.fullmatch("placing")
    assert not PRIVATE.fullmatch("place")
    assert TOOLS.search("call AddAlarm")


def test_a_class_shares_its_name_with_no_other() -> None:
    places: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(CHECKOUT)))
    assert len(places) > 400
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}
