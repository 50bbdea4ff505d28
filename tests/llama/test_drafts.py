"""Drafts: whatever is proposed, the answer is that of an undrafted run."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_gguf
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.calls import Call, Outcome
from rig.core.errors import RigError
from rig.core.models import (
    CallMessage,
    Message,
    Piece,
    Prediction,
    Request,
    Sibling,
    StepKey,
    ToolDoc,
    UserMessage,
)
from rig.plugins.llama.core.assessment import margin
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.decoding.drafting import MOST, NOISE, Copying
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.loading import load

Open = Callable[..., LlamaCppModel]
Ask = Callable[..., Request]
Write = Callable[..., Path]
HISTORY: list[Message] = [
    UserMessage("Set an alarm, the alarm at 12:00:00 and the other at 12:00:00."),
    CallMessage(Call("AddAlarm", {"time": "12:00:00"}), Outcome({"alarm_id": "1"})),
]
"""A turn of which one call is made: what is generated next is behind what was generated before."""


TOOL = ToolDoc(
    "AddAlarm",
    "Sets an alarm.",
    {
        "type": "object",
        "properties": {"time": {"type": "string"}, "label": {"type": "string"}},
        "required": ["time"],
        "additionalProperties": False,
    },
)


def ignore(_piece: Piece) -> None:
    pass


def as_sibling(prediction: Prediction) -> Sibling:
    """The same answer, given with certainty, which tiny models never have."""
    return Sibling(prediction.raw, prediction.token_ids, (0.0,) * len(prediction.token_ids))


def same(one: Prediction, other: Prediction) -> bool:
    """Equal but for the low bits of log-probabilities."""
    return (one.raw, one.error, one.token_ids, one.token_forced, one.reasoning) == (
        other.raw,
        other.error,
        other.token_ids,
        other.token_forced,
        other.reasoning,
    ) and np.allclose(one.logprobs, other.logprobs, atol=0.1)


def requests(ask: Ask) -> list[Request]:
    """Two turns of two steps each, and a third that branches off."""
    words = [UserMessage("hello"), UserMessage("the alarm")]
    return [
        ask(HISTORY[:1]),
        ask(HISTORY, step=1),
        ask(words[:1], turn=3),
        ask([*words], turn=3, step=1),
        ask(HISTORY[:1], turn=5),
    ]


class Hostile:
    """Proposes what it is told, whatever was asked."""

    def __init__(self, drafts: Iterator[Sequence[int]]) -> None:
        self._drafts = drafts

    def propose(self, _answer: Sequence[int], _most: int) -> Sequence[int]:
        return next(self._drafts, ())


def drafted(model: LlamaCppModel, request: Request, drafts: Sequence[Sequence[int]]) -> Prediction:
    """A prediction with these drafts, one after the other."""
    model._drafter.source = lambda *_: Hostile(iter(drafts)).propose  # type: ignore[method-assign]
    return model.predict(request, ignore)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LlamaCppModel, LlamaCppModel]]:
    """The same tiny model without drafts and with them."""
    path = tiny_gguf.write(tmp_path_factory.mktemp("pair") / "tiny.gguf")
    made = [
        load(path, EngineSettings(n_threads=1, max_tokens=40, draft=draft), "tiny", lambda _: None)
        for draft in ("none", "lookup")
    ]
    yield made[0], made[1]
    for model in made:
        model.close()


TOKENS = st.integers(-3, 400) | st.integers(-(2**40), 2**40)


def drafts_near(truth: Sequence[int]) -> st.SearchStrategy[list[int]]:
    """Random tokens, or some of the true answer and then wrong ones, often far too many."""
    begun = st.integers(0, len(truth)).map(lambda at: list(truth[at : at + 12]))
    return st.lists(TOKENS, max_size=2 * MOST) | st.tuples(begun, st.lists(TOKENS, max_size=5)).map(
        lambda parts: parts[0] + parts[1]
    )


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=25)
def test_no_draft_however_wrong_changes_an_answer(
    pair: tuple[LlamaCppModel, LlamaCppModel], data: st.DataObject
) -> None:
    """Drafts are random, or begin as the true answer does and then go wrong, or are far too long."""
    plain, other = pair
    for number, messages in enumerate((HISTORY[:1], HISTORY)):
        key = StepKey("c", 1, number)
        request = Request(key, "Be useful.", (TOOL,), "Oslo", tuple(messages), several_calls=True)
        expected = plain.predict(request, ignore)
        draft = drafts_near(expected.token_ids)
        got = drafted(other, request, data.draw(st.lists(draft, max_size=12)))
        assert same(expected, got)
        assert 0 <= got.usage.accepted_tokens <= got.usage.drafted_tokens


@pytest.mark.parametrize("noise", [0.0, NOISE, inf])
def test_a_sibling_that_says_the_same_is_accepted(
    open_model: Open,
    tiny_path: Write,
    ask: Ask,
    kind: dict[str, Any],
    noise: float,
) -> None:
    """However much is taken for noise: with everything, every answer has the undrafted run's very bits."""
    plain = open_model(tiny_path(**kind), max_tokens=40)
    truths = [plain.predict(request, ignore) for request in requests(ask)]
    model = open_model(tiny_path(**kind), max_tokens=40, draft="sibling")
    for slot in model._ahead:
        slot.noise = noise
    for request, truth in zip(requests(ask), truths, strict=True):
        got = model.predict(_with(request, as_sibling(truth)), ignore)
        assert same(truth, got)
        if noise == inf:
            assert got.logprobs == truth.logprobs
        if kind.get("architecture") == "mamba":
            assert got.usage.drafted_tokens == 0
        elif noise == 0:
            assert got.usage.accepted_tokens == got.usage.drafted_tokens > 0


def _with(request: Request, sibling: Sibling) -> Request:
    return replace(request, sibling=sibling)


def test_a_sibling_of_another_vocabulary_is_read_as_text(
    open_model: Open, tiny_path: Write, ask: Ask
) -> None:
    truth = open_model(tiny_path(), max_tokens=200).predict(ask("hello"), ignore)
    model = open_model(tiny_path(), max_tokens=200, draft="sibling")
    foreign = Sibling(truth.raw, tuple(token + 1 for token in truth.token_ids), truth.logprobs)
    got = model.predict(_with(ask("hello"), foreign), ignore)
    assert same(truth, got)
    assert got.usage.accepted_tokens > 0


def test_siblings_that_are_nonsense_change_nothing(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    truth = open_model(tiny_path(), max_tokens=30).predict(ask("hello"), ignore)
    model = open_model(tiny_path(), max_tokens=30, draft="sibling")
    for sibling in (
        Sibling("", (), ()),
        Sibling("{", (10**9, -5), (0.0, 0.0)),
        Sibling("\ufffd\ud800", (1, 2, 3), (0.0,)),
        Sibling(truth.raw, truth.token_ids, (float("nan"),) * len(truth.token_ids)),
        Sibling(truth.raw, truth.token_ids, (float("inf"),) * len(truth.token_ids)),
    ):
        assert same(truth, model.predict(_with(ask("hello"), sibling), ignore)), sibling


def test_an_answer_that_is_cut_off_is_cut_at_the_same_token(
    open_model: Open, tiny_path: Write, ask: Ask
) -> None:
    """Drafts never take room that the context, or the budget, does not have."""
    whole = as_sibling(open_model(tiny_path(), max_tokens=200).predict(ask("hello"), ignore))
    for budget in (1, 2, 5, 11, 26):
        truth = open_model(tiny_path(), max_tokens=budget).predict(ask("hello"), ignore)
        model = open_model(tiny_path(), max_tokens=budget, draft="sibling")
        assert same(truth, model.predict(_with(ask("hello"), whole), ignore)), budget
    length = truth.usage.prompt_tokens
    truth = open_model(tiny_path(), n_ctx=length + 9).predict(ask("hello"), ignore)
    model = open_model(tiny_path(), n_ctx=length + 9, draft="sibling")
    assert same(truth, model.predict(_with(ask("hello"), whole), ignore))


def test_several_slots_draft_at_once(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    plain = open_model(tiny_path(), max_tokens=40)
    asked = [ask(f"say {number}", conversation=str(number)) for number in range(4)]
    truths = [plain.predict(request, ignore) for request in asked]
    model = open_model(tiny_path(), max_tokens=40, draft="sibling", parallel=4, n_batch=32)
    for slot, (request, truth) in enumerate(zip(asked, truths, strict=True)):
        model.begin(slot, _with(request, as_sibling(truth)), ignore)
    got: dict[int, Prediction] = {}
    while len(got) < len(asked):
        got.update(model.advance())
    for slot, truth in enumerate(truths):
        assert same(truth, got[slot])
        assert got[slot].usage.accepted_tokens > 0


@pytest.mark.parametrize("grammar", ["none", "strict"])
def test_drafts_follow_every_grammar(open_model: Open, tiny_path: Write, ask: Ask, grammar: str) -> None:
    truth = open_model(tiny_path(), max_tokens=40, grammar=grammar).predict(ask("hello"), ignore)
    model = open_model(tiny_path(), max_tokens=40, grammar=grammar, draft="sibling")
    got = model.predict(_with(ask("hello"), as_sibling(truth)), ignore)
    assert same(truth, got)
    assert got.usage.accepted_tokens > 0


@pytest.mark.slow
def test_a_draft_model_proposes_and_decides_nothing(open_model: Open, tiny_path: Write, ask: Ask) -> None:
    """Itself as its own draft model, and one that says something else."""
    truths = [open_model(tiny_path(), max_tokens=40).predict(request, ignore) for request in requests(ask)]
    for seed in (0, 7):
        model = open_model(tiny_path(), max_tokens=40, draft=str(tiny_path(seed=seed)))
        assert model.fingerprint["draft"] == "model"
        model._drafter._worth = 0.0  # tiny models are never sure
        got = [model.predict(request, ignore) for request in requests(ask)]
        assert all(map(same, truths, got))
        assert all(each.usage.drafted_tokens for each in got)


@pytest.mark.parametrize(
    ("choices", "settings", "word"),
    [
        ({"tokenizer": "spm"}, {}, "tokens are not those"),
        ({"architecture": "mamba"}, {}, "recurrent"),
        ({}, {"exact": True}, "--exact never drafts"),
        ({}, {"temperature": 0.5}, "greedy"),
    ],
)
def test_drafts_that_cannot_be_are_one_line(
    open_model: Open, tiny_path: Write, choices: dict[str, Any], settings: dict[str, Any], word: str
) -> None:
    with pytest.raises(RigError, match=word) as caught:
        open_model(tiny_path(), draft=str(tiny_path(**choices)), **settings)
    assert "\n" not in str(caught.value)


def test_only_what_drafts_says_so_in_its_fingerprint(open_model: Open, tiny_path: Write) -> None:
    plain, other = open_model(tiny_path()), open_model(tiny_path(), draft="lookup")
    named = {name: value for name, value in other.fingerprint.items() if name not in plain.fingerprint}
    assert named == {"draft": "lookup", "draft_noise": NOISE}
    assert {**plain.fingerprint, **named} == other.fingerprint


def test_a_step_that_was_given_up_leaves_no_draft_behind(
    open_model: Open, tiny_path: Write, ask: Ask
) -> None:
    truths = [open_model(tiny_path(), max_tokens=40).predict(request, ignore) for request in requests(ask)]
    model = open_model(tiny_path(), max_tokens=40, draft="sibling")
    for request, truth in zip(requests(ask), truths, strict=True):
        for count in (1, 3):
            left = count

            def stop(piece: Piece) -> None:
                nonlocal left
                left -= piece.tokens > 0 and not piece.forced
                if left < 0:
                    raise KeyboardInterrupt

            with pytest.raises(KeyboardInterrupt):
                model.predict(
                    _with(replace(request, key=replace(request.key, step=0)), as_sibling(truth)), stop
                )
        assert same(truth, model.predict(_with(request, as_sibling(truth)), ignore))


@given(
    prompt=st.lists(st.integers(0, 5), max_size=30),
    sibling=st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1)), max_size=20),
    answer=st.lists(st.integers(0, 5), min_size=1, max_size=20),
    worth=st.floats(0, 1),
    most=st.integers(1, MOST),
)
def test_copies_are_of_the_sibling_or_the_prompt(
    prompt: list[int], sibling: list[tuple[int, float]], answer: list[int], worth: float, most: int
) -> None:
    source = Copying(prompt, sibling, worth)
    for end in range(1, len(answer) + 1):
        draft = source.propose(answer[:end], most)
        assert len(draft) <= most
        texts = [[token for token, _ in sibling], prompt + answer[:end]]
        assert any(draft == text[at : at + len(draft)] for text in texts for at in range(len(text) + 1))


def test_a_sibling_is_followed_through_a_token_that_differs() -> None:
    sibling = [(token, 1.0) for token in range(10)]
    source = Copying([], sibling, 0.5)
    assert source.propose([0], 4) == [1, 2, 3, 4]
    assert source.propose([0, 1, 2, 99], 4) == []  # perhaps in place of the 3: wait for what follows
    assert source.propose([0, 1, 2, 99, 4], 3) == [5, 6, 7]
    assert source.propose([0, 1, 2, 99, 4, 5, 1, 2], 3) == [3, 4, 5]  # back where it was before


def test_a_draft_ends_before_what_the_sibling_was_unsure_of() -> None:
    source = Copying([], [(1, 1.0), (2, 0.9), (3, 0.3), (4, 1.0)], 0.5)
    assert source.propose([1], 9) == [2]


def test_what_was_said_before_is_looked_up() -> None:
    prompt = [7, 1, 2, 3, 4, 5, 6, 8, 8, 1, 9, 9]
    assert Copying(prompt, (), 0.5).propose([1, 2, 3, 4, 5], 3) == [6]
    assert Copying(prompt, (), 0.1).propose([1, 2, 3, 4, 5], 3) == [6, 8, 8]
    assert Copying(prompt, (), 0.0).propose([5, 1], 3) == []  # a single token is no sign


def test_the_margin_is_that_of_the_allowed_tokens() -> None:
    logits = np.array([5.0, 1.0, 3.0, 4.5], dtype=np.float32)
    everything = np.ones(4, dtype=np.bool_)
    assert margin(logits, everything) == 0.5
    assert margin(logits, np.array([False, True, True, False])) == 2.0
    assert margin(logits, np.array([False, True, False, False])) == float("inf")
    assert logits.tolist() == [5.0, 1.0, 3.0, 4.5]
