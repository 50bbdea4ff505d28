"""Leaked calls: calls in another form than the family's, and answers that only begin like a call.

Strict servers take such an answer for words; harnesses that recover calls carry them out. Only calls of tools
that the model was offered are recognised; code, examples and other JSON stay words. A call is made where it
stands on lines of its own, with nothing beside it but words that announce it. The text comes from a model and
is hostile: everything here is bounded.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from rig.core.calls import Call, JsonObject
from rig.core.models import BROKEN, LEAKED
from rig.plugins.llama.formats.base import CallChecker, Reading
from rig.plugins.llama.formats.envelopes import call_in
from rig.plugins.llama.formats.json_text import JsonError, read_json_at
from rig.plugins.llama.formats.places import FENCE, MARK, Spot, is_sketch, known, spots
from rig.plugins.llama.formats.salvage import LONGEST, check_unicode, without_thoughts
from rig.plugins.llama.formats.wording import announces, tells

RULES = "1"
"""The version of these rules; part of the fingerprint of arms that read calls by them."""

WITHIN_THOUGHTS = "within the thoughts"

_MOST_WORDS = 400
"""The most characters of words before a call; more is a text about calls."""

_WRAPPING = re.compile(
    r"```[\w+-]{0,20}|`|</?[^<>\n]{1,80}>|\[/?[A-Z_]{3,40}\]|[{}\[\](),;:\s]|\bjson\b|>>>|\bfunctools\b"
)
"""What stands around calls and says nothing."""
_MARKS = re.compile(r"```[\w+-]{0,20}|</?[^<>\n]{1,80}>|\[/?[A-Z_]{3,40}\]|\bjson\n")
_FENCES = re.compile(r"```([\w+-]{0,20})[^\n`]{0,40}(?:\n|(?=[{\[\w]))")
_COMMENT = re.compile(r"(?:^|\n)[ \t]{0,20}(?:#|//|--)[^\n]{0,400}|<!--[^<>]{0,400}-->|/\*[^*]{0,400}\*/")
_QUOTING = re.compile(r"\s{0,9}(?:[|>]|[-*+]\s|\d{1,3}[.)]\s)")
"""How lines of tables, quotations and lists begin."""
_LABEL = re.compile(r"[\w*_][^\"'`=(\[{<>|]{0,300}[.:!?…。：！>]\Z")
"""Words that call for what follows them on their line."""
_WRAPPING_AT_END = re.compile(rf"(?:\s{{0,99}}(?:```[\w+-]{{0,20}}|{MARK}))+\s{{0,99}}\Z")
_MARK_AT_END = re.compile(rf"(?:{MARK})\s{{0,20}}\Z")
_GOING_ON = re.compile(r"[\s`\"')\]}]{0,9}(?:(?!json\b)[a-z|]|//|#|[-=]>|[-–—=:+.]\s?\w)")
"""What goes on in the line of a call, so that the call is a part of something."""
_OPEN_LINE = re.compile(r"[=(,|\[\\+]\s{0,9}\Z|[\"']\s{0,4}:\s{0,9}\Z")
"""The end of a line of code whose value follows."""
_MARKED = re.compile(r"<|\[|functions|Action:|>>>|functools")
"""Forms whose marks say that a call follows, whatever the words before them."""
_OBSERVATION = re.compile(r"(?:^|\n)\s{0,9}Observation\s?:")
_CODE = re.compile(
    r"^[ \t]{0,40}(?:[\w.]{1,60} ?= ?\S|(?:import|from|const|var|return|await|async|export|@\w+)\b|let \w+ ?="
    r"|def \w+\(|class \w+[(:]|for \w+ in\b|if \w+ ?[=<>!]|while \w|function \w+\("
    r"|[\w.]{1,60}\([^()\n]{0,200}\);?$|#include)",
    re.MULTILINE,
)
"""How lines of programs begin."""
_HTML = re.compile(
    r"</?(?:examples?|samples?|documentation|docs?|config|snippet|quote|history|transcript|p|h[1-6]|pre|code|div|ul|ol|li|table|tr|td|th|html|body|span|br|b|i|em|strong|a)(?:\s[^<>]{0,200})?/?>"
)
"""Tags of documents, which have no calls."""

_BEGINNING = re.compile(
    r"\s{0,99}(?:```[\w+-]{0,20}\s{0,99})?"
    r"(?P<mark></?(?:tools?|tool_?calls?|function_?calls?|function|invoke|response|tool_response)\b[^<>\n]{0,80}>?"
    r"|<\|?/?(?:tool|python)[^<>\n]{0,40}>|<｜tool[^<>\n]{0,40}>|\[TOOL_CALLS\]|functions\.\w)"
)
_JSON_BEGINNING = re.compile(
    r"\s{0,99}(?:```[\w+-]{0,20}\s{0,99})?[<{\[\s]{0,20}\{\s{0,99}"
    r"[\"'](?:name|tool|tool_calls|function|arguments|parameters|type)[\"']\s{0,9}:"
)
_TWO_KEYS = re.compile(r"[\"'](?:arguments|parameters)[\"']\s{0,9}:")


class Leak(NamedTuple):
    """Calls that an answer holds in another form: `form` names it; `words` come before them."""

    calls: tuple[Call, ...]
    form: str
    words: str = ""


class LeakReader(NamedTuple):
    """Reads answers without a call in the own form. With `is_strict`, leaked calls are words."""

    checker: CallChecker
    is_strict: bool

    def read(self, answer: str, content: str, reasoning: str, how: str = "") -> Reading:
        """Read an answer as leaked calls, or as its words: the `content`. Raises as `take` does."""
        leak = leaked(answer, self.checker.schemas)
        if leak is None and not content:
            leak = within(reasoning, self.checker.schemas)
        if leak:
            return self.take(leak, content, reasoning, how)
        begun = broken(answer, self.checker.schemas)
        return Reading((), content, reasoning, how, f"{BROKEN}{begun}" if begun else "")

    def take(self, leak: Leak, content: str, reasoning: str, how: str = "") -> Reading:
        """Return leaked calls as calls or as words. Raises AnswerError for calls that no tool accepts."""
        form = f"{LEAKED}{leak.form}"
        if self.is_strict:
            return Reading((), content, reasoning, how, form)
        check_unicode([call.arguments for call in leak.calls], how)
        calls = tuple(self.checker.call(call.name, call.arguments, how, form) for call in leak.calls)
        return Reading(calls, leak.words, reasoning, how, form)


def leaked(text: str, schemas: Mapping[str, JsonObject]) -> Leak | None:
    """Return the calls of tools with these schemas that a text makes in any known form; else None.

    A text that tells of a call, in words before or behind it, makes none.
    """
    if len(text) > LONGEST or not schemas:
        return None
    answer, is_after = without_thoughts(text.replace("\r\n", "\n"))
    if is_after and not answer:
        return within(re.sub("</?think>", "", text), schemas)
    return _made(answer, schemas)


def within(thoughts: str, schemas: Mapping[str, JsonObject]) -> Leak | None:
    """Return the calls with which thoughts end, if nothing was said after them."""
    thoughts = thoughts.replace("\r\n", "\n").rstrip()
    if len(thoughts) > LONGEST or not schemas:
        return None
    places = spots(thoughts, schemas)
    if not places:
        return None
    start = thoughts.rfind("\n\n", 0, places[0].start) + 1
    leak = _made(thoughts[start:], schemas)
    return leak._replace(form=WITHIN_THOUGHTS, words="") if leak else None


def _made(text: str, schemas: Mapping[str, JsonObject]) -> Leak | None:
    """Return the calls that a text without thoughts makes."""
    places = spots(text, schemas)
    if observation := _OBSERVATION.search(text):
        # Who writes down an observation has made it up, and whatever comes after it.
        places = [place for place in places if place.end <= observation.start()]
    if not places:
        return None
    before = text[: places[0].start]
    behind = text[places[-1].end : observation.start() if observation else len(text)]
    between = [text[one.end : other.start] for one, other in pairwise(places)]
    if _is_quoted(text, places) or _HTML.search(before):
        return None
    if any(_CODE.search(part) or tells(_said(part)) for part in (before, behind, *between)):
        return None
    words, after = _words(before), _words(behind)
    if len(words) > _MOST_WORDS:
        return None
    if words and not (announces(_said(before)) or _MARKED.match(places[0].form)):
        return None
    if (words or after) and any(is_sketch(call) for place in places for call in place.calls):
        return None
    form = places[0].form
    if form == "bare JSON" and (words or after):
        form = "JSON among words"
    calls = tuple(call for place in places for call in place.calls)
    return Leak(calls, form, _WRAPPING_AT_END.sub("", before).strip() if words else "")


def _is_quoted(text: str, places: list[Spot]) -> bool:
    """Return whether calls stand within lines of something else, or within code."""
    for number, place in enumerate(places):
        begin = places[number - 1].end if number else 0
        whole = text.rfind("\n", 0, place.start) + 1
        line = text[max(whole, begin) : place.start]
        previous = text[begin : max(whole - 1, begin)].rpartition("\n")[2]
        ahead = line if line.strip() else previous
        if _QUOTING.match(text[whole : place.start]) or (_words(ahead) and _OPEN_LINE.search(ahead)):
            return True
        if line.count("`") % 3 and _words(line):
            return True
        has_mark = _MARK_AT_END.search(line) or FENCE.search(line)
        if _words(line) and not has_mark and not _LABEL.match(line.strip()):
            return True
        if _GOING_ON.match(text[place.end : place.end + 200].partition("\n")[0]):
            return True
    return any(_is_program(text, places, fence) for fence in _fences(text))


def _said(text: str) -> str:
    """Return a text beside calls without marks and fences, in its lines and sentences."""
    return _MARKS.sub(" ", text).strip("{}[](),; \n\t`")


def _fences(text: str) -> list[tuple[int, int]]:
    """Return where the contents of code fences begin and end."""
    marks = [match.start() for match in re.finditer("```", text)]
    ends = [*marks[1::2], *[len(text)] * (len(marks) % 2)]
    opened = [_FENCES.match(text, start) for start in marks[::2]]
    starts = [mark.end() if mark else start + 3 for mark, start in zip(opened, marks[::2], strict=True)]
    return list(zip(starts, ends, strict=True))


def _is_program(text: str, places: list[Spot], fence: tuple[int, int]) -> bool:
    """Return whether a fence has calls among other code; what its comments say counts as words."""
    start, end = fence
    inside = [place for place in places if start <= place.start < end or place.start < start < place.end]
    if not inside:
        return False
    rest, at = "", start
    for place in inside:
        rest, at = f"{rest}\n{text[at : place.start]}", max(at, place.end)
    rest += text[at:end]
    if inside[0].form == "Action:":
        return False
    comments = " ".join(_COMMENT.findall(rest))
    left = _words(_COMMENT.sub("\n", rest))
    return tells(comments) or (bool(left) and not announces(left))


def broken(text: str, schemas: Mapping[str, JsonObject]) -> str:
    """Return what a text begins with that begins like a call and is none; empty if it begins like words."""
    if beginning := _BEGINNING.match(text[:1000]):
        return beginning["mark"][:40]
    if not (opening := _JSON_BEGINNING.match(text[:1000])):
        return ""
    try:  # the first object that has names: braces around it are a template's mistake
        value, _ = read_json_at(text, text.rindex("{", 0, opening.end()))
    except JsonError:
        names = any(f'"{name}"' in text for name in schemas)
        return "JSON" if names or _TWO_KEYS.search(text[:LONGEST]) else ""
    written = call_in(value) if isinstance(value, dict) else None
    if written is None:
        return ""
    if not known(written.name, schemas):
        return "JSON that names no tool"
    return "JSON" if isinstance(written.arguments, dict) else "JSON whose arguments are no object"


def _words(text: str) -> str:
    """Return the words of a text without what only stands around calls."""
    return " ".join(_WRAPPING.sub(" ", text).split())
