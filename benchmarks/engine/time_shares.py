"""A run with a stopwatch inside: what share of its wall time goes into what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.engine.stopwatch import REST, Stopwatch, timed
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.events import ArmFinished, ArmReady, Emit, Event, Speed
from rig.running.control import Control
from rig.running.plan import Plan
from rig.running.runner import run

LLAMA, DISPLAY = "llama.cpp", "display"


def seams() -> dict[str, list[tuple[Any, str]]]:
    """The functions whose time is measured, by what their time goes into."""
    import llama_cpp

    from rig.core import registry
    from rig.plugins.llama.core.template import ChatTemplate
    from rig.plugins.llama.core.tokenizer import Tokenizer
    from rig.plugins.llama.decoding.sampler import Sampler
    from rig.plugins.llama.grammar.language import FreeConstraint, FreeGrammar
    from rig.plugins.llama.grammar.llguidance import LLGuidanceConstraint, LLGuidanceGrammar
    from rig.plugins.llama.prompt import PromptBuilder
    from rig.plugins.matching.matching import Grader, Matching
    from rig.plugins.tooltalk.method import ToolTalkEpisode
    from rig.store import RunWriter
    from rig.world.toolbox import Simulator

    def all_of(owner: Any, *names: str) -> list[tuple[Any, str]]:
        return [(owner, name) for name in names]

    low_level = [
        name
        for name in dir(llama_cpp)
        if name in ("llama_decode", "llama_synchronize", "llama_get_logits_ith")
        or name.startswith(("llama_memory_seq_", "llama_memory_clear", "llama_state_seq_"))
    ]
    return {
        LLAMA: all_of(llama_cpp, *low_level),
        "grammar": [
            seam
            for constraint, grammar in (
                (LLGuidanceConstraint, LLGuidanceGrammar),
                (FreeConstraint, FreeGrammar),
            )
            for seam in (
                *all_of(constraint, "allowed", "accept", "forced"),
                *all_of(grammar, "start"),
            )
        ],
        "sampling": all_of(Sampler, "__init__", "choose"),
        "tokenising": all_of(Tokenizer, "template", "content", "piece"),
        "templates": [*all_of(ChatTemplate, "render"), *all_of(PromptBuilder, "build")],
        "reading answers": [
            seam for form in registry.registered().formats.values() for seam in all_of(form, "read")
        ],
        "world": all_of(Simulator, "start", "snapshot", "restore", "execute"),
        "scoring": [
            *all_of(Grader, "start"),
            *all_of(Matching, "add", "judged", "verdicts"),
            *all_of(ToolTalkEpisode, "score"),
        ],
        "store": all_of(RunWriter, "commit_turn", "finish"),
    }


@dataclass(frozen=True, slots=True)
class Profile:
    """Seconds of a run by what they went into, the model's loading not counted. They add up to `wall_s`."""

    seconds: Mapping[str, float]
    speed: Speed

    @property
    def wall_s(self) -> float:
        return sum(self.seconds.values())

    @property
    def shares(self) -> dict[str, float]:
        """Of the wall time, the largest first."""
        ordered = sorted(self.seconds.items(), key=lambda item: -item[1])
        return {kind: seconds / self.wall_s for kind, seconds in ordered}

    def as_json(self) -> JsonObject:
        return {
            "wall_s": self.wall_s,
            "seconds": dict(self.seconds),
            "shares": dict(self.shares),
            "speed": self.speed.as_json(),
        }


def profile(plan: Plan, emit: Emit, control: Control) -> Profile:
    """Run a plan of one arm, and say where the time went. Raises RigError when the arm fails."""
    watch = Stopwatch()
    taken: dict[str, float] = {}
    ended: list[ArmFinished] = []

    def listen(event: Event) -> None:
        with watch.measuring(DISPLAY):
            emit(event)
        if isinstance(event, ArmReady):
            watch.start()
        elif isinstance(event, ArmFinished):
            watch.stop()
            taken.update(watch.seconds)
            ended.append(event)

    with timed(watch, seams()):
        run(plan, listen, control)
    if not ended:
        raise RigError("stopped before the run was through; there is no profile of a part")
    if ended[-1].failure:
        raise RigError(ended[-1].failure)
    return Profile({REST: 0.0, **taken}, ended[-1].speed)
