"""What the user asked for: everything that shapes a run's results."""

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rig.calls import JsonObject
from rig.engine import EngineSettings
from rig.engine.core.settings import DRAFTS
from rig.errors import RigError, did_you_mean
from rig.methods.base import Method, Settings
from rig.options import OF_ENGINE, OF_METHODS, TABLE, Option
from rig.running.person import HUMAN
from rig.scoring import NamedMeasure

if TYPE_CHECKING:
    from rig.engine.files.adapters import Adapter

AGAIN, EXACT = "again", "exact"
"""What the names of the arms end with that `noise` adds."""


class Options:
    """The options of a run (`rig.options`), as the user gave them. Stored with the run, for resuming it.

    Each is an attribute. Of an option that makes arms it is a tuple of values, and every model is run with
    every combination of them. `models` are names, paths of GGUF files, or models that the method knows, such
    as `oracle`. With `noise` every arm has two that should answer alike.
    """

    def __init__(self, **values: Any) -> None:
        if unknown := values.keys() - TABLE.keys():
            raise TypeError(f"no option is called {', '.join(sorted(unknown))}")
        self._values = {name: values.get(name, option.start) for name, option in TABLE.items()}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(self._values.items()))

    def __repr__(self) -> str:
        changed = (f"{name}={self._values[name]!r}" for name in TABLE if self.is_changed(name))
        return f"Options({', '.join(changed)})"

    def replace(self, **changes: Any) -> "Options":
        """The same but for these."""
        return Options(**{**self._values, **changes})

    def is_changed(self, name: str) -> bool:
        """Whether an option has another value than where nobody says anything."""
        return bool(self._values[name] != TABLE[name].start)

    def as_json(self, names: Container[str]) -> JsonObject:
        """For the store. Files are named by absolute paths, so that a run can be resumed from anywhere.

        `names` are the models that the method knows. Raises RigError for another that does not exist.
        """
        values = {name: _as_json(TABLE[name], value) for name, value in self._values.items()}
        for name, place in (("toolbox", self.toolbox), ("reader", self.reader)):
            if place is not None and Path(place).exists():
                values[name] = str(Path(place).absolute())
        values["similarity"] = str(NamedMeasure.parse(self.similarity).absolute)
        values["models"] = [_unambiguous(model, names) for model in self.models]
        values["lora"] = [adapter.text if adapter else text for text, adapter in self._adapters()]
        values["role"] = [
            f"{role}={_unambiguous(model, names)}"
            for role, models in self.roles().items()
            for model in models
        ]
        drafts = tuple(_unambiguous(draft, DRAFTS) for draft in self.draft)
        return {**values, "draft": _as_json(TABLE["draft"], drafts)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Options":
        """The inverse of `as_json`; options that are newer than the run keep their default.

        Before there were several formats all runs were in rig's.
        """
        values = {"format": "rig", **data}
        for name, option in TABLE.items():
            if name in values and (option.listed or option.several):
                value = values[name]
                values[name] = tuple(value) if isinstance(value, list | tuple) else (value,)
            elif option.kind is Path and values.get(name) is not None:
                values[name] = Path(values[name])
        return cls(**{name: values[name] for name in TABLE if name in values})

    def engines(self) -> dict[str, EngineSettings]:
        """The settings that models are loaded with, by label."""
        values = {
            name: _distinct(self._values[name]) if option.several else [self._values[name]]
            for name, option in OF_ENGINE.items()
        }
        engines: dict[str, EngineSettings] = {}
        for combination in _combinations(values):
            # Once, not once for every value of what is of no effect here.
            idle = {name: option.idle for name, option in OF_ENGINE.items() if option.idle}
            used = {
                name: value
                for name, value in combination.items()
                if name not in idle or combination[idle[name][0]] != idle[name][1]
            }
            settings = EngineSettings(
                **{OF_ENGINE[n].field: (OF_ENGINE[n].values or {v: v})[v] for n, v in used.items()}
            )
            engines.setdefault(_label({n: v for n, v in used.items() if len(values[n]) > 1}), settings)
        if not self.noise:
            return engines
        alike: dict[str, EngineSettings] = {}
        for label, settings in engines.items():
            # With equal seeds samples would be equal, so the second has another.
            seed = (settings.seed + 1) % 2**32 if settings.temperature > 0 else settings.seed
            alike[label] = settings
            alike[f"{label} {AGAIN}".strip()] = replace(settings, seed=seed)
            alike[f"{label} {EXACT}".strip()] = replace(settings, exact=True, parallel=None, draft="none")
        return alike

    def settings(self, method: Method) -> dict[str, Settings]:
        """The settings that the method puts tasks to models with, by label."""
        values = self.values(method)
        several = [name for name, chosen in values.items() if len(chosen) > 1]
        return {
            _label({name: combination[name] for name in several}): method.settings(combination)
            for combination in _combinations(values)
        }

    def values(self, method: Method) -> dict[str, list[Any]]:
        """The values of each of the method's options, one at least.

        Raises RigError for options that the method does not know, and for several values of one that has one.
        """
        by_name = {option.name: option for option in method.options}
        own = self._own_values(by_name)
        for name, option in OF_METHODS.items():
            if name not in by_name and self.is_changed(name):
                raise RigError(f"{option.flag} has no effect on the method {method.name}; leave it out")
        values = {}
        for name, option in by_name.items():
            if name in OF_METHODS:
                value = self._values[name]
                values[name] = _distinct(value) if OF_METHODS[name].several else [value]
            else:
                values[name] = own.get(name, [option.default])
            if len(values[name]) > 1 and not option.several:
                raise RigError(f"--set {name} takes one value")
        return values

    def first_values(self, method: Method) -> dict[str, Any]:
        """The value of each of the method's options, the first where there are several. Raises RigError."""
        return {name: several[0] for name, several in self.values(method).items()}

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
        players: dict[str, tuple[str, ...]] = {}
        for text in self.role:
            role, model = _split(text, "--role", "ROLE=MODEL")
            players[role] = tuple(_distinct([*players.get(role, ()), model]))
        return players

    def _own_values(self, by_name: Mapping[str, Option]) -> dict[str, list[Any]]:
        """The options given by `set`, by name, as values of their defaults' types."""
        chosen: dict[str, list[Any]] = {}
        for text in self.set:
            name, value = _split(text, "--set", "NAME=VALUE")
            if name not in by_name or name in OF_METHODS:
                names = ", ".join(sorted(by_name.keys() - OF_METHODS.keys())) or "none"
                meant = f"{name}{did_you_mean(name, names.split(', '))}"
                raise RigError(
                    f"--set {text}: no option of the method is called {meant}; choose from: {names}"
                )
            chosen.setdefault(name, []).append(by_name[name].parse(value))
        return {name: _distinct(values) for name, values in chosen.items()}


def _as_json(option: Option, value: Any) -> Any:
    if option.listed:
        return list(value)
    if option.several:
        several = _distinct(value)
        return several[0] if len(several) == 1 else several
    return str(value.absolute()) if isinstance(value, Path) else value


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _combinations(values: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Every combination of the values of these options."""
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def _label(varied: Mapping[str, Any]) -> str:
    """What tells a combination from the others."""
    return " ".join(
        f"{name.replace('_', '-')}={str(value).removesuffix('.0')}" for name, value in varied.items()
    )


def _unambiguous(model: str, names: Container[str]) -> str:
    """A name that the method, rig or its registry knows, or the absolute path of a file."""
    if model in names or model == HUMAN:
        return model
    from rig.engine.files.registry import resolve

    resolved = resolve(model)
    return resolved.name if resolved.entry else str(resolved.path.absolute())


def _split(text: str, option: str, form: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise RigError(f"{option} {text}: give {form}")
    return name, value
