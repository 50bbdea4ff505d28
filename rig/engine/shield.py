"""Keep special tokens that are spelled in declarations and calls from becoming the template's own.

Templates look into declarations and calls, so these cannot be inserted afterwards, as messages' contents are.
Instead, every special token that is spelled in one of their strings is put between two marks, and tokenized
as text afterwards, as transformers does it (`sanitize_control_tokens`).
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from rig.calls import Json
from rig.engine.template import ChatMessage, ToolCall
from rig.engine.tokenizer import Tokenizer

_START, _END = "\ue0f0", "\ue0f1"
"""Of Unicode's private use area; a template that escapes what is not ASCII escapes them too."""
_MARKS = re.compile(f"[{_START}{_END}]")
_MARKED = re.compile(
    rf"(?:{_START}|{re.escape(ascii(_START)[1:-1])})(.*?)(?:{_END}|{re.escape(ascii(_END)[1:-1])})", re.DOTALL
)


class Shield:
    """Marks special tokens in values, and tokenises what a template made of them."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    @cached_property
    def _special(self) -> re.Pattern[str]:
        longest_first = sorted(self._tokenizer.specials, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    def message(self, message: ChatMessage) -> ChatMessage:
        """A message whose calls, thoughts and names are shielded; its content has no need."""
        if not (message.calls or message.name or all(message.thoughts)):
            return message
        calls = tuple(ToolCall(call.id, *self.value([call.name, call.arguments])) for call in message.calls)
        thoughts = message.thoughts[0], self.value(message.thoughts[1])
        shielded = replace(message, calls=calls, name=self.value(message.name), thoughts=thoughts)
        return shielded.spelled()

    def value(self, value: Json) -> Json:
        """A JSON value, every string in it shielded."""
        if isinstance(value, str):
            return self._special.sub(rf"{_START}\g<0>{_END}", _MARKS.sub("", value))
        if isinstance(value, Mapping):
            return {self.value(key): self.value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value

    def tokens(self, text: str) -> list[int]:
        """The tokens of text from a template. A mark without its fellow parts what it stands between."""
        tokens: list[int] = []
        for number, piece in enumerate(_MARKED.split(text)):
            if number % 2:
                tokens += self._tokenizer.content(_MARKS.sub("", piece))
            else:
                for part in _MARKS.split(piece):
                    tokens += self._tokenizer.template(part)
        return tokens
