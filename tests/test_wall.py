"""The wall: rooms of the kernel import no tenant, not by a string either.

What still does is listed below. The list may only become shorter, and `pytest -s` prints it.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator

from conftest import CHECKOUT

TENANTS = (
    *("rig.plugins.llama", "rig.plugins.served", "rig.plugins.twins", "rig.plugins.ray", "rig.plugins.mcp", "rig.plugins.tooltalk_tools", "rig.plugins.judging"),
    *("rig.plugins.solutions", "rig.plugins.papers", "rig.plugins.stress", "rig.plugins.author", "rig.plugins.tune", "rig.plugins.screen"),
    *("rig.plugins.report", "rig.plugins.exports", "rig.plugins.bundle", "rig.plugins.rescore", "rig.plugins.replay", "rig.plugins.exports.gate", "rig.plugins.verbs"),
    *("rig.plugins.strategies", "rig.plugins.tooltalk", "rig.plugins.autode", "rig.plugins.dynamic"),
    *("rig.plugins.tooleval", "rig.plugins.bfcl", "rig.plugins.tau2", "rig.plugins.text.judge"),
    *("rig.scoring.similarity", "rig.plugins.mcp.servers", "rig.plugins.mcp.server_config"),
    *("rig.plugins.mcp.server_world", "rig.plugins.mcp.client", "rig.plugins.mcp.cassette", "rig.plugins.mcp.isolation"),
    *("tui", "benchmarks"),
    # Verbs of tenants.
    *("rig.plugins.author.verb", "rig.plugins.llama.verbs.bench", "rig.plugins.bundle.verb", "rig.plugins.report.card_verb", "rig.plugins.doctor.verb"),
    *("rig.plugins.exports.verbs", "rig.plugins.exports.gate_verb", "rig.plugins.judging.verb", "rig.plugins.tune.verbs", "rig.plugins.llama.verbs.info"),
    *("rig.plugins.llama.verbs.models", "rig.plugins.rescore.verb", "rig.plugins.screen.verb", "rig.plugins.tune.tune_verb"),
)
"""The rooms that are no kernel: who needs them registers them (`rig.plugins`)."""

EXCEPTIONS = {
    "rig.cli.compare": {"rig.plugins.llama", "rig.plugins.judging", "rig.plugins.report"},
    "rig.cli.config": {"tui"},
    "rig.cli.options": {"rig.plugins.llama"},
    "rig.cli.runs": {"rig.plugins.replay", "rig.plugins.rescore", "tui"},
    "rig.cli.suites": {"rig.plugins.llama", "rig.plugins.mcp.cassette", "rig.plugins.mcp.isolation", "rig.plugins.mcp.servers"},
    "rig.show": {"tui"},
    # The one list of the tenants that come with rig.
    "rig.plugins": {
        *(
            "rig.plugins.author",
            "rig.plugins.ray",
            "rig.plugins.llama",
            "rig.plugins.exports",
            "rig.plugins.judging",
            "rig.plugins.mcp",
            "rig.plugins.papers",
        ),
        *("rig.plugins.autode", "rig.plugins.bfcl", "rig.plugins.dynamic", "rig.plugins.tau2", "rig.plugins.served"),
        *("rig.plugins.tooleval", "rig.plugins.tooltalk", "rig.plugins.stress", "rig.plugins.tooltalk_tools"),
        *("rig.plugins.verbs", "rig.plugins.strategies", "rig.plugins.twins"),
    },
    "rig.scoring": {"rig.scoring.similarity"},
    "rig.scoring.matching": {"rig.scoring.similarity"},
    "rig.scoring.readers": {"rig.scoring.similarity"},
    "rig.scoring.rules": {"rig.scoring.similarity", "rig.plugins.text.judge"},
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
