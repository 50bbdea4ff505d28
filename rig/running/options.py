"""What the user asked for: everything that shapes a run's results."""

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rig.calls import JsonObject
from rig.engine import EngineSettings
from rig.engine.core.settings import (
    DRAFTS,
    GrammarArm,
    GrammarEngine,
    KvType,
    ParameterOrder,
    ThinkingArm,
    ToolChoice,
)
from rig.errors import RigError
from rig.meters import available_cores
from rig.methods.base import Method, Option, Settings
from rig.running.person import HUMAN
from rig.scoring import Mode, Named
from rig.words import did_you_mean

if TYPE_CHECKING:
    from rig.engine.files.adapters import Adapter


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that shapes a run's results, as the user gave it. Stored with the run, for resuming it.

    `models` are names, paths of GGUF files, or models that the method knows, such as `oracle`. `suite` is a
    name or a path, `conversations` a directory to use instead. `role` says who plays the roles that are not
    evaluated, each as `ROLE=MODEL`, where every one of several for a role makes an arm; `set` gives options
    that a method alone knows, each as `NAME=VALUE`. None means rig's own, or decided when the model is
    loaded. Every model is run with every combination of the options that can have several values, and with
    each of the adapters in `lora`. `until` a verdict arms are played until it is clear whether they lose
    `loss` points against the first. With `noise` every arm has two that should answer alike.
    """

    models: tuple[str, ...]
    lora: tuple[str, ...] = ()
    suite: str = "easy"
    conversations: Path | None = None
    method: str | None = None
    role: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    toolbox: str | None = None
    world: Path | None = None
    only: tuple[str, ...] = ()
    limit: int | None = None
    docs: tuple[str, ...] = ("full",)
    tools: tuple[str, ...] = ("all",)
    history: tuple[str, ...] = ("recorded",)
    search: tuple[str, ...] = ("cot@1",)
    max_calls: int = 10
    max_tokens: int = 256
    temperature: tuple[float, ...] = (0.0,)
    format: tuple[str, ...] = ("auto",)
    tool_choice: tuple[ToolChoice, ...] = ("auto",)
    several_calls: bool = True
    thinking: tuple[ThinkingArm, ...] = ("auto",)
    thinking_tokens: int = 1024
    draft: tuple[str, ...] = ("none",)
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
    until: Literal["verdict"] | None = None
    loss: float = 5.0
    noise: bool = False

    def as_json(self, known: Container[str]) -> JsonObject:
        """For the store. Files are named by absolute paths, so that a run can be resumed from anywhere.

        `known` are the models that the method knows. Raises RigError for another that does not exist.
        """
        values = asdict(self)
        for name in _PATHS:
            values[name] = None if values[name] is None else str(values[name].absolute())
        if self.toolbox is not None and Path(self.toolbox).exists():
            values["toolbox"] = str(Path(self.toolbox).absolute())
        values["similarity"] = str(Named.parse(self.similarity).absolute)
        values["models"] = [_unambiguous(model, known) for model in self.models]
        values["lora"] = [adapter.text if adapter else text for text, adapter in self._adapters()]
        values["role"] = [
            f"{role}={_unambiguous(model, known)}"
            for role, models in self.roles().items()
            for model in models
        ]
        values["draft"] = [_unambiguous(draft, DRAFTS) for draft in self.draft]
        for name in ("only", "set"):
            values[name] = list(values[name])
        for name in _VARIED:
            several = _distinct(values[name])
            values[name] = several[0] if len(several) == 1 else several
        return values

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Options":
        """The inverse of `as_json`; options that are newer than the run keep their default.

        Before there were several formats all runs were in rig's.
        """
        values = {
            "format": "rig",
            **{part.name: data[part.name] for part in fields(cls) if part.name in data},
        }
        for name in _PATHS:
            if values.get(name) is not None:
                values[name] = Path(values[name])
        for name in ("models", "lora", "only", "role", "set"):
            values[name] = tuple(values.get(name, ()))
        for name in _VARIED:
            if name in values:
                several = values[name]
                values[name] = tuple(several) if isinstance(several, list | tuple) else (several,)
        return cls(**values)

    def engines(self) -> dict[str, EngineSettings]:
        """The settings that models are loaded with, by label."""
        found: dict[str, EngineSettings] = {}
        values = {name: _distinct(getattr(self, name)) for name in _OF_ENGINE}
        for varied in _combinations(values):
            if varied["grammar"] == "none":  # once, not once for every setting that grammars have
                varied = {name: value for name, value in varied.items() if name not in _OF_GRAMMAR}
            settings = EngineSettings(
                n_ctx=self.n_ctx,
                n_batch=self.n_batch,
                flash_attention={"auto": None, "on": True, "off": False}[self.flash_attention],
                n_threads=self.threads,
                n_gpu_layers=self.gpu_layers,
                max_tokens=self.max_tokens,
                thinking_tokens=self.thinking_tokens,
                several_calls=self.several_calls,
                seed=self.seed,
                exact=self.exact,
                parallel=self.parallel,
                prefix_cache=self.prefix_cache,
                chat_template=self.chat_template,
                **{_ENGINE_NAMES.get(name, name): value for name, value in varied.items()},
            )
            found.setdefault(_label({n: v for n, v in varied.items() if len(values[n]) > 1}), settings)
        if not self.noise:
            return found
        return {
            f"{label} {suffix}".strip(): settings
            for label, first in found.items()
            for suffix, settings in _alike(first).items()
        }

    def settings(self, method: Method) -> dict[str, Settings]:
        """The settings that the method puts tasks to models with, by label."""
        values = self.values(method)
        several = [name for name, found in values.items() if len(found) > 1]
        return {
            _label({name: combination[name] for name in several}): method.settings(combination)
            for combination in _combinations(values)
        }

    def values(self, method: Method) -> dict[str, list[Any]]:
        """The values of each of the method's options, one at least.

        Raises RigError for options that the method does not know, and for several values of one that has one.
        """
        known = {option.name: option for option in method.options}
        given = self._set_values(known)
        for name in _OF_METHODS:
            if name not in known and getattr(self, name) != getattr(_DEFAULTS, name):
                flag = f"--{name.replace('_', '-')}"
                raise RigError(f"{flag} has no effect on the method {method.name}; leave it out")
        values = {}
        for option in method.options:
            if option.name in _OF_METHODS:
                found = getattr(self, option.name)
                values[option.name] = _distinct(found) if isinstance(found, tuple) else [found]
            else:
                values[option.name] = given.get(option.name, [option.default])
            if len(values[option.name]) > 1 and not option.several:
                raise RigError(f"--set {option.name} takes one value")
        return values

    def adapters(self) -> tuple["Adapter | None", ...]:
        """The adapters that every model is run with, None for without one. Raises RigError."""
        return tuple(_distinct(adapter for _, adapter in self._adapters()))

    def _adapters(self) -> list[tuple[str, "Adapter | None"]]:
        if not self.lora:
            return []
        from rig.engine.files.adapters import Adapter

        return [(text, Adapter.parse(text)) for text in self.lora]

    def roles(self) -> dict[str, tuple[str, ...]]:
        """Who plays which role, by role: one, or several. Raises RigError for what says neither."""
        found: dict[str, tuple[str, ...]] = {}
        for text in self.role:
            role, model = _split(text, "--role", "ROLE=MODEL")
            found[role] = tuple(_distinct([*found.get(role, ()), model]))
        return found

    def _set_values(self, known: Mapping[str, Option]) -> dict[str, list[Any]]:
        """The options given by `set`, by name, as values of their defaults' types."""
        given: dict[str, list[Any]] = {}
        for text in self.set:
            name, value = _split(text, "--set", "NAME=VALUE")
            if name not in known or name in _OF_METHODS:
                names = ", ".join(sorted(known.keys() - set(_OF_METHODS))) or "none"
                meant = f"{name}{did_you_mean(name, names.split(', '))}"
                raise RigError(
                    f"--set {text}: no option of the method is called {meant}; choose from: {names}"
                )
            given.setdefault(name, []).append(known[name].parse(value))
        return {name: _distinct(values) for name, values in given.items()}


_PATHS = ("conversations", "world", "chat_template")

_OF_GRAMMAR = ("grammar_engine", "parameter_order")
_OF_ENGINE = ("temperature", "kv", "format", "tool_choice", "thinking", "draft", "grammar", *_OF_GRAMMAR)
_VARIED = (*_OF_ENGINE, "docs", "tools", "history", "search")
"""The options that can have several values, those of the engine first. An arm's name has their order."""
_OF_METHODS = ("docs", "tools", "history", "search", "max_calls", "toolbox", "world", "grader", "similarity")
"""The options that methods share. A method says which of them it has; what it alone has is given by `set`."""
AGAIN, EXACT = "again", "exact"
"""What the names of the arms end with that `noise` adds."""

_ENGINE_NAMES = {"kv": "kv_type"}
_DEFAULTS = Options(models=())


def _alike(settings: EngineSettings) -> dict[str, EngineSettings]:
    """The same again, and exactly. With equal seeds samples would be equal, so the second has another."""
    sampled = settings.temperature > 0
    return {
        "": settings,
        AGAIN: replace(settings, seed=(settings.seed + 1) % 2**32) if sampled else settings,
        EXACT: replace(settings, exact=True, parallel=None, draft="none"),
    }


def _short(value: str | float) -> str:
    return str(value).removesuffix(".0")


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _combinations(values: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination of the values of these options."""
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def _label(varied: Mapping[str, Any]) -> str:
    """What tells a combination from the others."""
    return " ".join(f"{name.replace('_', '-')}={_short(value)}" for name, value in varied.items())


def _unambiguous(model: str, known: Container[str]) -> str:
    """A name that the method, rig or its registry knows, or the absolute path of a file."""
    if model in known or model == HUMAN:
        return model
    from rig.engine.files.registry import resolve

    resolved = resolve(model)
    return resolved.name if resolved.entry else str(resolved.path.absolute())


def _split(text: str, option: str, form: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not (name and found and value):
        raise RigError(f"{option} {text}: give {form}")
    return name, value
