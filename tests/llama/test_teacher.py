"""Teacher forcing against the engine itself, which is made to generate the very answers that are given."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rig_form import rig_format, text_of

from rig.core.calls import Call, Outcome
from rig.core.models import CallMessage, Prediction, ReplyMessage, Request, UserMessage
from rig.plugins.llama import EngineSettings
from rig.plugins.llama.core.assessment import Choice
from rig.plugins.llama.core.llama import Chunk
from rig.plugins.llama.decoding import sampler
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.teacher import (
    Assessment,
    NotInGrammar,
    Teacher,
    arranged,
    follow,
    kinds_of,
    length_of,
)

Open = Callable[..., LlamaCppModel]
Ask = Callable[..., Request]
Write = Callable[..., Path]

CALLS = (
    Call("AddAlarm", {"time": "12:00:00"}),
    Call("AddAlarm", {"time": "h\u00e9 \U0001f600 \u4f60"}),
    Call("CreateEvent", {"event_type": "meeting", "name": "the tool", "attendees": ["a", "the"]}),
    Call("CreateEvent", {"name": "", "event_type": "event"}),
    Call("LogoutUser", {}),
)
TALK = [
    UserMessage("the time"),
    CallMessage(CALLS[0], Outcome({"alarm_id": "1"})),
    ReplyMessage("Done."),
    UserMessage("and again"),
]


def ignore(*_: object) -> None:
    pass


@pytest.fixture
def teach() -> Iterator[Callable[..., Teacher]]:
    opened: list[Teacher] = []

    def open_(path: Path, **settings: Any) -> Teacher:
        teacher = Teacher(path, EngineSettings(**{"n_threads": 1, "n_ctx": 2048, **settings}), "tiny", ignore)
        opened.append(teacher)
        return teacher

    yield open_
    for teacher in opened:
        teacher.close()


def generated(
    model: LlamaCppModel, request: Request, text: str, monkeypatch: pytest.MonkeyPatch
) -> Prediction:
    """What the engine predicts and stores when its sampler happens to choose this text."""
    constraint = model.grammar.start(model.form(request).language)
    fast = model.settings.fast_forward
    wanted = [
        token.token
        for token in follow(constraint, model.tokenizer, text, len(text.encode()), fast_forward=fast)
        if token.allowed is not None or not fast
    ]
    queue = iter(wanted)

    def choose(_self: object, logits: Any, allowed: Any) -> sampler.ChosenToken:
        token = next(queue) if allowed.sum() > 1 or not fast else int(np.flatnonzero(allowed)[0])
        assert allowed[token]
        values = logits[allowed].astype(np.float64)
        top = values.max()
        return sampler.ChosenToken(token, float(logits[token] - top - np.log(np.exp(values - top).sum())))

    with monkeypatch.context() as patch:
        patch.setattr(sampler.Sampler, "choose", choose)
        prediction = model.predict(request, lambda _piece: None)
    assert prediction.raw == text
    return prediction


@pytest.mark.parametrize("exact", [False, True])
def test_a_call_is_as_likely_as_the_engine_finds_it_when_it_generates_it(
    open_model: Open,
    teach: Callable[..., Teacher],
    tiny_path: Write,
    kind: dict[str, Any],
    ask: Ask,
    exact: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = open_model(tiny_path(**kind), n_ctx=2048, exact=exact)
    teacher = teach(tiny_path(**kind), exact=exact)
    for call in CALLS:
        request = ask(TALK)
        call = arranged(call, request.tools)
        prediction = generated(model, request, text_of(call), monkeypatch)
        assert prediction.call == call
        assessed = teacher.assess(request, call, ignore)
        assert assessed.fault is None
        assert len(assessed.choices) + assessed.forced == len(prediction.token_ids)
        stored = [
            (token, logprob)
            for token, logprob in zip(prediction.token_ids, prediction.logprobs, strict=True)
            if logprob != 0.0
        ]
        ours = [(choice.token, choice.logprob) for choice in assessed.choices if choice.logprob != 0.0]
        assert [token for token, _ in ours] == [token for token, _ in stored]
        # Batches are cut differently, which moves the last bits of the logits.
        assert [value for _, value in ours] == pytest.approx([value for _, value in stored], abs=1e-2)
        assert assessed.logprob == pytest.approx(sum(prediction.logprobs), abs=3e-2)


def test_so_it_is_under_the_strict_grammar(
    open_model: Open,
    teach: Callable[..., Teacher],
    tiny_path: Write,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = open_model(tiny_path(), n_ctx=2048, grammar="strict")
    teacher = teach(tiny_path(), grammar="strict")
    for call in (CALLS[0], CALLS[2], CALLS[4]):
        request = ask(TALK)
        prediction = generated(model, request, text_of(arranged(call, request.tools)), monkeypatch)
        assessed = teacher.assess(request, call, ignore)
        assert assessed.fault is None
        assert assessed.logprob == pytest.approx(sum(prediction.logprobs), abs=3e-2)


def test_without_a_grammar_every_token_is_open(
    teach: Callable[..., Teacher], tiny_path: Write, ask: Ask
) -> None:
    teacher = teach(tiny_path(), grammar="none")
    free = teacher.assess(ask(TALK), CALLS[0], ignore)
    assert (free.fault, free.forced) == (None, 0)
    assert len({choice.allowed for choice in free.choices}) == 1
    held = teach(tiny_path()).assess(ask(TALK), CALLS[0], ignore)
    assert free.logprob < held.logprob


@pytest.mark.slow
def test_every_number_is_that_of_a_slow_reference(
    teach: Callable[..., Teacher], tiny_path: Write, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference computes the whole prompt anew for every token, one token at a time."""
    monkeypatch.setattr("rig.plugins.llama.teacher.PIECE", 4)  # so that an answer takes several batches
    teacher = teach(tiny_path(), n_batch=64)
    loaded = teacher.model
    request = ask(TALK)
    for call in CALLS[:3]:
        rows: dict[int, Any] = {}
        assessed = teacher.assess(request, call, rows.__setitem__)
        form = loaded.form(request)
        spans = form.format.spans(arranged(call, request.tools))
        given = teacher._answer_tokens(form.language, spans, length_of(spans))
        tokens = [token.token for token in given]
        prompt = [token for segment in loaded.prompts.build(request, form.format) for token in segment]
        choices = iter(zip(assessed.choices, rows.values(), strict=True))
        for number, token in enumerate(given):
            if token.allowed is None:
                continue
            loaded.context.drop_tail(0, 0)
            for each in [*prompt, *tokens[:number]]:
                loaded.context.decode([Chunk(0, [each], True)])
            logits = loaded.context.logits()[token.allowed].astype(np.float64)
            choice, row = next(choices)
            assert row == pytest.approx(logits, abs=0.05)
            probabilities = np.exp(logits) / np.exp(logits).sum()
            mine = probabilities[token.allowed.tolist().index(token.token)]
            assert choice.logprob == pytest.approx(np.log(mine), abs=0.05)
            assert choice.rank == (row > row[token.allowed.tolist().index(token.token)]).sum()
            assert choice.top == token.allowed[row.argmax()]
        assert next(choices, None) is None


def test_what_greedy_decoding_gives_is_found_to_be_greedy(
    open_model: Open, teach: Callable[..., Teacher], tiny_path: Write, ask: Ask
) -> None:
    model, teacher = open_model(tiny_path(), n_ctx=2048, max_tokens=100), teach(tiny_path())
    for text in ("hello", "the alarm", "12:00:00", "and"):
        prediction = model.predict(ask(text), lambda _piece: None)
        assert isinstance(prediction, Prediction)
        others = [call for call in CALLS if call != prediction.call]
        assert not any(teacher.assess(ask(text), call, ignore).is_greedy for call in others)
        said = "tool" if prediction.raw.startswith('{"tool') else "reply"
        reply = teacher.assess(ask(text), "anything", ignore)
        assert reply.is_greedy == (said == "reply")


def test_of_a_reply_only_the_decision_counts(
    teach: Callable[..., Teacher], tiny_path: Write, ask: Ask
) -> None:
    teacher = teach(tiny_path())
    one, other = (teacher.assess(ask("hello"), text, ignore) for text in ("Yes.", "Nothing of the sort!"))
    assert one.choices == other.choices
    assert {choice.kind for choice in one.choices} == {"answer"}
    calls = teacher.assess(ask("hello"), CALLS[4], ignore)
    # To call and to reply share one decision, so together they are at most certain.
    assert np.exp(one.logprob) + np.exp(calls.choices[0].logprob) <= 1 + 1e-6


def test_one_conversation_is_computed_once(teach: Callable[..., Teacher], tiny_path: Write, ask: Ask) -> None:
    teacher = teach(tiny_path())
    first = teacher.assess(ask(TALK[:1]), CALLS[0], ignore)
    assert first.computed_tokens >= first.prompt_tokens
    second = teacher.assess(ask(TALK), CALLS[2], ignore)
    assert second.computed_tokens < second.prompt_tokens / 2
    alone = teach(tiny_path()).assess(ask(TALK), CALLS[2], ignore)
    assert [c._replace(logprob=0) for c in second.choices] == [c._replace(logprob=0) for c in alone.choices]
    assert second.logprob == pytest.approx(alone.logprob, abs=3e-2)


@pytest.mark.parametrize("call", CALLS)
def test_tokens_are_the_text_and_kinds_its_parts(
    open_model: Open, tiny_path: Write, kind: dict[str, Any], ask: Ask, call: Call
) -> None:
    loaded = open_model(tiny_path(**kind), n_ctx=512)
    call = arranged(call, ask("x").tools)
    text = text_of(call).encode()
    constraint = loaded.grammar.start(rig_format(ask("x").tools).language())
    given = follow(constraint, loaded.tokenizer, text.decode(), len(text), fast_forward=True)
    assert b"".join(loaded.tokenizer.piece(token.token) for token in given) == text
    assert constraint.complete
    assert [token.start for token in given] == np.cumsum(
        [0, *(len(loaded.tokenizer.piece(token.token)) for token in given)]
    ).tolist()[:-1]
    spans = rig_format().spans(call)
    assert length_of(spans) == len(text)
    at = kinds_of(spans)
    assert at(2) == "answer"
    assert at(text.index(call.name.encode())) == "tool"
    for name, value in call.arguments.items():
        assert at(text.index(json.dumps(name).encode() + b":")) == "parameter"
        assert at(text.index(json.dumps(value, ensure_ascii=False).encode())) == "value"
    assert at(len(text) - 1) == "parameter"


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (Call("Frobnicate", {}), "does not allow"),
        (Call("AddAlarm", {"hour": 3}), "the grammar"),
        (Call("CreateEvent", {"name": "x", "event_type": "party"}), "the grammar"),
    ],
)
def test_what_the_grammar_refuses_is_a_fault_of_that_answer_alone(
    teach: Callable[..., Teacher], tiny_path: Write, ask: Ask, answer: Call, fault: str
) -> None:
    teacher = teach(tiny_path())
    before = teacher.assess(ask("x"), CALLS[0], ignore)
    assert fault in (teacher.assess(ask("x"), answer, ignore).fault or "")
    assert teacher.assess(ask("x"), CALLS[0], ignore).choices == before.choices


def test_a_prompt_that_is_too_long_is_a_fault(
    teach: Callable[..., Teacher], tiny_path: Write, ask: Ask
) -> None:
    teacher = teach(tiny_path(), n_ctx=512)
    fault = teacher.assess(ask("word " * 400), CALLS[0], ignore)
    assert isinstance(fault, Assessment)
    assert "tokens, the context 512" in (fault.fault or "")
    assert not fault.is_greedy


def test_text_that_is_no_answer_leads_out_of_the_grammar(
    open_model: Open, tiny_path: Write, ask: Ask
) -> None:
    loaded = open_model(tiny_path(), n_ctx=512)
    constraint = loaded.grammar.start(rig_format(ask("x").tools).language())
    with pytest.raises(NotInGrammar, match="the grammar"):
        follow(constraint, loaded.tokenizer, "[1, 2]", 6, fast_forward=True)


def test_equal_vocabularies_have_equal_names(teach: Callable[..., Teacher], tiny_path: Write) -> None:
    names = [
        teach(tiny_path(**choices)).model.tokenizer.vocabulary
        for choices in ({}, {"seed": 1}, {"tokenizer": "spm"})
    ]
    assert names[0] == names[1] != names[2]
    assert length_of(rig_format().spans("x")) == len('{"r')


@pytest.mark.slow
@pytest.mark.model
def test_what_a_real_model_generates_greedily_is_exactly_as_likely_and_greedy(
    open_model: Open, teach: Callable[..., Teacher], smollm2: Path, ask: Ask
) -> None:
    settings = {"n_ctx": 2048, "max_tokens": 96, "exact": True}
    model, teacher = open_model(smollm2, **settings), teach(smollm2, **settings)
    quick = teach(smollm2, n_ctx=2048)
    calls = 0
    for text in (
        "Meet Ana and Bo about the budget.",
        "AddAlarm at 06:30, call it.",
        "Use the tool AddAlarm.",
    ):
        prediction = model.predict(ask(text), ignore)
        if prediction.call is None:
            continue
        calls += 1
        assessed = teacher.assess(ask(text), prediction.call, ignore)
        assert assessed.is_greedy
        assert len(list(_shared(assessed, prediction))) >= 5
        for choice, logprob in _shared(assessed, prediction):
            assert choice.logprob == pytest.approx(logprob, abs=1e-5)
        for choice, logprob in _shared(quick.assess(ask(text), prediction.call, ignore), prediction):
            assert choice.logprob == pytest.approx(logprob, abs=0.5)
    assert calls >= 1


def _shared(assessed: Assessment, prediction: Prediction) -> Iterator[tuple[Choice, float]]:
    """Choices beside the numbers that were stored, until the model wrote the same text in other tokens."""
    stored = zip(prediction.token_ids, prediction.logprobs, strict=True)
    free = [(token, logprob) for token, logprob in stored if logprob != 0.0]
    for choice, (token, logprob) in zip(assessed.choices, free, strict=False):
        if choice.token != token:
            return
        yield choice, logprob
