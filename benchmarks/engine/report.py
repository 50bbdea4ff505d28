"""A benchmark as text: a row for each contestant, ratios with their spread, and what came out."""

from collections.abc import Sequence
from statistics import median

from benchmarks.engine.contestants import AGAIN, ENTRIES, FLOORS, PARALLEL, RIG
from benchmarks.engine.job import Answer
from benchmarks.engine.run import Benchmark
from benchmarks.engine.spread import Spread
from rig.core.errors import counted

HEADER = (
    "",
    "wall s",
    "CPU s",
    "x rig, wall",
    "x rig, CPU",
    "tokens",
    "valid",
    "cut off",
    "wrong",
    "peak MiB",
)


def table(found: Benchmark) -> tuple[Sequence[str], list[Sequence[str]]]:
    """A header and a row for each contestant, in the order in which they are declared."""
    return HEADER, [_row(found, name) for name in ENTRIES if name in found.outcomes]


def heading(found: Benchmark) -> str:
    """What was measured, and how."""
    lengths = [len(prompt.tokens) for prompt in found.prompts]
    budgets = sorted({prompt.max_tokens for prompt in found.prompts})
    passes = max(len(outcomes) for outcomes in found.outcomes.values())
    openmp = ", ".join(f"{name}={value}" for name, value in found.conditions.items())
    return (
        f"{found.model}: {len(lengths)} prompts of {min(lengths):,} to {max(lengths):,} tokens, greedy,"
        f" at most {' or '.join(map(str, budgets))} tokens each;"
        f" {found.settled['n_threads']} threads, {found.settled['n_gpu_layers']} layers on a GPU\n"
        f"{passes} passes, every contestant in a process of its own, {openmp} for all;"
        " loading not counted; median (min to max)"
    )


def remarks(found: Benchmark) -> list[str]:
    """What the table does not say, a line each."""
    lines = [line for name in (RIG, PARALLEL) if name in found.outcomes for line in _of_engine(found, name)]
    if (first := _detail(found, RIG, "prepare_s")) and (again := _detail(found, AGAIN, "prepare_s")):
        lines.append(
            f"what all prompts share takes {_seconds(first)} s, in a second start {_seconds(again)} s"
        )
    if PARALLEL in found.outcomes:
        lines += [
            f"{ENTRIES[name].title}: {_ratio(spread)} times the wall time of {ENTRIES[PARALLEL].title}"
            for name in found.outcomes
            if name.startswith("llama-server") and (spread := found.ratio(name, PARALLEL, found.wall))
        ]
    lines += [line for name in found.outcomes if (line := _misread(found, name))]
    lines += [f"{name} failed: {why}" for name, why in found.failures.items()]
    lines += [f"{name} skipped: {why}" for name, why in found.skipped.items()]
    return lines


def _of_engine(found: Benchmark, name: str) -> list[str]:
    """How near the engine comes to its floor, and what its time and tokens were."""
    title, first = ENTRIES[name].title, next(iter(found.outcomes[name].values()))
    lines = []
    wall, cpu = (found.ratio(name, FLOORS[name], of) for of in (found.wall, found.cpu))
    if wall and cpu:
        lines.append(
            f"{title}, over the same {first.details['batches']} batches through bare llama_decode:"
            f" wall {_ratio(wall)}, CPU {_ratio(cpu)}"
        )
    inside = Spread.of(
        float(str(outcome.details["llama_s"])) / outcome.wall_s for outcome in found.outcomes[name].values()
    )
    read, tokens = sum(answer.prompt_tokens or 0 for answer in first.answers), _tokens(first.answers)
    if inside and read and tokens:
        cached, forced = (int(str(first.details[key])) for key in ("cached_tokens", "forced_tokens"))
        lines.append(
            f"{title}: {inside.median:.1%} of its wall time inside llama.cpp;"
            f" {cached / read:.1%} of prompt tokens from the KV cache,"
            f" {forced / tokens:.1%} of its tokens forced by the grammar"
        )
    return lines


def _detail(found: Benchmark, name: str, key: str) -> Spread | None:
    outcomes = found.outcomes.get(name, {}).values()
    return Spread.of(float(str(outcome.details[key])) for outcome in outcomes if outcome.details.get(key))


def _row(found: Benchmark, name: str) -> Sequence[str]:
    outcomes = list(found.outcomes[name].values())
    wall, cpu = Spread.of(found.wall(name).values()), Spread.of(found.cpu(name).values())
    assert wall is not None
    assert cpu is not None
    ratios = [
        "1" if name == RIG else _ratio(spread) if (spread := found.ratio(name, RIG, of)) else "-"
        for of in (found.wall, found.cpu)
    ]
    answers = outcomes[0].answers
    peak = median(outcome.rss_bytes for outcome in outcomes) / 2**20
    counts = (
        ("-",) * 4
        if name in FLOORS.values()
        else (
            str(_tokens(answers)),
            str(sum(answer.valid for answer in answers)),
            str(sum(answer.finish == "length" and not answer.valid for answer in answers)),
            str(sum(answer.finish != "length" and not answer.valid for answer in answers)),
        )
    )
    return (ENTRIES[name].title, _seconds(wall), _seconds(cpu), *ratios, *counts, f"{peak:,.0f}")


def _tokens(answers: Sequence[Answer]) -> int:
    return sum(answer.tokens or 0 for answer in answers)


def _misread(found: Benchmark, name: str) -> str | None:
    """A contestant whose tokenizer made other prompts of the same text."""
    lengths = {prompt.id: len(prompt.tokens) for prompt in found.prompts}
    answers = next(iter(found.outcomes[name].values())).answers
    others = [a for a in answers if a.prompt_tokens is not None and a.prompt_tokens != lengths[a.id]]
    if not others:
        return None
    gap = max(abs((answer.prompt_tokens or 0) - lengths[answer.id]) for answer in others)
    return f"{name} read {len(others)} of the prompts as up to {counted(gap, 'token')} more or fewer"


def _seconds(spread: Spread) -> str:
    if spread.count == 1:
        return f"{spread.median:.2f}"
    return f"{spread.median:.2f} ({spread.minimum:.2f} to {spread.maximum:.2f})"


def _ratio(spread: Spread) -> str:
    if spread.count == 1:
        return f"{spread.median:.3g}"
    return f"{spread.median:.3g} ({spread.minimum:.3g} to {spread.maximum:.3g})"
