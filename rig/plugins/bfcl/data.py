"""BFCL's data as in its repository: entries by category, and the calls that each should have.

The functions of an entry become tools, prepared as BFCL prepares them.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, Field

from rig.core.budget import PLAIN
from rig.core.calls import Call, ExecutedCall, JsonObject, Outcome
from rig.core.errors import RigError, counted
from rig.core.files import read_text
from rig.core.models import Request, StepKey, ToolDoc
from rig.core.tasks import ExpectedTurn
from rig.methods.base import Loaded
from rig.plugins.bfcl.forms import INSTRUCTIONS, NO_FORM, VERSION, PromptForm
from rig.plugins.bfcl.literals import written
from rig.plugins.defects.defects import PublicTask
from rig.plugins.documents.documents import Foreign, Many, json_of, lines_of, parsed
from rig.world.schemas import fits

ANSWERS = "possible_answer"
CATEGORIES = (
    *("simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"),
    *("irrelevance", "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
    *("live_irrelevance", "live_relevance"),
)
"""The categories of one turn, in BFCL's order. Each is a suite."""
FORMAT_SENSITIVITY = "format_sensitivity"
"""A category that lists entries of others by id, to be asked in several forms (`rig.plugins.bfcl.forms`)."""

_FILE = re.compile(r"BFCL_v\d+_(\w+)\.json")


@dataclass(frozen=True)
class SingleTurnEntry(PublicTask):
    """An entry: the question, the functions on offer, and the true calls with their allowed values."""

    name: str
    suite: str
    question: Sequence[Mapping[str, str]]
    functions: Sequence[JsonObject]
    truth: Sequence[Mapping[str, Mapping[str, list[Any]]]]
    source: JsonObject = field(default_factory=dict, compare=False, repr=False)

    known_turns = (0,)

    @property
    def ground_truth_count(self) -> int:
        return len(self.truth)

    @property
    def category(self) -> str:
        """The entry's own category, also if it came with the format sensitivity's suite."""
        return self.name.rpartition("_")[0] if self.suite == FORMAT_SENSITIVITY else self.suite

    @property
    def facts(self) -> Mapping[str, str]:
        return {"category": self.category, **self.wrong}

    def expected(self, turn: int) -> ExpectedTurn:
        texts = tuple(message["content"] for message in self.question if message["role"] == "user")
        return ExpectedTurn(texts, tuple(ExecutedCall(call, Outcome()) for call in self.answer()))

    @property
    def language(self) -> str:
        """The programming language of its functions."""
        return next((name for name in ("javascript", "java") if name in self.category), "python")

    def answer(self) -> tuple[Call, ...]:
        """Return the true calls, each argument with its first allowed value.

        An empty value stands for no argument, so a required argument has its first other value.
        """
        calls = []
        for name, arguments in self._allowed():
            first = {parameter: next(values, "") for parameter, values in arguments.items()}
            calls.append(Call(name, {parameter: value for parameter, value in first.items() if value != ""}))
        return tuple(calls)

    def type_faults(self) -> Iterator[str]:
        """Yield the arguments of the truth of which no allowed value fits the declared schema.

        BFCL's checker accepts these values, but a model that keeps to the schema cannot write them.
        """
        schemas = {
            tool.name: tool.parameters["properties"]
            for tool in tools_of(self.functions, self.language, BfclSettings(names="dots"))
        }
        for name, arguments in self._allowed():
            for parameter, values in arguments.items():
                schema = schemas.get(name, {}).get(parameter, {})
                is_text = schema.get("description", "").endswith(AS_TEXT)
                fit = [value == "" or is_text or fits(value, schema) for value in values]
                if fit and not any(fit):
                    kind = schema.get("type")
                    yield f"{name}: {parameter}: no allowed value is of the declared type {kind}"

    def _allowed(self) -> Iterator[tuple[str, dict[str, Iterator[Any]]]]:
        """Yield the name of each true call with the values of its arguments, as a call has them."""
        declared = {function["name"]: function for function in reversed(self.functions)}
        for ((name, allowed),) in (true.items() for true in self.truth):
            parameters = declared.get(name, self.functions[0])["parameters"]
            types, required = parameters["properties"], parameters.get("required", ())
            yield (
                name,
                {
                    parameter: self._values(values, types.get(parameter, {}), parameter in required)
                    for parameter, values in allowed.items()
                },
            )

    def _values(self, values: Sequence[Any], declared: JsonObject, is_required: bool) -> Iterator[Any]:
        """Yield values as a call has them. An empty one stands for no argument."""
        for value in values:
            if value != "":
                yield written(_first(value), declared, self.language)
            elif not is_required:
                yield ""


def load(place: Path) -> Loaded:
    """Load the entries of a file, or of a folder's files of one turn, with a fault for each invalid one.

    Raises RigError if there is no entry at all, or if a file cannot be read.
    """
    if files(place, [FORMAT_SENSITIVITY]) and place.is_file():
        return _by_ids(place)
    entries: list[SingleTurnEntry] = []
    faults: list[str] = []
    for category, file in files(place).items():
        answers = file.parent / ANSWERS / file.name
        is_known = not category.endswith(("irrelevance", "relevance"))
        truths = {row["id"]: row.get("ground_truth") for row, _ in lines(answers)} if is_known else {}
        for entry, where in lines(file):
            if is_known and entry["id"] not in truths:
                raise RigError(f"{where}: {answers} has no answer to {entry['id']}")
            source: JsonObject = {"entry": entry, "truth": truths[entry["id"]] if is_known else []}
            try:
                entries.append(parse(source, where, category))
            except RigError as error:
                faults.append(str(error))
    if not entries:
        none = f"{place}: holds no BFCL_v4_CATEGORY.json of the categories {', '.join(CATEGORIES)}"
        raise RigError(next(iter(faults), none))
    return Loaded(entries, faults)


def ids_in(place: Path) -> dict[str, list[str]]:
    """Read the ids of entries that a file of the format sensitivity lists, by category. Raises RigError."""
    value = json_of(read_text(place), str(place), PLAIN)
    return parsed(dict[str, Many[str]], value, str(place), "lists of BFCL's ids")


def _by_ids(place: Path) -> Loaded:
    """Load the entries that a file lists by category, from the files beside it. Raises RigError."""
    listed = ids_in(place)
    entries: list[SingleTurnEntry] = []
    faults: list[str] = []
    for category, file in files(place.parent, tuple(listed)).items():
        loaded = load(file)
        faults += loaded.faults
        by_name = {entry.name: replace(entry, suite=FORMAT_SENSITIVITY) for entry in loaded}
        entries += (by_name[name] for name in listed[category] if name in by_name)
    if left := sum(map(len, listed.values())) - len(entries):
        faults.append(f"{place}: the files beside it lack {counted(left, 'entry')} of it")
    if not entries:
        raise RigError(f"{place}: the files beside it have none of its entries")
    return Loaded(entries, faults)


class Words(Foreign):
    """A message of a conversation."""

    role: str
    content: str


class _ValueSchema(Foreign):
    """A value of a function's, as BFCL declares it, with all that is inside it."""

    type: str = ""
    description: str = ""
    items: "_ValueSchema | None" = None
    properties: "dict[str, _ValueSchema]" = Field({})
    required: list[str] = Field([])


class EntryFunction(Foreign):
    """A function as BFCL declares it."""

    name: str
    parameters: _ValueSchema


class _Question(Foreign):
    id: str
    question: Annotated[Many[Many[Words]], Field(min_length=1)]
    function: Many[EntryFunction]
    """Some entries in which nothing is to be called offer no function, and count like the others."""


_TrueCall: TypeAlias = Annotated[dict[str, dict[str, list[Any]]], Field(min_length=1, max_length=1)]


class _EntrySource(Foreign):
    entry: _Question
    # Each true call is compared with each call until one fits. BFCL's own entries have at most 8 of them.
    truth: Annotated[Many[_TrueCall], Field(max_length=1_000)]


def parse(source: JsonObject, where: str, suite: str) -> SingleTurnEntry:
    """Make an entry from its stored source. Raises RigError."""
    row = parsed(_EntrySource, source, where, "an entry of BFCL")
    entry = SingleTurnEntry(
        row.entry.id,
        suite or row.entry.id.rpartition("_")[0],
        [message.model_dump() for message in row.entry.question[0]],
        [function(declared) for declared in source["entry"]["function"]],
        row.truth,
        source,
    )
    try:
        # Checked here, because an unreadable truth would otherwise end a run that has begun.
        entry.answer()
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, RecursionError) as error:
        raise RigError(f"{where}: the truth is no calls: {type(error).__name__}: {error}") from error
    return entry


def function(declared: JsonObject) -> JsonObject:
    """Return a function's declaration with everything filled in that it may leave out."""
    return {**declared, "parameters": {"properties": {}, "required": [], **declared["parameters"]}}


def _first(value: Any) -> Any:
    """Return an allowed value with each member's first alternative, without members where that is empty.

    Members of an object, and of an object in a list, have their own lists of alternatives. BFCL's checker
    compares an alternative as it is, so an object inside one is a plain value. If a member has no list of
    alternatives, no answer is right, and the member is returned as it is.
    """
    if isinstance(value, list):
        return [_first(element) if isinstance(element, dict) else element for element in value]
    if not isinstance(value, dict):
        return value
    return {
        name: alternatives[0] if isinstance(alternatives, list) else alternatives
        for name, alternatives in value.items()
        if not isinstance(alternatives, list) or (alternatives and alternatives[0] != "")
    }


def files(place: Path, categories: Sequence[str] = CATEGORIES) -> dict[str, Path]:
    """Return the data files of these categories, which are recognised by their names."""
    paths = sorted(place.glob("BFCL_v*_*.json")) if place.is_dir() else [place]
    matches = ((_FILE.fullmatch(path.name), path) for path in paths)
    by_category = {match[1]: path for match, path in matches if match is not None}
    return {category: by_category[category] for category in categories if category in by_category}


class _Identified(Foreign):
    id: str


def lines(file: Path, kind: type[BaseModel] = _Identified) -> Iterator[tuple[JsonObject, str]]:
    """Yield the objects of a file of JSON lines, each with its place. Raises RigError, with the line."""
    for line in lines_of(file):
        value = line.json(PLAIN)
        parsed(kind, value, line.where, "an object of BFCL")
        yield value, line.where


def declared_in(file: Path) -> list[JsonObject]:
    """Return the functions that a file of JSON lines declares."""
    return [function(value) for value, where in lines(file, EntryFunction)]


_HINTS: Mapping[str, str] = {
    "python": " Note that the provided function is in Python 3 syntax.",
    "java": " Note that the provided function is in Java 8 SDK syntax.",
    "javascript": " Note that the provided function is in JavaScript syntax.",
}
_NAMES: Mapping[str, str] = {"java": "Java", "javascript": "JavaScript"}
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("integer", "byte", "short", "long", "Bigint"), "integer"),
    **dict.fromkeys(("number", "float", "double"), "number"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("array", "list", "tuple", "ArrayList", "Array", "Queue", "Stack"), "array"),
    **dict.fromkeys(("dict", "object", "HashMap", "Hashtable"), "object"),
}
"""JSON Schema's types by BFCL's. Any other type is a string."""

ANY_ELEMENT: Mapping[str, Any] = {"type": ["string", "number", "boolean"]}
AS_TEXT = " Write this object as JSON in a text."
"""Added to the description of an object without declared members, which no grammar can describe."""


@dataclass(frozen=True, slots=True)
class BfclSettings:
    """How a model gets entries: with `names` of functions as they are, or with underscores for dots.

    With a `form`, it answers in text, as the prompt says.
    """

    names: str = "underscores"
    form: str = NO_FORM

    def __post_init__(self) -> None:
        PromptForm.parse(self.form)

    @property
    def underscores(self) -> bool:
        return self.names == "underscores"

    @property
    def prompt_form(self) -> PromptForm | None:
        """The form that the prompt asks for; None if it asks for none."""
        return PromptForm.parse(self.form)

    @property
    def fingerprint(self) -> JsonObject:
        told, form = [INSTRUCTIONS, _HINTS, AS_TEXT], self.prompt_form
        if form is not None:
            told = [form.instructions, _HINTS, form.documentation([]), VERSION]
        digest = hashlib.sha256(json.dumps(told).encode()).hexdigest()
        asked = {"form": self.form} if form else {}
        return {"protocol": "bfcl", "names": self.names, **asked, "prompt_sha256": digest}


def opening(
    name: str, turn: int, messages: Iterable[Mapping[str, str]], tools: tuple[ToolDoc, ...]
) -> Request:
    """Return how requests for an entry begin: the context has its system messages."""
    context = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
    return Request(StepKey(name, turn, 0), INSTRUCTIONS, tools, context, (), False, several_calls=True)


def name_of(name: str, settings: BfclSettings) -> str:
    """Return the name of a function in the prompt."""
    return name.replace(".", "_") if settings.underscores else name


def named_functions(
    functions: Iterable[JsonObject], language: str, settings: BfclSettings
) -> list[JsonObject]:
    """Return declared functions, each once, with names and the language's hint as a model reads them."""
    named: dict[str, JsonObject] = {}
    for declared in functions:
        name = name_of(declared["name"], settings)
        description = f"{declared.get('description', '')}{_HINTS[language]}"
        named.setdefault(name, {**declared, "name": name, "description": description})
    return list(named.values())


def tools_of(functions: Iterable[JsonObject], language: str, settings: BfclSettings) -> tuple[ToolDoc, ...]:
    """Return functions of a language as the tools that a model reads, each name once."""
    docs: list[ToolDoc] = []
    for function in named_functions(functions, language, settings):
        declared = function["parameters"]
        properties = {
            argument: _prepared(parameter, language) for argument, parameter in declared["properties"].items()
        }
        required = [argument for argument in declared["required"] if argument in properties]
        schema: JsonObject = {"type": "object", "properties": properties, "required": required}
        schema["additionalProperties"] = False
        docs.append(ToolDoc(function["name"], function["description"], schema))
    return tuple(docs)


def _prepared(declared: JsonObject, language: str) -> JsonObject:
    if language == "python":
        return _cast(declared)
    description, kind, name = declared.get("description", ""), declared.get("type"), _NAMES[language]
    if kind == "any":
        note = f" This parameter can be of any type of {name} object in string representation."
    else:
        note = f" This is {name} {kind} type parameter in string representation."
    if kind in ("ArrayList", "Array", "array") and "items" in declared:
        inner = declared["items"].get("type")
        note += f" The list elements are of type {inner}; they are not in string representation."
    if language == "javascript" and kind == "dict" and "properties" in declared:
        note += (
            " The dictionary entries have the following schema; they are not in string representation."
            f" {json.dumps(declared['properties'])}"
        )
    return {"type": "string", "description": f"{description}{note}"}


def _cast(declared: JsonObject) -> JsonObject:
    """Return a declaration as a JSON Schema that a grammar can enforce."""
    kind = _TYPES.get(declared.get("type", ""), "string")
    description = declared.get("description", "")
    if declared.get("type") == "float":
        description += " This is a float type value."
    schema: JsonObject = {"type": kind}
    if kind == "array":
        items = declared.get("items")
        schema["items"] = _cast(items) if isinstance(items, dict) and items else dict(ANY_ELEMENT)
    elif kind == "object" and declared.get("properties"):
        inner = {name: _cast(member) for name, member in declared["properties"].items()}
        required = [name for name in declared.get("required", []) if name in inner]
        schema |= {"properties": inner, "required": required, "additionalProperties": False}
    elif kind == "object":
        schema, description = {"type": "string"}, f"{description}{AS_TEXT}"
    elif isinstance(choices := declared.get("enum"), list) and choices:
        # The choices in the data do not always have the declared type.
        python: Any = {"string": str, "integer": int, "number": (int, float), "boolean": bool}[kind]
        if all(isinstance(choice, python) for choice in choices):
            schema["enum"] = choices
    return {**schema, **({"description": description} if description else {})}
