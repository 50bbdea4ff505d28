"""A benchmark: contestants one after another on the same prompts, several passes, each in its own process."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.engine import processes
from benchmarks.engine import prompts as files
from benchmarks.engine.child import RENDER
from benchmarks.engine.contestants import ENTRIES, FLOORS, INSTALL, OWN, PARALLEL, PEERS, RIG, Entry
from benchmarks.engine.job import Job, Outcome
from benchmarks.engine.prompts import BenchPrompt
from benchmarks.engine.spread import Spread, ratios
from benchmarks.engine.work import Work
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.meters import available_cores

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure. `prompts` is a file of prompts; without one they are made of `work`.

    `parallel` is how many answers the engine makes at once where it makes several; 1 leaves that out.
    """

    model: str
    work: Work = field(default_factory=Work)
    prompts: Path | None = None
    peers: tuple[str, ...] = tuple(entry.name for entry in PEERS)
    repeats: int = 3
    parallel: int = 4
    max_tokens: int | None = None
    threads: int = field(default_factory=available_cores)
    gpu_layers: int | None = None
    n_ctx: int | None = None
    chat_template: Path | None = None


@dataclass(slots=True)
class Benchmark:
    """What was measured: outcomes by contestant and pass, and why others have none."""

    model: str
    settled: JsonObject
    conditions: JsonObject
    prompts: Sequence[BenchPrompt]
    outcomes: dict[str, dict[int, Outcome]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def wall(self, name: str) -> dict[int, float]:
        return {number: outcome.wall_s for number, outcome in self.outcomes.get(name, {}).items()}

    def cpu(self, name: str) -> dict[int, float]:
        return {number: outcome.cpu_s for number, outcome in self.outcomes.get(name, {}).items()}

    def as_json(self) -> JsonObject:
        """Everything, with ratios: to rig, to rig with several answers at once, and to the floor."""
        return {
            "model": self.model,
            "engine": self.settled,
            "conditions": self.conditions,
            "prompts": [
                {"id": prompt.id, "tokens": len(prompt.tokens), "max_tokens": prompt.max_tokens}
                for prompt in self.prompts
            ],
            "contestants": {name: self._contestant(name) for name in ENTRIES if name in self.outcomes},
            "failures": dict(self.failures),
            "skipped": dict(self.skipped),
        }

    def ratio(self, name: str, base: str, of: Callable[[str], Mapping[int, float]]) -> Spread | None:
        """How many times as long, or as much CPU time, one contestant took as another."""
        return Spread.of(ratios(of(name), of(base)))

    def _contestant(self, name: str) -> JsonObject:
        spreads: dict[str, Spread | None] = {
            "wall_s": Spread.of(self.wall(name).values()),
            "cpu_s": Spread.of(self.cpu(name).values()),
        }
        for base in filter(None, (RIG, PARALLEL, FLOORS.get(name))):
            if base != name and base in self.outcomes:
                key = "floor" if base == FLOORS.get(name) else base
                spreads[f"wall_to_{key}"] = self.ratio(name, base, self.wall)
                spreads[f"cpu_to_{key}"] = self.ratio(name, base, self.cpu)
        passes: list[Json] = [outcome.as_json() for outcome in self.outcomes[name].values()]
        return {**{key: one and one.as_json() for key, one in spreads.items()}, "passes": passes}


def chosen(peers: str) -> tuple[str, ...]:
    """The peers that a comma-separated list names; `all` or `none`. Raises RigError for others."""
    known = [entry.name for entry in PEERS]
    if peers in ("all", "none"):
        return tuple(known) if peers == "all" else ()
    names = tuple(dict.fromkeys(name.strip() for name in peers.split(",") if name.strip()))
    if unknown := [name for name in names if name not in known]:
        raise RigError(
            f"--peers: no peer is called {unknown[0]!r}; there are {', '.join(known)}, all and none"
        )
    return names


def export(options: Options, path: Path) -> int:
    """Write the prompts to a file and run nothing; how many. Raises RigError."""
    with tempfile.TemporaryDirectory(prefix="rig-bench-") as place:
        _, job = _settle(options, Path(place))
        prompts = files.read(Path(job.prompts))
        files.write(path, prompts)
        return len(prompts)


def bench(options: Options, notify: Notify) -> Benchmark:
    """Measure. Every second pass goes through the contestants backwards, so that drift cancels out.

    Raises RigError for what would stop all of them; what stops one of them is among the failures.
    """
    with tempfile.TemporaryDirectory(prefix="rig-bench-") as place:
        folder = Path(place)
        settled, job = _settle(options, folder)
        found = Benchmark(job.name, settled, dict(processes.conditions()), files.read(Path(job.prompts)))
        several = options.parallel > 1
        own = [entry for entry in OWN if several or entry.name not in (PARALLEL, FLOORS[PARALLEL])]
        entries = [*own, *_installed(options.peers, found)]
        for number in range(options.repeats):
            for entry in entries if number % 2 == 0 else entries[::-1]:
                if entry.name not in found.failures:
                    _measure(entry, number, job, folder, found, notify)
        if RIG in found.failures:
            raise RigError(f"rig's own engine failed: {found.failures[RIG]}")
        return found


def _settle(options: Options, folder: Path) -> tuple[JsonObject, Job]:
    """The prompts ready in a file, and a job that says what the engine would decide by itself."""
    from rig.plugins.llama.files.registry import resolve

    if options.model == "oracle":
        raise RigError("the oracle has no engine that could be measured; name a GGUF file or `smollm2-135m`")
    resolved = resolve(options.model)
    if resolved.adapter is not None:
        raise RigError(f"{resolved.name} has an adapter, and contestants take none; name {resolved.base}")
    path = folder / "prompts.jsonl"
    if options.prompts is not None:
        files.write(path, files.read(options.prompts, max_tokens=options.max_tokens))
    job = Job(
        contestant=RENDER,
        model=str(resolved.path.absolute()),
        name=resolved.name,
        prompts=str(path),
        threads=options.threads,
        gpu_layers=options.gpu_layers,
        n_ctx=options.n_ctx,
        max_tokens=options.max_tokens,
        chat_template=str(options.chat_template.absolute()) if options.chat_template else None,
        work=None if options.prompts else options.work,
        parallel=options.parallel,
    )
    try:
        settled = processes.settle(job, folder)
    except processes.Failed as error:
        raise RigError(f"the prompts could not be rendered: {error}") from error
    longest = max(prompt.max_tokens for prompt in files.read(path))
    layers, n_ctx = settled["n_gpu_layers"], settled["n_ctx"]
    return settled, replace(job, gpu_layers=layers, n_ctx=n_ctx, max_tokens=longest)


def _installed(names: Sequence[str], found: Benchmark) -> list[Entry]:
    """The peers that can be run; why not is noted of the others."""
    entries = []
    for name in names:
        if missing := ENTRIES[name].missing():
            found.skipped[name] = f"{', '.join(missing)} not installed: {INSTALL}"
        else:
            entries.append(ENTRIES[name])
    return entries


def _measure(entry: Entry, number: int, job: Job, folder: Path, found: Benchmark, notify: Notify) -> None:
    # Each floor plays what its owner recorded last.
    owner = next((name for name, floor in FLOORS.items() if floor == entry.name), entry.name)
    job = replace(
        job,
        contestant=entry.name,
        work=job.work if entry.is_engine else None,
        tape=str(folder / f"{owner}.tape"),
    )
    try:
        outcome = processes.measure(job, folder)
    except processes.Failed as error:
        found.failures[entry.name] = str(error)
        notify(f"pass {number + 1}: {entry.name} failed: {error}")
        return
    found.outcomes.setdefault(entry.name, {})[number] = outcome
    notify(f"pass {number + 1}: {entry.name} {outcome.wall_s:.2f} s, {outcome.cpu_s:.2f} s of CPU time")
