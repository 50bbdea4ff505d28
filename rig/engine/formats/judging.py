"""Whether a call fits its tool, even after a grammar has promised it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jsonschema
from jsonschema.validators import extend

from rig import regexes
from rig.calls import Call, Json, JsonObject
from rig.engine.core.settings import GrammarArm
from rig.engine.formats.base import AnswerError
from rig.engine.grammar.schema import narrow
from rig.models import ToolDoc


class Judge:
    """Holds calls against what the grammar enforces of their tools' schemas.

    `schemas` are these parts of the schemas, by tool. Raises SchemaError for what cannot be enforced.
    """

    def __init__(self, tools: Sequence[ToolDoc], grammar: GrammarArm) -> None:
        self.schemas: Mapping[str, JsonObject] = {
            tool.name: narrow(tool.parameters, tool.name, formats=grammar == "strict") for tool in tools
        }
        self._validators = {name: _Validator(part) for name, part in self.schemas.items()}

    def call(self, name: str, arguments: JsonObject) -> Call:
        """The call. Raises AnswerError if no tool takes it."""
        if name not in self._validators:
            raise AnswerError(f"no tool is called {name!r}")
        fault = next(self._validators[name].iter_errors(arguments), None)
        if fault is not None:
            raise AnswerError(f"{name}: {fault.message[:200]}")
        return Call(name, arguments)


def check_unicode(text: str, answer: Json) -> None:
    """Raise AnswerError for an answer that JSON's escapes in a text make something else than Unicode."""
    if "\\u" not in text:
        return
    try:
        json.dumps(answer, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise AnswerError("a string holds half of a surrogate pair, which is no Unicode text") from error


def fits(value: Json, schema: JsonObject) -> bool:
    """Whether a value is one of a narrowed schema."""
    return bool(_Validator(schema).is_valid(value))


def _full_match(_: Any, pattern: str, instance: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    """JSON Schema's `pattern` as grammars enforce it; Python's `$` would let a final line break through."""
    if isinstance(instance, str) and not regexes.fits(pattern[1:-1], instance):
        yield jsonschema.ValidationError(f"{instance!r} does not have the form that is asked for")


_Validator = extend(jsonschema.Draft202012Validator, {"pattern": _full_match})  # type: ignore[no-untyped-call]
