"""What a contestant's process is told, and what it gives back. Both travel as JSON files."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks.engine.work import Work
from rig.core.calls import Json, JsonObject
from rig.plugins.llama import EngineSettings


@dataclass(frozen=True, slots=True)
class Job:
    """One contestant, one model, one file of prompts.

    `work` says where the prompts come from, None for a file of others. `tape` is the file to which the engine
    writes what it decoded, and from which the floor reads it. `parallel` and `keeps_prefix` are the engine's
    settings: answers at once, and whether the state of what all prompts share is kept on disk.
    """

    contestant: str
    model: str
    name: str
    prompts: str
    threads: int
    gpu_layers: int | None = None
    n_ctx: int | None = None
    max_tokens: int | None = None
    chat_template: str | None = None
    work: Work | None = None
    tape: str | None = None
    parallel: int = 1
    keeps_prefix: bool = False

    @property
    def settings(self) -> EngineSettings:
        """The settings of rig's engine: greedy, and with as many tokens as the longest answer may have.

        Answers have rig's own form: it alone has a JSON Schema, so that peers can be held to it.
        """
        return EngineSettings(
            format="rig",
            n_ctx=self.n_ctx,
            n_threads=self.threads,
            n_gpu_layers=self.gpu_layers,
            parallel=self.parallel,
            prefix_cache=self.keeps_prefix,
            max_tokens=self.max_tokens or EngineSettings().max_tokens,
            chat_template=Path(self.chat_template) if self.chat_template else None,
        )

    def write(self, path: Path) -> None:
        path.write_text(json.dumps({**asdict(self), "work": self.work and self.work.as_json()}))

    @classmethod
    def read(cls, path: Path) -> "Job":
        data = json.loads(path.read_text())
        return cls(**{**data, "work": data["work"] and Work.from_json(data["work"])})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a contestant made of a prompt.

    `tokens` counts those it generated, `prompt_tokens` those it read; None if nothing came of it.
    `seconds` from asking to having all of it. `valid` is decided after the clock stopped.
    """

    id: str
    text: str
    finish: Literal["stop", "length", "error"]
    tokens: int | None
    seconds: float
    prompt_tokens: int | None = None
    valid: bool = False
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One pass of a contestant over all prompts.

    `wall_s` and `cpu_s` (user and system time of all its threads) count from the first prompt to the last
    answer, with everything but loading the model, which is `load_s`. `rss_bytes` is the process's peak.
    `versions` says what it is made of; `details` is what only this contestant can tell.
    """

    load_s: float
    wall_s: float
    cpu_s: float
    rss_bytes: int
    answers: tuple[Answer, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    details: JsonObject = field(default_factory=dict)

    def as_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> "Outcome":
        return cls(**{**data, "answers": tuple(Answer(**answer) for answer in data["answers"])})
