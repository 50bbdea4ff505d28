"""How values of a call agree with the true ones by the rules that people choose (`rig.world.rules`)."""

import json
from collections.abc import Callable, Iterator, Mapping

from rig.core.calls import Json
from rig.core.errors import RigError
from rig.plugins.matching.parts import SchemaPart
from rig.plugins.matching.values import (
    ABSENT,
    ANY,
    alike,
    both_nothing,
    is_close,
    read_instant,
    read_number,
    seconds_between,
    seconds_of_day_between,
    typed,
)
from rig.world.patterns import fault_of, is_match
from rig.world.rules import MARK, Rule

LONGEST = 100_000
"""The most characters of a text that is matched; a longer one never agrees."""
NESTED = "nested"
"""The name of the rule for a value that has rules inside."""

_OF_A_VALUE = ("exact", "number", "date", "time", "datetime", "set")
"""The rules that compare a value with the expected one."""


def agrees(rule: Rule, expected: Json, got: Json, part: SchemaPart = ANY) -> bool:
    """Return whether a value agrees with the expected one; `ABSENT` stands for no value. Never raises.

    Nothing agrees with nothing, and a text with itself, even if it is no time where a time is due. `part`
    is what the tool's schema says of the value.
    """
    is_same = both_nothing(expected, got, part) or (isinstance(expected, str) and alike(expected, got))
    return (is_same and rule.name in _OF_A_VALUE) or holds(rule, expected, got, part)


def holds(rule: Rule, expected: Json, got: Json, part: SchemaPart = ANY) -> bool:
    """Return whether both values can be read, and agree. Never raises."""
    try:
        return _AGREES[rule.name](rule, None if expected is ABSENT else expected, got, part)
    except (TypeError, ValueError, AttributeError, OverflowError, TimeoutError, RecursionError):
        return False


def example_of(rule: Rule) -> Json:
    """An example value that the rule accepts. Raises LookupError if there is none."""
    if "example" in rule.options:
        return rule.options["example"]
    if rule.name in ("any", "regex"):
        raise LookupError(rule.name)
    if rule.name == NESTED:
        return nested_example(rule.of)
    return rule.of[0] if rule.name == "one_of" else rule.of


def names() -> tuple[str, ...]:
    """Return the names of all rules."""
    return tuple(name for name in _AGREES if name != NESTED)


def simple(name: Json) -> Rule:
    """Return the rule of a name that needs no value. Raises RigError for any other name."""
    simple_ones = [rule for rule in _AGREES if rule not in ("one_of", "regex", NESTED)]
    if not isinstance(name, str) or name not in simple_ones:
        raise RigError(f"{name!r} is not a rule for an argument; choose from: {', '.join(simple_ones)}")
    return Rule(name)


def parse(value: Json) -> Rule | None:
    """Return the rule in place of a value; None for a plain value. Raises RigError for a bad rule."""
    if not isinstance(value, dict) or not any(name.startswith(MARK) for name in value):
        return None
    (first, of), *rest = value.items()
    name, options = first.removeprefix(MARK), dict(rest)
    if not first.startswith(MARK) or name not in _AGREES:
        there_are = ", ".join(f"{MARK}{rule}" for rule in _AGREES if rule != NESTED)
        raise RigError(f"{first!r} is not a rule; choose from: {there_are}")
    allowed = {"example", *(("within",) if name in ("number", "datetime", "time") else ())}
    if unknown := [option for option in options if option not in allowed]:
        raise RigError(f"{first} has no option {unknown[0]!r}; choose from: {', '.join(sorted(allowed))}")
    rule = Rule(name, of, options)
    _check(rule)
    return rule


def nested(value: Json) -> Rule | None:
    """Return the rule of a list or object with rules somewhere inside; None without any. Raises RigError."""
    return Rule(NESTED, value) if isinstance(value, dict | list) and _holds_rule(value) else None


def _holds_rule(value: Json) -> bool:
    # All are parsed, so that a fault in any of them is found.
    if isinstance(value, dict) and parse(value) is not None:
        return True
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(list(map(_holds_rule, items)))


def nested_example(value: Json) -> Json:
    """Replace each rule inside a value with its example. Raises LookupError for a rule that has none."""
    if isinstance(value, list):
        return [nested_example(item) for item in value]
    if not isinstance(value, dict):
        return value
    rule = parse(value)
    return {name: nested_example(item) for name, item in value.items()} if rule is None else example_of(rule)


def nested_texts(value: Json, got: Json, path: str = "") -> Iterator[tuple[str, Json, Json]]:
    """Yield the path of each free text inside a value, the expected text, and what is there."""
    if isinstance(value, list) and isinstance(got, list):
        for place, (item, other) in enumerate(zip(value, got, strict=False)):
            yield from nested_texts(item, other, f"{path}[{place}]")
    elif isinstance(value, dict) and (rule := parse(value)) is not None:
        if rule.is_text:
            yield path, rule.of, got
    elif isinstance(value, dict) and isinstance(got, dict):
        for name in value:
            yield from nested_texts(value[name], got.get(name), f"{path}.{name}")


def first_difference(expected: Json, got: Json) -> tuple[str, Json, Json]:
    """Return the path to the first difference of two values, and both values there; None for nothing."""
    has_rules = isinstance(expected, dict) and f"{MARK}{NESTED}" in expected
    return _difference(expected[f"{MARK}{NESTED}"] if has_rules else expected, got, "", has_rules)


def _difference(expected: Json, got: Json, path: str, has_rules: bool) -> tuple[str, Json, Json]:
    if isinstance(expected, dict) and isinstance(got, dict) and not (has_rules and parse(expected)):
        for name in dict.fromkeys((*expected, *got)):
            one, other = expected.get(name, ABSENT), got.get(name, ABSENT)
            if not both_nothing(one, other) and not _agrees_inside(one, other, has_rules=has_rules):
                one, other = expected.get(name), got.get(name)
                return _difference(one, other, f"{path}.{name}", has_rules)
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        for place, (one, other) in enumerate(zip(expected, got, strict=True)):
            if not _agrees_inside(one, other, has_rules=has_rules):
                return _difference(one, other, f"{path}[{place}]", has_rules)
    return path, expected, got


def _agrees_inside(expected: Json, got: Json, part: SchemaPart = ANY, has_rules: bool = True) -> bool:
    """Return whether a value agrees with one that may have rules inside. Any text agrees with a `$text`."""
    if not has_rules:
        return got is not ABSENT and alike(expected, got, part)
    if isinstance(expected, list):
        items = part.items
        return (
            isinstance(got, list)
            and len(expected) == len(got)
            and all(_agrees_inside(one, other, items) for one, other in zip(expected, got, strict=True))
        )
    if not isinstance(expected, dict):
        return alike(expected, got, part)
    rule = parse(expected)
    if rule is not None:
        return isinstance(got, str) if rule.is_text else agrees(rule, rule.of, got, part)
    if not isinstance(got, dict):
        return False
    triples = (
        (expected.get(name, ABSENT), got.get(name, ABSENT), part.member(name)) for name in {**expected, **got}
    )
    return all(both_nothing(*triple) or _agrees_inside(*triple) for triple in triples)


def _check(rule: Rule) -> None:
    """Raise RigError for a rule that nothing could agree with, or whose example does not."""
    if rule.name == "one_of" and not (isinstance(rule.of, list) and rule.of):
        raise RigError("$one_of needs a list of values")
    if rule.name == "set" and not isinstance(rule.of, list):
        raise RigError("$set needs a list")
    if rule.name == "text" and not isinstance(rule.of, str):
        raise RigError("$text needs a text")
    if rule.name == "regex" and (fault := fault_of(rule.of)):
        raise RigError(f"$regex {str(rule.of)[:60]!r}: {fault}")
    within = rule.options.get("within", 0)
    if isinstance(within, bool) or not isinstance(within, int | float) or within < 0:
        raise RigError(f"within {within!r}: needs a number from 0 on")
    if rule.name in ("number", "date", "time", "datetime") and not holds(rule, rule.of, rule.of):
        raise RigError(f"${rule.name} {rule.of!r}: is none")
    if "example" in rule.options and not rule.is_text and not agrees(rule, rule.of, rule.options["example"]):
        raise RigError(f"the example {rule.options['example']!r} does not agree with ${rule.name}")


def _number(rule: Rule, expected: Json, got: Json, part: SchemaPart) -> bool:
    """Return whether two numbers, given as numbers or texts, are equal or near enough."""
    due, number = read_number(expected), read_number(got)
    return is_close(due, number) or abs(due - number) <= rule.options.get("within", 0)


def _datetime(rule: Rule, expected: Json, got: Json, part: SchemaPart) -> bool:
    return bool(seconds_between(expected, got) <= rule.options.get("within", 0))


def _time(rule: Rule, expected: Json, got: Json, part: SchemaPart) -> bool:
    return bool(seconds_of_day_between(expected, got) <= rule.options.get("within", 0))


def _set(rule: Rule, expected: Json, got: Json, part: SchemaPart) -> bool:
    """Return whether two lists have the same elements, in any order and however often."""
    if not (isinstance(expected, list) and isinstance(got, list)):
        return False
    return _contains(got, expected, part.items) and _contains(expected, got, part.items)


def _contains(values: list[Json], others: list[Json], part: SchemaPart) -> bool:
    # Most are written alike, so that only the others are compared with all values.
    written = {json.dumps(value, sort_keys=True) for value in values}
    left = (other for other in others if json.dumps(other, sort_keys=True) not in written)
    return all(any(alike(value, other, part) for value in values) for other in left)


def _one_of(rule: Rule, expected: Json, got: Json, part: SchemaPart) -> bool:
    """Return whether a value is one of the rule's; null among those allows the argument to be left out."""
    return any(alike(value, None if got is ABSENT else got, part) for value in rule.of)


def _regex(rule: Rule, expected: Json, got: Json, part: SchemaPart) -> bool:
    """Return whether the pattern matches a text as a whole; a number is matched as it is written."""
    text = str(got) if isinstance(got, int | float) and not isinstance(got, bool) else got
    if not isinstance(text, str) or len(text) > LONGEST:
        return False
    return is_match(rule.of, text) or (typed(text) != text and is_match(rule.of, typed(text)))


_AGREES: Mapping[str, Callable[[Rule, Json, Json, SchemaPart], bool]] = {
    "exact": lambda rule, expected, got, part: alike(expected, got, part),
    "number": _number,
    "date": lambda rule, expected, got, part: read_instant(expected).date() == read_instant(got).date(),
    "time": _time,
    "datetime": _datetime,
    "set": _set,
    "text": lambda rule, expected, got, part: alike(expected, got, part),
    "any": lambda rule, expected, got, part: True,
    "one_of": _one_of,
    "regex": _regex,
    NESTED: lambda rule, expected, got, part: _agrees_inside(rule.of, got, part),
}
