"""Texts put into the mouth of a real engine: whatever it is prompted with, it samples them token by token."""

from collections.abc import Callable
from typing import Any

import pytest

from rig.core.models import StepKey
from rig.plugins.llama import engine
from rig.plugins.llama.decoding.sampler import ChosenToken
from rig.plugins.llama.engine import LlamaCppModel


def speak(patch: pytest.MonkeyPatch, model: LlamaCppModel, text_of: Callable[[StepKey], str]) -> None:
    """Make the model answer a step with a text, and then end. Tokens that are not allowed fail the test."""
    tokenizer = model.tokenizer

    class Sampler:
        def __init__(self, _sampling: object, _seed: int, key: StepKey, _vocab: object) -> None:
            self._tokens = iter([*tokenizer.template(text_of(key)), tokenizer.eos])

        def accept(self, _tokens: object) -> None:
            pass

        def close(self) -> None:
            pass

        def choose(self, _logits: object, allowed: Any) -> ChosenToken:
            token = next(self._tokens)
            assert allowed[token], token
            return ChosenToken(token, -1.0)

    patch.setattr(engine, "Sampler", Sampler)
