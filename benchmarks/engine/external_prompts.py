"""Prompts that exist already, put to the engine in the place of those that it would render itself."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jsonschema

from benchmarks.engine.prompts import BenchPrompt, Segments
from rig.core.calls import JsonObject
from rig.core.models import Request, StepKey, ToolDoc
from rig.plugins.llama.decoding.decoder import Form
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.formats.base import Reading
from rig.plugins.llama.formats.salvage import AnswerError
from rig.plugins.llama.grammar.language import Language


def validator(schema: JsonObject) -> Callable[[str], str | None]:
    """A function that says why a text is not JSON that satisfies the schema, None if it is."""
    checks = jsonschema.Draft202012Validator(schema)

    def fault(text: str) -> str | None:
        try:
            first = next(checks.iter_errors(json.loads(text)), None)
        except (ValueError, RecursionError) as error:
            return f"not JSON: {error}"
        return None if first is None else first.message[:200]

    return fault


class ExternalForm:
    """Stands for an answer form where there is only a schema: an answer is any text that satisfies it."""

    def __init__(self, schema: JsonObject) -> None:
        self.language = Language(schema)
        self._fault = validator(schema)

    def read(self, text: str) -> Reading:
        """The text itself. Raises AnswerError."""
        if (fault := self._fault(text)) is not None:
            raise AnswerError(fault)
        return Reading(content=text)

    def reasoning(self, text: str) -> str:
        """None: a schema has no place for it."""
        return ""


class _ExternalPrompts:
    """Stands for the builder of prompts: a request's only tool names the prompt."""

    def __init__(self, prompts: Mapping[str, BenchPrompt]) -> None:
        self._prompts = prompts

    def build(self, request: Request, form: object) -> list[tuple[int, ...]]:
        return list(self._prompts[request.tools[0].name].segments)


def give(model: LlamaCppModel, prompts: Sequence[BenchPrompt]) -> list[Request]:
    """Have the model answer these prompts from now on, and no others; the requests that stand for them."""
    by_schema: dict[str, ExternalForm] = {}
    forms: dict[str, Form] = {}
    for prompt in prompts:
        schema = json.dumps(prompt.schema, sort_keys=True)
        given: Any = by_schema.setdefault(schema, ExternalForm(prompt.schema))
        forms[prompt.id] = Form(given, given.language)
    inside: Any = model
    inside.prompts = _ExternalPrompts({prompt.id: prompt for prompt in prompts})
    inside.form = lambda request: forms[request.tools[0].name]
    return [
        Request(StepKey(prompt.id, 0, 0), "", (ToolDoc(prompt.id, "", {}),), "", ()) for prompt in prompts
    ]


def rendered(model: LlamaCppModel, request: Request) -> tuple[Segments, JsonObject]:
    """The prompt of a request as the model reads it, and the schema of its answer."""
    inside: Any = model
    form = inside.form(request)
    return tuple(inside.prompts.build(request, form.format)), form.language.schema
