"""The wall: rooms of the kernel import no tenant, not by a string either.

What still does is listed below. The list may only become shorter, and `pytest -s` prints it.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator

from conftest import CHECKOUT

TENANTS = (
    *("rig.engine", "rig.serving", "rig.twins", "rig.cluster", "rig.mcp", "rig.tooltalk", "rig.judging"),
    *("rig.solutions", "rig.papers", "rig.stress", "rig.authoring", "rig.tuning", "rig.screening"),
    *("rig.report", "rig.exports", "rig.bundle", "rig.rescore", "rig.replay", "rig.gate", "rig.verbs"),
    *("rig.strategies", "rig.methods.tooltalk", "rig.methods.autode", "rig.methods.dynamic"),
    *("rig.methods.tooleval", "rig.methods.bfcl", "rig.methods.tau2", "rig.scoring.texts"),
    *("rig.scoring.similarity", "rig.toolbox.servers", "rig.toolbox.server_config"),
    *("rig.toolbox.server_world", "rig.toolbox.client", "rig.toolbox.cassette", "rig.toolbox.isolation"),
    *("tui", "benchmarks"),
    # Verbs of tenants.
    *("rig.cli.author", "rig.cli.bench", "rig.cli.bundle", "rig.cli.card", "rig.cli.doctor"),
    *("rig.cli.exchange", "rig.cli.gate", "rig.cli.judge", "rig.cli.model_files", "rig.cli.model_info"),
    *("rig.cli.models", "rig.cli.score", "rig.cli.screen", "rig.cli.tune"),
)
"""The rooms that are no kernel: who needs them registers them (`rig.plugins`)."""

EXCEPTIONS = {
    "rig.cli.compare": {"rig.engine", "rig.judging", "rig.report"},
    "rig.cli.config": {"tui"},
    "rig.cli.options": {"rig.engine"},
    "rig.cli.runs": {"rig.replay", "rig.rescore", "tui"},
    "rig.cli.suites": {"rig.engine", "rig.toolbox.cassette", "rig.toolbox.isolation", "rig.toolbox.servers"},
    "rig.displays": {"tui"},
    # The one list of the tenants that come with rig.
    "rig.plugins": {
        *(
            "rig.authoring",
            "rig.cluster",
            "rig.engine",
            "rig.exports",
            "rig.judging",
            "rig.mcp",
            "rig.papers",
        ),
        *("rig.methods.autode", "rig.methods.bfcl", "rig.methods.dynamic", "rig.methods.tau2", "rig.serving"),
        *("rig.methods.tooleval", "rig.methods.tooltalk", "rig.stress", "rig.tooltalk"),
        *("rig.verbs", "rig.strategies", "rig.twins"),
    },
    "rig.scoring": {"rig.scoring.similarity"},
    "rig.scoring.matching": {"rig.scoring.similarity"},
    "rig.scoring.readers": {"rig.scoring.similarity"},
    "rig.scoring.rules": {"rig.scoring.similarity", "rig.scoring.texts"},
}
"""The tenants that rooms of the kernel still name. The test fails for another, and for one that is gone."""


def tenant_of(name: str) -> str | None:
    """Return the tenant that a dotted name is in."""
    return next((tenant for tenant in TENANTS if name == tenant or name.startswith(f"{tenant}.")), None)


def names_in(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a module imports, or that look like a module in a text of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield node.value.partition(":")[0]


def edges() -> dict[str, set[str]]:
    """Return the tenants that each module of the kernel imports or names."""
    edges: dict[str, set[str]] = defaultdict(set)
    for path in sorted((CHECKOUT / "rig").rglob("*.py")):
        module = ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")
        if tenant_of(module) is None:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            edges[module] |= {tenant for name in names_in(tree) if (tenant := tenant_of(name))}
    return {module: tenants for module, tenants in edges.items() if tenants}


def test_the_kernel_names_no_tenant_but_the_exceptions() -> None:
    now = edges()
    for module, tenants in now.items():
        print(f"{module} -> {', '.join(sorted(tenants))}")
    assert now == EXCEPTIONS


def test_running_names_no_tenant() -> None:
    assert not any(module.startswith(("rig.running", "rig.store", "rig.compare")) for module in EXCEPTIONS)
