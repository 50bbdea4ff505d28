"""What rig finds in a chat template: how its model calls tools and thinks, and what it cannot do."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Literal

from rig.config.engine import ThinkingArm
from rig.core import registry
from rig.core.calls import JsonObject
from rig.plugins.llama.core.template import ChatTemplate, probing, with_thoughts
from rig.plugins.llama.formats.derive import Unsupported as Unsupported
from rig.plugins.llama.formats.derive import derive, shows_all
from rig.plugins.llama.formats.probe import (
    ANSWER,
    FIRST,
    MARKER,
    QUESTION,
    SYSTEM,
    THOUGHT,
    TOOLS,
    Probe,
    common_length,
    message,
    without_thoughts,
)
from rig.plugins.llama.formats.shape import HOLES, NONE, CallShape, Kept, Preset, Thinking, preset_for
from rig.plugins.llama.grammar.language import NestedTags, Thoughts

_KEYS = ("reasoning_content", "thinking", "reasoning", "tool_plan")
_AS_PART = re.compile(r"""['"]thinking['"]""")
"""In the source of templates that show thoughts as a part of the content."""
_PRINTED = ("thinking': '", 'thinking": "')
"""The texts before thoughts where a template prints a list of parts as it is."""
_MARKS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
)
"""The marks to try if a template shows no thoughts of earlier messages, but contains their closing mark."""
_SWITCHES: tuple[tuple[JsonObject, JsonObject], ...] = (
    ({"enable_thinking": True, "thinking": True}, {"enable_thinking": False, "thinking": False}),
    ({"thinking_budget": -1}, {"thinking_budget": 0}),
    ({"reasoning_effort": "high"}, {"reasoning_effort": "none"}),
)
_LESS_EFFORT = ("minimal", "low")
"""Efforts at which some templates leave out thoughts, and others only ask for few."""
_SOFT_OFF = "/no_think"
_THINKING = _SWITCHES[0][0]


def find_thinking(probe: Probe) -> Thinking:
    """Return what the template does about thoughts."""
    source = probe.template.source
    key, marks = _shown_marks(probe)
    if not marks:
        marks = next((pair for pair in _MARKS if pair[1] in source), ("", ""))
    if not marks[1]:
        return NONE
    on, off = _switch(probe, *marks)
    word = _SOFT_OFF if off is None and _SOFT_OFF in source else ""
    return Thinking(*marks, key, _kept(probe, key), on, off, word)


def thoughts_of(thinking: Thinking, prompt: str, *, may_begin: bool) -> Thoughts | None:
    """Return the thoughts that are possible in an answer to a prompt with this end, or None."""
    if not thinking.known:
        return None
    opened, closed = prompt.rfind(thinking.open), prompt.rfind(thinking.close)
    if opened >= 0 and opened > closed:
        return Thoughts(thinking.open, thinking.close, is_open=True)
    if not may_begin or (closed >= 0 and not prompt[closed + len(thinking.close) :].strip()):
        return None
    return Thoughts(thinking.open, thinking.close)


def _switch(probe: Probe, opened: str, closed: str) -> tuple[JsonObject | None, JsonObject | None]:
    """Return the variables with which a template lets its model think, and those with which it does not."""

    def prompt(variables: JsonObject) -> str:
        messages = [message("system", SYSTEM), message("user", QUESTION)]
        whole = probe.text(messages, generation=True, variables=variables)
        return whole or probe.text(messages[1:], generation=True, variables=variables)

    for on, off in _SWITCHES:
        texts = {prompt(on), prompt(off)}
        if len(texts) == 2 and "" not in texts:
            return on, off
    # Some close thoughts at the lower efforts alone.
    on = {"reasoning_effort": "high"}
    empty = re.compile(rf"{re.escape(opened)}\s*{re.escape(closed)}\s*\Z")
    for effort in _LESS_EFFORT:
        off = {"reasoning_effort": effort}
        if empty.search(prompt(off)) and not empty.search(prompt(on)):
            return on, off
    return None, None


def _shown_marks(probe: Probe) -> tuple[str, tuple[str, str] | None]:
    """Return the key under which thoughts are shown, at least beside calls, and the marks around them."""
    reply, called = message("assistant", ANSWER), probe.message((FIRST, {"kappa": "x"}))
    user = message("user", SYSTEM)
    trials: list[tuple[str, JsonObject, Sequence[JsonObject]]]
    keys = (*_KEYS, "content") if _AS_PART.search(probe.template.source) else _KEYS
    trials = [(key, reply, following) for key in keys for following in ((), (user,))]
    trials += [(key, called, ()) for key in keys]
    for key, thoughtful, following in trials:
        text = probe.after_question(
            [with_thoughts(thoughtful, key, THOUGHT), *following], variables=_THINKING
        )
        before, thought, rest = (text or "").partition(THOUGHT)
        if thought and not before.endswith(_PRINTED) and (thoughtful is called or ANSWER in rest):
            return key, (_opening(probe, before), _closing(probe, rest.partition(ANSWER)[0]))
    return "", None


def _opening(probe: Probe, before: str) -> str:
    plain = (probe.after_question([message("assistant", ANSWER)]) or "").partition(ANSWER)[0]
    own = before[common_length(before, plain) :].strip()
    prompted = probe.prompt[len(before) :].strip() if probe.prompt.startswith(before) else ""
    if own[:1].isalnum():
        # The prompt ends before it, or within it.
        return prompted or probe.without_header(before)
    if prompted[:1].isalnum():
        return prompted
    marks = list(MARKER.finditer(before))
    return before[marks[-1].start() :].rstrip() if marks else own


def _closing(probe: Probe, after: str) -> str:
    """Return the mark after thoughts; if they are a separate message, with the beginning of the answer's."""
    mark = MARKER.search(after)
    if not mark:
        return after.strip()
    return mark[0] + after[mark.end() :][: probe.header(after[mark.end() :])]


def _kept(probe: Probe, key: str) -> Kept:
    """Return which thoughts of earlier messages are shown, in a conversation of three turns."""
    if not key:
        return "never"
    messages: list[JsonObject] = []
    for turn in range(2):
        called = with_thoughts(probe.message((FIRST, {"kappa": "x"})), key, f"{THOUGHT}c{turn}")
        result = message("tool", "found", name=FIRST, tool_call_id=probe.id_of(FIRST, turn))
        messages += [called, result, with_thoughts(message("assistant", ANSWER), key, f"{THOUGHT}r{turn}")]
        messages.append(message("user", SYSTEM))
    later = probe.after_question(messages, generation=True, variables=_THINKING) or ""
    shown = set(re.findall(f"{THOUGHT}(..)", later))
    if shown:
        whole: dict[frozenset[str], Kept] = {
            frozenset(("c0", "r0", "c1", "r1")): "always",
            frozenset(("c0", "c1")): "beside calls",
        }
        return whole.get(frozenset(shown), "in part")
    loop = probe.after_question(messages[:2], generation=True, variables=_THINKING) or ""
    return "within a turn" if THOUGHT in loop else "never"


Beside = Literal["yes", "without thoughts", "no"]


def _words_beside(probe: Probe, key: str, opening: str) -> Beside:
    """Return whether a message with calls may have words, as some templates drop the calls or refuse it.

    Others put the words between the marks that open a call: it has to begin with all of its `opening`.
    """
    called = probe.message((FIRST, {"kappa": "x"}))
    worded = {**called, "content": ANSWER}

    def shows(message: JsonObject) -> bool:
        return opening + FIRST in (probe.after_question([message]) or "")

    if not shows(called):
        return "yes"
    if not shows(worded):
        return "no"
    thinks, both = (with_thoughts(one, key, THOUGHT) for one in (called, worded))
    if key and shows(thinks) and not shows(both):
        return "without thoughts"
    return "yes"


def _later_form(probe: Probe, shape: CallShape) -> bool:
    """Whether a template shows the calls of a later message as it shows those of the first."""
    call = (FIRST, {"kappa": "x"})
    result = message("tool", "found", name=FIRST, tool_call_id=probe.id_of(FIRST, 0))
    first = [probe.message(call), result, message("assistant", ANSWER), message("user", SYSTEM)]
    text = probe.after_question([*first, probe.message(call)]) or ""
    begun = text.rpartition(SYSTEM)[2]
    return not begun or HOLES.split(shape.open)[0] in begun


Place = Literal["", "system", "first user message", "last user message", "before the system message"]


@dataclass(frozen=True, slots=True)
class Native:
    """The form in which a model was trained to call tools, if its template shows it.

    `family` names the preset that was used, empty if the template showed the form. `tools_in` is where the
    template puts declarations, empty if it ignores them and rig declares the tools; before the user's last
    message they move on with the conversation. `shows_calls` means that it shows earlier calls. `words` stand
    around an answer in words; `words_beside_calls` says whether a message may have words and calls.
    `reply_tool` is a tool that the template itself offers, which is called to reply in words. `faults` are
    what is wrong with the template, and rig's remedy.
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
    words_beside_calls: Beside = "yes"
    reply_tool: str = ""
    faults: tuple[str, ...] = ()

    @property
    def is_supported(self) -> bool:
        """Whether the template itself handles tools."""
        return bool(self.tools_in) or (self.shows_calls and not self.family)

    def remarks(self, thinking: ThinkingArm) -> tuple[str, ...]:
        """Return what a person should know before a run."""
        name = self.family or "derived"
        lines = [f"answers in its own form ({name}): {self.shape.trigger.strip()}", *self.faults]
        if not self.shape.between:
            lines.append("its form has one call a message: several of one message are shown one by one")
        if self.tools_in == "last user message":
            lines.append(
                "its template puts the tools before the last message of the user: prompts share less, so that"
                " each turn computes the tools again"
            )
        is_switchable = self.thinking.off is not None or self.thinking.off_word
        if thinking == "off" and self.thinking.known and not is_switchable:
            lines.append("its template has no switch for thinking; thoughts are closed as soon as they begin")
        if thinking == "on" and not self.thinking.known:
            lines.append("its template knows of no thoughts; --thinking on changes nothing")
        return tuple(lines)

    def as_json(self) -> JsonObject:
        """Return all that can change an answer."""
        return {name: value for name, value in asdict(self).items() if name != "faults"}


@lru_cache(maxsize=32)
@probing()
def native_of(template: ChatTemplate) -> Native:
    """Return what is found in a template. Raises Unsupported if it says nothing about tools."""
    probe = Probe(template)
    if preset := preset_for(template.source, always=True):
        return with_template(preset_native(preset), probe)
    try:
        shape, probe = _derived(template)
        native = Native(shape, as_text=probe.as_text, ids="functions" if probe.ids != "nine" else "nine")
    except Unsupported as error:
        preset = preset_for(template.source, always=False)
        text = probe.after_question([probe.message((FIRST, {"kappa": "x"}))]) or ""
        twice = error.shows_calls and '\\"kappa\\"' in text
        alike = preset is not None and error.shows_calls and shows_all(probe, preset.shape, as_written=False)
        if preset is None or (error.shows_calls and not (error.lossy or twice or alike)):
            raise Unsupported(_TWICE if twice else str(error), shows_calls=error.shows_calls) from error
        what = _TWICE if twice and not error.lossy else error
        fault = f"the template {what}; rig writes calls as their family does"
        native = replace(preset_native(preset), shows_calls=alike, faults=(_RESPELT if alike else fault,))
    return with_template(native, probe)


_RESPELT = "the template spells some values otherwise than rig writes them; rig reads both"
_TWICE = "encodes arguments twice, as text within JSON"


def preset_native(preset: Preset) -> Native:
    """Return a family's form, for any template."""
    return Native(preset.shape, preset.name, thinking=preset.thinking or NONE, words=preset.words)


def family_native(name: str, template: ChatTemplate) -> Native:
    """Return a family's form with this template: tools as it declares them, calls as the family does."""
    probe = Probe(template)
    native = with_template(preset_native(registry.registered().presets[name]), probe)
    try:
        same = _derived(template)[0] == native.shape
    except Unsupported:
        same = False
    return native if same else replace(native, shows_calls=False)


def with_template(native: Native, probe: Probe) -> Native:
    """Return a form completed by what the template does with tools, calls, thoughts and words."""
    declared_as, place = _declared(probe)
    text = probe.call((FIRST, {"kappa": "x"}))
    faults = [*native.faults]
    if not place:
        faults.append("the template ignores declarations of tools; rig declares them in the system prompt")
    if text is None and not native.faults and native.shows_calls:
        faults.append("the template does not show earlier calls; rig writes them as their family does")
    if isinstance(native.shape.arguments, NestedTags):
        faults.append(
            "its form leaves null out, and writes empty texts, lists and objects alike; declared types tell"
            " them apart"
        )
    shows_calls = native.shows_calls and text is not None
    thinking = native.thinking
    thinking = replace(thinking, kept=_kept(probe, thinking.key)) if thinking.known else find_thinking(probe)
    opening = "" if native.family or HOLES.search(native.shape.open) else native.shape.open
    beside = _words_beside(probe, thinking.key, opening) if shows_calls else "yes"
    if beside != "yes":
        where = "thoughts and calls" if beside == "without thoughts" else "calls"
        faults.append(f"the template takes no words beside {where}; rig leaves those of earlier messages out")
    if shows_calls and not native.family and not shows_all(probe, native.shape, as_written=True):
        faults.append(_RESPELT)
    if shows_calls and not native.family and not _later_form(probe, native.shape):
        faults.append("the template shows calls of later messages in another form than those of the first")
    return replace(
        native,
        declared_as=declared_as,
        tools_in=place,
        shows_calls=shows_calls,
        thinking=thinking,
        words_beside_calls=beside,
        words=native.words if any(native.words) else _words(probe),
        reply_tool=(_REPLY_TOOL.findall(probe.template.source) or [""])[0],
        faults=tuple(faults),
    )


_REPLY_TOOL = re.compile(r"\bdirectly[-_]answer\b")
"""Command R's tool for replies."""


def _derived(template: ChatTemplate) -> tuple[CallShape, Probe]:
    """Return the form of calls and the probe that found it. Raises Unsupported."""
    plain = Probe(template)
    probes = [plain, Probe(template, ids="functions")]
    if plain.call((FIRST, {"kappa": "x"})) is None and plain.fault:
        probes.append(Probe(template, as_text=True))
    errors = []
    for probe in probes:
        probe.thoughts_close = find_thinking(probe).close
        try:
            return derive(probe), probe
        except Unsupported as error:
            errors.append(error)
    raise errors[0]


def _declared(probe: Probe) -> tuple[str, Place]:
    """Return the name under which a template takes declarations, and where it puts them."""
    system, first = message("system", SYSTEM), message("user", QUESTION)
    later = [first, message("assistant", ANSWER), message("user", "koala33")]
    for name in ("tools", "xml_tools"):
        variables = {} if name == "tools" else {name: list(TOOLS)}
        for messages in ([system, *later], later):
            text = probe.text(messages, tools=TOOLS if name == "tools" else (), variables=variables)
            if FIRST in text:
                turn = probe.text([system, first], tools=()).partition(SYSTEM)[2].partition(QUESTION)[0]
                return name, _place(text, turn.strip()[-12:])
    return "tools", ""


def _place(text: str, turn: str) -> Place:
    """Return where in a prompt the declarations stand. `turn` is how a user's turn begins."""
    place, question, system = text.find(FIRST), text.find(QUESTION), text.find(SYSTEM)
    if 0 <= question < place:
        return "last user message"
    if place < system:
        return "before the system message"
    return "first user message" if turn and turn in text[max(system, 0) : place] else "system"


def _words(probe: Probe) -> tuple[str, str]:
    """Return the marks around an answer in words, if there are any besides those of thoughts and turns."""
    text = probe.after_question([message("assistant", ANSWER)])
    opened = without_thoughts(probe.words[0]).strip()
    if text is None or ANSWER not in text or not MARKER.fullmatch(opened):
        return "", ""
    closed = MARKER.findall(text.partition(ANSWER)[2])
    return opened, closed[0] if len(closed) > 1 else ""
