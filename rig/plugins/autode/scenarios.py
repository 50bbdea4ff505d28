"""Scenarios (who wants what, and the call that would do it) and the API documents on offer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from rig.core.budget import PLAIN
from rig.core.calls import Call, ExecutedCall, Json, JsonObject, Outcome
from rig.core.errors import RigError
from rig.core.files import read_json
from rig.core.models import ToolDoc
from rig.core.paths import real
from rig.core.tasks import ExpectedTurn, Task, require_unique

Required: TypeAlias = Literal["fixed", "compat"]
"""Which parameters are required: those marked so, or all of them, as in upstream's evaluation by mistake."""

Kind: TypeAlias = Literal["string", "boolean"]
_Mark: TypeAlias = Literal["", "required", "optional"]

_MARKS: dict[str, _Mark] = {"(required slot)": "required", "(optional slot)": "optional"}

# The workbook names these only in prose; upstream's evaluation has them in its code.
_BOOLEANS = frozenset({"estimateTime", "estimateDistance"})
_CHOICES = {
    "deviceType": ("mobile phone", "tablet", "TV", "speaker", "watch"),
    "ticketType": ("plane", "train", "boat", "bus"),
}


class Parameter(NamedTuple):
    """One parameter. `mark` is `required`, or `optional` if a call needs at least one parameter so marked."""

    name: str
    description: str
    type: Kind = "string"
    enum: tuple[str, ...] = ()
    mark: _Mark = ""

    def allows(self, value: Json) -> bool:
        """Return whether a value is of the parameter's type, and one of its choices if it has any."""
        if self.type == "boolean":
            return isinstance(value, bool)
        return isinstance(value, str) and (not self.enum or value in self.enum)


class ApiDocument(NamedTuple):
    """One function, with its parameters in order."""

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    domain: str = ""

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of this name, if there is one."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)

    def required(self, rule: Required) -> tuple[str, ...]:
        """Return the names of the parameters that a call must have."""
        return tuple(
            parameter.name
            for parameter in self.parameters
            if rule == "compat" or parameter.mark == "required"
        )

    def tool(self, rule: Required) -> ToolDoc:
        """Return the document as models read it."""
        flat = self.flat(rule)
        schema = {"type": "object", "properties": flat["parameters"], "required": flat["requiredParameters"]}
        return ToolDoc(self.name, flat["description"], schema)

    def flat(self, rule: Required) -> JsonObject:
        """Return the document in the shape that upstream writes into the prompts of open models.

        The description names the parameters of which a call needs at least one.
        """
        description = self.description
        if names := [parameter.name for parameter in self.parameters if parameter.mark == "optional"]:
            description = (
                f"{description.removesuffix('.')}. A call must have at least one of {', '.join(names)}."
            )
        parameters = {
            parameter.name: {"type": parameter.type, "description": parameter.description}
            | ({"enum": list(parameter.enum)} if parameter.enum else {})
            for parameter in self.parameters
        }
        return {
            "name": self.name,
            "description": description,
            "parameters": parameters,
            "requiredParameters": list(self.required(rule)),
        }

    def as_json(self) -> JsonObject:
        """Return the whole document as JSON; the inverse of `parse`."""
        parameters: JsonObject = {}
        for name, description, kind, enum, mark in self.parameters:
            more = {key: value for key, value in (("enum", list(enum)), ("mark", mark)) if value}
            parameters[name] = {"description": description, "type": kind, **more}
        head = {"name": self.name, "domain": self.domain, "description": self.description}
        return {**head, "parameters": parameters}

    @classmethod
    def parse(cls, data: Json, where: str) -> "ApiDocument":
        """Return a document from its JSON. Raises RigError if it is not one; `where` names it."""
        try:
            parameters = tuple(_parameter(name, value) for name, value in data["parameters"].items())
            return cls(str(data["name"]), str(data["description"]), parameters, str(data.get("domain", "")))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            fault = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
            raise RigError(f"{where}: not an API document: {fault}") from error

    @classmethod
    def from_row(cls, domain: str, name: str, description: str, parameters: str) -> "ApiDocument":
        """Return a document from a row of upstream's workbook. Raises ValueError for any other row."""
        lines = filter(str.strip, parameters.splitlines())
        return cls(name, description, tuple(map(_from_line, lines)), domain)


def _parameter(name: str, data: JsonObject) -> Parameter:
    kind, mark = data.get("type", "string"), data.get("mark", "")
    if kind not in get_args(Kind) or mark not in get_args(_Mark):
        raise ValueError(f"{name} is of type {kind!r} with the mark {mark!r}")
    return Parameter(name, str(data["description"]), kind, tuple(map(str, data.get("enum", ()))), mark)


def _from_line(line: str) -> Parameter:
    parts = line.strip().split(": ")
    if len(parts) != 2:
        raise ValueError(f"{line!r} is not a name and a description")
    name, description = parts
    mark: _Mark = next((mark for text, mark in _MARKS.items() if text in description), "")
    plain = re.sub(r"\s*\((required|optional) slot\)", "", description).strip()
    kind: Kind = "boolean" if name in _BOOLEANS else "string"
    return Parameter(name, plain, kind, _CHOICES.get(name, ()), mark)


Slots = Mapping[str, Json]
"""The arguments of a call by name: texts and truth values."""

USER, ASSISTANT = "User", "Assistant"
"""The speakers, as upstream's files name them."""


class Utterance(NamedTuple):
    """What one of the two speakers said."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Scenario(Task):
    """A task: a user with a purpose, the first query, and the call that serves it.

    `history` is the recorded conversation up to the call, from the first query to the user's last words.
    `apis` are the documents on offer, that of the call among them.
    """

    name: str
    id: str
    character: str
    background: str
    purpose: str
    history: tuple[Utterance, ...]
    call: Call
    apis: tuple[ApiDocument, ...]
    suite: str = field(default="", compare=False)

    @property
    def query(self) -> str:
        """What the user says first."""
        return self.history[0].text

    @property
    def slots(self) -> Slots:
        """The arguments of the true call."""
        slots: Slots = self.call.arguments
        return slots

    @property
    def api(self) -> ApiDocument:
        """The document of the true call's function."""
        return next(api for api in self.apis if api.name == self.call.name)

    @property
    def topic(self) -> str:
        """Who the user is and what they want, in three lines."""
        return f"Character: {self.character}\nBackground: {self.background}\nPurpose: {self.purpose}"

    @property
    def facts(self) -> Mapping[str, str]:
        return {"character": self.character, "background": self.background, "purpose": self.purpose}

    @property
    def ground_truth_count(self) -> int:
        return 1

    def expected(self, turn: int) -> ExpectedTurn:
        """Return the first query and the true call at turn 0: the turn of the call cannot be known."""
        if turn:
            return ExpectedTurn()
        return ExpectedTurn((self.query,), (ExecutedCall(self.call, Outcome()),))

    @property
    def source(self) -> JsonObject:
        return {
            "name": self.name,
            "id": self.id,
            **self.facts,
            "history": [list(utterance) for utterance in self.history],
            "call": {"name": self.call.name, "arguments": dict(self.slots)},
            "apis": [api.as_json() for api in self.apis],
        }


def parse(source: JsonObject, where: str, suite: str = "") -> Scenario:
    """Return a scenario from its `source`. Raises RigError if it is not one."""
    try:
        call = Call(source["call"]["name"], dict(source["call"]["arguments"]))
        apis = tuple(ApiDocument.parse(api, where) for api in source["apis"])
        texts = {name: str(source[name]) for name in ("name", "id", "character", "background", "purpose")}
        history = tuple(Utterance(str(role), str(text)) for role, text in source["history"])
    except (KeyError, TypeError, ValueError) as error:
        fault = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
        raise RigError(f"{where}: not a scenario: {fault}") from error
    return checked(Scenario(**texts, history=history, call=call, apis=apis, suite=suite), where)


def load_directory(directory: Path) -> list[Scenario]:
    """Load the scenarios of every `*.json` in a folder, one per domain. Raises RigError for other files."""
    scenarios: list[Scenario] = []
    for path in sorted(directory.glob("*.json")):
        scenarios += _of_domain(read_json(path, deepest=PLAIN), path, real(directory).name)
    if not scenarios:
        raise RigError(f"{directory}: holds no scenarios (*.json)")
    require_unique(scenarios, directory)
    return scenarios


def _of_domain(data: Json, path: Path, suite: str) -> list[Scenario]:
    """Return the scenarios of one file, each with the documents it lists as `offered` (by default all).

    The documents keep the file's order, so that their place does not give the right one away, and the prompts
    of a file's scenarios begin alike.
    """
    try:
        domain, rows = str(data["domain"]), list(data["scenarios"])
        apis = {api["name"]: {**api, "domain": domain} for api in data["apis"]}
    except (KeyError, TypeError) as error:
        raise RigError(f"{path}: no file of scenarios: it needs domain, scenarios and apis") from error
    scenarios = []
    for number, row in enumerate(rows, start=1):
        where = f"{path}, scenario {number}"
        try:
            named = row.get("offered", apis)
            unknown = [name for name in named if name not in apis]
            if unknown:
                raise KeyError(unknown[0])
            offered = [api for name, api in apis.items() if name in named]
            source = {**row, "id": row["name"], "history": [(USER, row["query"])], "apis": offered}
        except (KeyError, TypeError, AttributeError) as error:
            raise RigError(f"{where}: not a scenario: it has no {error.args[0]}") from error
        scenarios.append(parse(source, where, suite))
    return scenarios


def checked(scenario: Scenario, where: str) -> Scenario:
    """Return the scenario. Raises RigError if its parts do not fit one another."""
    call, history = scenario.call, scenario.history
    api = next((document for document in scenario.apis if document.name == call.name), None)
    if api is None:
        raise RigError(f"{where}: {call.name} is none of the APIs on offer")
    for name, value in scenario.slots.items():
        parameter = api.parameter(name)
        if parameter is None:
            raise RigError(f"{where}: {call.name} has no parameter {name}")
        if not parameter.allows(value):
            raise RigError(f"{where}: {value!r} cannot be {name} of {call.name}")
    if not scenario.slots:
        raise RigError(f"{where}: the call has no arguments")
    turns = [(USER, ASSISTANT)[number % 2] for number in range(len(history))]
    if len(history) % 2 == 0 or [utterance.role for utterance in history] != turns:
        raise RigError(f"{where}: the two must speak in turns, the user first and last")
    return scenario
