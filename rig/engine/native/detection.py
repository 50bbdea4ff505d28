"""What rig finds in a chat template: how its model calls tools, and what the template cannot do."""

import re
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Literal

from rig import plugins
from rig.calls import Json, JsonObject
from rig.engine.core.settings import ThinkingArm
from rig.engine.native.derive import NotDerived, derive
from rig.engine.native.presets import Preset, preset_for
from rig.engine.native.probe import (
    ANSWER,
    FIRST,
    MARKER,
    QUESTION,
    SYSTEM,
    TOOLS,
    Probe,
    without_thoughts,
)
from rig.engine.native.shape import CallShape
from rig.engine.native.thinking import NONE, Thinking, find_thinking
from rig.engine.templates.template import ChatTemplate, TemplateError

Place = Literal["", "system", "first user message", "last user message", "before the system message"]


@dataclass(frozen=True, slots=True)
class Native:
    """The form in which a model was trained to call tools, as far as its template tells.

    `family` names the preset that it is, empty if the template showed it. `tools_in` is where the
    template puts declarations, empty if it ignores them; `shows_calls` whether it shows earlier calls.
    `words` stand around an answer in words. `reply_tool` is a tool that the template itself offers, which is
    called to reply in words. `faults` are what is wrong with the template, and what rig does
    instead.
    """

    shape: CallShape
    family: str = ""
    declared_as: str = "tools"
    tools_in: Place = ""
    shows_calls: bool = True
    as_text: bool = False
    ids: Literal["nine", "functions"] = "nine"
    thinking: Thinking = NONE
    words: tuple[str, str] = ("", "")
    reply_tool: str = ""
    faults: tuple[str, ...] = ()

    @property
    def declares(self) -> bool:
        """Whether the template declares the tools; else rig does."""
        return bool(self.tools_in)

    @property
    def has_stable_prefix(self) -> bool:
        """Whether the declarations stay where they are as a conversation goes on."""
        return self.tools_in != "last user message"

    @property
    def name(self) -> str:
        """What it is called in a line."""
        return self.family or "derived"

    @property
    def is_supported(self) -> bool:
        """Whether the template itself knows of tools."""
        return self.declares or (self.shows_calls and not self.family)

    @property
    def format(self) -> str:
        """What `--format auto` makes of it."""
        return "native" if self.is_supported else "rig"

    def remarks(self, thinking: ThinkingArm) -> tuple[str, ...]:
        """What a person should know before a run."""
        lines = [f"answers in its own form ({self.name}): {self.shape.trigger.strip()}", *self.faults]
        if not self.has_stable_prefix:
            lines.append(
                "its template puts the tools before the last message of the user: prompts share less, so that"
                " each turn computes the tools again"
            )
        if thinking == "off" and self.thinking.known and not self.thinking.switchable:
            lines.append("its template has no switch for thinking; thoughts are closed as soon as they begin")
        if thinking == "on" and not self.thinking.known:
            lines.append("its template knows of no thoughts; --thinking on changes nothing")
        return tuple(lines)

    def as_json(self) -> JsonObject:
        """All that can change an answer. What most templates have not is left out, as in older runs."""
        hidden = {"faults", *(() if self.reply_tool else ("reply_tool",))}
        return {name: value for name, value in asdict(self).items() if name not in hidden}


class Unsupported(Exception):
    """The template says nothing of tools that could be used; the message says in what respect.

    `shows_calls`: it does show calls, in a form that is not known.
    """

    def __init__(self, message: str, *, shows_calls: bool) -> None:
        super().__init__(message)
        self.shows_calls = shows_calls


@lru_cache(maxsize=32)
def native_of(template: ChatTemplate) -> Native:
    """What is found in a template. Raises Unsupported if there is nothing of tools in it."""
    probe = Probe(template)
    first = preset_for(template.source, always=True)
    try:
        if first:
            raise NotDerived("", shows_calls=False)
        shape, probe = _derived(template)
        native = Native(shape, as_text=probe.as_text, ids="functions" if probe.ids != "nine" else "nine")
    except NotDerived as error:
        chosen = first or preset_for(template.source, always=False)
        fixable = not error.shows_calls or error.lossy or _encodes_twice(probe)
        if chosen is None or (first is None and not fixable):
            twice = error.shows_calls and _encodes_twice(probe)
            raise Unsupported(_TWICE if twice else str(error), shows_calls=error.shows_calls) from error
        native = preset_native(chosen)
        if first is None:
            native = replace(native, shows_calls=False, faults=(_fault(error),))
    return with_template(native, probe)


_TWICE = "encodes arguments twice, as text within JSON"


def _fault(error: NotDerived) -> str:
    if error.shows_calls and not error.lossy:
        return f"the template {_TWICE}; rig writes calls as their family does"
    return f"the template {error}; rig writes them as their family does"


def preset_native(preset: Preset) -> Native:
    """A family's form, for any template."""
    return Native(preset.shape, preset.name, thinking=preset.thinking or NONE, words=preset.words)


def family_native(name: str, template: ChatTemplate) -> Native:
    """A family's form with this template: what it declares is taken, calls are written as the family does."""
    probe = Probe(template)
    native = with_template(preset_native(plugins.registered().presets[name]), probe)
    try:
        same = _derived(template)[0] == native.shape
    except NotDerived:
        same = False
    return native if same else replace(native, shows_calls=False)


def with_template(native: Native, probe: Probe) -> Native:
    """A form with what the template does about it."""
    declared_as, place = _declared(probe)
    shown = probe.call(FIRST, {"kappa": "x"})
    faults = [*native.faults]
    if not place:
        faults.append("the template ignores declarations of tools; rig declares them in the system prompt")
    if shown is None and not native.faults and native.shows_calls:
        faults.append("the template does not show earlier calls; rig writes them as their family does")
    return replace(
        native,
        declared_as=declared_as,
        tools_in=place,
        shows_calls=native.shows_calls and shown is not None,
        thinking=native.thinking if native.thinking.known else find_thinking(probe),
        words=native.words if any(native.words) else _words(probe),
        reply_tool=(_REPLY_TOOL.findall(probe.template.source) or [""])[0],
        faults=tuple(faults),
    )


_REPLY_TOOL = re.compile(r"\bdirectly[-_]answer\b")
"""Command R's."""


def _derived(template: ChatTemplate) -> tuple[CallShape, Probe]:
    first: NotDerived | None = None
    plain = Probe(template)
    others = [Probe(template, ids="functions")]
    if plain.call(FIRST, {"kappa": "x"}) is None and plain.fault:
        others.append(Probe(template, as_text=True))
    for probe in (plain, *others):
        probe.thoughts_close = find_thinking(probe).close
        try:
            return derive(probe), probe
        except NotDerived as error:
            first = first or error
    assert first is not None
    raise first


def _declared(probe: Probe) -> tuple[str, Place]:
    """Under which name a template takes declarations, and where it puts them."""
    system = {"role": "system", "content": SYSTEM}
    first, later = ({"role": "user", "content": text} for text in (QUESTION, "koala33"))
    reply = {"role": "assistant", "content": ANSWER}
    for name in ("tools", "xml_tools"):
        for messages in ([system, first, reply, later], [first, reply, later]):
            variables: dict[str, Json] = {} if name == "tools" else {name: list(TOOLS)}
            try:
                text = probe.template.expand(messages, TOOLS if name == "tools" else (), variables=variables)
            except TemplateError:
                continue
            place = text.find(FIRST)
            if place < 0:
                continue
            return name, _place(text, place, _turn(probe, system, first))
    return "tools", ""


def _place(text: str, place: int, turn: str) -> Place:
    """Where in a prompt the declarations stand. `turn` is how a user's turn begins."""
    question, system = text.find(QUESTION), text.find(SYSTEM)
    if question >= 0 and place > question:
        return "last user message"
    if system >= 0 and place < system:
        return "before the system message"
    return "first user message" if turn and turn in text[max(system, 0) : place] else "system"


def _turn(probe: Probe, system: JsonObject, user: JsonObject) -> str:
    """How the turn of a user begins after a system message."""
    try:
        text = probe.template.expand([system, user], variables={})
    except TemplateError:
        return ""
    return text.partition(SYSTEM)[2].partition(QUESTION)[0].strip()[-12:]


def _words(probe: Probe) -> tuple[str, str]:
    """The marks around an answer in words, where there are some that are not those of thoughts or turns."""
    text = probe.after_question([{"role": "assistant", "content": ANSWER}])
    opened = without_thoughts(probe.words[0]).strip()
    if text is None or ANSWER not in text or not MARKER.fullmatch(opened):
        return "", ""
    closed = MARKER.findall(text.partition(ANSWER)[2])
    return opened, closed[0] if len(closed) > 1 else ""


def _encodes_twice(probe: Probe) -> bool:
    shown = probe.after_question([probe.message((FIRST, {"kappa": "x"}))])
    return shown is not None and '\\"kappa\\"' in shown
