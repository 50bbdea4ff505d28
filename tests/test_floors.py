"""Rooms import from lower floors only. The floors, and why there are any: docs/architecture.md."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent

FLOORS = {
    "rig": 0,
    "rig.calls": 0,
    "rig.conversations": 0,
    "rig.cores": 0,
    "rig.errors": 0,
    "rig.events": 0,
    "rig.meters": 0,
    "rig.models": 0,
    "rig.paths": 0,
    "rig.verdicts": 0,
    "rig.engine": 1,
    "rig.tools": 1,
    "rig.world": 1,
    "rig.rates": 2,
    "rig.scoring": 2,
    "rig.protocols": 2,
    "rig.arms": 3,
    "rig.bench": 3,
    "rig.check": 3,
    "rig.compare": 3,
    "rig.control": 3,
    "rig.plan": 3,
    "rig.planning": 3,
    "rig.replaying": 3,
    "rig.rescore": 3,
    "rig.runner": 3,
    "rig.screen": 3,
    "rig.store": 3,
    "rig.tables": 3,
    "rig.tally": 3,
    "rig.cli": 4,
    "rig.displays": 4,
    "rig.report": 4,
    "rig.__main__": 4,
    "tui": 4,
}

UNRELATED = {
    "rig.engine": {"rig.tools", "rig.world"},
    "rig.world": {"rig.engine", "rig.tools"},
    "rig.tools": {"rig.engine"},
    "rig.scoring": {"rig.engine", "rig.world", "rig.protocols"},
    "rig.protocols": {"rig.engine"},
    "tui": {"rig.engine", "rig.tools", "rig.world", "rig.scoring", "rig.protocols", "rig.check", "rig.cli"},
}
"""Rooms that are allowed by their floor and yet must never have heard of each other."""

FILES = sorted(path for package in ("rig", "tui") for path in (CHECKOUT / package).rglob("*.py"))


def module_of(path: Path) -> str:
    parts = path.relative_to(CHECKOUT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str | None:
    """The longest known room that the module is in; None for other packages."""
    if module.split(".")[0] not in ("rig", "tui"):
        return None
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (room := ".".join(parts[:length])) in FLOORS and (room != "rig" or length == len(parts)):
            return room
    pytest.fail(f"{module} is in no room; give it a floor in {Path(__file__).name}")


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import, those inside functions and behind TYPE_CHECKING included."""
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node.lineno, inner if inner in FLOORS or _is_module(inner) else base


def _is_module(name: str) -> bool:
    place = CHECKOUT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(module_of(path))
    assert room is not None
    faults = []
    for line, module in imported_modules(path):
        other = room_of(module)
        if other and (FLOORS[other] > FLOORS[room] or other in UNRELATED.get(room, ())):
            faults.append(f"line {line}: {room} imports {other}")
    assert not faults, faults


def test_every_room_exists_or_is_a_single_file() -> None:
    missing = [room for room in FLOORS if room != "rig" and not _is_module(room)]
    assert not missing


def test_the_command_line_loads_no_model_library_until_a_verb_needs_it() -> None:
    script = (
        "import sys, rig.cli, rig.engine; heavy = {'torch', 'llama_cpp', 'transformers', 'textual'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
