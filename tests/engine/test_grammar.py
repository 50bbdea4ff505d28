import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.engine.grammar import ConstraintError, GrammarEngine
from rig.engine.llama import LlamaModel
from rig.engine.tokenizer import Tokenizer


class Lab:
    """A tokenizer and a grammar engine over it, to ask whether a text is in a grammar's language."""

    def __init__(self, path: Path) -> None:
        self.model = LlamaModel(path)
        self.tokenizer = Tokenizer(self.model)
        self.engine = GrammarEngine(self.model, self.tokenizer)

    def accepts(self, schema: dict[str, Any], text: str) -> bool:
        constraint = self.engine.start(schema)
        for token in self.tokenizer.content(text):
            if not constraint.allowed()[token]:
                return False
            constraint.accept(token)
        return constraint.complete


@pytest.fixture(scope="module", params=["bpe", "spm"])
def lab(request: pytest.FixtureRequest, tiny_path: Callable[..., Path]) -> Iterator[Lab]:
    lab = Lab(tiny_path(tokenizer=request.param))
    yield lab
    lab.model.close()


def call(arguments: dict[str, Any], required: list[str]) -> dict[str, Any]:
    inner = {
        "type": "object",
        "properties": arguments,
        "required": required,
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"tool": {"const": "T"}, "arguments": inner},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


STRING = {"type": "string"}
TABLE = [
    (call({"a": STRING}, ["a"]), '{"tool": "T", "arguments": {"a": "x"}}', True),
    (call({"a": STRING}, ["a"]), '{"tool": "T", "arguments": {"a": "😀 语 नमस्ते"}}', True),
    (call({"a": STRING}, ["a"]), '{"tool": "T", "arguments": {"a": "\\" \\\\ \\u0001 \\n"}}', True),
    (
        call({"a": STRING}, ["a"]),
        '{"tool": "T", "arguments": {"a": "\\u00e9"}}',
        False,
    ),  # é is written as such
    (call({"a": STRING}, ["a"]), '{"tool": "T", "arguments": {"a": "\\ud83d"}}', False),
    (call({"a": STRING}, ["a"]), '{"tool": "T", "arguments": {"a": "line\nbreak"}}', False),
    (call({"a": STRING}, ["a"]), '{"tool": "T", "arguments": {"a": 1}}', False),
    (call({"a": STRING}, ["a"]), '{"tool": "T", "arguments": {}}', False),
    (call({"a": STRING}, ["a"]), '{"tool": "T", "arguments": {"a": "x", "b": "y"}}', False),
    (call({"a": STRING}, ["a"]), '{"tool":"T","arguments":{"a":"x"}}', False),
    (call({"a": STRING}, ["a"]), '{"tool": "T",  "arguments": {"a": "x"}}', False),
    (call({"a": STRING}, ["a"]), '{"tool": "U", "arguments": {"a": "x"}}', False),
    (call({"a": STRING, "b": STRING}, ["a"]), '{"tool": "T", "arguments": {"a": "x", "b": "y"}}', True),
    (call({"a": STRING, "b": STRING}, ["b"]), '{"tool": "T", "arguments": {"b": "y"}}', True),
    (call({"a": STRING, "b": STRING}, []), '{"tool": "T", "arguments": {}}', True),
    (call({}, []), '{"tool": "T", "arguments": {}}', True),
    (call({}, []), '{"tool": "T", "arguments": {"a": "x"}}', False),
    (call({"e": {"enum": ["any", "all"]}}, ["e"]), '{"tool": "T", "arguments": {"e": "any"}}', True),
    (call({"e": {"enum": ["any", "all"]}}, ["e"]), '{"tool": "T", "arguments": {"e": "Any"}}', False),
    (call({"l": {"type": "array", "items": STRING}}, ["l"]), '{"tool": "T", "arguments": {"l": []}}', True),
    (
        call({"l": {"type": "array", "items": STRING}}, ["l"]),
        '{"tool": "T", "arguments": {"l": ["a", "b"]}}',
        True,
    ),
    (
        call({"l": {"type": "array", "items": STRING}}, ["l"]),
        '{"tool": "T", "arguments": {"l": ["a", 1]}}',
        False,
    ),
    (call({"e": {"enum": [f"option {n}" for n in range(500)]}}, ["e"]), None, True),
]


@pytest.mark.parametrize(("schema", "text", "accepted"), TABLE)
def test_accepts_and_refuses(lab: Lab, schema: dict[str, Any], text: str | None, accepted: bool) -> None:
    text = text or '{"tool": "T", "arguments": {"e": "option 499"}}'
    assert lab.accepts(schema, text) is accepted


@settings(deadline=None, max_examples=50)
@given(words=st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_any_unicode_text_can_be_said(lab: Lab, words: str) -> None:
    text = json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")
    assert lab.accepts(STRING, text)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_random_walks_end_in_valid_json(lab: Lab, seed: int) -> None:
    schema = call({"e": {"enum": ["any", "all"]}, "l": {"type": "array", "items": STRING}}, ["e"])
    random = np.random.default_rng(seed)
    constraint = lab.engine.start(schema)
    tokens: list[int] = []
    for _ in range(400):
        tokens += constraint.forced()
        if constraint.complete:
            break
        allowed = constraint.allowed()
        quotes = [t for t in np.flatnonzero(allowed) if b'"' in lab.tokenizer.piece(int(t))]
        token = int(random.choice(quotes if quotes and random.random() < 0.3 else np.flatnonzero(allowed)))
        constraint.accept(token)
        tokens.append(token)
    if constraint.complete:
        value = json.loads(b"".join(map(lab.tokenizer.piece, tokens)))
        assert value["tool"] == "T"
        assert value["arguments"]["e"] in ("any", "all")


def test_forced_tokens_are_the_only_ones_possible(lab: Lab) -> None:
    constraint = lab.engine.start(call({}, []))
    free = lab.engine.start(call({}, []))
    for token in constraint.forced():
        assert free.allowed()[token]
        free.accept(token)
    assert constraint.complete == free.complete


def test_control_tokens_are_never_text(lab: Lab) -> None:
    constraint = lab.engine.start(call({"a": STRING}, ["a"]))
    for token in lab.tokenizer.content('{"tool": "T", "arguments": {"a": "'):
        constraint.accept(token)
    allowed = constraint.allowed()
    control = [token for token in range(lab.tokenizer.n_vocab) if not lab.tokenizer.piece(token)]
    assert control
    assert not allowed[control].any()


def test_a_grammar_ends_by_itself(lab: Lab) -> None:
    ends = list(lab.tokenizer.end_of_generation)
    constraint = lab.engine.start({"type": "integer"})
    for token in lab.tokenizer.content("12"):
        assert not constraint.allowed()[ends].any()
        constraint.accept(token)
    assert not constraint.allowed()[ends].any()
    assert constraint.allowed().any()


def test_a_grammar_that_cannot_be_compiled_raises(lab: Lab) -> None:
    with pytest.raises(ConstraintError):
        lab.engine.start({"type": "string", "pattern": "(?<=a)b"})


def test_a_refused_token_raises_and_so_does_everything_after(lab: Lab) -> None:
    constraint = lab.engine.start(call({}, []))
    with pytest.raises(ConstraintError):
        constraint.accept(lab.tokenizer.content("x")[0])
    with pytest.raises(ConstraintError):
        constraint.allowed()


def test_generations_do_not_share_their_state(lab: Lab) -> None:
    schema = call({}, [])
    lab.engine.start(schema).forced()
    assert lab.engine.start(schema).forced() == lab.engine.start(schema).forced()
