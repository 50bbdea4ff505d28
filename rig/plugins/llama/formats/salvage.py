"""What a model meant when it wrote without a grammar: its call or its words, and what had to be overlooked.

Only the wrapping is read tolerantly: fences, tags, prose, other names for the same two keys. The tool's name
and the arguments inside are kept as written and judged like any other answer. Nothing is completed, corrected
or executed. The text comes from a model and is therefore hostile: everything here is limited.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from rig.core.calls import Json, JsonObject
from rig.plugins.llama.formats.envelopes import call_in, leaves
from rig.plugins.llama.formats.json_text import JsonError, read_json, read_json_at
from rig.world.spec import NAME_REGEX

RULES = "1"
"""The version of these rules; part of the fingerprint of arms that use them."""

LONGEST = 1 << 16
"""The most characters of an answer that is read."""
_MOST_BRACKETS = 256
"""The most brackets in one answer that begin nothing readable."""

MARKS = frozenset(
    (
        *("<tool_call>", "</tool_call>"),  # Hermes and Qwen
        *("<|tool_call|>", "<|/tool_call|>"),  # Granite and Phi
        *("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),  # Mistral
        "<|python_tag|>",  # Llama 3
        *("<think>", "</think>"),  # thoughts
    )
)
"""Spellings of the special tokens that a free answer may contain."""

_CALL_MARKS = ("<tool_call>", "<|tool_call|>", "[TOOL_CALLS]", "<|python_tag|>")
_NAMED = (
    (
        "[TOOL_CALLS]",
        re.compile(
            rf"\[TOOL_CALLS\]\s{{0,9}}({NAME_REGEX})(?:\[CALL_ID\]\w{{1,40}})?(?:\[ARGS\])?\s{{0,9}}\Z"
        ),
    ),
    ("<function=>", re.compile(rf"<function=({NAME_REGEX})>\s{{0,9}}\Z")),
)
"""Forms in which the tool's name precedes its arguments."""
_FENCE = re.compile(r"```[\w-]{0,20}\s{0,9}\Z")
_BRACKET = re.compile(r"[{\[]")
_OBJECT = re.compile(r'\{\s{0,99}"')
_LOOKS_LIKE_JSON = re.compile(r"(?:```[\w-]{0,20}\s{0,9})?(?:\{|\[\s{0,9}\{)")
_LOOKS_LIKE_A_CALL = re.compile(r"""["'](?:tool|tool_calls|arguments|parameters)["']\s{0,9}:|<function=""")
_PYTHON_CALL = re.compile(r"\[\s{0,9}[A-Za-z_][\w.]{0,200}\(")
_BEFORE = 300
"""The number of characters before a value that are searched."""


class AnswerError(ValueError):
    """Text is not a valid answer; the message says why in one line, `salvage` how the text was read.

    `form` is the form of the call in it, as in a `Prediction`.
    """

    def __init__(self, message: str, salvage: str = "", form: str = "") -> None:
        super().__init__(message)
        self.salvage = salvage
        self.form = form


def check_unicode(answer: Json, how: str = "") -> None:
    """Raise AnswerError if an answer holds text that is not Unicode. `how` says how it was read."""
    try:
        json.dumps(answer, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise AnswerError("a string holds half of a surrogate pair, which is no Unicode text", how) from error


def read_answer(text: str, *, repeats: bool = False) -> Any:
    """Return the value of an answer that is JSON. Raises AnswerError, also for text that is not Unicode."""
    try:
        answer = read_json(text, repeats=repeats)
    except JsonError as error:
        raise AnswerError(f"not JSON: {error}") from error
    check_unicode(answer)
    return answer


def salvage(text: str) -> tuple[JsonObject, str]:
    """Return the first answer in a text, in rig's own form and not yet judged, and how it was found.

    The second value is empty if the text had that form. Raises AnswerError if there is a call that cannot be
    read, or nothing.

    Words with no trace of a call are a reply. Of several calls the first is used, because a model that is
    asked step by step would have made it first; the second value counts the others.
    """
    if len(text) > LONGEST:
        raise AnswerError(f"an answer of {len(text):,} characters, more than {LONGEST:,}")
    answer, is_after_thoughts = without_thoughts(text)
    thought = "after thoughts" if is_after_thoughts else ""
    if not answer:
        raise AnswerError(f"nothing was said{' after the thoughts' * is_after_thoughts}", thought)
    answers: list[tuple[JsonObject, list[str]]] = []
    reason = "neither a tool call nor a reply"
    try:
        for value, start, end in _values(answer):
            answers += _answers(answer, value, start, end)
    except JsonError as error:
        reason = f"not JSON: {error}"
    if answers:
        first, notes = answers[0]
        calls = f"first of {len(answers)}" if len(answers) > 1 else ""
        cut = "before JSON that cannot be read" if reason.startswith("not JSON") else ""
        return first, ", ".join(filter(None, [thought, *notes, calls, cut]))
    mark = next((mark for mark in _CALL_MARKS if mark in answer), "")
    if _PYTHON_CALL.match(answer) and answer.endswith(")]"):
        raise AnswerError("calls written as Python are not read", thought)
    if mark or _LOOKS_LIKE_JSON.match(answer) or _LOOKS_LIKE_A_CALL.search(answer):
        raise AnswerError(reason, ", ".join(filter(None, [thought, mark])))
    return {"reply": answer}, ", ".join(filter(None, [thought, "words"]))


def without_thoughts(text: str) -> tuple[str, bool]:
    """Return the text after the thoughts, and whether there were thoughts.

    The mark that opens them may have been in the prompt.
    """
    head, closing, rest = text.partition("</think>")
    if closing and (head.lstrip().startswith("<think>") or "<think>" not in head) and "{" not in head[:1]:
        return rest.strip(), True
    return ("", True) if text.lstrip().startswith("<think>") else (text.strip(), False)


def _values(text: str) -> Iterator[tuple[Any, int, int]]:
    """Return the outermost JSON objects and lists of a text in order, each with its start and end.

    Raises JsonError at an object that cannot be read, since its end is unknown.
    """
    place, failures = 0, 0
    while bracket := _BRACKET.search(text, place):
        start = bracket.start()
        try:
            value, place = read_json_at(text, start)
        except JsonError as error:
            failures += 1
            if _OBJECT.match(text, start):
                raise
            if failures > _MOST_BRACKETS:
                raise JsonError(f"more than {_MOST_BRACKETS} brackets with nothing in them") from error
            place = start + 1
        else:
            yield value, start, place


def _answers(text: str, value: Any, start: int, end: int) -> list[tuple[JsonObject, list[str]]]:
    """Return the answers in a value of a text, each with how it was recognised."""
    before = text[max(0, start - _BEFORE) : start]
    for mark, pattern in _NAMED:
        if isinstance(value, dict) and (name := pattern.search(before)):
            return [({"tool": name[1], "arguments": value}, [mark])]
    where = next((mark for mark in _CALL_MARKS if before.rstrip().endswith(mark)), "")
    if not where and _FENCE.search(before):
        where = "fenced"
    elif not where and (start, end) != (0, len(text)):
        where = "in prose"
    return [(answer, list(filter(None, [where, *notes]))) for answer, notes in _shapes(value)]


def _shapes(value: Any) -> list[tuple[JsonObject, list[str]]]:
    """Return the answers in a JSON value, which may be a list or an envelope; none if one cannot be read."""
    answers = []
    for leaf in leaves(value):
        if leaf.value.keys() == {"reply"}:
            answer, notes = leaf.value, list[str]()
        elif call := call_in(leaf.value):
            answer = {"tool": call.name, "arguments": call.arguments}
            notes = [] if call.keys == ("tool", "arguments") else ["/".join(call.keys)]
            notes += ["arguments as text"] * call.is_text + ["other keys"] * bool(call.others)
        else:
            return []
        answers.append((answer, [*leaf.envelopes, *notes]))
    return answers
