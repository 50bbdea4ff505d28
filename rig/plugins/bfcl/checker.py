"""BFCL's checker: compares calls with a ground truth by the rules of its `ast_checker`.

The rules are kept exactly, even where they are odd. The values in a list of allowed values are compared as
Python compares them. If `""` is among them, the argument may be left out, and an empty list passes for it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from rig.core.calls import Json, JsonObject
from rig.core.errors import counted
from rig.plugins.bfcl.data import SingleTurnEntry
from rig.plugins.bfcl.literals import TYPES, value_of

Output: TypeAlias = Sequence[Mapping[str, JsonObject]]
"""Calls: each an object from the function's name to the arguments."""

_LISTS = {"python": ("array", "tuple"), "java": ("Array", "ArrayList", "array")}
_LISTS["javascript"] = _LISTS["java"]
_DROPPED = re.compile(r"[ ,./\-_*^]")


class Wrong(Exception):
    """Raised if calls are not those of the ground truth, with a text and BFCL's name of the error."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def check(output: Output, entry: SingleTurnEntry, *, underscores: bool) -> None:
    """Raise Wrong unless these calls are those of the entry's ground truth.

    `underscores` says that models read and write function names with underscores for dots.
    """
    try:
        if "parallel" in entry.category:
            _any_order(output, entry, underscores)
        elif "multiple" in entry.category:
            _count(output, entry, "multiple_function_checker")
            _call(output[0], _declared(entry, entry.truth[0]), entry.truth[0], entry, underscores)
        else:
            if len(output) != 1:
                text = f"{counted(len(output), 'call')}, one is due"
                raise Wrong("simple_function_checker:wrong_count", text)
            _call(output[0], entry.functions[0], entry.truth[0], entry, underscores)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        # An answer that makes BFCL's own checker raise an exception is not right.
        raise Wrong("checker:exception", f"cannot be checked: {type(error).__name__}: {error}") from error


def is_calls(output: Json) -> bool:
    """Return whether a value has the form of calls: a list of objects, each one function with arguments."""
    return isinstance(output, list) and all(
        isinstance(call, dict) and len(call) == 1 and isinstance(next(iter(call.values())), dict)
        for call in output
    )


def _any_order(output: Output, entry: SingleTurnEntry, underscores: bool) -> None:
    """Match each true call with the first right call that is still free. Raises Wrong if one finds none."""
    _count(output, entry, "parallel_function_checker_no_order")
    left = list(range(len(output)))
    for number, call in enumerate(entry.truth):
        declared = _declared(entry, call)
        for index in left:
            try:
                _call(output[index], declared, call, entry, underscores)
            except Wrong:
                continue
            left.remove(index)
            break
        else:
            name = next(iter(call))
            text = f"none of the calls is call {number + 1}, of {name}"
            raise Wrong("parallel_function_checker_no_order:cannot_find_match", text)


def _count(output: Output, entry: SingleTurnEntry, checker: str) -> None:
    if len(output) != len(entry.truth):
        raise Wrong(f"{checker}:wrong_count", f"{counted(len(output), 'call')}, {len(entry.truth)} due")


def _declared(entry: SingleTurnEntry, call: Mapping[str, Any]) -> JsonObject:
    name = next(iter(call))
    return next((function for function in entry.functions if function["name"] == name), {})


def _call(
    output: Mapping[str, Any],
    declared: JsonObject,
    true: Mapping[str, Any],
    entry: SingleTurnEntry,
    underscores: bool,
) -> None:
    """Raise Wrong unless a call agrees with a true one."""
    allowed = next(iter(true.values()))
    name, parameters = declared["name"], declared["parameters"]
    properties, required = parameters["properties"], parameters["required"]
    if underscores:
        name = name.replace(".", "_")
    if name not in output:
        raise Wrong("simple_function_checker:wrong_func_name", f"{name} is due")
    arguments = output[name]
    for parameter in required:
        if parameter not in arguments:
            raise Wrong("simple_function_checker:missing_required", f"{parameter} is missing")
    for parameter, value in arguments.items():
        if parameter not in properties or parameter not in allowed:
            raise Wrong("simple_function_checker:unexpected_param", f"{parameter} is not expected")
        _argument(parameter, value, properties[parameter], allowed[parameter], entry.language)
    for parameter, values in allowed.items():
        if parameter not in arguments and "" not in values:
            raise Wrong("simple_function_checker:missing_optional", f"{parameter} is missing")


def _argument(name: str, value: Any, declared: JsonObject, allowed: list[Any], language: str) -> None:
    """Raise Wrong unless an argument's value is allowed."""
    kind = declared["type"]
    inner: str | None = declared["items"]["type"] if kind in _LISTS[language] else None
    types = TYPES[language]
    outer_type, inner_type = types[kind], None if inner is None else types[inner]
    if language != "python":
        if type(value) is not str:
            suffix = "js" if language == "javascript" else "java"
            raise Wrong(f"type_error:{suffix}", _of(name, value, "a text"))
        value = value_of(language, value, kind, inner)
    if kind == "tuple" and type(value) is tuple:
        value = list(value)
    if language == "python" and kind == "float" and type(value) is int:
        value = float(value)
    is_variable = _typed(name, value, allowed, outer_type, inner_type)
    if not (value in allowed if is_variable else _agrees(value, allowed, outer_type, inner_type)):
        kinds: dict[type, str] = {str: "string", list: "list/tuple", dict: "dict"}
        error = "others" if is_variable else kinds.get(outer_type, "others")
        raise Wrong(f"value_error:{error}", _of(name, value, f"one of {allowed}"))


def _typed(name: str, value: Any, allowed: Sequence[Any], outer: type, inner: type | None) -> bool:
    """Return whether the allowed values' type makes a value a variable. Raises Wrong for a wrong type."""
    told = next((type(element) for element in allowed if element != ""), None)
    if type(value) is outer:
        if inner is None or any(_has_elements(value, element, inner) for element in allowed):
            return told is not None and told is not outer
        raise Wrong("type_error:nested", _of(name, value, f"with elements of type {inner.__name__}"))
    if told is not None and type(value) is told:
        return True
    raise Wrong("type_error:simple", _of(name, value, f"of type {outer.__name__}"))


def _has_elements(value: Any, allowed: Any, inner: type) -> bool:
    """Return whether elements have the type of those in an allowed list; True if `allowed` is no list."""
    if type(allowed) is not list:
        return True
    try:
        for element in value:
            _typed("", element, allowed, inner, None)
    except Wrong:
        return False
    return True


def _agrees(value: Any, allowed: list[Any], outer: type, inner: type | None) -> bool:
    """Return whether a value is allowed, compared as in Python: 1, 1.0 and True are equal."""
    if outer is dict:
        return _is_object(value, allowed)
    if outer is list and inner is dict:
        return any(
            len(value) == len(objects)
            and all(_is_object(member, [object_]) for member, object_ in zip(value, objects, strict=True))
            for objects in allowed
        )
    if outer is str:
        return standard(value) in [standard(element) for element in allowed if type(element) is str]
    if outer is list:
        return _standard_all(value) in [_standard_all(element) for element in allowed]
    return value in allowed


def standard(text: str, dropped: re.Pattern[str] = _DROPPED) -> str:
    """Return a text without differences that do not matter: case, spaces, some punctuation, quotes."""
    return dropped.sub("", text).lower().replace("'", '"')


def _standard_all(values: Any) -> list[Any]:
    """Return the elements of a list, made standard. The elements of a text are its characters."""
    elements = [values[number] for number in range(len(values))]
    return [standard(element) if type(element) is str else element for element in elements]


def _is_object(value: Mapping[str, Any], allowed: Sequence[Any]) -> bool:
    """Return whether an object is allowed. Allowed objects list the values that each member may have."""
    return any(
        all(
            key in members
            and (standard(member) if type(member) is str else member) in _standard_all(members[key])
            for key, member in value.items()
        )
        and all(key in value or "" in alternatives for key, alternatives in members.items())
        for members in allowed
        if members != ""
    )


def _of(name: str, value: Any, due: str) -> str:
    return f"{name} is {repr(value)[:200]}, not {due[:200]}"
