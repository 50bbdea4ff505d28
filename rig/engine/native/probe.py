"""Render chosen messages with a chat template."""

import re
from collections.abc import Mapping, Sequence

from rig.calls import Json, JsonObject
from rig.engine.grammar.language import JSON
from rig.engine.native.shape import ID
from rig.engine.templates.template import ChatTemplate, TemplateError

FIRST, SECOND = "probe_alpha_fn", "probe_bravo_fn"
QUESTION = "quokka77"
ANSWER = "wombat88"
THOUGHT = "numbat99"
SYSTEM = "bandicoot55"
MARKER = re.compile(r"<[^<>\n]{1,60}>|\[/?[A-Z_]{3,40}\]")
"""What looks like a special token, or a tag."""
_IDS = ("k7Jq2Lx9A", "m4Rt8Vz1B")
_ENDS = (
    *("<|eom_id|>", "<|eot_id|>", "<|eom|>", "<|eot|>", "<|call|>", "<|return|>"),
    *("<|im_end|>", "<|end_of_text|>", "</s>"),
)
"""Ends of messages that differ from those of words in some families."""


def declaration(name: str) -> JsonObject:
    """A tool as templates are shown it, in OpenAI's shape."""
    properties: JsonObject = {
        "kappa": {"type": "string", "description": "The first."},
        "omega": {"type": "integer", "description": "The second."},
    }
    parameters = {"type": "object", "properties": properties, "required": ["kappa"]}
    function = {"name": name, "description": f"Does what {name} does.", "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = (declaration(FIRST), declaration(SECOND))


class Probe:
    """Renders, and cuts out the wanted part. `fault` is the last reason why a template refused.

    `thoughts_close` is how thoughts end, once that is known.
    """

    def __init__(self, template: ChatTemplate, *, as_text: bool = False, ids: str = "nine") -> None:
        self.template = template
        self.as_text = as_text
        self.ids = ids
        self.fault = ""
        self.thoughts_close = ""
        self.prompt = self.after_question([], generation=True) or ""
        self.words = self._words()
        last = self.after_question([_words()]) or ""
        self.ends = [
            template.eos,
            *_ENDS,
            *(MARKER.findall(self.words[1])),
            last.partition(ANSWER)[2].strip(),
        ]

    def after_question(
        self,
        messages: Sequence[JsonObject],
        *,
        generation: bool = False,
        tools: Sequence[JsonObject] = TOOLS,
        variables: Mapping[str, Json] | None = None,
    ) -> str | None:
        """What the template makes of these messages after a question; None if it refuses or hides it."""
        question = {"role": "user", "content": QUESTION}
        try:
            text = self.template.expand(
                [question, *messages], tools, generation=generation, variables=variables or {}
            )
        except TemplateError as error:
            self.fault = str(error)
            return None
        _, question_there, rest = text.rpartition(QUESTION)
        return rest if question_there else None

    def call(self, name: str, arguments: JsonObject) -> str | None:
        """One call; None if the template refuses it, or shows no call of that name."""
        return self.calls((name, arguments))

    def calls(self, *calls: tuple[str, JsonObject], following: Sequence[JsonObject] = ()) -> str | None:
        """Calls of one message, and what else follows on it."""
        text = self.after_question([self.message(*calls), *following])
        if text is None or calls[0][0] not in text:
            return None
        text = without_thoughts(self._without_header(text), self.thoughts_close)
        for number, (name, _) in enumerate(calls):
            text = text.replace(self.id_of(name, number), ID) if self.ids == "nine" else text
        return text

    def message(self, *calls: tuple[str, JsonObject]) -> JsonObject:
        """An assistant's message with these calls."""
        return {
            "role": "assistant",
            "content": "",
            "tool_calls": [self._made(*numbered) for numbered in enumerate(calls)],
        }

    def _made(self, number: int, call: tuple[str, JsonObject]) -> JsonObject:
        name, arguments = call
        function = {"name": name, "arguments": JSON.write(arguments) if self.as_text else arguments}
        return {"id": self.id_of(name, number), "type": "function", "function": function}

    def id_of(self, name: str, number: int) -> str:
        """The id of a call."""
        return _IDS[number] if self.ids == "nine" else f"functions.{name}:{number}"

    def _words(self) -> tuple[str, str]:
        """What stands before an answer in words, where a call's message begins too, and after it."""
        user = {"role": "user", "content": SYSTEM}
        question = {"role": "user", "content": QUESTION}
        try:
            text = self.template.expand([question, _words(), user], TOOLS, variables={})
        except TemplateError:
            return "", ""
        before, _, after = text.partition(ANSWER)
        return self._without_header(before.rpartition(QUESTION)[2]), after.partition(SYSTEM)[0]

    def _without_header(self, text: str) -> str:
        """What follows on the prompt for an answer, as far as a call's message begins like it."""
        return text[max(common_length(text, self.prompt), self.header(text)) :]

    def header(self, text: str) -> int:
        """How many characters of a text are what prompts for an answer end with, where marks are in it."""
        most = min(len(text), len(self.prompt))
        length = next((n for n in range(most, 0, -1) if self.prompt.endswith(text[:n])), 0)
        return length if MARKER.search(text[:length]) else 0


def common_length(one: str, other: str) -> int:
    """How many characters two texts begin alike, so that the first is cut within no tag."""
    pairs = zip(one, other, strict=False)
    length = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    opened = one.rfind("<", 0, length)
    return opened if opened >= 0 and ">" not in one[opened:length] else length


def _words() -> JsonObject:
    return {"role": "assistant", "content": ANSWER}


_THOUGHTS = ("</think>", "[/THINK]", "<|END_THINKING|>", "</seed:think>", "<channel|>", "</think:opensource>")


def without_thoughts(text: str, close: str = "") -> str:
    """What comes after empty thoughts, where a message begins with them. `close` is a mark of their end."""
    for mark in (*_THOUGHTS, *filter(None, [close])):
        before, is_closed, rest = text.partition(mark)
        if is_closed and FIRST not in before and SECOND not in before:
            return rest
    return text
