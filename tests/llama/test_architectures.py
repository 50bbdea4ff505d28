"""Whatever is cached, shared or restored: logits are those of a fresh evaluation of the prompt.

On tiny models with random weights, one of each architecture that people run.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import llama_cpp as C
import numpy as np
import numpy.typing as npt
import pytest
import tiny_architectures

from rig.core.calls import Call, Outcome
from rig.core.errors import RigError
from rig.core.models import (
    CallMessage,
    Message,
    Prediction,
    ReplyMessage,
    Request,
    StepKey,
    ToolDoc,
    UserMessage,
)
from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.settings import KV_TYPES, EngineSettings
from rig.plugins.llama.decoding.sampler import ChosenToken, Sampler
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.files.info import inspect
from rig.plugins.llama.loading import load

pytestmark = pytest.mark.slow

CLOSE = {"f16": 0.02, "q8_0": 0.1}
"""By how much a logit may differ; logits of these models have a standard deviation of about 1.5."""
TOOL = ToolDoc(
    "AddAlarm",
    "Sets an alarm.",
    {"type": "object", "properties": {"time": {"type": "string"}}, "required": ["time"]},
)
HISTORY: list[Message] = [
    CallMessage(Call("AddAlarm", {"time": "07:00:00"}), Outcome({"alarm_id": "1"})),
    ReplyMessage("Done."),
    UserMessage("And another one at noon."),
]
Floats = npt.NDArray[np.float32]


class Recording(Sampler):
    """Keeps what each choice was made of: the tokens before it, and the logits."""

    choices: list[tuple[list[int], Floats]] = []  # noqa: RUF012

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._past: list[int] = []

    def accept(self, tokens: Iterable[int]) -> None:
        self._past += tokens
        super().accept(tokens)

    def choose(self, logits: Floats, allowed: Any) -> ChosenToken:
        self.choices.append((list(self._past), logits.copy()))
        return super().choose(logits, allowed)


def fresh(model: LlamaModel, tokens: Sequence[int], wanted: int, kv_type: str) -> Floats:
    """The logits after each of the last `wanted` tokens, in a context of their own, 512 a batch."""
    parameters = C.llama_context_default_params()
    parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = 2048, 512, 512
    parameters.n_threads = parameters.n_threads_batch = 1
    parameters.type_k = parameters.type_v = KV_TYPES[kv_type]
    parameters.flash_attn_type = int(kv_type != "f16")
    parameters.swa_full = False
    context = C.llama_init_from_model(model.pointer, parameters)
    batch = C.llama_batch_init(512, 0, 1)
    rows = []
    for start in range(0, len(tokens), 512):
        part = tokens[start : start + 512]
        batch.n_tokens = len(part)
        for index, token in enumerate(part):
            batch.token[index], batch.pos[index] = token, start + index
            batch.n_seq_id[index], batch.seq_id[index][0] = 1, 0
            batch.logits[index] = start + index >= len(tokens) - wanted
        assert C.llama_decode(context, batch) == 0
        for index in range(len(part)):
            if batch.logits[index]:
                row = C.llama_get_logits_ith(context, index)
                rows.append(np.ctypeslib.as_array(row, (model.n_vocab,)).copy())
    C.llama_batch_free(batch)
    C.llama_free(context)
    return np.array(rows)


def script(conversation: str) -> list[Request]:
    """Two steps of a turn, the next turn, and the first turn of another conversation."""

    def ask(messages: list[Message], name: str, turn: int, step: int = 0) -> Request:
        key = StepKey(name, turn, step, 0)
        return Request(key, "Be useful.", (TOOL,), "Place: Oslo", tuple(messages), several_calls=True)

    own = [UserMessage(f"Set an alarm at 07:00:00, {conversation}."), *HISTORY]
    return [
        ask(own[:1], conversation, 1),
        ask(own[:2], conversation, 1, 1),
        ask(own, conversation, 3),
        ask([UserMessage("hello")], f"{conversation}'s other", 1),
    ]


@pytest.fixture(scope="module", params=tiny_architectures.ARCHITECTURES)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_architectures.write(tmp_path_factory.mktemp("one") / "tiny.gguf", request.param)


@pytest.fixture
def opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., LlamaCppModel]]:
    monkeypatch.setattr("rig.plugins.llama.engine.Sampler", Recording)
    Recording.choices.clear()
    models: list[LlamaCppModel] = []

    def open_(**settings: Any) -> LlamaCppModel:
        asked = {"n_threads": 1, "n_ctx": 2048, "max_tokens": 14, "parallel": 1, "prefix_cache": False}
        models.append(load(path, EngineSettings(**{**asked, **settings}), "tiny", lambda _: None))
        return models[-1]

    yield open_
    for model in models:
        model.close()


def check(model: LlamaCppModel, kv_type: str = "f16") -> None:
    """Compare all choices since the last time with fresh evaluations."""
    choices = sorted(Recording.choices, key=lambda choice: len(choice[0]))
    assert choices
    while choices:
        # Choices of one answer are compared with one evaluation of the longest.
        longest = choices[-1][0]
        of_answer = [choice for choice in choices if longest[: len(choice[0])] == choice[0]]
        choices = [choice for choice in choices if longest[: len(choice[0])] != choice[0]]
        first = len(of_answer[0][0])
        rows = fresh(model.weights, longest, len(longest) - first + 1, kv_type)
        for past, logits in of_answer:
            expected = rows[len(past) - first]
            assert np.abs(logits - expected).max() < CLOSE[kv_type]
            if np.diff(np.sort(expected)[-2:])[0] > 2 * CLOSE[kv_type]:
                assert logits.argmax() == expected.argmax()
    Recording.choices.clear()


def predict(model: LlamaCppModel, name: str = "a") -> list[Prediction]:
    return [model.predict(request, lambda _: None) for request in script(name)]


def test_cached(opened: Callable[..., LlamaCppModel]) -> None:
    model = opened()
    answers = predict(model)
    check(model)
    assert all(answer.usage.cached_tokens > 100 for answer in answers[1:])
    # Equal conversations have equal bits, whatever was computed before.
    assert [answer.logprobs for answer in predict(model)] == [answer.logprobs for answer in answers]
    check(model)


def test_logits_depend_on_all_of_the_past(opened: Callable[..., LlamaCppModel]) -> None:
    """Or equal logits would say nothing."""
    model = opened()
    predict(model)
    past, logits = max(Recording.choices, key=lambda choice: len(choice[0]))
    assert len(past) > 400
    without_beginning = fresh(model.weights, past[200:], 1, "f16")[0]
    assert np.abs(without_beginning - logits).max() > 2 * CLOSE["f16"]


def test_shared_and_in_parallel(opened: Callable[..., LlamaCppModel]) -> None:
    model = opened(parallel=3)
    for requests in zip(*map(script, "abc"), strict=True):
        for slot, request in enumerate(requests):
            model.begin(slot, request, lambda _: None)
        done: dict[int, Prediction] = {}
        while len(done) < 3:
            done.update(model.advance())
    assert all(answer.usage.cached_tokens > 100 for answer in done.values())
    check(model)


def test_second_start(opened: Callable[..., LlamaCppModel]) -> None:
    first = opened(prefix_cache=True)
    predict(first)
    first.close()
    Recording.choices.clear()
    second = opened(prefix_cache=True)
    answers = predict(second, "b")
    assert all(answer.usage.cached_tokens > 100 for answer in answers)
    check(second)


def test_quantized_cache(opened: Callable[..., LlamaCppModel], path: Path) -> None:
    if inspect(path).architecture == "deepseek2":
        with pytest.raises(RigError, match="does not divide"):
            opened(kv_type="q8_0")
        return
    model = opened(kv_type="q8_0")
    predict(model)
    check(model, "q8_0")


def test_there_are_many() -> None:
    assert len(tiny_architectures.ARCHITECTURES) >= 29
