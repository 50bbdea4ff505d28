"""The prompts of a benchmark as a file that anybody can run elsewhere, and such files read back.

One JSON object a line:

- `format`: "rig-bench-1".
- `id`: the conversation, the position of the assistant turn, and the step within it.
- `prompt`: the text. A client that tokenises it with special tokens recognised gets `tokens` again, or very
  nearly: rig tokenises message by message. A beginning-of-text token that the tokenizer adds by itself is in
  `tokens` and not in `prompt`.
- `tokens`: lists of token ids, one for each part that is prefilled by itself; the prompt is their sum.
- `schema`: the JSON Schema (2020-12) that the answer must satisfy.
- `separators`: what rig's grammar writes between items and after keys. Other whitespace is valid too.
- `max_tokens`: after so many tokens an answer is cut off.

Of a file made by others `schema` and one of `prompt` and `tokens` (ids, or lists of ids) are enough.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rig.core.calls import JsonObject
from rig.core.errors import RigError

FORMAT = "rig-bench-1"
DEFAULT_MAX_TOKENS = 64

Segments: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """One prompt. `segments` is empty if a file gave only the text."""

    id: str
    text: str | None
    segments: Segments
    schema: JsonObject
    max_tokens: int
    separators: tuple[str, str] | None = None

    @property
    def tokens(self) -> list[int]:
        """All token ids in order."""
        return [token for segment in self.segments for token in segment]

    def as_json(self) -> JsonObject:
        """A line of the file."""
        return {
            "format": FORMAT,
            "id": self.id,
            "prompt": self.text,
            "tokens": [list(segment) for segment in self.segments],
            "schema": self.schema,
            "separators": list(self.separators) if self.separators else None,
            "max_tokens": self.max_tokens,
        }


def write(path: Path, prompts: Iterable[BenchPrompt]) -> None:
    """Write a file of prompts, whole or not at all. Raises RigError."""
    partial = path.with_name(f".{path.name}.part")
    try:
        with partial.open("w", encoding="utf-8") as file:
            for prompt in prompts:
                file.write(json.dumps(prompt.as_json(), ensure_ascii=False) + "\n")
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RigError(f"{path}: cannot be written: {error.strerror}") from error


def read(path: Path, *, max_tokens: int | None = None) -> list[BenchPrompt]:
    """Read a file of prompts. `max_tokens` replaces what the file says.

    Raises RigError, with the line's number, for whatever is not as described above.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise RigError(f"{path}: cannot be read: {error}") from error
    prompts = [
        _parse(line, f"{path}, line {number}", number, max_tokens)
        for number, line in enumerate(lines, start=1)
        if line.strip()
    ]
    if not prompts:
        raise RigError(f"{path}: holds no prompts; `rig bench MODEL --export FILE` writes some")
    seen: set[str] = set()
    for prompt in prompts:
        if prompt.id in seen:
            raise RigError(f"{path}: two prompts have the id {prompt.id!r}")
        seen.add(prompt.id)
    return prompts


def _parse(line: str, where: str, number: int, max_tokens: int | None) -> BenchPrompt:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RigError(f"{where}: not JSON: {error}") from error
    if not isinstance(data, dict):
        raise RigError(f"{where}: not a JSON object")
    form = data.get("format", FORMAT)
    if form != FORMAT:
        raise RigError(f"{where}: the format is {form!r}; this rig reads {FORMAT!r}")
    text, schema = data.get("prompt"), data.get("schema")
    if text is not None and not isinstance(text, str):
        raise RigError(f"{where}: `prompt` must be a string")
    if not isinstance(schema, dict):
        raise RigError(f"{where}: `schema` must be a JSON Schema as an object")
    segments = _segments(data.get("tokens"), where)
    if not segments and not text:
        raise RigError(f"{where}: has neither `prompt` nor `tokens`")
    budget = data.get("max_tokens", DEFAULT_MAX_TOKENS) if max_tokens is None else max_tokens
    if not _is_count(budget) or budget < 1:
        raise RigError(f"{where}: `max_tokens` must be a whole number from 1 on")
    return BenchPrompt(
        id=str(data.get("id", number)),
        text=text,
        segments=segments,
        schema=schema,
        max_tokens=budget,
        separators=_separators(data.get("separators"), where),
    )


def _segments(given: Any, where: str) -> Segments:
    if given is None:
        return ()
    fault = RigError(f"{where}: `tokens` must be a list of token ids, or of such lists")
    if not isinstance(given, list):
        raise fault
    lists = given if all(isinstance(part, list) for part in given) else [given]
    if not all(_is_count(token) for part in lists for token in part):
        raise fault
    return tuple(tuple(part) for part in lists if part)


def _separators(given: Any, where: str) -> tuple[str, str] | None:
    if given is None:
        return None
    if isinstance(given, list) and len(given) == 2 and all(isinstance(part, str) for part in given):
        return given[0], given[1]
    raise RigError(f"{where}: `separators` must be two strings")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
