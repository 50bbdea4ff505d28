"""The house: rooms of the kernel import from lower rooms, and no room of it knows a tenant.

A tenant is a folder of `rig/plugins`, or tui. It imports the kernel, and of other tenants only those that
its line REQUIRES names. docs/lab/architecture.md says why.
"""

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

KERNEL = (
    ("core",),
    ("config",),
    ("world", "stats"),
    ("scoring",),
    ("methods",),
    ("store",),
    ("running",),
    ("compare",),
    ("show",),
    ("cli",),
    ("api", "__main__"),
)
"""The rooms of the kernel, the lowest first. A room imports rooms of lower rows."""
RANKS = {room: rank for rank, rooms in enumerate(KERNEL) for room in rooms}
PACKAGES = ("rig", "tui")
FILES = sorted(path for package in PACKAGES for path in (CHECKOUT / package).rglob("*.py"))
TENANTS = frozenset(path.parent.name for path in CHECKOUT.glob("rig/plugins/*/__init__.py")) | {"tui"}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


def tenant_of(module: str) -> str | None:
    """Return the tenant that a module is in, None for the kernel."""
    parts = module.split(".")
    if parts[0] == "tui":
        return "tui"
    return parts[2] if parts[:2] == ["rig", "plugins"] and len(parts) > 2 else None


def room_of(module: str) -> str | None:
    """Return the room of the kernel that a module is in; None for tenants and other packages."""
    parts = module.split(".")
    return parts[1] if parts[0] == "rig" and len(parts) > 1 and parts[1] in RANKS else None


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _is_module(name: str) -> bool:
    place = CHECKOUT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


@cache
def imported_modules(path: Path) -> list[tuple[int, str]]:
    """(line, module) of every import, those inside functions and behind TYPE_CHECKING included."""
    return list(_imports(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}, line {node.lineno}: name the module in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield node.lineno, inner if _is_module(inner) else str(node.module)


_MODULE = re.compile(r"((?:rig|tui|benchmarks)(?:\.\w+)+)(?::\w*)?")


@cache
def named_modules(path: Path) -> list[tuple[int, str]]:
    """(line, module) of every string that names a module, as `import_module` and registrations take it."""
    strings = (node for node in ast.walk(_tree(path)) if isinstance(node, ast.Constant))
    texts = [(node.lineno, node.value) for node in strings if isinstance(node.value, str)]
    found = [(line, _MODULE.fullmatch(text)) for line, text in texts]
    return [(line, name[1]) for line, name in found if name and _is_module(name[1])]


def requires(tenant: str) -> tuple[str, ...]:
    """Return the other tenants that a tenant says it requires."""
    start = CHECKOUT / ("tui/__init__.py" if tenant == "tui" else f"rig/plugins/{tenant}/__init__.py")
    for node in _tree(start).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "REQUIRES":
            return tuple(ast.literal_eval(node.value))
    return ()


def test_the_kernel_names_no_tenant() -> None:
    named: dict[str, set[str]] = {}
    for path in FILES:
        module = module_of(path)
        if tenant_of(module) is None:
            for _, other in (*imported_modules(path), *named_modules(path)):
                if tenant := tenant_of(other):
                    named.setdefault(module, set()).add(tenant)
    assert not named


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_imports_point_down(path: Path) -> None:
    module = module_of(path)
    room, tenant = room_of(module), tenant_of(module)
    assert room or tenant or module in ("rig", "rig.plugins"), "it is in no room; add one to KERNEL"
    faults = []
    for line, other in (*imported_modules(path), *named_modules(path)):
        there, owner = room_of(other), tenant_of(other)
        if room and there and there != room and RANKS[there] >= RANKS[room]:
            faults.append(f"line {line}: {room} imports {other}")
        if tenant and owner not in (None, tenant, *requires(tenant)):
            faults.append(f"line {line}: {tenant} does not say that it requires {owner}")
        if other.startswith("benchmarks.") and module != "rig.plugins.bench.verb":
            faults.append(f"line {line}: {other} is not installed")
    assert not faults, faults


@pytest.mark.parametrize("tenant", sorted(TENANTS))
def test_what_a_tenant_requires_is_what_it_imports(tenant: str) -> None:
    files = [path for path in FILES if tenant_of(module_of(path)) == tenant]
    others = {
        tenant_of(name) for path in files for _, name in (*imported_modules(path), *named_modules(path))
    }
    assert set(requires(tenant)) == others - {None, tenant}


def test_no_tenants_require_each_other_in_a_circle() -> None:
    TopologicalSorter({tenant: requires(tenant) for tenant in TENANTS}).prepare()


@pytest.mark.parametrize("tenant", sorted(TENANTS - {"tui"}))
def test_only_the_verbs_of_a_tenant_know_the_command_line(tenant: str) -> None:
    faults = [
        f"{path.relative_to(CHECKOUT)}, line {line}"
        for path in (CHECKOUT / "rig/plugins" / tenant).rglob("*.py")
        for line, name in imported_modules(path)
        if room_of(name) == "cli"
        and not re.search(r"verbs?\b", str(path.relative_to(CHECKOUT)).replace("_", " "))
    ]
    assert not faults, faults


def test_modules_are_imported_by_constant_names() -> None:
    """So that this test sees what is imported; the registry and the verbs hold names."""
    faults = [
        f"{path.relative_to(CHECKOUT)}, line {node.lineno}: imports what no test can see"
        for path in FILES
        if module_of(path) != "rig.core.registry" and room_of(module_of(path)) != "cli"
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("import_module", "importlib.import_module", "__import__")
        and not isinstance(node.args[0], ast.Constant)
    ]
    assert not faults, faults


FOLDERS: dict[str, tuple[str, ...]] = {
    "rig.plugins.llama": ("core", "files", "grammar memory", "formats", "decoding", ".", "verbs"),
    "rig.plugins.papers": (".", "autode toolbench"),
    "rig.plugins.served": ("wire", "dialects", "."),
    "rig.plugins.text": ("reading", "judge", "."),
    "tui": ("text", "live", "stored", "widgets", "screens", "."),
}
"""The folders inside a room, the lowest first; "." are the room's own files, and `a b` are of one rank.

A file may import from lower folders and its own. A room's `__init__.py` may import all of the room.
"""


def _with_folders() -> list[str]:
    """Every room or tenant that has packages in it."""
    packages = {module_of(path) for path in FILES if path.name == "__init__.py"} - {"rig", "rig.plugins"}
    return sorted({parent for name in packages if (parent := name.rpartition(".")[0]) in packages})


@pytest.mark.parametrize("room", _with_folders())
def test_folders_inside_a_room_have_ranks(room: str) -> None:
    assert room in FOLDERS, f"give the folders of {room} ranks in FOLDERS"
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


def test_no_files_import_each_other_in_a_circle() -> None:
    files = {module_of(path): path for path in FILES}
    imports = {
        name: {found for _, found in imported_modules(path) if found in files and found != name}
        for name, path in files.items()
    }
    TopologicalSorter(imports).prepare()


@pytest.mark.parametrize(
    ("arguments", "left_alone"),
    [
        (["--help"], {"rig.store", "rig.methods", "numpy", "pydantic"}),
        (["runs"], {"rig.plugins.llama.formats", "rig.plugins.tooltalk.method", "rig.plugins.autode.method"}),
        (
            ["run", "oracle", "--limit", "1", "--similarity", "exact", "--display", "none"],
            {
                *("rig.plugins.llama.formats", "rig.plugins.llama.core.template"),
                *("rig.plugins.autode.method", "jsonschema"),
            },
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
LARGE = {"llama": 60}
"""Tenants with more files than a room should have. They are to become fewer."""
MOST_CODE = 2_000
"""The most lines of code of a tenant: neither blank, nor a comment or a docstring."""
LARGER = {"llama": 9_550, "tui": 5_300}


def _code(path: Path) -> int:
    """Count the lines of code of a file."""
    prose: set[int] = set()
    for node in ast.walk(_tree(path)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in prose
        for number, line in enumerate(lines, 1)
    )


@pytest.mark.parametrize("tenant", sorted(TENANTS))
def test_a_tenant_is_small(tenant: str) -> None:
    files = [path for path in FILES if tenant_of(module_of(path)) == tenant]
    assert len(files) <= LARGE.get(tenant, MOST_FILES)
    assert sum(map(_code, files)) <= LARGER.get(tenant, MOST_CODE)


def test_the_kernel_can_be_read() -> None:
    files = [path for path in FILES if tenant_of(module_of(path)) is None]
    assert sum(map(_code, files)) <= 13_000


@pytest.mark.parametrize("room", sorted({*RANKS} - {"api", "__main__"}))
def test_a_room_has_few_files(room: str) -> None:
    assert len(list((CHECKOUT / "rig" / room).rglob("*.py"))) <= MOST_FILES


def test_tests_stand_where_what_they_test_does() -> None:
    """In the folder of a room, a tenant, a benchmark, or of the repository's top."""
    places = (*CHECKOUT.iterdir(), *CHECKOUT.glob("benchmarks/*"))
    known = {*RANKS, *TENANTS, *(place.name for place in places), "support", "tenants"}
    folders = {path.relative_to(CHECKOUT / "tests").parts[0] for path in CHECKOUT.glob("tests/*/**/*.py")}
    assert folders <= known


def test_the_page_on_the_architecture_names_what_is_there() -> None:
    page = (CHECKOUT / "docs/lab/architecture.md").read_text(encoding="utf-8")
    listed = page.partition("```text")[2].partition("```")[0]
    named = set(re.findall(r"(?m)^(?:kernel|tenants)? +(?:rig/)?(\w+)(?:\.py)? ", listed))
    assert {*RANKS, *TENANTS} - {"__main__"} == named
    places = re.findall(r"`([a-z_]+(?:/[a-z_]+)+(?:/|\.py)?)`", page)
    assert len(places) > 20
    for place in places:
        assert (CHECKOUT / place).exists() or (CHECKOUT / "rig" / place).exists(), place
