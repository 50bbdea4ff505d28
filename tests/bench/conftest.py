from collections.abc import Callable
from pathlib import Path
from typing import Any

import native_templates
import pytest
import tiny_gguf

from benchmarks.engine.job import Job
from benchmarks.engine.work import Work

KINDS: dict[str, dict[str, Any]] = {
    "llama-bpe": {},
    "gemma3-spm": {"architecture": "gemma3", "tokenizer": "spm", "template": tiny_gguf.STRICT, "window": 32},
    "mamba-bpe": {"architecture": "mamba"},
    "native-bpe": {"template": native_templates.OWN["json in tags"]},
}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Tiny models by kind, with room for prompts of all tools in their few letters' tokens."""
    folder = tmp_path_factory.mktemp("models")

    def path(kind: str = "llama-bpe") -> Path:
        place = folder / f"{kind}.gguf"
        return place if place.exists() else tiny_gguf.write(place, n_ctx=32_768, **KINDS[kind])

    return path


@pytest.fixture
def make_job(tiny: Callable[[str], Path], tmp_path: Path) -> Callable[..., Job]:
    """Jobs on tiny models: one thread, a short answer, two prefixes of one conversation."""

    def make(contestant: str, kind: str = "llama-bpe", **choices: Any) -> Job:
        chosen = {
            "work": Work(only=("AddAlarm-easy",), prefixes=2),
            "n_ctx": 24_576,
            "max_tokens": 12,
            "gpu_layers": 0,
            **choices,
        }
        return Job(
            contestant=contestant,
            model=str(tiny(kind)),
            name=kind,
            prompts=str(tmp_path / "prompts.jsonl"),
            tape=str(tmp_path / "tape.jsonl"),
            threads=1,
            **chosen,
        )

    return make
