import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.grammar import make_grammar
from rig.plugins.llama.grammar.language import Constraint, ConstraintError, Language
from rig.plugins.llama.grammar.schema import narrow


class Lab:
    """A tokenizer and a grammar over it, to ask whether a text is in a grammar's language."""

    def __init__(self, path: Path) -> None:
        self.model = LlamaModel(path)
        self.tokenizer = Tokenizer(self.model)
        self.grammar = make_grammar(self.model, self.tokenizer, EngineSettings())

    def start(self, schema: dict[str, Any]) -> Constraint:
        whole = narrow({"type": "object", "properties": {"x": schema}}, "T", formats=True)
        return self.grammar.start(Language(whole["properties"]["x"]))

    def accepts(self, schema: dict[str, Any], text: str) -> bool:
        constraint = self.start(schema)
        for token in self.tokenizer.content(text):
            if not constraint.allowed()[token]:
                return False
            constraint.accept(token)
        return constraint.complete


@pytest.fixture(scope="module", params=["bpe", "merged", "spm"])
def lab(request: pytest.FixtureRequest, tiny_path: Callable[..., Path]) -> Iterator[Lab]:
    lab = Lab(tiny_path(tokenizer=request.param))
    yield lab
    lab.model.close()


def call(arguments: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return _object({"tool": {"const": "T"}, "arguments": _object(arguments, required)}, ["tool", "arguments"])


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


STRING = {"type": "string"}
TABLE: list[tuple[dict[str, Any], str | None, bool]] = [
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
    *(
        (call({"n": {"type": "integer"}}, ["n"]), f'{{"tool": "T", "arguments": {{"n": {text}}}}}', fits)
        for text, fits in (
            ("0", True),
            ("-0", True),
            ("-17", True),
            ("1000000000000000", True),
            ("1000000000000001", True),
            ("007", False),
            ("+1", False),
            ("1.0", False),
            ("1e3", False),
            ('"1"', False),
            ("1" * 5000, False),
        )
    ),
    *(
        (call({"n": {"type": "number"}}, ["n"]), f'{{"tool": "T", "arguments": {{"n": {text}}}}}', fits)
        for text, fits in (
            ("0", True),
            ("-0.5", True),
            ("2.50", True),
            ("1000000000000000.0", True),
            ("1000000000000000.5", True),
            ("-0.50", True),
            (".5", False),
            ("5.", False),
            ("1e999", False),
            ("NaN", False),
            ("-0.0", True),
            ("9" * 400, False),
        )
    ),
    *(
        (
            call({"n": {"type": "integer", "minimum": -9, "exclusiveMaximum": 120}}, ["n"]),
            f'{{"tool": "T", "arguments": {{"n": {text}}}}}',
            fits,
        )
        for text, fits in (
            ("-9", True),
            ("-10", False),
            ("119", True),
            ("120", False),
            ("99", True),
            ("1190", False),
            ("-0", True),
        )
    ),
    *(
        (call({"n": schema}, ["n"]), f'{{"tool": "T", "arguments": {{"n": {text}}}}}', fits)
        for schema, text, fits in (
            ({"type": "number", "minimum": 0, "maximum": 0.15}, "0.1", True),
            ({"type": "number", "minimum": 0, "maximum": 0.15}, "0.150", True),
            ({"type": "number", "minimum": 0, "maximum": 0.15}, "0.151", False),
            ({"type": "number", "minimum": 0, "maximum": 0.15}, "-0", False),
            ({"type": "number", "exclusiveMinimum": 0}, "0.0", False),
            ({"type": "number", "exclusiveMinimum": 0}, "0.001", True),
            ({"anyOf": [{"type": "integer"}, {"type": "number"}, STRING]}, "12", True),
            ({"anyOf": [{"type": "integer"}, {"type": "number"}, STRING]}, "12.5", True),
            ({"type": "array", "items": {"type": "number"}}, "[]", True),
            ({"type": "array", "items": {"type": "number"}}, "[1, 2.5]", True),
            ({"type": ["string", "null"]}, "null", True),
            ({"type": ["string", "null"]}, '"x"', True),
            ({"type": ["string", "null"]}, "1", False),
            ({"type": "boolean"}, "true", True),
            ({"type": "boolean"}, "True", False),
            ({"const": 'a"b'}, '"a\\"b"', True),
            ({"const": "\n"}, '"\\n"', True),
            ({"const": "\n"}, '"\\u000A"', True),
            ({"const": "/"}, '"\\/"', False),
            ({"enum": [1, 2.5, None, True]}, "2.5", True),
            ({"enum": [1, 2.5, None, True]}, "2.50", False),
            ({"enum": ["語", "😀"]}, '"😀"', True),
            ({"enum": ["語", "😀"]}, '"\\ud83d\\ude00"', False),
            ({"type": "string", "minLength": 1, "maxLength": 2}, '"😀é"', True),
            ({"type": "string", "minLength": 1, "maxLength": 2}, '"abc"', False),
            ({"type": "string", "minLength": 1, "maxLength": 2}, '""', False),
            ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, "[]", False),
            ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, "[1, 2]", True),
            (
                {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
                "[1, 2, 3]",
                False,
            ),
            ({"type": "array", "items": {"type": "integer"}, "maxItems": 0}, "[]", True),
            ({"type": "array", "items": {"type": "array", "items": STRING}}, '[[], ["a"]]', True),
            (_object({"x": _object({"y": STRING}, ["y"])}, ["x"]), '{"x": {"y": "z"}}', True),
            (_object({"x": _object({"y": STRING}, ["y"])}, ["x"]), '{"x": {}}', False),
            (_object({"x": _object({"y": STRING}, [])}, []), '{"x": {}}', True),
            (_object({'"q"\n': STRING, "\x7f": STRING}, ['"q"\n']), '{"\\"q\\"\\n": "", "\x7f": ""}', True),
            ({"anyOf": [STRING, _object({}, [])]}, "{}", True),
            ({"anyOf": [STRING, _object({}, [])]}, "[]", False),
            ({"type": "string", "x-format": "datetime"}, '"2024-02-29 23:59:59"', True),
            ({"type": "string", "x-format": "datetime"}, '"2023-02-29 23:59:59"', False),
            ({"type": "string", "x-format": "time"}, '"24:00:00"', False),
            ({"type": "string", "x-format": "email"}, '"ann.lee@mail.example"', True),
            ({"type": "string", "x-format": "email"}, '"ann.lee"', False),
            ({"type": "string", "pattern": "^[^,]+$"}, '"a b"', True),
            ({"type": "string", "pattern": "^[^,]+$"}, '"a,b"', False),
            ({"type": "string", "pattern": "^[^,]+$"}, '"a\\nb"', True),
        )
    ),
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
    constraint = lab.start(schema)
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
    constraint = lab.start(call({}, []))
    free = lab.start(call({}, []))
    for token in constraint.forced():
        assert free.allowed()[token]
        free.accept(token)
    assert constraint.complete == free.complete


def test_control_tokens_are_never_text(lab: Lab) -> None:
    constraint = lab.start(call({"a": STRING}, ["a"]))
    for token in lab.tokenizer.content('{"tool": "T", "arguments": {"a": "'):
        constraint.accept(token)
    allowed = constraint.allowed()
    control = [token for token in range(lab.tokenizer.n_vocab) if not lab.tokenizer.piece(token)]
    assert control
    assert not allowed[control].any()


def test_a_grammar_ends_by_itself(lab: Lab) -> None:
    ends = list(lab.tokenizer.end_of_generation)
    assert len(ends) == 2
    constraint = lab.start(call({"n": {"enum": [1, 12, 123]}}, ["n"]))
    for token in lab.tokenizer.content('{"tool": "T", "arguments": {"n": 12}}'):
        assert constraint.allowed().any()
        assert not constraint.allowed()[ends].any()
        assert not constraint.complete
        constraint.accept(token)
    assert constraint.complete
    assert not constraint.allowed().any()


def test_a_refused_token_raises_and_so_does_everything_after(lab: Lab) -> None:
    constraint = lab.start(call({}, []))
    with pytest.raises(ConstraintError):
        constraint.accept(lab.tokenizer.content("x")[0])
    with pytest.raises(ConstraintError):
        constraint.allowed()


def test_generations_do_not_share_their_state(lab: Lab) -> None:
    schema = call({}, [])
    lab.start(schema).forced()
    assert lab.start(schema).forced() == lab.start(schema).forced()


@pytest.mark.parametrize(
    "pattern",
    [r"^(a{0,200}){0,200}$", r"^(([a-z]{1,200}[0-9]{1,200}){1,200}){1,200}$", r"^(a|b)*a(a|b){200}$"],
)
def test_llguidance_takes_a_hostile_pattern_in_a_moment(tiny_path: Callable[..., Path], pattern: str) -> None:
    lab = Lab(tiny_path())
    started = time.process_time()
    lab.start({"type": "string", "pattern": pattern}).allowed()
    assert time.process_time() - started < 10
    lab.model.close()


@pytest.mark.parametrize(
    "pattern", ["^" + "(a|" * 300 + "b" + ")" * 300 + "$", r"^(([0-9]{0,256}x){0,256}y){0,256}$"]
)
def test_a_pattern_that_no_grammar_can_take_leaves_its_parameter_free(
    tiny_path: Callable[..., Path], pattern: str
) -> None:
    """What is written is judged by the tool's schema afterwards."""
    lab = Lab(tiny_path())
    assert lab.accepts({"type": "string", "pattern": pattern}, '"zz"')
    lab.model.close()
