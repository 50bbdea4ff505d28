"""The lesson's tokens are those of a run, and the model is asked for its own answers alone."""

from dataclasses import replace
from pathlib import Path

import pytest
import tiny_gguf

from benchmarks.teach.generate import conversations
from benchmarks.teach.render import DECISION_WEIGHT, REPLY_WEIGHT, SETTINGS, Renderer, messages_of
from rig.core.models import CallMessage, ReplyMessage
from rig.plugins.tooltalk.conversations import Conversation
from rig.plugins.tooltalk.prompt import opening


@pytest.fixture(scope="module")
def renderer(tmp_path_factory: pytest.TempPathFactory) -> Renderer:
    return Renderer(tiny_gguf.write(tmp_path_factory.mktemp("tiny") / "tiny.gguf"))


def test_every_answer_stands_behind_the_prompt_of_its_step(renderer: Renderer) -> None:
    for conversation in conversations(5, 12):
        _check(renderer, conversation)


def test_declarations_are_found_in_the_prefix(renderer: Renderer) -> None:
    conversation = next(conversations(5, 1))
    prefix, lesson = renderer.render(conversation)
    assert lesson.tools == {call.name for call in conversation.ground_truth}
    found = renderer.declarations(prefix)
    assert list(found) == [tool.name for tool in renderer.form.tools]
    for name, places in found.items():
        said = b"".join(renderer.tokenizer.shown(prefix[place]) for place in places).decode()
        assert said.startswith(f"{name}: ")
        assert sum(f"\n{other}: " in f"\n{said}" for other in found) == 1
    rest = set(range(len(prefix))).difference(*found.values())
    assert b"Tools:" in b"".join(renderer.tokenizer.shown(prefix[place]) for place in sorted(rest))


def test_the_same_in_a_form_of_a_familys_own(tmp_path: Path) -> None:
    renderer = Renderer(tiny_gguf.write(tmp_path / "tiny.gguf"), form="smollm2")
    said = b""
    for conversation in conversations(5, 6):
        _check(renderer, conversation)
        said += b"".join(map(renderer.tokenizer.shown, renderer.render(conversation)[1].tokens))
    assert b'<tool_call>[{"name": "' in said
    assert b'"reply"' not in said


@pytest.mark.model
def test_the_same_with_the_real_tokenizer(smollm2: Path) -> None:
    renderer = Renderer(smollm2)
    for conversation in conversations(6, 12):
        _check(renderer, conversation)


def _check(renderer: Renderer, conversation: Conversation) -> None:
    """Each step's prompt, the answer, and what ends it; weights are above 0 on the latter two alone."""
    prefix, lesson = renderer.render(conversation)
    tokens, weights = prefix + lesson.tokens, (0.0,) * len(prefix) + lesson.weights
    messages = tuple(messages_of(conversation))
    request = opening(conversation, SETTINGS)
    asked: dict[int, float] = {}
    for number, message in enumerate(messages):
        if not isinstance(message, CallMessage | ReplyMessage):
            continue
        prompt = renderer.builder.build(replace(request, messages=messages[:number]), renderer.form)
        begin = sum(map(len, prompt))
        assert tokens[:begin] == tuple(token for segment in prompt for token in segment)
        answer = message.call if isinstance(message, CallMessage) else message.text
        said = renderer.tokenizer.content("".join(span.text for span in renderer.form.spans(answer)))
        ends = renderer.tokenizer.template("<|im_end|>")
        assert tokens[begin : begin + len(said) + 1] == (*said, *ends)
        shares = weights[begin : begin + len(said)]
        asked |= {begin + place: share for place, share in enumerate(shares)} | {begin + len(said): 1.0}
        decided = [token for token, share in zip(said, shares, strict=True) if share == DECISION_WEIGHT]
        text = b"".join(map(renderer.tokenizer.shown, decided)).decode()
        if isinstance(message, CallMessage):
            assert message.call.name in text
            assert set(shares) == {DECISION_WEIGHT, 1.0}
        else:
            assert (len(text) < 8) == (set(shares) == {DECISION_WEIGHT, REPLY_WEIGHT})
    assert {at: weight for at, weight in enumerate(weights) if weight} == asked
    assert len(tokens) == begin + len(said) + 1
