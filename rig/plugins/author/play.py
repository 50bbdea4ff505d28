"""Playing scenes: drawing their slots, saying their texts and making their calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Any

from rig.core.calls import Call, Json, JsonObject, Outcome
from rig.plugins.author.cast import KINDS, Cast
from rig.plugins.author.draft import ConversationDraft
from rig.plugins.author.scenes import CallNode, Condition, Either, Node, Scene, TurnNode
from rig.plugins.author.voices import (
    CAPITALS,
    MISFITS,
    Day,
    DayAndTime,
    Length,
    Scope,
    TimeOfDay,
    UnknownName,
)
from rig.plugins.documents.documents import DocumentPart
from rig.plugins.matching.agreement import example_of

_FARTHEST = 4_000
"""The most days from now that a slot can be."""


class Unplayable(Exception):
    """The drawn values do not fit together, such as a time today that is already past."""


@dataclass
class Stage:
    """The state in which the scenes of one conversation are played, one after another."""

    random: Random
    cast: Cast
    scope: Scope
    draft: ConversationDraft
    lists: Mapping[str, Sequence[Json]]
    called: Callable[[str, "Stage"], None] = lambda _tool, _stage: None
    """Called with the tool's name and the stage after every call."""
    tags: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of user turns so far."""
        return sum(turn.role == "user" for turn in self.draft.turns)


def prepare(scene: Scene, stage: Stage) -> Stage:
    """Return the stage with the scene's slots drawn.

    Raises RigError for an invalid slot, and Unplayable if the drawn values do not fit together.
    """
    scope = Scope(stage.random, stage.scope.now, dict(stage.scope.names), stage.scope.manner)
    mine = replace(stage, scope=scope)
    for name, part in scene.slots.items():
        try:
            scope.names[name] = _drawn(part.value, mine)
        except UnknownName as error:
            raise part.fault(str(error)) from error
        except MISFITS as error:
            raise part.fault(f"is no slot: {error}") from error
    return mine


def perform(scene: Scene, stage: Stage, before: str = "") -> None:
    """Play a scene whose slots are drawn; `before` is put before the first words.

    Raises RigError for a fault of the scene, and ToolRefusal if a tool does not do what it should.
    """
    start = len(stage.draft.turns)
    _perform(scene.turns, stage)
    if before and len(stage.draft.turns) > start:
        first = stage.draft.turns[start]
        stage.draft.turns[start] = first._replace(text=_joined(before, first.text, stage))


def _joined(before: str, text: str, stage: Stage) -> str:
    if before.endswith((".", "!")):
        before = stage.scope.manner.cased(before)
        return f"{before} {text}"
    word = text.split()[0].rstrip(",.!?")
    names = {part for person in stage.cast.people for part in (person.first, person.last)}
    keeps = word == "I" or word.startswith("I'") or not word[1:].islower() or word in names | CAPITALS
    before = stage.scope.manner.cased(before)
    return f"{before} {text if keeps else text[:1].lower() + text[1:]}"


def _perform(nodes: Sequence[Node], stage: Stage) -> None:
    for node in nodes:
        if not _holds(node.condition, stage.scope, node.part) or stage.random.random() >= node.chance:
            continue
        if isinstance(node, Either):
            _perform(stage.random.choice(node.ways), stage)
        else:
            _turn(node, stage)


def _turn(node: TurnNode, stage: Stage) -> None:
    try:
        stage.draft.say(stage.scope.text(stage.random.choice(node.user), "user"))
        for call in node.calls:
            if _holds(call.condition, stage.scope, call.part):
                _call(call, stage)
        stage.draft.reply(stage.scope.text(stage.random.choice(node.reply), "assistant"), **node.extras)
    except UnknownName as error:
        raise node.part.fault(str(error)) from error
    stage.tags += node.tags


def _call(node: CallNode, stage: Stage) -> None:
    scope = stage.scope
    try:
        values = {
            name: scope.value(value) for name, value in node.arguments.items() if name not in node.rules
        }
        recorded = Outcome(scope.value(node.returns)) if node.has_answer else None
    except UnknownName as error:
        raise node.part.fault(str(error)) from error
    for name, rule in node.rules.items():
        try:
            ruled = replace(rule, of=scope.value(rule.of), options=scope.value(dict(rule.options)))
            values[name] = example_of(ruled)
        except (UnknownName, TypeError, LookupError) as error:
            raise node.part.fault(f"{name} needs an `example` that can be called with: {error}") from error
        node = node._replace(rules={**node.rules, name: ruled})
    call = Call(node.tool, {name: value for name, value in values.items() if value is not None})
    response = stage.draft.call(
        call, fails=node.fails, rules=node.rules, optional=node.optional, recorded=recorded
    )
    if node.name:
        scope.names[node.name] = response
    stage.called(node.tool, stage)


def _holds(condition: Condition, scope: Scope, part: DocumentPart) -> bool:
    try:
        return all(str(scope.value(f"{{{name}}}")) in values for name, values in condition.items())
    except UnknownName as error:
        raise part.fault(str(error)) from error


def _drawn(spec: Json, stage: Stage) -> Any:
    random, scope = stage.random, stage.scope
    if isinstance(spec, list):
        return random.choice(spec)
    if not isinstance(spec, dict):
        return KINDS[spec](stage.cast) if isinstance(spec, str) and spec in KINDS else spec
    if "pick" in spec:
        return _picked(spec, stage)
    if "of" in spec:
        return scope.look(spec["of"])
    if "minutes" in spec and "after" not in spec:
        return Length(int(_one(spec["minutes"], stage)))
    if "number" in spec:
        first, _, last = str(spec["number"]).partition("..")
        return random.randrange(int(first), int(last or first) + 1, int(spec.get("step", 1)))
    if "time" in spec and "moment" not in spec:
        return TimeOfDay(_time(spec, random))
    if "day" in spec:
        return Day(_day(spec["day"], spec, stage), scope.now)
    if "moment" in spec:
        return DayAndTime(_moment(spec, stage), scope.now)
    if "on" in spec:
        return DayAndTime(
            datetime.combine(scope.look(spec["on"]).when, scope.look(spec["at"]).moment), scope.now
        )
    return _after(spec, stage)


def _picked(spec: JsonObject, stage: Stage) -> Any:
    values = spec["pick"] if isinstance(spec["pick"], list) else stage.lists[spec["pick"]]
    barred = spec.get("not", [])
    excluded = [stage.scope.names[name] for name in ([barred] if isinstance(barred, str) else barred)]
    left = [value for value in values if value not in excluded]
    return stage.random.sample(left, int(spec["count"])) if "count" in spec else stage.random.choice(left)


def _one(value: Json, stage: Stage) -> Any:
    value = stage.random.choice(value) if isinstance(value, list) else value
    return stage.scope.value(value) if isinstance(value, str) else value


def _time(spec: JsonObject, random: Random) -> time:
    first, _, last = str(spec["time"]).partition("..")
    start, end = (time.fromisoformat(text.zfill(5)) for text in (first, last or first))
    minutes = range(start.hour * 60 + start.minute, end.hour * 60 + end.minute + 1, int(spec.get("step", 5)))
    return time(*divmod(random.choice(minutes), 60))


def _day(text: Json, spec: JsonObject, stage: Stage) -> date:
    first, _, last = str(text).partition("..")
    range_of_days = range(max(int(first), -_FARTHEST), min(int(last or first), _FARTHEST) + 1)
    days = [stage.scope.now.date() + timedelta(ahead) for ahead in range_of_days]
    allowed = spec.get("weekday")
    names = [allowed] if isinstance(allowed, str) else allowed
    fitting = [day for day in days if not names or f"{day:%A}" in names]
    if not fitting:
        raise Unplayable("no such day is near")
    return stage.random.choice(fitting)


def _moment(spec: JsonObject, stage: Stage) -> datetime:
    for _ in range(8):
        at = datetime.combine(_day(spec["moment"], spec, stage), _time(spec, stage.random))
        if at > stage.scope.now + timedelta(minutes=30) or str(spec["moment"]).startswith("-"):
            return at
    raise Unplayable("the time is past")


def _after(spec: JsonObject, stage: Stage) -> Any:
    value = stage.scope.look(spec["after"])
    gap = {unit: int(_one(spec[unit], stage)) for unit in ("minutes", "hours", "days") if unit in spec}
    if isinstance(value, TimeOfDay):
        moment = datetime.combine(date(2000, 1, 2), value.moment) + timedelta(**gap)
        if moment.date() != date(2000, 1, 2):
            raise Unplayable("the time is on another day")
        return TimeOfDay(moment.time())
    if isinstance(value, str):
        value = DayAndTime(datetime.fromisoformat(value), stage.scope.now)
    when = value.when + timedelta(**gap)
    return Day(when, value.now) if isinstance(value, Day) else DayAndTime(when, value.now)
