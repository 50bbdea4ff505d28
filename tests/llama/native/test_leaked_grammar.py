"""Once words begin a call of a known tool as JSON, the grammar holds its arguments to the schema."""

from collections.abc import Callable

import pytest
from native_known import Writer, known, marks_of

from rig.config.engine import LeakedCalls
from rig.core.models import ToolDoc
from rig.plugins.llama.grammar.llguidance import ObjectEnd

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
TOOLS = (ToolDoc("get_weather", "", PARAMETERS), ToolDoc("log_out", "", {"type": "object", "properties": {}}))
HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def accepted(
    writer: Callable[..., Writer], text: str, name: str = "json in tags", leaked: LeakedCalls = "lenient"
) -> int | None:
    """The place in a text at which its next token is refused; None if all of it may be an answer."""
    template = known(name)
    tokenizer, [grammar] = writer("bpe", marks_of(template.native))
    constraint = grammar.start(template.form(TOOLS, grammar="json", leaked=leaked).language())
    place = 0
    for token in tokenizer.content(text, special=True):
        if not constraint.allowed()[token]:
            return place
        constraint.accept(token)
        place += len(tokenizer.shown(token, frozenset(tokenizer.specials.values())))
    return None if constraint.allowed()[list(tokenizer.end_of_generation)].any() else place


@pytest.mark.parametrize(
    "text",
    [
        "Good morning.",
        '```\n{\n  "name": "get_weather",\n  "arguments": {\n    "city": "A",\n    "days": 2\n  }\n}\n```',
        '{"name": "get_weather", "parameters": {"city":"Oslo"}}',
        '{{"name": "get_weather", "arguments": {"city": "Oslo"}}}',
        '{"name": "get_weather", "arguments": {"city": "}{"}} and {"name": "log_out", "arguments": {}}',
        '{"name": "Paul", "arguments": {"age": 3}}',
        '{"name": "get_weather", "description": "What is it like?"}',
        'As in {"a": [1, 2], "name": 3}: fine.',
        HERMES,
        f"I look.\n{HERMES}",
    ],
)
def test_words_code_and_calls_that_fit_are_free(writer: Callable[..., Writer], text: str) -> None:
    assert accepted(writer, text) is None


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"name": "get_weather", "arguments": {"town": "Oslo"}}', "town"),
        ('{"name": "get_weather", "arguments": {"city": 7}}', "7"),
        ('{"name": "get_weather", "arguments": {"days": 2}}', "days"),
        ('```json\n{"name": "log_out", "arguments": {"now": true}}\n```', "now"),
        ('{"name": "log_out", "arguments": {}} {"name": "get_weather", "arguments": {"city": null}}', "null"),
        ('{"name": "get_weather", "arguments": "Oslo"}', '"Oslo'),
    ],
)
def test_arguments_that_no_tool_accepts_cannot_be_written(
    writer: Callable[..., Writer], text: str, wrong: str
) -> None:
    place = accepted(writer, text)
    assert place is not None
    assert place <= text.index(wrong) + len(wrong)
    assert accepted(writer, text, leaked="strict") is None, "a strict reader takes it for words"


def test_thoughts_about_calls_are_free(writer: Callable[..., Writer]) -> None:
    thought = (
        '<think>I might write {"name": "get_weather", "arguments": {"town": 1}}.</think>\n\nGood morning.'
    )
    assert accepted(writer, thought, "thinking") is None


def test_the_end_of_an_object_is_seen_piece_by_piece() -> None:
    text = b'{"a": "}\\"}", "b": [{}, "\\\\"], "c": {}} and more'
    for size in (1, 2, 5):
        end, taken = ObjectEnd(), 0
        while not end.take(text[taken : taken + size]):
            taken += size
        assert taken <= text.index(b" and") - 1 < taken + size
