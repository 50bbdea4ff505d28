"""What a chat template reads: its variables, and the constants that it compares them with.

This runs in the process in which templates run, as a template can be made to take long to parse.
"""

from collections.abc import Iterator, Mapping

import jinja2
import jinja2.meta
from jinja2 import nodes

from rig.calls import Json, JsonObject
from rig.engine.core.settable import GIVEN

_MOST = 16
"""The most constants of a variable that are kept."""


def variables_of(environment: jinja2.Environment, source: str) -> Mapping[str, JsonObject]:
    """Return the variables that a template reads: `values` are constants that each may have.

    `is_own` is whether the template sets it whatever it was, to remember something.
    """
    tree = environment.parse(source)
    names = sorted(jinja2.meta.find_undeclared_variables(tree) - GIVEN)
    constants: dict[str, list[Json]] = {name: [] for name in names}
    for name, value in _constants(tree):
        values = constants.get(name)
        if values is not None and len(values) < _MOST and not any(_same(value, one) for one in values):
            values.append(value)
    own = {name for assignment in tree.find_all(nodes.Assign) for name in _names(assignment.target)}
    own |= {name for block in tree.find_all(nodes.AssignBlock) for name in _names(block.target)}
    tests = [test for test in tree.find_all(nodes.Test) if "defined" in test.name]
    asked = {name for part in (*tests, *_defaults(tree)) for name in _names(part.node)}
    return {name: {"values": constants[name], "is_own": name in own - asked} for name in names}


def _same(one: Json, other: Json) -> bool:
    return type(one) is type(other) and one == other


def _constants(tree: nodes.Template) -> Iterator[tuple[str, Json]]:
    """Yield names with constants: what they are compared with, their defaults, and what they are set to."""
    for compared in tree.find_all(nodes.Compare):
        sides = [compared.expr, *(operand.expr for operand in compared.ops)]
        names = [name for side in sides for name in _names(side)]
        yield from ((name, value) for name in names for side in sides for value in _values(side))
    for default in _defaults(tree):
        yield from ((name, value) for name in _names(default.node) for value in _values(default.args[0]))
    for choice in tree.find_all(nodes.CondExpr):
        branches = [branch for branch in (choice.expr1, choice.expr2) if branch is not None]
        names = [name for branch in branches for name in _names(branch)]
        yield from ((name, value) for name in names for branch in branches for value in _values(branch))
    for assignment in tree.find_all(nodes.Assign):
        yield from ((name, value) for name in _names(assignment.target) for value in _values(assignment.node))


def _defaults(tree: nodes.Template) -> list[nodes.Filter]:
    return [part for part in tree.find_all(nodes.Filter) if part.name in ("default", "d") and part.args]


def _names(node: nodes.Node | None) -> list[str]:
    """Return the name that an expression is, also below filters such as `lower`."""
    while isinstance(node, nodes.Filter):
        node = node.node
    return [node.name] if isinstance(node, nodes.Name) else []


def _values(node: nodes.Node) -> list[Json]:
    """Return the constants that an expression is."""
    parts = node.items if isinstance(node, nodes.List | nodes.Tuple) else [node]
    values = [part.value for part in parts if isinstance(part, nodes.Const)]
    return [value for value in values if value is None or isinstance(value, str | bool | int | float)]
