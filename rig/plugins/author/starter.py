"""A first scene for a tool, made from the schema of its arguments. It runs, and is meant to be changed."""

import re
from collections.abc import Iterator

from rig.core.calls import Json, JsonObject
from rig.plugins.documents.documents import to_yaml
from rig.world.spec import Tool

_HEAD = (
    "# A scene: what the user says, in one of several ways, and the call that is due. Lines of `user` and\n"
    "# `reply` are ways to say the same; [this|that] is one of its parts, {name} is a slot's value.\n"
    "# `rig docs author` explains the rest.\n"
)


def first_scene(tool: Tool) -> str:
    """Return a scene in YAML that calls a tool with a value for every required argument."""
    properties, required = tool.parameters.get("properties", {}), tool.parameters.get("required", [])
    names = {name: re.sub(r"\W", "_", name) for name in properties if name in required}
    slots = {slot: _slot(name, properties[name]) for name, slot in names.items()}
    wish = " ".join(tool.description.split()).rstrip(".") or re.sub(r"[_-]", " ", tool.name)
    values = ", ".join(f"{_words(name)} {{{slot}}}" for name, slot in names.items())
    ways = [
        f"{wish}: {values}." if values else f"{wish}.",
        f"[Can|Could] you do this: {wish[:1].lower()}{wish[1:]}",
    ]
    ways[1] += f" ({values})?" if values else "?"
    turn: JsonObject = {
        "user": ways,
        "calls": [{tool.name: {name: f"{{{slot}}}" for name, slot in names.items()}}],
        "reply": ["[Done|All right].", "That's done."],
    }
    scene: JsonObject = {"scene": re.sub(r"\W", "-", tool.name.lower())}
    scene |= {"slots": slots} if slots else {}
    return _HEAD + to_yaml([{**scene, "turns": [turn]}])


def _words(name: str) -> str:
    return re.sub(r"[_-]", " ", name)


def _slot(name: str, schema: JsonObject) -> Json:
    """Return a slot whose values fit a schema."""
    if "enum" in schema:
        return list(schema["enum"])
    if "const" in schema:
        return [schema["const"]]
    form = schema.get("x-format") or schema.get("format")
    match schema.get("type"):
        case "integer" | "number":
            least = int(schema.get("minimum", 1))
            return {"number": f"{least}..{int(schema.get('maximum', least + 8))}"}
        case "boolean":
            return [True, False]
        case "array":
            return [[value] for value in list(_texts(name))]
        case "object":
            return [{}]
        case _ if form == "date":
            return {"day": "1..20"}
        case _ if form in ("time", "partial-time"):
            return {"time": "08:00..18:00"}
        case _ if form in ("datetime", "date-time"):
            return {"moment": "1..20", "time": "08:00..18:00"}
        case _:
            return list(_texts(name))


def _texts(name: str) -> Iterator[str]:
    return (f"{_words(name)} {letter}" for letter in "ABCDEFGH")
