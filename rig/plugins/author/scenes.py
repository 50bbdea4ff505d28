"""Scenes: what a user wants, how they say it, and which calls that takes. They are read from YAML.

docs/how-to/author.md describes the form. Every fault is reported in one line with its file and line number.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

from rig.core.budget import LARGEST_YAML
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError, did_you_mean
from rig.core.files import size_text
from rig.plugins.author.cast import KINDS
from rig.plugins.author.voices import FILTERS, LONGEST
from rig.plugins.documents.documents import YAML_ENDINGS, DocumentPart, read
from rig.plugins.documents.folders import files_below
from rig.plugins.matching import agreement
from rig.world.rules import Rule
from rig.world.toolbox import Toolbox

Condition: TypeAlias = Mapping[str, Sequence[str]]
"""The values that each name may have for the condition to hold."""

_SCENE = ("scene", "about", "weight", "login", "now", "alone", "ends", "filler", "tags")
_SCENE_PARTS = (*_SCENE, "slots", "world", "turns")
_TURN = ("user", "calls", "reply", "if", "chance", "tags", "order", "must_not_call")
_OF_CALL = ("as", "returns", "raises", "optional", "if", "rules")
_SLOT = ("pick", "time", "day", "moment", "number", "minutes", "after", "on", "of")
_MOST = 1_000
"""The most scenes of a suite, as each conversation weighs all of them."""
_FILLERS = ("first", "after", "any")
_LOGINS = ("in", "out", "new")
BUILT_IN = ("me", "home", "now", "today", "code", "lists")
"""Names that every scene has."""


class CallNode(NamedTuple):
    """A call that a turn makes. If `has_answer`, `returns` is the answer of a tool without code."""

    part: DocumentPart
    tool: str
    arguments: JsonObject
    rules: Mapping[str, Rule]
    name: str | None
    returns: Json
    has_answer: bool
    fails: bool
    optional: bool
    condition: Condition


class TurnNode(NamedTuple):
    """What the user says, the calls that are made, and the reply; each text can be said in several ways."""

    part: DocumentPart
    user: Sequence[str]
    calls: Sequence[CallNode]
    reply: Sequence[str]
    condition: Condition
    chance: float
    tags: Sequence[str]
    extras: Mapping[str, Json]


class Either(NamedTuple):
    """A choice between several ways to continue."""

    part: DocumentPart
    ways: Sequence[Sequence["Node"]]
    condition: Condition
    chance: float


Node: TypeAlias = "TurnNode | Either"


@dataclass(frozen=True)
class Scene:
    """A family of conversations, or a part of them.

    A scene that is `alone` shares a conversation with fillers only, and one that `ends` comes last. A
    `filler` has no calls; it opens a conversation ("first"), follows another scene ("after"), or stands
    anywhere ("any"). `now` restricts the time of day, as in `06:00..10:00`.
    """

    part: DocumentPart
    name: str
    weight: float = 1.0
    login: str = "in"
    now: str | None = None
    alone: bool = False
    ends: bool = False
    filler: str = ""
    tags: tuple[str, ...] = ()
    slots: Mapping[str, DocumentPart] = field(default_factory=dict)
    world: DocumentPart | None = None
    turns: Sequence[Node] = ()

    @property
    def tools(self) -> frozenset[str]:
        """The tools that the scene may call."""
        return frozenset(call.tool for turn in _turns(self.turns) for call in turn.calls)

    @property
    def shortest(self) -> int:
        """The least number of turns that the scene takes."""
        return _shortest(self.turns)


def _turns(nodes: Sequence[Node]) -> Iterator[TurnNode]:
    for node in nodes:
        yield from chain(*map(_turns, node.ways)) if isinstance(node, Either) else [node]


def _shortest(nodes: Sequence[Node]) -> int:
    sure = (node for node in nodes if node.chance >= 1 and not node.condition)
    return sum(min(map(_shortest, node.ways)) if isinstance(node, Either) else 1 for node in sure)


class Scenes(NamedTuple):
    """The scenes of a folder in the order of its files, and its lists of values by name."""

    scenes: tuple[Scene, ...]
    lists: Mapping[str, Sequence[Json]]


def read_scenes(place: Path, toolbox: Toolbox) -> Scenes:
    """Read the scenes of a folder or file for these tools. Raises RigError that names the faulty line."""
    files = files_below(place, YAML_ENDINGS) if place.is_dir() else [place]
    if not files:
        raise RigError(f"{place}: holds no scenes (*.yaml); `rig author new` makes a first one")
    if sum(path.stat().st_size for path in files if path.exists()) > LARGEST_YAML:
        raise RigError(f"{place}: more than {size_text(LARGEST_YAML)} of scenes; name a part of them")
    parts: list[DocumentPart] = []
    lists: dict[str, Sequence[Json]] = {}
    for document in chain.from_iterable(map(read, files)):
        if isinstance(document.value, dict) and "lists" in document.value:
            named = document.known_fields(("lists",))["lists"].fields()
            lists |= {name: [entry.value for entry in part.items()] for name, part in named.items()}
        else:
            parts += list(document.items()) if isinstance(document.value, list) else [document]
    if len(parts) > _MOST:
        raise RigError(f"{place}: more than {_MOST} scenes; name a part of them")
    scenes = tuple(_scene(part, toolbox, lists) for part in parts)
    names = Counter(scene.name for scene in scenes)
    for scene in scenes:
        if names[scene.name] > 1:
            raise scene.part.fault(f"two scenes are called {scene.name}")
    if not any(scene.tools for scene in scenes):
        raise RigError(f"{place}: no scene calls a tool")
    return Scenes(scenes, lists)


def _scene(part: DocumentPart, toolbox: Toolbox, lists: Collection[str]) -> Scene:
    fields = part.known_fields(_SCENE_PARTS)
    for needed in ("scene", "turns"):
        if needed not in fields:
            raise part.fault(f"a scene needs {needed}")
    slots = fields["slots"].fields() if "slots" in fields else {}
    for slot in slots.values():
        _check_slot(slot, lists)
    scene = Scene(
        part,
        fields["scene"].text(),
        weight=_number(fields["weight"], 1e-6) if "weight" in fields else 1.0,
        login=_choice(fields["login"], _LOGINS) if "login" in fields else "in",
        now=fields["now"].text() if "now" in fields else None,
        **{name: fields[name].flag() for name in ("alone", "ends") if name in fields},
        filler=_choice(fields["filler"], _FILLERS) if "filler" in fields else "",
        tags=tuple(fields["tags"].texts()) if "tags" in fields else (),
        slots=slots,
        world=fields.get("world"),
        turns=[_node(turn, toolbox) for turn in fields["turns"].items()],
    )
    if scene.filler and scene.tools:
        raise part.fault("a filler calls nothing")
    names = {*BUILT_IN, *slots, *_names_in_world(scene.world)}
    names |= {call.name for turn in _turns(scene.turns) for call in turn.calls if call.name}
    for text_part in _parts(part):
        _check_names(text_part, names)
    return scene


def _check_slot(part: DocumentPart, lists: Collection[str]) -> None:
    value = part.value
    if isinstance(value, dict):
        kind = next((name for name in _SLOT if name in value), None)
        if kind is None:
            raise part.fault(f"is no slot; choose from: {', '.join((*KINDS, *_SLOT))}, or a list of values")
        if kind == "pick" and isinstance(value["pick"], str) and value["pick"] not in lists:
            raise part.fault(f"no list is called {value['pick']}{did_you_mean(value['pick'], lists)}")
    elif value is None or value == []:
        raise part.fault("a slot needs values to choose from")


def _names_in_world(world: DocumentPart | None) -> Iterator[str]:
    for section in world.fields().values() if world is not None else ():
        for record in section.value if isinstance(section.value, list) else ():
            if isinstance(record, dict) and "as" in record:
                yield str(record["as"])


def _parts(part: DocumentPart) -> Iterator[DocumentPart]:
    """Yield every text inside a part."""
    if isinstance(part.value, dict | list):
        steps = part.value if isinstance(part.value, dict) else range(len(part.value))
        for step in steps:
            yield from _parts(part.inside(step))
    elif isinstance(part.value, str):
        yield part


_USED = re.compile(r"\{([^{}|.]*)(?:\.[^{}|]*)?((?:\|[^{}]*)?)\}")


def _check_names(part: DocumentPart, names: Collection[str]) -> None:
    text = str(part.value)
    if len(text) > LONGEST:
        raise part.fault(f"longer than {LONGEST} characters")
    if text.count("{") != text.count("}") or text.count("[") != text.count("]"):
        raise part.fault("a bracket is not closed")
    for name, filters in _USED.findall(text):
        if name.strip() not in names:
            raise part.fault(f"{{{name}}}: nothing is called that{did_you_mean(name, names)}")
        for how in filter(None, filters.split("|")):
            if how.split()[0] not in FILTERS:
                raise part.fault(f"|{how} is not known; choose from: {', '.join(FILTERS)}")


def _node(part: DocumentPart, toolbox: Toolbox) -> Node:
    if "either" in part.fields():
        fields = part.known_fields(("either", "if", "chance"))
        ways = [[_node(turn, toolbox) for turn in way.items()] for way in fields["either"].items()]
        if not ways:
            raise part.fault("needs ways to choose from")
        return Either(part, ways, _condition(fields), _chance(fields))
    fields = part.known_fields(_TURN)
    if "user" not in fields:
        raise part.fault("a turn needs what the user says")
    calls = [_call(call, toolbox) for call in fields["calls"].items()] if "calls" in fields else []
    extras: JsonObject = {}
    if "order" in fields:
        if fields["order"].value not in ("any", "given"):
            raise fields["order"].fault("is any or given")
        extras["order"] = fields["order"].value
    if "must_not_call" in fields:
        extras["must_not_call"] = [_tool(name, toolbox) for name in fields["must_not_call"].items()]
    return TurnNode(
        part,
        _lines(fields["user"]),
        calls,
        _lines(fields["reply"]) if "reply" in fields else ("Done.",) if calls else ("All right.",),
        _condition(fields),
        _chance(fields),
        fields["tags"].texts() if "tags" in fields else (),
        extras,
    )


def _lines(part: DocumentPart) -> list[str]:
    """Return the ways to say something: the lines of a text, or of the texts of a list."""
    lines = [line.strip() for text in part.texts() for line in text.splitlines()]
    if not lines:
        raise part.fault("needs at least one way to say it")
    return [line for line in lines if line]


def _condition(fields: Mapping[str, DocumentPart]) -> Condition:
    if "if" not in fields:
        return {}
    values = fields["if"].fields().items()
    return {
        name: [str(value) for value in (part.value if isinstance(part.value, list) else [part.value])]
        for name, part in values
    }


def _choice(part: DocumentPart, values: Sequence[str]) -> str:
    if part.value not in values:
        raise part.fault(f"is one of: {', '.join(values)}")
    return str(part.value)


def _chance(fields: Mapping[str, DocumentPart]) -> float:
    return _number(fields["chance"]) if "chance" in fields else 1.0


def _number(part: DocumentPart, least: float = 0.0) -> float:
    is_number = isinstance(part.value, int | float) and not isinstance(part.value, bool)
    if not is_number or not least <= part.value <= 1e6:
        raise part.fault(f"needs a number from {least:g} to a million")
    return float(part.value)


def _tool(part: DocumentPart, toolbox: Toolbox) -> str:
    name = part.text()
    if name not in toolbox.tools:
        raise part.fault(f"no tool is named {name} in {toolbox.name}{did_you_mean(name, toolbox.tools)}")
    return name


def _call(part: DocumentPart, toolbox: Toolbox) -> CallNode:
    if isinstance(part.value, str):
        fields: dict[str, DocumentPart] = {part.value: DocumentPart(None, part.file, part.path, part.lines)}
    else:
        fields = part.fields()
    tools = [name for name in fields if name not in _OF_CALL]
    if len(tools) != 1:
        raise part.fault(f"a call names one tool, here are: {', '.join(tools) or 'none'}")
    name, inside = tools[0], fields[tools[0]]
    if name not in toolbox.tools:
        raise part.fault(f"no tool is named {name} in {toolbox.name}{did_you_mean(name, toolbox.tools)}")
    arguments = {} if inside.value is None else inside.fields()
    declared = toolbox.tools[name].parameters.get("properties", {})
    ruled: dict[str, Rule] = {}
    for argument, value in arguments.items():
        if declared and argument not in declared:
            raise value.fault(f"{name} has no argument {argument}{did_you_mean(argument, declared)}")
        try:
            rule = agreement.parse(value.value)
        except RigError as error:
            raise value.fault(str(error)) from error
        ruled |= {} if rule is None else {argument: rule}
    return CallNode(
        part,
        name,
        {argument: value.value for argument, value in arguments.items()},
        ruled,
        fields["as"].text() if "as" in fields else None,
        fields["returns"].value if "returns" in fields else None,
        "returns" in fields,
        "raises" in fields and fields["raises"].flag(),
        "optional" in fields and fields["optional"].flag(),
        _condition(fields),
    )
