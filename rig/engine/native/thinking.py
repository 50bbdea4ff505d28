"""How a template has its model think: the marks around thoughts, the switch, and which thoughts are kept."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rig.calls import Json, JsonObject
from rig.engine.grammar.language import Thoughts
from rig.engine.native.probe import (
    ANSWER,
    FIRST,
    MARKER,
    QUESTION,
    SYSTEM,
    THOUGHT,
    TOOLS,
    Probe,
    common_length,
)
from rig.engine.templates.template import TemplateError

Kept = Literal["never", "within a turn", "always"]
_KEYS = ("reasoning_content", "thinking", "reasoning", "tool_plan")
_MARKS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<seed:think>", "</seed:think>"),
)
"""Where a template shows no thoughts of earlier messages, but knows how they end."""
_SWITCHES: tuple[tuple[JsonObject, JsonObject], ...] = (
    ({"enable_thinking": True, "thinking": True}, {"enable_thinking": False, "thinking": False}),
    ({"thinking_budget": -1}, {"thinking_budget": 0}),
    ({"reasoning_effort": "high"}, {"reasoning_effort": "none"}),
)
_LESS_EFFORT = ("minimal", "low")
"""Efforts at which some templates leave thoughts out, and others only ask for few."""
_SOFT_OFF = "/no_think"
_THINKING = _SWITCHES[0][0]


@dataclass(frozen=True, slots=True)
class Thinking:
    """What a template knows of thoughts. `on` and `off` are variables for it, None if it has no switch.

    `key` is under which a message's thoughts are shown to it, empty if it shows none. With `in_words` the
    switch is a word in the system prompt.
    """

    open: str = ""
    close: str = ""
    key: str = ""
    kept: Kept = "never"
    on: Mapping[str, Json] | None = None
    off: Mapping[str, Json] | None = None
    off_word: str = ""

    @property
    def known(self) -> bool:
        """Whether there are thoughts at all."""
        return bool(self.close)

    @property
    def switchable(self) -> bool:
        """Whether they can be switched off."""
        return self.off is not None or bool(self.off_word)


NONE = Thinking()
"""No thoughts at all."""


def find_thinking(probe: Probe) -> Thinking:
    """What the template knows of thoughts."""
    key, marks = _shown_marks(probe)
    if not marks:
        marks = next((pair for pair in _MARKS if pair[1] in probe.template.source), ("", ""))
    if not marks[1]:
        return Thinking()
    on, off = next((pair for pair in _SWITCHES if _differ(probe, *pair)), (None, None))
    if on is None:
        on, off = _effort(probe, *marks)
    word = _SOFT_OFF if off is None and _SOFT_OFF in probe.template.source else ""
    return Thinking(*marks, key, _kept(probe, key), on, off, word)


def thoughts_of(thinking: Thinking, prompt: str, *, wanted: bool) -> Thoughts | None:
    """The thoughts that are possible in an answer to a prompt that ends like this."""
    if not thinking.known:
        return None
    opened, closed = prompt.rfind(thinking.open), prompt.rfind(thinking.close)
    if opened >= 0 and opened > closed:
        return Thoughts(thinking.open, thinking.close, is_open=True)
    if not wanted or (closed >= 0 and not prompt[closed + len(thinking.close) :].strip()):
        return None
    return Thoughts(thinking.open, thinking.close)


def _effort(probe: Probe, opened: str, closed: str) -> tuple[JsonObject | None, JsonObject | None]:
    """The efforts with thoughts and without them, where a template closes them at the lower ones."""
    on: JsonObject = {"reasoning_effort": "high"}
    empty = re.compile(rf"{re.escape(opened)}\s*{re.escape(closed)}\s*\Z")
    for effort in _LESS_EFFORT:
        off: JsonObject = {"reasoning_effort": effort}
        texts = [_whole(probe, variables) or "" for variables in (on, off)]
        if [bool(empty.search(text)) for text in texts] == [False, True]:
            return on, off
    return None, None


def _differ(probe: Probe, on: JsonObject, off: JsonObject) -> bool:
    texts = [_whole(probe, variables) for variables in (on, off)]
    return None not in texts and texts[0] != texts[1]


def _whole(probe: Probe, variables: JsonObject) -> str | None:
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    for conversation in (messages, messages[1:]):
        try:
            return probe.template.expand(conversation, TOOLS, generation=True, variables=variables)
        except TemplateError:
            continue
    return None


def _shown_marks(probe: Probe) -> tuple[str, tuple[str, str] | None]:
    """The key under which thoughts are shown, and the marks around them."""
    for key in _KEYS:
        message = {"role": "assistant", "content": ANSWER, key: THOUGHT}
        for messages in ([message], [message, {"role": "user", "content": SYSTEM}]):
            text = probe.after_question(messages, variables=_THINKING)
            if text is None or THOUGHT not in text or ANSWER not in text.partition(THOUGHT)[2]:
                continue
            before, _, rest = text.partition(THOUGHT)
            return key, (_opening(probe, before), _closing(probe, rest.partition(ANSWER)[0]))
    return _shown_beside_calls(probe)


def _shown_beside_calls(probe: Probe) -> tuple[str, tuple[str, str] | None]:
    """The same, where thoughts are shown beside calls alone."""
    for key in _KEYS:
        message = {**probe.message((FIRST, {"kappa": "x"})), key: THOUGHT}
        text = probe.after_question([message], variables=_THINKING)
        if text is not None and THOUGHT in text:
            before, _, rest = text.partition(THOUGHT)
            return key, (_opening(probe, before), _closing(probe, rest))
    return "", None


def _opening(probe: Probe, before: str) -> str:
    plain = (probe.after_question([{"role": "assistant", "content": ANSWER}]) or "").partition(ANSWER)[0]
    own = before[common_length(before, plain) :].strip()
    prompted = probe.prompt[len(before) :].strip() if probe.prompt.startswith(before) else ""
    if (own or prompted)[:1].isalnum():
        return own or prompted
    marks = list(MARKER.finditer(before))
    return before[marks[-1].start() :].rstrip() if marks else own


def _closing(probe: Probe, after: str) -> str:
    """The mark behind thoughts; where they are a message of their own, with how the answer's begins."""
    mark = MARKER.search(after)
    if not mark:
        return after.partition(ANSWER)[0].strip()
    return mark[0] + after[mark.end() :][: probe.header(after[mark.end() :])]


def _kept(probe: Probe, key: str) -> Kept:
    if not key:
        return "never"
    reply = {"role": "assistant", "content": ANSWER, key: THOUGHT}
    called = {**probe.message((FIRST, {"kappa": "x"})), key: THOUGHT}
    result = {"role": "tool", "name": FIRST, "tool_call_id": "k7Jq2Lx9A", "content": "found"}
    user = {"role": "user", "content": SYSTEM}
    later = probe.after_question([reply, user], generation=True, variables=_THINKING)
    loop = probe.after_question([called, result], generation=True, variables=_THINKING)
    if later is not None and THOUGHT in later:
        return "always"
    return "within a turn" if loop is not None and THOUGHT in loop else "never"
