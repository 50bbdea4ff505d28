"""How a template has its model think: the marks around thoughts, the switch, and which thoughts are kept."""

import re
from collections.abc import Mapping, Sequence
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
    Probe,
    common_length,
    message,
)

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


NONE = Thinking()
"""No thoughts at all."""


def find_thinking(probe: Probe) -> Thinking:
    """What the template knows of thoughts."""
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
    """The thoughts that are possible in an answer to a prompt that ends like this."""
    if not thinking.known:
        return None
    opened, closed = prompt.rfind(thinking.open), prompt.rfind(thinking.close)
    if opened >= 0 and opened > closed:
        return Thoughts(thinking.open, thinking.close, is_open=True)
    if not may_begin or (closed >= 0 and not prompt[closed + len(thinking.close) :].strip()):
        return None
    return Thoughts(thinking.open, thinking.close)


def _switch(probe: Probe, opened: str, closed: str) -> tuple[JsonObject | None, JsonObject | None]:
    """The variables with which a template has its model think, and those with which it does not."""

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
    """The key under which thoughts are shown, if only beside calls, and the marks around them."""
    reply, called = message("assistant", ANSWER), probe.message((FIRST, {"kappa": "x"}))
    user = message("user", SYSTEM)
    trials: list[tuple[str, JsonObject, Sequence[JsonObject]]]
    trials = [(key, reply, following) for key in _KEYS for following in ((), (user,))]
    trials += [(key, called, ()) for key in _KEYS]
    for key, thoughtful, following in trials:
        text = probe.after_question([{**thoughtful, key: THOUGHT}, *following], variables=_THINKING)
        before, thought, rest = (text or "").partition(THOUGHT)
        if thought and (thoughtful is called or ANSWER in rest):
            return key, (_opening(probe, before), _closing(probe, rest.partition(ANSWER)[0]))
    return "", None


def _opening(probe: Probe, before: str) -> str:
    plain = (probe.after_question([message("assistant", ANSWER)]) or "").partition(ANSWER)[0]
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
        return after.strip()
    return mark[0] + after[mark.end() :][: probe.header(after[mark.end() :])]


def _kept(probe: Probe, key: str) -> Kept:
    if not key:
        return "never"
    reply = message("assistant", ANSWER, **{key: THOUGHT})
    called = {**probe.message((FIRST, {"kappa": "x"})), key: THOUGHT}
    result = message("tool", "found", name=FIRST, tool_call_id="k7Jq2Lx9A")
    later, loop = (
        probe.after_question(messages, generation=True, variables=_THINKING) or ""
        for messages in ([reply, message("user", SYSTEM)], [called, result])
    )
    return "always" if THOUGHT in later else "within a turn" if THOUGHT in loop else "never"
