"""Rooms import from lower floors only. docs/lab/architecture.md says why."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent

RANKS = {
    # floor 0: what every room accepts
    "rig": (0, 0),
    "rig.core.paths": (0, 0),
    "rig.plugins.bundle.site": (0, 4),
    "rig.core.errors": (0, 0),
    "rig.core.times": (0, 0),
    "rig.core.folders": (0, 0),
    "rig.core.budget": (0, 1),
    "rig.core.files": (0, 2),
    "rig.core.opening": (0, 1),
    "rig.plugins": (0, 1),
    "rig.core.calls": (0, 0),
    "rig.core.meters": (0, 1),
    "rig.core.models": (0, 2),
    "rig.config.option": (0, 1),
    "rig.config.engine": (0, 2),
    "rig.config.options": (0, 3),
    "rig.core.documents": (0, 3),
    "rig.config": (0, 3),
    "rig.core.progress": (0, 0),
    "rig.core.databases": (0, 1),
    "rig.core.sqlite_import": (0, 0),
    "rig.core.tasks": (0, 4),
    "rig.core.metrics": (0, 3),
    "rig.config.limits": (0, 4),
    "rig.core.events": (0, 4),
    "rig.stats.levels": (0, 0),
    "rig.core.tables": (0, 4),
    "rig.config.schemes": (0, 4),
    # floor 1: engines and toolboxes
    "rig.plugins.text.reading": (1, 0),
    "rig.world": (1, 0),
    "rig.plugins.llama": (1, 1),
    "rig.plugins.served": (1, 2),
    "rig.plugins.tooltalk_tools": (1, 1),
    "rig.plugins.mcp": (1, 1),
    # floor 2: how tasks are played and scored
    "rig.stats": (2, 0),
    "rig.plugins.solutions": (2, 0),
    "rig.scoring": (2, 0),
    "rig.plugins.stress": (2, 1),
    "rig.methods": (2, 2),
    "rig.plugins.papers": (2, 3),
    # floor 3: runs
    "rig.store": (3, 0),
    "rig.plugins.ray": (3, 0),
    "rig.running": (3, 1),
    "rig.plugins.strategies": (3, 2),
    "rig.plugins.rescore": (3, 2),
    "rig.plugins.judging": (3, 3),
    "rig.plugins.replay": (3, 2),
    "rig.compare": (3, 2),
    "rig.plugins.screen": (3, 3),
    "rig.plugins.tune": (3, 4),
    "rig.plugins.bundle": (3, 0),
    "rig.plugins.author": (3, 0),
    # floor 4: what people see
    "rig.show": (4, 0),
    "rig.plugins.twins": (4, 1),
    "rig.plugins.rescore.question": (4, 1),
    "rig.plugins.report": (4, 1),
    "rig.plugins.exports.gate": (4, 1),
    "rig.plugins.exports": (4, 2),
    "tui": (4, 2),
    "rig.cli": (4, 3),
    "rig.plugins.verbs": (4, 4),
    "rig.__main__": (4, 4),
    "rig.api": (4, 4),
}
"""(floor, rank on it) of every room. A room imports rooms of a lower floor, or of a lower rank on its own."""

UNRELATED = {
    "rig.plugins.llama": {"rig.plugins.tooltalk_tools"},
    "rig.plugins.served": {"rig.plugins.tooltalk_tools"},
    "rig.world": {"rig.plugins.llama"},
    "rig.plugins.tooltalk_tools": {"rig.plugins.llama"},
    "rig.scoring": {"rig.plugins.llama", "rig.plugins.tooltalk_tools"},
    "rig.methods": {"rig.plugins.llama"},
    "rig.plugins.papers": {"rig.plugins.llama"},
    **{
        f"rig.{room}": {"rig.plugins.tooltalk_tools"}
        for room in ("store", "running", "rescore", "compare", "screening", "judging", "tuning")
    },
    "tui": {"rig.plugins.llama", "rig.world", "rig.plugins.tooltalk_tools", "rig.scoring", "rig.methods", "rig.cli"},
}
"""Rooms that are allowed by their floor and yet must never have heard of each other."""

PACKAGES = ("rig", "tui")
FILES = sorted(path for package in PACKAGES for path in (CHECKOUT / package).rglob("*.py"))

BY_NAME = {
    "rig": {"rig.api"},
    "rig.plugins": {
        "rig.show",
        "rig.plugins.exports",
        "rig.plugins.llama",
        "rig.plugins.served",
        "rig.plugins.tooltalk_tools",
        "rig.plugins.judging",
        "rig.plugins.papers",
        "rig.plugins.author",
        "rig.plugins.stress",
        "rig.plugins.tooltalk",
        "rig.plugins.autode",
        "rig.plugins.dynamic",
        "rig.plugins.tooleval",
        "rig.plugins.bfcl",
        "rig.plugins.tau2",
        "rig.plugins.ray",
        "rig.plugins.mcp",
        "rig.plugins.strategies",
        "rig.plugins.twins",
        "rig.plugins.verbs",
    },
    "rig.show": {"tui.display"},
    "rig.cli": {"benchmarks.engine.command"},
}
"""What a room names in a string and imports later although it is above it, each for a reason.

`import rig` offers the API, and loads it when somebody asks for it.
`rig.plugins` lists who registers, `rig bench` is a verb of a checkout alone.
"""


def module_of(path: Path) -> str:
    parts = path.relative_to(CHECKOUT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str | None:
    """The longest room in RANKS that the module is in; None for other packages."""
    if module.split(".")[0] not in PACKAGES:
        return None
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (room := ".".join(parts[:length])) in RANKS and (room != "rig" or length == len(parts)):
            return room
    pytest.fail(f"{module} is in no room; give it a rank in {Path(__file__).name}")


@cache
def imported_modules(path: Path) -> list[tuple[int, str]]:
    """(line, module) of every import, those inside functions and behind TYPE_CHECKING included."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield node.lineno, inner if inner in RANKS or _is_module(inner) else base


@cache
def named_modules(path: Path) -> list[tuple[int, str]]:
    """(line, module) of every string that names a module, as `import_module` and registrations take it."""
    strings = (node for node in ast.walk(_tree(path)) if isinstance(node, ast.Constant))
    texts = [(node.lineno, node.value) for node in strings if isinstance(node.value, str)]
    found = [(line, _MODULE.fullmatch(text)) for line, text in texts]
    return [(line, name[1]) for line, name in found if name and _is_module(name[1])]


_MODULE = re.compile(r"((?:rig|tui|benchmarks)(?:\.\w+)+)(?::\w+)?")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _is_module(name: str) -> bool:
    place = CHECKOUT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def _is_upward(room: str, module: str) -> bool:
    other = room_of(module)
    return bool(other) and (
        (RANKS[str(other)] >= RANKS[room] and other != room) or other in UNRELATED.get(room, ())
    )


def test_imports_point_down() -> None:
    faults = []
    for path in FILES:
        room = room_of(module_of(path))
        assert room is not None
        faults += [
            f"{path}, line {line}: {room} imports {module}"
            for line, module in imported_modules(path)
            if module.startswith("benchmarks.") or _is_upward(room, module)
        ]
        faults += [
            f"{path}, line {line}: {room} names {module}"
            for line, module in named_modules(path)
            if module not in BY_NAME.get(room, ())
            and (module.startswith("benchmarks.") or _is_upward(room, module))
        ]
    assert not faults, faults


def test_what_is_named_in_a_string_is_named_somewhere() -> None:
    named: dict[str, set[str]] = {}
    for path in FILES:
        named.setdefault(str(room_of(module_of(path))), set()).update(name for _, name in named_modules(path))
    unused = {room: left for room, names in BY_NAME.items() if (left := names - named[room])}
    assert not unused


def test_modules_are_imported_by_constant_names() -> None:
    """So that this test sees what is imported; `rig.plugins` and the verbs hold tables of names."""
    faults = [
        f"{path.relative_to(CHECKOUT)}, line {node.lineno}: imports what no test can see"
        for path in FILES
        if room_of(module_of(path)) not in ("rig.plugins", "rig.cli")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("import_module", "importlib.import_module", "__import__")
        and not isinstance(node.args[0], ast.Constant)
    ]
    assert not faults, faults


FOLDERS: dict[str, tuple[str, ...]] = {
    "rig.plugins.llama": ("core", "files", "grammar memory", "formats", "decoding", "."),
    "rig.methods": (".", "autode bfcl tau2 tooleval tooltalk", "dynamic"),
    "rig.plugins.papers": (".", "autode toolbench"),
    "rig.plugins.served": ("wire", "dialects", "."),
    "tui": ("text", "live", "stored", "widgets", "screens", "."),
}
"""The folders inside a room, the lowest first; "." are the room's own files, and `a b` are of one rank.

A file may import from lower folders and its own. A room's `__init__.py` may import all of the room.
"""

UNSORTED = {
    "rig.scoring",
    "rig.plugins.text.judge",
}
"""Rooms whose folders have no ranks yet."""


def _with_folders() -> list[str]:
    """Every package that has packages in it."""
    packages = {module_of(path) for path in FILES if path.name == "__init__.py"} - set(PACKAGES[:1])
    return sorted({parent for name in packages if (parent := name.rpartition(".")[0]) in packages})


@pytest.mark.parametrize("room", _with_folders())
def test_folders_inside_a_room_have_ranks(room: str) -> None:
    if room not in FOLDERS:
        assert room in UNSORTED, f"give the folders of {room} ranks in FOLDERS"
        return
    ranks = {name: rank for rank, names in enumerate(FOLDERS[room]) for name in names.split()}
    place = CHECKOUT.joinpath(*room.split("."))
    assert set(ranks) == {".", *(file.parent.name for file in place.glob("*/__init__.py"))}
    faults = []
    for path in place.rglob("*.py"):
        here = _folder_in(room, module_of(path))
        if here is None:
            continue
        for line, module in (*imported_modules(path), *named_modules(path)):
            there = _folder_in(room, module) if f"{module}.".startswith(f"{room}.") else None
            if there is not None and there != here and ranks[there] >= ranks[here]:
                faults.append(f"{path.relative_to(CHECKOUT)}, line {line}: {here} imports {there}: {module}")
    assert not faults, faults


def _folder_in(room: str, module: str) -> str | None:
    """The folder of a room that a module is in, "." for the room's own; None for the room itself."""
    if module == room:
        return None
    first = module.removeprefix(f"{room}.").split(".")[0]
    return first if (CHECKOUT.joinpath(*room.split("."), first, "__init__.py")).is_file() else "."


METHODS = {
    f"rig.methods.{place.name}"
    for place in (CHECKOUT / "rig" / "methods").iterdir()
    if (place / "__init__.py").is_file()
}
"""Tenants: whoever is in none of their rooms reaches them through what is registered."""

MADE_OF = {"rig.plugins.dynamic": ("rig.plugins.tooltalk", "rig.plugins.autode")}
"""A method that is made of others: ToolTalk's tasks and world, with AutoDE's way of reading questions."""


def test_nobody_knows_a_paper_but_itself() -> None:
    """What registers is the one way in: other rooms, and other papers, import none."""
    faults = [
        f"{path}, line {line}: imports {module}"
        for path in FILES
        for line, module in imported_modules(path)
        if module.startswith("rig.plugins.papers")
        and not f"{module}.".startswith(f"{'.'.join(module_of(path).split('.')[:3])}.")
    ]
    assert not faults, faults


def test_nobody_knows_a_method_but_itself() -> None:
    faults = []
    for path in FILES:
        if module_of(path).startswith("rig.plugins.papers."):
            continue
        own = _method_of(module_of(path))
        for line, module in imported_modules(path):
            other = _method_of(module)
            if other and other != own and other not in MADE_OF.get(own, ()):
                faults.append(f"{path}, line {line}: imports {module}")
    assert not faults, faults


def _method_of(module: str) -> str:
    return next((each for each in METHODS if f"{module}.".startswith(f"{each}.")), "")


def test_no_files_import_each_other_in_a_circle() -> None:
    files = {module_of(path): path for path in FILES}
    imports = {
        name: {found for _, found in imported_modules(path) if found in files and found != name}
        for name, path in files.items()
    }
    TopologicalSorter(imports).prepare()


def test_every_room_exists_or_is_a_single_file() -> None:
    missing = [room for room in RANKS if room != "rig" and not _is_module(room)]
    assert not missing


@pytest.mark.parametrize(
    ("arguments", "left_alone"),
    [
        (["--help"], {"rig.store", "rig.methods.base", "numpy", "pydantic"}),
        (["runs"], {"rig.plugins.llama.formats", "rig.plugins.tooltalk", "rig.plugins.autode", "rig.plugins.tooltalk_tools"}),
        (
            ["run", "oracle", "--limit", "1", "--similarity", "exact", "--display", "none"],
            {"rig.plugins.llama.formats", "rig.plugins.llama.core.template", "rig.plugins.autode.method", "jsonschema"},
        ),
    ],
    ids=["--help", "runs", "run"],
)
def test_a_verb_loads_what_it_needs_alone(tmp_path: Path, arguments: list[str], left_alone: set[str]) -> None:
    script = (
        "import sys, contextlib; from rig.cli import main\n"
        "with contextlib.suppress(SystemExit): main(sys.argv[2:])\n"
        "print(sorted(set(sys.argv[1].split()) & set(sys.modules)), file=sys.stderr)"
    )
    never = {"torch", "ray", "llama_cpp", "transformers", "textual", "jinja2", "openpyxl", "outlines"}
    heavy = never | left_alone
    call = [sys.executable, "-c", script, " ".join(heavy), *arguments]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "[]", done.stderr


MOST_FILES = 42
LARGE = {"rig.plugins.llama": 50}
"""Rooms with more files than a room should have. They are to become fewer."""


def _rooms() -> list[str]:
    """Every room, which is a folder of rig, of rig.methods, or tui."""
    return sorted(
        module_of(path)
        for path in FILES
        if path.name == "__init__.py" and path.parent.parent.name in ("rig", "methods", CHECKOUT.name)
    )


@pytest.mark.parametrize("room", _rooms())
def test_a_room_has_few_files(room: str) -> None:
    place = CHECKOUT.joinpath(*room.split("."))
    files = place.glob("*.py") if room in ("rig", "rig.methods") else place.rglob("*.py")
    assert len(list(files)) <= LARGE.get(room, MOST_FILES)


def test_the_page_on_the_architecture_names_what_is_there() -> None:
    page = (CHECKOUT / "docs/lab/architecture.md").read_text(encoding="utf-8")
    rooms = {room.replace(".", "/") for room in RANKS if room != "rig"}
    folders = {room for room in rooms if (CHECKOUT / room).is_dir()}
    assert folders <= set(re.findall(r"(?m)^(?:floor \d)? +(\S+)", page))
    places = re.findall(r"`([a-z_]+(?:/[a-z_]+)+(?:/|\.py)?)`", page)
    assert len(places) > 20
    for place in places:
        assert (CHECKOUT / place).exists() or (CHECKOUT / "rig" / place).exists(), place
