"""How the engine's time grows with what it is given; prints one Markdown table for each question.

    .venv/bin/python benchmarks/engine/scaling.py [turns] [tools] [vocabulary] [sequences] [--repeats 3]
        [--threads 1 --cpu-time]

turns: one conversation that grows and grows, an answer at every point of it
tools: the first so many tools in the prompt
vocabulary: two models, and what one token costs outside llama.cpp
sequences: so many answers at once

Every question's settings are gone through in turn, the next time backwards; a cell is the median, and in
brackets the smallest and the largest.
"""

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import median
from time import perf_counter, process_time

os.environ.setdefault("GOMP_SPINCOUNT", "2000")

from benchmarks.engine.contestants.engine import opening, predict_all
from benchmarks.engine.recorded import Recorded, recording
from benchmarks.engine.work import Work, prefixes
from rig.core.errors import RigError
from rig.core.meters import available_cores
from rig.core.models import Message, Prediction, Request, StepKey
from rig.core.paths import CONVERSATIONS
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.files.registry import resolve
from rig.plugins.llama.loading import load
from rig.plugins.tooltalk.conversations import load_directory

MAX_TOKENS = 64
CONTEXT = 8192
threads = available_cores()
clock: Callable[[], float] = perf_counter
POINTS = 30
"""Prompts where the number of answers at once is asked about; elsewhere fewer will do."""
TURNS = (8, 16, 32, 48)
TOOLS = (1, 4, 8, 16, 28)
MODELS = ("smollm2-135m", "gemma3-270m")
SEQUENCES = (1, 2, 4, 8)


@dataclass(frozen=True)
class Run:
    """Requests answered once: seconds in all, inside llama.cpp, of the shared part and of each answer."""

    all_s: float
    llama_s: float
    prepare_s: float
    seconds: Sequence[float]
    predictions: Sequence[Prediction]
    decoded: int

    def total(self, name: str) -> float:
        """A sum over the usage of all predictions."""
        return float(sum(getattr(prediction.usage, name) for prediction in self.predictions))

    @property
    def outside_us(self) -> float:
        """Microseconds outside llama.cpp for each token generated, everything counted."""
        return 1e6 * (self.all_s - self.llama_s) / self.total("completion_tokens")


def measure(
    model: str, requests: Sequence[Request], *, parallel: int = 1, max_tokens: int | None = None
) -> Run:
    """Load a model, let it answer, close it; loading does not count. Raises RigError."""
    resolved = resolve(model)
    max_tokens = max_tokens or MAX_TOKENS
    settings = EngineSettings(
        n_ctx=CONTEXT, n_threads=threads, max_tokens=max_tokens, parallel=parallel, prefix_cache=False
    )
    loaded = load(resolved.path, settings, resolved.name, notify=lambda text: None)
    try:
        tape = Recorded()
        with recording(tape, clock):
            began = clock()
            loaded.prepare(opening(requests[0]), None)
            prepare_s = clock() - began
            predictions, seconds = predict_all(loaded, requests, clock)
            all_s = clock() - began
        if failed := [one for one in predictions if one.finish_reason == "error"]:
            raise RigError(f"a prediction failed: {failed[0].error_detail}")
        if any(one.usage.prompt_tokens + max_tokens > CONTEXT for one in predictions):
            raise RigError(f"a prompt does not fit into {CONTEXT} tokens")
        return Run(all_s, tape.seconds, prepare_s, seconds, predictions, tape.tokens)
    finally:
        loaded.close()


def interleaved(
    choices: Sequence[object], run: Callable[[object], Run], repeats: int
) -> dict[object, list[Run]]:
    """All choices in turn, then backwards, and so on."""
    found: dict[object, list[Run]] = {choice: [] for choice in choices}
    for number in range(repeats):
        for choice in choices if number % 2 == 0 else choices[::-1]:
            found[choice].append(run(choice))
    return found


def long_conversation() -> Iterator[Request]:
    """The easy conversations one after another as if they were one; each point at which a turn begins."""
    history: list[Message] = []
    first: Request | None = None
    turn = 0
    for conversation in load_directory(CONVERSATIONS / "easy"):
        points = [request for _, request in prefixes(conversation)]
        for request in points:
            first = first or request
            if request.key.step == 0:
                turn += 1
                messages = (*history, *request.messages)
                yield replace(request, key=StepKey("all", turn, 0), context=first.context, messages=messages)
        history += points[-1].messages


def turns(repeats: int) -> Iterator[str]:
    points = list(islice(long_conversation(), max(TURNS)))
    runs = [measure(MODELS[0], points, max_tokens=16) for _ in range(repeats)]
    yield from header(
        "turns", "tokens of the last prompt", "tokens of all prompts", "s", "s for each of the last 8"
    )
    for count in TURNS:
        usages = [prediction.usage for prediction in runs[0].predictions[:count]]
        yield row(
            f"{count}",
            f"{usages[-1].prompt_tokens:,}",
            f"{sum(usage.prompt_tokens for usage in usages):,}",
            spread([run.prepare_s + sum(run.seconds[:count]) for run in runs], "{:.1f}"),
            spread([sum(run.seconds[count - 8 : count]) / 8 for run in runs], "{:.2f}"),
        )
    generated = runs[0].total("completion_tokens")
    yield f"\nllama.cpp decoded {runs[0].decoded:,} tokens in all, {generated:,} of them generated."


def tools(repeats: int) -> Iterator[str]:
    every = list(Work(prefixes=min(10, POINTS)).requests().values())

    def run(count: object) -> Run:
        assert isinstance(count, int)
        return measure(MODELS[0], [replace(request, tools=request.tools[:count]) for request in every])

    yield from header(
        "tools",
        "tokens of the first prompt",
        "shared part, s",
        "s for each answer",
        "mask, us a token",
        "outside llama.cpp, us a token",
    )
    for count, runs in interleaved(TOOLS, run, repeats).items():
        yield row(
            f"{count}",
            f"{runs[0].predictions[0].usage.prompt_tokens:,}",
            spread([one.prepare_s for one in runs], "{:.1f}"),
            spread([(one.all_s - one.prepare_s) / len(every) for one in runs], "{:.2f}"),
            spread([1e6 * one.total("mask_s") / one.total("completion_tokens") for one in runs], "{:.0f}"),
            spread([one.outside_us for one in runs], "{:.0f}"),
        )


def vocabulary(repeats: int) -> Iterator[str]:
    requests = list(Work(prefixes=min(6, POINTS)).requests().values())
    present = [name for name in MODELS if is_present(name)]
    yield from header(
        "model",
        "mask, us a token",
        "outside llama.cpp, us a token",
        "inside llama.cpp, ms a token",
        "all over inside",
    )
    found = interleaved(present, lambda name: measure(str(name), requests), repeats)
    for name, runs in found.items():
        yield row(
            str(name),
            spread([1e6 * one.total("mask_s") / one.total("completion_tokens") for one in runs], "{:.0f}"),
            spread([one.outside_us for one in runs], "{:.0f}"),
            spread([1e3 * one.llama_s / one.total("completion_tokens") for one in runs], "{:.1f}"),
            spread([one.all_s / one.llama_s for one in runs], "{:.3f}"),
        )
    for name in MODELS:
        if name not in present:
            yield f"\n{name} is not here; `rig models pull {name}` fetches it."


def sequences(repeats: int) -> Iterator[str]:
    requests = list(Work(prefixes=POINTS).requests().values())
    found = interleaved(
        SEQUENCES, lambda count: measure(MODELS[0], requests, parallel=int(str(count))), repeats
    )
    yield from header("answers at once", "s", "against one at a time", "other answers than alone")
    for count, runs in found.items():
        alone = found[1]
        differ = sum(
            one.raw != other.raw for one, other in zip(runs[0].predictions, alone[0].predictions, strict=True)
        )
        yield row(
            str(count),
            spread([one.all_s for one in runs], "{:.1f}"),
            spread([one.all_s / other.all_s for one, other in zip(runs, alone, strict=True)], "{:.2f}"),
            f"{differ} of {len(requests)}",
        )


def is_present(name: str) -> bool:
    try:
        return resolve(name).path.exists()
    except RigError:
        return False


def spread(values: Sequence[float], form: str) -> str:
    middle = form.format(median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({form.format(min(values))} to {form.format(max(values))})"


def header(*cells: str) -> Iterator[str]:
    yield row(*cells)
    yield row(*["---"] * len(cells))


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


QUESTIONS: Mapping[str, Callable[[int], Iterator[str]]] = {
    "turns": turns,
    "tools": tools,
    "vocabulary": vocabulary,
    "sequences": sequences,
}


def main() -> None:
    global threads, clock
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("questions", nargs="*", choices=[*QUESTIONS, []], help="default: all of them")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=threads, help="default: the cores that may be used")
    parser.add_argument(
        "--cpu-time", action="store_true", help="count CPU time: with --threads 1 good on a busy machine too"
    )
    given = parser.parse_args()
    threads, clock = given.threads, process_time if given.cpu_time else perf_counter
    print(f"{threads} threads; s is {'CPU' if given.cpu_time else 'wall'} time\n")
    for question in given.questions or QUESTIONS:
        print(f"### {question}\n", flush=True)
        for line in QUESTIONS[question](given.repeats):
            print(line, flush=True)
        print(flush=True)


if __name__ == "__main__":
    main()
