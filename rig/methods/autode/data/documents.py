"""API documents: what an assistant reads about a function, and how AutoDE's evaluation uses it."""

import re
from typing import Literal, NamedTuple, TypeAlias, get_args

from rig.calls import Json, JsonObject
from rig.errors import RigError
from rig.models import ToolDoc

Required: TypeAlias = Literal["fixed", "compat"]
"""Which parameters are required: those marked so, or, as upstream's evaluation has it by mistake, all."""

_Kind: TypeAlias = Literal["string", "boolean"]
_Mark: TypeAlias = Literal["", "required", "optional"]

_MARKS: dict[str, _Mark] = {"(required slot)": "required", "(optional slot)": "optional"}

# The workbook names these in prose alone; upstream's evaluation has them in its code.
_BOOLEANS = frozenset({"estimateTime", "estimateDistance"})
_CHOICES = {
    "deviceType": ("mobile phone", "tablet", "TV", "speaker", "watch"),
    "ticketType": ("plane", "train", "boat", "bus"),
}


class Parameter(NamedTuple):
    """One parameter. `mark` is `required`, or `optional` if a call needs at least one of these."""

    name: str
    description: str
    type: _Kind = "string"
    enum: tuple[str, ...] = ()
    mark: _Mark = ""

    def allows(self, value: Json) -> bool:
        """Whether a value is of the parameter's type, and one of its choices if it has any."""
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
        """The parameter of this name, if there is one."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)

    def required(self, rule: Required) -> tuple[str, ...]:
        """The names of the parameters that a call must have."""
        return tuple(
            parameter.name
            for parameter in self.parameters
            if rule == "compat" or parameter.mark == "required"
        )

    def tool(self, rule: Required) -> ToolDoc:
        """The document as models read it."""
        flat = self.flat(rule)
        schema = {"type": "object", "properties": flat["parameters"], "required": flat["requiredParameters"]}
        return ToolDoc(self.name, flat["description"], schema)

    def flat(self, rule: Required) -> JsonObject:
        """The document in the shape that upstream writes into the prompts of open models.

        The description says which parameters a call needs at least one of.
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
        required = list(self.required(rule))
        return {
            "name": self.name,
            "description": description,
            "parameters": parameters,
            "requiredParameters": required,
        }

    def as_json(self) -> JsonObject:
        """All of it; the inverse of `parse`."""
        parameters: JsonObject = {}
        for name, description, kind, enum, mark in self.parameters:
            more = {key: value for key, value in (("enum", list(enum)), ("mark", mark)) if value}
            parameters[name] = {"description": description, "type": kind, **more}
        head = {"name": self.name, "domain": self.domain, "description": self.description}
        return {**head, "parameters": parameters}

    @classmethod
    def parse(cls, data: Json, where: str) -> "ApiDocument":
        """A document from its JSON. Raises RigError if it is not one; `where` names it."""
        try:
            parameters = tuple(_parameter(name, value) for name, value in data["parameters"].items())
            return cls(str(data["name"]), str(data["description"]), parameters, str(data.get("domain", "")))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            fault = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
            raise RigError(f"{where}: not an API document: {fault}") from error

    @classmethod
    def from_row(cls, domain: str, name: str, description: str, parameters: str) -> "ApiDocument":
        """A document from a row of upstream's workbook. Raises ValueError for a row of another shape."""
        lines = filter(str.strip, parameters.splitlines())
        return cls(name, description, tuple(map(_from_line, lines)), domain)


def _parameter(name: str, data: JsonObject) -> Parameter:
    kind, mark = data.get("type", "string"), data.get("mark", "")
    if kind not in get_args(_Kind) or mark not in get_args(_Mark):
        raise ValueError(f"{name} is of type {kind!r} with the mark {mark!r}")
    return Parameter(name, str(data["description"]), kind, tuple(map(str, data.get("enum", ()))), mark)


def _from_line(line: str) -> Parameter:
    parts = line.strip().split(": ")
    if len(parts) != 2:
        raise ValueError(f"{line!r} is not a name and a description")
    name, description = parts
    mark: _Mark = next((mark for text, mark in _MARKS.items() if text in description), "")
    plain = re.sub(r"\s*\((required|optional) slot\)", "", description).strip()
    kind: _Kind = "boolean" if name in _BOOLEANS else "string"
    return Parameter(name, plain, kind, _CHOICES.get(name, ()), mark)
