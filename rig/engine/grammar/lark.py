"""A JSON Schema as a Lark grammar, for what llguidance's own way from a schema to a grammar cannot do.

That way fixes the order of an object's properties, and of numbers between bounds it leaves some out, such as
0.1 of those from 0 to 0.15. Here an object whose properties may come in any order is a walk over the sets of
names that are still to come: one rule for each set, so that no name comes twice and no required one is left
out. Where objects can stand side by side all are written here, none in llguidance's way: its lexer takes
the longest piece that begins like the text, and would lose those that are cut into other pieces.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from rig.calls import JsonObject
from rig.engine.grammar.constraint import ConstraintError
from rig.engine.grammar.numbers import decimals

MOST_PROPERTIES = 10
"""2^10 sets of names; an object with one more doubles that."""
MOST_RULES = 20_000
"""Of a whole grammar; some 30 tools of 10 parameters each."""


def is_needed(schema: JsonObject) -> bool:
    """Whether llguidance's own way does not do for a narrowed schema whose order is fixed."""
    return _holds(schema, "number")


def grammar(schema: JsonObject, options: JsonObject, *, free_order: bool) -> str:
    """A grammar of the texts of a narrowed schema.

    With `free_order` properties may come in any, but in the outermost objects, which are the form of an
    answer. `options` are llguidance's for JSON, with both separators. Raises ConstraintError for an object of
    too many properties to go through in any order.
    """
    writer = Writer(options, free_order)
    return writer.written(writer.value(schema, outermost=True))


class Member(NamedTuple):
    """A property of an object as Lark: what stands before its value, first of all or after another."""

    name: str
    first: str
    later: str
    value: str
    is_required: bool


class Writer:
    """Collects the rules of a grammar."""

    def __init__(self, options: JsonObject, free_order: bool) -> None:
        self._options = options
        self.free_order = free_order
        self._rules: list[str] = []
        self._names: dict[str, str] = {}
        self._fresh = 0

    def written(self, start: str) -> str:
        """The whole grammar, from what it begins with and all rules so far."""
        return "\n".join([f"start: {start}", *self._rules, ""])

    def fresh(self, kind: str) -> str:
        """A name that no rule has yet."""
        self._fresh += 1
        return f"{kind}{self._fresh}"

    def value(self, schema: JsonObject, *, outermost: bool = False) -> str:
        """The name of the rule of a value; equal schemas share one."""
        key = json.dumps([schema, outermost])
        if key not in self._names:
            name = self._names[key] = f"v{len(self._names)}"
            self.add(name, self.body(schema, name, outermost))
        return self._names[key]

    def body(self, schema: JsonObject, name: str, outermost: bool) -> str:
        if "anyOf" in schema:
            return " | ".join(self.value(option, outermost=outermost) for option in schema["anyOf"])
        match schema.get("type"):
            case "object" if isinstance(schema.get("additionalProperties"), dict):
                return self._any_names(schema["additionalProperties"], name)
            case "object":
                free = self.free_order and not outermost
                members = self._members(schema, free_order=free)
                return self.ordered(members, name, '"}"', '"{}"', free_order=free)
            case "array" if _holds(schema, "object") or is_needed(schema):
                return self._items(schema)
            case "number":
                return f"/{decimals(schema['minimum'], schema['maximum'])}/"
        return f"%json {json.dumps({**schema, 'x-guidance': self._options}, ensure_ascii=False)}"

    def _any_names(self, schema: JsonObject, name: str) -> str:
        """An object of any names, with values of a schema."""
        between = literal(self._options["item_separator"])
        pair = f"{name}_pair"
        self.add(pair, f"{self.any_name()} {literal(self._options['key_separator'])} {self.value(schema)}")
        return f'"{{" {pair} ({between} {pair})* "}}" | "{{}}"'

    def any_name(self) -> str:
        """The rule of a name in an object that declares none."""
        return self.value({"type": "string"})

    def _members(self, schema: JsonObject, *, free_order: bool) -> list[Member]:
        required, between = schema.get("required", ()), self._options["item_separator"]
        properties = schema["properties"]
        values = {
            name: self.value(properties[name])
            for name in (properties if free_order else reversed(properties))
        }
        return [
            Member(name, self._key("{", name), self._key(between, name), values[name], name in required)
            for name in properties
        ]

    def ordered(self, members: Sequence[Member], name: str, end: str, empty: str, *, free_order: bool) -> str:
        """An object of these members, then `end`; `empty` is one of none. Rules are called after `name`."""
        if free_order:
            return self._in_any_order(members, name, end, empty)
        return self._in_order(members, name, end, empty)

    def _in_order(self, members: Sequence[Member], name: str, end: str, empty: str) -> str:
        """Rule by rule from the last property back: what may follow once all before are through."""
        following, firsts, may_be_empty = end, [], True
        for number, member in reversed(list(enumerate(members))):
            firsts.append(f"{member.first} {member.value} {following}")
            this = f"{member.later} {member.value} {following}"
            if member.is_required:
                may_be_empty = False
                firsts = firsts[-1:]
            else:
                this = f"{this} | {following}"
            if number:
                self.add(f"{name}_{number}", this)
                following = f"{name}_{number}"
        return " | ".join([*reversed(firsts), *([empty] if may_be_empty else [])])

    def _in_any_order(self, members: Sequence[Member], name: str, end: str, empty: str) -> str:
        if len(members) > MOST_PROPERTIES:
            names = ", ".join(member.name for member in members)
            raise ConstraintError(
                f"--parameter-order free goes up to {MOST_PROPERTIES} parameters, here are {len(members)}"
                f" ({names[:100]}); use --parameter-order fixed"
            )
        if not members:
            return empty
        required = sum(1 << number for number, member in enumerate(members) if member.is_required)
        everything = (1 << len(members)) - 1
        for left in range(everything):
            steps = [f"{member.later} {rest}" for member, rest in _steps(members, left, name)]
            self.add(f"{name}_{left}", " | ".join([*steps, *([] if left & required else ['""'])]))
        first = [f"{member.first} {rest} {end}" for member, rest in _steps(members, everything, name)]
        return " | ".join([*first, *([] if required else [empty])])

    def _items(self, schema: JsonObject) -> str:
        item = self.value(schema["items"])
        between = literal(self._options["item_separator"])
        low, high = schema.get("minItems", 0), schema.get("maxItems")
        if high == 0:
            return '"[" "]"'
        more = (
            f"({between} {item}){{{max(low - 1, 0)},{'' if high is None else high - 1}}}" if high != 1 else ""
        )
        some = f'"[" {item} {more} "]"'
        return some if low else f'{some} | "[" "]"'

    def _key(self, before: str, name: str) -> str:
        return literal(before + json.dumps(name, ensure_ascii=False) + self._options["key_separator"])

    def add(self, name: str, body: str) -> None:
        """Add a rule. Raises ConstraintError if there are too many."""
        if len(self._rules) >= MOST_RULES:
            raise ConstraintError(
                f"--parameter-order free needs more than {MOST_RULES} rules for these tools;"
                " use --parameter-order fixed, or offer fewer tools"
            )
        self._rules.append(f"{name}: {body}")


def _steps(members: Sequence[Member], left: int, rule: str) -> list[tuple[Member, str]]:
    """One way to go on for every member that is left: its value, and the rule of what is left then."""
    return [
        (member, f"{member.value} {rule}_{left & ~(1 << number)}")
        for number, member in enumerate(members)
        if left >> number & 1
    ]


def _holds(schema: Any, kind: str) -> bool:
    """Whether there is a value of this type anywhere in the values of a schema."""
    inner = [*schema.get("anyOf", []), *schema.get("properties", {}).values()]
    inner += [part for part in (schema.get("items"), schema.get("additionalProperties")) if part]
    return schema.get("type") == kind or any(_holds(part, kind) for part in inner)


def literal(text: str) -> str:
    """A Lark string; it has JSON's escapes, but DEL, which JSON need not escape, it has only escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
