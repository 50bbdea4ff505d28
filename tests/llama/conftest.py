from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf

from rig.core.models import Message, Request, StepKey, ToolDoc, UserMessage
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.llama.loading import load

KINDS: dict[str, dict[str, Any]] = {
    "llama-bpe": {},
    "llama-spm": {"tokenizer": "spm"},
    "gemma3-spm": {"architecture": "gemma3", "tokenizer": "spm", "template": tiny_gguf.STRICT, "window": 32},
    "mamba-bpe": {"architecture": "mamba"},
}
"""Tiny models that differ in attention, memory, tokenizer and template."""


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    folder = tmp_path_factory.mktemp("tiny")

    def write(**choices: Any) -> Path:
        return tiny_gguf.write(folder / f"{abs(hash(tuple(sorted(choices.items()))))}.gguf", **choices)

    return write


@pytest.fixture
def open_model() -> Iterator[Callable[..., LlamaCppModel]]:
    """Loads models and closes them after the test."""
    opened: list[LlamaCppModel] = []
    notices: list[str] = []

    def open_(path: Path, **settings: Any) -> LlamaCppModel:
        # One thread: tiny models gain nothing from more, and two of them spin when the machine is busy.
        model = load(path, EngineSettings(**{"n_threads": 1, **settings}), path.stem, notices.append)
        opened.append(model)
        return model

    yield open_
    for model in opened:
        model.close()


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> dict[str, Any]:
    return KINDS[request.param]


TOOLS = (
    ToolDoc(
        "AddAlarm",
        "Sets an alarm.",
        {
            "type": "object",
            "properties": {"time": {"type": "string", "description": "When.", "x-format": "time"}},
            "required": ["time"],
            "additionalProperties": False,
        },
        "the alarm's id",
    ),
    ToolDoc(
        "CreateEvent",
        "",
        {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "event_type": {"type": "string", "enum": ["meeting", "event"]},
                "attendees": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["name", "event_type"],
            "additionalProperties": False,
        },
    ),
    ToolDoc("LogoutUser", "Logs out.", {"type": "object", "properties": {}, "additionalProperties": False}),
)


@pytest.fixture
def ask() -> Callable[..., Request]:
    """Makes requests: `ask("hello", step=1)`, or with a list of messages."""

    def make(
        messages: str | list[Message],
        *,
        conversation: str = "c",
        turn: int = 1,
        step: int = 0,
        repeat: int = 0,
    ) -> Request:
        if isinstance(messages, str):
            messages = [UserMessage(messages)]
        key = StepKey(conversation, turn, step, repeat)
        return Request(key, "Be useful.", TOOLS, "Place: Oslo", tuple(messages), several_calls=True)

    return make
