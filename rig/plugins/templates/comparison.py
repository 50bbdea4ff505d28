"""What two templates, or two engines for one, make of the same conversations."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from difflib import unified_diff
from typing import NamedTuple

from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.plugins.llama.core.template import ChatTemplate, TemplateError, probing
from rig.plugins.llama.formats.detection import Native, Unsupported, native_of
from rig.plugins.llama.formats.probe import find_variables
from rig.plugins.llama.grammar.language import NestedTags, Spelling, Tags
from rig.plugins.templates.talks import TALKS, TemplateTalk


class Prompt(NamedTuple):
    """The prompt of a conversation, or why there is none."""

    text: str
    refusal: str = ""

    @property
    def lines(self) -> list[str]:
        """The prompt's lines; a refusal is one."""
        return [f"(refused: {self.refusal})"] if self.refusal else self.text.split("\n")

    def missing(self, talk: TemplateTalk) -> list[str]:
        """Return the parts of a conversation that its prompt does not show."""
        if self.refusal:
            return []
        parts = [
            (part, all(piece in self.text or _escaped(piece) in self.text for piece in text.split("|")))
            for part, text in talk.parts
        ]
        return list(dict.fromkeys(part for part, is_shown in parts if not is_shown))


def _escaped(text: str) -> str:
    return text.replace('"', '\\"')


_OF_JSON = '{}"\\'
Render = Callable[[TemplateTalk], Prompt]


def by_jinja(template: ChatTemplate, given: JsonObject | None = None, now: datetime | None = None) -> Render:
    """Return what renders with Jinja2, as rig does: arguments as objects, as text where that is refused.

    `given` are variables that a conversation's own replace, `now` is the date for templates that write one.
    """

    def render(talk: TemplateTalk) -> Prompt:
        refusal = ""
        for tried in (talk, talk.with_texts()):
            try:
                variables = {**(given or {}), **tried.variables}
                text = template.expand(
                    tried.messages, tried.tools, generation=True, variables=variables, now=now
                )
                return Prompt(text)
            except TemplateError as error:
                refusal = refusal or str(error)
        return Prompt("", " ".join(refusal.split())[:200])

    return render


def prompts(render: Render) -> dict[str, Prompt]:
    """Return the prompts of all conversations by name."""
    return {talk.name: render(talk) for talk in TALKS}


class PromptDifference(NamedTuple):
    """A conversation whose two prompts differ: the lines of a diff, and what only one of them lacks."""

    talk: str
    diff: tuple[str, ...]
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        """Return the fields by name."""
        return {
            "conversation": self.talk,
            "shown_by_first_alone": list(self.only_first),
            "shown_by_second_alone": list(self.only_second),
            "diff": list(self.diff),
        }


def differences(first: Mapping[str, Prompt], second: Mapping[str, Prompt]) -> list[PromptDifference]:
    """Return the conversations whose prompts differ."""
    result = []
    for talk in TALKS:
        one, other = first[talk.name], second[talk.name]
        if one.lines == other.lines:
            continue
        lines = tuple(unified_diff(one.lines, other.lines, lineterm="", n=1))[2:]
        missing, lacking = one.missing(talk), other.missing(talk)
        both = not (one.refusal or other.refusal)
        result.append(
            PromptDifference(
                talk.name,
                lines,
                tuple(part for part in lacking if part not in missing) if both else (),
                tuple(part for part in missing if part not in lacking) if both else (),
            )
        )
    return result


@probing()
def facts(template: ChatTemplate, found: Mapping[str, Prompt]) -> dict[str, str]:
    """Return what a template means for tools, in a few words for each question."""
    try:
        native: Native | None = native_of(template)
        fault = ""
    except (Unsupported, RigError) as error:
        native, fault = None, str(error)
    return {
        **_of_form(native, fault),
        "tools without a system message": _treated(found["tools"], "the first", "The weather today."),
        "a result": _role(found["a call"], "a result"),
        "a system message": _treated(found["a system message"], "a system's message", "Instructed:"),
        "a developer's message": _treated(
            found["a developer's message"], "a developer's message", "Developed:"
        ),
        "a later system message": _treated(found["a later system message"], "it", "Later:"),
        "words beside calls": _treated(found["a call with words"], "words", "Announced:"),
        "two calls at once": _treated(found["two calls at once"], "the second call", "Rome"),
        "content in parts": _treated(found["content in parts"], "its text", "Asked:"),
        "without a system message": _added(found["a question"]),
        "an answer begins": _end(found["tools"]),
        "with thinking off": _end(found["thinking off"]),
        "variables": ", ".join(sorted(variable.name for variable in find_variables(template))) or "none",
        "rig changes": "; ".join(template.adaptations) or "nothing",
    }


_KEPT = {"never": "dropped", "always": "kept"}


def _of_form(native: Native | None, fault: str) -> dict[str, str]:
    if native is None:
        return {"tools": "not listed", "a call": fault}
    shape, thinking = native.shape, native.thinking
    form_text = repr(f"{shape.open}NAME{shape.after_name}…{shape.close}")
    how = "" if native.shows_calls else f"not shown; rig writes them as {native.family} does: "
    return {
        "tools": f"listed, {native.tools_in}" if native.tools_in else "not listed",
        "a call": how + re.sub("[\ue0f0-\ue0f6]", "#", form_text),
        "arguments": _arguments(native),
        "several calls": f"yes, with {shape.between!r} between them" if shape.between else "one a message",
        "thoughts": (
            f"between {thinking.open!r} and {thinking.close!r}; of earlier messages"
            f" {_KEPT.get(thinking.kept, f'kept {thinking.kept}')}"
            if thinking.known
            else "none"
        ),
    }


def _arguments(native: Native) -> str:
    """Return what is particular about the spelling of arguments."""
    style = native.shape.arguments
    spelling = style.spelling if isinstance(style, Tags) else style
    how = "one by one" if isinstance(style, Tags | NestedTags) else "as one value"
    order = f"sorted by name ({native.shape.sorts})" if native.shape.sorts else "in their order"
    ascii_only = isinstance(spelling, Spelling) and spelling.ascii
    return f"{how}, {order}{', all but ASCII escaped' if ascii_only else ''}"


def _treated(prompt: Prompt, what: str, text: str) -> str:
    """Return whether a text of a conversation is shown."""
    if prompt.refusal:
        return f"refused: {prompt.refusal}"
    return f"{what} is shown" if text in prompt.text else f"{what} is dropped"


def _role(prompt: Prompt, what: str) -> str:
    """Return the text before a result, from the mark with which its message begins."""
    before, result, _ = prompt.text.partition("found0")
    if not result:
        return f"refused: {prompt.refusal}" if prompt.refusal else f"{what} is dropped"
    behind = before.rpartition("Oslo")[2].rstrip(_OF_JSON).lstrip(_OF_JSON)[-90:]
    return f"behind {behind!r}"


def _added(prompt: Prompt) -> str:
    before = prompt.text.partition("Asked:")[0]
    return repr(before[-200:])


def _end(prompt: Prompt) -> str:
    """Return the end of a prompt, behind the user's words."""
    if prompt.refusal:
        return f"refused: {prompt.refusal}"
    return repr(prompt.text.rpartition("Oslo?")[2][-120:])


def grouped(found: Sequence[PromptDifference]) -> list[tuple[PromptDifference, list[str]]]:
    """Return differences without repeats: each with the names of the conversations that show the same."""
    groups: dict[tuple[str, ...], tuple[PromptDifference, list[str]]] = {}
    for difference in found:
        changed = tuple(line for line in difference.diff if line[:1] in "+-")
        groups.setdefault(changed, (difference, []))[1].append(difference.talk)
    return list(groups.values())


def meaning(
    first: ChatTemplate, texts: Mapping[str, Prompt], second: ChatTemplate, others: Mapping[str, Prompt]
) -> dict[str, tuple[str, str]]:
    """Return what two templates mean for tools where that differs, by question."""
    one, other = facts(first, texts), facts(second, others)
    pairs = {name: (one.get(name, "—"), other.get(name, "—")) for name in {**one, **other}}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
