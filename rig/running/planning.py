"""From what a person asked for to a plan: finds models, conversations and world, and checks them all."""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from rig.calls import JsonObject
from rig.conversations import Conversation, load_directory, load_suite, select
from rig.cores import available_cores
from rig.engine import EngineSettings
from rig.engine.settings import GrammarArm, GrammarEngine, KvType, ParameterOrder
from rig.errors import RigError
from rig.methods.tooltalk.prompt import Docs, History, Settings, Tools
from rig.running.arms import ORACLE, make_arms
from rig.running.plan import Plan
from rig.scoring import Grader, Mode, Named
from rig.scoring import load as load_similarity
from rig.store import GraderInfo, Runs, StoredRun, check_writable
from rig.store.identifiers import new_run_id
from rig.toolbox.simulator import Simulator
from rig.tooltalk.world import World


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that shapes a run's results, as the user gave it. Stored with the run, for resuming it.

    `models` are names, paths of GGUF files or `oracle`; `conversations` and `world` are directories. None
    means rig's own, or decided when the model is loaded. Every model is run with every combination of the
    options that can have several values. With `noise` every arm has two that should answer alike.
    """

    models: tuple[str, ...]
    suite: str = "easy"
    conversations: Path | None = None
    world: Path | None = None
    only: tuple[str, ...] = ()
    limit: int | None = None
    docs: tuple[Docs, ...] = ("full",)
    tools: tuple[Tools, ...] = ("all",)
    history: tuple[History, ...] = ("recorded",)
    max_calls: int = 10
    max_tokens: int = 256
    temperature: tuple[float, ...] = (0.0,)
    grammar: tuple[GrammarArm, ...] = ("json",)
    grammar_engine: tuple[GrammarEngine, ...] = ("llguidance",)
    parameter_order: tuple[ParameterOrder, ...] = ("fixed",)
    exact: bool = False
    parallel: int | None = None
    prefix_cache: bool = True
    seed: int = 0
    n_ctx: int | None = None
    n_batch: int | None = None
    kv: tuple[KvType, ...] = ("f16",)
    flash_attention: Literal["auto", "on", "off"] = "auto"
    threads: int = field(default_factory=available_cores)
    gpu_layers: int | None = None
    chat_template: Path | None = None
    grader: Mode = "default"
    similarity: str = "minilm"
    repeats: int = 1
    noise: bool = False

    def as_json(self) -> JsonObject:
        """For the store. Files are named by absolute paths, so that a run can be resumed from anywhere.

        Raises RigError for a model that does not exist.
        """
        values = asdict(self)
        for name in _PATHS:
            values[name] = None if values[name] is None else str(values[name].absolute())
        values["similarity"] = str(Named.parse(self.similarity).absolute)
        values["models"] = [_unambiguous(model) for model in self.models]
        values["only"] = list(self.only)
        for name in _VARIED:
            several = _distinct(values[name])
            values[name] = several[0] if len(several) == 1 else several
        return values

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Options":
        """The inverse of `as_json`; options that are newer than the run keep their default."""
        values = {part.name: data[part.name] for part in fields(cls) if part.name in data}
        for name in _PATHS:
            if values.get(name) is not None:
                values[name] = Path(values[name])
        for name in ("models", "only"):
            values[name] = tuple(values.get(name, ()))
        for name in _VARIED:
            if name in values:
                several = values[name]
                values[name] = tuple(several) if isinstance(several, list | tuple) else (several,)
        return cls(**values)

    def engines(self) -> dict[str, EngineSettings]:
        """The settings that models are loaded with, by label."""
        found: dict[str, EngineSettings] = {}
        for varied in self._combinations(_OF_ENGINE):
            if varied["grammar"] == "none":  # once, not once for every setting that grammars have
                varied = {name: value for name, value in varied.items() if name not in _OF_GRAMMAR}
            settings = EngineSettings(
                n_ctx=self.n_ctx,
                n_batch=self.n_batch,
                flash_attention={"auto": None, "on": True, "off": False}[self.flash_attention],
                n_threads=self.threads,
                n_gpu_layers=self.gpu_layers,
                max_tokens=self.max_tokens,
                seed=self.seed,
                exact=self.exact,
                parallel=self.parallel,
                prefix_cache=self.prefix_cache,
                chat_template=self.chat_template,
                **{_ENGINE_NAMES.get(name, name): value for name, value in varied.items()},
            )
            found.setdefault(self._label(varied), settings)
        if not self.noise:
            return found
        return {
            f"{label} {suffix}".strip(): settings
            for label, first in found.items()
            for suffix, settings in _alike(first).items()
        }

    def protocols(self) -> dict[str, Settings]:
        """The settings that conversations are put to models with, by label."""
        return {
            self._label(varied): Settings(max_calls=self.max_calls, **varied)
            for varied in self._combinations(_OF_PROTOCOL)
        }

    def _combinations(self, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
        """Every combination of the values of these options."""
        values = {name: _distinct(getattr(self, name)) for name in names}
        for combination in itertools.product(*values.values()):
            yield dict(zip(values, combination, strict=True))

    def _label(self, varied: Mapping[str, Any]) -> str:
        """What tells a combination from the others: those of its options that have several values."""
        several = {name: value for name, value in varied.items() if len(_distinct(getattr(self, name))) > 1}
        return " ".join(f"{name.replace('_', '-')}={_short(value)}" for name, value in several.items())


_PATHS = ("conversations", "world", "chat_template")

_OF_GRAMMAR = ("grammar_engine", "parameter_order")
_OF_ENGINE = ("temperature", "kv", "grammar", *_OF_GRAMMAR)
_OF_PROTOCOL = ("docs", "tools", "history")
_VARIED = (*_OF_ENGINE, *_OF_PROTOCOL)
"""The options that can have several values, by whose settings they are. An arm's name has their order."""
AGAIN, EXACT = "again", "exact"
"""What the names of the arms end with that `noise` adds."""

_ENGINE_NAMES = {"kv": "kv_type"}


def _alike(settings: EngineSettings) -> dict[str, EngineSettings]:
    """The same again, and exactly. With equal seeds samples would be equal, so the second has another."""
    sampled = settings.temperature > 0
    return {
        "": settings,
        AGAIN: replace(settings, seed=(settings.seed + 1) % 2**32) if sampled else settings,
        EXACT: replace(settings, exact=True, parallel=None),
    }


def _short(value: str | float) -> str:
    return str(value).removesuffix(".0")


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _unambiguous(model: str) -> str:
    """A model's registry name, or the absolute path of its file."""
    if model == ORACLE:
        return model
    from rig.engine.files.registry import resolve

    resolved = resolve(model)
    return resolved.name if resolved.entry else str(resolved.path.absolute())


def plan(options: Options, store: Path, name: str | None = None) -> Plan:
    """The plan of a new run. Raises RigError for whatever would stop it; writes nothing."""
    check_writable(store)
    if options.conversations is not None:
        conversations = load_directory(options.conversations)
    else:
        conversations = load_suite(options.suite)
    chosen = tuple(select(conversations, options.only, options.limit))
    return _plan(options, chosen, store, run=new_run_id(store), name=name)


def plan_resume(text: str, given: Mapping[str, Any], store: Path) -> Plan:
    """The plan of what is left of a stored run.

    Models and options are those it was started with; the conversations are those in the store. Raises
    RigError where one of the options `given` anew, by name, differs.
    """
    check_writable(store)
    with Runs.open(store) as runs:
        stored = runs.get(text)
        conversations = tuple(runs.conversations(stored))
    options = Options.from_json(stored.settings)
    _require_same(stored, given)
    return _plan(options, conversations, store, run=stored.id, name=stored.name, resume=True)


def _require_same(stored: StoredRun, given: Mapping[str, Any]) -> None:
    before = Options.from_json(stored.settings).as_json()
    again = Options.from_json({**before, **given}).as_json()
    changes = "; ".join(
        f"{name} was {before[name]!r}, not {again[name]!r}" for name in before if before[name] != again[name]
    )
    if changes:
        raise RigError(f"cannot resume {stored.id}: {changes}; leave that out, or start a new run")


def _plan(
    options: Options,
    conversations: tuple[Conversation, ...],
    store: Path,
    *,
    run: str,
    name: str | None,
    resume: bool = False,
) -> Plan:
    _check_engine(options)
    recipe = options.as_json()
    grader = Grader(options.grader, load_similarity(options.similarity))
    world = World.open() if options.world is None else World.from_json_directory(options.world)
    plan = Plan(
        run=run,
        store=store,
        arms=make_arms(options.models, options.engines(), options.protocols(), conversations),
        conversations=conversations,
        simulator=Simulator(world, upstream_compat=options.grader == "upstream"),
        grader=grader,
        grader_info=GraderInfo(options.grader, grader.version, recipe["similarity"]),
        name=name,
        repeats=options.repeats,
        recipe=recipe,
        fingerprint={"world_sha256": world.sha256()},
        resume=resume,
    )
    plan.check()
    return plan


def _check_engine(options: Options) -> None:
    """Raise RigError for settings that no model could run with, before the first of several models runs."""
    if "q8_0" in options.kv and options.flash_attention == "off":
        raise RigError("--kv q8_0 needs flash attention; leave --flash-attention off out")
    if options.exact and options.parallel not in (None, 1):
        raise RigError("--exact decodes one sequence at a time; leave --parallel out")
    if options.n_ctx is not None and options.n_ctx <= options.max_tokens:
        raise RigError(
            f"--n-ctx {options.n_ctx} leaves no room for a prompt beside --max-tokens {options.max_tokens};"
            " raise the one or lower the other"
        )
    for settings in options.engines().values():
        settings.check()
    template = options.chat_template
    if template is not None and not template.is_file():
        fault = "not a file" if template.exists() else "no such file"
        raise RigError(f"--chat-template {template}: {fault}; give a Jinja2 template")
