"""Values as BFCL's categories of Java and JavaScript want them: as texts of the language."""

import json
from collections.abc import Mapping
from typing import Any

from rig.calls import Json, JsonObject


def written(value: Any, declared: JsonObject, language: str) -> Json:
    """A value of an argument as it is to be given: in Python itself, else a text of the language."""
    kind = declared.get("type", "")
    if language == "python" or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value}{_SUFFIXES[language].get(kind, '')}"
    return _in_java(value, kind, declared) if language == "java" else json.dumps(value)


_SUFFIXES: Mapping[str, Mapping[str, str]] = {
    "java": {"long": "L", "float": "f"},
    "javascript": {"Bigint": "n"},
}


def _in_java(value: Any, kind: str, declared: JsonObject) -> str:
    if isinstance(value, dict):
        puts = " ".join(f'put("{key}", {_literal(member)});' for key, member in value.items())
        return f"new HashMap<String, Object>() {{{{ {puts} }}}}"
    # BFCL's checker takes quotes off in lists of texts alone.
    is_quoted = kind != "Array" and declared.get("items", {}).get("type") in ("String", "char")
    elements = ", ".join(
        _literal(element) if is_quoted or isinstance(element, bool) else str(element) for element in value
    )
    if kind == "Array":
        return f"new Object[]{{{elements}}}"
    return f"new ArrayList<>(Arrays.asList({elements}))" if value else "new ArrayList<>()"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)
